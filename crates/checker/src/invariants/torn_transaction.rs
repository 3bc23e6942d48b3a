//! `torn-transaction`: a part of a transaction is committed, another part is not.
//!
//! Promised (KIP-98, C-MRK, KIP-890): all records and offsets of a transaction share one fate, in
//! every partition; and the markers of one (producer id, epoch) that raise the epoch agree, since
//! such an epoch names one transaction (L-MRK-7). Not promised: that the parts become visible at
//! the same instant (N1); while the cluster is not healed, or a marker is missing, a part may be
//! open. Isolation between transactions is not promised at all (N2).

use crate::anomaly::Report;
use crate::facts::{Index, Transaction};
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::logs::{Fate, Presence, TransactionalBatch};
use crate::need::Need;
use crate::words;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "torn-transaction",
    promise: "All records and offsets of a transaction are committed, or none.",
    source: "KIP-98, KIP-890, C-MRK-1, L-MRK-7",
    file: "src/invariants/torn_transaction.rs",
    needs: &[&[Need::TransactionalSends, Need::EndLogs]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        for transaction in &cx.facts.transactions {
            parts(cx, end, transaction, report);
        }
        markers(cx, end, report);
    }
}

/// A committed record and another one of the same transaction that is not.
fn parts(cx: Context<'_>, end: End<'_>, transaction: &Transaction, report: &mut Report) {
    let fates = || {
        let judged = cx.facts.sends_of(transaction).filter(|&index| {
            let send = cx.facts.send(index);
            cx.facts.is_unique(index)
                && cx.setup.acknowledges_all(send.actor)
                && cx.setup.is_durable(send.partition.topic)
        });
        judged.map(|index| (index, part(cx, end, index)))
    };
    let Some((committed, _)) = fates().find(|(_, part)| *part == Some(Part::Committed)) else {
        return;
    };
    let before_the_end = |index: Index| {
        let called = cx.facts.send(index).called;
        transaction.end_called.is_none_or(|ended| called < ended)
    };
    let mut others = fates().filter_map(|(index, part)| match part {
        Some(Part::Other(shape, fate)) if before_the_end(index) => Some((index, shape, fate)),
        _ => None,
    });
    if let Some((other, shape, fate)) = others.next() {
        let words = cx.words();
        let fate = fate.map_or_else(|| "not in the log".to_string(), words::fate);
        let summary = format!(
            "{}: committed is {}, but {fate} is {}",
            words.transaction(transaction),
            words.send(committed),
            words.send(other)
        );
        let subject = transaction.begun.order;
        report.add(INFO.finding(subject, &["committed in part", shape], "C-MRK-1", summary));
    }
}

#[derive(PartialEq, Eq)]
enum Part {
    Committed,
    /// As part of the skeleton says it, and its fate if it is in the log.
    Other(&'static str, Option<Fate>),
}

fn part(cx: Context<'_>, end: End<'_>, index: Index) -> Option<Part> {
    match end.logs.presence(cx.setup, end.dump, cx.facts.send(index)) {
        Presence::Unknown => None,
        Presence::Missing => Some(Part::Other("not in the log", None)),
        Presence::At(place) => match place.fate {
            Fate::Committed(_) => Some(Part::Committed),
            Fate::Aborted(_) => Some(Part::Other("ABORT marker", Some(place.fate))),
            Fate::Open if end.dump.healed => {
                Some(Part::Other("no marker", Some(place.fate)))
            }
            Fate::Open | Fate::Plain => None,
        },
    }
}

/// Markers that raise the epoch of the same (producer id, epoch) and disagree.
fn markers(cx: Context<'_>, end: End<'_>, report: &mut Report) {
    let raised = |batch: &&TransactionalBatch| {
        batch.ended.is_some_and(|ended| ended.marker_epoch > batch.producer_epoch)
            && cx.setup.is_durable(batch.partition.topic)
    };
    let mut batches: Vec<&TransactionalBatch> = end.logs.batches.iter().filter(raised).collect();
    let identity = |batch: &TransactionalBatch| (batch.producer_id, batch.producer_epoch);
    batches.sort_by_key(|batch| identity(batch));
    for pair in batches.windows(2).filter(|pair| identity(pair[0]) == identity(pair[1])) {
        let (Some(one), Some(other)) = (pair[0].ended, pair[1].ended) else { continue };
        if one.result != other.result {
            let words = cx.words();
            let summary = format!(
                "the transaction of producer id {} epoch {} was ended by the {} and by the {}",
                one.producer_id,
                pair[0].producer_epoch,
                words.marker(pair[0].partition, &one),
                words.marker(pair[1].partition, &other)
            );
            let subject = one.producer_id.0.cast_unsigned();
            report.add(INFO.finding(subject, &["markers disagree"], "L-MRK-7", summary));
        }
    }
}
