//! A small world for the broker's own tests: brokers, a controller and one client, messages in
//! order with a latency of one millisecond, a virtual clock, no chance at all.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use eosim_actor::{
    Actor, Correlation, CrashKind, Cx, DiskError, Effect, Event, Operation, Out, Quiet,
    RequestToken, TimerKey,
};
use eosim_types::config::{BrokerConfig, TopicConfig};
use eosim_types::message::{Message, Request, Response};
use eosim_types::metadata::MetadataImage;
use eosim_types::version::{KafkaVersion, TransactionVersion};
use eosim_types::{
    ActorId, BrokerId, Defect, DefectSet, Duration, Env, Instant, LeaderEpoch, Marks, Names, Topic,
    TopicPartition,
};

use crate::controller::{Controller, ControllerConfig, TopicSpec};
use crate::replica_manager::partition::Partition;
use crate::{Broker, BrokerSpec};

/// The client.
const CLIENT: ActorId = ActorId(100);
const LATENCY: Duration = Duration::from_millis(1);

/// The topic `t`.
pub(super) const T: Topic = Topic::FIRST_USER;

/// Partition `partition` of `t`.
pub(super) const fn t(partition: i32) -> TopicPartition {
    TopicPartition::new(T, partition)
}

/// The only partition of `__transaction_state`.
pub(super) const TRANSACTION_STATE: TopicPartition =
    TopicPartition::new(Topic::TRANSACTION_STATE, 0);

/// Answers a request in place of its receiver.
pub(super) type Script = Box<dyn FnMut(BrokerId, &Request) -> Option<Response>>;

enum Delivery {
    Event(Event<Message>),
    Request { from: ActorId, correlation: Correlation, request: Request },
}

/// How a cluster is set up.
pub(super) struct Setup {
    pub(super) brokers: i32,
    /// Replicas of the partitions of `t`.
    pub(super) t: Vec<Vec<i32>>,
    pub(super) min_insync_replicas: i32,
    pub(super) transaction_state: Vec<i32>,
    /// Replicas of the only partition of `__consumer_offsets`; none without the topic.
    pub(super) consumer_offsets: Vec<i32>,
    pub(super) config: BrokerConfig,
    pub(super) defects: DefectSet,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            brokers: 1,
            t: alloc::vec![alloc::vec![1], alloc::vec![1]],
            min_insync_replicas: 1,
            transaction_state: alloc::vec![1],
            consumer_offsets: Vec::new(),
            config: BrokerConfig::default(),
            defects: DefectSet::as_released(),
        }
    }
}

impl Setup {
    /// Three brokers, three replicas of one partition, led by broker 1; coordinator on broker 2.
    pub(super) fn three(min_insync_replicas: i32) -> Self {
        let transaction_state = alloc::vec![2, 3, 1];
        let t = alloc::vec![alloc::vec![1, 2, 3]];
        Self { brokers: 3, t, min_insync_replicas, transaction_state, ..Self::default() }
    }

    /// The same with `defect` repaired.
    pub(super) fn without(mut self, defect: Defect) -> Self {
        let kept = self.defects.iter().filter(|&on| on != defect);
        self.defects = kept.fold(DefectSet::NONE, DefectSet::with);
        self
    }

    fn controller_config(&self) -> ControllerConfig {
        let broker_ids = |ids: &[i32]| ids.iter().map(|&id| BrokerId(id)).collect::<Vec<_>>();
        let user =
            TopicConfig { min_insync_replicas: self.min_insync_replicas, ..TopicConfig::default() };
        let leader_epoch = LeaderEpoch(0);
        let topic = |topic, replicas, config| TopicSpec { topic, replicas, config, leader_epoch };
        let offsets = (!self.consumer_offsets.is_empty()).then(|| {
            let replicas = alloc::vec![broker_ids(&self.consumer_offsets)];
            topic(Topic::CONSUMER_OFFSETS, replicas, TopicConfig::default())
        });
        let mut config = ControllerConfig {
            brokers: (1..=self.brokers).map(BrokerId).collect(),
            topics: alloc::vec![
                topic(
                    Topic::TRANSACTION_STATE,
                    alloc::vec![broker_ids(&self.transaction_state)],
                    TopicConfig::default(),
                ),
                topic(T, self.t.iter().map(|replicas| broker_ids(replicas)).collect(), user),
            ],
            broker_config: self.config.clone(),
            transaction_version: TransactionVersion::Tv2,
            kafka: Default::default(),
        };
        config.topics.extend(offsets);
        config
    }

