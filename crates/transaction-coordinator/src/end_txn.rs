//! EndTxn: the decision of a transaction, by its producer or by the coordinator itself.
//!
//! Kafka counterpart: `TransactionCoordinator.handleEndTransaction` and `endTransaction`. What each
//! path checks is in `end_txn_version_1` and `end_txn_version_2`. Invariant: the client is answered
//! when Prepare… is replicated, and no marker is sent before.

use eosim_types::machine::CoordinatorEvent;
use eosim_types::message::EndTxnRequest;
use eosim_types::record::TransactionResult;
use eosim_types::version::TransactionVersion;
use eosim_types::{
    CoordinatorEpoch, Defect, ErrorCode, ProducerEpoch, ProducerId, TransactionalId, rule,
};

use crate::action::{Ctx, ReplyTo};
use crate::append_transaction_to_log::{PreparedTransition, Written};
use crate::coordinator::TransactionCoordinator;
use crate::response_callback::{
    EndTxnCallback, EndTxnCaller, Identity, NO_IDENTITY, ResponseCallback,
};
use crate::txn_transit_metadata::TxnTransitMetadata;
use crate::{end_txn_version_1, end_txn_version_2};

/// The arguments of `endTransaction`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EndTransaction {
    pub(crate) transactional_id: TransactionalId,
    pub(crate) producer_id: ProducerId,
    pub(crate) producer_epoch: ProducerEpoch,
    pub(crate) result: TransactionResult,
    /// False for the two aborts that the coordinator starts (C-END-22).
    pub(crate) is_from_client: bool,
    /// Chooses the path (C-TV-4).
    pub(crate) version: TransactionVersion,
}

impl EndTransaction {
    fn event(&self) -> CoordinatorEvent {
        match self.result {
            TransactionResult::Commit => CoordinatorEvent::EndTxnCommit,
            TransactionResult::Abort if self.is_from_client => CoordinatorEvent::EndTxnAbort,
            TransactionResult::Abort => CoordinatorEvent::OwnAbort,
        }
    }
}

/// What an allowed EndTxn leads to.
pub(crate) enum EndTxnStep {
    /// Write Prepare….
    Append {
        transit: TxnTransitMetadata,
        /// The coordinator itself fences the producer.
        is_fence: bool,
    },
    /// It is a retry of what is done: answer with this.
    Answer(Identity),
}

impl TransactionCoordinator {
    /// Handles EndTxn.
    pub(crate) fn handle_end_txn(
        &mut self,
        cx: &mut Ctx<'_>,
        to: ReplyTo,
        request: &EndTxnRequest,
    ) {
        rule!(cx.env, "C-TV-2");
        rule!(cx.env, "C-TV-3");
        let version =
            if request.version >= 5 { TransactionVersion::Tv2 } else { TransactionVersion::Tv0 };
        let end = EndTransaction {
            transactional_id: request.transactional_id,
            producer_id: request.producer_id,
            producer_epoch: request.producer_epoch,
            result: TransactionResult::from_committed(request.committed),
            is_from_client: true,
            version,
        };
        self.end_transaction(cx, end, EndTxnCaller::Client { to, version: request.version });
    }

    /// Decides a transaction. Kafka: `endTransaction`.
    pub(crate) fn end_transaction(
        &mut self,
        cx: &mut Ctx<'_>,
        end: EndTransaction,
        caller: EndTxnCaller,
    ) {
        rule!(cx.env, "C-TV-4");
        if !end.is_from_client {
            rule!(cx.env, "C-END-22");
        }
        let bumps_epoch = end.version.supports_epoch_bump();
        let id = end.transactional_id;
        let mut callback =
            EndTxnCallback { caller, result: end.result, bumps_epoch, fence_of: None };
        match self.check_end_transaction(cx, &end) {
            Ok((_, EndTxnStep::Answer(identity))) => caller.answer(cx, Ok(identity)),
            Ok((coordinator_epoch, EndTxnStep::Append { transit, is_fence })) => {
                callback.fence_of = (is_fence && !bumps_epoch).then_some(coordinator_epoch);
                let prepared =
                    PreparedTransition { transactional_id: id, coordinator_epoch, transit };
                self.append_transaction_to_log(cx, prepared, ResponseCallback::EndTxn(callback));
            }
            Err(error) => self.refuse(cx, id, ResponseCallback::EndTxn(callback), error),
        }
    }

