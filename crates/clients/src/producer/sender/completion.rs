//! What becomes of requests that ended and of the batches in them (`handleProduceResponse`,
//! `completeBatch`, `failBatch`).

use eosim_actor::{Correlation, Cx, Site, Stream};
use eosim_types::message::{ProducePartitionResponse, ProduceResponse, Response};
use eosim_types::{Defect, ErrorCode, TopicPartition, rule};

use super::{FailedBatch, InFlight, Sender};
use crate::exception::{Exception, ExceptionClass};
use crate::network_client::{Answer, Completed};
use crate::producer::producer_batch::{BatchId, FinalState};
use crate::producer::transaction_manager::TxnRequestHandler;
use crate::producer::{Outcome, RecordOutcome};

/// The handler of an answer threw; the network layer logs it and goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct InternalError;

/// Whether a failed future is seen before the state changes; 0 is after.
const GAP: Site = Site::new("producer.gap_before_state", Stream::Actor);

impl Sender {
    pub(super) fn complete(&mut self, completed: Completed<InFlight>, cx: &mut Cx<'_>) {
        let Completed { request, correlation, answer } = completed;
        if !matches!(answer, Answer::Response(_)) {
            self.metadata.request_update();
        }
        match request {
            InFlight::Metadata => self.complete_metadata(answer, cx),
            InFlight::Produce(batches) => self.complete_produce(&batches, &answer, cx),
            InFlight::Transactional(handler) => {
                self.complete_transactional(handler, correlation, answer, cx);
            }
            InFlight::Raw(call) => {
                let response = partition_response(&answer, None);
                let outcome = (response.error, response.base_offset);
                self.outcomes.push_back(Outcome::RawProduced { call, outcome });
            }
        }
    }

    fn complete_transactional(
        &mut self,
        handler: TxnRequestHandler,
        correlation: Correlation,
        answer: Answer,
        cx: &mut Cx<'_>,
    ) {
        let leaves_gap = self.is_last_of_poll && refuses_offsets(&answer) && cx.choose(GAP, 2) == 1;
        let manager = self.manager.as_mut().expect("a handler has a manager");
        let batches = &mut self.accumulator.batches;
        manager.may_leave_gap = leaves_gap;
        manager.on_complete(handler, correlation, answer, batches, &mut cx.env);
        manager.may_leave_gap = false;
    }

    fn complete_metadata(&mut self, answer: Answer, cx: &Cx<'_>) {
        let Answer::Response(Response::Metadata(response)) = answer else {
            return self.metadata.failed(cx.now());
        };
        self.metadata.update(response.image, cx.now());
    }

    /// All batches of one answer together (P-SND-14). An internal error ends the handler, and what
    /// it had not come to stays as it is until it expires (P-REQ-11, P-ACC-7).
    fn complete_produce(&mut self, batches: &[BatchId], answer: &Answer, cx: &mut Cx<'_>) {
        for &id in batches {
            self.accumulator.batches[id].on_wire = false;
        }
        let (is_last, count) = (self.is_last_of_poll, batches.len());
        for (place, &id) in (1..).zip(batches) {
            self.is_last_of_poll = is_last && place == count;
            let partition = self.accumulator.batches[id].partition;
            let response = partition_response(answer, Some(partition));
            if self.complete_batch(id, &response, cx).is_err() {
                break;
            }
        }
        for &id in batches {
            self.accumulator.batches.release_if_unused(id);
        }
    }

    /// P-SND-7 with `acks=0`: what is sent is done, and nobody knows its offset.
    pub(super) fn complete_unanswered(&mut self, batches: &[BatchId], cx: &mut Cx<'_>) {
        for &id in batches {
            let partition = self.accumulator.batches[id].partition;
            self.accumulator.batches[id].on_wire = false;
            let response = ProducePartitionResponse::without_offset(partition, ErrorCode::None);
            let _untracked = self.complete_batch(id, &response, cx);
            self.accumulator.batches.release_if_unused(id);
        }
    }

    /// `completeBatch`: the six steps of "Produce response per batch".
    fn complete_batch(
        &mut self,
        id: BatchId,
        response: &ProducePartitionResponse,
        cx: &mut Cx<'_>,
    ) -> Result<(), InternalError> {
        let error = response.error;
        let batch = &mut self.accumulator.batches[id];
        batch.fate_unknown |= leaves_fate_unknown(error);
        let splits =
            error == ErrorCode::MessageTooLarge && batch.record_count() > 1 && !batch.is_done();
        let handled = if splits {
            self.split(id, cx);
            Ok(())
        } else if error.is_none() || error == ErrorCode::DuplicateSequenceNumber {
            self.succeed_batch(id, response.base_offset, cx)
        } else if self.can_retry(id, response, cx) {
            self.retry_batch(id, cx)
        } else {
            self.give_up(id, response, cx);
            Ok(())
        };
        if handled.is_err() && cx.env.on(Defect::UpstreamProducerPartitionMuted) {
            return handled;
        }
        self.learn_leader(response);
        if self.guarantees_message_order() {
            self.accumulator.unmute(response.partition);
        }
        handled
    }

