//! Consume–transform–produce (K-CTP): the actor, its process, and the loop of its one thread.
//!
//! Invariants: values never repeat, not even over lives of the process; at most one call waits;
//! while a rebalance callback runs nothing but its own steps is taken.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use eosim_actor::{Actor, Correlation, CrashKind, Cx, Event, Out};
use eosim_types::message::{CommittableOffset, GroupMember, Message, Response};
use eosim_types::observation::Observed;
use eosim_types::{ActorId, BrokerId, Duration, Instant, TopicPartition, Value};

use super::alarm::Alarm;
use super::producer_session::ProducerSession;
use crate::consumer::Consumer;
use crate::network_client::ClientOut;
use crate::producer::{CallId, Producer, State};
use crate::spec::TransformerSpec;

/// One step of the application's thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Step {
    /// Nothing for so long.
    Pause(Duration),
    /// `initTransactions()`.
    InitTransactions,
    /// `poll()`.
    Poll,
    /// `beginTransaction()`.
    BeginTransaction,
    /// `send()` of one result of an input record.
    Send { input: (TopicPartition, i64) },
    /// `sendOffsetsToTransaction()`.
    SendOffsets,
    /// `commitTransaction()`.
    CommitTransaction,
    /// `abortTransaction()`.
    AbortTransaction,
    /// `committed()` and `seek()` to it.
    Rewind(TopicPartition),
    /// `commitSync()`, which nobody should do here.
    CommitSync(Vec<CommittableOffset>),
    /// `close()` of the producer.
    CloseProducer,
    /// `close()` of the consumer: it leaves its group.
    CloseConsumer,
}

/// What the application is doing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    /// Its process has not begun, or is dead.
    Down,
    /// About to take its next step.
    Ready,
    /// Pausing.
    Pausing(Instant),
    /// In a call of the producer.
    Producing(CallId, Step),
    /// In a call of the consumer.
    Consuming(Step),
    /// It has stopped for good.
    Finished,
}

/// What one transaction is made of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Batch {
    /// Polls until it ends.
    pub(super) polls_left: u32,
    /// Where its input begins in each partition.
    pub(super) began: Vec<(TopicPartition, i64)>,
    /// The positions behind what was taken in.
    pub(super) offsets: Vec<CommittableOffset>,
    /// `groupMetadata()` as it was when the first records came (K-CTP-3).
    pub(super) group_metadata: GroupMember,
}

/// The application.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TransformerApplication {
    pub(super) id: ActorId,
    pub(super) spec: TransformerSpec,
    brokers: Vec<BrokerId>,
    /// Values made so far; survives a crash, like the next one.
    values: u64,
    consumers: u32,
    pub(super) session: ProducerSession,
    pub(super) consumer: Option<Consumer>,
    pub(super) phase: Phase,
    pub(super) steps: VecDeque<Step>,
    pub(super) batch: Option<Batch>,
    /// Positions are ahead of what was committed (K-CTP-5).
    pub(super) must_rewind: bool,
    /// The steps are those of a rebalance callback.
    pub(super) in_callback: bool,
    pub(super) fenced: bool,
    alarm: Alarm,
}

impl TransformerApplication {
    /// The application described by `spec`; `brokers` is its `bootstrap.servers`.
    #[must_use]
    pub fn new(id: ActorId, spec: &TransformerSpec, brokers: &[BrokerId]) -> Self {
        Self {
            id,
            spec: spec.clone(),
            brokers: brokers.to_vec(),
            values: 0,
            consumers: 0,
            session: ProducerSession::new(id),
            consumer: None,
            phase: Phase::Down,
            steps: VecDeque::new(),
            batch: None,
            must_rewind: false,
            in_callback: false,
            fenced: false,
            alarm: Alarm::OFF,
        }
    }

    /// Back to the state before the run.
    pub fn reset(&mut self) {
        self.forget();
        self.session.reset();
        (self.values, self.consumers) = (0, 0);
    }

    /// What dies with the process.
    fn forget(&mut self) {
        self.consumer = None;
        self.phase = Phase::Down;
        self.steps.clear();
        self.batch = None;
        self.must_rewind = false;
        self.in_callback = false;
        self.fenced = false;
        self.alarm = Alarm::OFF;
    }

    /// Has it stopped for good?
    #[must_use]
    pub fn has_stopped(&self) -> bool {
        self.phase == Phase::Finished
    }

    /// Does it own `partition`, and has it committed everything below `bound`?
    #[must_use]
    pub fn has_transformed(&self, partition: TopicPartition, bound: i64) -> bool {
        let position = self.consumer.as_ref().and_then(|consumer| consumer.position(partition));
        let idle = self.batch.is_none() && !self.must_rewind && self.phase != Phase::Down;
        idle && position.is_some_and(|position| position >= bound)
    }

