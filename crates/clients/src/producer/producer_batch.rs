//! One batch of records of one partition (`ProducerBatch`), and the arena that holds the batches.
//!
//! Invariants: the final state moves once (P-DM-1); a batch that has a sequence is sent again with
//! the same numbers unless the transaction manager renumbers it (P-ACC-5); a slot is reused only
//! when neither queue, wire nor partition entry refers to it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use eosim_types::record::{BATCH_OVERHEAD, Payload, Record, RecordBatch, record_size};
use eosim_types::{
    Duration, Instant, LeaderEpoch, ProducerEpoch, ProducerId, Sequence, TopicPartition,
};

use super::CallId;

/// A producer id with its epoch (`ProducerIdAndEpoch`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProducerIdAndEpoch {
    /// The id.
    pub producer_id: ProducerId,
    /// The epoch.
    pub producer_epoch: ProducerEpoch,
}

impl ProducerIdAndEpoch {
    /// Neither.
    pub const NONE: Self =
        Self { producer_id: ProducerId::NONE, producer_epoch: ProducerEpoch::NONE };

    /// `producer_id` at `producer_epoch`.
    #[must_use]
    pub const fn new(producer_id: ProducerId, producer_epoch: ProducerEpoch) -> Self {
        Self { producer_id, producer_epoch }
    }

    /// Is there an id?
    #[must_use]
    pub fn is_valid(self) -> bool {
        self.producer_id > ProducerId::NONE
    }
}

/// The name of a batch within its producer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct BatchId(u32);

/// How a batch ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum FinalState {
    Aborted,
    Failed,
    Succeeded,
}

/// Upper bound of what a record needs besides key and value
/// (`DefaultRecord.MAX_RECORD_OVERHEAD`).
const MAX_RECORD_OVERHEAD: i32 = 21;

fn record_upper_bound(record: Record) -> i32 {
    let key = if record.key.is_some() { 4 } else { 0 };
    let value = i32::try_from(record.value_bytes).unwrap_or(i32::MAX / 2);
    MAX_RECORD_OVERHEAD + key + value
}

/// Upper bound of a batch of this one record (`estimateSizeInBytesUpperBound`).
pub(crate) fn batch_upper_bound(record: Record) -> i32 {
    BATCH_OVERHEAD + record_upper_bound(record)
}

/// A batch on its way from the first append to its final state.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ProducerBatch {
    pub(crate) partition: TopicPartition,
    pub(crate) created: Instant,
    /// The `send()` that opened it; a part has that of the whole.
    pub(crate) opened_by: CallId,
    pub(crate) last_attempt: Instant,
    /// How often it was re-enqueued.
    pub(crate) attempts: i32,
    /// Pause before the next attempt (P-CFG-9).
    pub(crate) backoff: Duration,
    /// It was re-enqueued once (`inRetry`).
    pub(crate) retry: bool,
    /// Its sequence was reset since it was last closed (`sequenceHasBeenReset`).
    pub(crate) reopened: bool,
    pub(crate) is_split: bool,
    /// Takes no more records.
    pub(crate) closed: bool,
    pub(crate) final_state: Option<FinalState>,
    pub(crate) producer: ProducerIdAndEpoch,
    pub(crate) base_sequence: Sequence,
    pub(crate) is_transactional: bool,
    /// An attempt may have been written although its answer did not say so (P-MOD-4).
    pub(crate) fate_unknown: bool,
    leader_epoch: LeaderEpoch,
    attempts_when_leader_last_changed: i32,
    pub(crate) records: Vec<Record>,
    /// The call behind each record; `None` for a record whose `send()` threw (P-API-6).
    pub(crate) calls: Vec<Option<CallId>>,
    frozen: Option<Arc<[Record]>>,
    pub(crate) size: i32,
    limit: i32,
    /// What it holds of `buffer.memory`; parts of a split batch hold nothing.
    buffer: i32,
    max_timestamp: i64,
    /// In the accumulator's deque.
    pub(crate) queued: bool,
    /// In a request that has not ended.
    pub(crate) on_wire: bool,
    /// In the in-flight set of its partition entry.
    pub(crate) tracked: bool,
}

