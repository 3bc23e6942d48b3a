//! What the coordinator remembers of one transactional id, and the first half of its transitions:
//! a `prepare_…` computes one and blocks all others. The second half is in `complete_transition`.
//!
//! Kafka counterpart: `TransactionMetadata`.
//! Invariants: `state` is never Dead or PrepareEpochFence (these are only ever pending);
//! `topic_partitions` is sorted and without duplicates; the producer epoch is -1 only until the
//! first record is written.

use alloc::vec::Vec;

use eosim_types::machine::CoordinatorEvent;
use eosim_types::record::TransactionState::{
    self, CompleteAbort, CompleteCommit, Dead, Empty, Ongoing, PrepareAbort, PrepareCommit,
    PrepareEpochFence,
};
use eosim_types::record::{TransactionLogValue, TransactionResult};
use eosim_types::version::TransactionVersion;
use eosim_types::{Capability, Env, ErrorCode, ProducerEpoch, ProducerId, TopicPartition, rule};

use crate::transaction_state::{Phase, is_idle, is_prepare, is_valid_transition};
use crate::txn_transit_metadata::{TxnTransitMetadata, knows_last_epoch};

/// The timeout that marks an id of two-phase commit: never timed out (C-TMO-1).
pub(crate) const TWO_PHASE_COMMIT_TIMEOUT_MS: i32 = i32::MAX;

/// A transactional id in memory (coordinator 2.1).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TransactionMetadata {
    /// Whose data and markers belong to the current or last transaction.
    pub producer_id: ProducerId,
    /// `producer_id` when the last transition was prepared.
    pub previous_producer_id: ProducerId,
    /// Set by a version 2 Prepare… at an exhausted epoch, consumed by Complete….
    pub next_producer_id: ProducerId,
    /// The current epoch; -1 if nothing was written yet.
    pub producer_epoch: ProducerEpoch,
    /// The epoch that a retry may present; -1 if none.
    pub last_producer_epoch: ProducerEpoch,
    /// The transaction's timeout, ms.
    pub transaction_timeout_ms: i32,
    /// The state.
    pub state: TransactionState,
    /// While in Prepare…: the partitions that still need a marker.
    pub topic_partitions: Vec<TopicPartition>,
    /// When it became Ongoing, ms; -1 if none.
    pub transaction_start_timestamp: i64,
    /// When the last transition was prepared, ms.
    pub transaction_last_update_timestamp: i64,
    /// As recorded by the last AddPartitionsToTxn or EndTxn.
    pub client_transaction_version: TransactionVersion,
    /// The transition that is being written; blocks every other.
    pub pending_state: Option<TransactionState>,
    /// Transaction versions 0 and 1: the epoch was raised by a fence whose append failed.
    pub has_failed_epoch_fence: bool,
}

/// Inserts into a sorted list without duplicates.
fn insert_sorted(list: &mut Vec<TopicPartition>, partition: TopicPartition) {
    if let Err(at) = list.binary_search(&partition) {
        list.insert(at, partition);
    }
}

impl TransactionMetadata {
    /// A new id that nothing has been written of (C-INIT-10).
    #[must_use]
    pub fn new(producer_id: ProducerId, transaction_timeout_ms: i32, now: i64) -> Self {
        Self {
            producer_id,
            previous_producer_id: ProducerId::NONE,
            next_producer_id: ProducerId::NONE,
            producer_epoch: ProducerEpoch::NONE,
            last_producer_epoch: ProducerEpoch::NONE,
            transaction_timeout_ms,
            state: Empty,
            topic_partitions: Vec::new(),
            transaction_start_timestamp: -1,
            transaction_last_update_timestamp: now,
            client_transaction_version: TransactionVersion::Tv0,
            pending_state: None,
            has_failed_epoch_fence: false,
        }
    }

