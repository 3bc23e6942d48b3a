//! Before a fatal answer: is this broker still the coordinator?
//!
//! Kafka has no counterpart; this is the repair of the stale window (C-RES-2, H-5). A deposed
//! coordinator that has not learnt it would tell a healthy producer PRODUCER_FENCED from old memory.
//! Repaired, such an answer leaves only after a record has been replicated under the coordinator
//! epoch that knew it. The record is a tombstone of the empty transactional id, which no log holds
//! a value of, so a load ignores it.

use alloc::sync::Arc;

use eosim_types::record::TransactionLogRecord;
use eosim_types::{CoordinatorEpoch, Defect, ErrorCode, TransactionalId, rule};

use crate::action::Ctx;
use crate::append_transaction_to_log::PendingAppend;
use crate::coordinator::TransactionCoordinator;
use crate::response_callback::ResponseCallback;

/// A fatal answer that waits for its barrier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Confirmation {
    transactional_id: TransactionalId,
    coordinator_epoch: CoordinatorEpoch,
    callback: ResponseCallback,
    answer: ErrorCode,
}

/// Answers that end the life of a producer.
fn is_fatal(error: ErrorCode) -> bool {
    matches!(
        error,
        ErrorCode::ProducerFenced
            | ErrorCode::InvalidProducerIdMapping
            | ErrorCode::InvalidTxnState
    )
}

impl TransactionCoordinator {
    /// Answers with an error that was found in memory.
    pub(crate) fn refuse(
        &mut self,
        cx: &mut Ctx<'_>,
        transactional_id: TransactionalId,
        callback: ResponseCallback,
        error: ErrorCode,
    ) {
        let judges_from_memory = error == ErrorCode::InvalidTxnState
            && cx.env.on(Defect::CoordinatorEmptyCommitJudgedFromMemory);
        let confirms =
            !judges_from_memory && !cx.env.on(Defect::UpstreamCoordinatorStaleAnswerFences);
        if !is_fatal(error) || !confirms {
            return self.run_callback(cx, transactional_id, callback, Err(error));
        }
        match self.state_manager.get_transaction_state(cx, transactional_id) {
            Err(lookup) => self.run_callback(cx, transactional_id, callback, Err(lookup)),
            Ok(owned) => {
                rule!(cx.env, "C-RES-2");
                let (partition, coordinator_epoch) = (owned.partition, owned.coordinator_epoch);
                let barrier =
                    TransactionLogRecord { transactional_id: TransactionalId::EMPTY, value: None };
                let pending = PendingAppend::Confirmation(Confirmation {
                    transactional_id,
                    coordinator_epoch,
                    callback,
                    answer: error,
                });
                let timeout = cx.config.request_timeout;
                self.append(
                    cx,
                    partition,
                    coordinator_epoch,
                    Arc::from([barrier]),
                    timeout,
                    pending,
                );
            }
        }
    }

    /// The barrier is replicated, or it failed.
    pub(crate) fn leadership_confirmed(
        &mut self,
        cx: &mut Ctx<'_>,
        confirmation: Confirmation,
        result: Result<(), ErrorCode>,
    ) {
        let Confirmation { transactional_id, coordinator_epoch, callback, answer } = confirmation;
        let owned = self.state_manager.get_transaction_state(cx, transactional_id);
        let error = match (result, owned) {
            (Err(error), _) | (Ok(()), Err(error)) => error,
            (Ok(()), Ok(owned)) if owned.coordinator_epoch != coordinator_epoch => {
                ErrorCode::NotCoordinator
            }
            (Ok(()), Ok(_)) => answer,
        };
        if error != answer {
            rule!(cx.env, "H-5");
        }
        self.run_callback(cx, transactional_id, callback, Err(error));
    }
}
