//! A served cluster without its sockets: what comes in and when, what goes out.
//!
//! Invariant: what goes out is a function of plan, seed and the inputs with their times, so that a
//! recorded session can be looked at again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use eosim_actor::{Correlation, Lane};
use eosim_runner::Plan;
use eosim_runner::served::{OUTSIDERS, Served};
use eosim_types::message::{FetchMetadata, FetchResponse, Request, Response};
use eosim_types::{ActorId, BrokerId, DefectSet, Duration, ErrorCode, Instant, Value};
use kafka_protocol::messages::ApiKey;

use super::Report;
use super::control::control;
use super::front::Front;
use super::versions;
use super::watch::Watcher;
use crate::{Dictionary, Malformed, codec};

/// How far virtual time may run ahead of what it is told, so that an answer that needs no waiting
/// does not wait.
const AHEAD: Duration = Duration::from_millis(2);
/// Connections of one client to one broker.
const LANES: u16 = 256;

/// How often what is of no use any more is given up.
const TIDY_EVERY: Duration = Duration::from_millis(20_000);
/// For how many of these times bytes are kept of batches that lie in no log.
const BATCHES_KEPT: usize = 6;

/// A connection of the outside.
pub type ConnectionId = u64;

/// Something that comes in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// Somebody connects to a broker.
    Opened(ConnectionId, BrokerId),
    /// A request, without the length before it.
    Frame(ConnectionId, Bytes),
    /// A connection is gone.
    Closed(ConnectionId),
    /// Somebody looks at the session or acts on it: method, path and body of an HTTP request.
    Control(String, String, String),
}

/// Something that goes out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// An answer, without the length before it.
    Frame(ConnectionId, Bytes),
    /// A connection is closed, for a reason that is worth a line in the log, or none.
    Close(ConnectionId, Option<String>),
    /// The answer to whoever looked or acted: a status and JSON.
    Told(u16, String),
}

/// A request that is not answered yet; answers leave in the order of the requests.
struct Waiting {
    key: ApiKey,
    version: i16,
    correlation_id: i32,
    requests: Vec<Request>,
    responses: Vec<Option<Response>>,
    /// The body, where it is known.
    body: Option<Bytes>,
}

/// One open connection.
struct Client {
    broker: BrokerId,
    /// Who it is on the network, once it has said its name.
    place: Option<(ActorId, Lane)>,
    waiting: VecDeque<Waiting>,
    /// The number of the first that waits.
    first: u64,
}

/// A cluster and those who talk to it.
pub struct Session {
    /// The scenario as it is served, with the clients that it must have.
    pub(crate) scenario: String,
    /// The cluster.
    pub served: Served,
    /// What the names on the wire stand for.
    pub names: Dictionary,
    watcher: Watcher,
    clients: BTreeMap<ConnectionId, Client>,
    /// Whose answer a correlation brings: connection, number of the request, place in it.
    pending: BTreeMap<Correlation, (ConnectionId, u64, usize)>,
    correlation: u32,
    /// Names of clients, in the order in which they came.
    client_ids: BTreeMap<String, u16>,
    lanes: BTreeMap<(ActorId, BrokerId), BTreeSet<u8>>,
    cluster_id: String,
    topics_created: u64,
    names_known: usize,
    /// When what is of no use any more was given up last.
    tidied: Instant,
    /// How many records there were each time.
    marks: VecDeque<u64>,
    out: Vec<Output>,
}

impl Session {
    /// The cluster of `plan`; `endpoints` say where each broker listens, `clock_ms` what clocks show
    /// now.
    #[must_use]
    pub fn begin(
        plan: Plan,
        seed: u64,
        defects: DefectSet,
        endpoints: BTreeMap<BrokerId, (String, u16)>,
        clock_ms: i64,
    ) -> Self {
        let scenario = plan.to_json();
        let (served, names) = Served::begin(plan, seed, defects);
        let mut names = Dictionary::of_broker(names);
        names.endpoints = endpoints;
        names.clock_ms = clock_ms - served.now().as_millis();
        let mut session = Self {
            scenario,
            served,
            names,
            watcher: Watcher::default(),
            clients: BTreeMap::new(),
            pending: BTreeMap::new(),
            correlation: 0,
            client_ids: BTreeMap::new(),
            lanes: BTreeMap::new(),
            cluster_id: format!("eosim-{seed:016x}"),
            topics_created: 0,
            names_known: 0,
            tidied: Instant::START,
            marks: VecDeque::new(),
            out: Vec::new(),
        };
        session.give_ids();
        session
    }

    /// Every topic of the plan gets an id.
    fn give_ids(&mut self) {
        let image = self.served.newest_image();
        let topics: BTreeSet<_> = image.partitions.keys().map(|tp| tp.topic).collect();
        for topic in topics {
            self.front(BrokerId(1)).give_id(topic);
        }
    }

