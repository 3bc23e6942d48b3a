//! The draft of one producer's entry while an append is analysed: epoch, sequence and marker
//! tests, transaction begin and end.
//!
//! Kafka's counterpart: `ProducerAppendInfo`. A draft changes nothing until it is merged by
//! `ProducerStateManager::update`, so a refused append leaves no trace (L-ENT-3).

use eosim_types::machine::EntryState;
use eosim_types::record::{EndTransactionMarker, RecordBatch, TransactionResult};
use eosim_types::version::TransactionVersion;
use eosim_types::{
    Capability, Defect, Env, ErrorCode, Few, ProducerEpoch, ProducerId, Sequence, rule,
};

use super::{BatchMetadata, CompletedTxn, ProducerStateEntry, VerificationStateEntry};
use crate::log::AppendOrigin;

/// A draft of one producer's entry.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ProducerAppendInfo {
    producer_id: ProducerId,
    origin: AppendOrigin,
    /// The stored entry's epoch, -1 if there is none.
    current_producer_epoch: ProducerEpoch,
    current_last_sequence: Sequence,
    current_is_empty: bool,
    /// No batch was ever written to the log (KAFKA-15591).
    log_never_written: bool,
    verification: Option<VerificationStateEntry>,
    updated: ProducerStateEntry,
    /// First offsets of the transactions begun in the draft.
    started: Few<i64>,
}

impl ProducerAppendInfo {
    /// A draft on top of the stored entry `current` (L-ENT-3).
    #[must_use]
    pub fn new(
        producer_id: ProducerId,
        current: Option<&ProducerStateEntry>,
        origin: AppendOrigin,
        verification: Option<VerificationStateEntry>,
        log_never_written: bool,
    ) -> Self {
        let current = current.unwrap_or(&ProducerStateEntry::EMPTY);
        Self {
            producer_id,
            origin,
            current_producer_epoch: current.producer_epoch,
            current_last_sequence: current.last_sequence(),
            current_is_empty: current.is_empty(),
            log_never_written,
            verification,
            updated: current.without_batches(),
            started: Few::new(),
        }
    }

    /// Whose draft it is.
    #[must_use]
    pub fn producer_id(&self) -> ProducerId {
        self.producer_id
    }

    /// The entry as it will be merged.
    #[must_use]
    pub fn to_entry(&self) -> &ProducerStateEntry {
        &self.updated
    }

    /// First offsets of the transactions begun in the draft, oldest first.
    #[must_use]
    pub fn started_transactions(&self) -> &[i64] {
        &self.started
    }

    /// Tests `batch` and applies it to the draft. Returns the transaction that it ends.
    ///
    /// # Errors
    /// `INVALID_PRODUCER_EPOCH`, `OUT_OF_ORDER_SEQUENCE_NUMBER`, `INVALID_TXN_STATE`,
    /// `TRANSACTION_COORDINATOR_FENCED`.
    pub fn append(
        &mut self,
        env: &mut Env<'_>,
        batch: &RecordBatch,
        transaction_version: Option<TransactionVersion>,
    ) -> Result<Option<CompletedTxn>, ErrorCode> {
        if let Some(marker) = batch.marker() {
            return self.append_end_txn_marker(env, batch, marker, transaction_version);
        }
        if batch.is_control() {
            rule!(env, "L-MRK-1");
            return Ok(None);
        }
        self.append_data_batch(env, batch)?;
        Ok(None)
    }

    fn append_data_batch(
        &mut self,
        env: &mut Env<'_>,
        batch: &RecordBatch,
    ) -> Result<(), ErrorCode> {
        self.check_data_epoch(env, batch.producer_epoch)?;
        if self.origin == AppendOrigin::Client {
            self.check_sequence(env, batch.producer_epoch, batch.base_sequence)?;
        }
        self.updated.add_batch(env, batch.producer_epoch, BatchMetadata::of(env, batch));
        match self.updated.current_txn_first_offset {
            Some(_) if !batch.is_transactional => {
                rule!(env, "L-TXN-3");
                return Err(ErrorCode::InvalidTxnState);
            }
            // Whatever the epoch: a batch of a higher one continues the open transaction.
            Some(_) => rule!(env, "L-ENT-5"),
            None if batch.is_transactional => {
                rule!(env, "L-TXN-2");
                self.updated.current_txn_first_offset = Some(batch.base_offset);
                env.enters(EntryState::Open);
                self.started.push(batch.base_offset);
            }
            None => {}
        }
        Ok(())
    }

