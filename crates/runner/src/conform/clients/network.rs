//! Virtual time, connections and what travels on them (clock rules of the client recordings).
//!
//! Invariants: everything takes the same time one way, so requests arrive in the order in which
//! they were sent; the answers of a connection leave in the order of its requests.

use std::collections::{BTreeMap, VecDeque};

use eosim_actor::{Correlation, Effect, Out};
use eosim_types::message::{ApiKey, Message, Request, Response};
use eosim_types::observation::Observed;
use eosim_types::version::KafkaVersion;
use eosim_types::{ActorId, BrokerId, DefectSet, Duration, Env, Instant, Marks};

use super::broker::{Handled, ScriptedBroker, Verdict};
use super::case::Rule;
use super::names::CaseNames;
use super::wire::Versions;
use crate::conform::fields::Unsupported;

/// How long everything takes one way.
const LATENCY: Duration = Duration::from_millis(1);
/// How long a Fetch without a rule is held.
const IDLE_FETCH: Duration = Duration::from_millis(30);
/// More nodes than any case has.
const NODES: i32 = 8;

/// What reaches the client.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Arrival {
    /// An answer, or a broken connection.
    Ended(Correlation, Option<Response>),
    /// A connection was made; its ApiVersions answer told of these features.
    Connected(Features),
    /// The idle connection to a node was closed by it.
    Closed(BrokerId),
}

/// The finalized features of the cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Features {
    pub(super) epoch: i64,
    pub(super) transaction_version: i8,
}

/// One life of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct ConnectionId(BrokerId, u32);

#[derive(Debug)]
enum Event {
    Request(ConnectionId, Correlation, Request),
    /// A held answer may have come to its turn.
    Pump(ConnectionId),
    ToClient(Arrival),
}

/// An answer that waits for its turn, or what stands in its place.
#[derive(Debug)]
struct Held {
    correlation: Correlation,
    api: ApiKey,
    verdict: Verdict,
    after: Option<String>,
    delay: Duration,
    /// When it leaves, once it may.
    leaves_at: Option<Instant>,
}

#[derive(Debug, Default)]
struct Connection {
    /// What the client has sent over it and not heard of.
    outstanding: Vec<Correlation>,
    held: VecDeque<Held>,
    closed_by_broker: bool,
}

/// The network between the client and the broker.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) now: Instant,
    pub(super) broker: ScriptedBroker,
    pub(super) features: Features,
    /// When a request arrived or an answer was written last, Fetch repetitions apart.
    pub(super) last_activity: Instant,
    events: BTreeMap<(Instant, u64), Event>,
    sequence: u64,
    /// The open connection of each node, as the client sees it.
    open: BTreeMap<BrokerId, u32>,
    lives: u32,
    connections: BTreeMap<ConnectionId, Connection>,
}

impl Network {
    pub(super) fn new(broker: ScriptedBroker, transaction_version: i8) -> Self {
        Self {
            now: Instant::START,
            broker,
            features: Features { epoch: 1, transaction_version },
            last_activity: Instant::START,
            events: BTreeMap::new(),
            sequence: 0,
            open: BTreeMap::new(),
            lives: 0,
            connections: BTreeMap::new(),
        }
    }

    fn schedule(&mut self, after: Duration, event: Event) {
        self.sequence += 1;
        self.events.insert((self.now + after, self.sequence), event);
    }