    /// C-END-1, C-END-8, and the checks of the path.
    fn check_end_transaction(
        &mut self,
        cx: &mut Ctx<'_>,
        end: &EndTransaction,
    ) -> Result<(CoordinatorEpoch, EndTxnStep), ErrorCode> {
        if end.transactional_id == TransactionalId::EMPTY {
            return Err(ErrorCode::InvalidRequest);
        }
        let owned = self.state_manager.get_transaction_state(cx, end.transactional_id)?;
        let metadata = owned.metadata.ok_or(ErrorCode::InvalidProducerIdMapping)?;
        metadata.takes(&mut cx.env, end.event());
        let step = if end.version.supports_epoch_bump() {
            rule!(cx.env, "C-END-8");
            end_txn_version_2::end_transaction(cx, metadata, &mut self.producer_id_manager, end)?
        } else {
            rule!(cx.env, "C-END-1");
            end_txn_version_1::end_transaction(cx, metadata, end)?
        };
        Ok((owned.coordinator_epoch, step))
    }

    /// The record of the decision is replicated, or its append failed.
    pub(crate) fn decision_written(
        &mut self,
        cx: &mut Ctx<'_>,
        transactional_id: TransactionalId,
        callback: EndTxnCallback,
        outcome: Result<Written, ErrorCode>,
    ) {
        match outcome {
            Ok(written) => {
                self.complete_decision(cx, transactional_id, callback, written.coordinator_epoch);
            }
            Err(error) => {
                rule!(cx.env, "C-END-19");
                if let Some(coordinator_epoch) = callback.fence_of {
                    self.remember_failed_fence(cx, transactional_id, coordinator_epoch);
                }
                rule!(cx.env, "C-END-17");
                callback.caller.answer(cx, Err(error));
            }
        }
    }

    fn remember_failed_fence(
        &mut self,
        cx: &mut Ctx<'_>,
        transactional_id: TransactionalId,
        coordinator_epoch: CoordinatorEpoch,
    ) {
        let owned = self.state_manager.get_under_epoch(cx, transactional_id, coordinator_epoch);
        if let Ok((_, metadata)) = owned {
            metadata.has_failed_epoch_fence = true;
        }
    }

    /// Answers the client and hands the markers to the sender (C-END-21).
    fn complete_decision(
        &mut self,
        cx: &mut Ctx<'_>,
        transactional_id: TransactionalId,
        callback: EndTxnCallback,
        coordinator_epoch: CoordinatorEpoch,
    ) {
        // C-END-20: memory was changed in this very step, so nothing can have come between.
        rule!(cx.env, "C-END-20");
        let owned = self.state_manager.get_under_epoch(cx, transactional_id, coordinator_epoch);
        let (_, metadata) = owned.expect("owned when the decision became the state");
        let current = (metadata.producer_id, metadata.producer_epoch);
        let transit =
            metadata.prepare_complete(&mut cx.env).expect("a decision that became the state");
        rule!(cx.env, "C-END-21");
        let identity = if !callback.bumps_epoch {
            rule!(cx.env, "C-END-7");
            NO_IDENTITY
        } else if cx.env.on(Defect::CoordinatorReturnsCurrentIdentityOnOverflow) {
            current
        } else {
            (transit.producer_id, transit.producer_epoch)
        };
        callback.caller.answer(cx, Ok(identity));
        let prepared = PreparedTransition { transactional_id, coordinator_epoch, transit };
        self.add_txn_markers_to_send(cx, callback.result, prepared);
    }
}
