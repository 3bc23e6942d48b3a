//! The broker: one actor, put together from its parts.
//!
//! Kafka counterpart: `BrokerServer`. Invariant: what survives a crash is the logs alone; all the
//! rest is a [`Process`] that is built anew.

use alloc::sync::Arc;
use alloc::vec::Vec;

use eosim_actor::{
    Actor, Correlation, CrashKind, Cx, DiskError, Event, Operation, RequestToken, TimerKey,
};
use eosim_types::config::TopicConfig;
use eosim_types::message::{Message, Request, Response};
use eosim_types::metadata::MetadataImage;
use eosim_types::observation::Observed;
use eosim_types::{Names, Topic, TopicPartition};

use crate::disk::Disk;
use crate::group_coordinator::GroupCoordinatorBridge;
use crate::io::{Io, Outbox};
use crate::kafka_apis;
use crate::lifecycle::{BrokerLifecycleManager, HeartbeatOutcome};
use crate::log_manager::LogManager;
use crate::metadata_loader::MetadataLoader;
use crate::network::{Call, NetworkClient};
use crate::parts::Parts;
use crate::replica_manager::ReplicaManager;
use crate::spec::BrokerSpec;
use crate::timers::Timers;
use crate::transaction_coordinator::TransactionCoordinatorService;

/// Everything that dies with the process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Process {
    /// The metadata applied last.
    image: Arc<MetadataImage>,
    network: NetworkClient,
    timers: Timers,
    lifecycle: BrokerLifecycleManager,
    metadata_loader: MetadataLoader,
    replica_manager: ReplicaManager,
    transaction_coordinator: TransactionCoordinatorService,
    group_coordinator: GroupCoordinatorBridge,
    /// Requests that came before the first metadata.
    backlog: Vec<(RequestToken, Request)>,
}

/// A broker.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Broker {
    spec: Arc<BrokerSpec>,
    initial_image: Arc<MetadataImage>,
    /// How many times the process has begun.
    lives: u64,
    log_manager: LogManager,
    disk: Disk,
    process: Process,
}

impl Process {
    fn new(spec: &BrokerSpec) -> Self {
        Self {
            image: Arc::default(),
            network: NetworkClient::default(),
            timers: Timers::default(),
            lifecycle: BrokerLifecycleManager::new(0),
            metadata_loader: MetadataLoader::default(),
            replica_manager: ReplicaManager::default(),
            transaction_coordinator: TransactionCoordinatorService::new(spec.id),
            group_coordinator: GroupCoordinatorBridge::default(),
            backlog: Vec::new(),
        }
    }

    /// Forgets everything; memory is kept, logs that are still hosted are emptied.
    fn reset(&mut self) {
        self.image = Arc::default();
        self.network = NetworkClient::default();
        self.timers = Timers::default();
        self.lifecycle = BrokerLifecycleManager::new(0);
        self.metadata_loader = MetadataLoader::default();
        self.replica_manager.reset();
        self.transaction_coordinator.reset();
        self.group_coordinator.reset();
        self.backlog.clear();
    }
}

impl Broker {
    /// A broker that will take the roles of `initial_image` when the run begins, without having to
    /// register.
    #[must_use]
    pub fn new(spec: Arc<BrokerSpec>, initial_image: Arc<MetadataImage>) -> Self {
        let process = Process::new(&spec);
        let (log_manager, disk) = (LogManager::default(), Disk::default());
        Self { spec, initial_image, lives: 0, log_manager, disk, process }
    }

    /// Back to the begin of a run, with empty logs; memory is kept. Replicas that were reassigned
    /// to this broker are not its own any more: to drop them is no part of the next run.
    pub fn reset(&mut self) {
        let Self { spec, initial_image, log_manager, disk, process, lives } = self;
        *disk = Disk::default();
        let assigned = |tp: &TopicPartition| {
            let metadata = initial_image.partitions.get(tp);
            metadata.is_some_and(|metadata| metadata.replicas.contains(&spec.id))
        };
        log_manager.reset();
        log_manager.delete_unassigned(assigned);
        process.reset();
        process.replica_manager.partitions.retain(|tp| assigned(&tp));
        *lives = 0;
    }

    /// Its fixed facts.
    #[must_use]
    pub fn spec(&self) -> &BrokerSpec {
        &self.spec
    }

    /// Takes over strings that came up since the run began; those that were known stay.
    pub fn know(&mut self, names: Arc<Names>) {
        self.spec = Arc::new(BrokerSpec { names, ..BrokerSpec::clone(&self.spec) });
    }

    /// Takes over the settings of a topic that comes up while the run goes on.
    pub fn configure(&mut self, topic: Topic, config: TopicConfig) {
        let mut spec = BrokerSpec::clone(&self.spec);
        spec.topics.insert(topic, config);
        self.spec = Arc::new(spec);
    }

