//! An application that reads a topic as a member of a group and commits what it has read: every
//! record is delivered to some member at least once.
//!
//! Invariants: a position is committed only after the records before it were delivered; at most one
//! call waits.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use eosim_actor::{Actor, Correlation, CrashKind, Cx, Event, Out, Site, Stream};
use eosim_types::config::ConsumerConfig;
use eosim_types::message::{CommittableOffset, Message, Response};
use eosim_types::observation::Observed;
use eosim_types::{ActorId, BrokerId, Duration, Instant, TopicPartition};

use super::alarm::Alarm;
use super::plan::{happens, length};
use crate::consumer::{Consumer, ConsumerCall, PolledPartition, Returned};
use crate::exception::Exception;
use crate::network_client::ClientOut;
use crate::spec::{CommitMode, GroupConsumerSpec};

const RECORD_PAUSE: Site = Site::new("group_consumer.record_pause", Stream::Workload);
const LEAVE: Site = Site::new("group_consumer.leave", Stream::Workload);

/// How long one `poll()` waits.
const POLL_TIMEOUT: Duration = Duration::from_millis(500);
/// How long `commitSync()` waits.
const COMMIT_TIMEOUT: Duration = Duration::from_millis(5_000);

/// One step of the application's thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Step {
    Pause(Duration),
    Poll,
    /// `commitSync()` or `commitAsync()`, as the application does it.
    Commit(Vec<CommittableOffset>),
    /// It leaves its group.
    Close,
}

/// What the application is doing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    /// Its process has not begun, or is dead.
    Down,
    Ready,
    Pausing(Instant),
    /// In `poll()` or `commitSync()`.
    Calling,
}

/// The application.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GroupConsumerApplication {
    id: ActorId,
    spec: GroupConsumerSpec,
    brokers: Vec<BrokerId>,
    /// How many consumers it has opened; survives a crash.
    consumers: u32,
    consumer: Option<Consumer>,
    phase: Phase,
    steps: VecDeque<Step>,
    alarm: Alarm,
}

impl GroupConsumerApplication {
    /// The application described by `spec`; `brokers` is its `bootstrap.servers`.
    #[must_use]
    pub fn new(id: ActorId, spec: &GroupConsumerSpec, brokers: &[BrokerId]) -> Self {
        Self {
            id,
            spec: spec.clone(),
            brokers: brokers.to_vec(),
            consumers: 0,
            consumer: None,
            phase: Phase::Down,
            steps: VecDeque::new(),
            alarm: Alarm::OFF,
        }
    }

    /// Back to the state before the run.
    pub fn reset(&mut self) {
        self.forget();
        self.consumers = 0;
    }

    fn forget(&mut self) {
        self.consumer = None;
        self.phase = Phase::Down;
        self.steps.clear();
        self.alarm = Alarm::OFF;
    }

    /// Does it own `partition`, and has it read everything below `bound`?
    #[must_use]
    pub fn has_read(&self, partition: TopicPartition, bound: i64) -> bool {
        let position = self.consumer.as_ref().and_then(|consumer| consumer.position(partition));
        position.is_some_and(|position| position >= bound)
    }

    pub(crate) const fn consumer(&self) -> Option<&Consumer> {
        self.consumer.as_ref()
    }

    /// What it is waiting for, in words, if it is in a call.
    #[must_use]
    pub fn waits_for(&self) -> Option<String> {
        let owned = self.consumer.as_ref().map_or(0, |consumer| consumer.assignment().len());
        let calls = self.phase == Phase::Calling;
        calls.then(|| format!("actor {}: a call with {owned} partitions assigned", self.id))
    }

    fn open(&mut self, now: Instant) {
        let config = ConsumerConfig {
            enable_auto_commit: self.spec.commit == CommitMode::Auto,
            ..self.spec.config.clone()
        };
        let mut consumer = Consumer::new(&config, &[], &self.brokers);
        let member = u32::from(self.id.0) << 16 | self.consumers;
        self.consumers += 1;
        consumer.subscribe(&[self.spec.topic], member, now);
        self.consumer = Some(consumer);
    }

    /// Runs application and consumer until both wait.
    fn run(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        while self.go_on(cx, out) || self.turn_consumer(cx, out) {}
        let own = if let Phase::Pausing(until) = self.phase { until } else { Instant::FAR };
        let consumer = self.consumer.as_ref().map_or(Instant::FAR, |c| c.next_wake(cx.now()));
        self.alarm.set(own.min(consumer), out);
    }

