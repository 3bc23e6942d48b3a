//! The calls of `KafkaProducer` and the end of their waits (P-API).

use alloc::vec::Vec;

use eosim_actor::Cx;
use eosim_types::message::ProduceRequest;
use eosim_types::record::{Record, RecordBatch};
use eosim_types::{Defect, Instant, ProducerEpoch, TopicPartition, rule};

use super::producer_batch::batch_upper_bound;
use super::record_accumulator::Appended;
use super::sender::InFlight;
use super::transaction_manager::{Caller, OffsetsToCommit, ResultId, TransactionManager};
use super::{
    Awaited, Call, CallId, Outcome, Producer, RecordOutcome, ResultKind, State, Waiting, stamped,
};
use crate::exception::{Exception, ExceptionClass};
use crate::network_client::ClientOut;

impl Producer {
    /// Makes `call`; its outcome is among the outcomes at once or later.
    pub fn call(&mut self, call: Call, cx: &mut Cx<'_>) -> CallId {
        let id = CallId(self.next_call);
        self.next_call += 1;
        if let Some(thrown) = self.refusal(&call) {
            self.returned(id, Err(thrown));
            return id;
        }
        if self.state() == Some(State::PreparedTransaction) && !ends_prepared(&call) {
            self.returned(id, Err(Exception::illegal_state()));
            return id;
        }
        self.begin(id, call, cx);
        id
    }

    fn begin(&mut self, id: CallId, call: Call, cx: &mut Cx<'_>) {
        match call {
            Call::InitTransactions => self.init_transactions(id, false, cx),
            Call::InitTransactionsKeepPrepared => self.init_transactions(id, true, cx),
            Call::BeginTransaction => {
                let begun = self.with_manager(|m, cx| m.begin_transaction(&mut cx.env), cx);
                self.returned(id, begun);
            }
            Call::Send { partition, record } => self.send(id, partition, record, cx),
            Call::Flush => self.flush(id, Awaited::Flushed { until: id }),
            Call::CommitTransaction => self.complete(id, Ok(true), cx),
            Call::AbortTransaction => self.complete(id, Ok(false), cx),
            Call::PrepareTransaction => {
                match self.with_manager(|m, cx| m.throw_unless_two_phase_commit(&cx.env), cx) {
                    Ok(()) => self.flush(id, Awaited::FlushedToPrepare { until: id }),
                    Err(thrown) => self.returned(id, Err(thrown)),
                }
            }
            Call::CompleteTransaction(token) => {
                let commits = self.with_manager(|m, _| m.is_prepared_as(token), cx);
                self.complete(id, commits, cx);
            }
            Call::ResumeTransaction(transaction) => {
                let resumed = self.with_manager(|m, _| m.resume_transaction(transaction), cx);
                self.returned(id, resumed);
            }
            Call::SendOffsetsToTransaction { group, member, offsets } => {
                self.send_offsets_to_transaction(
                    id,
                    OffsetsToCommit { group, member, offsets },
                    cx,
                );
            }
            Call::Close { timeout } => {
                let deadline = timeout.map_or(Instant::FAR, |timeout| cx.now() + timeout);
                self.sender.initiate_close(deadline);
                self.wait(id, Awaited::Closed, Instant::FAR);
            }
            Call::RawProduce { partition, batch, epoch_delta } => {
                let raw = Awaited::ReadyForRaw { partition, batch, epoch_delta };
                self.wait(id, raw, Instant::FAR);
            }
        }
    }

    fn init_transactions(&mut self, call: CallId, keep_prepared: bool, cx: &mut Cx<'_>) {
        let begun =
            self.with_manager(|m, cx| m.initialize_transactions(keep_prepared, &mut cx.env), cx);
        self.await_result(call, begun, ResultKind::Initialization, cx.now());
    }

    /// Commits or aborts, as `commits` says.
    fn complete(&mut self, call: CallId, commits: Result<bool, Exception>, cx: &mut Cx<'_>) {
        let begun = commits.and_then(|commits| {
            let begin = if commits {
                TransactionManager::begin_commit
            } else {
                TransactionManager::begin_abort
            };
            self.with_manager(|m, cx| begin(m, &mut cx.env), cx)
        });
        self.await_result(call, begun, ResultKind::Completion, cx.now());
    }

