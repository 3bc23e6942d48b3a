//! The network's own troubles: cuts and slow links, and what they keep from arriving.
//!
//! A message is caught where it would arrive, so that what is in flight is, too. Each direction of a
//! connection stays ordered: what arrives while something of it is kept goes behind, and each
//! retransmission lets through what is first. What the kernel has taken from a sender is sent again
//! until it is acknowledged, also when the sender has closed the connection; what waits for a
//! handshake goes with the sender's interest in it.
//!
//! Invariant: of what is kept and not cut off, each has one retransmission queued, at least.

use std::hash::Hash;

use eosim_actor::{Actor, Choices, Site, Stream};
use eosim_types::{ActorId, Duration, Instant};

use super::World;
use super::network::Taken;
use super::queue::Body;
use crate::fault::{Cause, FaultHook, Side, Way};
use crate::listener::Listener;

const RETRANSMISSION: Site = Site::new("network.retransmission", Stream::Network);

/// What is wrong with the network.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Links {
    /// Something is wrong, or something is kept still. Asked at each arrival.
    pub(super) are_disturbed: bool,
    cuts: Vec<Trouble>,
    slow: Vec<Trouble>,
    kept: Vec<Kept>,
}

/// A cut or a slow link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Trouble {
    cause: Cause,
    from: Side,
    to: Side,
    both_ways: bool,
    since: Instant,
    /// How much longer messages take.
    by: Duration,
    /// That it made a difference was reported.
    told: bool,
}

/// What was kept from arriving.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Kept {
    connection: u32,
    way: Way,
    body: Body,
}

impl Trouble {
    fn concerns(&self, from: ActorId, to: ActorId) -> bool {
        let there = self.from.has(from) && self.to.has(to);
        let back = self.both_ways && self.from.has(to) && self.to.has(from);
        from != to && (there || back)
    }

    fn is(&self, other: &Self) -> bool {
        (self.cause, self.from, self.to, self.both_ways)
            == (other.cause, other.from, other.to, other.both_ways)
    }
}

impl Links {
    pub(super) fn clear(&mut self) {
        self.cuts.clear();
        self.slow.clear();
        self.kept.clear();
        self.are_disturbed = false;
    }

    fn look(&mut self) {
        self.are_disturbed =
            !(self.cuts.is_empty() && self.slow.is_empty() && self.kept.is_empty());
    }

    /// Is the network between the two cut, in this direction?
    pub(super) fn is_cut(&self, from: ActorId, to: ActorId) -> bool {
        self.cuts.iter().any(|cut| cut.concerns(from, to))
    }

    /// Takes out what was kept first of one direction.
    fn first(&mut self, connection: u32, way: Way) -> Option<Body> {
        let same = |kept: &Kept| (kept.connection, kept.way) == (connection, way);
        let at = self.kept.iter().position(same)?;
        let body = self.kept.remove(at).body;
        self.look();
        Some(body)
    }
}

