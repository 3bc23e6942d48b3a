//! Appending, by a leader and by a follower (L-PIPE-4, steps 6 to 10; L-RPL).
//!
//! Kafka's counterpart: `UnifiedLog#append`. Either the whole record set is written and producer
//! state follows, or nothing of both changes.

use eosim_types::record::RecordBatch;
use eosim_types::version::TransactionVersion;
use eosim_types::{Defect, Env, ErrorCode, Few, LeaderEpoch, rule};

use super::{AppendOrigin, LogAppendInfo, UnifiedLog};
use crate::producer::{BatchMetadata, CompletedTxn, ProducerAppendInfo, VerificationGuard};

impl UnifiedLog {
    /// Appends a batch as the leader of `leader_epoch`: assigns its offsets, stamps the leader
    /// epoch, updates producer state. `guard` is what the verification stage handed out, the
    /// sentinel if nothing; a marker needs the `transaction_version` of its request (L-MRK-2).
    ///
    /// # Errors
    /// `INVALID_RECORD`, `MESSAGE_TOO_LARGE`, `INVALID_TIMESTAMP`, `RECORD_LIST_TOO_LARGE`,
    /// `INVALID_PRODUCER_EPOCH`, `OUT_OF_ORDER_SEQUENCE_NUMBER`, `INVALID_TXN_STATE`,
    /// `TRANSACTION_COORDINATOR_FENCED`: nothing was written. `KAFKA_STORAGE_ERROR`: the log is
    /// offline until it is recovered.
    ///
    /// # Panics
    /// If `origin` is [`AppendOrigin::Replication`], or a marker comes without a version.
    pub fn append_as_leader(
        &mut self,
        env: &mut Env<'_>,
        mut batch: RecordBatch,
        leader_epoch: LeaderEpoch,
        origin: AppendOrigin,
        guard: VerificationGuard,
        transaction_version: Option<TransactionVersion>,
    ) -> Result<LogAppendInfo, ErrorCode> {
        assert!(origin.is_validated(), "a leader does not replicate");
        rule!(env, "L-REC-7");
        self.ensure_online()?;
        let size = self.validate_batch(env, &batch, origin)?;
        rule!(env, "L-REC-6");
        rule!(env, "L-LEP-4");
        batch.base_offset = self.log_end_offset();
        batch.partition_leader_epoch = leader_epoch;
        rule!(env, "L-LEP-2");
        self.leader_epoch_cache.assign(leader_epoch, batch.base_offset);
        self.maybe_roll(env, i64::from(size))?;
        let info = LogAppendInfo {
            first_offset: batch.base_offset,
            last_offset: batch.last_offset(),
            log_append_time: -1,
            is_duplicate: false,
            log_start_offset: self.log_start_offset(),
        };
        if let Some(original) = self.find_duplicate_batch(env, &batch, origin) {
            return Ok(duplicate(env, info, &original));
        }
        let version = transaction_version;
        let update =
            self.analyze_and_validate_producer_state(env, &batch, origin, guard, version)?;
        self.write(batch, size);
        if let Some((draft, completed)) = update {
            self.producer_state.update(env, &draft);
            if let Some(completed) = completed {
                self.complete_txn(env, &completed)?;
            }
        }
        self.finish_append(env);
        Ok(info)
    }

