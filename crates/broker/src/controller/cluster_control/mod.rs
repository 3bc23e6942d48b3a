//! Registrations of brokers.
//!
//! Kafka counterpart: `ClusterControlManager`. Invariants: two lives of a broker have different
//! broker epochs; a new life begins fenced.
//!
//! One thing is simpler than in Kafka: there, the registration of a new life is refused with
//! `DUPLICATE_BROKER_REGISTRATION` until the session of the old one has run out; here it ends the
//! old life at once, with the same changes of leaders and leader epochs.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use eosim_types::message::{BrokerRegistrationRequest, BrokerRegistrationResponse};
use eosim_types::metadata::{BrokerMetadata, MetadataImage};
use eosim_types::version::TransactionVersion;
use eosim_types::{BrokerId, Env, ErrorCode};

use super::config::ControllerConfig;
use super::replication_control::ReplicationControlManager;

mod broker_heartbeat_manager;

pub(super) use broker_heartbeat_manager::{BrokerControlState, BrokerHeartbeatManager};

/// Knows the lives of brokers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct ClusterControlManager {
    /// The incarnation that registered last; none while the life of the beginning lasts.
    incarnations: BTreeMap<BrokerId, u64>,
    /// What the life that registered last supports; none while the life of the beginning lasts.
    supported: BTreeMap<BrokerId, TransactionVersion>,
    /// Sessions; not durable.
    pub(super) heartbeat_manager: BrokerHeartbeatManager,
}

impl ClusterControlManager {
    /// `registerBroker`: first ends the life before, then registers the new one, fenced. A broker that
    /// does not support the finalized features may not join (C-TV-1).
    pub(super) fn register_broker(
        &mut self,
        image: &mut Arc<MetadataImage>,
        replication_control: &mut ReplicationControlManager,
        request: BrokerRegistrationRequest,
        env: &mut Env<'_>,
    ) -> BrokerRegistrationResponse {
        let BrokerRegistrationRequest { broker, incarnation, previous_broker_epoch, .. } = request;
        let broker_epoch = image.brokers.get(&broker).map_or(-1, |b| b.broker_epoch);
        match self.incarnations.get(&broker) {
            Some(&known) if incarnation == known => return registered(broker_epoch),
            // A registration of an earlier life that was long under way.
            Some(&known) if incarnation < known => {
                return refusal(ErrorCode::DuplicateBrokerRegistration);
            }
            _ => {}
        }
        if request.supported_transaction_version < image.transaction_version {
            return refusal(ErrorCode::UnsupportedVersion);
        }
        let is_clean_shutdown = previous_broker_epoch == broker_epoch;
        replication_control.handle_broker_shutdown(image, broker, is_clean_shutdown, env);
        self.heartbeat_manager.remove(broker);
        self.incarnations.insert(broker, incarnation);
        self.supported.insert(broker, request.supported_transaction_version);
        registered(replay_register_broker(image, broker))
    }

    /// `brokerSupported`: the highest level of `transaction.version` that every registered broker
    /// supports, fenced or not. Brokers that have not registered yet are as `config` says.
    pub(super) fn supported_transaction_version(
        &self,
        image: &MetadataImage,
        config: &ControllerConfig,
    ) -> TransactionVersion {
        let first_life = |broker| config.kafka_of(broker).supported_transaction_version();
        let all = image.brokers.keys();
        let all = all.map(|&id| self.supported.get(&id).copied().unwrap_or_else(|| first_life(id)));
        all.min().unwrap_or_default()
    }
}

/// `checkBrokerEpoch`: is this the life of the broker that is registered?
pub(super) fn check_broker_epoch(
    image: &MetadataImage,
    broker: BrokerId,
    broker_epoch: i64,
) -> bool {
    image.brokers.get(&broker).is_some_and(|b| b.broker_epoch == broker_epoch)
}

/// `isActive`: registered, not fenced, not in controlled shutdown.
pub(super) fn is_active(image: &MetadataImage, broker: BrokerId) -> bool {
    image.brokers.get(&broker).is_some_and(|b| !b.fenced && !b.in_controlled_shutdown)
}

/// Applies a `BrokerRegistrationChangeRecord`.
pub(super) fn replay_broker_registration_change(
    image: &mut Arc<MetadataImage>,
    broker: BrokerId,
    change: impl FnOnce(&mut BrokerMetadata),
) {
    let image = Arc::make_mut(image);
    image.version += 1;
    change(image.brokers.get_mut(&broker).expect("only registered brokers change"));
}

/// Applies a `RegisterBrokerRecord`; the broker epoch is the record's place in the metadata log.
fn replay_register_broker(image: &mut Arc<MetadataImage>, broker: BrokerId) -> i64 {
    let image = Arc::make_mut(image);
    image.version += 1;
    let broker_epoch = i64::try_from(image.version).expect("fewer than 2^63 versions");
    let life = BrokerMetadata { broker_epoch, fenced: true, in_controlled_shutdown: false };
    image.brokers.insert(broker, life);
    broker_epoch
}

const fn registered(broker_epoch: i64) -> BrokerRegistrationResponse {
    BrokerRegistrationResponse { error: ErrorCode::None, broker_epoch }
}

const fn refusal(error: ErrorCode) -> BrokerRegistrationResponse {
    BrokerRegistrationResponse { error, broker_epoch: -1 }
}
