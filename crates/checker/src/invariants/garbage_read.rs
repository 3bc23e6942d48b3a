//! `garbage-read`: a record that nobody sent there is in a log or was given to a reader.
//!
//! Promised: what lies in a partition was sent to that partition (L-REC-6; Elle: garbage read). Not
//! promised: anything about records of producers that were not observed
//! ([`CheckerSetup::unobserved_sends`](crate::CheckerSetup)).

use eosim_types::{TopicPartition, Value};

use crate::anomaly::Report;
use crate::facts::Index;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::need::Need;
use crate::observe::{Kind, Seen};

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "garbage-read",
    promise: "Every record in a partition was sent to that partition.",
    source: "L-REC-6; Elle: garbage read",
    file: "src/invariants/garbage_read.rs",
    needs: &[&[Need::Polls, Need::Sends], &[Need::EndLogs, Need::Sends]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn watches(&self) -> &'static [Kind] {
        &[Kind::Polled]
    }

    fn observe(&self, cx: Context<'_>, seen: Seen, report: &mut Report) {
        let Seen::Polled { poll, .. } = seen else { return };
        let poll = cx.facts.poll(poll);
        for record in cx.facts.delivered_by(poll) {
            if let Some(why) = judge(cx, (record.value, record.send), poll.partition) {
                let words = cx.words();
                let what = words.record(record.value, poll.partition, record.offset);
                let summary = format!("{} and was given {what}, {why}", words.poll(poll));
                report.add(INFO.finding(record.value.0, &["read", why], "L-REC-6", summary));
            }
        }
    }

    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        for place in &end.logs.places {
            if let Some(why) = judge(cx, (place.value, place.send), place.partition) {
                let summary = format!("the log holds {}, {why}", cx.words().place(place));
                report.add(INFO.finding(place.value.0, &["logged", why], "L-REC-6", summary));
            }
        }
    }
}

/// Why a record does not belong into `partition`.
fn judge(
    cx: Context<'_>,
    (value, send): (Value, Option<Index>),
    partition: TopicPartition,
) -> Option<&'static str> {
    match send {
        None if cx.setup.unobserved_sends || Some(value) <= cx.facts.forgotten => None,
        None => Some("which nobody sent"),
        Some(send) if cx.facts.send(send).partition == partition => None,
        Some(send) if cx.facts.times_sent(send, partition) > 0 => None,
        Some(_) => Some("which was sent to another partition"),
    }
}