    /// The answer may tell that, and how, the leader has changed.
    fn learn_leader(&mut self, response: &ProducePartitionResponse) {
        use ErrorCode::{FencedLeaderEpoch, NotLeaderOrFollower};
        if is_invalid_metadata(response.error) {
            self.metadata.request_update();
        }
        if let Some(told) = response.current_leader
            && matches!(response.error, NotLeaderOrFollower | FencedLeaderEpoch)
        {
            self.metadata.leader_told(response.partition, told);
        }
    }

    /// P-ACC-7: a batch whose partition tracks nothing in flight is not put back; it is counted
    /// as on the wire until it expires.
    fn retry_batch(&mut self, id: BatchId, cx: &mut Cx<'_>) -> Result<(), InternalError> {
        let partition = self.accumulator.batches[id].partition;
        let tracked = self.manager.as_ref().is_none_or(|m| m.has_in_flight_batches(partition));
        self.accumulator.reenqueue(id, self.manager.is_some(), tracked, cx);
        if !tracked {
            return Err(InternalError);
        }
        self.remove_from_in_flight_batches(id);
        Ok(())
    }

    /// P-ERR-4, P-SEQ-7: an error that is not retried. Numbers of a transactional batch that the
    /// leader may have taken must not be used again in the same epoch: the producer aborts, and
    /// finds the hole by OUT_OF_ORDER if its epoch goes on.
    fn give_up(&mut self, id: BatchId, response: &ProducePartitionResponse, cx: &mut Cx<'_>) {
        let batch = &self.accumulator.batches[id];
        let mut adjust = batch.attempts < self.config.retries;
        if self.transactional_id.is_some()
            && batch.fate_unknown
            && !batch.is_done()
            && !cx.env.on(Defect::UpstreamProducerSequenceReused)
        {
            adjust = false;
        }
        let futures = |place| record_exception(response, place);
        self.fail_batch_with(id, &Exception::of(response.error), futures, adjust, cx);
    }

    fn split(&mut self, id: BatchId, cx: &mut Cx<'_>) {
        self.remove_from_in_flight_batches(id);
        if let Some(manager) = &mut self.manager {
            manager.remove_in_flight_batch(id, &mut self.accumulator.batches);
        }
        self.accumulator.split_and_reenqueue(id, self.manager.as_mut(), &mut cx.env);
    }

    fn can_retry(
        &mut self,
        id: BatchId,
        response: &ProducePartitionResponse,
        cx: &mut Cx<'_>,
    ) -> bool {
        let timeout = self.accumulator.delivery_timeout();
        let batch = &self.accumulator.batches[id];
        if batch.has_reached_delivery_timeout(timeout, cx.now())
            || batch.attempts >= self.config.retries
            || batch.is_done()
        {
            return false;
        }
        match &mut self.manager {
            None => response.error.is_retriable(),
            Some(manager) => {
                manager.can_retry(response, id, &mut self.accumulator.batches, &mut cx.env)
            }
        }
    }

    fn succeed_batch(
        &mut self,
        id: BatchId,
        base_offset: i64,
        cx: &mut Cx<'_>,
    ) -> Result<(), InternalError> {
        rule!(cx.env, "P-SND-11");
        let batches = &mut self.accumulator.batches;
        if let Some(manager) = &mut self.manager
            && !manager.handle_completed_batch(id, base_offset, batches, &mut cx.env)
        {
            return Err(InternalError);
        }
        let base_offset = Some(base_offset).filter(|offset| *offset >= 0);
        let offset = |place| Ok(base_offset.map(|base| base + i64::from(place)));
        self.finish(id, FinalState::Succeeded, offset, false);
        self.remove_from_in_flight_batches(id);
        Ok(())
    }

    /// `failBatch` with the same exception for every record.
    pub(super) fn fail_batch(
        &mut self,
        id: BatchId,
        exception: &Exception,
        adjust_sequence_numbers: bool,
        cx: &mut Cx<'_>,
    ) {
        let futures = |_| exception.clone();
        self.fail_batch_with(id, exception, futures, adjust_sequence_numbers, cx);
    }

    /// `failBatch`: the futures first, then the transaction manager (P-API-10).
    fn fail_batch_with(
        &mut self,
        id: BatchId,
        exception: &Exception,
        record_exceptions: impl Fn(i32) -> Exception,
        adjust_sequence_numbers: bool,
        cx: &mut Cx<'_>,
    ) {
        let timed_out = exception.is(ErrorCode::RequestTimedOut);
        let refused = !timed_out && !self.accumulator.batches[id].fate_unknown;
        let futures = |place| Err(record_exceptions(place));
        if !self.finish(id, FinalState::Failed, futures, refused) {
            return;
        }
        let exception = exception.clone();
        let failed = FailedBatch { id, exception, adjust_sequence_numbers };
        if self.leaves_gap(id, cx) {
            rule!(cx.env, "P-API-10");
            self.failed = Some(failed);
        } else {
            self.tell_failure(&failed, cx);
        }
    }

