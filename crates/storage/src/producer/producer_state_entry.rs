//! What a log remembers of one producer.
//!
//! Kafka's counterparts: `ProducerStateEntry` and `BatchMetadata`. At most five batches are
//! remembered, all of the entry's epoch, oldest first.

use core::cmp::Ordering;

use eosim_types::machine::{EntryEvent as E, EntryState};
use eosim_types::record::{RecordBatch, TransactionResult};
use eosim_types::{CoordinatorEpoch, Defect, Env, ProducerEpoch, Sequence, rule};

/// Batches remembered per producer (`NUM_BATCHES_TO_RETAIN`, L-ENT-2).
const NUM_BATCHES_TO_RETAIN: usize = 5;

/// One remembered batch (`BatchMetadata`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BatchMetadata {
    /// Sequence of its last record.
    pub last_sequence: Sequence,
    /// Offset of its last record.
    pub last_offset: i64,
    /// Last offset minus first offset; the sequence delta, too.
    pub offset_delta: i32,
    /// The batch's largest timestamp, ms.
    pub timestamp: i64,
}

impl BatchMetadata {
    const UNUSED: Self =
        Self { last_sequence: Sequence::NONE, last_offset: -1, offset_delta: 0, timestamp: -1 };

    /// `batch`, as it is remembered.
    #[must_use]
    pub fn of(env: &Env<'_>, batch: &RecordBatch) -> Self {
        let mut last_sequence = batch.last_sequence();
        if env.on(Defect::SeqWrapNegative) {
            last_sequence.0 = batch.base_sequence.0.wrapping_add(batch.last_offset_delta);
        }
        Self {
            last_sequence,
            last_offset: batch.last_offset(),
            offset_delta: batch.last_offset_delta,
            timestamp: batch.max_timestamp,
        }
    }

    /// Sequence of its first record.
    #[must_use]
    pub fn first_sequence(&self) -> Sequence {
        self.last_sequence.back(self.offset_delta)
    }

    /// Offset of its first record.
    #[must_use]
    pub fn first_offset(&self) -> i64 {
        self.last_offset - i64::from(self.offset_delta)
    }
}

/// One producer's entry (L-ENT-1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ProducerStateEntry {
    /// Producer epoch, -1 if there is no state.
    pub producer_epoch: ProducerEpoch,
    /// Epoch of the coordinator that wrote the last marker, -1 if none.
    pub coordinator_epoch: CoordinatorEpoch,
    /// Timestamp of the last batch or marker, ms (L-EXP-2).
    pub last_timestamp: i64,
    /// Where the open transaction begins.
    pub current_txn_first_offset: Option<i64>,
    /// How the last marker decided. Kafka does not remember it; it is read only while
    /// [`Defect::UpstreamLeaderMarkerRetryIgnoresResult`] is off.
    pub last_marker_result: Option<TransactionResult>,
    batch_metadata: [BatchMetadata; NUM_BATCHES_TO_RETAIN],
    batch_count: u8,
}

impl ProducerStateEntry {
    /// The entry of a producer of which nothing is known (L-ENT-1).
    pub const EMPTY: Self = Self {
        producer_epoch: ProducerEpoch::NONE,
        coordinator_epoch: CoordinatorEpoch::NONE,
        last_timestamp: -1,
        current_txn_first_offset: None,
        last_marker_result: None,
        batch_metadata: [BatchMetadata::UNUSED; NUM_BATCHES_TO_RETAIN],
        batch_count: 0,
    };

    /// The same, but without batches: how a draft begins (L-ENT-3).
    #[must_use]
    pub fn without_batches(&self) -> Self {
        let batch_metadata = [BatchMetadata::UNUSED; NUM_BATCHES_TO_RETAIN];
        Self { batch_metadata, batch_count: 0, ..*self }
    }

    /// What it is to those who count states.
    pub(crate) fn state(&self) -> EntryState {
        match self.current_txn_first_offset {
            Some(_) => EntryState::Open,
            None if self.producer_epoch == ProducerEpoch::NONE => EntryState::None,
            None => EntryState::Idle,
        }
    }

    /// Counts that it meets `batch` at a leader; a follower only repeats it.
    pub(crate) fn takes(&self, env: &mut Env<'_>, batch: &RecordBatch) {
        let known = self.producer_epoch;
        let [old, same, new] = match batch.marker().map(|marker| marker.result) {
            Some(TransactionResult::Commit) => [E::CommitOld, E::Commit, E::CommitNew],
            Some(TransactionResult::Abort) => [E::AbortOld, E::Abort, E::AbortNew],
            None if batch.is_transactional => {
                [E::TransactionalOld, E::Transactional, E::TransactionalNew]
            }
            None => [E::DataOld, E::Data, E::DataNew],
        };
        let event = match batch.producer_epoch.cmp(&known) {
            Ordering::Less => old,
            Ordering::Equal => same,
            Ordering::Greater => new,
        };
        env.takes(self.state(), event);
    }

