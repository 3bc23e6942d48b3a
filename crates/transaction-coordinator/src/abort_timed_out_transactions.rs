//! Aborting transactions that have been open for longer than their timeout.
//!
//! Kafka counterpart: `TransactionCoordinator.abortTimedOutTransactions`.

use alloc::vec::Vec;

use eosim_types::machine::CoordinatorEvent;
use eosim_types::record::{TransactionResult, TransactionState};
use eosim_types::version::TransactionVersion;
use eosim_types::{Defect, ErrorCode, ProducerId, TransactionalId, rule};

use crate::action::{CoordinatorTimer, Ctx};
use crate::coordinator::TransactionCoordinator;
use crate::end_txn::EndTransaction;
use crate::response_callback::EndTxnCaller;
use crate::transaction_metadata::{TWO_PHASE_COMMIT_TIMEOUT_MS, TransactionMetadata};

impl TransactionCoordinator {
    /// One run of the task; the next one is an interval later, so that a transaction lives for
    /// between its timeout and one interval more (C-TMO-3).
    pub(crate) fn abort_timed_out_transactions(&mut self, cx: &mut Ctx<'_>) {
        rule!(cx.env, "C-TMO-3");
        let next = cx.env.now + cx.config.abort_timed_out_transactions_interval;
        cx.set_timer(CoordinatorTimer::AbortTimedOutTransactions, next);
        for (transactional_id, producer_id) in self.timed_out_transactions(cx) {
            let stops = cx.env.on(Defect::UpstreamCoordinatorTimeoutsStopAtLastEpoch);
            if self.abort_timed_out(cx, transactional_id, producer_id).is_err() && stops {
                break;
            }
        }
    }

    /// C-TMO-1.
    fn timed_out_transactions(&self, cx: &mut Ctx<'_>) -> Vec<(TransactionalId, ProducerId)> {
        rule!(cx.env, "C-TMO-1");
        let now = cx.env.clock_ms();
        let entries = self.state_manager.transaction_metadata_cache.values();
        entries
            .flat_map(|entry| &entry.metadata_per_transactional_id)
            .filter(|(_, metadata)| is_timed_out(metadata, now))
            .map(|(&id, metadata)| (id, metadata.producer_id))
            .collect()
    }

    /// C-TMO-2. The result of the abort interests nobody; the next run tries again.
    ///
    /// # Errors
    /// What Kafka throws, which ends the run.
    fn abort_timed_out(
        &mut self,
        cx: &mut Ctx<'_>,
        transactional_id: TransactionalId,
        producer_id: ProducerId,
    ) -> Result<(), ErrorCode> {
        rule!(cx.env, "C-TMO-2");
        let owned = self.state_manager.get_transaction_state(cx, transactional_id);
        let Some(metadata) = owned.ok().and_then(|owned| owned.metadata) else { return Ok(()) };
        metadata.takes(&mut cx.env, CoordinatorEvent::TimedOut);
        if metadata.producer_id != producer_id || metadata.pending_state.is_some() {
            return Ok(());
        }
        let current = metadata.producer_epoch;
        let fenced = metadata.prepare_fence_producer_epoch(&mut cx.env)?;
        let (producer_epoch, version) = if cx.env.on(Defect::CoordinatorTimeoutNoEpochBump) {
            (current, TransactionVersion::Tv0)
        } else {
            (fenced, cx.metadata.transaction_version)
        };
        let request = EndTransaction {
            transactional_id,
            producer_id,
            producer_epoch,
            result: TransactionResult::Abort,
            is_from_client: false,
            version,
        };
        self.end_transaction(cx, request, EndTxnCaller::AbortTimedOutTransactions);
        Ok(())
    }
}

fn is_timed_out(metadata: &TransactionMetadata, now: i64) -> bool {
    let deadline =
        metadata.transaction_start_timestamp + i64::from(metadata.transaction_timeout_ms);
    metadata.state == TransactionState::Ongoing
        && metadata.pending_state.is_none()
        && metadata.transaction_timeout_ms != TWO_PHASE_COMMIT_TIMEOUT_MS
        && deadline < now
}
