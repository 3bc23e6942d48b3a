//! Answers to transactional requests (`TxnRequestHandler#onComplete`, `*Handler#handleResponse`;
//! P-REQ).

use eosim_actor::Correlation;
use eosim_types::machine::ProducerEvent;
use eosim_types::message::{
    AddPartitionsToTxnResponse, EndTxnResponse, FindCoordinatorResponse, InitProducerIdResponse,
    Response,
};
use eosim_types::{Defect, Duration, Env, ErrorCode, ProducerId, TopicPartition, rule};

use super::requests::Initialization;
use super::{Caller, TransactionManager, TxnRequest, TxnRequestHandler};
use crate::exception::{Exception, ExceptionClass};
use crate::metadata::in_hash_map_order;
use crate::network_client::Answer;
use crate::producer::producer_batch::{Batches, ProducerIdAndEpoch};
use crate::producer::request_errors::{Reaction, TxnApi, reaction};
use crate::producer::state::State;

/// Backoff of the first AddPartitionsToTxn of a transaction that meets CONCURRENT_TRANSACTIONS.
const ADD_PARTITIONS_RETRY_BACKOFF: Duration = Duration::from_millis(20);

impl TransactionManager {
    /// P-REQ-1 (`onComplete`).
    pub(crate) fn on_complete(
        &mut self,
        handler: TxnRequestHandler,
        correlation: Correlation,
        answer: Answer,
        batches: &mut Batches,
        env: &mut Env<'_>,
    ) {
        rule!(env, "P-REQ-1");
        assert_eq!(
            self.in_flight_correlation.take(),
            Some(correlation),
            "more than one transactional request is in flight"
        );
        match answer {
            Answer::Disconnected | Answer::TimedOut => {
                env.takes(self.state, ProducerEvent::RequestUnanswered);
                if let Some(of) = self.needs_coordinator(&handler) {
                    self.lookup_coordinator(of);
                }
                self.retry(handler);
            }
            Answer::Response(response) => self.handle_response(handler, response, batches, env),
        }
    }

    fn handle_response(
        &mut self,
        handler: TxnRequestHandler,
        response: Response,
        batches: &mut Batches,
        env: &mut Env<'_>,
    ) {
        env.takes(self.state, event_of(&response));
        match response {
            Response::FindCoordinator(response) => self.found_coordinator(handler, response, env),
            Response::InitProducerId(response) => {
                self.initialized_producer_id(handler, response, batches, env);
            }
            Response::AddPartitionsToTxn(response) => {
                self.added_partitions(handler, &response, env);
            }
            Response::AddOffsetsToTxn(response) => self.added_offsets(handler, response, env),
            Response::TxnOffsetCommit(response) => {
                self.committed_txn_offsets(handler, &response, env);
            }
            Response::EndTxn(response) => self.ended_txn(handler, response, batches, env),
            other => panic!("a transactional request was answered by {}", other.api().name()),
        }
    }

    fn found_coordinator(
        &mut self,
        handler: TxnRequestHandler,
        response: FindCoordinatorResponse,
        env: &mut Env<'_>,
    ) {
        rule!(env, "P-REQ-3");
        match response.node.filter(|_| response.error.is_none()) {
            Some(node) => {
                let TxnRequest::FindCoordinator(of) = handler.request else {
                    panic!("answered as FindCoordinator: {:?}", handler.request);
                };
                self.coordinator_found(of, node, env.now);
            }
            None => self.react(handler, TxnApi::FindCoordinator, response.error),
        }
    }

    fn initialized_producer_id(
        &mut self,
        handler: TxnRequestHandler,
        response: InitProducerIdResponse,
        batches: &mut Batches,
        env: &mut Env<'_>,
    ) {
        rule!(env, "P-REQ-5");
        if !response.error.is_none() {
            return self.react(handler, TxnApi::InitProducerId, response.error);
        }
        self.producer = ProducerIdAndEpoch::new(response.producer_id, response.producer_epoch);
        let kept = kept_open(&handler, response);
        let target = if kept.is_some() { State::PreparedTransaction } else { State::Ready };
        if self.transition_to(target, None, Caller::Sender).is_err() {
            return;
        }
        self.prepared = kept;
        if handler.request == TxnRequest::InitProducerId(Initialization::EpochBump) {
            rule!(env, "P-SEQ-11");
            self.reset_sequence_numbers(batches);
        }
        self.complete_result(handler.result, Ok(()));
    }

