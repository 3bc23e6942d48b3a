//! A controller with brokers that do no more than the controller sees of them: they register,
//! send heartbeats, stop in good order, and propose every live replica for the ISR.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use eosim_actor::{Actor, CrashKind, Cx, Effect, Event, Quiet, RequestToken, TimerKey};
use eosim_types::message::{
    AlterPartitionReassignmentsRequest, AlterPartitionRequest, BrokerHeartbeatRequest,
    BrokerHeartbeatResponse, BrokerRegistrationRequest, ElectLeadersRequest, Message, Request,
    Response,
};
use eosim_types::metadata::PartitionMetadata;
use eosim_types::version::TransactionVersion;
use eosim_types::{
    ActorId, BrokerId, DefectSet, Duration, Env, ErrorCode, Instant, Marks, TopicPartition,
};

use crate::controller::fixture::{TOPIC, env};
use crate::controller::{Controller, ControllerConfig, Outbox};

/// The partition that single-partition tests speak of.
pub(super) const TP: TopicPartition = TopicPartition::new(TOPIC, 0);

const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    Up,
    Paused,
    Stopped,
    Killed,
}

struct Broker {
    life: Life,
    incarnation: u64,
    broker_epoch: i64,
}

/// The controller and its brokers.
pub(super) struct World {
    pub(super) controller: Controller,
    pub(super) now: Instant,
    pub(super) marks: Marks,
    pub(super) defects: DefectSet,
    brokers: BTreeMap<BrokerId, Broker>,
    timers: BTreeMap<TimerKey, Instant>,
    next_token: u64,
}

impl World {
    /// A settled cluster at the beginning of a run.
    pub(super) fn new(config: ControllerConfig) -> Self {
        let controller = Controller::new(config);
        let registered = controller.initial_image().brokers.iter();
        let brokers = registered.map(|(&id, broker)| {
            (id, Broker { life: Life::Up, incarnation: 0, broker_epoch: broker.broker_epoch })
        });
        let mut world = Self {
            brokers: brokers.collect(),
            controller,
            now: Instant::START,
            marks: Marks::new(),
            defects: DefectSet::NONE,
            timers: BTreeMap::new(),
            next_token: 0,
        };
        world.step(Event::Started);
        world
    }

    /// One step; the answers that it gave.
    pub(super) fn step(&mut self, event: Event<Message>) -> Vec<(RequestToken, Response)> {
        let mut out = Outbox::new();
        let env = Env { defects: self.defects, ..env(self.now, &mut self.marks) };
        let mut cx = Cx { id: ActorId(0), env, choices: &mut Quiet };
        self.controller.step(&mut cx, event, &mut out);
        let mut answers = Vec::new();
        for effect in out.drain() {
            match effect {
                Effect::SetTimer { key, at } => drop(self.timers.insert(key, at)),
                Effect::CancelTimer { key } => drop(self.timers.remove(&key)),
                Effect::Respond { token, message: Some(Message::Response(response)) } => {
                    answers.push((token, response));
                }
                other => panic!("the controller only answers: {other:?}"),
            }
        }
        answers
    }

    /// Sends a request; its token, and the answers that it set off.
    pub(super) fn send(
        &mut self,
        request: impl Into<Request>,
    ) -> (RequestToken, Vec<(RequestToken, Response)>) {
        self.next_token += 1;
        let token = RequestToken(self.next_token);
        let message = Message::Request(request.into());
        (token, self.step(Event::Request { from: ActorId(1), token, message }))
    }

    /// Sends a request that is answered at once.
    pub(super) fn ask(&mut self, request: impl Into<Request>) -> Response {
        let (token, answers) = self.send(request);
        let answer = answers.into_iter().find(|(answered, _)| *answered == token);
        answer.expect("answered at once").1
    }

    /// Lets `millis` pass; live brokers send heartbeats, timers fire.
    pub(super) fn advance(&mut self, millis: u64) -> Vec<(RequestToken, Response)> {
        let end = self.now + Duration::from_millis(millis);
        let mut answers = Vec::new();
        while self.now < end {
            self.now = end.min(self.now + HEARTBEAT_INTERVAL);
            self.heartbeats();
            answers.append(&mut self.fire_timers());
        }
        answers
    }

    fn fire_timers(&mut self) -> Vec<(RequestToken, Response)> {
        let due: Vec<TimerKey> =
            self.timers.iter().filter(|(_, at)| **at <= self.now).map(|(&key, _)| key).collect();
        due.into_iter()
            .flat_map(|key| {
                self.timers.remove(&key);
                self.step(Event::Timer(key))
            })
            .collect()
    }

    fn heartbeats(&mut self) {
        for broker in self.brokers_in(Life::Up) {
            self.heartbeat(broker, false);
        }
    }

    /// A heartbeat of a broker that has applied all metadata.
    pub(super) fn heartbeat(
        &mut self,
        broker: i32,
        want_shut_down: bool,
    ) -> BrokerHeartbeatResponse {
        let version = self.controller.image().version;
        self.heartbeat_at(broker, version, want_shut_down)
    }

