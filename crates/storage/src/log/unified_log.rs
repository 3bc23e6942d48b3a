//! The state of one replica's log, its offsets, and the high watermark and last stable offset.
//!
//! Kafka's counterparts: `UnifiedLog`, `LocalLog`. Always log start ≤ high watermark ≤ log end and
//! last stable offset ≤ high watermark; there is at least one segment, the last one is active; the
//! producer state reflects the log up to its end.

use alloc::vec;
use alloc::vec::Vec;

use eosim_types::message::ProducerState;
use eosim_types::observation::RememberedBatch;
use eosim_types::record::{AbortedTxn, RecordBatch};
use eosim_types::{Capability, Defect, Duration, Env, LeaderEpoch, ProducerId, rule};

use super::LogSegment;
use crate::leader_epoch_cache::LeaderEpochFileCache;
use crate::log_config::LogConfig;
use crate::producer::{BatchMetadata, ProducerStateEntry, ProducerStateManager};

/// One replica's log and what is derived from it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct UnifiedLog {
    pub(super) config: LogConfig,
    /// Never empty; the last one is active.
    pub(super) segments: Vec<LogSegment>,
    pub(super) leader_epoch_cache: LeaderEpochFileCache,
    pub(super) producer_state: ProducerStateManager,
    pub(super) log_start_offset: i64,
    pub(super) log_end_offset: i64,
    pub(super) high_watermark: i64,
    /// L-LSO-4: recomputed at fixed moments only.
    pub(super) first_unstable_offset: Option<i64>,
    /// Everything below is flushed; recovery begins here.
    pub(super) recovery_point: i64,
    pub(super) high_watermark_checkpoint: i64,
    pub(super) log_start_offset_checkpoint: i64,
    /// The last process ended in order.
    pub(super) is_closed_cleanly: bool,
    /// An index write failed: nothing is appended until recovery (L-IDX-4).
    pub(super) is_offline: bool,
}

impl UnifiedLog {
    /// A new, empty log.
    #[must_use]
    pub fn new(config: LogConfig) -> Self {
        Self {
            config,
            segments: vec![LogSegment::new(0)],
            leader_epoch_cache: LeaderEpochFileCache::default(),
            producer_state: ProducerStateManager::new(),
            log_start_offset: 0,
            log_end_offset: 0,
            high_watermark: 0,
            first_unstable_offset: None,
            recovery_point: 0,
            high_watermark_checkpoint: 0,
            log_start_offset_checkpoint: 0,
            is_closed_cleanly: false,
            is_offline: false,
        }
    }

    /// Back to a new, empty log; settings and memory are kept.
    pub fn reset(&mut self) {
        self.reset_segments(0);
        self.leader_epoch_cache.clear();
        self.producer_state.reset();
        self.log_start_offset = 0;
        self.high_watermark = 0;
        self.first_unstable_offset = None;
        self.recovery_point = 0;
        self.high_watermark_checkpoint = 0;
        self.log_start_offset_checkpoint = 0;
        self.is_closed_cleanly = false;
        self.is_offline = false;
    }

