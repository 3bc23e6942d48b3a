//! Messages on their way: sending, answering, closing, breaking, arriving.

use std::hash::Hash;

use eosim_actor::{Actor, Choices, Correlation, Event, Lane, RequestToken, Site, Stream, TimerKey};
use eosim_types::{ActorId, Duration, ErrorCode};

use super::World;
use super::connection::{Befell, Connection, Flow, NONE, Request};
use super::process::{Condition, Ring, Route};
use super::queue::Body;
use crate::fault::{Cause, Envelope, Fate, FaultHook, HoldKey, Way};
use crate::listener::Listener;

/// Asks the fault hook what becomes of a message, and tells the listener: of every message, and of
/// what is unusual.
macro_rules! fate {
    ($world:expr, $envelope:expr) => {{
        let envelope = $envelope;
        $world.listener.sent(&envelope);
        if $world.faults.minds_sent(envelope.way) {
            let mut cx = fault_cx!($world);
            let fate = $world.faults.sent(&mut cx, envelope);
            let cause = cx.cause;
            if fate != Fate::Deliver {
                $world.listener.fate($world.now, &envelope, fate, cause);
            }
            fate
        } else {
            Fate::Deliver
        }
    }};
}

/// Draws how long a message of a sender travels, so that what goes out on two connections at once
/// arrives in either order (P-MOD-5).
macro_rules! latency {
    ($world:expr, $sender:expr) => {{
        let n = $world.latencies;
        let pick = if n == 1 { 0 } else { $world.choices.choose(LATENCY, $sender, n) };
        $world.settings.latency.min + Duration(u64::from(pick))
    }};
}

const LATENCY: Site = Site::new("network.latency", Stream::Network);

/// A message that waits for its release.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Held {
    pub(super) key: HoldKey,
    pub(super) way: Way,
    pub(super) request: u32,
}

/// What an arrival amounts to: an event that an actor takes, or nothing to be seen.
pub(super) type Taken<M> = Option<(ActorId, Event<M>)>;

