//! `committed-lost`: a commit was reported done, and a record or offset of it is not there.
//!
//! Promised (KIP-98, P-MOD-4, C-END): when `commitTransaction()` returns, the decision is durable:
//! every record that was sent in the transaction becomes visible, and its offsets are committed. A
//! failed send forbids a successful commit (P-ERR-1), so that failed sends of a transaction that
//! was reported committed count as lost, too. Not promised: when they become visible (N1, N3); while
//! the cluster is not healed a record may still be open.

use eosim_types::record::{OffsetCommitRecord, Payload, TransactionResult};
use eosim_types::{GroupId, Topic, TopicPartition};

use crate::anomaly::Report;
use crate::facts::{Send, Transaction};
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::logs::{Fate, Presence, TransactionalBatch};
use crate::words;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "committed-lost",
    promise: "After a commit was reported done, all its records are visible, all its offsets kept.",
    source: "KIP-98, P-MOD-4, P-ERR-1, C-END-13",
    file: "src/invariants/committed_lost.rs",
};

pub(super) struct Check;

impl Invariant for Check {
    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        let committed =
            || cx.facts.transactions.iter().filter(|fact| matches!(fact.done, Some((true, _))));
        for transaction in committed() {
            records(cx, end, transaction, report);
        }
        let has_offsets = committed().any(|transaction| transaction.last_offset.is_some());
        if has_offsets && end.dump.healed && is_readable(cx, end) {
            let kept = committed_offsets(end);
            for transaction in committed() {
                offsets(cx, transaction, &kept, report);
            }
        }
    }
}

fn records(cx: Context<'_>, end: End<'_>, transaction: &Transaction, report: &mut Report) {
    for index in cx.facts.sends_of(transaction) {
        let send = cx.facts.send(index);
        if !cx.facts.is_unique(index) || !is_due(cx, transaction, send) {
            continue;
        }
        let (shape, fate) = match end.logs.presence(cx.setup, end.dump, send) {
            Presence::Missing => ("not in the log", "not in the log".to_string()),
            Presence::At(place) => match place.fate {
                Fate::Aborted(_) => ("ABORT marker", words::fate(place.fate)),
                Fate::Open if end.dump.healed => ("no marker", words::fate(place.fate)),
                _ => continue,
            },
            Presence::Unknown => continue,
        };
        let words = cx.words();
        let summary =
            format!("{}: {} is {fate}", words.transaction(transaction), words.send(index));
        let skeleton = ["commit reported done", shape];
        report.add(INFO.finding(send.value.0, &skeleton, "P-MOD-4", summary));
    }
}

/// Does the commit answer for `send`? Only if it was called before the commit was.
fn is_due(cx: Context<'_>, transaction: &Transaction, send: &Send) -> bool {
    cx.setup.acknowledges_all(send.actor)
        && cx.setup.is_durable(send.partition.topic)
        && transaction.commit_called.is_none_or(|called| send.called < called)
}

/// An offset of a group as a committed batch holds it.
type Kept = (GroupId, TopicPartition, i64);

/// Offsets are looked for in every batch that a COMMIT marker ended.
fn offsets(cx: Context<'_>, transaction: &Transaction, kept: &[Kept], report: &mut Report) {
    for sent in cx.facts.offsets_of(transaction) {
        if kept.binary_search(&(sent.group, sent.partition, sent.offset)).is_err() {
            let summary = format!(
                "{}, but offset {} of {} for group {} is in no committed batch of \
                 __consumer_offsets",
                cx.words().transaction(transaction),
                sent.offset,
                cx.setup.names.partition(sent.partition),
                cx.setup.names.group(sent.group)
            );
            let subject = transaction.begun.order;
            let skeleton = ["commit reported done", "offset not committed"];
            report.add(INFO.finding(subject, &skeleton, "G-MARK-1", summary));
        }
    }
}

/// Are all logs of `__consumer_offsets` dumped, whole and led?
fn is_readable(cx: Context<'_>, end: End<'_>) -> bool {
    let replicas = || {
        let all = end.dump.replicas.iter().enumerate();
        all.filter(|(_, replica)| replica.partition.topic == Topic::CONSUMER_OFFSETS)
    };
    let is_whole = |at: usize, partition| {
        end.logs.replay(at).is_whole && end.logs.leader(partition).is_some()
    };
    replicas().next().is_some()
        && cx.setup.is_durable(Topic::CONSUMER_OFFSETS)
        && replicas().all(|(at, replica)| is_whole(at, replica.partition))
}

/// All offsets in batches of `__consumer_offsets` that a COMMIT marker ended, sorted.
fn committed_offsets(end: End<'_>) -> Vec<Kept> {
    let is_committed = |batch: &&TransactionalBatch| {
        batch.partition.topic == Topic::CONSUMER_OFFSETS
            && batch.ended.is_some_and(|ended| ended.result == TransactionResult::Commit)
    };
    let mut kept = Vec::new();
    for found in end.logs.batches.iter().filter(is_committed) {
        let Some(log) = end.logs.leader(found.partition) else { continue };
        let batches = &end.dump.replicas[log.replica].batches;
        let at = batches.partition_point(|batch| batch.base_offset < found.base_offset);
        if let Payload::OffsetCommits(records) = &batches[at].payload {
            let offset = |record: &OffsetCommitRecord| {
                Some((record.group, record.partition, record.offset?))
            };
            kept.extend(records.iter().filter_map(offset));
        }
    }
    kept.sort_unstable();
    kept
}
