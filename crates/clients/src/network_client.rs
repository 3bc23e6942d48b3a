//! Requests in flight, one connection per node (`NetworkClient`, `InFlightRequests`).
//!
//! Invariants: answers of one connection are handed over in the order of the requests, at most one
//! per poll (P-SND-14); a request ends exactly once, by its answer, with its connection, or by
//! time-out. A connection that broke is up until a poll has noticed; what is sent over it till then
//! reaches nobody (P-SND-13).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use eosim_actor::{Correlation, Cx, Lane, Out, Site, Stream};
use eosim_types::message::{ApiVersionsRequest, Message, Request, Response};
use eosim_types::observation::Observed;
use eosim_types::{ActorId, BrokerId, Duration, Instant};

use crate::backoff::ExponentialBackoff;

/// What a client's step appends to.
pub(crate) type ClientOut = Out<Message, Observed>;

/// Hundredths of the factor 0.80 … 1.19; 0 is the shortest wait.
const JITTER: Site = Site::new("client.reconnect_backoff_jitter", Stream::Actor);

/// The first correlation of a process's second client, beyond all that the first one uses.
pub(crate) const SECOND_CLIENT: u32 = 1_000_000_000;

/// The node that stands for the connection to `broker` as a group's coordinator, which is not the
/// one to it as a leader (`AbstractCoordinator`: the largest id less its own).
pub(crate) const fn coordinator_node(broker: BrokerId) -> BrokerId {
    BrokerId(i32::MAX - broker.0)
}

/// Does `node` stand for a group's coordinator?
const fn is_coordinator(node: BrokerId) -> bool {
    node.0 > i32::MAX / 2
}

/// How a request ended.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Answer {
    /// Its response came.
    Response(Response),
    /// Its connection broke.
    Disconnected,
    /// It took longer than `request.timeout.ms`, or another of its connection did (P-SND-8).
    TimedOut,
}

/// A request that ended; `R` is what its sender remembers of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Completed<R> {
    /// What was asked for.
    pub(crate) request: R,
    /// Its name on the wire.
    pub(crate) correlation: Correlation,
    /// How it ended.
    pub(crate) answer: Answer,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct InFlightRequest<R> {
    correlation: Correlation,
    /// When it has timed out.
    deadline: Instant,
    request: R,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Connection<R> {
    broker: BrokerId,
    in_flight: VecDeque<InFlightRequest<R>>,
    broken_at: Option<Instant>,
    /// The end of the backoff since it broke last.
    usable_at: Instant,
    /// So many times in a row it broke and had not brought an answer.
    failed_attempts: i32,
    /// Something was sent over it since it broke last.
    is_open: bool,
    /// The unanswered ApiVersions.
    introduction: Option<Correlation>,
    /// It has brought an answer since it was made.
    is_connected: bool,
}

impl<R> Connection<R> {
    const fn to(broker: BrokerId) -> Self {
        Self {
            broker,
            in_flight: VecDeque::new(),
            broken_at: None,
            usable_at: Instant::START,
            failed_attempts: 0,
            is_open: false,
            introduction: None,
            is_connected: false,
        }
    }

    /// It has brought an answer (`ClusterConnectionStates#ready`).
    const fn connected(&mut self) {
        (self.is_connected, self.failed_attempts) = (true, 0);
    }

    /// The end of the reconnect backoff, if it is not over.
    fn backing_off(&self, now: Instant) -> Option<Instant> {
        (now < self.usable_at).then_some(self.usable_at)
    }

    /// There is none any more; what goes out next makes a new one.
    const fn closed(&mut self) {
        (self.is_open, self.is_connected, self.introduction) = (false, false, None);
    }
}

/// What the network brought and no poll has looked at.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Arrival {
    Answer(Correlation, Response),
    /// The connection to a node broke.
    Broken(BrokerId),
}

/// All connections of one client.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct NetworkClient<R> {
    connections: Vec<Connection<R>>,
    next_correlation: u32,
    /// The first of the two connections that it may have to each broker.
    first_lane: u8,
    asks_api_versions: bool,
    next_node: usize,
    arrivals: VecDeque<Arrival>,
    request_timeout: Duration,
    reconnect_backoff: ExponentialBackoff,
}

