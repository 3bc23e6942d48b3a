//! The world: it takes one event after the other and does what actors decide.
//!
//! Invariants:
//! - Time never goes back; events of one instant come in the order in which they were queued.
//! - Everything left to chance is asked of [`World::choices`], so equal choices make equal runs.
//! - In the steady state nothing is allocated; [`World::reset`] keeps all memory.

/// What a fault is told, with the world's fields borrowed one by one.
macro_rules! fault_cx {
    ($world:expr) => {
        crate::fault::FaultCx {
            now: $world.now,
            cause: crate::fault::Cause::OUTSIDE,
            choices: &mut $world.choices,
            orders: &mut $world.orders,
        }
    };
}

/// What an actor is told of its surroundings, with the world's fields borrowed one by one.
macro_rules! env {
    ($world:expr, $node:expr) => {
        eosim_types::Env {
            now: $world.now,
            clock_skew_ms: $node.clock_skew_ms,
            kafka: $node.kafka,
            backports: $world.settings.backports,
            defects: $world.settings.defects,
            marks: &mut $world.marks,
        }
    };
}

mod connection;
mod drive;
mod links;
mod network;
mod operate;
mod process;
mod queue;
mod slab;
#[cfg(test)]
mod tests;

use std::hash::{Hash, Hasher};

use eosim_actor::{Actor, Choices, CrashKind, Cx, Effect, Event, Out};
use eosim_types::digest::Digest;
use eosim_types::{ActorId, CapabilitySet, DefectSet, Instant, Marks};

use crate::fault::{FaultHook, Order, Range};
use crate::listener::{Listener, Stamp};
use connection::{Connection, Request};
use links::Links;
use network::{Held, timer_body};
use process::{Condition, Process};
use queue::{Body, Queue};
use slab::Slab;

pub use drive::{Limits, Stop};
pub use network::request_number;
pub use process::{Node, Upgrade};

/// How long a message travels, drawn for each between two bounds.
pub type Latency = Range;

/// What holds for a whole run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Settings {
    /// How long a message travels; at least 1 µs.
    pub latency: Latency,
    /// Which defects and upstream findings are put back.
    pub defects: DefectSet,
    /// What all nodes have besides what their releases have.
    pub backports: CapabilitySet,
}

impl Default for Settings {
    fn default() -> Self {
        let (defects, backports) = (DefectSet::NONE, CapabilitySet::NONE);
        Self { latency: Latency::from_millis(1, 10), defects, backports }
    }
}

/// One step that was taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StepInfo {
    /// When.
    pub at: Instant,
    /// By whom.
    pub actor: ActorId,
}

/// A world of actors of type `A`, with its ports to the outside: choices, faults, listener.
///
/// An actor's id is its place in the list of actors. Ids from there on belong to *outsiders*: they
/// have connections as actors have, but what happens to them is kept for the caller.
///
/// Aligned so that the hot fields of two workers' worlds never share a cache line.
#[derive(Clone, Debug)]
#[repr(align(128))]
pub struct World<A: Actor, C, F, L> {
    /// The source of chance.
    pub choices: C,
    /// The faults.
    pub faults: F,
    /// Who hears of it.
    pub listener: L,
    /// What holds for the run; to be changed only between runs.
    pub settings: Settings,
    /// How often each rule was reached, summed over all runs until the caller takes it away.
    pub marks: Marks,
    now: Instant,
    steps: u64,
    delivered: u64,
    digest: Digest,
    actors: Vec<A>,
    processes: Vec<Process>,
    queue: Queue,
    /// How many latencies there are to choose from.
    latencies: u32,
    /// The fault hook wants to hear of every step.
    looks_at_states: bool,
    /// Queued events that are timers' or orders': nothing that is under way.
    background: usize,
    request_count: u32,
    requests: Slab<Request<A::Message>>,
    connections: Slab<Connection>,
    held: Vec<Held>,
    links: Links,
    orders: Vec<Order>,
    scheduled: Slab<Option<Order>>,
    out: Out<A::Message, A::Observation>,
    mail: Vec<(Stamp, Event<A::Message>)>,
}

