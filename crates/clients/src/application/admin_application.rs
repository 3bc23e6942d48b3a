//! An operator's script: elections, reassignments, deletions, hanging transactions.
//!
//! Invariant: one request at a time; a step is over when it was answered without a retriable
//! error, or after [`ATTEMPTS`] attempts.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use eosim_actor::{Actor, Correlation, CrashKind, Cx, Event, Lane, Out};
use eosim_types::message::{Message, Response};
use eosim_types::observation::Observed;
use eosim_types::{ActorId, BrokerId, Duration, Instant};

use super::admin_call::{AdminCall, Progress};
use super::alarm::Alarm;
use crate::network_client::ClientOut;
use crate::spec::{AdminSpec, AdminStep};

/// The pause before a step is tried again.
const RETRY_BACKOFF: Duration = Duration::from_millis(100);
/// How long an answer is waited for.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(30_000);
/// How often a step is tried.
const ATTEMPTS: u32 = 600;

/// An operator.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AdminApplication {
    spec: AdminSpec,
    brokers: Vec<BrokerId>,
    /// The step under way.
    at: usize,
    attempts: u32,
    /// The request in flight: its name, to whom it went.
    open: Option<(Correlation, ActorId)>,
    /// How far the step is, once it is begun.
    call: Option<AdminCall>,
    /// Nothing is sent before.
    not_before: Instant,
    next_correlation: u32,
    alarm: Alarm,
}

impl AdminApplication {
    /// The operator described by `spec`; `brokers` is its `bootstrap.servers`.
    #[must_use]
    pub fn new(spec: &AdminSpec, brokers: &[BrokerId]) -> Self {
        Self {
            spec: spec.clone(),
            brokers: brokers.to_vec(),
            at: 0,
            attempts: 0,
            open: None,
            call: None,
            not_before: Instant::START,
            next_correlation: 0,
            alarm: Alarm::OFF,
        }
    }

    /// Back to the state before the run.
    pub fn reset(&mut self) {
        *self = Self::new(&self.spec, &self.brokers);
    }

    /// Has the script been played to its end?
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.at >= self.spec.steps.len()
    }

    /// What it is waiting for, in words, if it is.
    #[must_use]
    pub fn waits_for(&self) -> Option<String> {
        let step = self.spec.steps.get(self.at)?;
        Some(format!("the operator's step {}: {step:?}", self.at))
    }

    fn run(&mut self, cx: &Cx<'_>, out: &mut ClientOut) {
        while let Some(step) = self.spec.steps.get(self.at).cloned() {
            if self.open.is_some() {
                return self.give_up_late(cx, out);
            }
            if let AdminStep::PauseUntil(until) = step {
                if cx.now() < until {
                    return self.alarm.set(until, out);
                }
                self.next_step();
                continue;
            }
            if cx.now() < self.not_before {
                return self.alarm.set(self.not_before, out);
            }
            self.send(cx, &step, out);
        }
    }

    /// Waits for the answer, but not for ever: the connection is closed and the step tried again.
    fn give_up_late(&mut self, cx: &Cx<'_>, out: &mut ClientOut) {
        let deadline = self.not_before + REQUEST_TIMEOUT;
        if let Some((_, to)) = self.open
            && cx.now() >= deadline
        {
            out.close(to, Lane(0));
            self.open = None;
            self.retry(cx);
            return self.alarm.set(self.not_before, out);
        }
        self.alarm.set(deadline, out);
    }

    fn send(&mut self, cx: &Cx<'_>, step: &AdminStep, out: &mut ClientOut) {
        let turn = usize::try_from(self.attempts).unwrap_or(0) % self.brokers.len();
        let ask = self.brokers[turn];
        let call = self.call.get_or_insert_with(|| AdminCall::new(step, ask));
        let (to, request) = call.request();
        let correlation = Correlation(self.next_correlation);
        self.next_correlation += 1;
        self.open = Some((correlation, to));
        self.not_before = cx.now();
        out.send(to, Lane(0), correlation, Message::Request(request));
    }

    fn next_step(&mut self) {
        self.at += 1;
        self.attempts = 0;
        self.call = None;
    }

    fn retry(&mut self, cx: &Cx<'_>) {
        self.attempts += 1;
        self.call = None;
        self.not_before = cx.now() + RETRY_BACKOFF;
        if self.attempts >= ATTEMPTS {
            self.next_step();
        }
    }

    fn arrived(&mut self, cx: &mut Cx<'_>, correlation: Correlation, response: Option<&Response>) {
        if self.open.is_none_or(|(open, _)| open != correlation) {
            return;
        }
        self.open = None;
        let answered = self.call.as_mut().zip(response);
        match answered.map_or(Progress::Retry, |(call, response)| call.answered(cx, response)) {
            Progress::Continues => {}
            Progress::Over => self.next_step(),
            Progress::Retry => self.retry(cx),
        }
    }
}

impl Actor for AdminApplication {
    type Message = Message;
    type Observation = Observed;

    fn step(&mut self, cx: &mut Cx<'_>, event: Event<Message>, out: &mut Out<Message, Observed>) {
        match event {
            Event::Started => {}
            Event::Timer(_) => self.alarm.rang(),
            Event::Response { correlation, message: Message::Response(response) } => {
                self.arrived(cx, correlation, Some(&response));
            }
            Event::Disconnected { correlation } => self.arrived(cx, correlation, None),
            Event::StopRequested => return out.exit(),
            Event::Response { .. } | Event::Request { .. } => {
                panic!("a client was sent a request: {event:?}")
            }
        }
        self.run(cx, out);
    }

    /// A crash forgets the request under way; the step is tried again.
    fn crash(&mut self, _: CrashKind) {
        self.open = None;
        self.call = None;
        self.alarm = Alarm::OFF;
    }
}