impl<A, C, F, L> World<A, C, F, L>
where
    A: Actor,
    A::Message: Clone + Hash,
    C: Choices,
    F: FaultHook<A::Message>,
    L: Listener<A::Message, A::Observation>,
{
    pub(super) fn cut(&mut self, cause: Cause, from: Side, to: Side, both_ways: bool) -> bool {
        let (since, by) = (self.now, Duration::ZERO);
        let cut = Trouble { cause, from, to, both_ways, since, by, told: false };
        self.links.cuts.push(cut);
        self.links.look();
        false
    }

    /// A cut ends; what it kept is sent again after some time, which grows with its length.
    pub(super) fn mend(&mut self, cause: Cause, from: Side, to: Side, both_ways: bool) -> bool {
        let (since, by) = (self.now, Duration::ZERO);
        let ended = Trouble { cause, from, to, both_ways, since, by, told: false };
        if let Some(at) = self.links.cuts.iter().position(|cut| cut.is(&ended)) {
            let cut = self.links.cuts.remove(at);
            self.retransmit(self.now.since(cut.since));
        }
        false
    }

    /// Slows what travels between two sides, or ends that.
    pub(super) fn slow(&mut self, cause: Cause, from: Side, to: Side, by: Duration) -> bool {
        let (since, both_ways) = (self.now, true);
        let slow = Trouble { cause, from, to, both_ways, since, by, told: false };
        if by > Duration::ZERO {
            self.links.slow.push(slow);
        } else if let Some(at) = self.links.slow.iter().position(|known| known.is(&slow)) {
            self.links.slow.remove(at);
        }
        self.links.look();
        false
    }

    /// The network is whole and fast again, and what was kept arrives soon.
    pub(super) fn heal_network(&mut self) {
        self.links.cuts.clear();
        self.links.slow.clear();
        self.retransmit(Duration::ZERO);
    }

    /// Queues a retransmission of all that is kept and not cut off: the timer of each direction has
    /// backed off for as long as nothing passed, at most.
    fn retransmit(&mut self, outage: Duration) {
        let mut due: Vec<(u32, Way, Instant)> = Vec::new();
        for at in 0..self.links.kept.len() {
            let Kept { connection, way, .. } = self.links.kept[at];
            if self.is_cut_off(connection, way) {
                continue;
            }
            let known = due.iter().find(|known| (known.0, known.1) == (connection, way));
            let at = match known {
                Some(&(.., at)) => at,
                None => self.draw_retransmission(connection, way, outage),
            };
            due.push((connection, way, at));
            self.queue_retransmission(connection, way, at);
        }
        self.links.look();
    }

    fn draw_retransmission(&mut self, connection: u32, way: Way, outage: Duration) -> Instant {
        let (sender, _) = self.ends(connection, way);
        let n = u32::try_from(outage.0 + 1).unwrap_or(u32::MAX);
        let pick = if n == 1 { 0 } else { self.choices.choose(RETRANSMISSION, sender, n) };
        self.now + self.settings.latency.min + Duration(u64::from(pick))
    }

    fn queue_retransmission(&mut self, connection: u32, way: Way, at: Instant) {
        self.connections[connection].references += 1;
        self.queue.push(at, retransmission(connection, way));
    }

    /// Sender and receiver of what travels one way.
    fn ends(&self, connection: u32, way: Way) -> (ActorId, ActorId) {
        let connection = &self.connections[connection];
        match way {
            Way::Request => (connection.from, connection.to),
            Way::Response => (connection.to, connection.from),
        }
    }

    /// Does nothing pass? A handshake needs both ways.
    fn is_cut_off(&self, connection: u32, way: Way) -> bool {
        let (from, to) = self.ends(connection, way);
        let is_established = self.connections[connection].is_established;
        self.links.is_cut(from, to) || (!is_established && self.links.is_cut(to, from))
    }

    /// Something would arrive while the network is disturbed.
    #[cold]
    pub(super) fn arrive_disturbed(
        &mut self,
        connection: u32,
        way: Way,
        body: Body,
    ) -> Taken<A::Message> {
        if self.is_cut_off(connection, way) {
            self.links.kept.push(Kept { connection, way, body });
            self.tell(connection, way);
            return None;
        }
        let (from, to) = self.ends(connection, way);
        let slow = self.links.slow.iter().filter(|slow| slow.concerns(from, to));
        let by = slow.map(|slow| slow.by).max().unwrap_or(Duration::ZERO);
        self.links.kept.push(Kept { connection, way, body });
        self.links.look();
        if by > Duration::ZERO {
            self.queue_retransmission(connection, way, self.now + by);
            self.tell(connection, way);
            return None;
        }
        self.pass(connection, way)
    }

    /// Reports the effect of what is wrong between two ends, once for each trouble.
    fn tell(&mut self, connection: u32, way: Way) {
        let ends = self.ends(connection, way);
        let Links { cuts, slow, .. } = &mut self.links;
        for trouble in cuts.iter_mut().chain(slow).filter(|trouble| !trouble.told) {
            if trouble.concerns(ends.0, ends.1) || trouble.concerns(ends.1, ends.0) {
                trouble.told = true;
                self.faults.took_effect(trouble.cause);
            }
        }
    }

    /// A retransmission is due.
    #[cold]
    pub(super) fn retransmission_is_due(&mut self, direction: u32) -> Taken<A::Message> {
        let (connection, way) = (direction >> 1, way_of(direction));
        let cut_off = self.is_cut_off(connection, way);
        let taken = if cut_off { None } else { self.pass(connection, way) };
        self.release(connection);
        taken
    }

    /// What was kept first of a direction arrives.
    fn pass(&mut self, slot: u32, way: Way) -> Taken<A::Message> {
        let body = self.links.first(slot, way)?;
        let connection = &mut self.connections[slot];
        let given_up = !connection.opener_up && !connection.is_established;
        connection.is_established |= connection.opener_up;
        match body {
            Body::Request(request) if given_up => {
                self.drop_request(request);
                None
            }
            Body::Request(request) => self.request_is_there(request),
            Body::Response(request) => self.response_is_there(request),
            body => self.arrive_at_last(body),
        }
    }

    fn arrive_at_last(&mut self, body: Body) -> Taken<A::Message> {
        let Body::Broken(connection) = body else { unreachable!("{body:?} is not kept") };
        self.opener_hears_of_break(connection)
    }

    /// A machine has lost its power: what its kernel would have sent again is gone.
    pub(super) fn forget_unacknowledged(&mut self, actor: ActorId) {
        let mut at = 0;
        while at < self.links.kept.len() {
            let Kept { connection, way, body } = self.links.kept[at];
            match body {
                Body::Request(request) | Body::Response(request)
                    if self.ends(connection, way).0 == actor =>
                {
                    self.links.kept.remove(at);
                    self.drop_request(request);
                }
                _ => at += 1,
            }
        }
        self.links.look();
    }
}

fn retransmission(connection: u32, way: Way) -> Body {
    Body::Retransmission((connection << 1) | u32::from(way == Way::Response))
}

fn way_of(direction: u32) -> Way {
    if direction & 1 == 0 { Way::Request } else { Way::Response }
}
