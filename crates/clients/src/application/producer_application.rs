//! An application that owns a producer (P-APP): the actor, its sessions, and what survives a
//! crash.
//!
//! Invariants: a producer that was fenced stays closed; values never repeat, not even over
//! sessions; a call that timed out is called again and no other (P-API-4).

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use eosim_actor::{Actor, CrashKind, Cx, Event, Out};
use eosim_types::message::Message;
use eosim_types::observation::Observed;
use eosim_types::{ActorId, BrokerId, Duration, ErrorCode, Instant, TopicPartition, Value};

use super::alarm::Alarm;
use super::plan::plan_transaction;
use super::producer_session::ProducerSession;
use super::two_phase::{ExternalStore, plan_batch};
use crate::network_client::ClientOut;
use crate::producer::{CallId, Producer, State};
use crate::spec::{ProducerSpec, ProducerWorkload, ScriptStep};

/// What the application is doing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    /// Its process has not begun, or is dead.
    Down,
    /// About to take its next step.
    Ready,
    /// Pausing.
    Pausing(Instant),
    /// In a call.
    Calling(CallId, ScriptStep),
    /// In a batch sent by hand.
    Raw(CallId, TopicPartition, Vec<Value>),
    /// All is done.
    Finished,
}

/// An application that writes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ProducerApplication {
    pub(super) id: ActorId,
    pub(super) spec: ProducerSpec,
    brokers: Vec<BrokerId>,
    pub(super) session: ProducerSession,
    /// Survives a crash, like the next three.
    values: u64,
    transactions_planned: u32,
    script_position: usize,
    pub(super) store: ExternalStore,
    pub(super) phase: Phase,
    pub(super) steps: VecDeque<ScriptStep>,
    pub(super) initialized: bool,
    pub(super) fenced: bool,
    alarm: Alarm,
}

impl ProducerApplication {
    /// The application described by `spec`; `brokers` is its `bootstrap.servers`.
    #[must_use]
    pub fn new(id: ActorId, spec: &ProducerSpec, brokers: &[BrokerId]) -> Self {
        Self {
            id,
            spec: spec.clone(),
            brokers: brokers.to_vec(),
            session: ProducerSession::new(id),
            values: 0,
            transactions_planned: 0,
            script_position: 0,
            store: ExternalStore::default(),
            phase: Phase::Down,
            steps: VecDeque::new(),
            initialized: false,
            fenced: false,
            alarm: Alarm::OFF,
        }
    }

    /// Back to the state before the run.
    pub fn reset(&mut self) {
        self.session.reset();
        self.forget();
        (self.values, self.transactions_planned, self.script_position) = (0, 0, 0);
        self.store = ExternalStore::default();
    }

    /// Has it done all that its workload asks, or given up for good?
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    /// The state of its producer, if it has one.
    #[must_use]
    pub fn producer_state(&self) -> Option<State> {
        self.session.state()
    }

    pub(crate) const fn session(&self) -> &ProducerSession {
        &self.session
    }

    /// What it is waiting for, in words; `None` when it is finished or pauses by its own will.
    #[must_use]
    pub fn waits_for(&self) -> Option<String> {
        let state = self.session.state().map_or("no producer", State::name);
        match &self.phase {
            Phase::Calling(_, step) => Some(format!("{} in {state}", step.call_name())),
            Phase::Raw(..) => Some(format!("the answer to a batch sent by hand, in {state}")),
            Phase::Down | Phase::Ready | Phase::Pausing(_) | Phase::Finished => None,
        }
    }

    /// What dies with the process.
    fn forget(&mut self) {
        self.phase = Phase::Down;
        self.steps.clear();
        self.initialized = false;
        self.fenced = false;
        self.alarm = Alarm::OFF;
    }

    fn start(&mut self, cx: &Cx<'_>, out: &mut ClientOut) {
        self.session.started(out);
        if !self.is_finished() {
            self.phase = Phase::Pausing(self.spec.start_at.max(cx.now()));
        }
    }

    /// Opens a session.
    pub(super) fn open(&mut self, out: &mut ClientOut) {
        let transactional_id = self.spec.transactional_id;
        self.session.open(&self.spec.config, transactional_id, &self.brokers, out);
        self.initialized = transactional_id.is_none();
    }