    /// The remembered batches, oldest first.
    #[must_use]
    pub fn batches(&self) -> &[BatchMetadata] {
        &self.batch_metadata[..usize::from(self.batch_count)]
    }

    /// No batch is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.batch_count == 0
    }

    /// Sequence of the newest remembered batch, -1 if there is none.
    #[must_use]
    pub fn last_sequence(&self) -> Sequence {
        self.batches().last().map_or(Sequence::NONE, |batch| batch.last_sequence)
    }

    /// Offset of the newest remembered batch's last record.
    #[must_use]
    pub fn last_data_offset(&self) -> Option<i64> {
        self.batches().last().map(|batch| batch.last_offset)
    }

    /// A transaction is open, or the newest batch lies at or beyond `log_start_offset`.
    pub(crate) fn has_data_from(&self, log_start_offset: i64) -> bool {
        self.current_txn_first_offset.is_some()
            || self.last_data_offset().is_some_and(|last| last >= log_start_offset)
    }

    /// Remembers one more batch of `producer_epoch` (L-ENT-4, `addBatch`).
    pub fn add_batch(
        &mut self,
        env: &mut Env<'_>,
        producer_epoch: ProducerEpoch,
        batch: BatchMetadata,
    ) {
        rule!(env, "L-ENT-4");
        self.maybe_update_producer_epoch(producer_epoch);
        self.add_batch_metadata(env, batch);
        self.last_timestamp = batch.timestamp;
    }

    /// Takes over `producer_epoch`; a change of epoch forgets the batches (L-ENT-2).
    pub fn maybe_update_producer_epoch(&mut self, producer_epoch: ProducerEpoch) {
        if self.producer_epoch != producer_epoch {
            self.clear_batches();
            self.producer_epoch = producer_epoch;
        }
    }

    /// Merges a draft that was accepted (L-ENT-3, `update`).
    pub fn update(&mut self, env: &mut Env<'_>, draft: &Self) {
        rule!(env, "L-ENT-3");
        let is_aborted = draft.last_marker_result == Some(TransactionResult::Abort);
        if is_aborted && env.on(Defect::LeaderDedupKeepAfterAbort) {
            self.producer_epoch = draft.producer_epoch;
        }
        self.maybe_update_producer_epoch(draft.producer_epoch);
        for batch in draft.batches() {
            self.add_batch_metadata(env, *batch);
        }
        self.coordinator_epoch = draft.coordinator_epoch;
        self.last_timestamp = draft.last_timestamp;
        self.current_txn_first_offset = draft.current_txn_first_offset;
        self.last_marker_result = draft.last_marker_result;
    }

    /// The remembered batch of which `batch` is a copy: same epoch, first and last sequence
    /// (L-DUP-1, `findDuplicateBatch`).
    #[must_use]
    pub fn find_duplicate_batch(
        &self,
        env: &Env<'_>,
        batch: &RecordBatch,
    ) -> Option<BatchMetadata> {
        let is_known = batch.producer_epoch == self.producer_epoch;
        if !is_known || env.on(Defect::LeaderDedupWindowZero) {
            return None;
        }
        let (first, last) = (batch.base_sequence, batch.last_sequence());
        let same =
            |known: &&BatchMetadata| known.last_sequence == last && known.first_sequence() == first;
        self.batches().iter().find(same).copied()
    }

    /// What a snapshot keeps of the entry: the newest batch alone (L-SNP-1), in a repaired Kafka
    /// all of them.
    #[must_use]
    pub(crate) fn as_in_snapshot(&self, env: &mut Env<'_>) -> Self {
        let mut kept = *self;
        if env.on(Defect::UpstreamLeaderSnapshotKeepsOneBatch) {
            rule!(env, "L-DUP-7");
            kept.clear_batches();
            if let Some(newest) = self.batches().last() {
                kept.push(*newest);
            }
        }
        kept
    }

    fn add_batch_metadata(&mut self, env: &mut Env<'_>, batch: BatchMetadata) {
        rule!(env, "L-ENT-2");
        let mut window = NUM_BATCHES_TO_RETAIN;
        if env.on(Defect::LeaderDedupWindowFour) {
            window = 4;
        }
        if env.on(Defect::LeaderDedupWindowOne) {
            window = 1;
        }
        if usize::from(self.batch_count) == window {
            self.batch_metadata.copy_within(1..window, 0);
            self.batch_count -= 1;
        }
        self.push(batch);
    }

    fn push(&mut self, batch: BatchMetadata) {
        self.batch_metadata[usize::from(self.batch_count)] = batch;
        self.batch_count += 1;
    }

    /// Unused places hold [`BatchMetadata::UNUSED`], so that equal entries compare equal.
    fn clear_batches(&mut self) {
        self.batch_metadata = [BatchMetadata::UNUSED; NUM_BATCHES_TO_RETAIN];
        self.batch_count = 0;
    }
}