    pub(super) fn build(self) -> Cluster {
        let config = self.controller_config();
        let image = Arc::new(config.initial_image());
        let topics: BTreeMap<_, _> =
            config.topics.iter().map(|spec| (spec.topic, spec.config.clone())).collect();
        let mut names = Names::default();
        names.add_topic("t");
        names.add_group("g");
        names.add_group("h");
        let names = Arc::new(names);
        let spec = |id| BrokerSpec {
            id: BrokerId(id),
            config: self.config.clone(),
            topics: topics.clone(),
            names: names.clone(),
        };
        let broker = |id| Broker::new(Arc::new(spec(id)), image.clone());
        let mut cluster = Cluster {
            brokers: (1..=self.brokers)
                .map(|id| (ActorId::of_broker(BrokerId(id)), broker(id)))
                .collect(),
            controller: Controller::new(config),
            down: BTreeSet::new(),
            paused: BTreeMap::new(),
            cut: BTreeSet::new(),
            swallowed: BTreeSet::new(),
            queue: BTreeMap::new(),
            timers: BTreeMap::new(),
            open: BTreeMap::new(),
            answers: BTreeMap::new(),
            sent: Vec::new(),
            script: None,
            now: Instant::START,
            next: 0,
            defects: self.defects,
            marks: Box::default(),
        };
        cluster.start_all();
        cluster
    }
}

/// The world.
pub(super) struct Cluster {
    brokers: BTreeMap<ActorId, Broker>,
    controller: Controller,
    down: BTreeSet<ActorId>,
    paused: BTreeMap<ActorId, Vec<Delivery>>,
    cut: BTreeSet<(ActorId, ActorId)>,
    swallowed: BTreeSet<(ActorId, ActorId)>,
    queue: BTreeMap<(Instant, u64), (ActorId, Delivery)>,
    timers: BTreeMap<(ActorId, TimerKey), Instant>,
    open: BTreeMap<RequestToken, (ActorId, ActorId, Correlation)>,
    answers: BTreeMap<Correlation, Response>,
    /// Requests between brokers, as (receiver, request).
    pub(super) sent: Vec<(ActorId, Request)>,
    pub(super) script: Option<Script>,
    now: Instant,
    next: u64,
    defects: DefectSet,
    marks: Box<Marks>,
}

/// What an actor is told of its surroundings.
macro_rules! cx {
    ($cluster:expr, $actor:expr) => {
        Cx {
            id: $actor,
            env: Env {
                now: $cluster.now,
                clock_skew_ms: 0,
                kafka: KafkaVersion::V4_4,
                backports: eosim_types::CapabilitySet::NONE,
                defects: $cluster.defects,
                marks: &mut $cluster.marks,
            },
            choices: &mut Quiet,
        }
    };
}

impl Cluster {
    fn start_all(&mut self) {
        self.push(ActorId::CONTROLLER, Duration::ZERO, Delivery::Event(Event::Started));
        for actor in self.brokers.keys().copied().collect::<Vec<_>>() {
            self.push(actor, Duration::ZERO, Delivery::Event(Event::Started));
        }
    }

    fn push(&mut self, to: ActorId, after: Duration, delivery: Delivery) {
        self.next += 1;
        self.queue.insert((self.now + after, self.next), (to, delivery));
    }

    /// Sends a request from the client; the answer has the returned name.
    pub(super) fn send(&mut self, to: i32, request: impl Into<Request>) -> Correlation {
        self.next += 1;
        let correlation = Correlation(u32::try_from(self.next).unwrap());
        let delivery = Delivery::Request { from: CLIENT, correlation, request: request.into() };
        self.push(ActorId::of_broker(BrokerId(to)), LATENCY, delivery);
        correlation
    }

    /// The answer to a request, if it has come.
    pub(super) fn answer(&mut self, correlation: Correlation) -> Option<Response> {
        self.answers.remove(&correlation)
    }

    /// Sends a request and waits for its answer, a minute at most.
    pub(super) fn ask(&mut self, to: i32, request: impl Into<Request>) -> Response {
        let correlation = self.send(to, request);
        let limit = self.now + Duration::from_millis(60_000);
        while self.now < limit {
            self.run_for(1);
            if let Some(answer) = self.answer(correlation) {
                return answer;
            }
        }
        panic!("no answer");
    }

    /// Lets time pass.
    pub(super) fn run_for(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        while let Some(at) = self.next_event().filter(|&at| at <= end) {
            self.now = at;
            self.step();
        }
        self.now = end;
    }

    fn next_event(&self) -> Option<Instant> {
        let timers = self.timers.iter().filter(|((actor, _), _)| !self.paused.contains_key(actor));
        let timer = timers.map(|(_, &at)| at.max(self.now)).min();
        let message = self.queue.keys().next().map(|&(at, _)| at);
        timer.into_iter().chain(message).min()
    }

