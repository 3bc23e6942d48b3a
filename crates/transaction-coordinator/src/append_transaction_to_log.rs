//! Writing a transition: append, wait until it is replicated, then change memory, then answer.
//!
//! Kafka counterpart: `TransactionStateManager.appendTransactionToLog`.
//! Invariant: at most one transition per transactional id is being written, because the pending
//! state blocks a second one (C-APP-4).

use alloc::sync::Arc;

use eosim_types::machine::CoordinatorEvent;
use eosim_types::record::TransactionLogRecord;
use eosim_types::{
    CoordinatorEpoch, Defect, Duration, ErrorCode, ProducerEpoch, ProducerId, TransactionalId, rule,
};

use crate::action::{Action, AppendId, Ctx};
use crate::confirm_leadership::Confirmation;
use crate::coordinator::TransactionCoordinator;
use crate::remove_expired_transactional_ids::ExpiredTransactionalIds;
use crate::response_callback::ResponseCallback;
use crate::txn_transit_metadata::TxnTransitMetadata;

/// A transition with the id that it belongs to and the coordinator epoch under which it was
/// prepared.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct PreparedTransition {
    pub(crate) transactional_id: TransactionalId,
    pub(crate) coordinator_epoch: CoordinatorEpoch,
    pub(crate) transit: TxnTransitMetadata,
}

/// What a transition that became the state says of the producer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Written {
    pub(crate) coordinator_epoch: CoordinatorEpoch,
    pub(crate) producer_id: ProducerId,
    pub(crate) producer_epoch: ProducerEpoch,
}

/// An append under way and what is to happen after it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum PendingAppend {
    /// The record of a transition.
    Transition(PreparedTransition, ResponseCallback),
    /// Tombstones of expired ids.
    Tombstones(ExpiredTransactionalIds),
    /// A barrier before a fatal answer.
    Confirmation(Confirmation),
}

/// What the log's own error means to a client (C-APP-5).
fn map_append_error(error: ErrorCode) -> Result<(), ErrorCode> {
    match error {
        ErrorCode::None => Ok(()),
        ErrorCode::UnknownTopicOrPartition
        | ErrorCode::NotEnoughReplicas
        | ErrorCode::NotEnoughReplicasAfterAppend
        | ErrorCode::RequestTimedOut => Err(ErrorCode::CoordinatorNotAvailable),
        ErrorCode::NotLeaderOrFollower | ErrorCode::KafkaStorageError => {
            Err(ErrorCode::NotCoordinator)
        }
        ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge => {
            Err(ErrorCode::UnknownServerError)
        }
        other => Err(other),
    }
}

impl TransactionCoordinator {
    /// Appends the record of a prepared transition and runs `callback` with the outcome, later or,
    /// if the partition is not owned as it was, at once.
    pub(crate) fn append_transaction_to_log(
        &mut self,
        cx: &mut Ctx<'_>,
        prepared: PreparedTransition,
        mut callback: ResponseCallback,
    ) {
        let (partition, record) = match self.encode_if_owned(cx, &prepared) {
            Ok(encoded) => encoded,
            Err(error) => {
                return self.run_callback(cx, prepared.transactional_id, callback, Err(error));
            }
        };
        if cx.env.on(Defect::CoordinatorEndTxnBeforeReplicated) {
            callback.answer_before_replicated(cx, &prepared.transit);
        }
        if cx.env.on(Defect::CoordinatorAddPartitionsBeforeReplicated) {
            self.answer_added_before_replicated(cx, &mut callback);
        }
        rule!(cx.env, "C-APP-3");
        rule!(cx.env, "C-APP-4");
        let timeout_ms = u64::try_from(prepared.transit.transaction_timeout_ms).unwrap_or(0);
        let epoch = prepared.coordinator_epoch;
        let pending = PendingAppend::Transition(prepared, callback);
        let timeout = Duration::from_millis(timeout_ms);
        self.append(cx, partition, epoch, Arc::from([record]), timeout, pending);
    }

    /// C-APP-1, C-APP-2. A refusal leaves the pending state as it is.
    fn encode_if_owned(
        &mut self,
        cx: &mut Ctx<'_>,
        prepared: &PreparedTransition,
    ) -> Result<(i32, TransactionLogRecord), ErrorCode> {
        rule!(cx.env, "C-APP-2");
        let id = prepared.transactional_id;
        let (partition, _) =
            self.state_manager.get_under_epoch(cx, id, prepared.coordinator_epoch)?;
        rule!(cx.env, "C-APP-1");
        rule!(cx.env, "C-TV-1");
        let record =
            prepared.transit.to_record(&mut cx.env, id, cx.metadata.transaction_version)?;
        Ok((partition, record))
    }

