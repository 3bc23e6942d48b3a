//! What the controller is told before the run, and the settled cluster that follows from it.
//!
//! Kafka counterpart: the bootstrap metadata of a formatted cluster, after every broker has
//! registered and every topic has been created.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use eosim_types::config::{BrokerConfig, TopicConfig};
use eosim_types::metadata::{BrokerMetadata, MetadataImage, PartitionMetadata};
use eosim_types::version::{KafkaVersion, TransactionVersion};
use eosim_types::{BrokerId, LeaderEpoch, Topic, TopicPartition};

/// One topic of the cluster.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TopicSpec {
    /// The topic.
    pub topic: Topic,
    /// The replicas of each partition, the preferred leader first; none is empty.
    pub replicas: Vec<Vec<BrokerId>>,
    /// Its settings.
    pub config: TopicConfig,
    /// The leader epoch with which its partitions begin: 0 unless the cluster has lived before.
    pub leader_epoch: LeaderEpoch,
}

/// What the controller is told before the run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ControllerConfig {
    /// The brokers of the cluster.
    pub brokers: Vec<BrokerId>,
    /// The topics, Kafka's own among them.
    pub topics: Vec<TopicSpec>,
    /// Settings that all nodes share; the controller reads `broker_session_timeout`.
    pub broker_config: BrokerConfig,
    /// The finalized level of the feature `transaction.version` at the start.
    pub transaction_version: TransactionVersion,
    /// Brokers that run another Kafka version than `broker_config` says.
    pub kafka: BTreeMap<BrokerId, KafkaVersion>,
}

impl ControllerConfig {
    /// The settled cluster: every broker registered and unfenced, every replica in sync, the first
    /// replica leading.
    #[must_use]
    pub fn initial_image(&self) -> MetadataImage {
        let mut image = MetadataImage {
            transaction_version: self.transaction_version,
            ..MetadataImage::default()
        };
        for &broker in &self.brokers {
            image.version += 1;
            image.brokers.insert(broker, settled_broker(image.version));
        }
        for (tp, replicas, leader_epoch) in self.partitions() {
            image.version += 1;
            image.partitions.insert(tp, settled_partition(replicas, leader_epoch));
        }
        image
    }

    /// The Kafka version that `broker` runs.
    #[must_use]
    pub fn kafka_of(&self, broker: BrokerId) -> KafkaVersion {
        self.kafka.get(&broker).copied().unwrap_or(self.broker_config.kafka)
    }

    /// The settings of each topic.
    pub(super) fn topic_configs(&self) -> BTreeMap<Topic, TopicConfig> {
        self.topics.iter().map(|spec| (spec.topic, spec.config.clone())).collect()
    }

    fn partitions(&self) -> impl Iterator<Item = (TopicPartition, &Vec<BrokerId>, LeaderEpoch)> {
        self.topics.iter().flat_map(|spec| {
            (0..).zip(&spec.replicas).map(|(partition, replicas)| {
                (TopicPartition::new(spec.topic, partition), replicas, spec.leader_epoch)
            })
        })
    }
}

/// A broker epoch is the version of the image in which the life was registered.
fn settled_broker(version: u64) -> BrokerMetadata {
    let broker_epoch = i64::try_from(version).expect("fewer than 2^63 versions");
    BrokerMetadata { broker_epoch, fenced: false, in_controlled_shutdown: false }
}

fn settled_partition(replicas: &[BrokerId], leader_epoch: LeaderEpoch) -> PartitionMetadata {
    let mut isr = replicas.to_vec();
    isr.sort_unstable();
    PartitionMetadata {
        replicas: replicas.to_vec(),
        isr,
        elr: Vec::new(),
        leader: Some(*replicas.first().expect("a partition has replicas")),
        leader_epoch,
        partition_epoch: 0,
    }
}
