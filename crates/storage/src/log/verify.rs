//! The log's part in the verification of transactions (L-VER-3) and the tests that producer state
//! makes of a batch before it is appended (L-PIPE-4, step 9).
//!
//! Kafka's counterparts: `UnifiedLog#maybeStartTransactionVerification`,
//! `#analyzeAndValidateProducerState` and `#updateProducers`.

use eosim_types::record::RecordBatch;
use eosim_types::version::TransactionVersion;
use eosim_types::{Capability, Defect, Env, ErrorCode, ProducerEpoch, ProducerId, Sequence, rule};

use super::{AppendOrigin, UnifiedLog};
use crate::producer::{
    BatchMetadata, CompletedTxn, ProducerAppendInfo, ProducerStateEntry, VerificationGuard,
};

impl UnifiedLog {
    /// Has the producer an open transaction of this epoch here (L-TXN-1)?
    #[must_use]
    pub fn has_ongoing_transaction(
        &self,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
    ) -> bool {
        self.producer_state_manager().has_ongoing_transaction(producer_id, producer_epoch)
    }

    /// Does a batch continue the transaction that is open here, so that nothing must be verified?
    fn continues_open_transaction(
        &self,
        env: &Env<'_>,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
    ) -> bool {
        if env.has(Capability::OpenTransactionHasEpoch) {
            return self.has_ongoing_transaction(producer_id, producer_epoch);
        }
        let known = self.producer_state_manager().last_entry(producer_id);
        known.is_some_and(|entry| entry.current_txn_first_offset.is_some())
    }

    /// Begins the verification of a transactional batch (L-VER-3, 2 to 4). The sentinel is
    /// returned where nothing must be verified: the transaction is open here already.
    ///
    /// # Errors
    /// `INVALID_PRODUCER_EPOCH` if the partition knows a higher epoch.
    pub fn maybe_start_transaction_verification(
        &mut self,
        env: &mut Env<'_>,
        producer_id: ProducerId,
        base_sequence: Sequence,
        producer_epoch: ProducerEpoch,
        supports_epoch_bump: bool,
    ) -> Result<VerificationGuard, ErrorCode> {
        rule!(env, "L-VER-3");
        let known = self.producer_state_manager().last_entry(producer_id);
        if known.is_some_and(|entry| producer_epoch < entry.producer_epoch)
            && env.has(Capability::LowerEpochIsRefusedEarly)
        {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        if self.continues_open_transaction(env, producer_id, producer_epoch) {
            return Ok(VerificationGuard::SENTINEL);
        }
        Ok(self.producer_state_manager_mut().maybe_create_verification_state_entry(
            env,
            producer_id,
            base_sequence,
            producer_epoch,
            supports_epoch_bump,
        ))
    }

    /// The stored batch of which a client's `batch` is a copy (L-DUP-1). Nothing else of producer
    /// state is looked at before (L-DUP-3).
    pub(super) fn find_duplicate_batch(
        &self,
        env: &mut Env<'_>,
        batch: &RecordBatch,
        origin: AppendOrigin,
    ) -> Option<BatchMetadata> {
        if origin != AppendOrigin::Client || !batch.has_producer_id() {
            return None;
        }
        rule!(env, "L-DUP-1");
        rule!(env, "L-DUP-3");
        let known = self.producer_state_manager().last_entry(batch.producer_id)?;
        known.find_duplicate_batch(env, batch)
    }

    /// Tests one batch of a leader against producer state (L-PIPE-4, step 9). Returns the draft to
    /// be merged and the transaction that the batch ends; `None` where there is nothing to test
    /// (L-REC-4). Nothing but a verification entry changes, and it only when every test is passed.
    pub(super) fn analyze_and_validate_producer_state(
        &mut self,
        env: &mut Env<'_>,
        batch: &RecordBatch,
        origin: AppendOrigin,
        guard: VerificationGuard,
        transaction_version: Option<TransactionVersion>,
    ) -> Result<Option<(ProducerAppendInfo, Option<CompletedTxn>)>, ErrorCode> {
        if !batch.has_producer_id() {
            rule!(env, "L-REC-4");
            return Ok(None);
        }
        if origin.is_validated() {
            let known = self.producer_state_manager().last_entry(batch.producer_id);
            known.unwrap_or(&ProducerStateEntry::EMPTY).takes(env, batch);
        }
        self.check_transaction_gate(env, batch, guard)?;
        let mut draft = self.producer_state_manager().prepare_update(batch.producer_id, origin);
        let completed = draft.append(env, batch, transaction_version)?;
        self.maybe_clear_verification_state_entry(env, batch);
        Ok(Some((draft, completed)))
    }

    /// A transactional batch needs an open transaction, or the guard of a verification (L-TXN-1).
    fn check_transaction_gate(
        &self,
        env: &mut Env<'_>,
        batch: &RecordBatch,
        guard: VerificationGuard,
    ) -> Result<(), ErrorCode> {
        let (producer_id, producer_epoch) = (batch.producer_id, batch.producer_epoch);
        if !batch.is_transactional {
            rule!(env, "L-TXN-4");
            return Ok(());
        }
        if self.continues_open_transaction(env, producer_id, producer_epoch) {
            return Ok(());
        }
        rule!(env, "L-TXN-1");
        let manager = self.producer_state_manager();
        let known = manager.last_entry(producer_id);
        if known.is_some_and(|entry| producer_epoch < entry.producer_epoch)
            && !env.on(Defect::LeaderProduceGuardBeforeEpoch)
        {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        let is_guarded =
            self.config().verification_enabled && !env.on(Defect::LeaderProduceNoTxnVerification);
        if !is_guarded || batch.is_control() || env.on(Defect::LeaderVerifyNoGuard) {
            return Ok(());
        }
        rule!(env, "L-GRD-4");
        let stored = manager.verification_state_entry(producer_id);
        if !stored.is_some_and(|stored| guard.verify(stored.verification_guard)) {
            rule!(env, "L-GRD-6");
            return Err(ErrorCode::InvalidTxnState);
        }
        Ok(())
    }

    /// A transactional batch that passed ends the verification of its producer, unless it is the
    /// marker of an earlier transaction than the one that is being verified (L-GRD-5). Kafka knows
    /// only the one before; in a repaired Kafka the marker of any earlier one, sent twice and late,
    /// clears nothing.
    pub(super) fn maybe_clear_verification_state_entry(
        &mut self,
        env: &mut Env<'_>,
        batch: &RecordBatch,
    ) {
        let producer_id = batch.producer_id;
        let manager = self.producer_state_manager_mut();
        let Some(stored) = manager.verification_state_entry(producer_id) else {
            return;
        };
        rule!(env, "L-GRD-5");
        let is_older = batch.producer_epoch < stored.producer_epoch
            && !env.on(Defect::UpstreamLeaderOldMarkerClearsGuard);
        let is_of_next_transaction = batch.is_control()
            && stored.supports_epoch_bump
            && (is_older || batch.producer_epoch == stored.producer_epoch);
        if batch.is_transactional && !is_of_next_transaction {
            manager.clear_verification_state_entry(producer_id);
        }
    }
}
