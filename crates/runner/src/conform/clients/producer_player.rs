//! Plays a recorded producer case: the application's threads, the producer, the network.
//!
//! Steps follow each other at the same instant until one waits; a waiting step goes on when its
//! condition holds, after the producer has finished its handler or iteration.

use std::collections::BTreeMap;
use std::collections::VecDeque;

use eosim_actor::{Cx, Out, Quiet};
use eosim_sim::cluster::producer::{Call, CallId, Outcome, Producer};
use eosim_sim::cluster::{ApiVersions, Exception};
use eosim_types::message::{ApiKey, Message};
use eosim_types::observation::Observed;
use eosim_types::record::Record;
use eosim_types::version::TransactionVersion;
use eosim_types::{ActorId, BrokerId, Duration, Instant, Marks, Sequence, TopicPartition};
use serde_json::{Map, Value, json};

use super::broker::{
    GROUP_COORDINATOR, LEADER, SECOND_LEADER, ScriptedBroker, TRANSACTION_COORDINATOR, nodes,
};
use super::case::{ClientCase, name_of};
use super::judge::{Seen, thrown};
use super::names::{CaseNames, committable};
use super::network::{Arrival, Features, Network};
use super::producer_steps::{Step, read_step, settings};
use super::settling::Settling;
use super::state;
use super::wire::Versions;
use crate::conform::fields::Unsupported;

/// The client's place in the world.
pub(super) const CLIENT: ActorId = ActorId(100);
/// How long a wait for the broker or the producer lasts at most.
pub(super) const PATIENCE: Duration = Duration::from_millis(15_000);
/// No case that ends takes so many steps of the model.
pub(super) const STEPS_MAX: u32 = 200_000;

/// What a thread of the application waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Waiting {
    Call(CallId),
    Arrived(String, u32),
    Answered(String, u32),
    Futures(Vec<String>),
    State(String),
    Until(Instant),
    Settled(Settling),
    Join(usize),
}

/// One `send()`.
struct Sent {
    call: CallId,
    value: String,
    partition: TopicPartition,
    /// It returned, and did not throw.
    has_future: bool,
}

/// A step at its place in the script.
#[derive(Clone)]
struct AppStep {
    at: usize,
    name: String,
    step: Step,
    own_thread: bool,
}

/// A step that has begun and what it waits for.
#[derive(Clone)]
struct Begun {
    at: usize,
    name: String,
    step: Step,
    waiting: Option<Waiting>,
}

/// A case under way.
pub(super) struct ProducerPlayer {
    names: CaseNames,
    network: Network,
    producer: Producer,
    api_versions: ApiVersions,
    versions: Versions,
    marks: Marks,
    out: Out<Message, Observed>,
    steps: VecDeque<AppStep>,
    /// The step that waits, and until when at most.
    waiting: Option<(Begun, Instant)>,
    /// Steps in threads of their own.
    background: Vec<Begun>,
    returned: BTreeMap<CallId, Result<(), Exception>>,
    sent: Vec<Sent>,
    /// How the futures ended that did.
    futures: BTreeMap<CallId, Result<Option<i64>, Exception>>,
    outcome: Vec<Value>,
}

impl ProducerPlayer {
    /// Plays `case`.
    pub(super) fn play(case: &ClientCase) -> Result<Seen, Unsupported> {
        let mut names = CaseNames::new();
        let broker = ScriptedBroker::new(case, &mut names)?;
        let (config, transactional_id) = match settings(case)? {
            Ok(constructed) => constructed,
            Err(exception) => return Ok(refused(&exception)),
        };
        let transactional_id = transactional_id.map(|id| names.add_transactional_id(&id));
        let mut steps = VecDeque::new();
        for (at, step) in case.app.iter().enumerate() {
            let ((step, own_thread), name) = (read_step(step)?, name_of(step).to_string());
            steps.push_back(AppStep { at, name, step, own_thread });
        }
        let (at, name) = (case.app.len(), "settle".to_string());
        steps.push_back(AppStep { at, name, step: Step::Settle {}, own_thread: false });
        let producer = Producer::new(&config, transactional_id, &nodes(case));
        let api_versions = api_versions(case)?;
        let mut player = Self {
            versions: Versions { find_coordinator: api_versions.latest(ApiKey::FindCoordinator) },
            steps,
            names,
            network: Network::new(broker, case.transaction_version),
            producer,
            api_versions,
            marks: Marks::new(),
            out: Out::new(),
            waiting: None,
            background: Vec::new(),
            returned: BTreeMap::new(),
            sent: Vec::new(),
            futures: BTreeMap::new(),
            outcome: Vec::new(),
        };
        player.connected(player.network.features);
        player.run()?;
        player.finish();
        let client_state_end = state::describe(&player.producer, &player.names);
        let (wire, outcome) = (player.network.broker.wire, player.outcome);
        Ok(Seen { wire, outcome, client_state_end })
    }