    /// P-REQ-4.
    fn added_partitions(
        &mut self,
        mut handler: TxnRequestHandler,
        response: &AddPartitionsToTxnResponse,
        env: &mut Env<'_>,
    ) {
        rule!(env, "P-REQ-4");
        let results = response.results.first().map_or(&[][..], |(_, partitions)| partitions);
        let whole = (!response.error.is_none()).then_some(response.error);
        let mut failure = None;
        let each = in_hash_map_order(results).into_iter().map(|(_, error)| error);
        for error in whole.into_iter().chain(each) {
            if error.is_none() {
                continue;
            }
            match reaction(TxnApi::AddPartitionsToTxn, error) {
                Reaction::Abortable if error == ErrorCode::TopicAuthorizationFailed => {
                    failure = Some(Exception::of(error));
                }
                Reaction::AbortableGeneric => {
                    failure.get_or_insert(Exception::new(ExceptionClass::Kafka));
                }
                _ => {
                    self.maybe_shorten_backoff(&mut handler, error);
                    return self.react(handler, TxnApi::AddPartitionsToTxn, error);
                }
            }
        }
        self.finish_add_partitions(&handler, failure);
    }

    fn maybe_shorten_backoff(&self, handler: &mut TxnRequestHandler, error: ErrorCode) {
        handler.retry_backoff = self.retry_backoff;
        let is_first = self.partitions_in_transaction.is_empty();
        if error == ErrorCode::ConcurrentTransactions && is_first {
            handler.retry_backoff = self.retry_backoff.min(ADD_PARTITIONS_RETRY_BACKOFF);
        }
    }

    fn finish_add_partitions(&mut self, handler: &TxnRequestHandler, failure: Option<Exception>) {
        let TxnRequest::AddPartitionsToTxn { partitions, .. } = &handler.request else {
            panic!("answered as AddPartitionsToTxn: {:?}", handler.request);
        };
        let listed = |partition: &TopicPartition| partitions.contains(partition);
        self.pending_partitions_in_transaction.retain(|partition| !listed(partition));
        match failure {
            Some(error) => self.abortable_error(handler, error),
            None => {
                self.partitions_in_transaction.extend(partitions);
                self.transaction_started = true;
                self.complete_result(handler.result, Ok(()));
            }
        }
    }

    /// P-REQ-8.
    fn ended_txn(
        &mut self,
        handler: TxnRequestHandler,
        response: EndTxnResponse,
        batches: &mut Batches,
        env: &mut Env<'_>,
    ) {
        rule!(env, "P-REQ-8");
        let is_swallowed =
            env.on(Defect::ClientCommitSwallowsBrokerError) && !response.error.is_retriable();
        if !response.error.is_none() && !is_swallowed {
            let definite =
                !response.error.is_retriable() && response.error != ErrorCode::UnknownServerError;
            if definite && self.end_txn_sends == 1 {
                self.end_txn_sends = 0;
            }
            return self.react(handler, TxnApi::EndTxn, response.error);
        }
        let next = ProducerIdAndEpoch::new(response.producer_id, response.producer_epoch);
        if next.is_valid() {
            rule!(env, "P-SEQ-11");
            rule!(env, "P-TV-7");
            self.producer = next;
            self.reset_sequence_numbers(batches);
        }
        // P-SEQ-12: without a new epoch the sequences go on.
        if self.reset_transaction_state(env).is_ok() {
            self.complete_result(handler.result, Ok(()));
        }
    }

    /// An error is the poisoning of P-ST-1: the state was no completing one, as after the ordinary
    /// initialisation of P-API-3.
    ///
    /// What waits for a TxnOffsetCommit stays: of one that was dropped after an error, nothing ever
    /// answers, and the next transaction's are never complete (P-REQ-7). In a repaired client it
    /// ends with its transaction.
    pub(super) fn reset_transaction_state(&mut self, env: &Env<'_>) -> Result<(), Exception> {
        let bump = self.client_side_epoch_bump_required;
        let target = if bump { State::Initializing } else { State::Ready };
        self.transition_to(target, None, Caller::Sender)?;
        self.client_side_epoch_bump_required = false;
        self.transaction_started = false;
        self.prepared = None;
        self.new_partitions_in_transaction.clear();
        self.pending_partitions_in_transaction.clear();
        self.partitions_in_transaction.clear();
        if !env.on(Defect::UpstreamProducerOffsetsStayPending) {
            self.pending_txn_offset_commits.clear();
        }
        Ok(())
    }

