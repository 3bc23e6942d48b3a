//! `aborted-processed`: results of an aborted input record were committed.
//!
//! Promised by consume–transform–produce with `isolation.level=read_committed` (KIP-98, K-FILT-2,
//! K-CTP): what is processed was committed, so that nothing is built upon what its producer took
//! back. Not promised: anything of input whose transaction is still open, of results that are not
//! committed, or to applications that are not said to transform
//! ([`CheckerSetup::transforms`](crate::CheckerSetup)).

use eosim_types::TopicPartition;

use crate::anomaly::Report;
use crate::facts::{Index, partition_key};
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::logs::{Fate, Logs, Place};
use crate::need::Need;
use crate::words;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "aborted-processed",
    promise: "No committed result of a transformation stems from an aborted record.",
    source: "KIP-98, K-FILT-2, K-CTP-1",
    file: "src/invariants/aborted_processed.rs",
    needs: &[&[Need::Transforms, Need::Inputs, Need::EndLogs]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        if cx.setup.transforms.is_empty() {
            return;
        }
        for (index, send) in (0..).zip(&cx.facts.sends) {
            let Some(input) = send.input else { continue };
            let is_said = cx.setup.transforms.iter().any(|transform| {
                (transform.input, transform.output) == (input.0.topic, send.partition.topic)
            });
            let durable = cx.setup.is_durable(input.0.topic);
            if is_said && durable && cx.facts.is_unique(index) {
                judge(cx, end, index, input, report);
            }
        }
    }
}

fn judge(
    cx: Context<'_>,
    end: End<'_>,
    index: Index,
    input: (TopicPartition, i64),
    report: &mut Report,
) {
    let Some(place) = place_at(end.logs, input) else { return };
    let is_visible = |copy: &Place| copy.fate.is_visible();
    let visible = end.logs.copies(cx.facts.send(index)).any(is_visible);
    if !visible || !matches!(place.fate, Fate::Aborted(_)) {
        return;
    }
    let summary = format!(
        "{} is a visible result of {}, {}",
        cx.words().send(index),
        cx.words().place(place),
        words::fate(place.fate)
    );
    let subject = partition_key(input.0) ^ input.1.cast_unsigned();
    report.add(INFO.finding(subject, &["input aborted", "result visible"], "K-FILT-2", summary));
}

/// The record that lies at an offset of a leader's log.
fn place_at(logs: &Logs, (partition, offset): (TopicPartition, i64)) -> Option<&Place> {
    let places = logs.places_of(logs.leader(partition)?);
    let at = places.binary_search_by_key(&offset, |place| place.offset).ok()?;
    Some(&places[at])
}
