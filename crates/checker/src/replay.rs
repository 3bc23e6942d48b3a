//! What a log says, batch by batch: open and ended transactions, the aborted-transaction index and
//! the producer state that follow from it.
//!
//! Counterpart: `ProducerStateManager` and `TransactionIndex`, written anew from the rules (L-ENT,
//! L-TXN, L-MRK, L-IDX) for logs that are already accepted; it refuses nothing (L-SNP-4).

use std::ops::Range;

use eosim_types::message::ProducerState;
use eosim_types::observation::RememberedBatch;
use eosim_types::record::{
    AbortedTxn, EndTransactionMarker, Payload, RecordBatch, TransactionResult,
};
use eosim_types::{CoordinatorEpoch, ProducerEpoch, ProducerId, Sequence};

/// How many batches of a producer are remembered (L-ENT-2).
const REMEMBERED: usize = 5;

/// A transaction that is open in a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Open {
    pub(crate) producer_id: ProducerId,
    pub(crate) first_offset: i64,
    /// Epoch and time of its newest batch.
    pub(crate) producer_epoch: ProducerEpoch,
    pub(crate) last_timestamp: i64,
}

/// A transaction that a marker ended in a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ended {
    pub(crate) producer_id: ProducerId,
    pub(crate) first_offset: i64,
    pub(crate) marker_offset: i64,
    pub(crate) marker_epoch: ProducerEpoch,
    pub(crate) result: TransactionResult,
}

/// A batch that does not follow on what its log holds of its producer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SequenceGap {
    pub(crate) producer_id: ProducerId,
    pub(crate) producer_epoch: ProducerEpoch,
    pub(crate) offset: i64,
    pub(crate) base_sequence: Sequence,
    /// What it should have followed; -1 if it is the first of its epoch.
    pub(crate) last_sequence: Sequence,
}

/// Everything that replaying one log gives.
#[derive(Default, Debug)]
pub(crate) struct Replay {
    /// By first offset.
    pub(crate) open: Vec<Open>,
    /// By marker.
    pub(crate) ended: Vec<Ended>,
    /// By marker.
    pub(crate) aborted: Vec<AbortedTxn>,
    /// By producer id.
    pub(crate) producers: Vec<ProducerState>,
    /// By producer id, then by age: the batches whose copies are recognised (L-ENT-2).
    pub(crate) remembered: Vec<(ProducerId, RememberedBatch)>,
    /// By offset.
    pub(crate) gaps: Vec<SequenceGap>,
    /// No batch and no record is missing between offset 0 and the end.
    pub(crate) is_whole: bool,
    next_offset: i64,
}

impl Replay {
    /// Begins a new log.
    pub(crate) fn begin(&mut self) {
        self.open.clear();
        self.ended.clear();
        self.aborted.clear();
        self.producers.clear();
        self.remembered.clear();
        self.gaps.clear();
        self.is_whole = true;
        self.next_offset = 0;
    }

    /// Takes the next batch; says which transaction it ended, if one.
    pub(crate) fn step(&mut self, batch: &RecordBatch) -> Option<Ended> {
        let is_full = batch.record_count() == batch.last_offset_delta + 1;
        self.is_whole &= batch.base_offset == self.next_offset && is_full;
        self.next_offset = batch.next_offset();
        if !batch.has_producer_id() {
            return None;
        }
        match batch.payload {
            Payload::Control(marker) => self.marker(batch, marker),
            Payload::EmptyControl => {
                self.producer(batch.producer_id); // L-MRK-1
                None
            }
            _ => {
                self.data(batch);
                None
            }
        }
    }

    /// L-ENT-4, L-TXN-2.
    fn data(&mut self, batch: &RecordBatch) {
        if batch.is_transactional {
            self.join(batch);
        }
        let open = self.open.iter().find(|open| open.producer_id == batch.producer_id);
        let start = open.map_or(-1, |open| open.first_offset);
        let is_known = self.producer(batch.producer_id).producer_epoch != ProducerEpoch::NONE;
        self.begin_epoch(batch);
        if is_known {
            self.follow(batch);
        }
        self.remember(batch);
        let state = self.producer(batch.producer_id);
        state.last_sequence = batch.last_sequence();
        state.last_timestamp = batch.max_timestamp;
        state.current_txn_start_offset = start;
    }

    /// A transactional batch opens a transaction or goes on with the open one (L-ENT-5).
    fn join(&mut self, batch: &RecordBatch) {
        match self.open.iter_mut().find(|open| open.producer_id == batch.producer_id) {
            Some(open) => {
                open.producer_epoch = batch.producer_epoch;
                open.last_timestamp = batch.max_timestamp;
            }
            None => self.open.push(Open {
                producer_id: batch.producer_id,
                first_offset: batch.base_offset,
                producer_epoch: batch.producer_epoch,
                last_timestamp: batch.max_timestamp,
            }),
        }
    }