    pub(crate) const fn session(&self) -> &ProducerSession {
        &self.session
    }

    pub(crate) const fn consumer(&self) -> Option<&Consumer> {
        self.consumer.as_ref()
    }

    /// What it is waiting for, in words, if it is in a call.
    #[must_use]
    pub fn waits_for(&self) -> Option<String> {
        let state = self.session.state().map_or("no producer", State::name);
        match &self.phase {
            Phase::Producing(_, step) | Phase::Consuming(step) => {
                let what = step.call_name();
                let aside = if self.in_callback { " in a rebalance callback" } else { "" };
                Some(format!("{what}{aside}, producer in {state}"))
            }
            _ => None,
        }
    }

    /// Opens a producer.
    pub(super) fn open_producer(&mut self, out: &mut ClientOut) {
        let id = Some(self.spec.transactional_id);
        self.session.open(&self.spec.producer, id, &self.brokers, out);
    }

    /// Opens a consumer and subscribes it.
    pub(super) fn open_consumer(&mut self, now: Instant) {
        let mut consumer = Consumer::new(&self.spec.consumer, &[], &self.brokers).beside_producer();
        let member = u32::from(self.id.0) << 16 | self.consumers;
        self.consumers += 1;
        consumer.subscribe(&[self.spec.input], member, now);
        self.consumer = Some(consumer);
    }

    pub(super) fn next_value(&mut self) -> Value {
        self.values += 1;
        Value::numbered(u32::from(self.id.0), self.values - 1)
    }

    /// Runs application, sender and consumer until all wait.
    fn run(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        loop {
            while let Some(outcome) = self.session.producer.as_mut().and_then(Producer::pop_outcome)
            {
                self.learn(outcome, cx, out);
            }
            if self.go_on(cx, out) {
                if let Some(producer) = &mut self.session.producer {
                    producer.let_sender_in(cx, out);
                }
                continue;
            }
            let sender = self.session.producer.as_mut().is_some_and(|p| p.turn(cx, out));
            if !self.turn_consumer(cx, out) && !sender {
                break;
            }
        }
        let own = if let Phase::Pausing(until) = self.phase { until } else { Instant::FAR };
        let sender = self.session.producer.as_ref().map_or(Instant::FAR, Producer::next_wake);
        let consumer = self.consumer.as_ref().map_or(Instant::FAR, |c| c.next_wake(cx.now()));
        self.alarm.set(own.min(sender).min(consumer), out);
    }

    /// Lets the consumer go on; `true` if the application has something to do about it.
    fn turn_consumer(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) -> bool {
        let Some(consumer) = self.consumer.as_mut() else { return false };
        let returned = consumer.turn(cx, out);
        consumer.observe_outcomes(out);
        if let Some(result) = returned {
            self.consumer_returned(result, cx, out);
            return true;
        }
        let callback = consumer.callback().filter(|_| !self.in_callback).cloned();
        callback.inspect(|callback| self.called_back(callback, cx, out)).is_some()
    }

    fn arrived(&mut self, correlation: Correlation, response: Option<Response>) {
        if Consumer::is_own(correlation) {
            if let Some(consumer) = &mut self.consumer {
                consumer.arrived(correlation, response);
            }
        } else if let Some(producer) = &mut self.session.producer {
            producer.arrived(correlation, response);
        }
    }
}

impl Actor for TransformerApplication {
    type Message = Message;
    type Observation = Observed;

    fn step(&mut self, cx: &mut Cx<'_>, event: Event<Message>, out: &mut Out<Message, Observed>) {
        match event {
            Event::Started => {
                self.session.started(out);
                if !self.has_stopped() {
                    self.phase = Phase::Pausing(self.spec.start_at.max(cx.now()));
                }
            }
            Event::Timer(_) => self.alarm.rang(),
            Event::Response { correlation, message: Message::Response(response) } => {
                self.arrived(correlation, Some(response));
            }
            Event::Disconnected { correlation } => self.arrived(correlation, None),
            Event::StopRequested => return out.exit(),
            Event::Response { .. } | Event::Request { .. } => {
                panic!("a client was sent a request: {event:?}")
            }
        }
        self.run(cx, out);
    }

    /// The next life begins with the same transactional id and goes on from committed offsets.
    fn crash(&mut self, _: CrashKind) {
        let stopped = self.has_stopped();
        self.session.crash();
        self.forget();
        if stopped {
            self.phase = Phase::Finished;
        }
    }
}
