//! What survives the end of a process, and how a log comes back (L-SNP-3 to 8, L-HW-5).
//!
//! Kafka's counterparts: `LogLoader`, `UnifiedLog#rebuildProducerState`, `LogSegment#recover` and
//! the checkpoint files.

use alloc::vec::Vec;

use eosim_types::record::RecordBatch;
use eosim_types::{Defect, Env, rule};

use super::{AppendOrigin, LogSegment, UnifiedLog};
use crate::producer::ProducerStateManager;

impl UnifiedLog {
    /// Flushes the log: a power loss keeps all that is in it now.
    pub fn flush(&mut self) {
        self.recovery_point = self.log_end_offset;
    }

    /// Remembers the high watermark over a restart (L-HW-5).
    pub fn checkpoint_high_watermark(&mut self) {
        self.high_watermark_checkpoint = self.high_watermark;
    }

    /// Remembers the log start over a restart (L-SNP-7).
    pub fn checkpoint_log_start_offset(&mut self) {
        self.log_start_offset_checkpoint = self.log_start_offset;
    }

    /// A clean stop: flush, snapshot, checkpoints; of an offline log, no better than a crash.
    /// [`Self::recover`] must follow before the log is used again.
    pub fn close(&mut self, env: &mut Env<'_>) {
        if self.is_offline {
            self.crash(false);
            return;
        }
        rule!(env, "L-SNP-7");
        self.producer_state.take_snapshot(env);
        self.flush();
        self.checkpoint_high_watermark();
        self.checkpoint_log_start_offset();
        self.forget_memory();
        self.is_closed_cleanly = true;
    }

    /// The process dies: all that was written survives; under a power loss, all that was flushed
    /// (L-FO-6). [`Self::recover`] must follow before the log is used again.
    pub fn crash(&mut self, power_loss: bool) {
        if power_loss {
            let flushed = self.recovery_point.max(self.segments[0].base_offset);
            self.truncate_segments(flushed.min(self.log_end_offset));
            self.producer_state.delete_snapshots_beyond(self.log_end_offset);
        }
        self.forget_memory();
        self.is_closed_cleanly = false;
    }

    fn forget_memory(&mut self) {
        self.producer_state.forget_memory();
        self.first_unstable_offset = None;
    }

    /// Opens the log after [`Self::close`] or [`Self::crash`] (`LogLoader#load`).
    pub fn recover(&mut self, env: &mut Env<'_>) {
        let was_clean = core::mem::take(&mut self.is_closed_cleanly);
        self.is_offline = false;
        self.restore_log_start_offset(env);
        if !was_clean {
            self.recover_unflushed_segments(env);
        }
        if self.log_start_offset > self.log_end_offset {
            self.truncate_fully_and_start_at(env, self.log_start_offset);
        }
        self.leader_epoch_cache.truncate_from_end(self.log_end_offset);
        self.leader_epoch_cache.truncate_from_start(self.log_start_offset);
        let base_offsets: Vec<i64> = self.segments.iter().map(|s| s.base_offset).collect();
        self.producer_state.remove_stray_snapshots(&base_offsets);
        rule!(env, "L-SNP-6");
        self.rebuild_producer_state(env, self.log_end_offset, was_clean);
        if !was_clean && env.on(Defect::LogRecoverSecondStateInstance) {
            self.producer_state.forget_producers();
        }
        rule!(env, "L-HW-5");
        self.update_high_watermark(env, self.high_watermark_checkpoint);
    }

    /// L-SNP-7: the last checkpoint counts, so a crash brings deleted records back; in a repaired
    /// Kafka the log start is kept.
    fn restore_log_start_offset(&mut self, env: &mut Env<'_>) {
        if env.on(Defect::UpstreamLeaderDeletedRecordsReturn) {
            rule!(env, "L-SNP-7");
            self.log_start_offset = self.log_start_offset_checkpoint;
        }
        self.log_start_offset = self.log_start_offset.max(self.segments[0].base_offset);
    }

    /// Reads again every segment from the one that holds the recovery point on (L-SNP-5), with a
    /// producer state of its own that leaves nothing but snapshots, and rebuilds the indexes.
    fn recover_unflushed_segments(&mut self, env: &mut Env<'_>) {
        for place in self.segment_of(self.recovery_point)..self.segments.len() {
            rule!(env, "L-SNP-5");
            let mut throw_away = self.producer_state.lend_snapshots();
            let base_offset = self.segments[place].base_offset;
            self.rebuild(env, &mut throw_away, base_offset, false);
            self.recover_segment(env, place, &mut throw_away);
            throw_away.take_snapshot(env);
            self.producer_state.take_snapshots_back(throw_away);
        }
    }

