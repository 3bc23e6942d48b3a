//! The producer state of one log: entries, open and unreplicated transactions, verification
//! entries and snapshots.
//!
//! Kafka's counterpart: `ProducerStateManager`. Entries and transactions reflect the log up to
//! `last_map_offset` (exclusive); a producer's entry has a `current_txn_first_offset` exactly if
//! one ongoing transaction is its.

use alloc::vec::Vec;

use eosim_types::machine::{EntryEvent, EntryState};
use eosim_types::record::AbortedTxn;
use eosim_types::{Defect, Duration, Env, ProducerEpoch, ProducerId, Sequence, SortedMap, rule};

use super::snapshot::{Snapshot, Snapshots};
use super::transactions::Transactions;
use super::{
    CompletedTxn, ProducerAppendInfo, ProducerStateEntry, VerificationGuard, VerificationStateEntry,
};
use crate::log::AppendOrigin;

/// Producer state of one log.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ProducerStateManager {
    producers: SortedMap<ProducerId, ProducerStateEntry>,
    verifications: SortedMap<ProducerId, VerificationStateEntry>,
    transactions: Transactions,
    snapshots: Snapshots,
    last_map_offset: i64,
    last_snapshot_offset: i64,
    guards_handed_out: u64,
}

impl ProducerStateManager {
    /// Producer state of a new, empty log.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Back to the state of a new, empty log; memory is kept.
    pub(crate) fn reset(&mut self) {
        self.forget_memory();
        self.snapshots.clear();
    }

    /// What a process that ends forgets: everything but the snapshots.
    pub(crate) fn forget_memory(&mut self) {
        self.producers.clear();
        self.verifications.clear();
        self.transactions.clear();
        self.last_map_offset = 0;
        self.last_snapshot_offset = 0;
        self.guards_handed_out = 0;
    }

    /// Entries and transactions go, as if the log held nothing up to its end.
    pub(crate) fn forget_producers(&mut self) {
        self.producers.clear();
        self.transactions.clear();
    }

    /// The entry of `producer_id` (`lastEntry`).
    #[must_use]
    pub fn last_entry(&self, producer_id: ProducerId) -> Option<&ProducerStateEntry> {
        self.producers.get(producer_id)
    }

    /// Every entry, by producer id (`activeProducers`).
    pub fn active_producers(&self) -> impl Iterator<Item = (ProducerId, &ProducerStateEntry)> {
        self.producers.iter()
    }

    /// The state reflects the log up to here, exclusive (`mapEndOffset`).
    #[must_use]
    pub fn map_end_offset(&self) -> i64 {
        self.last_map_offset
    }

    /// Notes that the state reflects the log up to `offset`.
    pub fn update_map_end_offset(&mut self, offset: i64) {
        self.last_map_offset = offset;
    }

    /// A draft for an append of `producer_id` (`prepareUpdate`).
    #[must_use]
    pub fn prepare_update(
        &self,
        producer_id: ProducerId,
        origin: AppendOrigin,
    ) -> ProducerAppendInfo {
        ProducerAppendInfo::new(
            producer_id,
            self.producers.get(producer_id),
            origin,
            self.verifications.get(producer_id).copied(),
            self.last_map_offset == 0,
        )
    }

    /// Merges an accepted draft (L-ENT-3).
    pub fn update(&mut self, env: &mut Env<'_>, draft: &ProducerAppendInfo) {
        let producer_id = draft.producer_id();
        if let Some(entry) = self.producers.get_mut(producer_id) {
            entry.update(env, draft.to_entry());
        } else {
            rule!(env, "L-ENT-1");
            self.producers.insert(producer_id, *draft.to_entry());
        }
        for &first_offset in draft.started_transactions() {
            self.transactions.add_ongoing(producer_id, first_offset);
        }
    }

    /// The index entry of an aborted transaction, to be made before [`Self::complete_txn`]
    /// (L-IDX-2).
    pub fn aborted_txn(&self, env: &mut Env<'_>, completed: &CompletedTxn) -> AbortedTxn {
        rule!(env, "L-IDX-1");
        rule!(env, "L-IDX-2");
        AbortedTxn {
            producer_id: completed.producer_id,
            first_offset: completed.first_offset,
            last_offset: completed.last_offset,
            last_stable_offset: self.transactions.last_stable_offset(env, completed),
        }
    }

    /// Moves `completed` to the unreplicated transactions (`completeTxn`).
    pub fn complete_txn(&mut self, completed: &CompletedTxn) {
        self.transactions.complete(completed);
    }

