//! The controller: who lives, who leads, who is in sync, and which producer ids are free.
//!
//! Kafka counterpart: `QuorumController`, as a quorum of one whose metadata log is flushed before
//! anything is answered: image, what is under way and the next producer id survive every crash,
//! sessions and waiting fetches none. Invariants: the image's version rises with every record; the
//! session timer is never later than the end of a session.

use alloc::sync::Arc;

use eosim_actor::{Actor, CrashKind, Cx, Event, Operation, Out, RequestToken, TimerKey};
use eosim_types::config::TopicConfig;
use eosim_types::message::{
    BrokerHeartbeatRequest, BrokerHeartbeatResponse, Message, Request, Response,
};
use eosim_types::metadata::MetadataImage;
use eosim_types::observation::Observed;
use eosim_types::{BrokerId, Env, ErrorCode, Instant, Topic, rule};

mod cluster_control;
mod config;
mod feature_control;
#[cfg(test)]
mod fixture;
mod metadata_fetch;
mod operation;
mod producer_id_control;
mod replication_control;
#[cfg(test)]
mod tests;

pub use config::{ControllerConfig, TopicSpec};

use cluster_control::{BrokerControlState, ClusterControlManager, check_broker_epoch};
use metadata_fetch::MetadataFetches;
use producer_id_control::ProducerIdControlManager;
use replication_control::ReplicationControlManager;

type Outbox = Out<Message, Observed>;

/// Fires when a session may have run out.
const MAYBE_FENCE_STALE_BROKER: TimerKey = TimerKey(0);

/// The controller of the cluster.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Controller {
    config: ControllerConfig,
    /// The settled cluster of the beginning.
    initial: Arc<MetadataImage>,
    image: Arc<MetadataImage>,
    cluster_control: ClusterControlManager,
    replication_control: ReplicationControlManager,
    producer_id_control: ProducerIdControlManager,
    metadata_fetches: MetadataFetches,
}

impl Controller {
    /// Takes over the settings of a topic that comes up while the run goes on.
    pub fn configure(&mut self, topic: Topic, config: TopicConfig) {
        self.replication_control.configure(topic, config);
    }

    /// The controller of a settled cluster: every broker is registered and unfenced, every replica
    /// in sync, the first replica leads with leader epoch 0.
    #[must_use]
    pub fn new(config: ControllerConfig) -> Self {
        let initial = Arc::new(config.initial_image());
        Self {
            image: Arc::clone(&initial),
            initial,
            cluster_control: ClusterControlManager::default(),
            replication_control: ReplicationControlManager::new(config.topic_configs()),
            producer_id_control: ProducerIdControlManager::default(),
            metadata_fetches: MetadataFetches::default(),
            config,
        }
    }

    /// The image with which the run begins. Brokers are given it at their first start and find
    /// their broker epoch in it; they need not register for their first life.
    #[must_use]
    pub const fn initial_image(&self) -> &Arc<MetadataImage> {
        &self.initial
    }

    /// The newest image.
    #[must_use]
    pub const fn image(&self) -> &Arc<MetadataImage> {
        &self.image
    }

    /// Back to the beginning, for another run with the same configuration.
    pub fn reset(&mut self) {
        self.image = Arc::clone(&self.initial);
        self.cluster_control = ClusterControlManager::default();
        self.replication_control.reset();
        self.producer_id_control = ProducerIdControlManager::default();
        self.metadata_fetches = MetadataFetches::default();
    }

    /// The process begins: brokers get a whole session to be heard of.
    fn activate(&mut self, env: &mut Env<'_>, out: &mut Outbox) {
        // Blocks of producer ids whose answer was lost are leaked, not handed out again.
        rule!(env, "C-PID-11");
        self.cluster_control.heartbeat_manager.activate(&self.image, env.now);
        self.schedule_session_check(env.now, out);
    }

    fn schedule_session_check(&self, now: Instant, out: &mut Outbox) {
        let session_timeout = self.config.broker_config.broker_session_timeout;
        let at = self.cluster_control.heartbeat_manager.next_check(now, session_timeout);
        out.set_timer(MAYBE_FENCE_STALE_BROKER, at);
    }

    /// `maybeFenceOneStaleBroker`, one after the other, so that the next sees what the first did.
    fn maybe_fence_stale_brokers(&mut self, env: &mut Env<'_>, out: &mut Outbox) {
        let session_timeout = self.config.broker_config.broker_session_timeout;
        let heartbeat_manager = &mut self.cluster_control.heartbeat_manager;
        while let Some(broker) = heartbeat_manager.find_stale_broker(env.now, session_timeout) {
            heartbeat_manager.remove(broker);
            self.replication_control.handle_broker_fenced(&mut self.image, broker, env);
        }
        self.schedule_session_check(env.now, out);
    }