    /// L-MRK-5 to L-MRK-9, L-IDX-1 to L-IDX-3.
    fn marker(&mut self, batch: &RecordBatch, marker: EndTransactionMarker) -> Option<Ended> {
        self.begin_epoch(batch);
        let state = self.producer(batch.producer_id);
        state.coordinator_epoch = marker.coordinator_epoch;
        state.last_timestamp = batch.max_timestamp;
        state.current_txn_start_offset = -1;
        let at = self.open.iter().position(|open| open.producer_id == batch.producer_id)?;
        let open = self.open.remove(at);
        let ended = Ended {
            producer_id: open.producer_id,
            first_offset: open.first_offset,
            marker_offset: batch.base_offset,
            marker_epoch: batch.producer_epoch,
            result: marker.result,
        };
        self.ended.push(ended);
        if marker.result == TransactionResult::Abort {
            let first_open = self.open.first().map(|open| open.first_offset);
            self.aborted.push(AbortedTxn {
                producer_id: ended.producer_id,
                first_offset: ended.first_offset,
                last_offset: ended.marker_offset,
                last_stable_offset: first_open.unwrap_or(ended.marker_offset + 1),
            });
        }
        Some(ended)
    }

    /// Another epoch forgets the batches of the one before (L-ENT-2).
    fn begin_epoch(&mut self, batch: &RecordBatch) {
        let state = self.producer(batch.producer_id);
        if state.producer_epoch != batch.producer_epoch {
            state.producer_epoch = batch.producer_epoch;
            state.last_sequence = Sequence::NONE;
            let forgotten = self.remembered_of(batch.producer_id);
            self.remembered.drain(forgotten);
        }
    }

    /// L-SEQ-3, L-SEQ-4; a coordinator's own batches are not numbered (L-TOC-3).
    fn follow(&mut self, batch: &RecordBatch) {
        let last_sequence = self.producer(batch.producer_id).last_sequence;
        let is_numbered = matches!(batch.payload, Payload::Records(_));
        if is_numbered && !batch.base_sequence.follows(last_sequence) {
            self.gaps.push(SequenceGap {
                producer_id: batch.producer_id,
                producer_epoch: batch.producer_epoch,
                offset: batch.base_offset,
                base_sequence: batch.base_sequence,
                last_sequence,
            });
        }
    }

    /// The newest five are remembered (L-ENT-2).
    fn remember(&mut self, batch: &RecordBatch) {
        let Range { start, end } = self.remembered_of(batch.producer_id);
        let remembered = RememberedBatch {
            last_sequence: batch.last_sequence(),
            last_offset: batch.last_offset(),
            offset_delta: batch.last_offset_delta,
        };
        self.remembered.insert(end, (batch.producer_id, remembered));
        if end - start == REMEMBERED {
            self.remembered.remove(start);
        }
    }

    /// Where the batches of a producer stand.
    fn remembered_of(&self, producer_id: ProducerId) -> Range<usize> {
        let start = self.remembered.partition_point(|(id, _)| *id < producer_id);
        let end = self.remembered.partition_point(|(id, _)| *id <= producer_id);
        start..end
    }

    fn producer(&mut self, producer_id: ProducerId) -> &mut ProducerState {
        let found = self.producers.binary_search_by_key(&producer_id, |state| state.producer_id);
        let at = found.unwrap_or_else(|at| {
            self.producers.insert(at, unknown(producer_id));
            at
        });
        &mut self.producers[at]
    }

    /// First offsets that are not yet stable (L-LSO-1), for every number of transactions that a
    /// restart has forgotten because their marker lies before a snapshot and not below
    /// `high_watermark`: none of them first, all of them last.
    pub(crate) fn first_unstable_offsets(&self, high_watermark: i64) -> Vec<Option<i64>> {
        let mut first = self.open.first().map(|open| open.first_offset);
        let mut offsets = vec![first];
        let newest_first = self.ended.iter().rev();
        for ended in newest_first.take_while(|ended| ended.marker_offset >= high_watermark) {
            first = Some(first.map_or(ended.first_offset, |first| first.min(ended.first_offset)));
            offsets.insert(0, first);
        }
        offsets
    }
}

/// The empty entry (L-ENT-1).
fn unknown(producer_id: ProducerId) -> ProducerState {
    ProducerState {
        producer_id,
        producer_epoch: ProducerEpoch::NONE,
        last_sequence: Sequence::NONE,
        last_timestamp: -1,
        coordinator_epoch: CoordinatorEpoch::NONE,
        current_txn_start_offset: -1,
    }
}
