//! The producer's view of its id, its transaction and its numbering (`TransactionManager`).
//!
//! Exists for idempotent and transactional producers. Invariants: at most one transactional
//! request is in flight; an error state has a last error, no other state has one (P-ST-2); a
//! result completes once.

mod calls;
mod handlers;
mod offsets;
mod prepared;
mod requests;
mod results;
mod sequences;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use eosim_actor::Correlation;
use eosim_types::config::ProducerConfig;
use eosim_types::version::TransactionVersion;
use eosim_types::{
    BrokerId, Defect, Duration, Env, ErrorCode, Instant, TopicPartition, TransactionalId, rule,
};

use super::producer_batch::{Batches, ProducerIdAndEpoch};
use super::state::State;
use super::txn_partition_map::TxnPartitionMap;
use crate::exception::{Exception, ExceptionClass};

pub(crate) use offsets::OffsetsToCommit;
pub(crate) use requests::{CoordinatorType, TxnRequest, TxnRequestHandler};
pub(crate) use results::ResultId;
use results::Results;

/// Which thread of the real client attempts a transition; an invalid one is harmless to the
/// application and poisons the sender (P-ST-1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Caller {
    Application,
    Sender,
}

/// A call that changes the state and is not over for the application (`PendingStateTransition`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct PendingTransition {
    result: ResultId,
    target: State,
}

/// A coordinator and when it was found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FoundCoordinator {
    pub(crate) node: BrokerId,
    pub(crate) at: Instant,
}

/// State of the transaction manager; field by field A.2 of the rules.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct TransactionManager {
    transactional_id: Option<TransactionalId>,
    transaction_timeout_ms: i32,
    /// `transaction.two.phase.commit.enable`; without effect before 4.5 (P-CFG-6).
    two_phase_commit: bool,
    retry_backoff: Duration,
    /// The highest version that this client speaks.
    client_transaction_version: TransactionVersion,
    state: State,
    last_error: Option<Exception>,
    producer: ProducerIdAndEpoch,
    client_side_epoch_bump_required: bool,
    transaction_started: bool,
    is_transaction_v2_enabled: bool,
    /// The same when the transaction began.
    began_with_transaction_v2: bool,
    latest_finalized_features_epoch: i64,
    /// What ApiVersions told last: features epoch and `transaction.version`.
    finalized_features: (i64, TransactionVersion),
    coordinator_supports_bumping_epoch: bool,
    transaction_coordinator: Option<FoundCoordinator>,
    /// One slot for all groups (P-SND-5).
    consumer_group_coordinator: Option<FoundCoordinator>,
    /// By priority, equal ones in the order of their arrival (P-SND-3).
    pending_requests: Vec<TxnRequestHandler>,
    in_flight_correlation: Option<Correlation>,
    new_partitions_in_transaction: BTreeSet<TopicPartition>,
    pending_partitions_in_transaction: BTreeSet<TopicPartition>,
    partitions_in_transaction: BTreeSet<TopicPartition>,
    /// Offsets sent and not accepted, of all requests together (P-REQ-7).
    pending_txn_offset_commits: BTreeSet<TopicPartition>,
    txn_partition_map: TxnPartitionMap,
    partitions_with_unresolved_sequences: BTreeMap<TopicPartition, i32>,
    partitions_to_rewrite_sequences: BTreeSet<TopicPartition>,
    pending_transition: Option<PendingTransition>,
    results: Results,
    /// `preparedTxnState`.
    prepared: Option<ProducerIdAndEpoch>,
    /// How often the EndTxn of the last completion went out and was not definitely refused.
    end_txn_sends: u32,
    /// A result that fails now may be seen before the state changes (P-API-10).
    pub(crate) may_leave_gap: bool,
    /// What a result has failed with and the state does not know yet; fatal or not.
    gap: Option<(Exception, bool)>,
}

impl TransactionManager {
    pub(crate) fn new(transactional_id: Option<TransactionalId>, config: &ProducerConfig) -> Self {
        Self {
            transactional_id,
            transaction_timeout_ms: config.transaction_timeout_ms,
            two_phase_commit: config.transaction_two_phase_commit_enable,
            retry_backoff: config.retry_backoff,
            client_transaction_version: config.transaction_version,
            state: State::Uninitialized,
            last_error: None,
            producer: ProducerIdAndEpoch::NONE,
            client_side_epoch_bump_required: false,
            transaction_started: false,
            is_transaction_v2_enabled: false,
            began_with_transaction_v2: false,
            latest_finalized_features_epoch: -1,
            finalized_features: (-1, TransactionVersion::Tv0),
            coordinator_supports_bumping_epoch: false,
            transaction_coordinator: None,
            consumer_group_coordinator: None,
            pending_requests: Vec::new(),
            in_flight_correlation: None,
            new_partitions_in_transaction: BTreeSet::new(),
            pending_partitions_in_transaction: BTreeSet::new(),
            partitions_in_transaction: BTreeSet::new(),
            pending_txn_offset_commits: BTreeSet::new(),
            txn_partition_map: TxnPartitionMap::new(config.first_sequence),
            partitions_with_unresolved_sequences: BTreeMap::new(),
            partitions_to_rewrite_sequences: BTreeSet::new(),
            pending_transition: None,
            results: Results::default(),
            prepared: None,
            end_txn_sends: 0,
            may_leave_gap: false,
            gap: None,
        }
    }

