//! What a caller does to a world beside letting it run: conditions, limits, orders, and acting for
//! an outsider.

use std::hash::Hash;

use eosim_actor::{Actor, Choices, Effect, Event};
use eosim_types::{ActorId, Duration, Instant};

use super::World;
use crate::fault::{Cause, Command, FaultHook, Order};
use crate::listener::{Listener, Stamp};

/// How far a run may go.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// No step later than this.
    pub until: Instant,
    /// No more steps than this, counted from the beginning of the run.
    pub steps: u64,
}

impl Limits {
    /// As far as it goes.
    pub const NONE: Self = Self { until: Instant::FAR, steps: u64::MAX };

    /// No step later than `until`.
    #[must_use]
    pub const fn until(until: Instant) -> Self {
        Self { until, ..Self::NONE }
    }
}

/// Why a run came to a stop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stop {
    /// What was waited for has come about.
    Reached,
    /// Nothing is left to happen.
    Idle,
    /// The next step would be too late.
    TimeLimit,
    /// All steps have been taken.
    StepLimit,
}

impl<A, C, F, L> World<A, C, F, L>
where
    A: Actor,
    A::Message: Clone + Hash,
    C: Choices,
    F: FaultHook<A::Message>,
    L: Listener<A::Message, A::Observation>,
{
    /// Takes steps until `reached` says so, which is asked before each, or a limit is met.
    #[inline]
    pub fn run_until(&mut self, limits: Limits, mut reached: impl FnMut(&Self) -> bool) -> Stop {
        loop {
            if reached(self) {
                return Stop::Reached;
            }
            if self.steps >= limits.steps {
                return Stop::StepLimit;
            }
            if self.step_until(limits.until).is_none() {
                return if self.queue.next_at().is_some() { Stop::TimeLimit } else { Stop::Idle };
            }
        }
    }

    /// Takes steps until the limit or the end.
    #[inline]
    pub fn run(&mut self, limits: Limits) -> Stop {
        self.run_until(limits, |_| false)
    }

    /// Takes steps until no message is under way: only timers, and requests that an actor keeps
    /// for later, are left.
    pub fn settle(&mut self, limits: Limits) -> Stop {
        while !self.is_settled() {
            if self.steps >= limits.steps {
                return Stop::StepLimit;
            }
            if self.next_step(limits.until, true).is_none() && !self.is_settled() {
                return Stop::TimeLimit;
            }
        }
        Stop::Reached
    }

    /// Lets `time` pass.
    pub fn advance(&mut self, time: Duration) {
        let until = self.now + time;
        self.run(Limits::until(until));
        self.now = until;
    }

    /// Obeys `command` now.
    pub fn order(&mut self, command: Command) {
        self.order_at(self.now, command);
    }

    /// Obeys `command` at `at`.
    pub fn order_at(&mut self, at: Instant, command: Command) {
        self.orders.push(Order { at, cause: Cause::OUTSIDE, command });
        self.obey_orders();
    }

    /// Does what `actor`, usually an outsider, would decide.
    pub fn act_for(&mut self, actor: ActorId, effect: Effect<A::Message, A::Observation>) {
        let stamp = Stamp { at: self.now, step: self.steps, actor };
        self.listener.effects(stamp, std::slice::from_ref(&effect), &self.marks);
        self.perform(stamp, effect);
        self.obey_orders();
    }

    /// Takes out what has happened to outsiders, in order.
    pub fn take_mail(&mut self) -> impl Iterator<Item = (Stamp, Event<A::Message>)> + '_ {
        self.mail.drain(..)
    }
}
