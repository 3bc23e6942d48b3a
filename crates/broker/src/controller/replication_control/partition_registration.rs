//! One partition as the controller knows it.
//!
//! Kafka counterpart: `PartitionRegistration`. Brokers hear of its first part only; the rest says
//! what is under way.

use alloc::vec::Vec;

use eosim_types::BrokerId;
use eosim_types::metadata::PartitionMetadata;

/// What the controller knows of a partition beyond the metadata that brokers need.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Unsettled {
    /// Replicas that a reassignment adds.
    pub(super) adding_replicas: Vec<BrokerId>,
    /// Replicas that a reassignment removes.
    pub(super) removing_replicas: Vec<BrokerId>,
    /// The leader whose loss left the ISR empty (`lastKnownElr`, where Kafka keeps it since it
    /// elects the last known leader).
    pub(super) last_known_leader: Option<BrokerId>,
}

/// One partition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct PartitionRegistration {
    /// What brokers know.
    pub(super) metadata: PartitionMetadata,
    /// What is under way.
    pub(super) unsettled: Unsettled,
}

impl PartitionRegistration {
    /// Panics if the partition is not one that can be.
    pub(super) fn assert_valid(&self) {
        let PartitionMetadata { replicas, isr, elr, leader, .. } = &self.metadata;
        assert!(isr.iter().chain(elr).all(|r| replicas.contains(r)), "ISR or ELR: {self:?}");
        assert!(elr.iter().all(|r| !isr.contains(r)), "both in ISR and ELR: {self:?}");
        assert!(leader.is_none_or(|leader| isr.contains(&leader)), "leader not in ISR: {self:?}");
    }
}