    /// Takes the next step if the application is not waiting; `true` if it did.
    fn go_on(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) -> bool {
        match self.phase {
            Phase::Pausing(until) if cx.now() >= until => self.phase = Phase::Ready,
            Phase::Ready => self.next_step(cx, out),
            _ => return false,
        }
        true
    }

    fn next_step(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let step = self.steps.pop_front().unwrap_or(Step::Poll);
        if self.consumer.is_none() && step == Step::Poll {
            self.open(cx.now());
        }
        let Some(consumer) = self.consumer.as_mut() else {
            if let Step::Pause(length) = step {
                self.phase = Phase::Pausing(cx.now() + length);
            }
            return;
        };
        match step {
            Step::Pause(length) => self.phase = Phase::Pausing(cx.now() + length),
            Step::Poll => {
                consumer.call(ConsumerCall::Poll { timeout: POLL_TIMEOUT }, cx.now());
                self.phase = Phase::Calling;
            }
            Step::Commit(offsets) if self.spec.commit == CommitMode::Async => {
                consumer.commit_async(&offsets, cx, out);
            }
            Step::Commit(offsets) => {
                let call = ConsumerCall::CommitSync { offsets, timeout: COMMIT_TIMEOUT };
                consumer.call(call, cx.now());
                self.phase = Phase::Calling;
            }
            Step::Close => {
                consumer.close(cx, out);
                self.consumer = None;
            }
        }
    }

    /// Lets the consumer go on; `true` if the application has something to do about it.
    fn turn_consumer(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) -> bool {
        let Some(consumer) = self.consumer.as_mut() else { return false };
        let returned = consumer.turn(cx, out);
        consumer.observe_outcomes(out);
        let callback = consumer.callback().cloned();
        if let Some(callback) = &callback {
            let group = self.spec.config.group.expect("a member has a group");
            out.observe(callback.observed(group));
            // Whatever was read is committed, or will be read again by somebody else.
            consumer.callback_returned(cx.now());
        }
        if let Some(result) = &returned {
            self.phase = Phase::Ready;
            self.call_returned(result, cx, out);
        }
        returned.is_some() || callback.is_some()
    }

    fn call_returned(
        &mut self,
        result: &Result<Returned, Exception>,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) {
        match result {
            Ok(Returned::Polled(polled)) => self.polled(polled, cx, out),
            // What a failed commit would have covered is covered by the next one, or read again.
            Err(thrown) if thrown.is_retriable() || thrown.is_about_the_commit() => {}
            Err(_) => {
                self.steps.clear();
                self.leave_for_a_while();
            }
            Ok(_) => {}
        }
    }

    fn leave_for_a_while(&mut self) {
        self.steps.push_back(Step::Close);
        self.steps.push_back(Step::Pause(self.spec.restart_pause));
    }

    /// The records are delivered; then their positions are committed.
    fn polled(&mut self, polled: &[PolledPartition], cx: &mut Cx<'_>, out: &mut ClientOut) {
        if polled.is_empty() {
            return;
        }
        for one in polled {
            out.observe(one.clone().observed(self.spec.config.isolation_level));
            for _ in &one.records {
                let pause = length(self.spec.record_pause, RECORD_PAUSE, cx);
                if pause > Duration::ZERO {
                    self.steps.push_back(Step::Pause(pause));
                }
            }
        }
        if self.spec.commit != CommitMode::Auto {
            let offsets = polled.iter().map(PolledPartition::offset_behind).collect();
            self.steps.push_back(Step::Commit(offsets));
        }
        if happens(self.spec.leave_per_mille, LEAVE, cx) {
            self.leave_for_a_while();
        }
    }

    fn arrived(&mut self, correlation: Correlation, response: Option<Response>) {
        if let Some(consumer) = &mut self.consumer {
            consumer.arrived(correlation, response);
        }
    }
}

impl Actor for GroupConsumerApplication {
    type Message = Message;
    type Observation = Observed;

    fn step(&mut self, cx: &mut Cx<'_>, event: Event<Message>, out: &mut Out<Message, Observed>) {
        match event {
            Event::Started => self.phase = Phase::Pausing(self.spec.start_at.max(cx.now())),
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

    /// The next life goes on from committed offsets.
    fn crash(&mut self, _: CrashKind) {
        self.forget();
    }
}
