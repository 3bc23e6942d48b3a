//! `effect-lost`: a group has committed offsets behind an input record that has no results.
//!
//! Promised by consume–transform–produce (KIP-98, KIP-447, K-CTP-5, K-COM-2): the offsets of a
//! group are committed together with the results of what they are behind, so that in a healed
//! cluster every record of the input that a read_committed reader may see, below the group's
//! committed offset, has committed results. Not promised: results of records that are not
//! committed, or that nobody has come to yet; when results become visible; anything to
//! applications that are not named as such ([`CheckerSetup::transforms`](crate::CheckerSetup)).

use std::collections::BTreeSet;

use eosim_types::TopicPartition;

use crate::anomaly::Report;
use crate::facts::partition_key;
use crate::group_offsets::{CommittedOffset, committed_offsets, is_readable};
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::logs::{LeaderLog, Presence};
use crate::need::Need;
use crate::setup::Transform;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "effect-lost",
    promise: "Behind every input record that a group's committed offset has passed are results.",
    source: "KIP-98, KIP-447, K-CTP-5, K-COM-2",
    file: "src/invariants/effect_lost.rs",
    needs: &[&[Need::Transforms, Need::Inputs, Need::Healed, Need::Offsets]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        if cx.setup.transforms.is_empty() || !end.dump.healed {
            return;
        }
        let committed = committed_offsets(end);
        let effective = inputs_with_results(cx, end);
        for transform in &cx.setup.transforms {
            let judged = is_readable(cx, end, transform.group)
                && cx.setup.is_durable(transform.input)
                && cx.setup.is_durable(transform.output)
                && !cx.setup.is_deletable(transform.output);
            for log in &end.logs.leaders {
                if judged && log.partition.topic == transform.input {
                    judge(cx, end, (transform, log), (&committed, &effective), report);
                }
            }
        }
    }
}

/// Input records of which a result is visible, or may be in a log that was not dumped.
fn inputs_with_results(cx: Context<'_>, end: End<'_>) -> BTreeSet<(TopicPartition, i64)> {
    let is_visible = |send: &&crate::facts::Send| {
        let is_unknown =
            || matches!(end.logs.presence(cx.setup, end.dump, send), Presence::Unknown);
        send.input.is_some()
            && (end.logs.copies(send).any(|copy| copy.fate.is_visible()) || is_unknown())
    };
    cx.facts.sends.iter().filter(is_visible).filter_map(|send| send.input).collect()
}

fn judge(
    cx: Context<'_>,
    end: End<'_>,
    (transform, log): (&Transform, &LeaderLog),
    (committed, effective): (&[CommittedOffset], &BTreeSet<(TopicPartition, i64)>),
    report: &mut Report,
) {
    let of = |one: &&CommittedOffset| (one.group, one.partition) == (transform.group, log.partition);
    let Some(offset) = committed.iter().rfind(of).and_then(|last| last.offset) else { return };
    for place in end.logs.places_of(log) {
        let passed = place.offset < offset && place.fate.is_visible();
        if !passed || effective.contains(&(log.partition, place.offset)) {
            continue;
        }
        let summary = format!(
            "group {} has committed offset {offset} of {}, but record {} at {} has no committed \
             result",
            cx.setup.names.group(transform.group),
            cx.setup.names.partition(log.partition),
            cx.setup.names.value(place.value),
            place.offset
        );
        let subject = partition_key(log.partition) ^ place.offset.cast_unsigned();
        report.add(INFO.finding(subject, &["offset committed", "no result"], "K-CTP-5", summary));
    }
}
