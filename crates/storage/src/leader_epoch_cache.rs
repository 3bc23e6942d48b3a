//! Where each leader epoch began in the log.
//!
//! Kafka's counterpart: `LeaderEpochFileCache`. Epochs and start offsets both strictly increase.

use alloc::vec::Vec;

use eosim_types::LeaderEpoch;

/// Where one leader epoch begins (`EpochEntry`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EpochEntry {
    /// The leader epoch.
    pub epoch: LeaderEpoch,
    /// The offset of the first batch of that epoch, or where its leader found the log's end.
    pub start_offset: i64,
}

/// The leader epochs of one log (L-LEP-2).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LeaderEpochFileCache {
    entries: Vec<EpochEntry>,
}

impl LeaderEpochFileCache {
    /// Notes that `epoch` begins at `start_offset`, unless it has begun before; entries that
    /// contradict it go (L-LEP-2).
    pub fn assign(&mut self, epoch: LeaderEpoch, start_offset: i64) {
        if epoch < LeaderEpoch(0) {
            return;
        }
        let known = |last: &EpochEntry| last.epoch == epoch && last.start_offset <= start_offset;
        if self.entries.last().is_some_and(known) {
            return;
        }
        self.entries.retain(|entry| entry.epoch < epoch && entry.start_offset < start_offset);
        self.entries.push(EpochEntry { epoch, start_offset });
    }

    /// The newest epoch.
    #[must_use]
    pub fn latest_epoch(&self) -> Option<LeaderEpoch> {
        self.entries.last().map(|entry| entry.epoch)
    }

    /// The largest known epoch ≤ `epoch` and its end, in a log that ends at `log_end_offset`;
    /// `None` if that is undefined (L-LEP-2, `endOffsetFor`).
    #[must_use]
    pub fn end_offset_for(
        &self,
        epoch: LeaderEpoch,
        log_end_offset: i64,
    ) -> Option<(LeaderEpoch, i64)> {
        if self.latest_epoch()? == epoch {
            return Some((epoch, log_end_offset));
        }
        let place = self.entries.partition_point(|entry| entry.epoch <= epoch);
        let higher = self.entries.get(place)?;
        let floor = place.checked_sub(1).map_or(epoch, |place| self.entries[place].epoch);
        Some((floor, higher.start_offset))
    }

    /// Removes the epochs that begin at or beyond `end_offset` (`truncateFromEnd`).
    pub fn truncate_from_end(&mut self, end_offset: i64) {
        let kept = self.entries.partition_point(|entry| entry.start_offset < end_offset);
        self.entries.truncate(kept);
    }

    /// Lets the first epoch begin at `start_offset`; what ended before it goes
    /// (`truncateFromStart`).
    pub fn truncate_from_start(&mut self, start_offset: i64) {
        let covered = self.entries.partition_point(|entry| entry.start_offset <= start_offset);
        if let Some(last) = covered.checked_sub(1) {
            self.entries.drain(..last);
            self.entries[0].start_offset = start_offset;
        }
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Every entry, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[EpochEntry] {
        &self.entries
    }
}