    /// When something happens next.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.events.first_key_value().map(|((at, _), _)| *at)
    }

    /// On to `at`; `false` if that is never.
    pub(super) fn advance(&mut self, at: Instant) -> bool {
        let comes = at != Instant::FAR;
        if comes {
            self.now = self.now.max(at);
        }
        comes
    }

    /// Is anything left to do at this instant?
    pub(super) fn is_due(&self) -> bool {
        self.next_at().is_some_and(|next| next <= self.now)
    }

    /// The surroundings of the client: 4.4 as released.
    pub(super) fn env<'a>(&self, marks: &'a mut Marks) -> Env<'a> {
        Env {
            now: self.now,
            clock_skew_ms: 0,
            kafka: KafkaVersion::V4_4,
            backports: eosim_types::CapabilitySet::NONE,
            defects: DefectSet::as_released(),
            marks,
        }
    }

    /// Does what the client decided.
    pub(super) fn take(&mut self, out: &mut Out<Message, Observed>) {
        for effect in out.drain() {
            match effect {
                Effect::Send { to, message: Message::Request(Request::ApiVersions(_)), .. } => {
                    self.connection_to(node_of(to));
                }
                Effect::Send { to, correlation, message: Message::Request(request), .. } => {
                    let connection = self.connection_to(node_of(to));
                    let open = self.connections.entry(connection).or_default();
                    open.outstanding.push(correlation);
                    self.schedule(LATENCY, Event::Request(connection, correlation, request));
                }
                Effect::Close { to, .. } => {
                    if let Some(life) = self.open.remove(&node_of(to)) {
                        self.connections.remove(&ConnectionId(node_of(to), life));
                    }
                }
                _ => {}
            }
        }
    }

    fn connection_to(&mut self, node: BrokerId) -> ConnectionId {
        if let Some(&life) = self.open.get(&node) {
            return ConnectionId(node, life);
        }
        self.lives += 1;
        self.open.insert(node, self.lives);
        self.schedule(LATENCY, Event::ToClient(Arrival::Connected(self.features)));
        ConnectionId(node, self.lives)
    }

    /// Lets the next event happen; returns what it brings to the client.
    pub(super) fn step(
        &mut self,
        versions: &Versions,
        names: &mut CaseNames,
    ) -> Result<Option<Arrival>, Unsupported> {
        let Some(((at, _), event)) = self.events.pop_first() else { return Ok(None) };
        self.now = self.now.max(at);
        match event {
            Event::Request(connection, correlation, request) => {
                self.arrive(connection, correlation, &request, versions, names)?;
            }
            Event::Pump(connection) => self.pump(connection),
            Event::ToClient(arrival) => return Ok(self.reach_client(arrival)),
        }
        Ok(None)
    }

    fn reach_client(&mut self, arrival: Arrival) -> Option<Arrival> {
        if let Arrival::Ended(correlation, response) = &arrival {
            let holds = |c: &Connection| c.outstanding.contains(correlation);
            let found = self.connections.iter_mut().find(|(_, c)| holds(c))?;
            let (&ConnectionId(node, life), connection) = found;
            connection.outstanding.retain(|known| known != correlation);
            if response.is_none() && self.open.get(&node) == Some(&life) {
                self.open.remove(&node);
            }
        }
        if let Arrival::Closed(node) = arrival {
            self.open.remove(&node);
        }
        Some(arrival)
    }

    fn arrive(
        &mut self,
        id: ConnectionId,
        correlation: Correlation,
        request: &Request,
        versions: &Versions,
        names: &mut CaseNames,
    ) -> Result<(), Unsupported> {
        let Some(connection) = self.connections.get(&id) else {
            // The client has closed it, and the broker reads what was under way.
            self.broker.handle(id.0, request, false, versions, names)?;
            return Ok(());
        };
        if connection.closed_by_broker {
            return Ok(());
        }
        let ends = |held: &Held| !matches!(held.verdict, Verdict::Answer(_));
        let is_lost = connection.held.iter().any(ends);
        let Handled { verdict, rule } =
            self.broker.handle(id.0, request, is_lost, versions, names)?;
        self.note_activity(request, rule.as_ref());
        let idle = matches!(request, Request::Fetch(_)) && rule.is_none();
        let held = Held {
            correlation,
            api: request.api(),
            verdict,
            after: rule.as_ref().and_then(|rule| rule.after.clone()),
            delay: rule
                .as_ref()
                .map_or(if idle { IDLE_FETCH } else { Duration::ZERO }, Rule::delay),
            leaves_at: None,
        };
        self.connections.get_mut(&id).expect("looked at above").held.push_back(held);
        self.pump_all();
        Ok(())
    }

    fn note_activity(&mut self, request: &Request, rule: Option<&Rule>) {
        let repetition = matches!(request, Request::Fetch(_)) && rule.is_none();
        if !repetition && !matches!(request, Request::Metadata(_)) {
            self.last_activity = self.now;
        }
    }

    /// Conditions may be met now.
    pub(super) fn pump_all(&mut self) {
        for id in self.connections.keys().copied().collect::<Vec<_>>() {
            self.pump(id);
        }
    }

    /// Lets the answers of a connection leave whose turn it is.
    fn pump(&mut self, id: ConnectionId) {
        loop {
            let Some(connection) = self.connections.get_mut(&id) else { return };
            let Some(front) = connection.held.front_mut() else { return };
            if connection.closed_by_broker || front.verdict == Verdict::Silent {
                return;
            }
            if front.after.as_ref().is_some_and(|condition| !self.broker.is_met(condition)) {
                return;
            }
            let leaves_at = *front.leaves_at.get_or_insert(self.now + front.delay);
            if self.now < leaves_at {
                let wait = leaves_at.since(self.now);
                return self.schedule(wait, Event::Pump(id));
            }
            let held = connection.held.pop_front().expect("looked at above");
            self.leave(id, held);
        }
    }

    fn leave(&mut self, id: ConnectionId, held: Held) {
        if held.api != ApiKey::Metadata {
            self.broker.answer_written(held.api);
        }
        if !matches!(held.api, ApiKey::Metadata | ApiKey::Fetch) {
            self.last_activity = self.now;
        }
        match held.verdict {
            Verdict::Answer(response) => {
                let arrival = Arrival::Ended(held.correlation, Some(response));
                self.schedule(LATENCY, Event::ToClient(arrival));
            }
            Verdict::Drop => self.close(id),
            Verdict::Silent => unreachable!("stays where it is"),
        }
    }

    /// The broker closes the connections of `node`.
    pub(super) fn disconnect(&mut self, node: BrokerId) {
        if let Some(&life) = self.open.get(&node) {
            self.close(ConnectionId(node, life));
        }
    }

    fn close(&mut self, id: ConnectionId) {
        // Earlier lives, of which the client has heard the end, are nobody's concern any more.
        self.connections.retain(|known, c| {
            known.0 != id.0 || *known == id || !c.closed_by_broker || !c.outstanding.is_empty()
        });
        let connection = self.connections.get_mut(&id).expect("an open connection");
        connection.closed_by_broker = true;
        connection.held.clear();
        let outstanding = connection.outstanding.clone();
        if outstanding.is_empty() {
            return self.schedule(LATENCY, Event::ToClient(Arrival::Closed(id.0)));
        }
        for correlation in outstanding {
            self.schedule(LATENCY, Event::ToClient(Arrival::Ended(correlation, None)));
        }
    }
}

fn node_of(actor: ActorId) -> BrokerId {
    actor.as_broker(NODES).expect("clients send to brokers")
}
