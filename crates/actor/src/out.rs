//! What an actor wants done.

use alloc::vec::{Drain, Vec};

use eosim_types::{ActorId, Instant};

use crate::event::{Correlation, Lane, RequestToken, TimerKey};

/// What an actor wants done.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Effect<M, O> {
    /// Send a request over the connection (`to`, `lane`), which is opened if need be.
    Send {
        /// To whom.
        to: ActorId,
        /// Over which connection.
        lane: Lane,
        /// The sender's name for it.
        correlation: Correlation,
        /// The request.
        message: M,
    },
    /// Answer a request, or finish it without an answer (Produce with `acks=0`).
    Respond {
        /// Which request.
        token: RequestToken,
        /// The answer, if any.
        message: Option<M>,
    },
    /// Close the connection (`to`, `lane`): every request open on it ends without an event. What
    /// is under way may still be processed by the receiver.
    Close {
        /// To whom.
        to: ActorId,
        /// Which connection.
        lane: Lane,
    },
    /// Set a timer, or set it anew.
    SetTimer {
        /// Which.
        key: TimerKey,
        /// When.
        at: Instant,
    },
    /// Forget a timer.
    CancelTimer {
        /// Which.
        key: TimerKey,
    },
    /// Tell the checker.
    Observe(O),
    /// The process ends by itself after [`crate::Event::StopRequested`].
    Exit,
    /// The process ends at once, and nothing is closed in good order (`Exit.halt`).
    Halt,
}

/// Effects in the order in which they were decided. The list is reused from step to step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Out<M, O> {
    effects: Vec<Effect<M, O>>,
}

impl<M, O> Default for Out<M, O> {
    fn default() -> Self {
        Self { effects: Vec::new() }
    }
}

impl<M, O> Out<M, O> {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends a request.
    #[inline]
    pub fn send(&mut self, to: ActorId, lane: Lane, correlation: Correlation, message: M) {
        self.effects.push(Effect::Send { to, lane, correlation, message });
    }

    /// Answers a request.
    #[inline]
    pub fn respond(&mut self, token: RequestToken, message: M) {
        self.effects.push(Effect::Respond { token, message: Some(message) });
    }

    /// Finishes a request without an answer.
    #[inline]
    pub fn finish(&mut self, token: RequestToken) {
        self.effects.push(Effect::Respond { token, message: None });
    }

    /// Closes a connection.
    #[inline]
    pub fn close(&mut self, to: ActorId, lane: Lane) {
        self.effects.push(Effect::Close { to, lane });
    }

    /// Sets a timer, or sets it anew.
    #[inline]
    pub fn set_timer(&mut self, key: TimerKey, at: Instant) {
        self.effects.push(Effect::SetTimer { key, at });
    }

    /// Ends the process at once.
    pub fn halt(&mut self) {
        self.effects.push(Effect::Halt);
    }

    /// Forgets a timer.
    #[inline]
    pub fn cancel_timer(&mut self, key: TimerKey) {
        self.effects.push(Effect::CancelTimer { key });
    }

    /// Tells the checker.
    #[inline]
    pub fn observe(&mut self, observation: O) {
        self.effects.push(Effect::Observe(observation));
    }

    /// Ends the process.
    pub fn exit(&mut self) {
        self.effects.push(Effect::Exit);
    }

    /// The effects so far.
    #[must_use]
    pub fn effects(&self) -> &[Effect<M, O>] {
        &self.effects
    }

    /// Takes the effects out, keeping the list's memory.
    #[inline]
    pub fn drain(&mut self) -> Drain<'_, Effect<M, O>> {
        self.effects.drain(..)
    }

    /// Drops the effects, keeping the list's memory.
    pub fn clear(&mut self) {
        self.effects.clear();
    }
}
