//! The queue of transactional requests (`TxnRequestHandler`, `nextRequest`, `lookupCoordinator`).

use alloc::vec::Vec;

use eosim_actor::Correlation;
use eosim_types::message::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, AddPartitionsToTxnTransaction, ApiKey,
    CoordinatorKey, EndTxnRequest, FindCoordinatorRequest, InitProducerIdRequest, Request,
};
use eosim_types::{
    BrokerId, Defect, Duration, Env, GroupId, Instant, TopicPartition, TransactionalId, rule,
};

use super::offsets::{OffsetsToCommit, TxnOffsetCommit};
use super::{FoundCoordinator, ResultId, TransactionManager};
use crate::api_versions::ApiVersions;
use crate::exception::Exception;
use crate::producer::producer_batch::ProducerIdAndEpoch;
use crate::producer::state::State;

/// Which coordinator a request needs (`CoordinatorType`); a group's with the group that is looked
/// up if none is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum CoordinatorType {
    Transaction,
    Group(GroupId),
}

/// What an InitProducerId is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Initialization {
    /// An id, or the next epoch of whoever had the transactional id before.
    New { keep_prepared: bool, enable_2pc: bool },
    /// The next epoch of the id in use.
    EpochBump,
}

impl Initialization {
    /// Without a word on two-phase commit.
    pub(super) const PLAIN: Self = Self::New { keep_prepared: false, enable_2pc: false };
}

/// The first version with the fields of KIP-939; unstable, so that it is used for nothing else.
const TWO_PHASE_COMMIT_VERSION: i16 = 6;

/// A transactional request with the fields that it keeps over its retries (P-REQ-2).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum TxnRequest {
    /// Finds a coordinator.
    FindCoordinator(CoordinatorType),
    /// Gets an id, or the next epoch of the current one.
    InitProducerId(Initialization),
    /// Registers partitions (transaction version 1).
    AddPartitionsToTxn { producer: ProducerIdAndEpoch, partitions: Vec<TopicPartition> },
    /// Announces a group's offsets (transaction version 1).
    AddOffsetsToTxn(OffsetsToCommit),
    /// Commits a group's offsets with the transaction.
    TxnOffsetCommit(TxnOffsetCommit),
    /// Ends the transaction.
    EndTxn { producer: ProducerIdAndEpoch, committed: bool, is_transaction_v2_enabled: bool },
}

/// A request in the queue or in flight.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct TxnRequestHandler {
    pub(crate) request: TxnRequest,
    /// Id and epoch as they were when it was built.
    pub(crate) producer: ProducerIdAndEpoch,
    /// Who waits for it.
    pub(crate) result: Option<ResultId>,
    pub(crate) is_retry: bool,
    pub(crate) retry_backoff: Duration,
}

impl TxnRequestHandler {
    /// Lower goes first (P-SND-3).
    const fn priority(&self) -> u8 {
        match self.request {
            TxnRequest::FindCoordinator(_) => 0,
            TxnRequest::InitProducerId(Initialization::New { .. }) => 1,
            TxnRequest::AddPartitionsToTxn { .. }
            | TxnRequest::AddOffsetsToTxn(_)
            | TxnRequest::TxnOffsetCommit(_) => 2,
            TxnRequest::EndTxn { .. } => 3,
            TxnRequest::InitProducerId(Initialization::EpochBump) => 4,
        }
    }
}

impl TransactionManager {
    /// Queues a new request.
    pub(super) fn enqueue(&mut self, request: TxnRequest, result: Option<ResultId>) {
        // P-CFG-10: constant, unlike a batch's.
        let retry_backoff = self.retry_backoff;
        let producer = self.producer;
        self.enqueue_handler(TxnRequestHandler {
            request,
            producer,
            result,
            is_retry: false,
            retry_backoff,
        });
    }

    fn enqueue_handler(&mut self, handler: TxnRequestHandler) {
        let priority = handler.priority();
        let at = self.pending_requests.partition_point(|known| known.priority() <= priority);
        self.pending_requests.insert(at, handler);
    }

    /// `reenqueue`: it will be sent again after its backoff.
    pub(crate) fn retry(&mut self, mut handler: TxnRequestHandler) {
        handler.is_retry = true;
        self.enqueue_handler(handler);
    }