    /// Appends what a follower fetched while it knew the leader epoch `fetched_under`: offsets,
    /// epochs and sequences as given, duplicates and gaps included (L-RPL-1). From the first batch
    /// of a newer leader epoch on, the rest of the response is skipped (L-RPL-2).
    ///
    /// # Errors
    /// `OFFSET_OUT_OF_RANGE` if the batches do not continue the log; `INVALID_TXN_STATE` for
    /// L-TXN-3; nothing was written. `KAFKA_STORAGE_ERROR`: the log is offline.
    pub fn append_as_follower(
        &mut self,
        env: &mut Env<'_>,
        batches: &[RecordBatch],
        fetched_under: LeaderEpoch,
    ) -> Result<(), ErrorCode> {
        self.ensure_online()?;
        rule!(env, "L-RPL-2");
        let newer = batches.iter().position(|batch| batch.partition_leader_epoch > fetched_under);
        let batches = &batches[..newer.unwrap_or(batches.len())];
        if batches.is_empty() {
            return Ok(());
        }
        rule!(env, "L-RPL-1");
        self.check_continues_log(batches)?;
        for batch in batches {
            self.leader_epoch_cache.assign(batch.partition_leader_epoch, batch.base_offset);
        }
        let size = batches.iter().map(|batch| i64::from(batch.size_in_bytes())).sum();
        self.roll_if_full(env, size);
        let (mut drafts, mut completed) = (Few::new(), Few::new());
        self.analyze_replicated(env, batches, &mut drafts, &mut completed)?;
        for batch in batches {
            self.write(batch.clone(), batch.size_in_bytes());
        }
        for draft in &drafts {
            self.producer_state.update(env, draft);
        }
        for transaction in &completed {
            self.complete_txn(env, transaction)?;
        }
        self.finish_append(env);
        Ok(())
    }

    fn check_continues_log(&self, batches: &[RecordBatch]) -> Result<(), ErrorCode> {
        let mut next_offset = self.log_end_offset();
        for batch in batches {
            if batch.base_offset < next_offset {
                return Err(ErrorCode::OffsetOutOfRange);
            }
            next_offset = batch.next_offset();
        }
        Ok(())
    }

    /// One draft per producer, seen by all of its batches (L-ENT-3), and what markers end.
    fn analyze_replicated(
        &mut self,
        env: &mut Env<'_>,
        batches: &[RecordBatch],
        drafts: &mut Few<ProducerAppendInfo>,
        completed: &mut Few<CompletedTxn>,
    ) -> Result<(), ErrorCode> {
        for batch in batches.iter().filter(|batch| batch.has_producer_id()) {
            let producer_id = batch.producer_id;
            let known = drafts.iter().position(|draft| draft.producer_id() == producer_id);
            let place = known.unwrap_or_else(|| {
                let origin = AppendOrigin::Replication;
                drafts.push(self.producer_state.prepare_update(producer_id, origin));
                drafts.len() - 1
            });
            completed.extend(drafts[place].append(env, batch, None)?);
            self.maybe_clear_verification_state_entry(env, batch);
        }
        Ok(())
    }

    /// Rolls the segment if `size` more bytes do not fit.
    fn maybe_roll(&mut self, env: &mut Env<'_>, size: i64) -> Result<(), ErrorCode> {
        if size > i64::from(self.config().segment_bytes) {
            return Err(ErrorCode::RecordListTooLarge);
        }
        self.roll_if_full(env, size);
        Ok(())
    }

    fn roll_if_full(&mut self, env: &mut Env<'_>, size: i64) {
        let used = self.active_segment().size_in_bytes();
        if used > 0 && used + size > i64::from(self.config().segment_bytes) {
            self.roll(env);
        }
    }

    fn write(&mut self, batch: RecordBatch, size: i32) {
        self.log_end_offset = batch.next_offset();
        let interval = self.config.index_interval_bytes;
        self.active_segment_mut().append(batch, size, interval);
    }

    /// A marker was written that ends a transaction: index entry if it is an abort, then the
    /// transaction waits for replication (L-PIPE-4, step 10).
    pub(super) fn complete_txn(
        &mut self,
        env: &mut Env<'_>,
        completed: &CompletedTxn,
    ) -> Result<(), ErrorCode> {
        if completed.is_aborted && !env.on(Defect::LeaderIndexDropAbortEntry) {
            let entry = self.producer_state.aborted_txn(env, completed);
            let index = &mut self.active_segment_mut().transaction_index;
            if let Err(error) = index.append(env, entry) {
                self.is_offline = true;
                return Err(error);
            }
        }
        self.producer_state.complete_txn(completed);
        Ok(())
    }

