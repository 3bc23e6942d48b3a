//! The actor: a pure state machine that takes one event at a time and says what it wants done.
//!
//! Time, chance and everything durable come from outside. [`Actor::step`] changes the state in
//! place and appends effects to a reused list, in the order in which they are decided.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod choices;
mod event;
mod out;

pub use choices::{
    Choices, Picked, Quiet, Recorded, Recorder, ReplayError, Scripted, Site, Stream,
};
pub use event::{
    Correlation, CrashKind, DiskError, Event, Lane, Operation, RequestToken, TimerKey,
};
pub use out::{Effect, Out};

use eosim_types::{ActorId, Env, Instant};

/// What an actor may know and ask during one step.
pub struct Cx<'a> {
    /// The actor itself.
    pub id: ActorId,
    /// Time, switches and rule marks.
    pub env: Env<'a>,
    /// The one port for chance.
    pub choices: &'a mut dyn Choices,
}

impl Cx<'_> {
    /// Monotonic virtual time.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Instant {
        self.env.now
    }

    /// One of 0 … `n` − 1 at `site`; 0 is always the quiet choice. `n` = 1 draws nothing.
    #[inline]
    pub fn choose(&mut self, site: Site, n: u32) -> u32 {
        if n <= 1 { 0 } else { self.choices.choose(site, self.id, n) }
    }
}

/// A pure state machine.
pub trait Actor {
    /// What it sends and receives.
    type Message;
    /// What the checker hears from it.
    type Observation;

    /// Takes one event; effects are appended to `out` in the order in which they are decided.
    fn step(
        &mut self,
        cx: &mut Cx<'_>,
        event: Event<Self::Message>,
        out: &mut Out<Self::Message, Self::Observation>,
    );

    /// The process dies. The actor keeps what is durable under `kind` and forgets the rest; the
    /// world forgets its timers and connections. Its next event is [`Event::Started`].
    fn crash(&mut self, kind: CrashKind);

    /// Somebody does this to it, now; has that changed anything?
    fn operate(
        &mut self,
        _: &mut Cx<'_>,
        _: Operation,
        _: &mut Out<Self::Message, Self::Observation>,
    ) -> bool {
        false
    }

    /// Its disk will fail, whichever process uses it, until it is mended.
    fn break_disk(&mut self, _: DiskError) {}

    /// Its disk is sound again; has it failed in this way meanwhile?
    fn mend_disk(&mut self, _: DiskError) -> bool {
        false
    }
}