    /// `LogSegment#recover`.
    fn recover_segment(
        &mut self,
        env: &mut Env<'_>,
        place: usize,
        manager: &mut ProducerStateManager,
    ) {
        let segment = &mut self.segments[place];
        segment.transaction_index.clear();
        for stored in &segment.batches {
            let batch = &stored.batch;
            // An epoch that has begun is known from before: it began where its first batch lies, which
            // may be in a segment that is not read again.
            let epoch = batch.partition_leader_epoch;
            if self.leader_epoch_cache.latest_epoch().is_none_or(|latest| epoch > latest) {
                self.leader_epoch_cache.assign(epoch, batch.base_offset);
            }
            replay(env, manager, batch, Some(&mut segment.transaction_index));
        }
        let next_offset =
            segment.batches.last().map_or(segment.base_offset, |stored| stored.batch.next_offset());
        manager.update_map_end_offset(next_offset);
    }

    /// Lets producer state reflect the log up to `end_offset` (L-SNP-3).
    pub(super) fn rebuild_producer_state(
        &mut self,
        env: &mut Env<'_>,
        end_offset: i64,
        was_clean: bool,
    ) {
        let mut manager = core::mem::take(&mut self.producer_state);
        self.rebuild(env, &mut manager, end_offset, was_clean);
        self.producer_state = manager;
    }

    /// `UnifiedLog.rebuildProducerState`.
    fn rebuild(
        &self,
        env: &mut Env<'_>,
        manager: &mut ProducerStateManager,
        end_offset: i64,
        was_clean: bool,
    ) {
        rule!(env, "L-SNP-3");
        if was_clean && !manager.has_snapshots() {
            self.begin_without_state(env, manager, end_offset);
            return;
        }
        let was_empty = manager.is_empty() && manager.map_end_offset() >= end_offset;
        let expiration = self.config.producer_id_expiration;
        manager.truncate_and_reload(env, self.log_start_offset, end_offset, expiration);
        if env.on(Defect::LogRecoverSnapshotOffsetWrong) && manager.has_snapshots() {
            manager.update_map_end_offset(end_offset);
        }
        if end_offset > manager.map_end_offset() && !was_empty {
            rule!(env, "L-SNP-8");
            self.replay_segments(env, manager, end_offset);
        }
        manager.update_map_end_offset(end_offset);
        manager.take_snapshot(env);
    }

    /// The upgrade shortcut: no snapshot and a clean stop mean that there were no producers.
    fn begin_without_state(
        &self,
        env: &mut Env<'_>,
        manager: &mut ProducerStateManager,
        end_offset: i64,
    ) {
        for base_offset in self.last_two_base_offsets() {
            manager.update_map_end_offset(base_offset);
            manager.take_snapshot(env);
        }
        manager.update_map_end_offset(end_offset);
        manager.take_snapshot(env);
    }

    fn last_two_base_offsets(&self) -> impl Iterator<Item = i64> {
        let first = self.segments.len().saturating_sub(2);
        self.segments[first..].iter().map(|segment| segment.base_offset)
    }

    /// Replays `[map_end_offset, end_offset)`; a snapshot is taken at the beginning of each of the
    /// last two segments.
    fn replay_segments(
        &self,
        env: &mut Env<'_>,
        manager: &mut ProducerStateManager,
        end_offset: i64,
    ) {
        let first = self.segment_of(manager.map_end_offset());
        let reached = |segment: &&LogSegment| segment.base_offset < end_offset;
        for segment in self.segments[first..].iter().take_while(reached) {
            let base_offset = segment.base_offset;
            let start = base_offset.max(manager.map_end_offset()).max(self.log_start_offset);
            manager.update_map_end_offset(start);
            if self.last_two_base_offsets().any(|offset| offset == base_offset) {
                manager.take_snapshot(env);
            }
            for stored in &segment.batches[segment.place_of(start)..] {
                replay(env, manager, &stored.batch, None);
                manager.update_map_end_offset(stored.batch.next_offset());
            }
        }
    }
}

/// Applies a batch that is in the log (L-SNP-4), and with `index` notes the transaction that it
/// aborts.
///
/// # Panics
/// If the log holds what L-TXN-3 refuses from everybody.
fn replay(
    env: &mut Env<'_>,
    manager: &mut ProducerStateManager,
    batch: &RecordBatch,
    index: Option<&mut crate::TransactionIndex>,
) {
    if !batch.has_producer_id() {
        return;
    }
    rule!(env, "L-SNP-4");
    let mut draft = manager.prepare_update(batch.producer_id, AppendOrigin::Replication);
    let completed = draft.append(env, batch, None).expect("a log without mixed transactions");
    manager.update(env, &draft);
    if let Some(completed) = completed {
        if let Some(index) = index.filter(|_| completed.is_aborted) {
            let entry = manager.aborted_txn(env, &completed);
            index.append(env, entry).expect("markers in the order of their offsets");
        }
        manager.complete_txn(&completed);
    }
}