    /// What `call` throws before the transaction manager is asked: arguments that make no sense,
    /// and nearly everything once the producer is closed.
    fn refusal(&self, call: &Call) -> Option<Exception> {
        match call {
            Call::Close { .. } | Call::Flush => None,
            Call::SendOffsetsToTransaction { member, .. }
                if member.generation_or_epoch > 0 && member.member.is_none() =>
            {
                Some(Exception::new(ExceptionClass::IllegalArgument)) // P-API-7
            }
            _ => self.sender.is_closing().then(Exception::illegal_state),
        }
    }

    fn with_manager<T>(
        &mut self,
        f: impl FnOnce(&mut TransactionManager, &mut Cx<'_>) -> Result<T, Exception>,
        cx: &mut Cx<'_>,
    ) -> Result<T, Exception> {
        self.sender.manager.as_mut().map_or_else(|| Err(Exception::illegal_state()), |m| f(m, cx))
    }

    fn returned(&mut self, call: CallId, result: Result<(), Exception>) {
        self.sender.outcomes.push_back(Outcome::Returned { call, result });
    }

    fn wait(&mut self, call: CallId, awaited: Awaited, deadline: Instant) {
        self.waiting.push(Waiting { call, awaited, deadline });
    }

    fn await_result(
        &mut self,
        call: CallId,
        begun: Result<ResultId, Exception>,
        kind: ResultKind,
        now: Instant,
    ) {
        match begun {
            Err(thrown) => self.returned(call, Err(thrown)),
            Ok(result) => {
                self.sender.wake_up();
                self.wait(call, Awaited::Result { result, kind }, now + self.max_block);
            }
        }
    }

    fn flush(&mut self, call: CallId, awaited: Awaited) {
        self.sender.flushes += 1;
        self.sender.wake_up();
        self.wait(call, awaited, Instant::FAR);
    }

    /// P-API-7: the ids of the topics are looked up first, once.
    fn send_offsets_to_transaction(
        &mut self,
        call: CallId,
        offsets: OffsetsToCommit,
        cx: &mut Cx<'_>,
    ) {
        rule!(cx.env, "P-API-7");
        if offsets.offsets.is_empty() && self.sender.manager.is_some() {
            return self.returned(call, Ok(()));
        }
        let deadline = cx.now() + self.max_block;
        if self.knows_topics(&offsets) {
            return self.begin_send_offsets(call, offsets, deadline, cx);
        }
        self.sender.metadata.request_update();
        self.sender.wake_up();
        let seen_updates = self.sender.metadata.updates();
        self.wait(call, Awaited::OffsetTopics { offsets, seen_updates }, deadline);
    }

    fn begin_send_offsets(
        &mut self,
        call: CallId,
        offsets: OffsetsToCommit,
        deadline: Instant,
        cx: &mut Cx<'_>,
    ) {
        let by_topic_id = self.knows_topics(&offsets);
        let begun = self.with_manager(
            |m, cx| m.send_offsets_to_transaction(offsets, by_topic_id, &mut cx.env),
            cx,
        );
        match begun {
            Err(thrown) => self.returned(call, Err(thrown)),
            Ok(result) => {
                self.sender.wake_up();
                self.wait(call, Awaited::Result { result, kind: ResultKind::Offsets }, deadline);
            }
        }
    }

    fn knows_topics(&self, offsets: &OffsetsToCommit) -> bool {
        let known = |partition| self.sender.metadata.contains_topic_of(partition);
        offsets.offsets.iter().all(|offset| known(offset.partition))
    }

    /// P-API-6: metadata first.
    fn send(&mut self, call: CallId, partition: TopicPartition, record: Record, cx: &mut Cx<'_>) {
        let deadline = cx.now() + self.max_block;
        if self.sender.metadata.contains(partition) {
            self.check_size(call, (partition, record), deadline, cx);
        } else {
            self.sender.metadata.request_update();
            self.sender.wake_up();
            self.wait(call, Awaited::Metadata { partition, record }, deadline);
        }
    }

    /// P-API-6: size check; then memory is waited for, which makes every batch ready (P-ACC-1).
    fn check_size(
        &mut self,
        call: CallId,
        (partition, record): (TopicPartition, Record),
        deadline: Instant,
        cx: &mut Cx<'_>,
    ) {
        let size = batch_upper_bound(record);
        if size > self.max_request_size || i64::from(size) > self.buffer_memory {
            let too_large = Exception::of(eosim_types::ErrorCode::MessageTooLarge);
            return self.send_failed(call, too_large, true, cx);
        }
        if self.sender.accumulator.has_room(partition, record) {
            return self.append(call, partition, record, cx);
        }
        rule!(cx.env, "P-ACC-1");
        self.sender.accumulator.waiters += 1;
        self.wait(call, Awaited::Memory { partition, record }, deadline);
    }

    /// P-API-6: append, registration, wake-up.
    fn append(&mut self, call: CallId, partition: TopicPartition, record: Record, cx: &mut Cx<'_>) {
        let stays = cx.env.on(Defect::UpstreamProducerRefusedRecordStays);
        let checked = if stays { Ok(()) } else { self.maybe_add_partition(partition, cx) };
        if let Err(thrown) = checked {
            return self.send_failed(call, thrown, true, cx);
        }
        let Appended { batch, place, wakes } =
            self.sender.accumulator.append(partition, record, call, &cx.env);
        let registered = if stays { self.maybe_add_partition(partition, cx) } else { Ok(()) };
        if let Err(thrown) = registered {
            self.sender.accumulator.batches[batch].calls[place] = None;
            return self.send_failed(call, thrown, true, cx);
        }
        self.returned(call, Ok(()));
        if wakes {
            self.sender.wake_up();
        }
    }

    fn maybe_add_partition(
        &mut self,
        partition: TopicPartition,
        cx: &mut Cx<'_>,
    ) -> Result<(), Exception> {
        let manager = self.sender.manager.as_mut();
        manager.map_or(Ok(()), |manager| manager.maybe_add_partition(partition, &mut cx.env))
    }

    /// An `ApiException` comes back in the future and is told to the transaction manager; every
    /// other one is thrown.
    fn send_failed(
        &mut self,
        call: CallId,
        exception: Exception,
        definitely_refused: bool,
        cx: &mut Cx<'_>,
    ) {
        if !exception.is_api() {
            return self.returned(call, Err(exception));
        }
        if let Err(thrown) = self.with_send_error(&exception, cx) {
            return self.returned(call, Err(thrown)); // P-ST-1
        }
        self.returned(call, Ok(()));
        let result = Err(exception);
        let outcome = Outcome::Record(RecordOutcome { call, result, definitely_refused });
        self.sender.outcomes.push_back(outcome);
    }

    fn with_send_error(&mut self, exception: &Exception, cx: &mut Cx<'_>) -> Result<(), Exception> {
        let Some(manager) = &mut self.sender.manager else { return Ok(()) };
        manager.maybe_transition_to_error_state(exception, Caller::Application, &mut cx.env)
    }

    /// Lets calls return whose wait is over; `true` if any did.
    pub(super) fn end_waits(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) -> bool {
        let mut index = 0;
        let before = self.waiting.len();
        while index < self.waiting.len() {
            if self.is_over(index, cx) {
                let waiting = self.waiting.remove(index);
                self.end_wait(waiting, cx, out);
            } else {
                index += 1;
            }
        }
        self.waiting.len() < before
    }

    fn is_over(&self, index: usize, cx: &Cx<'_>) -> bool {
        let waiting = &self.waiting[index];
        let sender = &self.sender;
        cx.now() >= waiting.deadline
            || match &waiting.awaited {
                Awaited::Result { result, .. } => {
                    sender.manager.as_ref().is_some_and(|m| m.outcome(*result).is_some())
                }
                Awaited::OffsetTopics { offsets, seen_updates } => {
                    sender.metadata.updates() > *seen_updates || self.knows_topics(offsets)
                }
                Awaited::Metadata { partition, .. } => sender.metadata.contains(*partition),
                Awaited::Memory { partition, record } => {
                    sender.accumulator.has_room(*partition, *record)
                }
                Awaited::Flushed { until } | Awaited::FlushedToPrepare { until } => {
                    sender.accumulator.is_flushed(*until)
                }
                Awaited::Closed => sender.is_closed(),
                Awaited::ReadyForRaw { partition, .. } => {
                    self.producer_id_and_epoch().is_valid()
                        && sender.metadata.leader(*partition).is_some()
                }
            }
    }

    fn end_wait(&mut self, waiting: Waiting, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let call = waiting.call;
        match waiting.awaited {
            Awaited::Result { result, kind } => self.end_result(call, result, kind, cx),
            Awaited::OffsetTopics { offsets, .. } => {
                self.begin_send_offsets(call, offsets, waiting.deadline, cx);
            }
            Awaited::Metadata { partition, record } => {
                if self.sender.metadata.contains(partition) {
                    self.check_size(call, (partition, record), waiting.deadline, cx);
                } else {
                    self.send_failed(call, Exception::timeout(), true, cx);
                }
            }
            Awaited::Memory { partition, record } => {
                self.sender.accumulator.waiters -= 1;
                if self.sender.accumulator.has_room(partition, record) {
                    self.append(call, partition, record, cx);
                } else {
                    self.send_failed(call, Exception::timeout(), true, cx);
                }
            }
            Awaited::Flushed { .. } => {
                self.sender.flushes -= 1;
                self.returned(call, Ok(()));
            }
            Awaited::FlushedToPrepare { .. } => {
                self.sender.flushes -= 1;
                let prepared = self.with_manager(|m, cx| m.prepare_transaction(&mut cx.env), cx);
                self.returned(call, prepared);
            }
            Awaited::Closed => self.returned(call, Ok(())),
            Awaited::ReadyForRaw { partition, batch, epoch_delta } => {
                self.send_raw(call, (partition, batch), epoch_delta, cx, out);
            }
        }
    }

    /// A wait that timed out leaves the result un-acked: only the same call again unlocks it
    /// (P-API-1, P-API-4).
    fn end_result(&mut self, call: CallId, result: ResultId, kind: ResultKind, cx: &mut Cx<'_>) {
        let manager = self.sender.manager.as_mut().expect("a result has a manager");
        let Some(outcome) = manager.outcome(result).cloned() else {
            rule!(cx.env, "P-API-4");
            return self.returned(call, Err(Exception::timeout()));
        };
        match kind {
            ResultKind::Offsets => manager.forget(result),
            ResultKind::Completion | ResultKind::Initialization => manager.ack(result),
        }
        if kind == ResultKind::Initialization && outcome.is_ok() {
            manager.maybe_update_transaction_v2_enabled(true, &mut cx.env);
        }
        self.returned(call, outcome);
    }

    fn send_raw(
        &mut self,
        call: CallId,
        (partition, batch): (TopicPartition, RecordBatch),
        epoch_delta: i16,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) {
        let producer = self.producer_id_and_epoch();
        let epoch = ProducerEpoch(producer.producer_epoch.0.wrapping_add(epoch_delta));
        let batch = stamped(batch, (producer.producer_id, epoch));
        let (leader, _) = self.sender.metadata.leader(partition).expect("waited for");
        let is_transactional = batch.is_transactional;
        let manager = self.sender.manager.as_ref();
        let is_version_2 = manager.is_some_and(|manager| manager.is_version_2_transaction(&cx.env));
        let request = ProduceRequest {
            version: self.sender.api_versions.produce(is_transactional, is_version_2),
            transactional_id: self.sender.transactional_id.filter(|_| is_transactional),
            acks: -1,
            timeout_ms: 30_000,
            partitions: Vec::from([(partition, batch)]),
        };
        self.sender.client.send(leader, request.into(), InFlight::Raw(call), cx.now(), out);
        self.returned(call, Ok(()));
        self.sender.wake_up();
    }
}

/// The only calls that a prepared transaction allows.
const fn ends_prepared(call: &Call) -> bool {
    matches!(
        call,
        Call::CommitTransaction
            | Call::AbortTransaction
            | Call::CompleteTransaction(_)
            | Call::Close { .. }
    )
}
