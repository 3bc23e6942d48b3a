//! What the outside hears of a run: observations always, everything else if it cares to listen.

use eosim_actor::{Effect, Event};
use eosim_types::{ActorId, Instant, Marks};

use crate::fault::{Cause, Command, Envelope, Fate};

/// Where in a run something happened.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stamp {
    /// When.
    pub at: Instant,
    /// At which step, counted from 1.
    pub step: u64,
    /// To whom.
    pub actor: ActorId,
}

/// Hears what happens. A method that does nothing costs nothing: a sweep listens to observations
/// alone, a replay writes its transcript from the rest.
pub trait Listener<M, O> {
    /// An actor tells the checker something.
    fn observed(&mut self, stamp: Stamp, observation: O);

    /// An actor is about to take `event`.
    #[inline]
    fn event(&mut self, _stamp: Stamp, _event: &Event<M>) {}

    /// What the actor decided in the step just taken, and what was reached until now.
    #[inline]
    fn effects(&mut self, _stamp: Stamp, _effects: &[Effect<M, O>], _marks: &Marks) {}

    /// A message leaves, whatever becomes of it.
    #[inline]
    fn sent(&mut self, _envelope: &Envelope<'_, M>) {}

    /// A fault befalls a message; never called with [`Fate::Deliver`].
    #[inline]
    fn fate(&mut self, _at: Instant, _envelope: &Envelope<'_, M>, _fate: Fate, _cause: Cause) {}

    /// The world obeys a command.
    #[inline]
    fn command(&mut self, _at: Instant, _cause: Cause, _command: &Command) {}
}

/// Hears nothing.
impl<M, O> Listener<M, O> for () {
    #[inline]
    fn observed(&mut self, _: Stamp, _: O) {}
}