    /// What the log holds (C-LOAD-5). Nothing checks the epoch (C-LOAD-9).
    #[must_use]
    pub fn from_log_value(env: &mut Env<'_>, value: &TransactionLogValue) -> Self {
        rule!(env, "C-LOAD-5");
        rule!(env, "C-LOAD-9");
        let is_decided = matches!(value.transaction_status, PrepareCommit | PrepareAbort);
        if is_decided
            && value.producer_epoch == ProducerEpoch::MAX
            && value.next_producer_id == ProducerId::NONE
        {
            rule!(env, "H-8");
        }
        let last_producer_epoch =
            if knows_last_epoch(env) { value.last_producer_epoch } else { ProducerEpoch::NONE };
        env.takes(Phase(value.transaction_status, None), CoordinatorEvent::Loaded);
        Self {
            producer_id: value.producer_id,
            previous_producer_id: value.previous_producer_id,
            next_producer_id: value.next_producer_id,
            producer_epoch: value.producer_epoch,
            last_producer_epoch,
            transaction_timeout_ms: value.transaction_timeout_ms,
            state: value.transaction_status,
            topic_partitions: value.transaction_partitions.clone().unwrap_or_default(),
            transaction_start_timestamp: value.start_timestamp_ms,
            transaction_last_update_timestamp: value.last_update_timestamp_ms,
            client_transaction_version: client_transaction_version(value),
            pending_state: None,
            has_failed_epoch_fence: false,
        }
    }

    /// Meets `event` as it is now.
    pub(crate) fn takes(&self, env: &mut Env<'_>, event: CoordinatorEvent) {
        env.takes(Phase(self.state, self.pending_state), event);
    }

    /// The pending transition is the fence that the coordinator itself has begun.
    #[must_use]
    pub fn is_fence_pending(&self) -> bool {
        self.pending_state == Some(PrepareEpochFence)
    }

    /// Is `partition` in the transaction?
    #[must_use]
    pub fn contains(&self, partition: TopicPartition) -> bool {
        self.topic_partitions.binary_search(&partition).is_ok()
    }

    /// A transition to `target` that changes nothing else (C-SM-1).
    fn transit(
        &self,
        target: TransactionState,
        topic_partitions: Vec<TopicPartition>,
    ) -> TxnTransitMetadata {
        TxnTransitMetadata {
            producer_id: self.producer_id,
            previous_producer_id: self.producer_id,
            next_producer_id: self.next_producer_id,
            producer_epoch: self.producer_epoch,
            last_producer_epoch: self.last_producer_epoch,
            transaction_timeout_ms: self.transaction_timeout_ms,
            state: target,
            topic_partitions,
            transaction_start_timestamp: self.transaction_start_timestamp,
            transaction_last_update_timestamp: self.transaction_last_update_timestamp,
            client_transaction_version: self.client_transaction_version,
        }
    }

    /// Kafka: `prepareTransitionTo`. A refusal is an exception there, hence
    /// `UNKNOWN_SERVER_ERROR`.
    fn prepare_transition_to(
        &mut self,
        env: &mut Env<'_>,
        transit: TxnTransitMetadata,
    ) -> Result<TxnTransitMetadata, ErrorCode> {
        rule!(env, "C-SM-1");
        let is_allowed = self.pending_state.is_none()
            && transit.producer_id.0 >= 0
            && (transit.producer_epoch.0 >= 0 || transit.state == Dead)
            && is_valid_transition(
                self.state,
                transit.state,
                env.has(Capability::EmptyCommitBumps),
            );
        if !is_allowed {
            return Err(ErrorCode::UnknownServerError);
        }
        self.pending_state = Some(transit.state);
        env.enters(Phase(self.state, self.pending_state));
        Ok(transit)
    }

    /// The epoch under which the coordinator aborts by itself. Kafka: `prepareFenceProducerEpoch`;
    /// valid from Ongoing alone, and never written as it is.
    ///
    /// # Errors
    /// `UNKNOWN_SERVER_ERROR` if a transition is pending or the state is another.
    pub fn prepare_fence_producer_epoch(
        &mut self,
        env: &mut Env<'_>,
    ) -> Result<ProducerEpoch, ErrorCode> {
        rule!(env, "C-SM-2");
        let is_last = self.producer_epoch == ProducerEpoch::MAX;
        if is_last && !env.has(Capability::LastEpochCanBeAborted) {
            return Err(ErrorCode::UnknownServerError);
        }
        let mut transit = self.transit(PrepareEpochFence, Vec::new());
        if !self.has_failed_epoch_fence {
            transit.producer_epoch = self.producer_epoch.next().unwrap_or(self.producer_epoch);
        }
        Ok(self.prepare_transition_to(env, transit)?.producer_epoch)
    }

