//! A piece of a log with its own offset index and aborted-transaction index.
//!
//! Kafka's counterparts: `LogSegment`, `FileRecords`, `OffsetIndex`. Batches stand in the order of
//! their offsets, none below `base_offset`; positions are bytes from the segment's beginning.

use alloc::vec::Vec;

use eosim_types::Env;
use eosim_types::record::{AbortedTxn, RecordBatch};

use crate::transaction_index::TransactionIndex;

/// A batch as it lies in a segment.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct StoredBatch {
    pub(crate) batch: RecordBatch,
    /// Where its bytes begin.
    pub(crate) position: i64,
    /// When the cleaner may drop it, ms (L-CMP-3); stands in the batch's header.
    pub(crate) delete_horizon_ms: Option<i64>,
}

/// An entry of the offset index (`OffsetPosition`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct OffsetPosition {
    offset: i64,
    position: i64,
}

/// One segment.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LogSegment {
    pub(crate) base_offset: i64,
    pub(crate) batches: Vec<StoredBatch>,
    pub(crate) transaction_index: TransactionIndex,
    size_in_bytes: i64,
    offset_index: Vec<OffsetPosition>,
    bytes_since_last_index_entry: i64,
}

impl LogSegment {
    pub(crate) fn new(base_offset: i64) -> Self {
        Self {
            base_offset,
            batches: Vec::new(),
            transaction_index: TransactionIndex::default(),
            size_in_bytes: 0,
            offset_index: Vec::new(),
            bytes_since_last_index_entry: 0,
        }
    }

    /// Empty again, at another place; memory is kept.
    pub(crate) fn reset(&mut self, base_offset: i64) {
        self.base_offset = base_offset;
        self.transaction_index.clear();
        self.clear_batches();
    }

    fn clear_batches(&mut self) {
        self.batches.clear();
        self.offset_index.clear();
        self.size_in_bytes = 0;
        self.bytes_since_last_index_entry = 0;
    }

    pub(crate) fn size_in_bytes(&self) -> i64 {
        self.size_in_bytes
    }

    /// The newest timestamp in it, ms; `None` if it is empty.
    pub(crate) fn max_timestamp(&self) -> Option<i64> {
        self.batches.iter().map(|stored| stored.batch.max_timestamp).max()
    }

    /// Appends `batch` of `size` bytes. An index entry is made for a batch when more than
    /// `index_interval_bytes` were appended since the last one (L-FET-3).
    pub(crate) fn append(&mut self, batch: RecordBatch, size: i32, index_interval_bytes: i64) {
        self.append_stored(batch, None, i64::from(size), index_interval_bytes);
    }

    fn append_stored(
        &mut self,
        batch: RecordBatch,
        delete_horizon_ms: Option<i64>,
        size: i64,
        index_interval_bytes: i64,
    ) {
        let position = self.size_in_bytes;
        if self.bytes_since_last_index_entry > index_interval_bytes {
            self.offset_index.push(OffsetPosition { offset: batch.last_offset(), position });
            self.bytes_since_last_index_entry = 0;
        }
        self.bytes_since_last_index_entry += size;
        self.size_in_bytes += size;
        self.batches.push(StoredBatch { batch, position, delete_horizon_ms });
    }

    /// The place of the first batch that ends at or beyond `offset`.
    pub(crate) fn place_of(&self, offset: i64) -> usize {
        self.batches.partition_point(|stored| stored.batch.last_offset() < offset)
    }

    /// The bytes end here for the batch at `place`.
    pub(crate) fn end_position(&self, place: usize) -> i64 {
        self.batches.get(place + 1).map_or(self.size_in_bytes, |next| next.position)
    }

    /// The offset of the first index entry at or beyond `position` (`fetchUpperBoundOffset`).
    pub(crate) fn fetch_upper_bound_offset(&self, position: i64) -> Option<i64> {
        let place = self.offset_index.partition_point(|entry| entry.position < position);
        self.offset_index.get(place).map(|entry| entry.offset)
    }

    /// Cuts everything from the batch that holds `offset` on.
    pub(crate) fn truncate_to(&mut self, offset: i64, index_interval_bytes: i64) {
        self.transaction_index.truncate_to(offset);
        let kept = self.place_of(offset);
        if kept < self.batches.len() {
            self.batches.truncate(kept);
            self.rebuild_offset_index(index_interval_bytes);
        }
    }

    fn rebuild_offset_index(&mut self, index_interval_bytes: i64) {
        let batches = core::mem::take(&mut self.batches);
        self.replace(batches, index_interval_bytes);
    }

    /// Puts `batches` in place of what is there, with fresh positions and offset index.
    pub(crate) fn replace(&mut self, batches: Vec<StoredBatch>, index_interval_bytes: i64) {
        self.clear_batches();
        self.batches.reserve(batches.len());
        for StoredBatch { batch, delete_horizon_ms, .. } in batches {
            let size = i64::from(batch.size_in_bytes());
            self.append_stored(batch, delete_horizon_ms, size, index_interval_bytes);
        }
    }

    /// Collects aborted transactions; true if no later segment can hold more (L-IDX-5).
    pub(crate) fn collect_aborted_txns(
        &self,
        env: &mut Env<'_>,
        fetch_offset: i64,
        upper_bound_offset: i64,
        found: &mut Vec<AbortedTxn>,
    ) -> bool {
        self.transaction_index.collect(env, fetch_offset, upper_bound_offset, found)
    }
}