    /// Makes sure that there are steps to take, if there ever will be.
    pub(super) fn plan(&mut self, cx: &mut Cx<'_>) {
        let Self { spec, steps, values, id, store, .. } = self;
        let next_value = || {
            *values += 1;
            Value::numbered(u32::from(id.0), *values - 1)
        };
        match &spec.workload {
            ProducerWorkload::Script(script) => {
                steps.extend(script.get(self.script_position).cloned());
                self.script_position += 1;
            }
            ProducerWorkload::TwoPhase(_) if store.recover(steps) => {}
            ProducerWorkload::Random(_) | ProducerWorkload::TwoPhase(_) if !self.initialized => {
                steps.push_back(ScriptStep::InitTransactions);
            }
            ProducerWorkload::Random(workload) => {
                if self.transactions_planned < workload.transactions {
                    self.transactions_planned += 1;
                    let is_transactional = spec.transactional_id.is_some();
                    plan_transaction(workload, is_transactional, next_value, cx, steps);
                } else if self.session.producer.is_some() {
                    steps.push_back(ScriptStep::Close);
                }
            }
            ProducerWorkload::TwoPhase(workload) => {
                if store.has_work(workload) {
                    let has_prepare = spec.config.transaction_two_phase_commit_enable;
                    plan_batch(workload, has_prepare, next_value, cx, steps);
                } else if self.session.producer.is_some() {
                    steps.push_back(ScriptStep::Close);
                }
            }
        }
    }

    /// Is the application one that repairs what goes wrong (P-APP), not a script?
    pub(super) const fn is_self_willed(&self) -> bool {
        !matches!(self.spec.workload, ProducerWorkload::Script(_))
    }

    /// How long the process takes to come back, if there is anything left for it to do.
    fn restart_pause(&self) -> Option<Duration> {
        match &self.spec.workload {
            ProducerWorkload::Random(workload) => {
                let has_work = self.transactions_planned < workload.transactions;
                has_work.then_some(workload.restart_pause)
            }
            ProducerWorkload::TwoPhase(workload) => {
                self.store.has_work(workload).then_some(workload.batches.restart_pause)
            }
            ProducerWorkload::Script(_) => None,
        }
    }

    /// After `close()`: a fenced producer is not opened again, another one after a pause.
    pub(super) fn after_close(&mut self) {
        self.initialized = self.spec.transactional_id.is_none();
        if self.fenced && self.is_self_willed() {
            self.phase = Phase::Finished;
        } else if let Some(pause) = self.restart_pause() {
            self.steps.push_back(ScriptStep::Pause(pause));
        } else if self.is_self_willed() {
            self.phase = Phase::Finished;
        }
    }

    /// Runs application and sender until both wait. Steps of the application follow each other at
    /// once; the sender goes on when the application waits, or by chance before (P-MOD-5).
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
            if !self.session.producer.as_mut().is_some_and(|producer| producer.turn(cx, out)) {
                break;
            }
        }
        let own = if let Phase::Pausing(until) = self.phase { until } else { Instant::FAR };
        let wake = self.session.producer.as_ref().map_or(Instant::FAR, Producer::next_wake);
        self.alarm.set(own.min(wake), out);
    }
}

impl Actor for ProducerApplication {
    type Message = Message;
    type Observation = Observed;

    fn step(&mut self, cx: &mut Cx<'_>, event: Event<Message>, out: &mut Out<Message, Observed>) {
        match event {
            Event::Started => self.start(cx, out),
            Event::Timer(_) => self.alarm.rang(),
            Event::Response { correlation, message: Message::Response(response) } => {
                if let Some(producer) = &mut self.session.producer {
                    producer.arrived(correlation, Some(response));
                }
            }
            Event::Disconnected { correlation } => {
                if let Some(producer) = &mut self.session.producer {
                    producer.arrived(correlation, None);
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
        let finished = self.is_finished();
        self.session.crash();
        self.forget();
        if finished {
            self.phase = Phase::Finished;
        }
    }
}

/// What the application makes of a fatal error: fenced, or something else.
pub(super) const fn is_fencing(error: ErrorCode) -> bool {
    matches!(error, ErrorCode::ProducerFenced | ErrorCode::InvalidProducerEpoch)
}