    /// `processBrokerHeartbeat`.
    fn process_broker_heartbeat(
        &mut self,
        request: BrokerHeartbeatRequest,
        env: &mut Env<'_>,
    ) -> BrokerHeartbeatResponse {
        let BrokerHeartbeatRequest { broker, broker_epoch, .. } = request;
        if !check_broker_epoch(&self.image, broker, broker_epoch) {
            return BrokerHeartbeatResponse {
                error: ErrorCode::StaleBrokerEpoch,
                is_fenced: true,
                should_shut_down: false,
            };
        }
        let heartbeat_manager = &self.cluster_control.heartbeat_manager;
        let (current, next) = heartbeat_manager.calculate_next_broker_state(&self.image, request);
        if next != current {
            self.handle_broker_state_change(broker, next, env);
        }
        self.touch(request, next, env.now);
        BrokerHeartbeatResponse {
            error: ErrorCode::None,
            is_fenced: next.fenced(),
            should_shut_down: next == BrokerControlState::ShutdownNow,
        }
    }

    fn handle_broker_state_change(
        &mut self,
        broker: BrokerId,
        next: BrokerControlState,
        env: &mut Env<'_>,
    ) {
        let (replication, image) = (&mut self.replication_control, &mut self.image);
        match next {
            BrokerControlState::Fenced | BrokerControlState::ShutdownNow => {
                replication.handle_broker_fenced(image, broker, env);
            }
            BrokerControlState::Unfenced => replication.handle_broker_unfenced(image, broker, env),
            BrokerControlState::ControlledShutdown => {
                replication.handle_broker_in_controlled_shutdown(image, broker, env);
            }
        }
    }

    fn touch(&mut self, request: BrokerHeartbeatRequest, next: BrokerControlState, now: Instant) {
        let heartbeat_manager = &mut self.cluster_control.heartbeat_manager;
        if next.fenced() {
            heartbeat_manager.remove(request.broker);
            return;
        }
        heartbeat_manager.touch(request.broker, request.current_metadata_version, now);
        if next == BrokerControlState::ControlledShutdown {
            let version = self.image.version;
            heartbeat_manager.maybe_update_controlled_shutdown_version(request.broker, version);
        }
    }

    fn handle_request(
        &mut self,
        token: RequestToken,
        request: Request,
        env: &mut Env<'_>,
        out: &mut Outbox,
    ) {
        let (replication, image) = (&mut self.replication_control, &mut self.image);
        let response: Response = match request {
            Request::BrokerHeartbeat(request) => self.process_broker_heartbeat(request, env).into(),
            Request::BrokerRegistration(request) => {
                self.cluster_control.register_broker(image, replication, request, env).into()
            }
            Request::AlterPartition(request) => {
                replication.alter_partition(image, &request, env).into()
            }
            Request::AllocateProducerIds(request) => {
                let block_size = self.config.broker_config.producer_id_block_size;
                let ids = &mut self.producer_id_control;
                ids.generate_next_producer_id(image, request, block_size, env).into()
            }
            Request::ElectLeaders(request) => {
                replication.elect_leaders(image, &request, env).into()
            }
            Request::AlterPartitionReassignments(request) => {
                replication.alter_partition_reassignments(image, &request, env).into()
            }
            Request::UpdateFeatures(request) => {
                let supported =
                    self.cluster_control.supported_transaction_version(image, &self.config);
                feature_control::update_features(image, request, supported, env).into()
            }
            Request::FetchMetadata(request) => {
                self.metadata_fetches.fetch(image, request, token, env.now, out);
                return;
            }
            other => panic!("the controller does not serve {}", other.api().name()),
        };
        out.respond(token, Message::Response(response));
    }
}

impl Actor for Controller {
    type Message = Message;
    type Observation = Observed;

    fn step(&mut self, cx: &mut Cx<'_>, event: Event<Message>, out: &mut Outbox) {
        let known = self.image.version;
        let env = &mut cx.env;
        match event {
            Event::Started => self.activate(env, out),
            Event::Request { token, message: Message::Request(request), .. } => {
                self.handle_request(token, request, env, out);
            }
            Event::Timer(MAYBE_FENCE_STALE_BROKER) => self.maybe_fence_stale_brokers(env, out),
            Event::Timer(MetadataFetches::TIMER) => {
                self.metadata_fetches.expire(&self.image, env.now, out);
            }
            Event::StopRequested => out.exit(),
            other => panic!("the controller sends no requests and has no such timer: {other:?}"),
        }
        if self.image.version > known {
            self.metadata_fetches.complete_all(&self.image, out);
        }
    }

    fn operate(&mut self, cx: &mut Cx<'_>, operation: Operation, out: &mut Outbox) -> bool {
        let known = self.image.version;
        let (replication, image) = (&mut self.replication_control, &mut self.image);
        let supported = self.cluster_control.supported_transaction_version(image, &self.config);
        operation::carry_out(replication, image, operation, supported, &mut cx.env);
        let has_changed = self.image.version > known;
        if has_changed {
            self.metadata_fetches.complete_all(&self.image, out);
        }
        has_changed
    }

    fn crash(&mut self, _: CrashKind) {
        self.cluster_control.heartbeat_manager = Default::default();
        self.metadata_fetches = MetadataFetches::default();
    }
}
