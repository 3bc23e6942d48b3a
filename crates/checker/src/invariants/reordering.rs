//! `reordering`: records of one producer session lie in a partition in another order than sent.
//!
//! Promised by idempotence with at most five requests in flight (KIP-98, L-SEQ-4, P-SEQ): the log
//! keeps the order of the `send()` calls of a session, and readers deliver in the order of offsets
//! (K-ISO-4). Not promised: order between sessions or partitions, or for producers without
//! idempotence; records may be missing from the order, which other invariants judge.

use crate::anomaly::Report;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::logs::Place;
use crate::need::Need;
use crate::observe::{Kind, Seen};
use crate::table::Table;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "reordering",
    promise: "A partition keeps the order in which a producer session sent its records.",
    source: "KIP-98, L-SEQ-4, K-ISO-4; Jepsen: nonmonotonic-send, int-nonmonotonic-poll",
    file: "src/invariants/reordering.rs",
    needs: &[&[Need::EndLogs, Need::Sends], &[Need::Polls]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn watches(&self) -> &'static [Kind] {
        &[Kind::Polled]
    }

    fn observe(&self, cx: Context<'_>, seen: Seen, report: &mut Report) {
        let Seen::Polled { poll, .. } = seen else { return };
        let poll = cx.facts.poll(poll);
        for pair in cx.facts.delivered_by(poll).windows(2) {
            if pair[0].offset >= pair[1].offset {
                let summary = format!(
                    "{} and was given offset {} after {}",
                    cx.words().poll(poll),
                    pair[1].offset,
                    pair[0].offset
                );
                let subject = pair[1].value.0;
                report.add(INFO.finding(subject, &["read", "offsets"], "K-ISO-4", summary));
            }
        }
    }

    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        // For each session the record of the log that was sent latest so far.
        let mut latest = Table::default();
        for log in &end.logs.leaders {
            latest.clear();
            if cx.setup.is_durable(log.partition.topic) {
                for place in end.logs.places_of(log) {
                    judge(cx, end, place, &mut latest, report);
                }
            }
        }
    }
}

fn judge(cx: Context<'_>, end: End<'_>, place: &Place, latest: &mut Table, report: &mut Report) {
    let Some(send) = place.send.filter(|&send| cx.facts.is_unique(send)) else { return };
    let fact = cx.facts.send(send);
    if !cx.setup.is_idempotent(fact.actor) || fact.partition != place.partition {
        return;
    }
    let session = u64::from(fact.session);
    let before = latest.get(session).filter(|&before| cx.facts.send(before).called > fact.called);
    let Some(before) = before else {
        latest.put(session, send);
        return;
    };
    // A second copy of the same record is a duplicate, not a reordering.
    if is_single(end, place) {
        let summary = format!(
            "the log holds {} behind a record that was sent later: {}",
            cx.words().send(send),
            cx.words().send(before)
        );
        report.add(INFO.finding(place.value.0, &["logged"], "L-SEQ-4", summary));
    }
}

/// Is `place` the only one of its value?
fn is_single(end: End<'_>, place: &Place) -> bool {
    place.next_of_value.is_none()
        && end.logs.places_by_value(place.value).count() == 1
}