    fn finish_append(&mut self, env: &mut Env<'_>) {
        rule!(env, "L-PIPE-4");
        self.producer_state.update_map_end_offset(self.log_end_offset);
        self.maybe_update_first_unstable_offset(env);
    }

    fn ensure_online(&self) -> Result<(), ErrorCode> {
        if self.is_offline { Err(ErrorCode::KafkaStorageError) } else { Ok(()) }
    }
}

/// The answer for a batch that is in the log already (L-DUP-2, L-PIPE-5). It may be given no
/// earlier than the original's: the caller waits for `last_offset` as for a new batch (L-DUP-4).
fn duplicate(env: &mut Env<'_>, info: LogAppendInfo, original: &BatchMetadata) -> LogAppendInfo {
    rule!(env, "L-DUP-2");
    rule!(env, "L-PIPE-5");
    LogAppendInfo {
        first_offset: original.first_offset(),
        last_offset: original.last_offset,
        log_append_time: original.timestamp,
        is_duplicate: true,
        ..info
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use eosim_types::record::{AbortedTxn, EndTransactionMarker, Payload, TransactionResult};
    use eosim_types::version::KafkaVersion;
    use eosim_types::{
        CoordinatorEpoch, DefectSet, Instant, Marks, ProducerEpoch, ProducerId, Sequence,
    };

    use super::*;
    use crate::{LogConfig, end_transaction_marker};

    fn data() -> RecordBatch {
        RecordBatch {
            base_offset: 0,
            last_offset_delta: 9,
            partition_leader_epoch: LeaderEpoch(0),
            is_transactional: true,
            max_timestamp: 0,
            producer_id: ProducerId(1),
            producer_epoch: ProducerEpoch(0),
            base_sequence: Sequence(0),
            payload: Payload::OffsetCommits([].into()),
        }
    }

    fn abort(env: &mut Env<'_>, log: &mut UnifiedLog) -> Result<LogAppendInfo, ErrorCode> {
        let marker = EndTransactionMarker {
            result: TransactionResult::Abort,
            coordinator_epoch: CoordinatorEpoch(0),
        };
        let batch = end_transaction_marker(env, ProducerId(1), ProducerEpoch(0), marker);
        let (epoch, guard) = (LeaderEpoch(0), VerificationGuard::SENTINEL);
        let version = Some(TransactionVersion::Tv0);
        log.append_as_leader(env, batch, epoch, AppendOrigin::Coordinator, guard, version)
    }

    #[test]
    fn a_failed_index_write_heals_at_recovery_68_l_idx_4_l_snp_5() {
        let mut marks = Marks::new();
        let mut env = Env {
            now: Instant::START,
            clock_skew_ms: 0,
            kafka: KafkaVersion::V4_4,
            backports: eosim_types::CapabilitySet::NONE,
            defects: DefectSet::as_released(),
            marks: &mut marks,
        };
        let mut log = UnifiedLog::new(LogConfig::default());
        log.append_as_follower(&mut env, &[data()], LeaderEpoch(0)).unwrap();
        let in_the_way = AbortedTxn {
            producer_id: ProducerId(9),
            first_offset: 0,
            last_offset: 99,
            last_stable_offset: 99,
        };
        log.active_segment_mut().transaction_index.append(&mut env, in_the_way).unwrap();
        for _ in 0..2 {
            assert_eq!(abort(&mut env, &mut log), Err(ErrorCode::KafkaStorageError));
            assert_eq!((log.log_end_offset(), log.last_stable_offset()), (11, 0));
        }
        log.update_high_watermark(&mut env, 12);
        assert_eq!(log.last_stable_offset(), 0);
        log.close(&mut env);
        log.recover(&mut env);
        log.update_high_watermark(&mut env, 11);
        let healed = AbortedTxn {
            producer_id: ProducerId(1),
            first_offset: 0,
            last_offset: 10,
            last_stable_offset: 11,
        };
        assert_eq!(log.aborted_index(), vec![healed]);
        assert_eq!(log.first_unstable_offset(), None);
    }
}