impl ProducerBatch {
    fn new(partition: TopicPartition, created: Instant, opened_by: CallId) -> Self {
        Self {
            partition,
            created,
            opened_by,
            last_attempt: created,
            attempts: 0,
            backoff: Duration::ZERO,
            retry: false,
            reopened: false,
            is_split: false,
            closed: false,
            final_state: None,
            producer: ProducerIdAndEpoch::NONE,
            base_sequence: Sequence::NONE,
            is_transactional: false,
            fate_unknown: false,
            leader_epoch: LeaderEpoch::NONE,
            attempts_when_leader_last_changed: -1,
            records: Vec::new(),
            calls: Vec::new(),
            frozen: None,
            size: BATCH_OVERHEAD,
            limit: 0,
            buffer: 0,
            max_timestamp: 0,
            queued: false,
            on_wire: false,
            tracked: false,
        }
    }

    /// How many records it holds.
    pub(crate) fn record_count(&self) -> i32 {
        i32::try_from(self.records.len()).expect("a batch holds fewer than 2^31 records")
    }

    /// It is in the log perhaps: its answer is not in, or did not say.
    pub(crate) const fn may_be_written(&self) -> bool {
        self.on_wire || self.fate_unknown
    }

    /// Has it numbers (`hasSequence`)?
    pub(crate) fn has_sequence(&self) -> bool {
        self.base_sequence != Sequence::NONE
    }

    /// Plain addition, without Kafka's wrap (P-DM-3).
    pub(crate) fn last_sequence(&self) -> i32 {
        self.base_sequence.0.wrapping_add(self.record_count()).wrapping_sub(1)
    }

    /// Completed, one way or the other.
    pub(crate) const fn is_done(&self) -> bool {
        self.final_state.is_some()
    }

    /// Closed, or its bytes have reached its limit (P-ACC-1).
    pub(crate) const fn is_full(&self) -> bool {
        self.closed || self.size >= self.limit
    }

    /// Is there room for one record more?
    pub(crate) fn has_room(&self, record: Record) -> bool {
        !self.closed && self.size + record_upper_bound(record) <= self.limit
    }

    /// Takes `record` if there is room; the first record always fits.
    pub(crate) fn try_append(
        &mut self,
        record: Record,
        call: CallId,
        batch_size: i32,
        timestamp: i64,
    ) -> bool {
        if self.closed {
            return false;
        }
        if self.records.is_empty() {
            self.limit = batch_size.max(batch_upper_bound(record));
        } else if self.size + record_upper_bound(record) > self.limit {
            self.closed = true;
            return false;
        }
        self.push(record, Some(call));
        self.max_timestamp = self.max_timestamp.max(timestamp);
        true
    }

    /// Adds a record, whatever its size.
    pub(crate) fn push(&mut self, record: Record, call: Option<CallId>) {
        self.size += record_size(self.record_count(), record);
        self.records.push(record);
        self.calls.push(call);
    }

    /// What the batch would weigh with `record` added.
    pub(crate) fn size_with(&self, record: Record) -> i32 {
        self.size + record_size(self.record_count(), record)
    }

    /// Numbers it (`setProducerState`).
    pub(crate) const fn set_producer_state(
        &mut self,
        producer: ProducerIdAndEpoch,
        base_sequence: Sequence,
        is_transactional: bool,
    ) {
        self.producer = producer;
        self.base_sequence = base_sequence;
        self.is_transactional = is_transactional;
    }

    /// Numbers it anew (`resetProducerState`).
    pub(crate) const fn reset_producer_state(
        &mut self,
        producer: ProducerIdAndEpoch,
        base_sequence: Sequence,
    ) {
        self.producer = producer;
        self.base_sequence = base_sequence;
        self.reopened = true;
    }

    /// It takes no more records and goes on the wire.
    pub(crate) fn close_for_drain(&mut self) {
        self.closed = true;
        self.reopened = false;
        self.queued = false;
        self.on_wire = true;
        if self.frozen.is_none() {
            self.frozen = Some(Arc::from(self.records.as_slice()));
        }
    }

    /// As it goes on the wire now.
    pub(crate) fn record_batch(&self) -> RecordBatch {
        let records = self.frozen.clone().expect("a drained batch is frozen");
        RecordBatch {
            base_offset: 0,
            last_offset_delta: self.record_count() - 1,
            partition_leader_epoch: LeaderEpoch::NONE,
            is_transactional: self.is_transactional,
            max_timestamp: self.max_timestamp,
            producer_id: self.producer.producer_id,
            producer_epoch: self.producer.producer_epoch,
            base_sequence: self.base_sequence,
            payload: Payload::Records(records),
        }
    }