    fn step(&mut self) {
        let due = |&((actor, _), at): &(&(ActorId, TimerKey), &Instant)| {
            *at <= self.now && !self.paused.contains_key(actor)
        };
        if let Some((&(actor, key), _)) = self.timers.iter().find(due) {
            self.timers.remove(&(actor, key));
            return self.deliver(actor, Delivery::Event(Event::Timer(key)));
        }
        if let Some((_, (actor, delivery))) = self.queue.pop_first() {
            self.deliver(actor, delivery);
        }
    }

    fn deliver(&mut self, to: ActorId, delivery: Delivery) {
        if let Some(withheld) = self.paused.get_mut(&to) {
            return withheld.push(delivery);
        }
        let event = match delivery {
            Delivery::Event(event) => event,
            Delivery::Request { from, correlation, request, .. } => {
                if self.down.contains(&to) || self.cut.contains(&(from, to)) {
                    return self.disconnect(from, correlation);
                }
                self.next += 1;
                let token = RequestToken(self.next);
                self.open.insert(token, (from, to, correlation));
                Event::Request { from, token, message: Message::Request(request) }
            }
        };
        if to == CLIENT {
            if let Event::Response { correlation, message: Message::Response(response) } = event {
                self.answers.insert(correlation, response);
            }
        } else if !self.down.contains(&to) {
            self.act(to, event);
        }
    }

    fn disconnect(&mut self, from: ActorId, correlation: Correlation) {
        if from != CLIENT {
            self.push(from, LATENCY, Delivery::Event(Event::Disconnected { correlation }));
        }
    }

    fn act(&mut self, actor: ActorId, event: Event<Message>) {
        let mut out = Out::new();
        let mut cx = cx!(self, actor);
        match self.brokers.get_mut(&actor) {
            Some(broker) => broker.step(&mut cx, event, &mut out),
            None => self.controller.step(&mut cx, event, &mut out),
        }
        for effect in out.drain() {
            self.perform(actor, effect);
        }
    }

    fn perform<O>(&mut self, actor: ActorId, effect: Effect<Message, O>) {
        match effect {
            Effect::Send { to, correlation, message: Message::Request(request), .. } => {
                self.transmit(actor, to, correlation, request);
            }
            Effect::Respond { token, message } => {
                let Some((from, to, correlation)) = self.open.remove(&token) else { return };
                if self.cut.contains(&(to, from)) {
                    return self.disconnect(from, correlation);
                }
                if let Some(message) = message {
                    let event = Event::Response { correlation, message };
                    self.push(from, LATENCY, Delivery::Event(event));
                }
            }
            Effect::SetTimer { key, at } => {
                self.timers.insert((actor, key), at);
            }
            Effect::CancelTimer { key } => {
                self.timers.remove(&(actor, key));
            }
            Effect::Exit => self.die(actor, CrashKind::Stopped),
            Effect::Halt => self.die(actor, CrashKind::Process),
            Effect::Close { .. } | Effect::Observe(_) | Effect::Send { .. } => {}
        }
    }

    fn transmit(&mut self, from: ActorId, to: ActorId, correlation: Correlation, request: Request) {
        if self.swallowed.contains(&(from, to)) {
            return;
        }
        if to != ActorId::CONTROLLER {
            self.sent.push((to, request.clone()));
            let broker = BrokerId(i32::from(to.0));
            let scripted = self.script.as_mut().and_then(|script| script(broker, &request));
            if let Some(response) = scripted {
                let message = Message::Response(response);
                let event = Event::Response { correlation, message };
                return self.push(from, LATENCY, Delivery::Event(event));
            }
        }
        self.push(to, LATENCY, Delivery::Request { from, correlation, request });
    }

    fn die(&mut self, actor: ActorId, kind: CrashKind) {
        self.brokers.get_mut(&actor).unwrap().crash(kind);
        self.down.insert(actor);
        for delivery in self.paused.remove(&actor).unwrap_or_default() {
            if let Delivery::Request { from, correlation, .. } = delivery {
                self.disconnect(from, correlation);
            }
        }
        self.timers.retain(|(owner, _), _| *owner != actor);
        self.queue.retain(|_, (to, delivery)| {
            *to != actor || matches!(delivery, Delivery::Request { .. })
        });
        let broken: Vec<_> = self.open.extract_if_involves(actor);
        for (from, correlation) in broken {
            self.disconnect(from, correlation);
        }
    }

    /// The process of broker `id` dies.
    pub(super) fn kill(&mut self, id: i32, kind: CrashKind) {
        self.die(ActorId::of_broker(BrokerId(id)), kind);
    }