impl<R> NetworkClient<R> {
    /// A client that knows `brokers`.
    pub(crate) fn new(
        brokers: &[BrokerId],
        request_timeout: Duration,
        reconnect_backoff: ExponentialBackoff,
    ) -> Self {
        Self {
            connections: brokers.iter().map(|&broker| Connection::to(broker)).collect(),
            next_correlation: 0,
            first_lane: 0,
            asks_api_versions: false,
            next_node: 0,
            arrivals: VecDeque::new(),
            request_timeout,
            reconnect_backoff,
        }
    }

    /// The same, asking for ApiVersions first on each connection that it makes (P-TV-1).
    pub(crate) const fn asking_api_versions(mut self) -> Self {
        self.asks_api_versions = true;
        self
    }

    /// The same for the second client of a process, whose connections and correlations are its own.
    pub(crate) const fn second_of_process(mut self) -> Self {
        self.next_correlation = SECOND_CLIENT;
        self.first_lane = 1;
        self
    }

    /// Where `node` is, and over which connection.
    fn address(&self, node: BrokerId) -> (ActorId, Lane) {
        if is_coordinator(node) {
            let broker = BrokerId(i32::MAX - node.0);
            (ActorId::of_broker(broker), Lane(self.first_lane + 1))
        } else {
            (ActorId::of_broker(node), Lane(self.first_lane))
        }
    }

    fn connection(&self, broker: BrokerId) -> Option<&Connection<R>> {
        self.connections.iter().find(|c| c.broker == broker)
    }

    fn place_of(&mut self, broker: BrokerId) -> usize {
        let known = self.connections.iter().position(|c| c.broker == broker);
        known.unwrap_or_else(|| {
            self.connections.push(Connection::to(broker));
            self.connections.len() - 1
        })
    }

    /// Sends `message`; the caller has looked whether the node is ready.
    pub(crate) fn send(
        &mut self,
        broker: BrokerId,
        message: Request,
        request: R,
        now: Instant,
        out: &mut ClientOut,
    ) -> Correlation {
        self.send_until(broker, message, request, now + self.request_timeout, out)
    }

    /// The same for a request that has timed out at `deadline`.
    pub(crate) fn send_until(
        &mut self,
        broker: BrokerId,
        message: Request,
        request: R,
        deadline: Instant,
        out: &mut ClientOut,
    ) -> Correlation {
        self.open(broker, out);
        let correlation = self.next_correlation();
        self.put_on_wire(broker, correlation, message, out);
        let entry = InFlightRequest { correlation, deadline, request };
        let node = self.place_of(broker);
        self.connections[node].in_flight.push_back(entry);
        correlation
    }

    /// Sends `message`, to which there is no answer (Produce with `acks=0`).
    pub(crate) fn send_unanswered(
        &mut self,
        broker: BrokerId,
        message: Request,
        out: &mut ClientOut,
    ) {
        self.open(broker, out);
        let correlation = self.next_correlation();
        self.put_on_wire(broker, correlation, message, out);
    }

    /// Makes a connection if there is none. Its first request is answered before all others, so
    /// nothing waits for it.
    fn open(&mut self, broker: BrokerId, out: &mut ClientOut) {
        let node = self.place_of(broker);
        let is_new = !core::mem::replace(&mut self.connections[node].is_open, true);
        if is_new && self.asks_api_versions {
            let correlation = self.next_correlation();
            self.connections[node].introduction = Some(correlation);
            self.put_on_wire(broker, correlation, ApiVersionsRequest {}.into(), out);
        }
    }

    fn next_correlation(&mut self) -> Correlation {
        let correlation = Correlation(self.next_correlation);
        self.next_correlation = self.next_correlation.wrapping_add(1);
        correlation
    }

    fn put_on_wire(
        &self,
        broker: BrokerId,
        correlation: Correlation,
        message: Request,
        out: &mut ClientOut,
    ) {
        if !self.arrivals.contains(&Arrival::Broken(broker)) {
            let (to, lane) = self.address(broker);
            out.send(to, lane, correlation, Message::Request(message));
        }
    }

