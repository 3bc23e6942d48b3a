//! `early-read`: a reader was given what it may not see yet.
//!
//! Promised: an answer holds nothing at or above its bound, the high watermark or, for
//! read_committed, the last stable offset (L-FET-1); and nothing of a transaction reaches a
//! read_committed reader before its producer asked to commit it (L-LSO-1; Jepsen:
//! precommitted-read). Not promised: when committed data appears (N3), or that it appears in all
//! partitions at once (N1); a read after the call of `commitTransaction()` and before its return is
//! legal.

use eosim_types::message::IsolationLevel;

use crate::anomaly::Report;
use crate::facts::Poll;
use crate::invariant::{Context, Invariant, InvariantInfo};
use crate::need::Need;
use crate::observe::{Kind, Seen};

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "early-read",
    promise: "Readers see nothing above the high watermark, read_committed nothing undecided.",
    source: "L-FET-1, L-LSO-1, K-ISO-2; Jepsen: precommitted-read",
    file: "src/invariants/early_read.rs",
    needs: &[&[Need::CommittedPolls, Need::TransactionalSends], &[Need::Bounds]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn watches(&self) -> &'static [Kind] {
        &[Kind::Polled]
    }

    fn observe(&self, cx: Context<'_>, seen: Seen, report: &mut Report) {
        let Seen::Polled { poll, .. } = seen else { return };
        let poll = cx.facts.poll(poll);
        above_bound(cx, poll, report);
        if poll.isolation_level == IsolationLevel::ReadCommitted {
            undecided(cx, poll, report);
        }
    }
}

fn above_bound(cx: Context<'_>, poll: &Poll, report: &mut Report) {
    if let Some(record) = cx.facts.delivered_by(poll).last().filter(|r| r.offset >= poll.bound) {
        let what = cx.words().record(record.value, poll.partition, record.offset);
        let summary = format!("{} and was given {what}", cx.words().poll(poll));
        report.add(INFO.finding(record.value.0, &["read", "above the bound"], "L-FET-1", summary));
    }
}

fn undecided(cx: Context<'_>, poll: &Poll, report: &mut Report) {
    for record in cx.facts.delivered_by(poll) {
        let Some(send) = record.send else { continue };
        let Some(transaction) = cx.facts.transaction_of(send) else { continue };
        // Once an abort was reported done, reading is `aborted-read`.
        let is_undecided = transaction.commit_called.is_none() && transaction.done.is_none();
        if !is_undecided || !cx.facts.is_unique(send) {
            continue;
        }
        let summary = format!(
            "{} and was given {} ({})",
            cx.words().poll(poll),
            cx.words().send(send),
            cx.words().transaction(transaction)
        );
        let skeleton = ["read", "commit never called"];
        report.add(INFO.finding(record.value.0, &skeleton, "L-LSO-1", summary));
    }
}
