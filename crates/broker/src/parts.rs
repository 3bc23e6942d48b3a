//! The parts of a running broker, and which of them an answer, a timer or a change concerns.
//!
//! Kafka counterpart: the callbacks that `BrokerServer` wires between its parts.

use eosim_types::message::Response;
use eosim_types::{Topic, TopicPartition};

use crate::group_coordinator::GroupCoordinatorBridge;
use crate::io::Io;
use crate::lifecycle::{BrokerLifecycleManager, HeartbeatOutcome};
use crate::log_manager::LogManager;
use crate::metadata_loader::MetadataLoader;
use crate::network::Call;
use crate::replica_manager::ReplicaManager;
use crate::timers::Timer;
use crate::transaction_coordinator::TransactionCoordinatorService;

/// The parts of a running broker, without its surroundings.
pub(crate) struct Parts<'a> {
    pub(crate) lifecycle: &'a mut BrokerLifecycleManager,
    pub(crate) metadata_loader: &'a mut MetadataLoader,
    pub(crate) replica_manager: &'a mut ReplicaManager,
    pub(crate) transaction_coordinator: &'a mut TransactionCoordinatorService,
    pub(crate) group_coordinator: &'a mut GroupCoordinatorBridge,
    pub(crate) log_manager: &'a mut LogManager,
}

impl Parts<'_> {
    /// Lets everything follow that an event has set off.
    pub(crate) fn settle(&mut self, io: &mut Io<'_>) {
        loop {
            while let Some(tp) = self.replica_manager.take_change() {
                self.on_change(io, tp);
            }
            let mut changes = self.replica_manager.continue_verified(io);
            changes |= self.transaction_coordinator.run(io, self.replica_manager);
            changes |= self.group_coordinator.run(io, self.replica_manager);
            if !changes {
                return;
            }
        }
    }

    /// All that is done from time to time is done now.
    pub(crate) fn keep_house(&mut self, io: &mut Io<'_>) {
        self.replica_manager.hurry_maintenance(io);
        self.transaction_coordinator.keep_house(io);
    }

    fn on_change(&mut self, io: &mut Io<'_>, tp: TopicPartition) {
        self.replica_manager.try_complete_actions(io, tp);
        if !tp.topic.is_internal() {
            return;
        }
        let led = self.replica_manager.partitions.get(tp).filter(|p| p.is_leader());
        let Some(led) = led else { return };
        match tp.topic {
            Topic::TRANSACTION_STATE => {
                let confirmed = led.confirmed_high_watermark();
                self.transaction_coordinator.on_log_change(io, tp.partition, confirmed);
            }
            Topic::CONSUMER_OFFSETS => {
                let high_watermark = led.log.high_watermark();
                self.group_coordinator.on_log_change(io, tp.partition, high_watermark);
            }
            _ => {}
        }
    }

    /// One of the broker's own requests was answered.
    ///
    /// # Panics
    /// If the answer is to another request.
    pub(crate) fn on_response(
        &mut self,
        io: &mut Io<'_>,
        call: Call,
        response: Response,
    ) -> HeartbeatOutcome {
        match (call, response) {
            (Call::ReplicaFetch { leader }, Response::Fetch(response)) => {
                self.replica_manager.on_fetch_response(io, leader, &response);
                self.replica_manager.spare_answers.keep(response.partitions);
            }
            (Call::LeaderOffset { leader, which, .. }, Response::ListOffsets(response)) => {
                for answer in response.partitions {
                    self.replica_manager.on_leader_offset(io, leader, which, answer);
                }
            }
            (Call::AddPartitionsToTxn { node }, Response::AddPartitionsToTxn(response)) => {
                let manager = &mut self.replica_manager.add_partitions_to_txn_manager;
                manager.on_response(io, node, &response);
            }
            (
                Call::WriteTxnMarkers { broker, correlation },
                Response::WriteTxnMarkers(response),
            ) => {
                let coordinator = &mut self.transaction_coordinator;
                coordinator.on_marker_response(io, broker, correlation, Some(&response));
            }
            (Call::AlterPartition { .. }, Response::AlterPartition(response)) => {
                self.replica_manager.on_alter_partition(io, response);
            }
            (Call::AllocateProducerIds, response) => {
                self.transaction_coordinator.on_producer_ids(io, Some(&response));
            }
            (Call::BrokerRegistration, Response::BrokerRegistration(response)) => {
                self.lifecycle.on_registration(io, response);
            }
            (Call::BrokerHeartbeat, Response::BrokerHeartbeat(response)) => {
                return self.lifecycle.on_heartbeat(io, response);
            }
            (call, response) => panic!("{} answers {call:?}", response.api().name()),
        }
        HeartbeatOutcome::Continue
    }

    /// One of the broker's own requests broke.
    pub(crate) fn on_disconnected(&mut self, io: &mut Io<'_>, call: Call) {
        match call {
            Call::ReplicaFetch { leader } => {
                self.replica_manager.on_fetch_disconnected(io, leader);
            }
            Call::LeaderOffset { leader, partition, .. } => {
                self.replica_manager.delay_partition(io, leader, partition);
            }
            Call::AddPartitionsToTxn { node } => {
                let manager = &mut self.replica_manager.add_partitions_to_txn_manager;
                manager.on_disconnected(io, node);
            }
            Call::WriteTxnMarkers { broker, correlation } => {
                let coordinator = &mut self.transaction_coordinator;
                coordinator.on_marker_response(io, broker, correlation, None);
            }
            Call::AllocateProducerIds => self.transaction_coordinator.on_producer_ids(io, None),
            Call::AlterPartition { partition } => {
                self.replica_manager.retry_alter_partition(io, partition);
            }
            Call::BrokerRegistration | Call::BrokerHeartbeat => self.lifecycle.on_disconnected(io),
            Call::FetchMetadata => self.metadata_loader.on_disconnected(io),
        }
    }

    /// One of the broker's own timers has fired.
    pub(crate) fn on_timer(&mut self, io: &mut Io<'_>, timer: Timer) {
        let replicas = &mut *self.replica_manager;
        match timer {
            Timer::Lifecycle => {
                self.lifecycle.on_timer(io);
                self.metadata_loader.on_timer(io);
            }
            Timer::Purgatory => replicas.expire_operations(io),
            Timer::ReplicaFetcher => replicas.send_fetches(io),
            Timer::Maintenance => replicas.run_maintenance(io),
            Timer::Verification => replicas.retry_verifications(io),
            Timer::RequestTimeout => self.expire_requests(io),
            Timer::AlterPartition => replicas.resend_alter_partitions(io),
            Timer::TransactionStateLoad => self.transaction_coordinator.run_loads(io, replicas),
            Timer::GroupCoordinator => self.group_coordinator.on_timer(io, replicas),
        }
    }

    /// Gives up on requests that nobody answers: closes their connections.
    fn expire_requests(&mut self, io: &mut Io<'_>) {
        while let Some((to, lane, calls)) = io.network.expire(io.env.now) {
            io.out.close(to, lane);
            for call in calls {
                self.on_disconnected(io, call);
            }
        }
        if let Some(at) = io.network.next_deadline() {
            io.wake_at(Timer::RequestTimeout, at);
        }
    }
}