    /// Kafka: `prepareIncrementProducerEpoch`.
    ///
    /// # Errors
    /// `UNKNOWN_SERVER_ERROR` at an exhausted epoch, `PRODUCER_FENCED` if `expected` is neither the
    /// current nor the last epoch.
    pub fn prepare_increment_producer_epoch(
        &mut self,
        env: &mut Env<'_>,
        transaction_timeout_ms: i32,
        expected: Option<ProducerEpoch>,
        first: ProducerEpoch,
    ) -> Result<TxnTransitMetadata, ErrorCode> {
        rule!(env, "C-SM-3");
        if self.producer_epoch.is_exhausted() {
            return Err(ErrorCode::UnknownServerError);
        }
        let current = self.producer_epoch;
        let is_new = current == ProducerEpoch::NONE;
        let bumped = if is_new { first } else { ProducerEpoch(current.0 + 1) };
        let (producer_epoch, last_producer_epoch) = match expected {
            None => (bumped, ProducerEpoch::NONE),
            Some(expected) if is_new || expected == current => (bumped, current),
            Some(expected) if expected == self.last_producer_epoch => {
                rule!(env, "C-INIT-18");
                rule!(env, "C-INIT-19");
                rule!(env, "H-7");
                if self.state == CompleteAbort {
                    rule!(env, "H-9");
                }
                (current, self.last_producer_epoch)
            }
            Some(_) => {
                rule!(env, "C-INIT-21");
                return Err(ErrorCode::ProducerFenced);
            }
        };
        let transit = TxnTransitMetadata {
            producer_epoch,
            last_producer_epoch,
            transaction_timeout_ms,
            transaction_start_timestamp: -1,
            transaction_last_update_timestamp: env.clock_ms(),
            ..self.transit(Empty, Vec::new())
        };
        self.prepare_transition_to(env, transit)
    }

    /// Kafka: `prepareProducerIdRotation`.
    ///
    /// # Errors
    /// `UNKNOWN_SERVER_ERROR` while a transaction is open or being ended.
    pub fn prepare_producer_id_rotation(
        &mut self,
        env: &mut Env<'_>,
        new_producer_id: ProducerId,
        transaction_timeout_ms: i32,
        record_last_epoch: bool,
    ) -> Result<TxnTransitMetadata, ErrorCode> {
        rule!(env, "C-SM-4");
        let last_producer_epoch =
            if record_last_epoch { self.producer_epoch } else { ProducerEpoch::NONE };
        let transit = TxnTransitMetadata {
            producer_id: new_producer_id,
            producer_epoch: ProducerEpoch(0),
            last_producer_epoch,
            transaction_timeout_ms,
            transaction_start_timestamp: -1,
            transaction_last_update_timestamp: env.clock_ms(),
            ..self.transit(Empty, Vec::new())
        };
        self.prepare_transition_to(env, transit)
    }

    /// Kafka: `prepareAddPartitions`.
    ///
    /// # Errors
    /// `UNKNOWN_SERVER_ERROR` if a transition is pending or the state forbids it.
    pub fn prepare_add_partitions(
        &mut self,
        env: &mut Env<'_>,
        added: &[TopicPartition],
        version: TransactionVersion,
    ) -> Result<TxnTransitMetadata, ErrorCode> {
        rule!(env, "C-SM-5");
        let now = env.clock_ms();
        let mut partitions = Vec::with_capacity(self.topic_partitions.len() + added.len());
        partitions.extend_from_slice(&self.topic_partitions);
        for &partition in added {
            insert_sorted(&mut partitions, partition);
        }
        let mut transit = self.transit(Ongoing, partitions);
        if is_idle(self.state) {
            transit.transaction_start_timestamp = now;
        }
        transit.transaction_last_update_timestamp = now;
        transit.client_transaction_version = version;
        self.prepare_transition_to(env, transit)
    }

