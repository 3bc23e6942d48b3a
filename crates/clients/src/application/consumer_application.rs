//! An application that reads assigned partitions for ever.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use eosim_actor::{Actor, CrashKind, Cx, Event, Out};
use eosim_types::config::{AutoOffsetReset, ConsumerConfig};
use eosim_types::message::Message;
use eosim_types::observation::Observed;
use eosim_types::{ActorId, BrokerId, Instant, TopicPartition};

use super::alarm::Alarm;
use crate::consumer::{Consumer, PolledPartition};
use crate::network_client::ClientOut;
use crate::spec::ConsumerSpec;

/// An application that reads. A crash makes it read everything again.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ConsumerApplication {
    id: ActorId,
    spec: ConsumerSpec,
    brokers: Vec<BrokerId>,
    consumer: Option<Box<Consumer>>,
    /// When it polls next.
    next_poll: Instant,
    /// How many of the end-offset queries have been made; survives a crash.
    end_offset_queries: usize,
    alarm: Alarm,
    polled: Vec<PolledPartition>,
}

impl ConsumerApplication {
    /// The application described by `spec`; `brokers` is its `bootstrap.servers`.
    #[must_use]
    pub fn new(id: ActorId, spec: &ConsumerSpec, brokers: &[BrokerId]) -> Self {
        Self {
            id,
            spec: spec.clone(),
            brokers: brokers.to_vec(),
            consumer: None,
            next_poll: spec.start_at,
            end_offset_queries: 0,
            alarm: Alarm::OFF,
            polled: Vec::new(),
        }
    }

    /// Back to the state before the run.
    pub fn reset(&mut self) {
        self.forget();
        self.end_offset_queries = 0;
    }

    fn forget(&mut self) {
        self.consumer = None;
        self.next_poll = self.spec.start_at;
        self.alarm = Alarm::OFF;
    }

    /// The position in `partition`, if it has one.
    #[must_use]
    pub fn position(&self, partition: TopicPartition) -> Option<i64> {
        self.consumer.as_ref()?.position(partition)
    }

    pub(crate) fn consumer(&self) -> Option<&Consumer> {
        self.consumer.as_deref()
    }

    /// What it is waiting for, in words, if any partition has no position yet.
    #[must_use]
    pub fn waits_for(&self) -> Option<String> {
        let lost = |tp: &&TopicPartition| self.position(**tp).is_none();
        let without = self.spec.partitions.iter().find(lost)?;
        Some(format!("actor {}: a position in partition {without:?}", self.id))
    }

    fn run(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        if cx.now() < self.spec.start_at {
            return self.alarm.set(self.spec.start_at, out);
        }
        let mut consumer = self.consumer.take().unwrap_or_else(|| self.open());
        self.ask_for_end_offsets(&mut consumer, cx);
        consumer.advance(cx, out);
        while cx.now() >= self.next_poll && self.poll(&mut consumer, cx, out) {
            consumer.advance(cx, out);
        }
        consumer.observe_outcomes(out);
        let wake = consumer.next_wake(cx.now());
        let query = self.next_query(&consumer, cx.now());
        let own = if self.next_poll > cx.now() { self.next_poll } else { Instant::FAR };
        self.alarm.set(wake.min(own).min(query), out);
        self.consumer = Some(consumer);
    }

    fn open(&self) -> Box<Consumer> {
        let config = ConsumerConfig {
            auto_offset_reset: AutoOffsetReset::Earliest,
            ..self.spec.config.clone()
        };
        Box::new(Consumer::new(&config, &self.spec.partitions, &self.brokers))
    }

    /// When it asks for the ends again.
    fn next_query(&self, consumer: &Consumer, now: Instant) -> Instant {
        let next = self.spec.end_offsets_at.get(self.end_offset_queries);
        let next = next.filter(|_| !consumer.awaits_end_offsets());
        next.map_or(Instant::FAR, |at| (*at).max(now))
    }

    fn ask_for_end_offsets(&mut self, consumer: &mut Consumer, cx: &Cx<'_>) {
        let due = |at: &Instant| *at <= cx.now();
        if consumer.awaits_end_offsets() {
            return;
        }
        let asked = self.end_offset_queries;
        while self.spec.end_offsets_at.get(self.end_offset_queries).is_some_and(due) {
            self.end_offset_queries += 1;
        }
        if self.end_offset_queries > asked {
            consumer.request_end_offsets();
        }
    }

    /// One `poll()`; `true` if it moved a position.
    fn poll(&mut self, consumer: &mut Consumer, cx: &mut Cx<'_>, out: &mut ClientOut) -> bool {
        // Whatever is thrown, the next poll may do better.
        let _thrown = consumer.poll(cx, &mut self.polled);
        let moved = !self.polled.is_empty();
        if moved {
            self.next_poll = cx.now() + self.spec.poll_interval;
        }
        for polled in self.polled.drain(..) {
            out.observe(polled.observed(self.spec.config.isolation_level));
        }
        moved
    }
}

impl Actor for ConsumerApplication {
    type Message = Message;
    type Observation = Observed;

    fn step(&mut self, cx: &mut Cx<'_>, event: Event<Message>, out: &mut Out<Message, Observed>) {
        match event {
            Event::Started => {}
            Event::Timer(_) => self.alarm.rang(),
            Event::Response { correlation, message: Message::Response(response) } => {
                if let Some(consumer) = &mut self.consumer {
                    consumer.arrived(correlation, Some(response));
                }
            }
            Event::Disconnected { correlation } => {
                if let Some(consumer) = &mut self.consumer {
                    consumer.arrived(correlation, None);
                }
            }
            Event::StopRequested => return out.exit(),
            Event::Response { .. } | Event::Request { .. } => {
                panic!("a client was sent a request: {event:?}")
            }
        }
        self.run(cx, out);
    }

    fn crash(&mut self, _: CrashKind) {
        self.forget();
    }
}