    /// Where the oldest transaction begins that is open or unreplicated (L-LSO-1).
    pub fn first_unstable_offset(&self, env: &mut Env<'_>) -> Option<i64> {
        rule!(env, "L-LSO-1");
        self.transactions.first_unstable_offset()
    }

    /// Where the oldest open transaction begins (`firstUndecidedOffset`).
    #[must_use]
    pub fn first_undecided_offset(&self) -> Option<i64> {
        self.transactions.first_ongoing().map(|txn| txn.first_offset)
    }

    /// Everything below `high_watermark` is replicated (L-LSO-2).
    pub fn on_high_watermark_updated(&mut self, env: &mut Env<'_>, high_watermark: i64) {
        self.transactions.remove_unreplicated_before(env, high_watermark);
    }

    /// The log begins at `log_start_offset` (L-DEL-2); entries and open transactions stay.
    pub fn on_log_start_offset_incremented(&mut self, env: &mut Env<'_>, log_start_offset: i64) {
        rule!(env, "L-DEL-2");
        if env.on(Defect::LeaderStateDropWithLogStart) {
            self.producers.retain(|entry| entry.has_data_from(log_start_offset));
        }
        self.transactions.remove_unreplicated_before(env, log_start_offset);
        self.last_map_offset = self.last_map_offset.max(log_start_offset);
        self.last_snapshot_offset =
            self.snapshots.latest().map_or(log_start_offset, |snapshot| snapshot.offset);
    }

    /// Has `producer_id` an open transaction of `producer_epoch` here (L-TXN-1)?
    #[must_use]
    pub fn has_ongoing_transaction(
        &self,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
    ) -> bool {
        self.producers.get(producer_id).is_some_and(|entry| {
            entry.current_txn_first_offset.is_some() && entry.producer_epoch == producer_epoch
        })
    }

    /// The oldest open transaction has had no batch for longer than any transaction may last, and
    /// five minutes (L-EXP-6, `hasLateTransaction`).
    pub fn has_late_transaction(
        &self,
        env: &mut Env<'_>,
        max_transaction_timeout: Duration,
    ) -> bool {
        rule!(env, "L-EXP-6");
        let Some(oldest) = self.transactions.first_ongoing() else {
            return false;
        };
        let last = self.producers.get(oldest.producer_id).map_or(-1, |entry| entry.last_timestamp);
        let late = millis(max_transaction_timeout) + 5 * 60_000;
        last > 0 && env.clock_ms() - last > late
    }

    /// The pending verification of `producer_id`.
    #[must_use]
    pub fn verification_state_entry(
        &self,
        producer_id: ProducerId,
    ) -> Option<&VerificationStateEntry> {
        self.verifications.get(producer_id)
    }

    /// The guard for a batch that is to be verified: the stored one, or a new one (L-GRD-1 to 3,
    /// `maybeCreateVerificationStateEntry`).
    pub fn maybe_create_verification_state_entry(
        &mut self,
        env: &mut Env<'_>,
        producer_id: ProducerId,
        sequence: Sequence,
        producer_epoch: ProducerEpoch,
        supports_epoch_bump: bool,
    ) -> VerificationGuard {
        if let Some(entry) = self.verifications.get_mut(producer_id) {
            rule!(env, "L-GRD-3");
            entry.maybe_update_lowest_sequence_and_epoch(env, sequence, producer_epoch);
            return entry.verification_guard;
        }
        rule!(env, "L-GRD-1");
        self.guards_handed_out += 1;
        let verification_guard = VerificationGuard::new(self.guards_handed_out);
        let entry = VerificationStateEntry {
            timestamp: env.clock_ms(),
            verification_guard,
            lowest_sequence: sequence,
            producer_epoch,
            supports_epoch_bump,
        };
        self.verifications.insert(producer_id, entry);
        verification_guard
    }

    /// Forgets the pending verification of `producer_id`.
    pub fn clear_verification_state_entry(&mut self, producer_id: ProducerId) {
        self.verifications.remove(producer_id);
    }

    /// Forgets producers and verifications that were silent for `expiration` (L-EXP-1 to 3).
    pub fn remove_expired_producers(&mut self, env: &mut Env<'_>, expiration: Duration) {
        rule!(env, "L-EXP-1");
        rule!(env, "L-EXP-2");
        rule!(env, "L-EXP-3");
        let now = env.clock_ms();
        self.producers.retain(|entry| {
            let expires = is_expired(entry, now, expiration);
            if expires {
                env.takes(entry.state(), EntryEvent::Expired);
                env.enters(EntryState::None);
            }
            !expires
        });
        self.verifications.retain(|entry| now - entry.timestamp < millis(expiration));
    }