    /// Does the application get to act before the transaction manager knows (P-API-10, P-MOD-5)?
    /// Only a transaction makes a difference, and only after the last that a poll brought nothing
    /// else of the sender comes in between.
    fn leaves_gap(&self, id: BatchId, cx: &mut Cx<'_>) -> bool {
        self.is_last_of_poll
            && self.transactional_id.is_some()
            && self.accumulator.batches[id].tracked
            && cx.choose(GAP, 2) == 1
    }

    /// P-ERR-1, P-SEQ-7.
    pub(super) fn tell_failure(&mut self, failed: &FailedBatch, cx: &mut Cx<'_>) {
        let FailedBatch { id, exception, adjust_sequence_numbers: adjust } = failed;
        let batches = &mut self.accumulator.batches;
        if let Some(manager) = &mut self.manager {
            let _poisoned =
                manager.handle_failed_batch(*id, exception, *adjust, batches, &mut cx.env);
        }
        self.remove_from_in_flight_batches(*id);
        self.accumulator.batches.release_if_unused(*id);
    }

    /// P-ACC-11, P-ACC-12: completes batches as aborted, without a word to the transaction
    /// manager.
    pub(super) fn abort_batches(&mut self, all: bool, reason: &Exception) {
        if !self.accumulator.has_incomplete() {
            return;
        }
        for id in self.accumulator.take_abortable(all) {
            let refused = !self.accumulator.batches[id].has_sequence();
            self.finish(id, FinalState::Aborted, |_| Err(reason.clone()), refused);
            self.accumulator.batches.release_if_unused(id);
        }
    }

    /// Moves the batch to its final state and completes the futures of its records; `false` if it
    /// has one already (P-DM-1).
    fn finish(
        &mut self,
        id: BatchId,
        final_state: FinalState,
        result: impl Fn(i32) -> Result<Option<i64>, Exception>,
        definitely_refused: bool,
    ) -> bool {
        let batch = &mut self.accumulator.batches[id];
        if batch.is_done() {
            return false; // P-DM-1
        }
        batch.final_state = Some(final_state);
        for (place, call) in (0i32..).zip(&batch.calls) {
            if let &Some(call) = call {
                let result = result(place);
                let outcome = RecordOutcome { call, result, definitely_refused };
                self.outcomes.push_back(Outcome::Record(outcome));
            }
        }
        self.accumulator.completed_one();
        true
    }

    fn remove_from_in_flight_batches(&mut self, id: BatchId) {
        let partition = self.accumulator.batches[id].partition;
        if let Some(batches) = self.in_flight_batches.get_mut(partition) {
            batches.retain(|known| *known != id);
        }
    }
}

/// What the future of the record at `place` fails with: the error of the batch, unless single
/// records are at fault.
fn record_exception(response: &ProducePartitionResponse, place: i32) -> Exception {
    let at_fault = &response.record_errors;
    if at_fault.is_empty() || at_fault.as_slice() == [place] {
        Exception::of(response.error)
    } else if at_fault.contains(&place) {
        Exception::of(ErrorCode::InvalidRecord)
    } else {
        Exception::new(ExceptionClass::Kafka)
    }
}

/// `sendOffsetsToTransaction()` will throw, or ask again.
fn refuses_offsets(answer: &Answer) -> bool {
    match answer {
        Answer::Response(Response::AddOffsetsToTxn(response)) => !response.error.is_none(),
        Answer::Response(Response::TxnOffsetCommit(response)) => {
            response.partitions.iter().any(|(_, error)| !error.is_none())
        }
        _ => false,
    }
}

/// May the leader have written the batch although it answered so?
const fn leaves_fate_unknown(error: ErrorCode) -> bool {
    error.is_retriable() || matches!(error, ErrorCode::UnknownServerError)
}

/// `InvalidMetadataException` and its subclasses (P-ERR-3).
const fn is_invalid_metadata(error: ErrorCode) -> bool {
    use ErrorCode as E;
    matches!(
        error,
        E::UnknownTopicOrPartition
            | E::LeaderNotAvailable
            | E::NotLeaderOrFollower
            | E::ReplicaNotAvailable
            | E::NetworkException
            | E::KafkaStorageError
            | E::ListenerNotFound
            | E::FencedLeaderEpoch
            | E::PreferredLeaderNotAvailable
            | E::EligibleLeadersNotAvailable
            | E::ElectionNotNeeded
            | E::UnknownTopicId
            | E::InconsistentTopicId
    )
}

/// The answer for one partition (the only one, if `None`); a lost request counts as an error of
/// each (P-SND-8).
fn partition_response(
    answer: &Answer,
    partition: Option<TopicPartition>,
) -> ProducePartitionResponse {
    let error = match answer {
        Answer::Disconnected => ErrorCode::NetworkException,
        Answer::TimedOut => ErrorCode::RequestTimedOut,
        Answer::Response(Response::Produce(ProduceResponse { partitions })) => {
            let wanted = |p: &&ProducePartitionResponse| partition.is_none_or(|w| w == p.partition);
            return partitions.iter().find(wanted).expect("an answer for each partition").clone();
        }
        Answer::Response(other) => panic!("Produce was answered by {}", other.api().name()),
    };
    ProducePartitionResponse::without_offset(partition.unwrap_or_default(), error)
}
