//! `committed-lost`: a commit was reported done, and a record or offset of it is not there.
//!
//! Promised (KIP-98, P-MOD-4, C-END): when `commitTransaction()` returns, the decision is durable:
//! every record that was sent in the transaction becomes visible, and its offsets are committed. A
//! failed send forbids a successful commit (P-ERR-1), so that failed sends of a transaction that
//! was reported committed count as lost, too. Not promised: when they become visible (N1, N3); while
//! the cluster is not healed a record may still be open.

use crate::anomaly::Report;
use crate::facts::{Send, Transaction};
use crate::group_offsets::{CommittedOffset, committed_offsets, is_readable};
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::need::Need;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "committed-lost",
    promise: "After a commit was reported done, all its records are visible, all its offsets kept.",
    source: "KIP-98, P-MOD-4, P-ERR-1, C-END-13",
    file: "src/invariants/committed_lost.rs",
    needs: &[
        &[Need::TransactionalSends, Need::Commits, Need::EndLogs],
        &[Need::OffsetsSent, Need::Commits, Need::Healed, Need::Offsets],
    ],
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
        if has_offsets && end.dump.healed {
            let kept = committed_offsets(end);
            for transaction in committed() {
                offsets(cx, end, transaction, &kept, report);
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
        let Some((shape, fate)) = end.logs.loss(cx.setup, end.dump, send) else { continue };
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

/// Offsets are looked for among those that a COMMIT marker ended.
fn offsets(
    cx: Context<'_>,
    end: End<'_>,
    transaction: &Transaction,
    kept: &[CommittedOffset],
    report: &mut Report,
) {
    for sent in cx.facts.offsets_of(transaction) {
        let is_it = |one: &CommittedOffset| {
            let key = (one.group, one.partition, one.offset);
            one.is_transactional && key == (sent.group, sent.partition, Some(sent.offset))
        };
        if !kept.iter().any(is_it) && is_readable(cx, end, sent.group) {
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
