//! Connections as TCP has them.
//!
//! A connection is ordered each way. Its receiver reads the next request only after it has
//! answered the one before (L-PIPE-7). The two ends fare apart: when the opener has lost it, the
//! receiver still works off what has arrived or is under way, as on any half-dead connection, and
//! its answers are dropped; when the receiver has died, only answers that are under way arrive.
//!
//! Kafka: `Selector`, `KafkaChannel`, the muting of channels in `SocketServer`.

use std::collections::VecDeque;

use eosim_actor::{Correlation, Lane};
use eosim_types::{ActorId, ErrorCode, Instant};

use crate::fault::{Cause, HoldKey, Way};

/// "No request", in place of a request's slot.
pub(super) const NONE: u32 = u32::MAX;

/// One connection, from its opening until nothing is left of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Connection {
    /// Who opened it and sends requests.
    pub(super) from: ActorId,
    /// Who receives requests.
    pub(super) to: ActorId,
    pub(super) lane: Lane,
    /// The opener's end is sound.
    pub(super) opener_up: bool,
    /// The receiver is still the process that accepted it.
    pub(super) receiver_up: bool,
    /// Its handshake has gone through: what was sent is in the hands of the opener's kernel.
    pub(super) is_established: bool,
    /// How many requests, pending notices and users of the slot refer to it; at 0 it is freed.
    pub(super) references: u32,
    /// The request that the receiver is busy with, or [`NONE`].
    pub(super) current: u32,
    /// `current` has been chosen, but the receiver has not taken it yet.
    pub(super) reading: bool,
    /// Requests that have arrived and wait for `current`.
    pub(super) unread: VecDeque<u32>,
    /// What the opener waits for, in the order of sending.
    pub(super) open: VecDeque<Correlation>,
    pub(super) requests: Direction,
    pub(super) responses: Direction,
}

/// What travels one way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Direction {
    /// Nothing arrives before what was sent earlier.
    pub(super) clear_at: Instant,
    pub(super) flow: Flow,
}

/// What happens to all that is sent one way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) enum Flow {
    /// It arrives.
    #[default]
    Free,
    /// It vanishes.
    Silent,
    /// It waits.
    Held(HoldKey),
}

impl Direction {
    /// When a message arrives that would be there at `at` if nothing were before it.
    #[inline]
    pub(super) fn arrival(&mut self, at: Instant) -> Instant {
        self.clear_at = at.max(self.clear_at);
        self.clear_at
    }
}

impl Connection {
    /// Makes the slot a new connection, in the memory of an old one.
    pub(super) fn open(&mut self, from: ActorId, to: ActorId, lane: Lane) {
        (self.from, self.to, self.lane) = (from, to, lane);
        (self.opener_up, self.receiver_up, self.is_established) = (true, true, true);
        (self.references, self.current, self.reading) = (1, NONE, false);
        self.unread.clear();
        self.open.clear();
        (self.requests, self.responses) = (Direction::default(), Direction::default());
    }

    #[inline]
    pub(super) fn direction(&mut self, way: Way) -> &mut Direction {
        match way {
            Way::Request => &mut self.requests,
            Way::Response => &mut self.responses,
        }
    }

    /// The receiver is done with `current` and goes on to the next request that has arrived.
    #[inline]
    pub(super) fn read_next(&mut self) -> Option<u32> {
        let next = self.unread.pop_front();
        (self.current, self.reading) = (next.unwrap_or(NONE), next.is_some());
        next
    }

    /// The opener no longer waits for `correlation`, usually the one that it has waited for longest.
    #[inline]
    pub(super) fn settle(&mut self, correlation: Correlation) {
        if self.open.front() == Some(&correlation) {
            self.open.pop_front();
        } else {
            self.settle_out_of_order(correlation);
        }
    }

    #[cold]
    fn settle_out_of_order(&mut self, correlation: Correlation) {
        if let Some(at) = self.open.iter().position(|&c| c == correlation) {
            self.open.remove(at);
        }
    }
}

/// One request, from its sending until its answer has arrived or nobody can answer it any more.
/// At every time exactly one of these refers to it: an entry of the event queue, its connection's
/// `unread` or `current`, the list of what is held back, the list of what is withheld, what the
/// network keeps.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Request<M> {
    /// Counts requests from 1; 0 in a free slot. Half of the receiver's token.
    pub(super) number: u32,
    pub(super) connection: u32,
    pub(super) correlation: Correlation,
    /// The fault hook has seen it arrive.
    pub(super) seen: bool,
    /// What befell it on its way there and shows when the receiver takes it.
    pub(super) befell: Befell,
    /// The request on its way there, the answer on its way back.
    pub(super) message: Option<M>,
}

/// What befell a request and shows when its receiver takes it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Befell {
    Nothing,
    /// This fault made it late, and is told that it was taken.
    Late(Cause),
    /// It is answered with this error without being read.
    Refused(ErrorCode),
}

impl<M> Default for Request<M> {
    fn default() -> Self {
        Self {
            number: 0,
            connection: NONE,
            correlation: Correlation(0),
            seen: false,
            befell: Befell::Nothing,
            message: None,
        }
    }
}
