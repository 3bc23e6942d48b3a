//! Removing the beginning of a log (L-DEL).
//!
//! Kafka's counterparts: `UnifiedLog#maybeIncrementLogStartOffset`, `#deleteOldSegments`.

use eosim_types::{Env, rule};

use super::UnifiedLog;

impl UnifiedLog {
    /// Lets the log begin at `offset`, never beyond the high watermark; true if that is later than
    /// before. Producer entries and open transactions stay (L-DEL-2, L-DEL-3).
    pub fn maybe_increment_log_start_offset(&mut self, env: &mut Env<'_>, offset: i64) -> bool {
        let offset = offset.min(self.high_watermark);
        if offset <= self.log_start_offset {
            return false;
        }
        rule!(env, "L-DEL-1");
        rule!(env, "L-DEL-3");
        self.log_start_offset = offset;
        self.recovery_point = self.recovery_point.max(offset);
        self.leader_epoch_cache.truncate_from_start(offset);
        self.producer_state.on_log_start_offset_incremented(env, offset);
        self.maybe_update_first_unstable_offset(env);
        true
    }

    /// Deletes the oldest segments that lie before the log start, that make the log larger than
    /// `retention.bytes`, or whose newest record is older than `retention.ms`; only what is
    /// entirely below the high watermark, open transactions or not (L-DEL-4). If even the active
    /// segment is too old, an empty one takes its place.
    pub fn delete_old_segments(&mut self, env: &mut Env<'_>) {
        rule!(env, "L-DEL-4");
        let oldest_kept = self.oldest_timestamp_kept(env);
        if self.active_segment().max_timestamp().is_some_and(|newest| newest < oldest_kept) {
            self.roll(env);
        }
        let mut excess = self.bytes_beyond_retention();
        while let [oldest, next, ..] = &self.segments[..] {
            let end_offset = next.base_offset;
            let size = oldest.size_in_bytes();
            let is_old = oldest.max_timestamp().is_some_and(|newest| newest < oldest_kept);
            let is_deletable = end_offset <= self.log_start_offset || excess >= size || is_old;
            if !is_deletable || end_offset > self.high_watermark {
                break;
            }
            excess -= size;
            let oldest = self.segments.remove(0);
            self.producer_state.delete_snapshot_at(oldest.base_offset);
            self.maybe_increment_log_start_offset(env, end_offset);
        }
    }

    /// Records older than this are given up, by the broker's clock.
    fn oldest_timestamp_kept(&self, env: &Env<'_>) -> i64 {
        if !self.config.cleanup_delete || self.config.retention_ms < 0 {
            return i64::MIN;
        }
        env.clock_ms().saturating_sub(self.config.retention_ms)
    }

    fn bytes_beyond_retention(&self) -> i64 {
        if !self.config.cleanup_delete || self.config.retention_bytes < 0 {
            return -1;
        }
        let size: i64 = self.segments.iter().map(super::LogSegment::size_in_bytes).sum();
        size - self.config.retention_bytes
    }
}