    pub(crate) const fn is_transactional(&self) -> bool {
        self.transactional_id.is_some()
    }

    pub(crate) const fn state(&self) -> State {
        self.state
    }

    pub(crate) const fn last_error(&self) -> Option<&Exception> {
        self.last_error.as_ref()
    }

    pub(crate) const fn producer_id_and_epoch(&self) -> ProducerIdAndEpoch {
        self.producer
    }

    pub(crate) const fn is_transaction_v2_enabled(&self) -> bool {
        self.is_transaction_v2_enabled
    }

    /// Is the transaction that was begun last one of version 2? Kafka asks anew while one is being
    /// completed, although batches of it may not have left yet (P-TV-3).
    pub(crate) fn is_version_2_transaction(&self, env: &Env<'_>) -> bool {
        if env.on(Defect::UpstreamProducerVersionChangesWhileCompleting) {
            self.is_transaction_v2_enabled
        } else {
            self.began_with_transaction_v2
        }
    }

    pub(crate) fn has_fatal_error(&self) -> bool {
        self.state == State::FatalError
    }

    pub(crate) const fn coordinator(&self, of: CoordinatorType) -> Option<FoundCoordinator> {
        match of {
            CoordinatorType::Transaction => self.transaction_coordinator,
            CoordinatorType::Group(_) => self.consumer_group_coordinator,
        }
    }

    /// P-SND-5: the connection to the transaction coordinator is ready.
    pub(crate) const fn set_coordinator_supports_bumping_epoch(&mut self, supports: bool) {
        self.coordinator_supports_bumping_epoch = supports;
    }

    pub(crate) const fn coordinator_supports_bumping_epoch(&self) -> bool {
        self.coordinator_supports_bumping_epoch
    }

    pub(crate) const fn partition_map(&self) -> &TxnPartitionMap {
        &self.txn_partition_map
    }

    /// Partitions whose last sequences nobody knows (P-SEQ-5).
    pub(crate) const fn unresolved(&self) -> &BTreeMap<TopicPartition, i32> {
        &self.partitions_with_unresolved_sequences
    }

    /// `clientSideEpochBumpRequired`.
    pub(crate) const fn epoch_bump_required(&self) -> bool {
        self.client_side_epoch_bump_required
    }

    /// Did the transaction reach the coordinator, as far as the client counts it (P-API-9)?
    pub(crate) const fn transaction_started(&self) -> bool {
        self.transaction_started
    }

    /// P-TV-4.
    fn needs_epoch_bump_from_client(&self) -> bool {
        self.coordinator_supports_bumping_epoch && !self.is_transaction_v2_enabled
    }

    /// P-TV-5.
    fn can_handle_abortable_error(&self) -> bool {
        self.coordinator_supports_bumping_epoch || self.is_transaction_v2_enabled
    }

    /// P-TV-1: what the cluster's finalized features are, as learned with `features_epoch`.
    pub(crate) fn learn_features(&mut self, features_epoch: i64, version: TransactionVersion) {
        if features_epoch > self.finalized_features.0 {
            self.finalized_features = (features_epoch, version);
        }
    }

    /// P-TV-2, P-TV-3.
    pub(crate) fn maybe_update_transaction_v2_enabled(
        &mut self,
        on_initialization: bool,
        env: &mut Env<'_>,
    ) {
        let (features_epoch, version) = self.finalized_features;
        if self.latest_finalized_features_epoch >= features_epoch {
            return;
        }
        rule!(env, "P-TV-1");
        self.latest_finalized_features_epoch = features_epoch;
        let was_enabled = self.is_transaction_v2_enabled;
        let version = version.min(self.client_transaction_version);
        self.is_transaction_v2_enabled = version.supports_epoch_bump();
        if self.is_transaction_v2_enabled && !was_enabled && !on_initialization {
            rule!(env, "P-TV-2");
            self.client_side_epoch_bump_required = true;
        }
    }