    /// A heartbeat of a broker that has applied the metadata up to `version`.
    pub(super) fn heartbeat_at(
        &mut self,
        broker: i32,
        version: u64,
        want_shut_down: bool,
    ) -> BrokerHeartbeatResponse {
        let broker = BrokerId(broker);
        let response = self.ask(BrokerHeartbeatRequest {
            broker,
            broker_epoch: self.brokers[&broker].broker_epoch,
            current_metadata_version: version,
            want_shut_down,
        });
        let Response::BrokerHeartbeat(response) = response else { panic!("{response:?}") };
        response
    }

    fn brokers_in(&self, life: Life) -> Vec<i32> {
        self.brokers.iter().filter(|(_, b)| b.life == life).map(|(id, _)| id.0).collect()
    }

    fn broker(&mut self, broker: i32) -> &mut Broker {
        self.brokers.get_mut(&BrokerId(broker)).expect("a broker of the cluster")
    }

    /// SIGKILL.
    pub(super) fn kill(&mut self, broker: i32) {
        self.broker(broker).life = Life::Killed;
    }

    /// SIGSTOP.
    pub(super) fn pause(&mut self, broker: i32) {
        self.broker(broker).life = Life::Paused;
    }

    /// SIGCONT.
    pub(super) fn resume(&mut self, broker: i32) {
        self.broker(broker).life = Life::Up;
        self.heartbeat(broker, false);
    }

    /// SIGTERM, until the broker has stopped.
    pub(super) fn stop(&mut self, broker: i32) {
        self.broker(broker).life = Life::Stopped;
        while !self.heartbeat(broker, true).should_shut_down {
            self.advance(500);
        }
    }

    /// A new life of a broker that was killed or stopped.
    pub(super) fn start(&mut self, broker: i32) {
        let error = self.register(broker);
        assert_eq!(error, ErrorCode::None);
        self.broker(broker).life = Life::Up;
        self.heartbeat(broker, false);
    }

    /// The registration of a new life.
    pub(super) fn register(&mut self, broker: i32) -> ErrorCode {
        let life = self.broker(broker);
        life.incarnation += 1;
        let stopped = life.life == Life::Stopped;
        let request = BrokerRegistrationRequest {
            broker: BrokerId(broker),
            incarnation: life.incarnation,
            previous_broker_epoch: if stopped { life.broker_epoch } else { -1 },
            supported_transaction_version: TransactionVersion::Tv2,
        };
        let response = self.ask(request);
        let Response::BrokerRegistration(response) = response else { panic!("{response:?}") };
        self.broker(broker).broker_epoch = response.broker_epoch;
        response.error
    }

    /// The controller's process dies and begins again.
    pub(super) fn restart_controller(&mut self) {
        self.timers.clear();
        self.controller.crash(CrashKind::PowerLoss);
        self.step(Event::Started);
    }

    /// An operator asks for an election.
    pub(super) fn elect(&mut self, unclean: bool) -> ErrorCode {
        let response = self.ask(ElectLeadersRequest { unclean, partitions: [TP].into() });
        let Response::ElectLeaders(response) = response else { panic!("{response:?}") };
        response.partitions[0].1
    }

    /// An operator moves the replicas.
    pub(super) fn reassign(&mut self, replicas: &[i32]) -> ErrorCode {
        let replicas = replicas.iter().copied().map(BrokerId).collect();
        let request = AlterPartitionReassignmentsRequest { partitions: [(TP, replicas)].into() };
        let response = self.ask(request);
        let Response::AlterPartitionReassignments(response) = response else {
            panic!("{response:?}")
        };
        response.partitions[0].1
    }

    /// Sessions of the dead run out; then leaders propose every live replica.
    pub(super) fn settle(&mut self) {
        self.advance(4_000);
        let partitions: Vec<_> = self.controller.image().partitions.keys().copied().collect();
        for tp in partitions {
            if let Some(request) = self.expansion(tp) {
                self.ask(request);
            }
        }
    }

    fn expansion(&self, partition: TopicPartition) -> Option<AlterPartitionRequest> {
        let image = self.controller.image();
        let state = &image.partitions[&partition];
        let live = state.replicas.iter().copied().filter(|&replica| image.is_alive(replica));
        let new_isr: Vec<_> = live.map(|id| (id, image.brokers[&id].broker_epoch)).collect();
        let broker = state.leader?;
        Some(AlterPartitionRequest {
            broker,
            broker_epoch: image.brokers[&broker].broker_epoch,
            partition,
            leader_epoch: state.leader_epoch,
            partition_epoch: state.partition_epoch,
            new_isr,
        })
    }

    /// The state of the partition that single-partition tests speak of.
    pub(super) fn partition(&self) -> &PartitionMetadata {
        &self.controller.image().partitions[&TP]
    }

    /// Leader, leader epoch, ISR and ELR in a form to compare.
    pub(super) fn state(&self) -> State {
        let ids = |list: &[BrokerId]| list.iter().map(|id| id.0).collect();
        let partition = self.partition();
        State {
            leader: partition.leader.map_or(-1, |leader| leader.0),
            epoch: partition.leader_epoch.0,
            isr: ids(&partition.isr),
            elr: ids(&partition.elr),
        }
    }
}

/// What the recordings tell of a partition.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct State {
    leader: i32,
    epoch: i32,
    isr: Vec<i32>,
    elr: Vec<i32>,
}

/// A state of the recordings.
pub(super) fn state(leader: i32, epoch: i32, isr: &[i32], elr: &[i32]) -> State {
    State { leader, epoch, isr: isr.to_vec(), elr: elr.to_vec() }
}