    /// Does what the table says (P-REQ-2). A transition that poisons the sender is left to the
    /// state (P-ST-1).
    pub(super) fn react(&mut self, handler: TxnRequestHandler, api: TxnApi, error: ErrorCode) {
        let exception = Exception::of(error);
        let generic = Exception::new(ExceptionClass::Kafka);
        match reaction(api, error) {
            Reaction::Reenqueue => self.retry(handler),
            Reaction::LookupCoordinator => {
                if let Some(of) = self.needs_coordinator(&handler) {
                    self.lookup_coordinator(of);
                }
                self.retry(handler);
            }
            Reaction::Abortable => self.abortable_error(&handler, exception),
            Reaction::AbortableIfPossible => self.abortable_error_if_possible(&handler, exception),
            Reaction::AbortableGeneric => self.abortable_error(&handler, generic),
            Reaction::AbortableCommitFailed => {
                let failed = Exception::new(ExceptionClass::CommitFailed);
                self.abortable_error(&handler, failed);
            }
            Reaction::AbortableUnlessAbort if self.state == State::AbortingTransaction => {
                let failed = Exception::caused_by(ExceptionClass::Kafka, exception);
                self.fatal_error(&handler, failed);
            }
            Reaction::AbortableUnlessAbort => self.abortable_error(&handler, exception),
            Reaction::Fatal => self.fatal_error(&handler, exception),
            Reaction::FatalFenced => {
                self.fatal_error(&handler, Exception::of(ErrorCode::ProducerFenced));
            }
            Reaction::FatalGeneric => self.fatal_error(&handler, generic),
        }
    }

    /// P-REQ-8a: while ABORTING the result fails and the state stays.
    fn abortable_error(&mut self, handler: &TxnRequestHandler, error: Exception) {
        self.complete_result(handler.result, Err(error.clone()));
        if self.may_leave_gap {
            self.gap = Some((error, false));
            return;
        }
        let _poisoned = self.transition_to_abortable_error(error, Caller::Sender);
    }

    /// P-API-10: the state learns what a result has failed with.
    pub(crate) fn end_gap(&mut self) {
        let _poisoned = match self.gap.take() {
            Some((error, true)) => self.transition_to_fatal_error(error),
            Some((error, false)) => self.transition_to_abortable_error(error, Caller::Sender),
            None => return,
        };
    }

    fn abortable_error_if_possible(&mut self, handler: &TxnRequestHandler, error: Exception) {
        if !self.can_handle_abortable_error() {
            return self.fatal_error(handler, error);
        }
        self.client_side_epoch_bump_required |= self.needs_epoch_bump_from_client();
        self.abortable_error(handler, error);
    }

    pub(crate) fn fatal_error(&mut self, handler: &TxnRequestHandler, error: Exception) {
        self.complete_result(handler.result, Err(error.clone()));
        if self.may_leave_gap {
            self.gap = Some((error, true));
            return;
        }
        let _poisoned = self.transition_to_fatal_error(error);
    }
}

/// What an answer is to those who count events.
fn event_of(response: &Response) -> ProducerEvent {
    use ErrorCode::None as Fine;
    let (api, error, done) = match response {
        Response::FindCoordinator(response) => {
            (TxnApi::FindCoordinator, response.error, ProducerEvent::FoundCoordinator)
        }
        Response::InitProducerId(response) => {
            (TxnApi::InitProducerId, response.error, ProducerEvent::InitProducerIdDone)
        }
        Response::AddPartitionsToTxn(response) => {
            let each = response.results.iter().flat_map(|(_, partitions)| partitions);
            let refused = each.map(|(_, error)| *error).find(|error| !error.is_none());
            let error = if response.error.is_none() { refused } else { Some(response.error) };
            let done = ProducerEvent::AddPartitionsDone;
            (TxnApi::AddPartitionsToTxn, error.unwrap_or(Fine), done)
        }
        Response::AddOffsetsToTxn(response) => {
            (TxnApi::AddOffsetsToTxn, response.error, ProducerEvent::AddOffsetsDone)
        }
        Response::TxnOffsetCommit(response) => {
            let each = response.partitions.iter().map(|(_, error)| *error);
            let refused = each.into_iter().find(|error| !error.is_none());
            let done = ProducerEvent::OffsetCommitDone;
            (TxnApi::TxnOffsetCommit, refused.unwrap_or(Fine), done)
        }
        Response::EndTxn(response) => (TxnApi::EndTxn, response.error, ProducerEvent::EndTxnDone),
        other => panic!("a transactional request was answered by {}", other.api().name()),
    };
    match reaction(api, error) {
        _ if error.is_none() => done,
        Reaction::Reenqueue | Reaction::LookupCoordinator => ProducerEvent::RequestRetries,
        _ => ProducerEvent::RequestFailed,
    }
}

/// P-REQ-5: the transaction that was kept open because the request asked for it.
fn kept_open(
    handler: &TxnRequestHandler,
    response: InitProducerIdResponse,
) -> Option<ProducerIdAndEpoch> {
    let asked = matches!(
        handler.request,
        TxnRequest::InitProducerId(Initialization::New { keep_prepared: true, .. })
    );
    let id = response.ongoing_txn_producer_id;
    let kept = ProducerIdAndEpoch::new(id, response.ongoing_txn_producer_epoch);
    (asked && id != ProducerId::NONE).then_some(kept)
}