    /// Back to the head of its kind, to be looked at again; no retry.
    pub(crate) fn put_back(&mut self, handler: TxnRequestHandler) {
        let priority = handler.priority();
        let at = self.pending_requests.partition_point(|known| known.priority() < priority);
        self.pending_requests.insert(at, handler);
    }

    pub(super) fn take_pending_request(&mut self) -> Option<TxnRequestHandler> {
        (!self.pending_requests.is_empty()).then(|| self.pending_requests.remove(0))
    }

    /// `hasPendingRequests`.
    pub(crate) const fn has_pending_requests(&self) -> bool {
        !self.pending_requests.is_empty()
    }

    /// Is a transactional request on the wire (P-SND-1)?
    pub(crate) const fn has_in_flight_request(&self) -> bool {
        self.in_flight_correlation.is_some()
    }

    /// `setInFlightCorrelationId`.
    pub(crate) const fn set_in_flight_correlation(&mut self, correlation: Correlation) {
        self.in_flight_correlation = Some(correlation);
    }

    /// `handler` goes on the wire; sends of EndTxn are counted (P-API-4).
    pub(crate) const fn request_sent(&mut self, handler: &TxnRequestHandler) {
        if matches!(handler.request, TxnRequest::EndTxn { .. }) {
            self.end_txn_sends += 1;
        }
    }

    pub(super) fn complete_result(
        &mut self,
        result: Option<ResultId>,
        outcome: Result<(), Exception>,
    ) {
        if let Some(result) = result {
            self.results.complete(result, outcome);
        }
    }

    /// P-SND-4: moves new partitions to pending and queues one request for all pending ones.
    pub(super) fn enqueue_new_partitions(&mut self, env: &mut Env<'_>) {
        if self.new_partitions_in_transaction.is_empty() {
            return;
        }
        rule!(env, "P-SND-4");
        self.pending_partitions_in_transaction.append(&mut self.new_partitions_in_transaction);
        let partitions = self.pending_partitions_in_transaction.iter().copied().collect();
        let producer = self.producer;
        self.enqueue(TxnRequest::AddPartitionsToTxn { producer, partitions }, None);
    }

    /// P-SND-4: the request to send now, if any.
    pub(crate) fn next_request(
        &mut self,
        has_incomplete_batches: bool,
        env: &mut Env<'_>,
    ) -> Option<TxnRequestHandler> {
        self.enqueue_new_partitions(env);
        let is_end_txn =
            |handler: &TxnRequestHandler| matches!(handler.request, TxnRequest::EndTxn { .. });
        let overtakes =
            self.state == State::AbortingTransaction && env.on(Defect::ClientAbortsWithInFlight);
        if has_incomplete_batches
            && !overtakes
            && self.pending_requests.first().is_some_and(is_end_txn)
        {
            // A batch that expired is complete while its request lives on, so an EndTxn(abort)
            // may overtake it (P-REQ-10).
            rule!(env, "P-REQ-9");
            return None;
        }
        let handler = self.take_pending_request()?;
        if self.terminate_with_error(&handler) {
            return None;
        }
        let is_empty = !self.transaction_started && !env.on(Defect::ClientSendsEndTxnWhenEmpty);
        if is_end_txn(&handler) && is_empty {
            rule!(env, "P-API-9");
            self.complete_result(handler.result, Ok(()));
            self.reset_transaction_state(env).ok()?;
            return self.take_pending_request();
        }
        Some(handler)
    }

    /// `maybeTerminateRequestWithError`.
    fn terminate_with_error(&mut self, handler: &TxnRequestHandler) -> bool {
        let Some(error) = self.last_error.clone().filter(|_| self.state.is_error()) else {
            return false;
        };
        let finds = matches!(handler.request, TxnRequest::FindCoordinator(_));
        if finds && self.state == State::AbortableError {
            return false;
        }
        self.complete_result(handler.result, Err(error));
        true
    }

    /// The coordinator that the request needs (`coordinatorType`). FindCoordinator and an
    /// idempotent InitProducerId go to any node.
    pub(crate) fn needs_coordinator(&self, handler: &TxnRequestHandler) -> Option<CoordinatorType> {
        match &handler.request {
            TxnRequest::FindCoordinator(_) => None,
            TxnRequest::TxnOffsetCommit(commit) => {
                Some(CoordinatorType::Group(commit.offsets.group))
            }
            _ => self.is_transactional().then_some(CoordinatorType::Transaction),
        }
    }