    /// One empty segment that begins at `offset`.
    pub(super) fn reset_segments(&mut self, offset: i64) {
        self.segments.truncate(1);
        self.segments[0].reset(offset);
        self.log_end_offset = offset;
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &LogConfig {
        &self.config
    }

    /// Takes over new settings (dynamic configuration).
    pub fn update_config(&mut self, config: LogConfig) {
        self.config = config;
    }

    /// Where the log begins.
    #[must_use]
    pub fn log_start_offset(&self) -> i64 {
        self.log_start_offset
    }

    /// The next offset to be assigned (`logEndOffset`, LEO).
    #[must_use]
    pub fn log_end_offset(&self) -> i64 {
        self.log_end_offset
    }

    /// Everything below is committed.
    #[must_use]
    pub fn high_watermark(&self) -> i64 {
        self.high_watermark
    }

    /// Everything below is decided and committed (L-LSO-3, L-LSO-6).
    #[must_use]
    pub fn last_stable_offset(&self) -> i64 {
        self.first_unstable_offset
            .map_or(self.high_watermark, |first_unstable| first_unstable.min(self.high_watermark))
    }

    /// Where the oldest transaction begins that is open or not yet replicated, as it was at the
    /// last moment named by L-LSO-4.
    #[must_use]
    pub fn first_unstable_offset(&self) -> Option<i64> {
        self.first_unstable_offset
    }

    /// Producer state, to read.
    #[must_use]
    pub fn producer_state_manager(&self) -> &ProducerStateManager {
        &self.producer_state
    }

    pub(super) fn producer_state_manager_mut(&mut self) -> &mut ProducerStateManager {
        &mut self.producer_state
    }

    pub(super) fn active_segment(&self) -> &LogSegment {
        self.segments.last().expect("a log has a segment")
    }

    pub(super) fn active_segment_mut(&mut self) -> &mut LogSegment {
        self.segments.last_mut().expect("a log has a segment")
    }

    /// Sets the high watermark to `high_watermark`, held within the log (L-HW-1); true if it
    /// changed. That it only rises on a leader is the caller's business.
    pub fn update_high_watermark(&mut self, env: &mut Env<'_>, high_watermark: i64) -> bool {
        rule!(env, "L-HW-1");
        let high_watermark = high_watermark.clamp(self.log_start_offset, self.log_end_offset);
        let before = core::mem::replace(&mut self.high_watermark, high_watermark);
        let changed = before != high_watermark;
        rule!(env, "L-HW-4");
        self.producer_state.on_high_watermark_updated(env, high_watermark);
        self.maybe_update_first_unstable_offset(env);
        if env.on(Defect::LeaderFetchHighWatermarkReadTwice) {
            self.first_unstable_offset = self.first_unstable_offset.filter(|&at| at < before);
        }
        changed
    }

    /// L-LSO-4 (`maybeIncrementFirstUnstableOffset`).
    pub(super) fn maybe_update_first_unstable_offset(&mut self, env: &mut Env<'_>) {
        rule!(env, "L-LSO-4");
        debug_assert!(self.log_start_offset <= self.high_watermark);
        debug_assert!(self.high_watermark <= self.log_end_offset);
        let mut first_unstable = self.producer_state.first_unstable_offset(env);
        if first_unstable.is_some_and(|offset| offset < self.log_start_offset) {
            rule!(env, "L-LSO-5");
            first_unstable = Some(self.lso_at_log_start(env));
        }
        self.first_unstable_offset = first_unstable;
    }

    /// Where the LSO stands when the oldest undecided record was deleted: in Kafka since 4.0 at
    /// the base of the batch that holds the log start.
    fn lso_at_log_start(&self, env: &Env<'_>) -> i64 {
        let is_batch_base = env.has(Capability::LsoAtBatchOfLogStart)
            && env.on(Defect::UpstreamLeaderLsoBelowLogStart);
        if !is_batch_base {
            return self.log_start_offset;
        }
        let segment = &self.segments[self.segment_of(self.log_start_offset)];
        let place = segment.place_of(self.log_start_offset);
        segment.batches.get(place).map_or(self.log_start_offset, |stored| stored.batch.base_offset)
    }

    /// The place of the segment that holds `offset`: the last one that begins at or before it.
    pub(super) fn segment_of(&self, offset: i64) -> usize {
        self.segments.partition_point(|segment| segment.base_offset <= offset).saturating_sub(1)
    }

    /// Notes that `epoch` begins at `start_offset` (L-LEP-1, L-LEP-2).
    pub fn assign_epoch_start(&mut self, epoch: LeaderEpoch, start_offset: i64) {
        self.leader_epoch_cache.assign(epoch, start_offset);
    }

    /// The newest leader epoch known to the log.
    #[must_use]
    pub fn latest_epoch(&self) -> Option<LeaderEpoch> {
        self.leader_epoch_cache.latest_epoch()
    }

    /// The largest known epoch ≤ `epoch` and where it ends; `None` if undefined (L-LEP-2).
    #[must_use]
    pub fn end_offset_for_epoch(&self, epoch: LeaderEpoch) -> Option<(LeaderEpoch, i64)> {
        self.leader_epoch_cache.end_offset_for(epoch, self.log_end_offset)
    }

    /// Begins a new segment at the log end; what lies before is flushed and gets a snapshot
    /// (L-SNP-2, `roll`).
    pub fn roll(&mut self, env: &mut Env<'_>) {
        let base_offset = self.log_end_offset;
        self.producer_state.update_map_end_offset(base_offset);
        self.producer_state.take_snapshot(env);
        self.recovery_point = base_offset;
        self.segments.push(LogSegment::new(base_offset));
    }

    /// Forgets every producer, as if the log held nothing up to its end. No correct replica does.
    pub fn forget_producers(&mut self) {
        self.producer_state.forget_producers();
    }

    /// Forgets producers and verifications that were silent too long (L-EXP-1, L-EXP-3).
    pub fn remove_expired_producers(&mut self, env: &mut Env<'_>) {
        self.producer_state.remove_expired_producers(env, self.config.producer_id_expiration);
    }

    /// Is a transaction open for longer than it may be (L-EXP-6)?
    pub fn has_late_transaction(
        &self,
        env: &mut Env<'_>,
        max_transaction_timeout: Duration,
    ) -> bool {
        self.producer_state.has_late_transaction(env, max_transaction_timeout)
    }

    /// Every producer that the log knows, as DescribeProducers shows it, by id (L-DPR-1). Those of
    /// which only a verification is pending are not listed.
    #[must_use]
    pub fn producers(&self) -> Vec<ProducerState> {
        let describe = |(producer_id, entry): (_, &ProducerStateEntry)| ProducerState {
            producer_id,
            producer_epoch: entry.producer_epoch,
            last_sequence: entry.last_sequence(),
            last_timestamp: entry.last_timestamp,
            coordinator_epoch: entry.coordinator_epoch,
            current_txn_start_offset: entry.current_txn_first_offset.unwrap_or(-1),
        };
        self.producer_state.active_producers().map(describe).collect()
    }

    /// The batches that are remembered of each producer, by producer id, oldest first.
    #[must_use]
    pub fn remembered_batches(&self) -> Vec<(ProducerId, RememberedBatch)> {
        let entries = self.producer_state.active_producers();
        let batches = entries.flat_map(|(id, entry)| entry.batches().iter().map(move |b| (id, b)));
        let describe = |batch: &BatchMetadata| RememberedBatch {
            last_sequence: batch.last_sequence,
            last_offset: batch.last_offset,
            offset_delta: batch.offset_delta,
        };
        batches.map(|(id, batch)| (id, describe(batch))).collect()
    }

    /// Every batch from the one that holds the log start on.
    pub fn batches(&self) -> impl Iterator<Item = &RecordBatch> {
        let log_start_offset = self.log_start_offset;
        self.segments
            .iter()
            .flat_map(|segment| &segment.batches)
            .map(|stored| &stored.batch)
            .filter(move |batch| batch.last_offset() >= log_start_offset)
    }

    /// How many batches lie in the segments; [`Self::batches`] are no more.
    #[must_use]
    pub fn stored_batches(&self) -> usize {
        self.segments.iter().map(|segment| segment.batches.len()).sum()
    }

    /// The aborted-transaction index of all segments.
    #[must_use]
    pub fn aborted_index(&self) -> Vec<AbortedTxn> {
        let entries = self.segments.iter().flat_map(|segment| segment.transaction_index.entries());
        entries.copied().collect()
    }
}
