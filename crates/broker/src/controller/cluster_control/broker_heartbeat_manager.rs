//! Sessions of brokers, and which state a heartbeat leads to.
//!
//! Kafka counterpart: `BrokerHeartbeatManager`, `BrokerHeartbeatTracker`, `BrokerControlState`.
//! Invariant: every broker that is not fenced has a session.

use alloc::collections::BTreeMap;

use eosim_types::message::BrokerHeartbeatRequest;
use eosim_types::metadata::{BrokerMetadata, MetadataImage};
use eosim_types::{BrokerId, Duration, Instant};

/// What a broker is to the controller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum BrokerControlState {
    /// Not to be used.
    Fenced,
    /// In use.
    Unfenced,
    /// Leads nothing any more, but must not stop yet.
    ControlledShutdown,
    /// May stop; fenced.
    ShutdownNow,
}

impl BrokerControlState {
    /// What the registration says.
    fn of(broker: &BrokerMetadata) -> Self {
        match (broker.fenced, broker.in_controlled_shutdown) {
            (true, _) => Self::Fenced,
            (false, true) => Self::ControlledShutdown,
            (false, false) => Self::Unfenced,
        }
    }

    /// Has it no session?
    pub(crate) const fn fenced(self) -> bool {
        matches!(self, Self::Fenced | Self::ShutdownNow)
    }
}

/// What is known of one broker's life beyond its registration.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct BrokerHeartbeatState {
    /// When it was heard of last.
    contact: Instant,
    /// The version of the metadata that it has applied.
    metadata_version: u64,
    /// The version with which its controlled shutdown began.
    controlled_shutdown_version: Option<u64>,
}

/// The sessions of all brokers that are not fenced.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct BrokerHeartbeatManager {
    sessions: BTreeMap<BrokerId, BrokerHeartbeatState>,
}

impl BrokerHeartbeatManager {
    /// The controller begins: every broker that is not fenced has been heard of just now.
    pub(crate) fn activate(&mut self, image: &MetadataImage, now: Instant) {
        self.sessions.clear();
        for (&broker, _) in image.brokers.iter().filter(|(_, b)| !b.fenced) {
            self.touch(broker, 0, now);
        }
    }

    /// The broker was heard of.
    pub(crate) fn touch(&mut self, broker: BrokerId, metadata_version: u64, now: Instant) {
        let session = self.sessions.entry(broker).or_insert(BrokerHeartbeatState {
            contact: now,
            metadata_version,
            controlled_shutdown_version: None,
        });
        session.contact = now;
        session.metadata_version = metadata_version;
    }

    /// Its session ends.
    pub(crate) fn remove(&mut self, broker: BrokerId) {
        self.sessions.remove(&broker);
    }

    /// `maybeUpdateControlledShutdownOffset`: the shutdown began at `version`, unless it began
    /// before.
    pub(crate) fn maybe_update_controlled_shutdown_version(
        &mut self,
        broker: BrokerId,
        version: u64,
    ) {
        let session = self.sessions.get_mut(&broker).expect("a broker shutting down has a session");
        session.controlled_shutdown_version.get_or_insert(version);
    }

    /// The broker that has been silent longest, if that is for `session_timeout` or longer.
    pub(crate) fn find_stale_broker(
        &self,
        now: Instant,
        session_timeout: Duration,
    ) -> Option<BrokerId> {
        let (contact, broker) = self.oldest()?;
        (now.since(contact) >= session_timeout).then_some(broker)
    }

    /// When the next session may run out; `session_timeout` from now if there is none.
    pub(crate) fn next_check(&self, now: Instant, session_timeout: Duration) -> Instant {
        self.oldest().map_or(now, |(contact, _)| contact) + session_timeout
    }

    fn oldest(&self) -> Option<(Instant, BrokerId)> {
        self.sessions.iter().map(|(&broker, session)| (session.contact, broker)).min()
    }

    /// `calculateNextBrokerState`: the broker's state now, and after this heartbeat.
    pub(crate) fn calculate_next_broker_state(
        &self,
        image: &MetadataImage,
        request: BrokerHeartbeatRequest,
    ) -> (BrokerControlState, BrokerControlState) {
        use BrokerControlState::{ControlledShutdown, Fenced, ShutdownNow, Unfenced};
        let registration = &image.brokers[&request.broker];
        let current = BrokerControlState::of(registration);
        let next = match current {
            Fenced if request.want_shut_down => ShutdownNow,
            Fenced if is_caught_up(registration, request) => Unfenced,
            Fenced => Fenced,
            Unfenced if !request.want_shut_down => Unfenced,
            Unfenced if has_leaderships(image, request.broker) => ControlledShutdown,
            Unfenced => ShutdownNow,
            _ if has_leaderships(image, request.broker) => ControlledShutdown,
            _ if self.others_know_of_controlled_shutdown(image, request.broker) => ShutdownNow,
            _ => ControlledShutdown,
        };
        (current, next)
    }

    /// Have all active brokers applied the metadata that takes this one's leaderships away
    /// (`lowestActiveOffset`)?
    fn others_know_of_controlled_shutdown(&self, image: &MetadataImage, broker: BrokerId) -> bool {
        let began = self.sessions.get(&broker).and_then(|s| s.controlled_shutdown_version);
        let is_active = |id: &BrokerId| !image.brokers[id].in_controlled_shutdown;
        self.sessions
            .iter()
            .filter(|(id, _)| is_active(id))
            .all(|(_, session)| began.is_none_or(|began| session.metadata_version >= began))
    }
}

/// Has the broker applied the metadata up to its own registration?
fn is_caught_up(registration: &BrokerMetadata, request: BrokerHeartbeatRequest) -> bool {
    i64::try_from(request.current_metadata_version)
        .is_ok_and(|version| version >= registration.broker_epoch)
}

/// `BrokersToIsrs#hasLeaderships`.
fn has_leaderships(image: &MetadataImage, broker: BrokerId) -> bool {
    image.partitions.values().any(|partition| partition.leader == Some(broker))
}
