//! Turns a workload into steps, and what applications leave to chance.

use alloc::collections::VecDeque;

use eosim_actor::{Cx, Site, Stream};
use eosim_types::{Duration, TopicPartition, Value};

use crate::spec::{RandomWorkload, ScriptStep, Span};

const RECORDS: Site = Site::new("workload.records", Stream::Workload);
const PARTITION: Site = Site::new("workload.partition", Stream::Workload);
const ABORT: Site = Site::new("workload.abort", Stream::Workload);
const FLUSH: Site = Site::new("workload.flush", Stream::Workload);
const PAUSE: Site = Site::new("workload.pause", Stream::Workload);
const RECORD_PAUSE: Site = Site::new("workload.record_pause", Stream::Workload);

/// How finely a pause is drawn.
const PAUSE_STEPS: u32 = 1000;

/// Appends the steps of one transaction, or of one burst for a producer without transactions.
pub(super) fn plan_transaction(
    workload: &RandomWorkload,
    is_transactional: bool,
    mut next_value: impl FnMut() -> Value,
    cx: &mut Cx<'_>,
    steps: &mut VecDeque<ScriptStep>,
) {
    pause(workload.pause, PAUSE, cx, steps);
    if is_transactional {
        steps.push_back(ScriptStep::BeginTransaction);
    }
    for _ in 0..number(workload.records, RECORDS, cx) {
        pause(workload.record_pause, RECORD_PAUSE, cx, steps);
        let (value, value_bytes) = (next_value(), workload.value_bytes);
        let partition = one_of(&workload.partitions, cx);
        steps.push_back(ScriptStep::Send { partition, value, value_bytes });
        if happens(workload.flush_per_mille, FLUSH, cx) {
            steps.push_back(ScriptStep::Flush);
        }
    }
    steps.push_back(match is_transactional {
        false => ScriptStep::Flush,
        true if happens(workload.abort_per_mille, ABORT, cx) => ScriptStep::AbortTransaction,
        true => ScriptStep::CommitTransaction,
    });
}

pub(super) fn number(span: Span<u32>, site: Site, cx: &mut Cx<'_>) -> u32 {
    span.min + cx.choose(site, span.max.saturating_sub(span.min) + 1)
}

fn one_of(partitions: &[TopicPartition], cx: &mut Cx<'_>) -> TopicPartition {
    let count = u32::try_from(partitions.len()).expect("fewer than 2^32 partitions");
    assert!(count > 0, "a workload with records has partitions");
    partitions[cx.choose(PARTITION, count) as usize]
}

pub(super) fn happens(per_mille: u32, site: Site, cx: &mut Cx<'_>) -> bool {
    // 0 is the quiet choice: it does not happen.
    per_mille > 0 && cx.choose(site, 1000) >= 1000 - per_mille.min(1000)
}

/// Appends a pause, if one is drawn.
pub(super) fn pause(
    span: Span<Duration>,
    site: Site,
    cx: &mut Cx<'_>,
    steps: &mut VecDeque<ScriptStep>,
) {
    let length = length(span, site, cx);
    if length > Duration::ZERO {
        steps.push_back(ScriptStep::Pause(length));
    }
}

pub(super) fn length(span: Span<Duration>, site: Site, cx: &mut Cx<'_>) -> Duration {
    let width = span.max.0.saturating_sub(span.min.0);
    let share = if width == 0 { 0 } else { u64::from(cx.choose(site, PAUSE_STEPS + 1)) };
    Duration(span.min.0 + width * share / u64::from(PAUSE_STEPS))
}