    /// Kafka: `prepareAbortOrCommit`.
    ///
    /// # Errors
    /// `UNKNOWN_SERVER_ERROR` if a transition is pending, the state forbids it, or a COMMIT would
    /// raise the last epoch (C-END-16).
    pub fn prepare_abort_or_commit(
        &mut self,
        env: &mut Env<'_>,
        result: TransactionResult,
        version: TransactionVersion,
        next_producer_id: ProducerId,
        no_partition_added: bool,
    ) -> Result<TxnTransitMetadata, ErrorCode> {
        rule!(env, "C-SM-6");
        let now = env.clock_ms();
        let mut transit = self.transit(prepare_state(result), self.topic_partitions.clone());
        if version.supports_epoch_bump() {
            transit.last_producer_epoch = self.producer_epoch;
            transit.producer_epoch = self.epoch_of_decision(env, result)?;
        }
        if no_partition_added {
            transit.transaction_start_timestamp = now;
        }
        transit.next_producer_id = next_producer_id;
        transit.transaction_last_update_timestamp = now;
        transit.client_transaction_version = version;
        self.prepare_transition_to(env, transit)
    }

    fn epoch_of_decision(
        &self,
        env: &mut Env<'_>,
        result: TransactionResult,
    ) -> Result<ProducerEpoch, ErrorCode> {
        if let Some(bumped) = self.producer_epoch.next() {
            return Ok(bumped);
        }
        rule!(env, "C-END-16");
        let stays =
            result == TransactionResult::Abort && env.has(Capability::LastEpochCanBeAborted);
        if stays { Ok(self.producer_epoch) } else { Err(ErrorCode::UnknownServerError) }
    }

    /// Kafka: `prepareComplete`.
    ///
    /// # Errors
    /// `UNKNOWN_SERVER_ERROR` if a transition is pending or the state is not Prepare….
    pub fn prepare_complete(&mut self, env: &mut Env<'_>) -> Result<TxnTransitMetadata, ErrorCode> {
        rule!(env, "C-SM-7");
        self.has_failed_epoch_fence = false;
        let target = if self.state == PrepareCommit { CompleteCommit } else { CompleteAbort };
        let mut transit = self.transit(target, Vec::new());
        (transit.producer_id, transit.producer_epoch) = self.identity_after_completion();
        transit.next_producer_id = ProducerId::NONE;
        transit.transaction_last_update_timestamp = env.clock_ms();
        self.prepare_transition_to(env, transit)
    }

    fn identity_after_completion(&self) -> (ProducerId, ProducerEpoch) {
        let is_rotated = self.client_transaction_version.supports_epoch_bump()
            && self.next_producer_id != ProducerId::NONE;
        if is_rotated {
            (self.next_producer_id, ProducerEpoch(0))
        } else {
            (self.producer_id, self.producer_epoch)
        }
    }

    /// Kafka: `prepareDead`.
    ///
    /// # Errors
    /// `UNKNOWN_SERVER_ERROR` if a transition is pending or the state may not expire.
    pub fn prepare_dead(&mut self, env: &mut Env<'_>) -> Result<TxnTransitMetadata, ErrorCode> {
        rule!(env, "C-SM-8");
        let transit = self.transit(Dead, Vec::new());
        self.prepare_transition_to(env, transit)
    }

    /// A marker is written, or its partition is gone. Legal in Prepare… alone (C-SM-13).
    ///
    /// # Panics
    /// In any other state.
    pub fn remove_partition(&mut self, env: &mut Env<'_>, partition: TopicPartition) {
        rule!(env, "C-SM-13");
        assert!(is_prepare(self.state), "partition removed in state {}", self.state.name());
        if let Ok(at) = self.topic_partitions.binary_search(&partition) {
            self.topic_partitions.remove(at);
        }
    }

    /// A fence of transaction version 0 or 1 raises the epoch in memory before anything is written
    /// (C-END-6).
    pub(crate) fn raise_epoch_of_fence(&mut self, fenced: ProducerEpoch) {
        self.pending_state = None;
        self.producer_epoch = fenced;
        self.last_producer_epoch = ProducerEpoch::NONE;
    }
}

/// Prepare… for a result.
const fn prepare_state(result: TransactionResult) -> TransactionState {
    match result {
        TransactionResult::Commit => PrepareCommit,
        TransactionResult::Abort => PrepareAbort,
    }
}

fn client_transaction_version(value: &TransactionLogValue) -> TransactionVersion {
    match value.client_transaction_version {
        ..=0 => TransactionVersion::Tv0,
        1 => TransactionVersion::Tv1,
        2.. => TransactionVersion::Tv2,
    }
}
