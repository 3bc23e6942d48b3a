//! Snapshots of producer state: what outlives the process besides the log itself.
//!
//! Kafka's counterparts: the `.snapshot` files, `SnapshotFile` and `removeStraySnapshots`. Sorted
//! by offset; one snapshot per offset. Files that cannot be read do not exist here.

use alloc::vec::Vec;

use eosim_types::ProducerId;

use super::ProducerStateEntry;

/// The producers as they stood when everything below `offset` had been applied (L-SNP-1).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Snapshot {
    pub(crate) offset: i64,
    pub(crate) producers: Vec<(ProducerId, ProducerStateEntry)>,
}

/// The snapshots on a replica's disk.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Snapshots(Vec<Snapshot>);

impl Snapshots {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn latest(&self) -> Option<&Snapshot> {
        self.0.last()
    }

    pub(crate) fn put(&mut self, snapshot: Snapshot) {
        let place = self.0.partition_point(|known| known.offset < snapshot.offset);
        if self.0.get(place).is_some_and(|known| known.offset == snapshot.offset) {
            self.0[place] = snapshot;
        } else {
            self.0.insert(place, snapshot);
        }
    }

    /// Deletes the snapshots at or below `log_start_offset` and beyond `end_offset` (L-SNP-3).
    pub(crate) fn delete_outside(&mut self, log_start_offset: i64, end_offset: i64) {
        self.0.retain(|s| s.offset > log_start_offset && s.offset <= end_offset);
    }

    /// Deletes those beyond `offset`: what a power loss does to files that were not flushed.
    pub(crate) fn delete_beyond(&mut self, offset: i64) {
        self.0.retain(|snapshot| snapshot.offset <= offset);
    }

    /// Deletes the snapshot of the segment that begins at `offset`.
    pub(crate) fn delete_at(&mut self, offset: i64) {
        self.0.retain(|snapshot| snapshot.offset != offset);
    }

    /// Deletes what belongs to no segment, except the newest if it lies beyond the last segment's
    /// base (`removeStraySnapshots`). `segment_base_offsets` is sorted.
    pub(crate) fn remove_stray(&mut self, segment_base_offsets: &[i64]) {
        let newest = self.0.last().map(|snapshot| snapshot.offset);
        let beyond = newest.filter(|newest| segment_base_offsets.last().is_none_or(|b| newest > b));
        self.0.retain(|snapshot| {
            Some(snapshot.offset) == beyond
                || segment_base_offsets.binary_search(&snapshot.offset).is_ok()
        });
    }

    pub(crate) fn offsets(&self) -> impl Iterator<Item = i64> {
        self.0.iter().map(|snapshot| snapshot.offset)
    }
}