    /// Writes a snapshot, unless nothing was applied since the last one (L-SNP-2).
    pub fn take_snapshot(&mut self, env: &mut Env<'_>) {
        if self.last_map_offset <= self.last_snapshot_offset {
            return;
        }
        rule!(env, "L-SNP-2");
        rule!(env, "L-SNP-1");
        let mut producers = Vec::new();
        for (producer_id, entry) in self.producers.iter() {
            producers.push((producer_id, entry.as_in_snapshot(env)));
        }
        self.snapshots.put(Snapshot { offset: self.last_map_offset, producers });
        self.last_snapshot_offset = self.last_map_offset;
    }

    /// Prepares a rebuild up to `log_end_offset`: deletes the snapshots that do not fit, and where
    /// the state reflects another end, begins anew from the newest snapshot left (L-SNP-3 (b)).
    pub fn truncate_and_reload(
        &mut self,
        env: &mut Env<'_>,
        log_start_offset: i64,
        log_end_offset: i64,
        expiration: Duration,
    ) {
        if env.on(Defect::LogRecoverDeleteNeededSnapshot) {
            self.snapshots.clear();
        }
        self.snapshots.delete_outside(log_start_offset, log_end_offset);
        if self.last_map_offset != log_end_offset {
            self.producers.clear();
            self.transactions.clear();
            self.load_from_snapshot(env, log_start_offset, expiration);
        }
    }

    /// Loads the newest snapshot, or begins at `log_start_offset` without state (L-SNP-1).
    fn load_from_snapshot(
        &mut self,
        env: &mut Env<'_>,
        log_start_offset: i64,
        expiration: Duration,
    ) {
        self.last_map_offset = log_start_offset;
        self.last_snapshot_offset = log_start_offset;
        let Some(snapshot) = self.snapshots.latest() else {
            return;
        };
        rule!(env, "L-EXP-5");
        let now = env.clock_ms();
        let alive = |(_, entry): &&(_, ProducerStateEntry)| !is_expired(entry, now, expiration);
        for (producer_id, entry) in snapshot.producers.iter().filter(alive) {
            self.producers.insert(*producer_id, *entry);
            if let Some(first_offset) = entry.current_txn_first_offset {
                self.transactions.add_ongoing(*producer_id, first_offset);
            }
        }
        self.last_map_offset = snapshot.offset;
        self.last_snapshot_offset = snapshot.offset;
    }

    /// Clears everything and begins at `offset`; no snapshot remains
    /// (`truncateFullyAndStartAt`).
    pub fn truncate_fully_and_start_at(&mut self, offset: i64) {
        self.producers.clear();
        self.transactions.clear();
        self.snapshots.clear();
        self.last_map_offset = offset;
        self.last_snapshot_offset = 0;
    }

    /// Knows no producer, and no transaction waits for its marker (`isEmpty`).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.producers.is_empty() && !self.transactions.has_unreplicated()
    }

    /// A second manager with the same snapshots, which it takes over until
    /// [`Self::take_snapshots_back`]: crash recovery reads segments with it (L-SNP-5).
    pub(crate) fn lend_snapshots(&mut self) -> Self {
        Self { snapshots: core::mem::take(&mut self.snapshots), ..Self::default() }
    }

    pub(crate) fn take_snapshots_back(&mut self, lent: Self) {
        self.snapshots = lent.snapshots;
    }

    pub(crate) fn has_snapshots(&self) -> bool {
        self.snapshots.latest().is_some()
    }

    pub(crate) fn remove_stray_snapshots(&mut self, segment_base_offsets: &[i64]) {
        self.snapshots.remove_stray(segment_base_offsets);
    }

    pub(crate) fn delete_snapshot_at(&mut self, offset: i64) {
        self.snapshots.delete_at(offset);
    }

    pub(crate) fn delete_snapshots_beyond(&mut self, offset: i64) {
        self.snapshots.delete_beyond(offset);
    }

    /// Offsets of the snapshots, ascending.
    pub fn snapshot_offsets(&self) -> impl Iterator<Item = i64> {
        self.snapshots.offsets()
    }
}

/// L-EXP-1, L-EXP-2: no open transaction, and the last record is old by its own timestamp.
fn is_expired(entry: &ProducerStateEntry, now: i64, expiration: Duration) -> bool {
    entry.current_txn_first_offset.is_none() && now - entry.last_timestamp >= millis(expiration)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 2)
}