    /// The metadata that it has applied.
    #[must_use]
    pub fn image(&self) -> &Arc<MetadataImage> {
        &self.process.image
    }

    pub(crate) fn replica_manager(&self) -> &ReplicaManager {
        &self.process.replica_manager
    }

    pub(crate) fn transaction_coordinator(&self) -> &TransactionCoordinatorService {
        &self.process.transaction_coordinator
    }

    pub(crate) fn group_coordinator(&self) -> &GroupCoordinatorBridge {
        &self.process.group_coordinator
    }

    /// How many times the process has begun.
    pub(crate) fn lives(&self) -> u64 {
        self.lives
    }

    pub(crate) fn log_manager(&self) -> &LogManager {
        &self.log_manager
    }

    fn take_logs_back(&mut self) {
        for partition in self.process.replica_manager.partitions.take() {
            self.log_manager.put(partition.topic_partition, partition.log);
        }
    }

    fn split<'a>(&'a mut self, cx: &'a mut Cx<'_>, out: &'a mut Outbox) -> (Io<'a>, Parts<'a>) {
        let process = &mut self.process;
        let io = Io {
            env: cx.env.reborrow(),
            out,
            network: &mut process.network,
            timers: &mut process.timers,
            image: &process.image,
            broker_epoch: process.lifecycle.broker_epoch,
            disk: &mut self.disk,
            spec: &self.spec,
        };
        let parts = Parts {
            lifecycle: &mut process.lifecycle,
            metadata_loader: &mut process.metadata_loader,
            replica_manager: &mut process.replica_manager,
            transaction_coordinator: &mut process.transaction_coordinator,
            group_coordinator: &mut process.group_coordinator,
            log_manager: &mut self.log_manager,
        };
        (io, parts)
    }

    fn start(&mut self, cx: &mut Cx<'_>, out: &mut Outbox) {
        self.lives += 1;
        self.process.lifecycle = BrokerLifecycleManager::new(self.lives);
        self.process.replica_manager.begin_life(self.lives);
        if self.lives == 1 {
            return self.start_registered(cx, out);
        }
        let previous_broker_epoch = self.log_manager.recover(&mut cx.env);
        let (mut io, parts) = self.split(cx, out);
        parts.lifecycle.start(&mut io, previous_broker_epoch);
        parts.metadata_loader.fetch(&mut io);
    }

    /// The run begins in a settled cluster: roles are taken and coordinators loaded at once.
    fn start_registered(&mut self, cx: &mut Cx<'_>, out: &mut Outbox) {
        let registered = self.initial_image.brokers.get(&self.spec.id);
        let broker_epoch = registered.map_or(-1, |broker| broker.broker_epoch);
        self.process.lifecycle.broker_epoch = broker_epoch;
        self.apply_image(cx, out, self.initial_image.clone());
        let (mut io, parts) = self.split(cx, out);
        parts.transaction_coordinator.load_all(&mut io, parts.replica_manager);
        parts.lifecycle.start_registered(&mut io, broker_epoch);
        parts.metadata_loader.fetch(&mut io);
    }

    /// Takes over newer metadata: first replicas, then coordinators (C-LOAD-1).
    fn apply_image(&mut self, cx: &mut Cx<'_>, out: &mut Outbox, image: Arc<MetadataImage>) {
        let before = core::mem::replace(&mut self.process.image, image);
        let (mut io, parts) = self.split(cx, out);
        let changes = parts.replica_manager.apply_image(&mut io, &before, parts.log_manager);
        let coordinator = parts.transaction_coordinator;
        if before.version == 0 {
            parts.replica_manager.start_maintenance(&mut io);
            coordinator.start(&mut io);
        }
        for (tp, change) in changes {
            match tp.topic {
                Topic::TRANSACTION_STATE => {
                    coordinator.on_leadership_change(&mut io, tp.partition, change);
                }
                Topic::CONSUMER_OFFSETS => {
                    parts.group_coordinator.on_leadership_change(&mut io, tp.partition, change);
                }
                _ => {}
            }
        }
        coordinator.on_metadata(&mut io);
        parts.group_coordinator.on_metadata(&mut io, parts.replica_manager, &before);
        parts.lifecycle.metadata_applied(&mut io);
        for (token, request) in core::mem::take(&mut self.process.backlog) {
            let (mut io, mut parts) = self.split(cx, out);
            parts.settle(&mut io);
            kafka_apis::handle(&mut io, &mut parts, token, request);
        }
    }

    fn on_request(
        &mut self,
        cx: &mut Cx<'_>,
        out: &mut Outbox,
        token: RequestToken,
        request: Request,
    ) {
        if self.process.image.version == 0 {
            return self.process.backlog.push((token, request));
        }
        let (mut io, mut parts) = self.split(cx, out);
        kafka_apis::handle(&mut io, &mut parts, token, request);
        parts.settle(&mut io);
    }

    fn on_response(
        &mut self,
        cx: &mut Cx<'_>,
        out: &mut Outbox,
        correlation: Correlation,
        response: Response,
    ) {
        let Some(call) = self.process.network.close(correlation) else { return };
        if let Response::FetchMetadata(response) = response {
            self.process.metadata_loader.on_response(response);
            self.publish_metadata(cx, out);
            let (mut io, mut parts) = self.split(cx, out);
            parts.metadata_loader.fetch(&mut io);
            return parts.settle(&mut io);
        }
        let (mut io, mut parts) = self.split(cx, out);
        let outcome = parts.on_response(&mut io, call, response);
        match (call, outcome) {
            (_, HeartbeatOutcome::ShutDown) => self.shut_down(cx, out),
            (Call::BrokerRegistration, _) => self.publish_metadata(cx, out),
            _ => return parts.settle(&mut io),
        }
        self.settle(cx, out);
    }

    fn publish_metadata(&mut self, cx: &mut Cx<'_>, out: &mut Outbox) {
        let Process { image, metadata_loader, lifecycle, .. } = &self.process;
        let next = metadata_loader.image_to_publish(self.spec.id, lifecycle.broker_epoch, image);
        if let Some(image) = next {
            self.apply_image(cx, out, image);
        }
    }

    fn on_timer(&mut self, cx: &mut Cx<'_>, out: &mut Outbox, key: TimerKey) {
        let timer = self.process.timers.fired(key);
        let (mut io, mut parts) = self.split(cx, out);
        match timer {
            None => parts.transaction_coordinator.on_timer(&mut io, key),
            Some(timer) => parts.on_timer(&mut io, timer),
        }
    }

    /// Takes an event, and lets everything follow that it has set off.
    fn take(&mut self, cx: &mut Cx<'_>, event: Event<Message>, out: &mut Outbox) {
        match event {
            Event::Started => self.start(cx, out),
            Event::Request { token, message: Message::Request(request), .. } => {
                return self.on_request(cx, out, token, request);
            }
            Event::Response { correlation, message: Message::Response(response) } => {
                return self.on_response(cx, out, correlation, response);
            }
            Event::Disconnected { correlation } => {
                if let Some(call) = self.process.network.close(correlation) {
                    let (mut io, mut parts) = self.split(cx, out);
                    parts.on_disconnected(&mut io, call);
                }
            }
            Event::Timer(key) => self.on_timer(cx, out, key),
            Event::StopRequested => {
                let (mut io, parts) = self.split(cx, out);
                parts.lifecycle.begin_controlled_shutdown(&mut io);
            }
            Event::Request { message, .. } | Event::Response { message, .. } => {
                panic!("{} travels the wrong way", message.api().name());
            }
        }
        self.settle(cx, out);
    }

    /// Lets everything follow that was set off.
    fn settle(&mut self, cx: &mut Cx<'_>, out: &mut Outbox) {
        let (mut io, mut parts) = self.split(cx, out);
        parts.settle(&mut io);
    }

    /// A broker whose only log directory has failed ends at once (`Exit.halt`).
    fn halt_if_offline(&self, out: &mut Outbox) {
        if self.disk.is_offline() {
            out.halt();
        }
    }

    /// Logs are closed in good order, and the process ends.
    fn shut_down(&mut self, cx: &mut Cx<'_>, out: &mut Outbox) {
        self.take_logs_back();
        self.log_manager.close(&mut cx.env, self.process.lifecycle.broker_epoch);
        out.exit();
    }
}

impl Actor for Broker {
    type Message = Message;
    type Observation = Observed;

    fn step(&mut self, cx: &mut Cx<'_>, event: Event<Message>, out: &mut Outbox) {
        self.take(cx, event, out);
        self.halt_if_offline(out);
    }

    fn crash(&mut self, kind: CrashKind) {
        self.disk.end_process();
        self.take_logs_back();
        self.log_manager.crash(kind);
        self.process.reset();
    }

    fn operate(&mut self, cx: &mut Cx<'_>, operation: Operation, out: &mut Outbox) -> bool {
        let does = operation == Operation::Housekeeping && self.process.image.version > 0;
        if does {
            let (mut io, mut parts) = self.split(cx, out);
            parts.keep_house(&mut io);
            self.settle(cx, out);
            self.halt_if_offline(out);
        }
        does
    }

    fn break_disk(&mut self, error: DiskError) {
        self.disk.break_by(error);
    }

    fn mend_disk(&mut self, error: DiskError) -> bool {
        self.disk.mend(error)
    }
}
