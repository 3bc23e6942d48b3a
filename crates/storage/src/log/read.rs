//! Reading: batches, aborted transactions, look-ups by time (L-FET, L-IDX-5, L-LST-2).
//!
//! Kafka's counterparts: `LocalLog#read`, `#collectAbortedTransactions`,
//! `UnifiedLog#fetchOffsetByTimestamp`.

use alloc::vec::Vec;

use eosim_types::record::{AbortedTxn, RecordBatch};
use eosim_types::{Defect, Env, Few, rule};

use super::UnifiedLog;

impl UnifiedLog {
    /// Whole batches from the one that holds `from` up to `upper_bound` (exclusive), of one
    /// segment, `max_bytes` at most except that the first batch is always given (L-FET-2). The
    /// bound is the reader's: log end, high watermark or last stable offset (L-FET-1).
    #[must_use]
    pub fn read(&self, from: i64, upper_bound: i64, max_bytes: i32) -> Few<RecordBatch> {
        for segment in &self.segments[self.segment_of(from)..] {
            let start = segment.place_of(from);
            if start == segment.batches.len() {
                continue;
            }
            let mut end = start;
            while let Some(stored) = segment.batches.get(end) {
                let bytes = segment.end_position(end) - segment.batches[start].position;
                let fits = end == start || bytes <= i64::from(max_bytes);
                if !fits || stored.batch.last_offset() >= upper_bound {
                    break;
                }
                end += 1;
            }
            return match &segment.batches[start..end] {
                [one] => Few::One(one.batch.clone()),
                many => Few::Many(many.iter().map(|stored| stored.batch.clone()).collect()),
            };
        }
        Few::new()
    }

    /// The aborted transactions that a read_committed reader needs for `batches`, which
    /// [`Self::read`] returned for `from`: in index order, and perhaps more than lie in the bytes
    /// (L-FET-3).
    pub fn aborted_transactions(
        &self,
        env: &mut Env<'_>,
        from: i64,
        batches: &[RecordBatch],
    ) -> Vec<AbortedTxn> {
        let mut found = Vec::new();
        let Some(last) = batches.last() else {
            return found;
        };
        rule!(env, "L-FET-3");
        let place = self.segment_of(last.base_offset);
        let mut upper_bound = self.fetch_upper_bound_offset(place, last);
        if env.on(Defect::LeaderFetchAbortedRangeRelative) {
            upper_bound -= self.segments[place].base_offset;
        }
        for segment in &self.segments[place..] {
            if segment.collect_aborted_txns(env, from, upper_bound, &mut found) {
                break;
            }
        }
        if env.on(Defect::LeaderFetchAbortedSnapshotEarly) {
            found.retain(|aborted| aborted.last_offset + 1 < self.log_end_offset);
        }
        found
    }

    /// The offset of the first index entry at or beyond the end of `last`; without one the next
    /// segment's base offset, in the last segment the log end.
    fn fetch_upper_bound_offset(&self, place: usize, last: &RecordBatch) -> i64 {
        let segment = &self.segments[place];
        let end_position = segment.end_position(segment.place_of(last.base_offset));
        segment.fetch_upper_bound_offset(end_position).unwrap_or_else(|| {
            self.segments.get(place + 1).map_or(self.log_end_offset, |next| next.base_offset)
        })
    }

    /// The first record with a timestamp of at least `target_timestamp` ms, as (timestamp,
    /// offset). A batch carries one timestamp for all of its records. Whether the asker may see
    /// that offset is the caller's business (L-LST-2).
    #[must_use]
    pub fn offset_for_timestamp(&self, target_timestamp: i64) -> Option<(i64, i64)> {
        self.batches()
            .find(|batch| batch.max_timestamp >= target_timestamp && batch.record_count() > 0)
            .map(|batch| (batch.max_timestamp, batch.base_offset.max(self.log_start_offset)))
    }
}