    /// A new life of broker `id`.
    pub(super) fn restart(&mut self, id: i32) {
        let actor = ActorId::of_broker(BrokerId(id));
        self.down.remove(&actor);
        self.push(actor, Duration::ZERO, Delivery::Event(Event::Started));
    }

    /// The disk of broker `id` fails.
    pub(super) fn break_disk(&mut self, id: i32, error: DiskError) {
        let actor = ActorId::of_broker(BrokerId(id));
        self.brokers.get_mut(&actor).unwrap().break_disk(error);
    }

    /// The disk of broker `id` is sound; has it failed?
    pub(super) fn mend_disk(&mut self, id: i32, error: DiskError) -> bool {
        let actor = ActorId::of_broker(BrokerId(id));
        self.brokers.get_mut(&actor).unwrap().mend_disk(error)
    }

    /// Broker `id` keeps house; could it?
    pub(super) fn keep_house(&mut self, id: i32) -> bool {
        let actor = ActorId::of_broker(BrokerId(id));
        let mut out = Out::new();
        let broker = self.brokers.get_mut(&actor).unwrap();
        let could = broker.operate(&mut cx!(self, actor), Operation::Housekeeping, &mut out);
        for effect in out.drain() {
            self.perform(actor, effect);
        }
        could
    }

    /// Does broker `id` run?
    pub(super) fn is_up(&self, id: i32) -> bool {
        !self.down.contains(&ActorId::of_broker(BrokerId(id)))
    }

    /// Broker `id` is asked to stop in good order.
    pub(super) fn stop(&mut self, id: i32) {
        let actor = ActorId::of_broker(BrokerId(id));
        self.push(actor, Duration::ZERO, Delivery::Event(Event::StopRequested));
    }

    /// Broker `id` takes no events any more.
    pub(super) fn pause(&mut self, id: i32) {
        self.paused.insert(ActorId::of_broker(BrokerId(id)), Vec::new());
    }

    /// Broker `id` goes on.
    pub(super) fn resume(&mut self, id: i32) {
        let actor = ActorId::of_broker(BrokerId(id));
        for delivery in self.paused.remove(&actor).unwrap_or_default() {
            self.push(actor, Duration::ZERO, delivery);
        }
    }

    /// Requests of broker `id` to the controller, and the answers, break.
    pub(super) fn cut_from_controller(&mut self, id: i32) {
        let actor = ActorId::of_broker(BrokerId(id));
        self.cut.insert((actor, ActorId::CONTROLLER));
        self.cut.insert((ActorId::CONTROLLER, actor));
    }

    /// Requests of broker `id` to the controller vanish; their connections stay open.
    pub(super) fn swallow_to_controller(&mut self, id: i32) {
        self.swallowed.insert((ActorId::of_broker(BrokerId(id)), ActorId::CONTROLLER));
    }

    /// Requests of broker `from` to broker `to` break.
    pub(super) fn cut(&mut self, from: i32, to: i32) {
        self.cut.insert((ActorId::of_broker(BrokerId(from)), ActorId::of_broker(BrokerId(to))));
    }

    /// Every connection works again.
    pub(super) fn heal(&mut self) {
        self.cut.clear();
        self.swallowed.clear();
    }

    /// The replica of `tp` at broker `id`.
    pub(super) fn replica(&self, id: i32, tp: TopicPartition) -> &Partition {
        self.broker(id).replica_manager().partitions.get(tp).unwrap()
    }

    /// Broker `id`.
    pub(super) fn broker(&self, id: i32) -> &Broker {
        &self.brokers[&ActorId::of_broker(BrokerId(id))]
    }

    /// What the controller has decided, as broker `id` knows it.
    pub(super) fn image(&self, id: i32) -> &Arc<MetadataImage> {
        self.broker(id).image()
    }

    /// Virtual time.
    pub(super) fn now(&self) -> Instant {
        self.now
    }

    /// How often `rule` was reached.
    pub(super) fn reached(&self, rule: &str) -> u64 {
        self.marks.counts().find(|(id, _)| *id == rule).map_or(0, |(_, count)| count)
    }
}

trait OpenRequests {
    fn extract_if_involves(&mut self, actor: ActorId) -> Vec<(ActorId, Correlation)>;
}

impl OpenRequests for BTreeMap<RequestToken, (ActorId, ActorId, Correlation)> {
    /// Takes out what `actor` has been asked or has asked; those who asked are returned.
    fn extract_if_involves(&mut self, actor: ActorId) -> Vec<(ActorId, Correlation)> {
        let mut askers = Vec::new();
        self.retain(|_, &mut (from, to, correlation)| {
            if to == actor && from != actor {
                askers.push((from, correlation));
            }
            to != actor && from != actor
        });
        askers
    }
}
