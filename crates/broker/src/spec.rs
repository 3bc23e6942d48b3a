//! What a broker is told before its first life: who it is, its settings, the topics.
//!
//! Kafka counterpart: `KafkaConfig` and the topic configurations of the metadata log.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use eosim_types::config::{BrokerConfig, TopicConfig};
use eosim_types::{BrokerId, Names, Topic};

/// Fixed facts of one broker.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BrokerSpec {
    /// Its node id, 1 ….
    pub id: BrokerId,
    /// Its settings.
    pub config: BrokerConfig,
    /// Settings per topic; a topic that is missing has Kafka's defaults.
    pub topics: BTreeMap<Topic, TopicConfig>,
    /// The strings behind topics and ids (C-PART-1 hashes them).
    pub names: Arc<Names>,
}

impl BrokerSpec {
    /// The settings of `topic`.
    #[must_use]
    pub fn topic_config(&self, topic: Topic) -> TopicConfig {
        self.topics.get(&topic).cloned().unwrap_or_default()
    }
}
