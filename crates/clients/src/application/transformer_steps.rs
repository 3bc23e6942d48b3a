//! The steps of consume–transform–produce (K-CTP), what the application does about their outcomes
//! (P-APP), and what it does wrong if it makes a mistake.

use alloc::vec::Vec;

use eosim_actor::{Cx, Site, Stream};
use eosim_types::message::GroupMember;
use eosim_types::observation::Observed;
use eosim_types::record::Record;
use eosim_types::{Duration, ErrorCode, TopicPartition, rule};

use super::plan::{happens, length, number};
use super::producer_application::is_fencing;
use super::transformer_application::{Batch, Phase, Step, TransformerApplication};
use crate::consumer::{Consumer, ConsumerCall, PolledPartition, RebalanceCallback, Returned};
use crate::exception::Exception;
use crate::network_client::ClientOut;
use crate::producer::{Call, CallId, Outcome, State};
use crate::spec::Mistake;

const POLLS: Site = Site::new("transformer.polls", Stream::Workload);
const RESULTS: Site = Site::new("transformer.results", Stream::Workload);
const RECORD_PAUSE: Site = Site::new("transformer.record_pause", Stream::Workload);
const ABORT: Site = Site::new("transformer.abort", Stream::Workload);
const LEAVE: Site = Site::new("transformer.leave", Stream::Workload);

/// How long one `poll()` waits.
const POLL_TIMEOUT: Duration = Duration::from_millis(500);
/// How long `committed()` and `commitSync()` wait.
const OFFSETS_TIMEOUT: Duration = Duration::from_millis(5_000);

impl Step {
    /// The call as Java writes it.
    pub(super) const fn call_name(&self) -> &'static str {
        match self {
            Self::Pause(_) => "a pause",
            Self::InitTransactions => "initTransactions()",
            Self::Poll => "poll()",
            Self::BeginTransaction => "beginTransaction()",
            Self::Send { .. } => "send()",
            Self::SendOffsets => "sendOffsetsToTransaction()",
            Self::CommitTransaction => "commitTransaction()",
            Self::AbortTransaction => "abortTransaction()",
            Self::Rewind(_) => "committed()",
            Self::CommitSync(_) => "commitSync()",
            Self::CloseProducer | Self::CloseConsumer => "close()",
        }
    }
}

impl TransformerApplication {
    fn makes(&self, mistake: Mistake) -> bool {
        self.spec.mistake == Some(mistake)
    }

    /// Takes the next step if the application is not waiting; `true` if it did.
    pub(super) fn go_on(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) -> bool {
        match self.phase {
            Phase::Pausing(until) if cx.now() >= until => self.phase = Phase::Ready,
            Phase::Ready => self.next_step(cx, out),
            _ => return false,
        }
        true
    }

    fn next_step(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        if self.steps.is_empty() && self.in_callback {
            return self.return_from_callback(cx);
        }
        if self.steps.is_empty() {
            self.plan(cx, out);
        }
        let step = self.steps.pop_front().expect("there is always something to do");
        match step {
            Step::Pause(length) => self.phase = Phase::Pausing(cx.now() + length),
            Step::CloseConsumer => self.close_consumer(cx, out),
            Step::Poll => self.consume(ConsumerCall::Poll { timeout: POLL_TIMEOUT }, step, cx),
            Step::Rewind(partition) => {
                let timeout = OFFSETS_TIMEOUT;
                self.consume(ConsumerCall::Committed { partition, timeout }, step, cx);
            }
            Step::CommitSync(ref offsets) => {
                let (offsets, timeout) = (offsets.clone(), OFFSETS_TIMEOUT);
                self.consume(ConsumerCall::CommitSync { offsets, timeout }, step, cx);
            }
            step => self.produce(step, cx, out),
        }
    }

    /// What comes next when nothing is left to do: what is missing, else a poll.
    fn plan(&mut self, cx: &Cx<'_>, out: &mut ClientOut) {
        if self.session.producer.is_none() {
            self.open_producer(out);
            self.steps.push_back(Step::InitTransactions);
        }
        if self.consumer.is_none() {
            self.open_consumer(cx.now());
            self.must_rewind = false;
        }
        if core::mem::take(&mut self.must_rewind) {
            let assignment = self.consumer.as_ref().map(Consumer::assignment);
            self.steps.extend(assignment.into_iter().flatten().map(Step::Rewind));
        }
        self.steps.push_back(Step::Poll);
    }

