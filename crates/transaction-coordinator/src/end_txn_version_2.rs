//! EndTxn of transaction version 2: every decision raises the epoch.
//!
//! Kafka counterpart: `TransactionCoordinator.endTransaction` for versions that support the epoch
//! bump. A "retry" proves only that the current epoch is the requested one plus one, which an abort
//! by the coordinator brings about as well (C-END-18).

use eosim_types::record::TransactionResult::{Abort, Commit};
use eosim_types::record::TransactionState::{
    CompleteAbort, CompleteCommit, Dead, Empty, Ongoing, PrepareAbort, PrepareCommit,
    PrepareEpochFence,
};
use eosim_types::{Capability, Defect, Env, ErrorCode, ProducerEpoch, ProducerId, rule};

use crate::action::Ctx;
use crate::end_txn::{EndTransaction, EndTxnStep};
use crate::producer_id_manager::ProducerIdManager;
use crate::transaction_metadata::TransactionMetadata;

/// How a request relates to what was decided before (C-END-9).
#[derive(Clone, Copy)]
struct Retry {
    /// The same request once more, after the decision rotated the producer id.
    is_overflow: bool,
    /// The same request once more, after the decision raised the epoch.
    is_bump: bool,
}

/// The checks in their order, then the transition.
pub(crate) fn end_transaction(
    cx: &mut Ctx<'_>,
    metadata: &mut TransactionMetadata,
    ids: &mut ProducerIdManager,
    end: &EndTransaction,
) -> Result<EndTxnStep, ErrorCode> {
    rule!(cx.env, "C-END-9");
    let retry = find_retry(&cx.env, metadata, end);
    rule!(cx.env, "C-END-10");
    if metadata.pending_state.is_some() && !metadata.is_fence_pending() {
        rule!(cx.env, "C-END-14");
        return Err(ErrorCode::ConcurrentTransactions);
    }
    rule!(cx.env, "C-END-11");
    if end.producer_id != metadata.producer_id && !retry.is_overflow {
        return Err(ErrorCode::InvalidProducerIdMapping);
    }
    rule!(cx.env, "C-END-12");
    if !is_valid_epoch(&cx.env, metadata, end, retry) {
        return Err(ErrorCode::ProducerFenced);
    }
    rule!(cx.env, "C-END-13");
    let is_retry = retry.is_overflow || retry.is_bump;
    let done = (metadata.producer_id, metadata.producer_epoch);
    match (metadata.state, end.result) {
        (Ongoing, _) => bump_epoch(cx, metadata, ids, end, false),
        (Empty, Abort) => bump_epoch(cx, metadata, ids, end, true),
        (CompleteCommit | CompleteAbort, Abort) if !is_retry => {
            bump_epoch(cx, metadata, ids, end, true)
        }
        (Empty, Commit) => empty_commit(cx, metadata, ids, end),
        (CompleteCommit, Commit) if cx.env.on(Defect::CoordinatorEndTxnAckFromPreviousComplete) => {
            Ok(EndTxnStep::Answer(done))
        }
        (CompleteCommit | CompleteAbort, Commit) if !is_retry => {
            empty_commit(cx, metadata, ids, end)
        }
        (CompleteCommit, Commit) | (CompleteAbort, Abort) => {
            rule!(cx.env, "C-END-18");
            rule!(cx.env, "H-7");
            if end.result == Abort {
                rule!(cx.env, "H-9");
            }
            Ok(EndTxnStep::Answer(done))
        }
        (PrepareCommit, Commit) | (PrepareAbort, Abort) => Err(ErrorCode::ConcurrentTransactions),
        (PrepareCommit | CompleteCommit, Abort) | (PrepareAbort | CompleteAbort, Commit) => {
            Err(ErrorCode::InvalidTxnState)
        }
        (Dead | PrepareEpochFence, _) => Err(ErrorCode::UnknownServerError),
    }
}

fn find_retry(env: &Env<'_>, metadata: &TransactionMetadata, end: &EndTransaction) -> Retry {
    if metadata.is_fence_pending() {
        return Retry { is_overflow: false, is_bump: false };
    }
    let forgets = env.on(Defect::UpstreamCoordinatorAbortAtLastEpochForgotten);
    let at_last = end.producer_epoch == ProducerEpoch::MAX && !forgets;
    let is_overflow = metadata.previous_producer_id == end.producer_id
        && (end.producer_epoch.0 == i16::MAX - 1 || at_last)
        && metadata.producer_epoch.0 == 0;
    // Only an EndTxn of version 2 raises the epoch. After one of version 1 the epoch before is that of
    // a producer that was fenced.
    let was_bumped = metadata.client_transaction_version.supports_epoch_bump()
        || env.on(Defect::UpstreamCoordinatorFencedEndTakesEpoch);
    let is_next = end.producer_epoch.next() == Some(metadata.producer_epoch);
    let is_bump =
        (was_bumped && is_next) || (at_last && metadata.producer_epoch == ProducerEpoch::MAX);
    Retry { is_overflow, is_bump }
}

fn is_valid_epoch(
    env: &Env<'_>,
    metadata: &TransactionMetadata,
    end: &EndTransaction,
    retry: Retry,
) -> bool {
    let (requested, current) = (end.producer_epoch, metadata.producer_epoch);
    if metadata.is_fence_pending() {
        return (!end.is_from_client || requested == current) && requested >= current;
    }
    match metadata.state {
        Ongoing if env.on(Defect::CoordinatorEndTxnNoTxnIdentity) && retry.is_bump => true,
        Ongoing | Empty => requested == current,
        PrepareCommit | PrepareAbort => retry.is_bump,
        CompleteCommit | CompleteAbort => {
            retry.is_bump || retry.is_overflow || requested == current
        }
        Dead | PrepareEpochFence => true,
    }
}

/// A COMMIT of a transaction to which nothing was added.
fn empty_commit(
    cx: &mut Ctx<'_>,
    metadata: &mut TransactionMetadata,
    ids: &mut ProducerIdManager,
    end: &EndTransaction,
) -> Result<EndTxnStep, ErrorCode> {
    let judges = cx.env.on(Defect::CoordinatorEmptyCommitJudgedFromMemory);
    if cx.env.has(Capability::EmptyCommitBumps) && !judges {
        bump_epoch(cx, metadata, ids, end, true)
    } else {
        Err(ErrorCode::InvalidTxnState)
    }
}

/// Prepare… with the epoch raised exactly once, or the id rotated (C-END-15). The new id is wasted
/// if the append fails (C-PID-8).
fn bump_epoch(
    cx: &mut Ctx<'_>,
    metadata: &mut TransactionMetadata,
    ids: &mut ProducerIdManager,
    end: &EndTransaction,
    no_partition_added: bool,
) -> Result<EndTxnStep, ErrorCode> {
    rule!(cx.env, "C-END-15");
    let rotates = end.is_from_client || cx.env.has(Capability::CoordinatorRotatesProducerId);
    let next_producer_id = if rotates && metadata.producer_epoch.is_exhausted() {
        ids.generate_producer_id(cx)
    } else {
        Ok(ProducerId::NONE)
    };
    let is_fence = metadata.is_fence_pending() && end.result == Abort;
    if is_fence {
        metadata.pending_state = None;
    }
    let transit = metadata.prepare_abort_or_commit(
        &mut cx.env,
        end.result,
        end.version,
        next_producer_id?,
        no_partition_added,
    )?;
    Ok(EndTxnStep::Append { transit, is_fence })
}
