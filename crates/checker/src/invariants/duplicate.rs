//! `duplicate`: a record lies in a log, or was read, more often than it was sent.
//!
//! Promised by idempotence (KIP-98, L-DUP-1, P-MOD-4) within one producer session: retries of a
//! send leave one record. Not promised: anything about a second `send()` of the same value, in the
//! same or another session (N11), about producers without idempotence, or about what an unclean
//! election does. Copies of an attempt that a marker aborted count: the log is judged, not the
//! readers.

use crate::anomaly::Report;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::need::Need;
use crate::observe::{Kind, Seen};
use crate::words;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "duplicate",
    promise: "A record lies in a log at most as often as it was sent there.",
    source: "KIP-98, L-DUP-1, P-MOD-4; Jepsen: duplicate",
    file: "src/invariants/duplicate.rs",
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
            let (Some(send), Some(elsewhere)) = (record.send, record.elsewhere) else { continue };
            let fact = cx.facts.send(send);
            let is_promised = cx.setup.is_idempotent(fact.actor)
                && cx.setup.is_durable(poll.partition.topic)
                && cx.facts.is_unique(send);
            if is_promised {
                let summary = format!(
                    "{} was read at offset {elsewhere} and again at offset {} ({})",
                    cx.words().send(send),
                    record.offset,
                    cx.words().poll(poll)
                );
                report.add(INFO.finding(record.value.0, &["read twice"], "L-DUP-1", summary));
            }
        }
    }

    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        for place in end.logs.places.iter().filter(|place| place.next_of_value.is_some()) {
            let Some(send) = place.send else { continue };
            let fact = cx.facts.send(send);
            let copies = || {
                end.logs.copies(fact).filter(|copy| copy.partition == place.partition)
            };
            let is_promised = cx.setup.is_idempotent(fact.actor)
                && cx.setup.is_durable(place.partition.topic);
            let sent = cx.facts.times_sent(send, place.partition);
            if is_promised && sent > 0 && copies().count() > sent {
                let list = |copy: &crate::logs::Place| {
                    format!("{} {}", cx.words().place(copy), words::fate(copy.fate))
                };
                let all: Vec<String> = copies().map(list).collect();
                let shares_identity = copies().all(|copy| {
                    (copy.producer_id, copy.producer_epoch)
                        == (place.producer_id, place.producer_epoch)
                });
                let shape = if shares_identity { "same identity" } else { "other identity" };
                let summary = format!(
                    "{} lies in the log {} times though sent {sent} times: {}",
                    cx.words().send(send),
                    all.len(),
                    all.join("; ")
                );
                let skeleton = ["logged twice", shape];
                report.add(INFO.finding(place.value.0, &skeleton, "L-DUP-1", summary));
            }
        }
    }
}