impl<A, C, F, L> World<A, C, F, L>
where
    A: Actor,
    A::Message: Clone + Hash,
    C: Choices,
    F: FaultHook<A::Message>,
    L: Listener<A::Message, A::Observation>,
{
    /// An event has come up.
    #[inline(always)]
    pub(super) fn arrive(&mut self, body: Body) -> Taken<A::Message> {
        match body {
            Body::Timer(timer) => self.timer_rings(timer),
            Body::Order(order) => {
                self.order_is_due(order);
                None
            }
            Body::Request(request) => self.request_arrives(request),
            Body::Read(request) => self.read(request),
            Body::Response(request) => self.response_arrives(request),
            Body::Take(request) => self.response_is_there(request),
            Body::Broken(connection) => self.opener_learns_of_break(connection),
            Body::Retransmission(direction) => self.retransmission_is_due(direction),
            Body::Started(_) | Body::StopRequested(_) => self.process_event(body),
        }
    }

    #[inline(always)]
    pub(super) fn send(
        &mut self,
        from: ActorId,
        to: ActorId,
        lane: Lane,
        correlation: Correlation,
        message: A::Message,
    ) {
        let slot = self.route(from, to, lane);
        let connection = &mut self.connections[slot];
        connection.open.push_back(correlation);
        if !connection.opener_up {
            return;
        }
        connection.references += 1;
        self.request_count += 1;
        let request = self.requests.take();
        let entry = &mut self.requests[request];
        entry.number = self.request_count;
        (entry.connection, entry.correlation) = (slot, correlation);
        (entry.seen, entry.befell) = (false, Befell::Nothing);
        let (way, number, awaited) = (Way::Request, entry.number, true);
        let fate =
            fate!(self, Envelope { way, from, to, lane, number, awaited, message: &message });
        entry.message = Some(message);
        if fate == Fate::Deliver && connection.requests.flow == Flow::Free {
            let latency = latency!(self, from);
            let at = connection.requests.arrival(self.now + latency);
            self.queue.push(at, Body::Request(request));
        } else {
            self.befall(way, request, fate);
        }
    }

    /// The receiver has answered, or is done without an answer. A token from before a crash says
    /// nothing any more.
    #[inline(always)]
    pub(super) fn respond(
        &mut self,
        actor: ActorId,
        token: RequestToken,
        message: Option<A::Message>,
    ) {
        let (index, number) = split(token);
        let Some(entry) = self.requests.get_mut(index).filter(|entry| entry.number == number)
        else {
            return;
        };
        let connection = &mut self.connections[entry.connection];
        if connection.current != index || connection.reading {
            return;
        }
        assert!(connection.to == actor, "actor {actor} answers a request of another");
        if let Some(next) = connection.read_next() {
            self.queue.push(self.now, Body::Read(next));
        }
        let Some(message) = message else {
            connection.settle(entry.correlation);
            return self.drop_request(index);
        };
        let way = Way::Response;
        let (to, lane, awaited) = (connection.from, connection.lane, connection.opener_up);
        let envelope = Envelope { way, from: actor, to, lane, number, awaited, message: &message };
        let fate = fate!(self, envelope);
        (entry.message, entry.seen) = (Some(message), false);
        if !awaited {
            self.drop_request(index);
        } else if fate == Fate::Deliver && connection.responses.flow == Flow::Free {
            let latency = latency!(self, actor);
            let at = connection.responses.arrival(self.now + latency);
            self.queue.push(at, Body::Response(index));
        } else {
            self.befall(way, index, fate);
        }
    }

    /// The opener gives up a connection: what it waits for ends without an event.
    pub(super) fn close(&mut self, from: ActorId, to: ActorId, lane: Lane) {
        let routes = &mut self.processes[usize::from(from.0)].connections;
        let route = routes.iter_mut().find(|route| route.to == to && route.lane == lane);
        if let Some(slot) = route.and_then(|route| route.connection.take()) {
            let connection = &mut self.connections[slot];
            connection.opener_up = false;
            connection.open.clear();
            self.release(slot);
        }
    }

    /// The connection in use, or a new one.
    #[inline(always)]
    fn route(&mut self, from: ActorId, to: ActorId, lane: Lane) -> u32 {
        let routes = &self.processes[usize::from(from.0)].connections;
        let known = routes.iter().position(|route| route.to == to && route.lane == lane);
        match known.and_then(|at| routes[at].connection) {
            Some(slot) => slot,
            None => self.open(from, to, lane, known),
        }
    }

    /// Opens a connection; a dead receiver refuses it.
    fn open(&mut self, from: ActorId, to: ActorId, lane: Lane, known: Option<usize>) -> u32 {
        let slot = self.connections.take();
        let refused = self.processes[usize::from(to.0)].condition == Condition::Down;
        self.connections[slot].open(from, to, lane);
        let routes = &mut self.processes[usize::from(from.0)].connections;
        let connection = Some(slot);
        match known {
            Some(at) => routes[at].connection = connection,
            None => routes.push(Route { to, lane, connection }),
        }
        let cut_off = self.links.is_cut(from, to) || self.links.is_cut(to, from);
        self.connections[slot].is_established = !cut_off;
        if refused {
            self.connections[slot].receiver_up = false;
            self.refuse_connection(slot, cut_off);
        }
        slot
    }

    /// The opener learns that nobody accepts its connection, as soon as anything can be learned.
    fn refuse_connection(&mut self, slot: u32, cut_off: bool) {
        if cut_off {
            self.announce_break(slot);
        } else {
            self.break_connection(slot);
        }
    }

    /// Does to a message what was decided, unless something befell its direction before.
    #[cold]
    fn befall(&mut self, way: Way, request: u32, fate: Fate) {
        let slot = self.requests[request].connection;
        let flow = &mut self.connections[slot].direction(way).flow;
        match (*flow, fate) {
            (Flow::Silent, _) => self.drop_request(request),
            (Flow::Held(key), _) => self.held.push(Held { key, way, request }),
            (Flow::Free, Fate::Deliver) => self.travel(way, request, Duration::ZERO),
            (Flow::Free, Fate::Delay(by)) => self.travel(way, request, by),
            (Flow::Free, Fate::Lose) => {
                self.break_connection(slot);
                self.drop_request(request);
            }
            (Flow::Free, Fate::Twice(after, cause)) => {
                self.send_copy(request, after, cause);
                self.travel(way, request, Duration::ZERO);
            }
            (Flow::Free, Fate::Overtaken(by)) => self.travel_alone(request, by),
            (Flow::Free, Fate::Silence) => {
                *flow = Flow::Silent;
                self.drop_request(request);
            }
            (Flow::Free, Fate::Late(after, cause)) => {
                self.requests[request].befell = Befell::Late(cause);
                self.travel(way, request, after);
                self.break_connection(slot);
            }
            (Flow::Free, Fate::LateHold(key, cause)) => {
                self.requests[request].befell = Befell::Late(cause);
                self.held.push(Held { key, way, request });
                self.break_connection(slot);
            }
            (Flow::Free, Fate::Hold(key)) => {
                *flow = Flow::Held(key);
                self.held.push(Held { key, way, request });
            }
            (Flow::Free, Fate::Refuse(error)) => {
                let entry = &mut self.requests[request];
                match way {
                    Way::Request => entry.befell = Befell::Refused(error),
                    Way::Response => {
                        let message = entry.message.as_ref().expect("a response is under way");
                        let refused = self.faults.refusal(message, error);
                        entry.message = refused.or(entry.message.take());
                    }
                }
                self.travel(way, request, Duration::ZERO);
            }
        }
    }

    /// Sends a copy of a request, on a connection of its own on which nobody waits for an answer.
    fn send_copy(&mut self, request: u32, after: Duration, cause: Cause) {
        let original = &self.requests[request];
        let (message, correlation) = (original.message.clone(), original.correlation);
        let Connection { from, to, lane, .. } = self.connections[original.connection];
        let slot = self.connections.take();
        let connection = &mut self.connections[slot];
        connection.open(from, to, lane);
        connection.opener_up = false;
        connection.receiver_up = self.processes[usize::from(to.0)].condition != Condition::Down;
        self.request_count += 1;
        let (number, befell) = (self.request_count, Befell::Late(cause));
        let copy = self.requests.take();
        let copied = Request {
            number,
            connection: slot,
            correlation,
            befell,
            message,
            ..Request::default()
        };
        self.requests[copy] = copied;
        self.travel(Way::Request, copy, after);
    }

    /// Sends a request on its way, past the order of its connection.
    fn travel_alone(&mut self, request: u32, extra: Duration) {
        let sender = self.connection_of(request).from;
        let at = self.now + latency!(self, sender) + extra;
        self.queue.push(at, Body::Request(request));
    }

    /// Sends a message on its way.
    pub(super) fn travel(&mut self, way: Way, request: u32, extra: Duration) {
        let connection = &mut self.connections[self.requests[request].connection];
        let (sender, body) = match way {
            Way::Request => (connection.from, Body::Request(request)),
            Way::Response => (connection.to, Body::Response(request)),
        };
        let at = self.now + latency!(self, sender) + extra;
        let at = connection.direction(way).arrival(at);
        self.queue.push(at, body);
    }

    /// The opener's end is torn off: no answer reaches it any more. It learns so after a latency.
    pub(super) fn break_connection(&mut self, slot: u32) {
        let connection = &mut self.connections[slot];
        if connection.opener_up {
            connection.opener_up = false;
            connection.references += 1;
            let at = self.now + latency!(self, connection.from);
            self.queue.push(at, Body::Broken(slot));
        }
    }

    /// The receiver's end is gone: the opener learns so after all answers that are under way.
    pub(super) fn announce_break(&mut self, slot: u32) {
        let connection = &mut self.connections[slot];
        if connection.opener_up {
            connection.references += 1;
            let at = self.now + latency!(self, connection.from);
            let at = connection.responses.arrival(at);
            self.queue.push(at, Body::Broken(slot));
        }
    }

    #[inline(always)]
    fn request_arrives(&mut self, request: u32) -> Taken<A::Message> {
        if self.links.are_disturbed {
            let connection = self.requests[request].connection;
            return self.arrive_disturbed(connection, Way::Request, Body::Request(request));
        }
        self.request_is_there(request)
    }

    #[inline(always)]
    pub(super) fn request_is_there(&mut self, request: u32) -> Taken<A::Message> {
        let connection = &mut self.connections[self.requests[request].connection];
        if connection.current != NONE {
            connection.unread.push_back(request);
            return None;
        }
        if connection.receiver_up {
            (connection.current, connection.reading) = (request, true);
        }
        self.read(request)
    }

    /// The receiver takes the request that its connection has chosen.
    #[inline(always)]
    fn read(&mut self, request: u32) -> Taken<A::Message> {
        let entry = &mut self.requests[request];
        let connection = &mut self.connections[entry.connection];
        if !connection.receiver_up {
            self.drop_request(request);
            return None;
        }
        let (from, to, lane) = (connection.from, connection.to, connection.lane);
        if self.processes[usize::from(to.0)].is_paused() {
            return self.withhold(to, Body::Read(request));
        }
        let message = entry.message.as_ref().expect("a request under way has a message");
        if !std::mem::replace(&mut entry.seen, true) && self.faults.minds_received() {
            let (way, number, awaited) = (Way::Request, entry.number, connection.opener_up);
            let envelope = Envelope { way, from, to, lane, number, awaited, message };
            self.faults.received(&mut fault_cx!(self), envelope);
            if !self.orders.is_empty() {
                return self.come_again(Body::Read(request));
            }
        }
        connection.reading = false;
        let message = entry.message.take().expect("just seen");
        self.delivered += 1;
        let token = join(request, entry.number);
        match entry.befell {
            Befell::Nothing => {}
            Befell::Late(cause) => self.faults.took_effect(cause),
            Befell::Refused(error) => return self.refuse(to, token, &message, error),
        }
        Some((to, Event::Request { from, token, message }))
    }

    /// A request is answered with an error in the name of its receiver, which never sees it.
    #[cold]
    fn refuse(
        &mut self,
        receiver: ActorId,
        token: RequestToken,
        message: &A::Message,
        error: ErrorCode,
    ) -> Taken<A::Message> {
        let answer = self.faults.refusal(message, error);
        self.respond(receiver, token, answer);
        self.obey_orders();
        None
    }

    #[inline(always)]
    fn response_arrives(&mut self, request: u32) -> Taken<A::Message> {
        if self.links.are_disturbed {
            let connection = self.requests[request].connection;
            return self.arrive_disturbed(connection, Way::Response, Body::Response(request));
        }
        self.response_is_there(request)
    }

    #[inline(always)]
    pub(super) fn response_is_there(&mut self, request: u32) -> Taken<A::Message> {
        let entry = &mut self.requests[request];
        let connection = &mut self.connections[entry.connection];
        if !connection.opener_up {
            self.drop_request(request);
            return None;
        }
        let (from, to, lane) = (connection.to, connection.from, connection.lane);
        if self.processes[usize::from(to.0)].is_paused() {
            return self.withhold(to, Body::Take(request));
        }
        let message = entry.message.as_ref().expect("a response under way has a message");
        if !std::mem::replace(&mut entry.seen, true) && self.faults.minds_received() {
            let (way, number, awaited) = (Way::Response, entry.number, true);
            let envelope = Envelope { way, from, to, lane, number, awaited, message };
            self.faults.received(&mut fault_cx!(self), envelope);
            if !self.orders.is_empty() {
                return self.come_again(Body::Take(request));
            }
        }
        let message = entry.message.take().expect("just seen");
        let correlation = entry.correlation;
        connection.settle(correlation);
        self.drop_request(request);
        self.delivered += 1;
        Some((to, Event::Response { correlation, message }))
    }

    /// The sight of a message has led to orders: they are obeyed, and the message comes up once
    /// more to find out what they did to it.
    #[cold]
    fn come_again(&mut self, body: Body) -> Taken<A::Message> {
        self.obey_orders();
        self.queue.push(self.now, body);
        None
    }

    /// A break: the receiver's word of it travels as answers do, its own the opener knows.
    fn opener_learns_of_break(&mut self, slot: u32) -> Taken<A::Message> {
        if self.links.are_disturbed && self.connections[slot].opener_up {
            return self.arrive_disturbed(slot, Way::Response, Body::Broken(slot));
        }
        self.opener_hears_of_break(slot)
    }

    /// Tells the opener, one open request after the other, that its connection broke.
    pub(super) fn opener_hears_of_break(&mut self, slot: u32) -> Taken<A::Message> {
        let connection = &self.connections[slot];
        let (from, to, lane) = (connection.from, connection.to, connection.lane);
        if self.processes[usize::from(from.0)].is_paused() {
            return self.withhold(from, Body::Broken(slot));
        }
        let routes = &mut self.processes[usize::from(from.0)].connections;
        let route = routes.iter_mut().find(|route| (route.to, route.lane) == (to, lane));
        if let Some(route) = route.filter(|route| route.connection == Some(slot)) {
            route.connection = None;
            self.release(slot);
        }
        let connection = &mut self.connections[slot];
        connection.opener_up = false;
        let correlation = connection.open.pop_front();
        if connection.open.is_empty() {
            self.release(slot);
        } else {
            self.queue.push(self.now, Body::Broken(slot));
        }
        Some((from, Event::Disconnected { correlation: correlation? }))
    }

    #[inline]
    fn timer_rings(&mut self, timer: u32) -> Taken<A::Message> {
        self.background -= 1;
        let (actor, key) = timer_of(timer);
        let process = &mut self.processes[usize::from(actor.0)];
        match process.ring(key, self.now) {
            Ring::Stale => None,
            Ring::Later(at) => {
                self.push_background(at, Body::Timer(timer));
                None
            }
            Ring::Due if process.is_paused() => self.withhold(actor, Body::Timer(timer)),
            Ring::Due => {
                process.ran_out(key);
                Some((actor, Event::Timer(key)))
            }
        }
    }

    #[inline]
    pub(super) fn connection_of(&mut self, request: u32) -> &mut Connection {
        &mut self.connections[self.requests[request].connection]
    }

    /// Nothing will be heard of the request any more.
    #[inline(always)]
    pub(super) fn drop_request(&mut self, request: u32) {
        let entry = &mut self.requests[request];
        entry.number = 0;
        entry.message = None;
        let slot = entry.connection;
        self.requests.free(request);
        self.release(slot);
    }

    /// Gives up one reference to a connection.
    #[inline]
    pub(super) fn release(&mut self, slot: u32) {
        let connection = &mut self.connections[slot];
        connection.references -= 1;
        if connection.references == 0 {
            self.connections.free(slot);
        }
    }

    /// Messages held back under keys that `chosen` names go on their way; returns whether
    /// there were any.
    pub(super) fn release_held(&mut self, chosen: impl Fn(HoldKey) -> bool) -> bool {
        let (now, kept): (Vec<_>, Vec<_>) = self.held.drain(..).partition(|held| chosen(held.key));
        self.held = kept;
        let released = !now.is_empty();
        for Held { way, request, .. } in now {
            self.connection_of(request).direction(way).flow = Flow::Free;
            self.travel(way, request, Duration::ZERO);
        }
        released
    }
}

/// A token is the request's number, which is unique within a run, and its slot.
#[inline]
fn join(slot: u32, number: u32) -> RequestToken {
    RequestToken((u64::from(number) << 32) | u64::from(slot))
}

/// The number of the request ([`Envelope::number`]) that `token` is a name of.
#[must_use]
pub fn request_number(token: RequestToken) -> u32 {
    split(token).1
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the halves of a word are cut out on purpose")]
fn split(RequestToken(token): RequestToken) -> (u32, u32) {
    (token as u32, (token >> 32) as u32)
}

#[inline]
pub(super) fn timer_body(actor: ActorId, key: TimerKey) -> Body {
    Body::Timer((u32::from(actor.0) << 16) | u32::from(key.0))
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the halves of a word are cut out on purpose")]
pub(super) fn timer_of(timer: u32) -> (ActorId, TimerKey) {
    (ActorId((timer >> 16) as u16), TimerKey(timer as u16))
}
