//! The settings that one log obeys.
//!
//! Kafka's counterparts: `LogConfig` and `ProducerStateManagerConfig`.

use eosim_types::Duration;
use eosim_types::config::{BrokerConfig, TopicConfig};

/// Settings of one log, taken from its topic and its broker.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LogConfig {
    /// `max.message.bytes`: the largest batch that a leader takes.
    pub max_message_bytes: i32,
    /// `segment.bytes`: a segment that would grow beyond it is rolled.
    pub segment_bytes: i32,
    /// `index.interval.bytes`: bytes between two entries of the offset index (L-FET-3).
    pub index_interval_bytes: i64,
    /// `retention.bytes`; -1 keeps everything.
    pub retention_bytes: i64,
    /// `retention.ms`; -1 keeps everything.
    pub retention_ms: i64,
    /// `cleanup.policy` contains `delete`.
    pub cleanup_delete: bool,
    /// `cleanup.policy` contains `compact`: records need a key.
    pub cleanup_compact: bool,
    /// `delete.retention.ms`: how long a marker outlives its transaction (L-CMP-3).
    pub delete_retention: Duration,
    /// `message.timestamp.after.max.ms`: how far a record may be ahead of the broker's clock.
    pub message_timestamp_after_max: Duration,
    /// `producer.id.expiration.ms` (L-EXP-1).
    pub producer_id_expiration: Duration,
    /// `transaction.partition.verification.enable` (L-VER-2), dynamic.
    pub verification_enabled: bool,
}

impl LogConfig {
    /// The settings of a log of a topic with `topic`'s settings on a broker with `broker`'s.
    #[must_use]
    pub fn new(topic: &TopicConfig, broker: &BrokerConfig) -> Self {
        Self {
            max_message_bytes: topic.max_message_bytes,
            segment_bytes: topic.segment_bytes,
            index_interval_bytes: 4096,
            retention_bytes: topic.retention_bytes,
            retention_ms: topic.retention_ms,
            cleanup_delete: topic.cleanup_delete,
            cleanup_compact: topic.cleanup_compact,
            delete_retention: topic.delete_retention,
            message_timestamp_after_max: Duration::from_millis(3_600_000),
            producer_id_expiration: broker.producer_id_expiration,
            verification_enabled: broker.transaction_partition_verification_enable,
        }
    }
}

impl Default for LogConfig {
    fn default() -> Self {
        Self::new(&TopicConfig::default(), &BrokerConfig::default())
    }
}
