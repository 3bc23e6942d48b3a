//! Brokers, topics and the network between them.

use std::collections::BTreeMap;

use eosim_types::config::{BrokerConfig, TopicConfig};
use eosim_types::version::KafkaVersion;
use eosim_types::{Duration, ProducerEpoch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::{KafkaVersionName, Millis, Ranged};
use crate::settings::{BrokerSettings, TopicSettings};

/// Brokers and topics.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// How many brokers, numbered from 1; the controller is a node of its own.
    #[schemars(with = "Ranged<1, 9>")]
    pub brokers: u32,
    /// Settings of every broker, by Kafka's names.
    #[serde(default, skip_serializing_if = "BrokerSettings::is_empty")]
    pub settings: BrokerSettings,
    /// Topics by name.
    #[schemars(extend("maxProperties" = 64))]
    pub topics: BTreeMap<String, TopicPlan>,
    /// `__transaction_state`.
    #[serde(default)]
    pub transaction_state: InternalTopic,
    /// `__consumer_offsets`.
    #[serde(default)]
    pub consumer_offsets: InternalTopic,
    /// Brokers that run another Kafka version than the cluster: `broker-1` …
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, KafkaVersionName>", extend("maxProperties" = 9))]
    pub kafka: BTreeMap<String, KafkaVersion>,
    /// A release that is installed on all brokers while the run goes on: those that start later,
    /// and are older, run it from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Upgrade")]
    pub upgrade: Option<Upgrade>,
    /// The epoch with which a new transactional id begins: 0 in Kafka, up to 32766 to let epochs
    /// run out, 32767 for what a release before 4.3 can have left.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(with = "Ranged<0, 32_767>")]
    pub first_producer_epoch: u16,
    /// Producer ids in a block of the controller: 1000 in Kafka, fewer to have brokers ask often.
    #[serde(default = "thousand", skip_serializing_if = "is_thousand")]
    #[schemars(with = "Ranged<1, 1_000>")]
    pub producer_id_block_size: u16,
    /// How long a transaction coordinator reads a partition of its log before it answers, in
    /// milliseconds (C-LK-4).
    #[serde(default, skip_serializing_if = "is_zero_ms")]
    #[schemars(with = "Millis")]
    pub coordinator_load_ms: u64,
    /// Which broker is the coordinator of a transactional id at the start.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, Ranged<1, 9>>", extend("maxProperties" = 100))]
    pub place: BTreeMap<String, u32>,
}

/// A release that is installed while the run goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Upgrade {
    /// Which.
    #[schemars(with = "KafkaVersionName")]
    pub kafka: KafkaVersion,
    /// When, after the run began.
    #[schemars(with = "Millis")]
    pub at_ms: u64,
}

/// A topic. Either `replicas` names every replica, or replicas are spread over the brokers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopicPlan {
    /// How many partitions; with `replicas` as many as it has entries.
    #[serde(default = "one")]
    #[schemars(with = "Ranged<1, 100>")]
    pub partitions: u32,
    /// How many replicas each partition has; at most as many as there are brokers.
    #[serde(default = "one")]
    #[schemars(with = "Ranged<1, 9>")]
    pub replication_factor: u32,
    /// Per partition the brokers that hold it, the preferred leader first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<BrokerList>", length(max = 100))]
    pub replicas: Vec<Vec<u32>>,
    /// Settings of the topic, by Kafka's names.
    #[serde(default, skip_serializing_if = "TopicSettings::is_empty")]
    pub settings: TopicSettings,
}