    fn front(&mut self, broker: BrokerId) -> Front<'_> {
        Front {
            broker,
            served: &mut self.served,
            names: &mut self.names,
            cluster_id: &self.cluster_id,
            topics_created: &mut self.topics_created,
        }
    }

    /// How many connections are open.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.clients.len()
    }

    /// Time passes until `at`.
    pub fn advance_to(&mut self, at: Instant) {
        self.served.advance_to(at);
        self.deliver();
    }

    /// Something comes in, now.
    pub fn take(&mut self, input: Input) {
        if self.served.now().since(self.tidied) > TIDY_EVERY {
            self.tidy();
        }
        match input {
            Input::Opened(id, broker) => {
                let (place, waiting, first) = (None, VecDeque::new(), 0);
                self.clients.insert(id, Client { broker, place, waiting, first });
                if !self.served.is_serving(broker) {
                    self.close(id, None);
                }
            }
            Input::Frame(id, frame) => {
                if let Err(malformed) = self.request(id, frame) {
                    self.close(id, Some(malformed.0));
                }
            }
            Input::Closed(id) => self.forget(id),
            Input::Control(method, path, body) => {
                let (status, told) = control(self, &method, &path, &body);
                self.out.push(Output::Told(status, told.to_string()));
            }
        }
    }

    /// Gives up what is of no use any more: facts that were judged, and bytes of batches that lie in
    /// no log and are not new. It depends on what comes in and when only, so that a session that is
    /// played again is judged the same.
    fn tidy(&mut self) {
        self.tidied = self.served.now();
        self.served.settle_facts();
        self.marks.push_back(self.names.values);
        if self.marks.len() <= BATCHES_KEPT {
            return;
        }
        let old = self.marks.pop_front().unwrap_or(0);
        let mut logged: Vec<Value> = Vec::new();
        for replica in self.served.replicas() {
            let firsts = replica.batches().filter_map(|batch| batch.records().first());
            logged.extend(firsts.map(|first| first.value));
        }
        logged.sort_unstable();
        logged.dedup();
        let old = Value::numbered(0, old);
        let is_kept = |first: Value| first >= old || logged.binary_search(&first).is_ok();
        self.names.retain_batches(&is_kept);
    }

    /// Lets what came in take its course, as far as it does not wait for anything.
    pub fn settle(&mut self) {
        self.served.settle(AHEAD);
        self.deliver();
    }

    /// Ends all faults, and judges.
    pub fn finish(&mut self) -> Report {
        let anomalies = self.served.finish().to_vec();
        let (steps, digest) = (self.served.steps(), self.served.digest());
        Report { anomalies, steps, digest }
    }

    /// What goes out.
    pub fn take_outputs(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.out)
    }

    fn close(&mut self, id: ConnectionId, why: Option<String>) {
        if self.clients.contains_key(&id) {
            self.forget(id);
            self.out.push(Output::Close(id, why));
        }
    }

    fn forget(&mut self, id: ConnectionId) {
        let Some(client) = self.clients.remove(&id) else { return };
        self.watcher.closed(id);
        if let Some((actor, lane)) = client.place {
            self.served.close(actor, client.broker, lane);
            self.lanes.entry((actor, client.broker)).or_default().remove(&lane.0);
        }
        self.pending.retain(|_, (owner, ..)| *owner != id);
    }

    fn request(&mut self, id: ConnectionId, mut frame: Bytes) -> Result<(), Malformed> {
        let Some(client) = self.clients.get(&id) else { return Ok(()) };
        let broker = client.broker;
        let (key, header) = codec::read_request_header(&mut frame)?;
        let version = header.request_api_version;
        let mut waiting = Waiting {
            key,
            version,
            correlation_id: header.correlation_id,
            requests: Vec::new(),
            responses: Vec::new(),
            body: None,
        };
        if key == ApiKey::ApiVersions {
            let known = versions::is_spoken(self.served.plan().kafka, key, version);
            waiting.body = Some(self.front(broker).api_versions(version)?);
            waiting.version = if known { version } else { 0 };
            self.wait(id, waiting);
            return Ok(());
        }
        if !versions::is_spoken(self.served.plan().kafka, key, version) {
            return Err(Malformed::new(format!("{key:?} of version {version} is not spoken")));
        }
        if let Some(body) = self.front(broker).answer(key, version, frame.clone()) {
            waiting.body = Some(body?);
            self.wait(id, waiting);
            return Ok(());
        }
        let requests = codec::read_request(key, version, frame, &mut self.names)?;
        self.tell_names();
        let name = header.client_id.as_deref().unwrap_or_default().to_string();
        self.send(id, &name, waiting, requests)
    }

    /// The cluster learns of names that came up.
    pub(super) fn tell_names(&mut self) {
        let known = self.names.count();
        if known != self.names_known {
            self.names_known = known;
            self.served.know(&self.names.names);
        }
    }

    /// The model answers.
    fn send(
        &mut self,
        id: ConnectionId,
        name: &str,
        mut waiting: Waiting,
        requests: Vec<Request>,
    ) -> Result<(), Malformed> {
        let (actor, lane) = self.place(id, name)?;
        let client = self.clients.get(&id).expect("the connection is open");
        let (broker, number) = (client.broker, client.first + client.waiting.len() as u64);
        let mut sent = Vec::new();
        for (at, mut request) in requests.into_iter().enumerate() {
            let refusal = sessionless(&mut request);
            self.correlation += 1;
            let correlation = Correlation(self.correlation);
            if refusal.is_none() {
                let (names, served) = (&mut self.names, &mut self.served);
                self.watcher.sent(id, correlation, &mut request, names, served);
                sent.push((correlation, request.clone()));
                self.pending.insert(correlation, (id, number, at));
            }
            waiting.responses.push(refusal);
            waiting.requests.push(request);
        }
        let unanswered = |request: &Request| matches!(request, Request::Produce(p) if p.acks == 0);
        let answered = !waiting.requests.iter().any(unanswered);
        if answered {
            self.wait(id, waiting);
        }
        for (correlation, request) in sent {
            self.served.send(actor, broker, lane, correlation, request);
        }
        self.deliver();
        Ok(())
    }

    /// Where a connection is on the simulated network.
    fn place(&mut self, id: ConnectionId, name: &str) -> Result<(ActorId, Lane), Malformed> {
        let client = self.clients.get_mut(&id).expect("the connection is open");
        if let Some(place) = client.place {
            return Ok(place);
        }
        let next = u16::try_from(self.client_ids.len() % usize::from(OUTSIDERS)).unwrap_or(0);
        let known = self.client_ids.len() < 10_000;
        let index = match self.client_ids.get(name) {
            Some(&index) => index,
            None if known => *self.client_ids.entry(name.to_string()).or_insert(next),
            None => 0,
        };
        let actor = self.served.outsider(index);
        let used = self.lanes.entry((actor, client.broker)).or_default();
        let free = (0..LANES).filter_map(|lane| u8::try_from(lane).ok());
        let lane = free.into_iter().find(|lane| !used.contains(lane));
        let lane = lane.ok_or_else(|| Malformed::new("too many connections of one client"))?;
        used.insert(lane);
        client.place = Some((actor, Lane(lane)));
        Ok((actor, Lane(lane)))
    }

    fn wait(&mut self, id: ConnectionId, waiting: Waiting) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.waiting.push_back(waiting);
            self.flush(id);
        }
    }

    /// Answers of the model go to those who wait for them.
    fn deliver(&mut self) {
        for (correlation, response) in self.served.take_fates() {
            let Some((id, number, at)) = self.pending.remove(&correlation) else { continue };
            let Some(response) = response else {
                self.watcher.lost(correlation);
                self.close(id, None);
                continue;
            };
            self.watcher.answered(correlation, &response, &mut self.served);
            let Some(client) = self.clients.get_mut(&id) else { continue };
            let place = number.checked_sub(client.first).and_then(|n| usize::try_from(n).ok());
            let waiting = place.and_then(|place| client.waiting.get_mut(place));
            if let Some(slot) = waiting.and_then(|waiting| waiting.responses.get_mut(at)) {
                *slot = Some(response);
            }
            self.flush(id);
        }
    }

    /// Sends what is complete, in order.
    fn flush(&mut self, id: ConnectionId) {
        loop {
            let Some(client) = self.clients.get_mut(&id) else { return };
            let Some(waiting) = client.waiting.front_mut() else { return };
            if waiting.body.is_none() && waiting.responses.iter().any(Option::is_none) {
                return;
            }
            let waiting = client.waiting.pop_front().expect("there is one");
            client.first += 1;
            match self.written(waiting) {
                Ok(frame) => self.out.push(Output::Frame(id, frame)),
                Err(malformed) => self.close(id, Some(format!("an answer: {malformed}"))),
            }
        }
    }

    fn written(&self, waiting: Waiting) -> Result<Bytes, Malformed> {
        let Waiting { key, version, correlation_id, requests, responses, body } = waiting;
        let body = match body {
            Some(body) => body,
            None => {
                let responses: Vec<Response> = responses.into_iter().flatten().collect();
                codec::write_response(&requests, &responses, version, &self.names)?
            }
        };
        codec::response_frame(key, version, correlation_id, &body)
    }
}

/// Consumers are given no fetch session, so that every fetch is a full one: a request that goes on
/// with a session is told that there is none.
fn sessionless(request: &mut Request) -> Option<Response> {
    let Request::Fetch(fetch) = request else { return None };
    if !fetch.metadata.is_full() {
        let error = ErrorCode::FetchSessionIdNotFound;
        return Some(FetchResponse { error, session_id: 0, partitions: Vec::new() }.into());
    }
    fetch.metadata = FetchMetadata::LEGACY;
    None
}