    /// Closes every connection with a request on it; those requests end without a word.
    pub(crate) fn close(&mut self, out: &mut ClientOut) {
        self.arrivals.clear();
        for node in 0..self.connections.len() {
            let (to, lane) = self.address(self.connections[node].broker);
            if !self.connections[node].in_flight.is_empty() {
                self.connections[node].in_flight.clear();
                self.connections[node].closed();
                out.close(to, lane);
            }
        }
    }

    /// The end of the reconnect backoff, if it is not over.
    pub(crate) fn backing_off(&self, broker: BrokerId, now: Instant) -> Option<Instant> {
        self.connection(broker)?.backing_off(now)
    }

    /// Is there a connection that has brought an answer?
    pub(crate) fn is_connected(&self, broker: BrokerId) -> bool {
        self.connection(broker).is_some_and(|connection| connection.is_connected)
    }

    /// When the connection broke last.
    pub(crate) fn broken_at(&self, broker: BrokerId) -> Option<Instant> {
        self.connection(broker)?.broken_at
    }

    /// How many requests are unanswered on the connection to `broker`.
    pub(crate) fn in_flight_count(&self, broker: BrokerId) -> usize {
        self.connection(broker).map_or(0, |c| c.in_flight.len())
    }

    /// Is any request unanswered?
    pub(crate) fn has_in_flight(&self) -> bool {
        self.connections.iter().any(|c| !c.in_flight.is_empty())
    }

    /// The node with the fewest requests in flight, none that backs off; ties go round.
    pub(crate) fn least_loaded_node(&mut self, now: Instant) -> Option<BrokerId> {
        let count = self.connections.len();
        let order = (0..count).map(|i| (self.next_node + i) % count);
        let usable = order.filter(|&i| {
            let node = &self.connections[i];
            !is_coordinator(node.broker) && node.backing_off(now).is_none()
        });
        let found = usable.min_by_key(|&i| self.connections[i].in_flight.len())?;
        self.next_node = (found + 1) % count;
        Some(self.connections[found].broker)
    }

    /// When the next reconnect backoff is over.
    pub(crate) fn next_usable(&self, now: Instant) -> Instant {
        let ends = self.connections.iter().filter_map(|c| c.backing_off(now));
        ends.min().unwrap_or(Instant::FAR)
    }

    /// When the oldest request will have timed out.
    pub(crate) fn next_timeout(&self) -> Instant {
        let mut next = Instant::FAR;
        for connection in &self.connections {
            for request in &connection.in_flight {
                next = next.min(request.deadline);
            }
        }
        next
    }

    /// The network brought something: an answer, or `None` for a broken connection.
    pub(crate) fn arrived(&mut self, correlation: Correlation, response: Option<Response>) {
        let Some(node) = self.holder(correlation) else { return };
        match response {
            Some(Response::ApiVersions(_)) => {
                self.connections[node].introduction = None;
                self.connections[node].connected();
            }
            Some(response) => self.arrivals.push_back(Arrival::Answer(correlation, response)),
            None => self.broken(self.connections[node].broker),
        }
    }

    /// The connection to `broker` broke, whether anything is unanswered on it or not.
    pub(crate) fn broken(&mut self, broker: BrokerId) {
        if !self.arrivals.contains(&Arrival::Broken(broker)) {
            self.arrivals.push_back(Arrival::Broken(broker));
        }
    }

    /// The connection over which the request went.
    fn holder(&self, correlation: Correlation) -> Option<usize> {
        let holds = |c: &Connection<R>| {
            c.introduction == Some(correlation)
                || c.in_flight.iter().any(|r| r.correlation == correlation)
        };
        self.connections.iter().position(holds)
    }

    /// Is there something that no poll has looked at?
    pub(crate) fn has_arrivals(&self) -> bool {
        !self.arrivals.is_empty()
    }

    /// Ends a poll: appends to `done` what arrived, at most one answer per connection (P-SND-14),
    /// and what timed out (P-SND-8).
    pub(crate) fn poll(
        &mut self,
        done: &mut Vec<Completed<R>>,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) {
        self.take_arrivals(done, cx);
        self.close_timed_out(done, cx, out);
    }