/// Schema of the replicas of one partition.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "read by the schema only")]
struct BrokerList(#[schemars(length(min = 1, max = 9))] Vec<BrokerNumber>);

/// Schema of a broker's number.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "read by the schema only")]
struct BrokerNumber(#[schemars(range(min = 1, max = 9))] u32);

fn thousand() -> u16 {
    1_000
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_thousand(size: &u16) -> bool {
    *size == thousand()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero_ms(ms: &u64) -> bool {
    *ms == 0
}

fn is_zero(epoch: &u16) -> bool {
    *epoch == 0
}

fn one() -> u32 {
    1
}

impl TopicPlan {
    /// How many partitions it has.
    #[must_use]
    pub fn partition_count(&self) -> u32 {
        let listed = u32::try_from(self.replicas.len()).unwrap_or(u32::MAX);
        if listed == 0 { self.partitions } else { listed }
    }

    /// Its configuration.
    #[must_use]
    pub fn config(&self) -> TopicConfig {
        self.settings.over(TopicConfig::default())
    }

    /// The brokers that hold each partition, the preferred leader first: as written, or spread so
    /// that partition `n` (from 0) begins with broker `n` modulo `brokers`, plus 1.
    #[must_use]
    pub fn assignment(&self, brokers: u32) -> Vec<Vec<u32>> {
        if self.replicas.is_empty() {
            spread(self.partitions, self.replication_factor, brokers)
        } else {
            self.replicas.clone()
        }
    }
}

/// One of Kafka's own topics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InternalTopic {
    /// How many partitions (`transaction.state.log.num.partitions`,
    /// `offsets.topic.num.partitions`).
    #[schemars(with = "Ranged<1, 50>")]
    pub partitions: u32,
    /// How many replicas each partition has; fewer if there are fewer brokers.
    #[schemars(with = "Ranged<1, 9>")]
    pub replication_factor: u32,
    /// `min.insync.replicas` of the topic; fewer if there are fewer replicas.
    #[schemars(with = "Ranged<1, 9>")]
    pub min_insync_replicas: u32,
    /// `segment.bytes` of the topic (`transaction.state.log.segment.bytes`,
    /// `offsets.topic.segment.bytes`): only full segments are compacted.
    #[schemars(with = "Ranged<1, 2_147_483_647>")]
    pub segment_bytes: i32,
}

impl Default for InternalTopic {
    fn default() -> Self {
        Self {
            partitions: 5,
            replication_factor: 3,
            min_insync_replicas: 2,
            segment_bytes: 100 << 20,
        }
    }
}

impl Cluster {
    /// The Kafka version of each broker by number, in a cluster that runs `kafka`.
    pub fn versions(&self, kafka: KafkaVersion) -> impl Iterator<Item = (u32, KafkaVersion)> + '_ {
        (1..=self.brokers).map(move |broker| {
            let own = self.kafka.get(&format!("broker-{broker}"));
            (broker, own.copied().unwrap_or(kafka))
        })
    }

    /// Configuration of every broker, which runs `kafka`.
    #[must_use]
    pub fn broker_config(&self, kafka: KafkaVersion) -> BrokerConfig {
        let first = i16::try_from(self.first_producer_epoch).expect("checked against the schema");
        self.settings.over(BrokerConfig {
            kafka,
            first_producer_epoch: ProducerEpoch(first),
            transaction_state_load_delay: Duration::from_millis(self.coordinator_load_ms),
            producer_id_block_size: i32::from(self.producer_id_block_size),
            ..BrokerConfig::default()
        })
    }
}

impl InternalTopic {
    /// Replicas of each partition in a cluster of `brokers`.
    #[must_use]
    pub fn replicas(&self, brokers: u32) -> u32 {
        self.replication_factor.min(brokers)
    }

    /// `min.insync.replicas` in a cluster of `brokers`.
    #[must_use]
    pub fn min_insync_replicas(&self, brokers: u32) -> u32 {
        self.min_insync_replicas.min(self.replicas(brokers))
    }

    /// The brokers that hold each partition, the preferred leader first.
    #[must_use]
    pub fn assignment(&self, brokers: u32) -> Vec<Vec<u32>> {
        spread(self.partitions, self.replicas(brokers), brokers)
    }
}

fn spread(partitions: u32, replication_factor: u32, brokers: u32) -> Vec<Vec<u32>> {
    let replicas = |n: u32| (0..replication_factor).map(|r| (n + r) % brokers + 1).collect();
    (0..partitions).map(replicas).collect()
}

/// Latencies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// The least that a message takes, one way, in microseconds.
    #[schemars(with = "Ranged<1, 60_000_000>")]
    pub latency_min_us: u64,
    /// The most that a message takes, one way, in microseconds.
    #[schemars(with = "Ranged<1, 60_000_000>")]
    pub latency_max_us: u64,
}

impl Default for Network {
    fn default() -> Self {
        Self { latency_min_us: 500, latency_max_us: 5_000 }
    }
}