    fn check_data_epoch(
        &self,
        env: &mut Env<'_>,
        producer_epoch: ProducerEpoch,
    ) -> Result<(), ErrorCode> {
        rule!(env, "L-EPO-1");
        if producer_epoch < self.updated.producer_epoch && self.origin.is_validated() {
            // Never PRODUCER_FENCED on this path.
            rule!(env, "L-EPO-3");
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        Ok(())
    }

    /// `checkSequence`; L-SEQ-7 is the table of what follows from it.
    fn check_sequence(
        &self,
        env: &mut Env<'_>,
        producer_epoch: ProducerEpoch,
        first_sequence: Sequence,
    ) -> Result<(), ErrorCode> {
        if self.current_is_empty && env.on(Defect::LeaderSeqAcceptAnyWhenEmpty) {
            return Ok(());
        }
        self.check_verified_sequence(env, first_sequence)?;
        rule!(env, "L-SEQ-5");
        let in_order = if producer_epoch != self.updated.producer_epoch {
            rule!(env, "L-SEQ-3");
            let has_state = self.updated.producer_epoch != ProducerEpoch::NONE;
            first_sequence == Sequence::ZERO
                || !has_state && self.may_begin_at(env, producer_epoch, first_sequence)
        } else {
            rule!(env, "L-SEQ-4");
            let has_state = self.current_producer_epoch != ProducerEpoch::NONE;
            first_sequence.follows(self.last_sequence(producer_epoch))
                || !has_state && self.may_begin_at(env, producer_epoch, first_sequence)
        };
        if in_order {
            return Ok(());
        }
        // Also for a batch that is in the log but no longer remembered; DUPLICATE_SEQUENCE_NUMBER
        // and UNKNOWN_PRODUCER_ID are never answered (L-DUP-6).
        rule!(env, "L-DUP-5");
        Err(ErrorCode::OutOfOrderSequenceNumber)
    }

    /// What the pending verification allows (L-SEQ-1, L-SEQ-2).
    fn check_verified_sequence(
        &self,
        env: &mut Env<'_>,
        first_sequence: Sequence,
    ) -> Result<(), ErrorCode> {
        let Some(verification) = self.verification else {
            return Ok(());
        };
        if verification.supports_epoch_bump
            && first_sequence != Sequence::ZERO
            && self.current_is_empty
            && env.has(Capability::FirstSequenceOfTransactionIsZero)
        {
            rule!(env, "L-SEQ-1");
            return Err(ErrorCode::OutOfOrderSequenceNumber);
        }
        if first_sequence > verification.lowest_sequence
            && !env.on(Defect::LeaderVerifyForgetLowestSequence)
        {
            rule!(env, "L-SEQ-2");
            return Err(ErrorCode::OutOfOrderSequenceNumber);
        }
        Ok(())
    }

    /// Nothing is known of the producer, or no longer: any sequence may begin (L-EPO-2, L-EPO-4,
    /// L-EXP-4). From 4.5 on,
    /// in a log that nobody ever wrote to, 0 alone (KAFKA-15591): there no record can have been
    /// deleted and no entry can have expired, so a gap is a gap.
    fn may_begin_at(
        &self,
        env: &mut Env<'_>,
        producer_epoch: ProducerEpoch,
        first_sequence: Sequence,
    ) -> bool {
        if producer_epoch == ProducerEpoch::NONE {
            rule!(env, "L-EPO-4");
        } else {
            rule!(env, "L-EPO-2");
        }
        let must_be_zero = env.has(Capability::FirstSequenceIsZero) && self.log_never_written;
        !must_be_zero || first_sequence == Sequence::ZERO
    }

    /// The sequence that the next one must follow.
    fn last_sequence(&self, producer_epoch: ProducerEpoch) -> Sequence {
        if !self.updated.is_empty() {
            self.updated.last_sequence()
        } else if producer_epoch == self.current_producer_epoch {
            self.current_last_sequence
        } else {
            Sequence::NONE
        }
    }

    /// `appendEndTxnMarker` (L-MRK-5).
    fn append_end_txn_marker(
        &mut self,
        env: &mut Env<'_>,
        batch: &RecordBatch,
        marker: EndTransactionMarker,
        transaction_version: Option<TransactionVersion>,
    ) -> Result<Option<CompletedTxn>, ErrorCode> {
        if self.origin.is_validated() {
            rule!(env, "L-MRK-2");
            let version = transaction_version.expect("a leader's marker carries a version");
            self.check_marker_epoch(env, batch.producer_epoch, marker.result, version)?;
            self.check_coordinator_epoch(env, marker)?;
        }
        rule!(env, "L-MRK-5");
        let completed = self.updated.current_txn_first_offset.map(|first_offset| CompletedTxn {
            producer_id: self.producer_id,
            first_offset,
            last_offset: batch.last_offset(),
            is_aborted: marker.result == TransactionResult::Abort,
        });
        self.mark_effect(env, batch.producer_epoch, completed.is_some());
        self.updated.maybe_update_producer_epoch(batch.producer_epoch);
        self.updated.coordinator_epoch = marker.coordinator_epoch;
        if !env.on(Defect::LeaderExpireIgnoreMarkerTime) {
            self.updated.last_timestamp = batch.max_timestamp;
        }
        self.updated.current_txn_first_offset = None;
        env.enters(EntryState::Idle);
        self.updated.last_marker_result = Some(marker.result);
        Ok(completed)
    }

    fn mark_effect(&self, env: &mut Env<'_>, marker_epoch: ProducerEpoch, ends_transaction: bool) {
        let known = self.updated.producer_epoch;
        if known == ProducerEpoch::NONE {
            rule!(env, "L-MRK-8");
        } else if marker_epoch == known {
            rule!(env, "L-MRK-6");
        } else {
            rule!(env, "L-MRK-7");
        }
        if i32::from(marker_epoch.0) > i32::from(known.0) + 1 {
            rule!(env, "L-MRK-10");
        }
        if !ends_transaction {
            rule!(env, "L-MRK-9");
        }
    }

    fn check_marker_epoch(
        &self,
        env: &mut Env<'_>,
        marker_epoch: ProducerEpoch,
        result: TransactionResult,
        version: TransactionVersion,
    ) -> Result<(), ErrorCode> {
        rule!(env, "L-MRK-3");
        let current = self.updated.producer_epoch;
        let accepted = if marker_epoch == current && version.supports_epoch_bump() {
            self.equal_epoch_is_accepted(env, marker_epoch, result)
        } else {
            marker_epoch >= current
        };
        if accepted { Ok(()) } else { Err(ErrorCode::InvalidProducerEpoch) }
    }

    /// A version 2 marker with the epoch of the entry: a marker sent again (KAFKA-19999), or the
    /// end of the last transaction that the producer id can have (KAFKA-20090).
    fn equal_epoch_is_accepted(
        &self,
        env: &mut Env<'_>,
        marker_epoch: ProducerEpoch,
        result: TransactionResult,
    ) -> bool {
        if env.on(Defect::LeaderMarkerAcceptEqualEpoch) {
            return true;
        }
        if self.updated.current_txn_first_offset.is_some() {
            let is_last = marker_epoch == ProducerEpoch::MAX;
            if is_last {
                rule!(env, "H-10");
            }
            return is_last && env.has(Capability::LastEpochCanBeAborted);
        }
        env.on(Defect::UpstreamLeaderMarkerRetryIgnoresResult)
            || self.updated.last_marker_result.is_none_or(|last| last == result)
    }

    fn check_coordinator_epoch(
        &self,
        env: &mut Env<'_>,
        marker: EndTransactionMarker,
    ) -> Result<(), ErrorCode> {
        rule!(env, "L-MRK-4");
        if self.updated.coordinator_epoch > marker.coordinator_epoch {
            return Err(ErrorCode::TransactionCoordinatorFenced);
        }
        Ok(())
    }
}