    fn consume(&mut self, call: ConsumerCall, step: Step, cx: &Cx<'_>) {
        let consumer = self.consumer.as_mut().expect("steps of a consumer that is open");
        consumer.call(call, cx.now());
        self.phase = Phase::Consuming(step);
    }

    fn close_consumer(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        if let Some(mut consumer) = self.consumer.take() {
            consumer.close(cx, out);
        }
    }

    fn produce(&mut self, step: Step, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let mut sent = None;
        let call = match step {
            Step::InitTransactions => Call::InitTransactions,
            Step::BeginTransaction => Call::BeginTransaction,
            Step::Send { input } => {
                let (value, value_bytes) = (self.next_value(), self.spec.value_bytes);
                let partition = TopicPartition::new(self.spec.output, input.0.partition);
                self.session.observe_send(partition, value, Some(input), out);
                sent = Some((value, partition));
                Call::Send { partition, record: Record { value, key: None, value_bytes } }
            }
            Step::SendOffsets => self.send_offsets(cx),
            Step::CommitTransaction => {
                self.session.end_called(true, out);
                Call::CommitTransaction
            }
            Step::AbortTransaction => {
                self.session.end_called(false, out);
                Call::AbortTransaction
            }
            _ => Call::Close { timeout: None },
        };
        let producer = self.session.producer.as_mut().expect("steps of a producer that is open");
        let id = producer.call(call, cx);
        if let Some((value, partition)) = sent {
            self.session.await_record(id, value, partition);
        }
        self.phase = Phase::Producing(id, step);
    }

    /// K-CTP-3: the metadata are those of the poll that brought the records.
    fn send_offsets(&self, cx: &mut Cx<'_>) -> Call {
        let batch = self.batch.as_ref().expect("offsets of a transaction");
        let current = self.consumer.as_ref().map_or(GroupMember::NONE, Consumer::group_metadata);
        let member = match self.spec.mistake {
            Some(Mistake::GroupMetadataMissing) => GroupMember::NONE,
            Some(Mistake::GroupMetadataLate) => current,
            _ => batch.group_metadata,
        };
        rule!(cx.env, "K-CTP-3");
        let group = self.spec.consumer.group.expect("a member has a group");
        Call::SendOffsetsToTransaction { group, member, offsets: batch.offsets.clone() }
    }

    /// Takes in an outcome of the producer.
    pub(super) fn learn(&mut self, outcome: Outcome, cx: &mut Cx<'_>, out: &mut ClientOut) {
        match outcome {
            Outcome::Record(record) => self.session.record_completed(record, out),
            Outcome::RawProduced { .. } => {}
            Outcome::Returned { call, result } => {
                if !matches!(&self.phase, Phase::Producing(waited, _) if *waited == call) {
                    return;
                }
                let phase = core::mem::replace(&mut self.phase, Phase::Ready);
                if let Phase::Producing(_, step) = phase {
                    self.producer_returned(call, step, result, cx, out);
                }
            }
        }
    }

    fn producer_returned(
        &mut self,
        call: CallId,
        step: Step,
        result: Result<(), Exception>,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) {
        let timed_out = result.as_ref().is_err_and(|thrown| thrown.is(ErrorCode::RequestTimedOut));
        match step {
            Step::CommitTransaction if timed_out && self.makes(Mistake::TimeoutIsFailure) => {
                self.session.end_answered(true, &result, out);
                self.redo_from_memory(out);
            }
            Step::InitTransactions | Step::CommitTransaction | Step::AbortTransaction
                if timed_out =>
            {
                rule!(cx.env, "P-API-4");
                self.produce(step, cx, out);
            }
            Step::SendOffsets => self.offsets_sent(&result, cx, out),
            Step::CommitTransaction => self.committed(result, cx, out),
            Step::AbortTransaction => self.aborted(result, cx, out),
            Step::CloseProducer => self.producer_closed(cx, out),
            step => match result {
                Ok(()) if step == Step::InitTransactions => self.session.initialized(out),
                Ok(()) if step == Step::BeginTransaction => self.session.begun(out),
                Ok(()) => {}
                Err(thrown) => {
                    self.session.send_threw(call, &thrown, out);
                    self.recover(&thrown, out);
                }
            },
        }
    }