impl<A, C, F, L> World<A, C, F, L>
where
    A: Actor,
    A::Message: Clone + Hash,
    C: Choices,
    F: FaultHook<A::Message>,
    L: Listener<A::Message, A::Observation>,
{
    /// A world without actors. [`Self::reset`] begins a run.
    pub fn new(choices: C, faults: F, listener: L) -> Self {
        Self {
            choices,
            faults,
            listener,
            settings: Settings::default(),
            marks: Marks::new(),
            now: Instant::START,
            steps: 0,
            delivered: 0,
            digest: Digest::new(),
            actors: Vec::new(),
            processes: Vec::new(),
            queue: Queue::default(),
            latencies: 1,
            looks_at_states: false,
            background: 0,
            request_count: 0,
            requests: Slab::default(),
            connections: Slab::default(),
            held: Vec::new(),
            links: Links::default(),
            orders: Vec::new(),
            scheduled: Slab::default(),
            out: Out::new(),
            mail: Vec::new(),
        }
    }

    /// Begins a run at time 0, in the memory of the one before: `prepare` makes the list of actors
    /// what it should be, `outsiders` more ids are given out after theirs. Every actor will be
    /// started. The caller sees to the ports.
    ///
    /// # Panics
    /// If there are more than 65,536 actors and outsiders.
    pub fn reset(&mut self, outsiders: usize, prepare: impl FnOnce(&mut Vec<A>)) {
        self.now = Instant::START;
        (self.steps, self.delivered, self.digest) = (0, 0, Digest::new());
        (self.background, self.request_count) = (0, 0);
        self.latencies = self.settings.latency.options();
        self.queue.clear();
        self.requests.clear();
        self.connections.clear();
        self.held.clear();
        self.links.clear();
        self.orders.clear();
        self.scheduled.clear();
        self.out.clear();
        self.mail.clear();
        prepare(&mut self.actors);
        let ids = self.actors.len() + outsiders;
        assert!(ids <= usize::from(u16::MAX) + 1, "actor ids have 16 bits");
        self.processes.resize_with(ids, Process::default);
        self.processes.iter_mut().for_each(Process::reset);
        for actor in 0..u32::try_from(self.actors.len()).expect("just checked") {
            self.queue.push(Instant::START, Body::Started(actor));
        }
        self.looks_at_states = self.faults.looks_at_states();
        self.faults.start(&mut fault_cx!(self));
        self.obey_orders();
    }

    /// What `actor`'s machine is like; to be said right after [`Self::reset`].
    pub fn set_node(&mut self, actor: ActorId, node: Node) {
        self.processes[usize::from(actor.0)].node = node;
    }

    /// Virtual time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Events taken by actors and outsiders so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Requests and responses among them.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// A fingerprint of all steps so far: time, actor, event with its message.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest.finish()
    }

    /// All actors.
    #[must_use]
    pub fn actors(&self) -> &[A] {
        &self.actors
    }

    /// All actors, to be changed by the hand of the operator.
    pub fn actors_mut(&mut self) -> &mut [A] {
        &mut self.actors
    }

    /// Is the process alive? A stalled one is.
    #[must_use]
    pub fn is_up(&self, actor: ActorId) -> bool {
        self.processes[usize::from(actor.0)].condition != Condition::Down
    }

    /// Takes the next step; `None` if nothing is left to happen.
    pub fn step(&mut self) -> Option<StepInfo> {
        self.step_until(Instant::FAR)
    }

    /// Takes the next step unless it is later than `limit`.
    pub fn step_until(&mut self, limit: Instant) -> Option<StepInfo> {
        self.next_step(limit, false)
    }

    /// Works off the queue until a step was taken, if need be only until it is settled.
    fn next_step(&mut self, limit: Instant, settle: bool) -> Option<StepInfo> {
        while self.queue.next_at()? <= limit {
            let (at, body) = self.queue.pop()?;
            self.now = at;
            if let Some((actor, event)) = self.arrive(body) {
                self.take(actor, event);
                return Some(StepInfo { at, actor });
            }
            if settle && self.is_settled() {
                return None;
            }
        }
        None
    }

    /// Is no message under way? Only timers and orders are queued then.
    fn is_settled(&self) -> bool {
        self.queue.len() == self.background
    }

    #[inline]
    fn push_background(&mut self, at: Instant, body: Body) {
        self.background += 1;
        self.queue.push(at, body);
    }

    /// Lets `actor` take `event` and does what it decides.
    #[inline(always)]
    fn take(&mut self, actor: ActorId, event: Event<A::Message>) {
        self.steps += 1;
        let stamp = Stamp { at: self.now, step: self.steps, actor };
        self.digest.write_u64(self.now.0);
        self.digest.write_u16(actor.0);
        event.hash(&mut self.digest);
        self.listener.event(stamp, &event);
        let place = usize::from(actor.0);
        let Some(state) = self.actors.get_mut(place) else {
            self.mail.push((stamp, event));
            return;
        };
        let node = self.processes[place].node;
        let env = env!(self, node);
        state.step(&mut Cx { id: actor, env, choices: &mut self.choices }, event, &mut self.out);
        if self.looks_at_states {
            self.faults.stepped(&mut fault_cx!(self), actor, &self.marks);
        }
        self.carry_out(stamp);
    }

    /// Does what was decided in a step, then what faults have ordered meanwhile.
    #[inline(always)]
    pub(super) fn carry_out(&mut self, stamp: Stamp) {
        let mut out = std::mem::take(&mut self.out);
        self.listener.effects(stamp, out.effects(), &self.marks);
        for effect in out.drain() {
            self.perform(stamp, effect);
        }
        self.out = out;
        if !self.orders.is_empty() {
            self.obey_orders();
        }
    }

    #[inline(always)]
    fn perform(&mut self, stamp: Stamp, effect: Effect<A::Message, A::Observation>) {
        let actor = stamp.actor;
        match effect {
            Effect::Send { to, lane, correlation, message } => {
                self.send(actor, to, lane, correlation, message);
            }
            Effect::Respond { token, message } => self.respond(actor, token, message),
            Effect::Close { to, lane } => self.close(actor, to, lane),
            Effect::SetTimer { key, at } => {
                let process = &mut self.processes[usize::from(actor.0)];
                if !Queue::reaches(at) {
                    process.cancel_timer(key);
                } else if process.set_timer(key, at.max(self.now)) {
                    self.push_background(at.max(self.now), timer_body(actor, key));
                }
            }
            Effect::CancelTimer { key } => {
                self.processes[usize::from(actor.0)].cancel_timer(key);
            }
            Effect::Observe(observation) => self.listener.observed(stamp, observation),
            Effect::Exit => self.exit(actor, CrashKind::Stopped),
            Effect::Halt => self.exit(actor, CrashKind::Process),
        }
    }
}