    /// The same for what arrived alone: what times out at this very instant is found by the next
    /// poll (P-MOD-5).
    pub(crate) fn take_arrivals(&mut self, done: &mut Vec<Completed<R>>, cx: &mut Cx<'_>) {
        let mut seen = 0u64;
        for _ in 0..self.arrivals.len() {
            let Some(arrival) = self.arrivals.pop_front() else { break };
            let node = match &arrival {
                Arrival::Answer(correlation, _) => self.holder(*correlation),
                Arrival::Broken(broker) => Some(self.place_of(*broker)),
            };
            let Some(node) = node else { continue };
            if seen & (1 << (node % 64)) != 0 {
                self.arrivals.push_back(arrival);
                continue;
            }
            seen |= 1 << (node % 64);
            match arrival {
                Arrival::Answer(correlation, response) => {
                    self.answered(node, correlation, response, done);
                }
                Arrival::Broken(_) => self.end_all(node, &Answer::Disconnected, done, cx),
            }
        }
    }

    fn answered(
        &mut self,
        node: usize,
        correlation: Correlation,
        response: Response,
        done: &mut Vec<Completed<R>>,
    ) {
        self.connections[node].connected();
        let in_flight = &mut self.connections[node].in_flight;
        let place = in_flight.iter().position(|r| r.correlation == correlation);
        if let Some(entry) = place.and_then(|at| in_flight.remove(at)) {
            let answer = Answer::Response(response);
            done.push(Completed { request: entry.request, correlation, answer });
        }
    }

    /// The connection is gone; the next one is made after a backoff
    /// (`ClusterConnectionStates#disconnected`).
    fn end_all(
        &mut self,
        node: usize,
        how: &Answer,
        done: &mut Vec<Completed<R>>,
        cx: &mut Cx<'_>,
    ) {
        let connection = &mut self.connections[node];
        let backoff = self.reconnect_backoff.backoff(connection.failed_attempts, JITTER, cx);
        connection.broken_at = Some(cx.now());
        connection.usable_at = cx.now() + backoff;
        connection.failed_attempts += 1;
        connection.closed();
        done.extend(connection.in_flight.drain(..).map(|entry| Completed {
            request: entry.request,
            correlation: entry.correlation,
            answer: how.clone(),
        }));
    }

    fn close_timed_out(
        &mut self,
        done: &mut Vec<Completed<R>>,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) {
        for node in 0..self.connections.len() {
            let connection = &self.connections[node];
            if connection.in_flight.iter().any(|request| cx.now() >= request.deadline) {
                let broker = connection.broker;
                let (to, lane) = self.address(broker);
                out.close(to, lane);
                self.arrivals.retain(|arrival| *arrival != Arrival::Broken(broker));
                self.end_all(node, &Answer::TimedOut, done, cx);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::testing::with_pick;
    use eosim_types::ErrorCode;
    use eosim_types::message::HeartbeatResponse;

    const NODE: BrokerId = BrokerId(1);

    fn client() -> NetworkClient<()> {
        let ms = Duration::from_millis;
        let backoff = ExponentialBackoff { initial: ms(50), max: ms(1_000) };
        NetworkClient::new(&[NODE], ms(30_000), backoff)
    }

    /// The connection breaks; how long none is made.
    fn breaks(client: &mut NetworkClient<()>) -> u64 {
        client.broken(NODE);
        with_pick(JITTER, 20, |cx| client.poll(&mut Vec::new(), cx, &mut ClientOut::default()));
        let until = client.backing_off(NODE, Instant::START).unwrap_or(Instant::START);
        until.since(Instant::START).as_millis()
    }

    #[test]
    fn reconnect_backoff_doubles_until_the_node_answers() {
        let mut client = client();
        let waits: Vec<_> = (0..6).map(|_| breaks(&mut client)).collect();
        assert_eq!(waits, [50, 100, 200, 400, 800, 1_000]);
        let now = Instant::START;
        let asked =
            client.send(NODE, ApiVersionsRequest {}.into(), (), now, &mut ClientOut::default());
        let answer = HeartbeatResponse { error: ErrorCode::None };
        client.answered(0, asked, answer.into(), &mut Vec::new());
        assert_eq!(breaks(&mut client), 50);
    }
}