    fn offsets_sent(
        &mut self,
        result: &Result<(), Exception>,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) {
        let error = result.as_ref().map_or_else(Exception::error_code, |()| ErrorCode::None);
        if let (Some(batch), Some(transaction)) = (&self.batch, self.session.transaction) {
            let group = self.spec.consumer.group.expect("a member has a group");
            let offsets = batch.offsets.iter().map(|o| (o.partition, o.offset)).collect();
            out.observe(Observed::OffsetsSent { transaction, group, offsets, error });
        }
        let Err(thrown) = result else { return };
        rule!(cx.env, "K-CTP-4");
        self.recover(thrown, out);
    }

    fn committed(&mut self, result: Result<(), Exception>, cx: &mut Cx<'_>, out: &mut ClientOut) {
        self.session.end_answered(true, &result, out);
        match result {
            Ok(()) => {
                let batch = self.batch.take();
                if self.makes(Mistake::OffsetsOutsideTransaction) {
                    self.steps.extend(batch.map(|batch| Step::CommitSync(batch.offsets)));
                }
                if !self.in_callback && happens(self.spec.leave_per_mille, LEAVE, cx) {
                    self.steps.push_back(Step::CloseConsumer);
                    self.steps.push_back(Step::Pause(self.spec.restart_pause));
                }
            }
            Err(thrown) => self.recover(&thrown, out),
        }
    }

    fn aborted(&mut self, result: Result<(), Exception>, cx: &mut Cx<'_>, out: &mut ClientOut) {
        self.session.end_answered(false, &result, out);
        match result {
            Ok(()) => {
                rule!(cx.env, "K-CTP-5");
                self.batch = None;
                self.must_rewind = !self.makes(Mistake::NoRewind);
            }
            Err(thrown) => self.recover(&thrown, out),
        }
    }

    fn producer_closed(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        self.session.closed(out);
        self.must_rewind |= self.batch.take().is_some();
        if core::mem::take(&mut self.fenced) && self.spec.gives_up_when_fenced {
            self.close_consumer(cx, out);
            self.in_callback = false;
            self.phase = Phase::Finished;
        } else {
            self.steps.push_back(Step::Pause(self.spec.restart_pause));
        }
    }

    /// P-APP: an abortable error, or one that left the transaction as it was, is answered by an
    /// abort, everything else by closing.
    fn recover(&mut self, thrown: &Exception, out: &mut ClientOut) {
        let error = thrown.error_code();
        if self.session.observe_failure(error, out) {
            self.fenced |= is_fencing(error);
        }
        self.steps.clear();
        self.steps.push_back(match self.session.state() {
            Some(State::AbortableError | State::InTransaction) => Step::AbortTransaction,
            _ => Step::CloseProducer,
        });
    }

    /// The mistake of one who takes an unknown outcome for a failure: a new producer, and the same
    /// input once more.
    fn redo_from_memory(&mut self, out: &mut ClientOut) {
        let began = self.batch.take().map_or(Vec::new(), |batch| batch.began);
        if let Some(consumer) = &mut self.consumer {
            for (partition, offset) in began {
                if consumer.seek(partition, offset).is_ok() {
                    out.observe(Observed::PositionSet { partition, offset });
                }
            }
        }
        self.steps.clear();
        self.steps.push_back(Step::CloseProducer);
    }

    /// A rebalance callback: what is open is aborted before the partitions go (K-CTP-3).
    pub(super) fn called_back(
        &mut self,
        callback: &RebalanceCallback,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) {
        let group = self.spec.consumer.group.expect("a member has a group");
        out.observe(callback.observed(group));
        self.in_callback = true;
        self.phase = Phase::Ready;
        let takes_away = !matches!(callback, RebalanceCallback::Assigned(_));
        if takes_away && self.batch.is_some() && !self.makes(Mistake::GroupMetadataLate) {
            rule!(cx.env, "K-CTP-3");
            self.steps.push_back(Step::AbortTransaction);
        }
    }

    /// The `poll()` in which it was called goes on.
    fn return_from_callback(&mut self, cx: &Cx<'_>) {
        self.in_callback = false;
        if let Some(consumer) = &mut self.consumer {
            consumer.callback_returned(cx.now());
        }
        self.phase = Phase::Consuming(Step::Poll);
    }

