//! Cutting the end off a log (L-TRC).
//!
//! Kafka's counterparts: `UnifiedLog#truncateTo`, `#truncateFullyAndStartAt`. Verification entries
//! survive (L-TRC-3).

use eosim_types::{Defect, Env, rule};

use super::UnifiedLog;

impl UnifiedLog {
    /// Cuts everything from the batch that holds `offset` on, and rebuilds producer state
    /// (L-TRC-1).
    pub fn truncate_to(&mut self, env: &mut Env<'_>, offset: i64) {
        rule!(env, "L-TRC-1");
        if offset >= self.log_end_offset {
            self.leader_epoch_cache.truncate_from_end(self.log_end_offset);
            return;
        }
        if offset < self.segments[0].base_offset {
            self.truncate_fully_and_start_at(env, offset);
            return;
        }
        rule!(env, "L-TRC-3");
        rule!(env, "L-IDX-6");
        self.truncate_segments(offset);
        self.leader_epoch_cache.truncate_from_end(offset);
        self.log_start_offset = self.log_start_offset.min(offset);
        self.rebuild_producer_state(env, offset, false);
        self.update_high_watermark_after_reload(env, offset);
    }

    /// The high watermark never lies beyond the end (L-TRC-1). Where it lies before, Kafka leaves it
    /// alone: transactions below it that the reload took for unreplicated (L-SNP-4) then hold the
    /// last stable offset until it advances; in a repaired Kafka they are forgotten at once.
    fn update_high_watermark_after_reload(&mut self, env: &mut Env<'_>, end_offset: i64) {
        let lies_before = self.high_watermark < end_offset;
        if lies_before && env.on(Defect::UpstreamLeaderReloadIgnoresHighWatermark) {
            return;
        }
        self.update_high_watermark(env, self.high_watermark.min(end_offset));
    }

    /// Cuts segments and their indexes; the log then ends at `offset`.
    pub(super) fn truncate_segments(&mut self, offset: i64) {
        self.segments.truncate(self.segment_of(offset) + 1);
        let interval = self.config.index_interval_bytes;
        self.active_segment_mut().truncate_to(offset, interval);
        self.log_end_offset = offset;
        self.recovery_point = self.recovery_point.min(offset);
    }

    /// Clears everything, snapshots and leader epochs included; the log begins and ends at
    /// `offset` (L-TRC-2).
    pub fn truncate_fully_and_start_at(&mut self, env: &mut Env<'_>, offset: i64) {
        rule!(env, "L-TRC-2");
        self.reset_segments(offset);
        self.leader_epoch_cache.clear();
        self.producer_state.truncate_fully_and_start_at(offset);
        self.log_start_offset = offset;
        self.recovery_point = offset;
        self.update_high_watermark(env, offset);
    }
}