    fn transition_to(
        &mut self,
        target: State,
        error: Option<Exception>,
        caller: Caller,
    ) -> Result<(), Exception> {
        assert_eq!(target.is_error(), error.is_some(), "P-ST-2: errors belong to error states");
        if !self.state.may_become(target) {
            // P-ST-1
            if caller == Caller::Sender {
                self.state = State::FatalError;
                self.last_error = Some(Exception::illegal_state());
            }
            return Err(Exception::illegal_state());
        }
        self.state = target;
        self.last_error = error;
        Ok(())
    }

    fn transition_to_abortable_error(
        &mut self,
        error: Exception,
        caller: Caller,
    ) -> Result<(), Exception> {
        if self.state == State::AbortingTransaction {
            return Ok(()); // P-ST-3
        }
        self.transition_to(State::AbortableError, Some(error), caller)
    }

    fn transition_to_fatal_error(&mut self, error: Exception) -> Result<(), Exception> {
        self.transition_to(State::FatalError, Some(error.clone()), Caller::Sender)?;
        // P-ST-4; the requests left in the queue are nobody's concern any more (P-SND-10).
        self.fail_pending_transition(error);
        Ok(())
    }

    fn fail_pending_transition(&mut self, error: Exception) {
        if let Some(pending) = self.pending_transition {
            self.results.complete(pending.result, Err(error));
        }
    }

    /// P-ST-6.
    pub(crate) fn maybe_fail_with_error(&self) -> Result<(), Exception> {
        use ErrorCode::{InvalidProducerEpoch, ProducerFenced};
        let Some(error) = self.last_error.as_ref().filter(|_| self.state.is_error()) else {
            return Ok(());
        };
        Err(match error.class {
            ExceptionClass::Api(ProducerFenced | InvalidProducerEpoch) => {
                Exception::new(error.class)
            }
            ExceptionClass::IllegalState => {
                Exception::caused_by(ExceptionClass::IllegalState, error.clone())
            }
            _ => Exception::caused_by(ExceptionClass::Kafka, error.clone()),
        })
    }

    /// P-ERR-1: a batch failed, or `send()` met an `ApiException`. An error is that of P-ST-1,
    /// according to who calls.
    pub(crate) fn maybe_transition_to_error_state(
        &mut self,
        exception: &Exception,
        caller: Caller,
        env: &mut Env<'_>,
    ) -> Result<(), Exception> {
        rule!(env, "P-ERR-1");
        use ErrorCode as E;
        if let ExceptionClass::Api(
            E::ClusterAuthorizationFailed
            | E::TransactionalIdAuthorizationFailed
            | E::ProducerFenced
            | E::UnsupportedVersion
            | E::InvalidProducerIdMapping,
        ) = exception.class
        {
            return self.transition_to_fatal_error(exception.clone());
        }
        if !self.is_transactional() {
            return Ok(());
        }
        let wrapped = exception.is_retriable() || exception.is(E::InvalidTxnState);
        let error = if wrapped {
            let class = ExceptionClass::Api(E::TransactionAbortable);
            Exception::caused_by(class, exception.clone())
        } else {
            exception.clone()
        };
        if self.needs_epoch_bump_from_client() && !self.state.is_completing() {
            self.client_side_epoch_bump_required = true;
        }
        self.transition_to_abortable_error(error, caller)
    }

    /// P-SND step 3: the producer goes back to where it was before `initTransactions()`.
    pub(crate) fn reset_after_authorization_error(&mut self) -> Option<Exception> {
        use ErrorCode::{ClusterAuthorizationFailed, TransactionalIdAuthorizationFailed};
        let error = self.last_error.clone().filter(|_| self.state == State::AbortableError)?;
        if !error.is(ClusterAuthorizationFailed) && !error.is(TransactionalIdAuthorizationFailed) {
            return None;
        }
        let authentication = Exception::new(ExceptionClass::Authentication);
        while let Some(handler) = self.take_pending_request() {
            self.complete_result(handler.result, Err(authentication.clone()));
        }
        self.transition_to(State::Uninitialized, None, Caller::Sender).ok()?;
        self.fail_pending_transition(error.clone());
        Some(error)
    }

    /// The producer is closed by force (P-API-8).
    pub(crate) fn close(&mut self) {
        let closed = Exception::new(ExceptionClass::Kafka);
        while let Some(handler) = self.take_pending_request() {
            self.complete_result(handler.result, Err(closed.clone()));
        }
        self.fail_pending_transition(closed);
    }

    /// Clears all numbering (P-SEQ-11).
    fn reset_sequence_numbers(&mut self, batches: &mut Batches) {
        self.txn_partition_map.reset(batches);
        self.partitions_with_unresolved_sequences.clear();
    }
}