    /// A call of the consumer has returned.
    pub(super) fn consumer_returned(
        &mut self,
        result: Result<Returned, Exception>,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) {
        let phase = core::mem::replace(&mut self.phase, Phase::Ready);
        let Phase::Consuming(step) = phase else { panic!("nobody called the consumer") };
        match (step, result) {
            (Step::Poll, Ok(Returned::Polled(polled))) => self.polled(&polled, cx, out),
            (Step::Poll, _) => self.poll_threw(),
            (Step::Rewind(partition), Ok(Returned::Committed(offset))) => {
                self.rewound(partition, offset, cx, out);
            }
            (Step::Rewind(partition), _) => self.steps.push_front(Step::Rewind(partition)),
            _ => {}
        }
    }

    /// A consumer that cannot go on is opened anew, which rewinds as well.
    fn poll_threw(&mut self) {
        if self.batch.is_some() {
            self.steps.push_back(Step::AbortTransaction);
        }
        self.steps.push_back(Step::CloseConsumer);
        self.steps.push_back(Step::Pause(self.spec.restart_pause));
    }

    /// K-CTP-5: back to the committed offset, or to the beginning if there is none.
    fn rewound(
        &mut self,
        partition: TopicPartition,
        committed: Option<i64>,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) {
        rule!(cx.env, "K-CTP-5");
        let group = self.spec.consumer.group.expect("a member has a group");
        let offsets = [(partition, committed.unwrap_or(-1))].to_vec();
        out.observe(Observed::OffsetsFetched { group, offsets });
        let Some(consumer) = &mut self.consumer else { return };
        let sought = match committed {
            Some(offset) => {
                out.observe(Observed::PositionSet { partition, offset });
                consumer.seek(partition, offset)
            }
            None => consumer.seek_to_beginning(partition),
        };
        sought.expect("what is rewound is assigned, and committed offsets are not negative");
    }

    fn polled(&mut self, polled: &[PolledPartition], cx: &mut Cx<'_>, out: &mut ClientOut) {
        for one in polled {
            out.observe(one.clone().observed(self.spec.consumer.isolation_level));
        }
        // What the poll of a callback brings for partitions that stayed is ahead of the rewind.
        let is_idle = self.batch.is_none() && polled.iter().all(|one| one.records.is_empty());
        if self.must_rewind || self.session.producer.is_none() || is_idle {
            return;
        }
        self.begin_if_needed(cx);
        for one in polled {
            self.take_in(one, cx);
        }
        let batch = self.batch.as_mut().expect("begun above");
        batch.polls_left = batch.polls_left.saturating_sub(1);
        if batch.polls_left == 0 {
            self.end(cx);
        }
    }

    fn begin_if_needed(&mut self, cx: &mut Cx<'_>) {
        if self.batch.is_some() {
            return;
        }
        let metadata = self.consumer.as_ref().map_or(GroupMember::NONE, Consumer::group_metadata);
        self.batch = Some(Batch {
            polls_left: number(self.spec.polls, POLLS, cx),
            began: Vec::new(),
            offsets: Vec::new(),
            group_metadata: metadata,
        });
        self.steps.push_back(Step::BeginTransaction);
    }

    fn take_in(&mut self, polled: &PolledPartition, cx: &mut Cx<'_>) {
        for &(offset, _) in &polled.records {
            let pause = length(self.spec.record_pause, RECORD_PAUSE, cx);
            if pause > Duration::ZERO {
                self.steps.push_back(Step::Pause(pause));
            }
            for _ in 0..number(self.spec.results, RESULTS, cx) {
                self.steps.push_back(Step::Send { input: (polled.partition, offset) });
            }
        }
        let batch = self.batch.as_mut().expect("a transaction is open");
        let partition = polled.partition;
        if !batch.began.iter().any(|(known, _)| *known == partition) {
            batch.began.push((partition, polled.from));
        }
        batch.offsets.retain(|known| known.partition != partition);
        batch.offsets.push(polled.offset_behind());
    }

    /// The transaction's last steps.
    fn end(&mut self, cx: &mut Cx<'_>) {
        if !self.makes(Mistake::OffsetsOutsideTransaction) {
            self.steps.push_back(Step::SendOffsets);
        }
        let aborts = happens(self.spec.abort_per_mille, ABORT, cx);
        self.steps.push_back(if aborts { Step::AbortTransaction } else { Step::CommitTransaction });
    }
}
