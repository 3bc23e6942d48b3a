//! EndTxn of transaction versions 0 and 1: the epoch outlives the transaction.
//!
//! Kafka counterpart: `TransactionCoordinator.endTransactionWithTV1`. The path follows the request,
//! not how the transaction began (C-END-23).

use eosim_types::record::TransactionResult::{Abort, Commit};
use eosim_types::record::TransactionState::{
    CompleteAbort, CompleteCommit, Dead, Empty, Ongoing, PrepareAbort, PrepareCommit,
    PrepareEpochFence,
};
use eosim_types::version::TransactionVersion;
use eosim_types::{ErrorCode, ProducerId, rule};

use crate::action::Ctx;
use crate::end_txn::{EndTransaction, EndTxnStep};
use crate::response_callback::NO_IDENTITY;
use crate::transaction_metadata::TransactionMetadata;

/// The checks in their order, then the transition.
pub(crate) fn end_transaction(
    cx: &mut Ctx<'_>,
    metadata: &mut TransactionMetadata,
    end: &EndTransaction,
) -> Result<EndTxnStep, ErrorCode> {
    rule!(cx.env, "C-END-2");
    if end.producer_id != metadata.producer_id {
        return Err(ErrorCode::InvalidProducerIdMapping);
    }
    rule!(cx.env, "C-END-3");
    let (requested, current) = (end.producer_epoch, metadata.producer_epoch);
    if (end.is_from_client && requested != current) || requested < current {
        return Err(ErrorCode::ProducerFenced);
    }
    rule!(cx.env, "C-END-4");
    if metadata.pending_state.is_some() && !metadata.is_fence_pending() {
        return Err(ErrorCode::ConcurrentTransactions);
    }
    rule!(cx.env, "C-END-5");
    match (metadata.state, end.result) {
        (Ongoing, _) => prepare(cx, metadata, end),
        (CompleteCommit, Commit) | (CompleteAbort, Abort) => Ok(EndTxnStep::Answer(NO_IDENTITY)),
        (PrepareCommit, Commit) | (PrepareAbort, Abort) => Err(ErrorCode::ConcurrentTransactions),
        (Empty, _)
        | (PrepareCommit | CompleteCommit, Abort)
        | (PrepareAbort | CompleteAbort, Commit) => Err(ErrorCode::InvalidTxnState),
        (Dead | PrepareEpochFence, _) => Err(ErrorCode::UnknownServerError),
    }
}

fn prepare(
    cx: &mut Ctx<'_>,
    metadata: &mut TransactionMetadata,
    end: &EndTransaction,
) -> Result<EndTxnStep, ErrorCode> {
    rule!(cx.env, "C-END-23");
    let is_fence = metadata.is_fence_pending() && end.result == Abort;
    if is_fence {
        rule!(cx.env, "C-END-6");
        metadata.raise_epoch_of_fence(end.producer_epoch);
    }
    let transit = metadata.prepare_abort_or_commit(
        &mut cx.env,
        end.result,
        TransactionVersion::Tv0,
        ProducerId::NONE,
        false,
    )?;
    Ok(EndTxnStep::Append { transit, is_fence })
}
