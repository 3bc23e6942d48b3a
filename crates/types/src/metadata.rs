//! The cluster's metadata as the controller decides it and as every node, later, knows it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::ids::{BrokerId, LeaderEpoch, Topic, TopicPartition};
use crate::version::TransactionVersion;

/// One partition (`PartitionRegistration`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PartitionMetadata {
    /// Assigned replicas, the preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// In-sync replicas, sorted.
    pub isr: Vec<BrokerId>,
    /// Eligible leader replicas, sorted (L-ISR-5).
    pub elr: Vec<BrokerId>,
    /// The leader; `None` is Kafka's -1.
    pub leader: Option<BrokerId>,
    /// Raised with every change of leader (L-ISR-4).
    pub leader_epoch: LeaderEpoch,
    /// Raised with every change of the partition (L-ISR-4).
    pub partition_epoch: i32,
}

/// A registered broker.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BrokerMetadata {
    /// Differs between two lives of the broker.
    pub broker_epoch: i64,
    /// Registered but not to be used: not heard of for a session, or just started.
    pub fenced: bool,
    /// Stopping in good order: leads nothing any more.
    pub in_controlled_shutdown: bool,
}

/// One state of the whole cluster (`MetadataImage`).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct MetadataImage {
    /// Raised by the controller with every change.
    pub version: u64,
    /// Registered brokers.
    pub brokers: BTreeMap<BrokerId, BrokerMetadata>,
    /// Every partition of every topic.
    pub partitions: BTreeMap<TopicPartition, PartitionMetadata>,
    /// The finalized level of the feature `transaction.version` (C-TV-1).
    pub transaction_version: TransactionVersion,
}

impl MetadataImage {
    /// The leader of `tp`, if the partition exists and has one.
    #[must_use]
    pub fn leader(&self, tp: TopicPartition) -> Option<BrokerId> {
        self.partitions.get(&tp)?.leader
    }

    /// Is the broker registered and not fenced?
    #[must_use]
    pub fn is_alive(&self, broker: BrokerId) -> bool {
        self.brokers.get(&broker).is_some_and(|b| !b.fenced)
    }

    /// How many partitions `topic` has: they are numbered from 0 on.
    #[must_use]
    pub fn partition_count(&self, topic: Topic) -> i32 {
        let from = TopicPartition::new(topic, 0);
        let to = TopicPartition::new(topic, i32::MAX);
        let last = self.partitions.range(from..=to).next_back();
        last.map_or(0, |(last, _)| last.partition.saturating_add(1))
    }
}