    fn with_cx<T>(
        &mut self,
        f: impl FnOnce(&mut Producer, &mut Cx<'_>, &mut Out<Message, Observed>) -> T,
    ) -> T {
        let env = self.network.env(&mut self.marks);
        let mut cx = Cx { id: CLIENT, env, choices: &mut Quiet };
        let result = f(&mut self.producer, &mut cx, &mut self.out);
        self.network.take(&mut self.out);
        while let Some(outcome) = self.producer.pop_outcome() {
            self.learn(outcome);
        }
        result
    }

    fn learn(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Returned { call, result } => {
                let sent = self.sent.iter_mut().find(|sent| sent.call == call);
                if let Some(sent) = sent {
                    sent.has_future = result.is_ok();
                }
                self.returned.insert(call, result);
            }
            Outcome::Record(record) => drop(self.futures.insert(record.call, record.result)),
            Outcome::RawProduced { .. } => {}
        }
    }

    /// Runs until the last step is over, or until nothing will ever happen again.
    fn run(&mut self) -> Result<(), Unsupported> {
        for _ in 0..STEPS_MAX {
            while self.go_on()? {}
            if self.steps.is_empty() && self.waiting.is_none() {
                return Ok(());
            }
            if !self.with_cx(Producer::turn) && !self.let_time_pass()? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// On to the next instant at which anything happens; `false` if there is none.
    fn let_time_pass(&mut self) -> Result<bool, Unsupported> {
        let own = self.waiting.as_ref().map_or(Instant::FAR, |(begun, end)| {
            let own = begun.waiting.as_ref().map_or(Instant::FAR, |waiting| self.wakes_at(waiting));
            own.min(*end)
        });
        let at = self.network.next_at().unwrap_or(Instant::FAR);
        let at = at.min(own).min(self.producer.next_wake());
        if !self.network.advance(at) {
            return Ok(false);
        }
        while self.network.is_due() {
            match self.network.step(&self.versions, &mut self.names)? {
                Some(Arrival::Ended(correlation, response)) => {
                    self.producer.arrived(correlation, response);
                }
                Some(Arrival::Connected(features)) => self.connected(features),
                Some(Arrival::Closed(node)) => self.producer.disconnected(node),
                None => {}
            }
        }
        Ok(true)
    }

    /// When `waiting` may end by lapse of time.
    fn wakes_at(&self, waiting: &Waiting) -> Instant {
        match waiting {
            Waiting::Until(until) => *until,
            Waiting::Settled(settling) => settling.next_look(self.network.now),
            Waiting::Join(place) => {
                let joined = self.background[*place].waiting.as_ref();
                joined.map_or(Instant::FAR, |waiting| self.wakes_at(waiting))
            }
            _ => Instant::FAR,
        }
    }

    fn connected(&mut self, features: Features) {
        let version = TransactionVersion::from_level(features.transaction_version);
        self.producer.connected(self.api_versions.clone(), features.epoch, version);
    }

    /// Takes the next step, or ends the wait of one; `false` if the application waits.
    fn go_on(&mut self) -> Result<bool, Unsupported> {
        if let Some((begun, end)) = self.waiting.take() {
            if !self.is_over(&begun) && self.network.now < end {
                self.waiting = Some((begun, end));
                return Ok(false);
            }
            self.end(&begun);
            return Ok(true);
        }
        let Some(AppStep { at, name, step, own_thread }) = self.steps.pop_front() else {
            return Ok(false);
        };
        let waiting = self.begin(at, &step)?;
        let begun = Begun { at, name, step, waiting };
        if own_thread {
            self.note(at, &begun.name, json!({ "async": true }));
            self.background.push(begun);
        } else if begun.waiting.is_some() {
            let endless = matches!(begun.waiting, Some(Waiting::Call(_) | Waiting::Until(_)));
            let end = if endless { Instant::FAR } else { self.network.now + PATIENCE };
            self.waiting = Some((begun, end));
        }
        Ok(true)
    }

    /// Begins a step; what it waits for, if it does.
    fn begin(&mut self, at: usize, step: &Step) -> Result<Option<Waiting>, Unsupported> {
        let now = self.network.now;
        Ok(match step {
            Step::Await { api, n } => Some(Waiting::Arrived(api.clone(), *n)),
            Step::AwaitAnswered { api, n } => Some(Waiting::Answered(api.clone(), *n)),
            Step::Wait { of } => Some(Waiting::Futures(of.clone())),
            Step::AwaitState { state } => Some(Waiting::State(state.clone())),
            Step::Sleep { ms } => Some(Waiting::Until(now + Duration::from_millis(*ms))),
            Step::Settle {} | Step::State {} => Some(Waiting::Settled(Settling::begin(now))),
            Step::Join { of } => {
                let named = self.background.iter().rposition(|begun| begun.name == *of);
                Some(Waiting::Join(named.ok_or_else(|| Unsupported(format!("join of {of}")))?))
            }
            Step::Release { name } => {
                self.network.broker.release(name);
                self.network.pump_all();
                None
            }
            Step::Count { api } => {
                let count = self.network.broker.arrived(api).to_string();
                self.note(at, "count", json!({ "result": count }));
                None
            }
            Step::Features { transaction_version } => {
                let Features { epoch, .. } = self.network.features;
                self.network.features =
                    Features { epoch: epoch + 1, transaction_version: *transaction_version };
                None
            }
            Step::Disconnect { role } => {
                self.network.disconnect(node(*role)?);
                None
            }
            Step::SetNextSequence { partition, next } => {
                let partition = self.names.find_partition(partition)?;
                self.producer.set_next_sequence(partition, Sequence(*next));
                None
            }
            call => Some(Waiting::Call(self.begin_call(call)?)),
        })
    }

    fn begin_call(&mut self, step: &Step) -> Result<CallId, Unsupported> {
        let call = self.call_of(step)?;
        if let Step::Send { partition, value, .. } = step {
            let (partition, value) = (self.names.of_topic(*partition), value.clone());
            // The call may return at once.
            let call = self.producer.next_call();
            self.sent.push(Sent { call, value, partition, has_future: false });
        }
        Ok(self.with_cx(|producer, cx, _| producer.call(call, cx)))
    }

    fn call_of(&mut self, step: &Step) -> Result<Call, Unsupported> {
        Ok(match step {
            Step::Init {} => Call::InitTransactions,
            Step::Begin {} => Call::BeginTransaction,
            Step::Flush {} => Call::Flush,
            Step::Commit {} => Call::CommitTransaction,
            Step::Abort {} => Call::AbortTransaction,
            Step::Close { timeout_ms } => {
                Call::Close { timeout: timeout_ms.map(Duration::from_millis) }
            }
            Step::Send { partition, value, size } => Call::Send {
                partition: self.names.of_topic(*partition),
                record: Record {
                    value: self.names.add_value(value),
                    key: None,
                    value_bytes: padded(value, *size),
                },
            },
            Step::Offsets { group, offsets, member, generation, instance } => {
                let (member, instance) = (member.as_deref(), instance.as_deref());
                let committed = offsets.iter().map(|(partition, &offset)| {
                    Ok(committable(self.names.find_partition(partition)?, offset))
                });
                let offsets = committed.collect::<Result<_, Unsupported>>()?;
                Call::SendOffsetsToTransaction {
                    group: self.names.add_group(group),
                    member: self.names.add_member(*generation, member, instance),
                    offsets,
                }
            }
            other => return Err(Unsupported(format!("the step {other:?}"))),
        })
    }

    fn is_over(&self, begun: &Begun) -> bool {
        let Some(waiting) = &begun.waiting else { return true };
        match waiting {
            Waiting::Call(call) => self.returned.contains_key(call),
            Waiting::Arrived(api, n) => self.network.broker.arrived(api) >= *n,
            Waiting::Answered(api, n) => self.network.broker.answered(api) >= *n,
            Waiting::Futures(values) => {
                let mut futures = self.sent.iter().filter(|sent| sent.has_future);
                futures.all(|sent| {
                    !values.contains(&sent.value) || self.futures.contains_key(&sent.call)
                })
            }
            Waiting::State(state) => {
                self.producer.state().is_some_and(|known| known.name() == state)
            }
            Waiting::Until(until) => self.network.now >= *until,
            Waiting::Settled(settling) => {
                settling.is_over(self.network.now, self.network.last_activity)
            }
            Waiting::Join(place) => self.is_over(&self.background[*place]),
        }
    }

    fn end(&mut self, begun: &Begun) {
        match begun.waiting {
            Some(Waiting::Call(_)) => {
                let entry = self.result_of(begun);
                self.note(begun.at, &begun.name, entry);
            }
            Some(Waiting::Join(place)) => {
                let joined = self.background[place].clone();
                let mut entry = self.result_of(&joined);
                entry["step"] = json!(joined.at);
                entry["joined"] = json!(joined.name);
                self.outcome.push(entry);
            }
            Some(Waiting::Settled(_)) if begun.step == (Step::State {}) => {
                let state = state::describe(&self.producer, &self.names);
                self.note(begun.at, "state", json!({ "result": "ok", "state": state }));
            }
            _ => {}
        }
    }

    /// What `begun` returned or threw, if it is over.
    fn result_of(&self, begun: &Begun) -> Value {
        let mut entry = Map::new();
        if let Step::Send { value, .. } = &begun.step {
            entry.insert("value".to_string(), json!(value));
        }
        let result = match &begun.waiting {
            Some(Waiting::Call(call)) => self.returned.get(call).cloned(),
            _ => self.is_over(begun).then_some(Ok(())),
        };
        match result {
            Some(Err(exception)) => return thrown(entry, &exception).into(),
            Some(Ok(())) => entry.insert("result".to_string(), json!("ok")),
            None => entry.insert("result".to_string(), json!("pending")),
        };
        entry.into()
    }

    fn note(&mut self, at: usize, name: &str, mut entry: Value) {
        entry["step"] = json!(at);
        entry["do"] = json!(name);
        self.outcome.push(entry);
    }

    /// What the futures hold in the end.
    fn finish(&mut self) {
        for Sent { call, value, partition, .. } in self.sent.iter().filter(|s| s.has_future) {
            let mut entry = Map::new();
            entry.insert("future".to_string(), json!(value));
            match self.futures.get(call) {
                None => drop(entry.insert("result".to_string(), json!("pending"))),
                Some(Ok(offset)) => {
                    let partition = self.names.partition(*partition);
                    entry.insert("partition".to_string(), json!(partition));
                    entry.insert("offset".to_string(), json!(offset.unwrap_or(-1)));
                }
                Some(Err(exception)) => {
                    entry.insert("exception".to_string(), json!(exception.class.name()));
                }
            }
            self.outcome.push(entry.into());
        }
    }
}

/// A constructor that throws is all there is to see.
pub(super) fn refused(exception: &Exception) -> Seen {
    let mut entry = Map::new();
    entry.insert("do".to_string(), json!("construct"));
    Seen { outcome: vec![thrown(entry, exception).into()], ..Seen::default() }
}

/// The bytes of `value`, padded to `size` with dots, at least one.
fn padded(value: &str, size: u32) -> u32 {
    let bytes = u32::try_from(value.len()).unwrap_or(u32::MAX);
    if size == 0 { bytes } else { size.max(bytes + 1) }
}

pub(super) fn node(role: i32) -> Result<BrokerId, Unsupported> {
    let nodes = [LEADER, TRANSACTION_COORDINATOR, GROUP_COORDINATOR, SECOND_LEADER];
    let node = usize::try_from(role).ok().and_then(|role| nodes.get(role));
    node.copied().ok_or_else(|| Unsupported(format!("the role {role}")))
}

pub(super) fn api_versions(case: &ClientCase) -> Result<ApiVersions, Unsupported> {
    let mut versions = ApiVersions::default();
    for (name, &version) in &case.api_max {
        let api = ApiKey::ALL.iter().copied().find(|api| api.name() == name);
        let api = api.ok_or_else(|| Unsupported(format!("the API {name}")))?;
        versions = versions.with_newest(api, version);
    }
    Ok(versions)
}
