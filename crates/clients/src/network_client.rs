//! Requests in flight, one connection per broker (`NetworkClient`, `InFlightRequests`).
//!
//! Invariants: answers of one connection are handed over in the order of the requests, at most one
//! per poll (P-SND-14); a request ends exactly once, by its answer, with its connection, or by
//! time-out.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use eosim_actor::{Correlation, Lane, Out};
use eosim_types::message::{Message, Request, Response};
use eosim_types::observation::Observed;
use eosim_types::{ActorId, BrokerId, Duration, Instant};

/// What a client's step appends to.
pub(crate) type ClientOut = Out<Message, Observed>;

/// The only connection to a broker.
const LANE: Lane = Lane(0);

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
    sent_at: Instant,
    request: R,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Connection<R> {
    broker: BrokerId,
    in_flight: VecDeque<InFlightRequest<R>>,
    broken_at: Option<Instant>,
    /// It has brought an answer since it was made.
    is_connected: bool,
}

/// All connections of one client.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct NetworkClient<R> {
    connections: Vec<Connection<R>>,
    next_correlation: u32,
    next_node: usize,
    /// What the network brought and no poll has looked at; `None` is a broken connection.
    arrivals: VecDeque<(Correlation, Option<Response>)>,
    /// Connections that broke while nothing was unanswered on them.
    closed_idle: Vec<BrokerId>,
    request_timeout: Duration,
    reconnect_backoff: Duration,
}

impl<R> NetworkClient<R> {
    /// A client that knows `brokers`.
    pub(crate) fn new(
        brokers: &[BrokerId],
        request_timeout: Duration,
        reconnect_backoff: Duration,
    ) -> Self {
        let connection = |&broker: &BrokerId| Connection {
            broker,
            in_flight: VecDeque::new(),
            broken_at: None,
            is_connected: false,
        };
        Self {
            connections: brokers.iter().map(connection).collect(),
            next_correlation: 0,
            next_node: 0,
            arrivals: VecDeque::new(),
            closed_idle: Vec::new(),
            request_timeout,
            reconnect_backoff,
        }
    }

    fn connection(&self, broker: BrokerId) -> Option<&Connection<R>> {
        self.connections.iter().find(|c| c.broker == broker)
    }

    fn connection_mut(&mut self, broker: BrokerId) -> &mut Connection<R> {
        let known = self.connections.iter().position(|c| c.broker == broker);
        let index = known.unwrap_or_else(|| {
            let in_flight = VecDeque::new();
            self.connections.push(Connection {
                broker,
                in_flight,
                broken_at: None,
                is_connected: false,
            });
            self.connections.len() - 1
        });
        &mut self.connections[index]
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
        let correlation = Correlation(self.next_correlation);
        self.next_correlation = self.next_correlation.wrapping_add(1);
        out.send(ActorId::of_broker(broker), LANE, correlation, Message::Request(message));
        let entry = InFlightRequest { correlation, sent_at: now, request };
        self.connection_mut(broker).in_flight.push_back(entry);
        correlation
    }

    /// Closes every connection with a request on it; those requests end without a word.
    pub(crate) fn close(&mut self, out: &mut ClientOut) {
        self.arrivals.clear();
        for connection in self.connections.iter_mut().filter(|c| !c.in_flight.is_empty()) {
            connection.in_flight.clear();
            out.close(ActorId::of_broker(connection.broker), LANE);
        }
    }

    /// The end of the reconnect backoff, if it is not over.
    pub(crate) fn backing_off(&self, broker: BrokerId, now: Instant) -> Option<Instant> {
        let until = self.broken_at(broker)? + self.reconnect_backoff;
        (now < until).then_some(until)
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
        let usable = order.filter(|&i| self.backing_off(self.connections[i].broker, now).is_none());
        let found = usable.min_by_key(|&i| self.connections[i].in_flight.len())?;
        self.next_node = (found + 1) % count;
        Some(self.connections[found].broker)
    }

