//! `aborted-read`: a read_committed reader was given a record of an aborted transaction.
//!
//! Promised by `isolation.level=read_committed` (KIP-98, K-FILT-2, L-IDX-5; Elle: G1a). Judged by
//! what the producer was told (its abort was reported done) and by the log (an ABORT marker ended
//! the transaction there). Not promised: anything to read_uncommitted readers (N5), or about aborts
//! whose outcome is unknown while the log commits (N6).

use eosim_types::message::IsolationLevel;

use crate::anomaly::Report;
use crate::facts::{Index, Transaction};
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::logs::Fate;
use crate::need::Need;
use crate::observe::{Kind, Seen};
use crate::words;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "aborted-read",
    promise: "A read_committed reader is never given a record of an aborted transaction.",
    source: "KIP-98, K-FILT-2, L-IDX-5; Elle: G1a",
    file: "src/invariants/aborted_read.rs",
    needs: &[
        &[Need::CommittedPolls, Need::TransactionalSends, Need::Ended],
        &[Need::CommittedPolls, Need::EndLogs],
    ],
};

pub(super) struct Check;

impl Invariant for Check {
    fn watches(&self) -> &'static [Kind] {
        &[Kind::Polled, Kind::Ended]
    }

    fn observe(&self, cx: Context<'_>, seen: Seen, report: &mut Report) {
        match seen {
            Seen::Ended { transaction } => {
                let fact = cx.facts.transaction(transaction);
                if let (Some((false, _)), Some((poll, send))) = (fact.done, fact.read_committed) {
                    told(cx, fact, poll, send, report);
                }
            }
            Seen::Polled { poll, .. } => {
                let fact = cx.facts.poll(poll);
                if fact.isolation_level == IsolationLevel::ReadCommitted {
                    for send in cx.facts.delivered_by(fact).iter().filter_map(|read| read.send) {
                        let transaction = cx.facts.transaction_of(send);
                        if let Some(transaction) = transaction.filter(|fact| is_aborted(fact)) {
                            told(cx, transaction, poll, send, report);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        let of_committed = |poll: &&crate::facts::Poll| {
            poll.isolation_level == IsolationLevel::ReadCommitted
                && cx.setup.is_durable(poll.partition.topic)
        };
        for poll in cx.facts.polls.iter().filter(of_committed) {
            let Some(log) = end.logs.leader(poll.partition) else { continue };
            let places = end.logs.places_of(log);
            for record in cx.facts.delivered_by(poll) {
                let Ok(at) = places.binary_search_by_key(&record.offset, |place| place.offset)
                else {
                    continue;
                };
                let place = &places[at];
                if place.value == record.value && matches!(place.fate, Fate::Aborted(_)) {
                    let summary = format!(
                        "{} and was given {}, {}",
                        cx.words().poll(poll),
                        cx.words().place(place),
                        words::fate(place.fate)
                    );
                    let skeleton = ["read", "ABORT marker"];
                    report.add(INFO.finding(place.value.0, &skeleton, "K-FILT-2", summary));
                }
            }
        }
    }
}

fn is_aborted(transaction: &Transaction) -> bool {
    matches!(transaction.done, Some((false, _)))
}

/// The producer was told that the transaction is aborted.
fn told(cx: Context<'_>, fact: &Transaction, poll: Index, send: Index, report: &mut Report) {
    if !cx.facts.is_unique(send) {
        return;
    }
    let summary = format!(
        "{} and was given {} ({})",
        cx.words().poll(cx.facts.poll(poll)),
        cx.words().send(send),
        cx.words().transaction(fact)
    );
    let subject = cx.facts.send(send).value.0;
    report.add(INFO.finding(subject, &["read", "abort reported done"], "K-FILT-2", summary));
}