    /// `maybeUpdateLeaderEpoch`: a new leader makes the retry skip its backoff (P-ACC-1).
    pub(crate) fn maybe_update_leader_epoch(&mut self, leader_epoch: LeaderEpoch) {
        if leader_epoch > self.leader_epoch {
            self.leader_epoch = leader_epoch;
            self.attempts_when_leader_last_changed = self.attempts;
        }
    }

    /// Is it waiting for its next attempt?
    pub(crate) fn is_backing_off(&self, now: Instant) -> bool {
        let leader_changed = self.attempts == self.attempts_when_leader_last_changed;
        self.attempts > 0 && !leader_changed && now.since(self.last_attempt) < self.backoff
    }

    /// P-ACC-10.
    pub(crate) fn has_reached_delivery_timeout(&self, timeout: Duration, now: Instant) -> bool {
        now.since(self.created) >= timeout
    }

    /// A part of this batch, empty, with the same age and producer state (P-ACC-8).
    fn child(&self) -> Self {
        Self {
            is_split: true,
            closed: true,
            producer: self.producer,
            is_transactional: self.is_transactional,
            fate_unknown: self.fate_unknown,
            max_timestamp: self.max_timestamp,
            ..Self::new(self.partition, self.created, self.opened_by)
        }
    }

    /// Cuts the batch into parts of at most `target` bytes, each with one record at least.
    pub(crate) fn split(&self, target: i32) -> Vec<Self> {
        let mut parts: Vec<Self> = Vec::new();
        for (&record, &call) in self.records.iter().zip(&self.calls) {
            let fits = parts.last().is_some_and(|part| part.size_with(record) <= target);
            if !fits {
                parts.push(self.child());
            }
            parts.last_mut().expect("pushed above").push(record, call);
        }
        parts
    }
}

/// All batches of a producer.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Batches {
    /// Bytes of `buffer.memory` in use.
    allocated: i64,
    slots: Vec<ProducerBatch>,
    free: Vec<BatchId>,
}

impl Batches {
    /// A new, empty batch.
    pub(crate) fn create(
        &mut self,
        partition: TopicPartition,
        now: Instant,
        opened_by: CallId,
    ) -> BatchId {
        self.insert(ProducerBatch::new(partition, now, opened_by))
    }

    /// Bytes of `buffer.memory` in use.
    pub(crate) const fn allocated(&self) -> i64 {
        self.allocated
    }

    /// Gives the new batch `id` its buffer (`BufferPool#allocate`).
    pub(crate) fn allocate(&mut self, id: BatchId) {
        self[id].buffer = self[id].limit;
        self.allocated += i64::from(self[id].buffer);
    }

    /// Takes `batch` in.
    pub(crate) fn insert(&mut self, mut batch: ProducerBatch) -> BatchId {
        if let Some(id) = self.free.pop() {
            let slot = &mut self.slots[id.0 as usize];
            if batch.records.is_empty() {
                core::mem::swap(&mut batch.records, &mut slot.records);
                core::mem::swap(&mut batch.calls, &mut slot.calls);
            }
            *slot = batch;
            return id;
        }
        let id = u32::try_from(self.slots.len()).expect("fewer than 2^32 batches live");
        self.slots.push(batch);
        BatchId(id)
    }

    /// Frees the slot if nothing refers to it any more. A free slot is one without records.
    pub(crate) fn release_if_unused(&mut self, id: BatchId) {
        let batch = &mut self[id];
        let in_use = batch.queued || batch.on_wire || batch.tracked || batch.records.is_empty();
        if batch.is_done() && !in_use {
            batch.records.clear();
            batch.calls.clear();
            batch.frozen = None;
            let buffer = core::mem::take(&mut batch.buffer);
            self.allocated -= i64::from(buffer);
            self.free.push(id);
        }
    }

    /// Batches that are not completed.
    pub(crate) fn incomplete(&self) -> impl Iterator<Item = BatchId> + '_ {
        let ids = (0u32..).zip(&self.slots);
        ids.filter(|(_, batch)| !batch.is_done()).map(|(id, _)| BatchId(id))
    }
}

impl core::ops::Index<BatchId> for Batches {
    type Output = ProducerBatch;
    fn index(&self, id: BatchId) -> &ProducerBatch {
        &self.slots[id.0 as usize]
    }
}

impl core::ops::IndexMut<BatchId> for Batches {
    fn index_mut(&mut self, id: BatchId) -> &mut ProducerBatch {
        &mut self.slots[id.0 as usize]
    }
}