    /// Asks for an append and remembers what follows.
    pub(crate) fn append(
        &mut self,
        cx: &mut Ctx<'_>,
        partition: i32,
        coordinator_epoch: CoordinatorEpoch,
        records: Arc<[TransactionLogRecord]>,
        timeout: Duration,
        pending: PendingAppend,
    ) {
        let id = self.next_append_id;
        self.next_append_id = AppendId(id.0 + 1);
        self.pending_appends.insert(id, pending);
        cx.actions.push(Action::Append { id, partition, coordinator_epoch, records, timeout });
    }

    /// The log has answered.
    pub(crate) fn handle_append_result(
        &mut self,
        cx: &mut Ctx<'_>,
        id: AppendId,
        error: ErrorCode,
    ) {
        rule!(cx.env, "C-APP-5");
        if matches!(error, ErrorCode::RequestTimedOut | ErrorCode::NotLeaderOrFollower) {
            rule!(cx.env, "H-1");
        }
        match self.pending_appends.remove(id).expect("an append that was asked for") {
            PendingAppend::Transition(prepared, callback) => {
                self.transition_appended(cx, prepared, callback, map_append_error(error));
            }
            PendingAppend::Tombstones(expired) => self.tombstones_appended(cx, &expired, error),
            PendingAppend::Confirmation(confirmation) => {
                self.leadership_confirmed(cx, confirmation, map_append_error(error));
            }
        }
    }

    fn transition_appended(
        &mut self,
        cx: &mut Ctx<'_>,
        prepared: PreparedTransition,
        callback: ResponseCallback,
        result: Result<(), ErrorCode>,
    ) {
        let id = prepared.transactional_id;
        let outcome = match result {
            Ok(()) => self.make_state(cx, prepared),
            Err(error) => {
                self.leave_state(cx, prepared, &callback, error);
                Err(error)
            }
        };
        rule!(cx.env, "C-APP-8");
        self.run_callback(cx, id, callback, outcome);
    }

    /// The record is durable; memory follows if the partition is owned as it was (C-APP-6).
    fn make_state(
        &mut self,
        cx: &mut Ctx<'_>,
        prepared: PreparedTransition,
    ) -> Result<Written, ErrorCode> {
        rule!(cx.env, "C-APP-6");
        let PreparedTransition { transactional_id, coordinator_epoch, transit } = prepared;
        let (_, metadata) =
            self.state_manager.get_under_epoch(cx, transactional_id, coordinator_epoch)?;
        if metadata.pending_state.is_none() && cx.env.on(Defect::CoordinatorClearsPendingOnRetry) {
            // Kafka throws, and nobody hears it.
            return Err(ErrorCode::UnknownServerError);
        }
        let (producer_id, producer_epoch) = (transit.producer_id, transit.producer_epoch);
        metadata.takes(&mut cx.env, CoordinatorEvent::Replicated);
        metadata.complete_transition(&mut cx.env, transit);
        Ok(Written { coordinator_epoch, producer_id, producer_epoch })
    }

    /// The append failed: the transition is given up, unless it is a completion that will be tried
    /// again (C-APP-7, C-MRK-12).
    fn leave_state(
        &mut self,
        cx: &mut Ctx<'_>,
        prepared: PreparedTransition,
        callback: &ResponseCallback,
        error: ErrorCode,
    ) {
        rule!(cx.env, "C-APP-7");
        let is_completion = matches!(callback, ResponseCallback::WriteTxnCompletion);
        let retries = is_completion && error == ErrorCode::CoordinatorNotAvailable;
        let (transactional_id, coordinator_epoch) =
            (prepared.transactional_id, prepared.coordinator_epoch);
        let stays_pending = retries && !cx.env.on(Defect::CoordinatorClearsPendingOnRetry);
        let owned = self.state_manager.get_under_epoch(cx, transactional_id, coordinator_epoch);
        if let Ok((_, metadata)) = owned {
            metadata.takes(&mut cx.env, CoordinatorEvent::AppendFailed);
            if !stays_pending {
                metadata.pending_state = None;
            }
        }
        if retries {
            self.retry_completion_later(cx, prepared);
        }
    }
}