    /// When the next reconnect backoff is over.
    pub(crate) fn next_usable(&self, now: Instant) -> Instant {
        let backing_off = self.connections.iter().filter_map(|c| self.backing_off(c.broker, now));
        backing_off.min().unwrap_or(Instant::FAR)
    }

    /// When the oldest request will have timed out.
    pub(crate) fn next_timeout(&self) -> Instant {
        let oldest = self.connections.iter().filter_map(|c| c.in_flight.front());
        oldest.map(|r| r.sent_at + self.request_timeout).min().unwrap_or(Instant::FAR)
    }

    /// The network brought something: an answer, or `None` for a broken connection.
    pub(crate) fn arrived(&mut self, correlation: Correlation, response: Option<Response>) {
        let known = |c: &Connection<R>| c.in_flight.iter().any(|r| r.correlation == correlation);
        if self.connections.iter().any(known) {
            self.arrivals.push_back((correlation, response));
        }
    }

    /// A node closed a connection on which nothing is unanswered.
    pub(crate) fn closed_idle(&mut self, broker: BrokerId) {
        self.closed_idle.push(broker);
    }

    /// Is there something that no poll has looked at?
    pub(crate) fn has_arrivals(&self) -> bool {
        !self.arrivals.is_empty() || !self.closed_idle.is_empty()
    }

    /// Ends a poll: appends to `done` what arrived, at most one answer per connection (P-SND-14),
    /// and what timed out (P-SND-8).
    pub(crate) fn poll(&mut self, now: Instant, done: &mut Vec<Completed<R>>, out: &mut ClientOut) {
        for broker in core::mem::take(&mut self.closed_idle) {
            let connection = self.connection_mut(broker);
            connection.broken_at = Some(now);
            connection.is_connected = false;
        }
        self.take_arrivals(now, done);
        self.close_timed_out(now, done, out);
    }

    fn take_arrivals(&mut self, now: Instant, done: &mut Vec<Completed<R>>) {
        let mut seen = 0u64;
        let mut index = 0;
        while index < self.arrivals.len() {
            let correlation = self.arrivals[index].0;
            let holder =
                |c: &Connection<R>| c.in_flight.iter().any(|r| r.correlation == correlation);
            let Some(node) = self.connections.iter().position(holder) else {
                self.arrivals.remove(index);
                continue;
            };
            if seen & (1 << (node % 64)) != 0 {
                index += 1;
                continue;
            }
            seen |= 1 << (node % 64);
            let arrival = self.arrivals.remove(index);
            match arrival.and_then(|(_, response)| response) {
                Some(response) => self.answered(node, correlation, response, done),
                None => self.end_all(node, &Answer::Disconnected, now, done),
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
        self.connections[node].is_connected = true;
        let in_flight = &mut self.connections[node].in_flight;
        let place = in_flight.iter().position(|r| r.correlation == correlation);
        if let Some(entry) = place.and_then(|at| in_flight.remove(at)) {
            let answer = Answer::Response(response);
            done.push(Completed { request: entry.request, correlation, answer });
        }
    }

    fn end_all(&mut self, node: usize, how: &Answer, now: Instant, done: &mut Vec<Completed<R>>) {
        let connection = &mut self.connections[node];
        connection.broken_at = Some(now);
        connection.is_connected = false;
        done.extend(connection.in_flight.drain(..).map(|entry| Completed {
            request: entry.request,
            correlation: entry.correlation,
            answer: how.clone(),
        }));
    }

    fn close_timed_out(&mut self, now: Instant, done: &mut Vec<Completed<R>>, out: &mut ClientOut) {
        for node in 0..self.connections.len() {
            let oldest = self.connections[node].in_flight.front();
            if oldest.is_some_and(|r| now.since(r.sent_at) >= self.request_timeout) {
                out.close(ActorId::of_broker(self.connections[node].broker), LANE);
                self.end_all(node, &Answer::TimedOut, now, done);
            }
        }
    }
}