    /// `lookupCoordinator`: forgets the coordinator and asks for it.
    pub(crate) fn lookup_coordinator(&mut self, of: CoordinatorType) {
        *self.coordinator_slot(of) = None;
        self.enqueue(TxnRequest::FindCoordinator(of), None);
    }

    pub(super) fn coordinator_found(&mut self, of: CoordinatorType, node: BrokerId, at: Instant) {
        *self.coordinator_slot(of) = Some(FoundCoordinator { node, at });
    }

    const fn coordinator_slot(&mut self, of: CoordinatorType) -> &mut Option<FoundCoordinator> {
        match of {
            CoordinatorType::Transaction => &mut self.transaction_coordinator,
            CoordinatorType::Group(_) => &mut self.consumer_group_coordinator,
        }
    }

    fn id(&self) -> TransactionalId {
        self.transactional_id.expect("only transactional producers send this request")
    }

    /// The request as it goes on the wire (P-SND-12); `None` if the brokers know no version that
    /// could say it.
    pub(crate) fn message(
        &self,
        handler: &TxnRequestHandler,
        api_versions: &ApiVersions,
    ) -> Option<Request> {
        Some(match &handler.request {
            TxnRequest::FindCoordinator(of) => {
                let key = match *of {
                    CoordinatorType::Transaction => CoordinatorKey::Transaction(self.id()),
                    CoordinatorType::Group(group) => CoordinatorKey::Group(group),
                };
                FindCoordinatorRequest { key }.into()
            }
            TxnRequest::InitProducerId(initialization) => {
                self.init_producer_id(*initialization, handler.producer, api_versions).into()
            }
            TxnRequest::AddPartitionsToTxn { producer, partitions } => {
                self.add_partitions_to_txn(*producer, partitions, api_versions).into()
            }
            TxnRequest::AddOffsetsToTxn(offsets) => AddOffsetsToTxnRequest {
                version: api_versions.latest(ApiKey::AddOffsetsToTxn),
                transactional_id: self.id(),
                producer_id: handler.producer.producer_id,
                producer_epoch: handler.producer.producer_epoch,
                group: offsets.group,
            }
            .into(),
            TxnRequest::TxnOffsetCommit(commit) => {
                commit.message(self.id(), handler.producer, api_versions)?.into()
            }
            TxnRequest::EndTxn { producer, committed, is_transaction_v2_enabled } => {
                EndTxnRequest {
                    version: api_versions.end_txn(*is_transaction_v2_enabled),
                    transactional_id: self.id(),
                    producer_id: producer.producer_id,
                    producer_epoch: producer.producer_epoch,
                    committed: *committed,
                }
                .into()
            }
        })
    }

    fn add_partitions_to_txn(
        &self,
        producer: ProducerIdAndEpoch,
        partitions: &[TopicPartition],
        api_versions: &ApiVersions,
    ) -> AddPartitionsToTxnRequest {
        let transaction = AddPartitionsToTxnTransaction {
            transactional_id: self.id(),
            producer_id: producer.producer_id,
            producer_epoch: producer.producer_epoch,
            verify_only: false,
            partitions: partitions.iter().copied().collect(),
        };
        AddPartitionsToTxnRequest {
            version: api_versions.latest(ApiKey::AddPartitionsToTxn),
            transactions: [transaction].into(),
        }
    }

    fn init_producer_id(
        &self,
        initialization: Initialization,
        producer: ProducerIdAndEpoch,
        api_versions: &ApiVersions,
    ) -> InitProducerIdRequest {
        let (resume, keep_prepared_txn, enable_2pc) = match initialization {
            Initialization::EpochBump => (producer, false, false),
            Initialization::New { keep_prepared, enable_2pc } => {
                (ProducerIdAndEpoch::NONE, keep_prepared, enable_2pc)
            }
        };
        let is_two_phase = keep_prepared_txn || enable_2pc;
        let stable = api_versions.latest(ApiKey::InitProducerId);
        let timeout = self.is_transactional().then_some(self.transaction_timeout_ms);
        InitProducerIdRequest {
            version: if is_two_phase { TWO_PHASE_COMMIT_VERSION } else { stable },
            transactional_id: self.transactional_id,
            transaction_timeout_ms: timeout.unwrap_or(i32::MAX),
            producer_id: resume.producer_id,
            producer_epoch: resume.producer_epoch,
            enable_2pc,
            keep_prepared_txn,
        }
    }
}
