//! Configuration as users write it: Kafka's property names, each one optional.
//!
//! Counterpart: `KafkaConfig`, `TopicConfig`, `ProducerConfig`, `ConsumerConfig`. What is not named
//! keeps Kafka's default.

use std::borrow::Cow;

use eosim_types::Duration;
use eosim_types::config::{BrokerConfig, ConsumerConfig, ProducerConfig, TopicConfig};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::number::{MAX_MS, Millis, Period, Ranged};

/// A length of time in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ms(pub u64);

impl From<Ms> for Duration {
    fn from(ms: Ms) -> Self {
        Self::from_millis(ms.0)
    }
}

/// A length of time in minutes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Minutes(pub u32);

impl From<Minutes> for Duration {
    fn from(minutes: Minutes) -> Self {
        Self::from_millis(u64::from(minutes.0) * 60_000)
    }
}

/// Schema of a size or count that fits Kafka's `int`.
type Int = Ranged<0, 2_147_483_647>;

/// Schema of `acks`; -1 is `all`.
struct Acks;

impl JsonSchema for Acks {
    fn schema_name() -> Cow<'static, str> {
        "Acks".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": -1, "maximum": 1})
    }
}

macro_rules! settings {
    ($(#[$doc:meta])* $name:ident over $config:ident {
        $($key:literal $field:ident: $kind:ty as $schema:literal,)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $(
                #[doc = concat!("`", $key, "`.")]
                #[serde(rename = $key, skip_serializing_if = "Option::is_none")]
                #[schemars(with = $schema)]
                pub $field: Option<$kind>,
            )+
        }

        impl $name {
            /// Nothing is named.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                *self == Self::default()
            }

            /// `config`, with what is named here in place of what it holds.
            #[must_use]
            pub fn over(&self, mut config: $config) -> $config {
                $(if let Some(value) = self.$field {
                    config.$field = value.into();
                })+
                config
            }
        }
    };
}

settings! {
    /// Settings of a broker.
    BrokerSettings over BrokerConfig {
        "request.timeout.ms" request_timeout: Ms as "Period",
        "replica.lag.time.max.ms" replica_lag_time_max: Ms as "Period",
        "replica.fetch.wait.max.ms" replica_fetch_wait_max: Ms as "Millis",
        "replica.fetch.backoff.ms" replica_fetch_backoff: Ms as "Period",
        "replica.high.watermark.checkpoint.interval.ms"
            high_watermark_checkpoint_interval: Ms as "Period",
        "log.flush.start.offset.checkpoint.interval.ms"
            log_start_offset_checkpoint_interval: Ms as "Period",
        "log.retention.check.interval.ms" log_retention_check_interval: Ms as "Period",
        "log.cleaner.backoff.ms" log_cleaner_backoff: Ms as "Period",
        "page.cache.flush.interval.ms" page_cache_flush_interval: Ms as "Period",
        "producer.id.expiration.ms" producer_id_expiration: Ms as "Millis",
        "producer.id.expiration.check.interval.ms"
            producer_id_expiration_check_interval: Ms as "Period",
        "transaction.partition.verification.enable"
            transaction_partition_verification_enable: bool as "bool",
        "add.partitions.to.txn.retry.backoff.ms"
            add_partitions_to_txn_retry_backoff: Ms as "Millis",
        "add.partitions.to.txn.retry.backoff.max.ms"
            add_partitions_to_txn_retry_backoff_max: Ms as "Millis",
        "transaction.max.timeout.ms" transaction_max_timeout_ms: i32 as "Int",
        "transaction.two.phase.commit.enable"
            transaction_two_phase_commit_enable: bool as "bool",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms"
            abort_timed_out_transactions_interval: Ms as "Period",
        "transactional.id.expiration.ms" transactional_id_expiration: Ms as "Millis",
        "transaction.remove.expired.transaction.cleanup.interval.ms"
            remove_expired_transactional_ids_interval: Ms as "Period",
        "offsets.commit.timeout.ms" offsets_commit_timeout: Ms as "Millis",
        "offsets.retention.minutes" offsets_retention: Minutes as "Ranged<1, 1_000_000>",
        "offsets.retention.check.interval.ms" offsets_retention_check_interval: Ms as "Period",
        "group.initial.rebalance.delay.ms" group_initial_rebalance_delay: Ms as "Millis",
        "group.min.session.timeout.ms" group_min_session_timeout: Ms as "Millis",
        "group.max.session.timeout.ms" group_max_session_timeout: Ms as "Millis",
        "group.consumer.session.timeout.ms" group_consumer_session_timeout: Ms as "Millis",
        "group.consumer.heartbeat.interval.ms" group_consumer_heartbeat_interval: Ms as "Period",
        "broker.heartbeat.interval.ms" broker_heartbeat_interval: Ms as "Period",
        "broker.session.timeout.ms" broker_session_timeout: Ms as "Ranged<10, MAX_MS>",
    }
}

settings! {
    /// Settings of a topic.
    TopicSettings over TopicConfig {
        "min.insync.replicas" min_insync_replicas: i32 as "Ranged<1, 9>",
        "unclean.leader.election.enable" unclean_leader_election_enable: bool as "bool",
        "max.message.bytes" max_message_bytes: i32 as "Int",
        "segment.bytes" segment_bytes: i32 as "Int",
        "retention.bytes" retention_bytes: i64 as "Int",
        "retention.ms" retention_ms: i64 as "Int",
        "delete.retention.ms" delete_retention: Ms as "Millis",
    }
}

settings! {
    /// Settings of a producer.
    ProducerSettings over ProducerConfig {
        "enable.idempotence" enable_idempotence: bool as "bool",
        "acks" acks: i16 as "Acks",
        "retries" retries: i32 as "Int",
        "max.in.flight.requests.per.connection"
            max_in_flight_requests_per_connection: u32 as "Ranged<1, 100>",
        "delivery.timeout.ms" delivery_timeout: Ms as "Millis",
        "request.timeout.ms" request_timeout: Ms as "Period",
        "linger.ms" linger: Ms as "Millis",
        "batch.size" batch_size: i32 as "Int",
        "max.request.size" max_request_size: i32 as "Int",
        "buffer.memory" buffer_memory: i64 as "Int",
        "max.block.ms" max_block: Ms as "Period",
        "transaction.timeout.ms" transaction_timeout_ms: i32 as "Int",
        "transaction.two.phase.commit.enable"
            transaction_two_phase_commit_enable: bool as "bool",
        "retry.backoff.ms" retry_backoff: Ms as "Period",
        "retry.backoff.max.ms" retry_backoff_max: Ms as "Period",
        "reconnect.backoff.ms" reconnect_backoff: Ms as "Millis",
        "reconnect.backoff.max.ms" reconnect_backoff_max: Ms as "Millis",
        "metadata.max.age.ms" metadata_max_age: Ms as "Period",
    }
}

settings! {
    /// Settings of a consumer.
    ConsumerSettings over ConsumerConfig {
        "fetch.max.wait.ms" fetch_max_wait: Ms as "Millis",
        "fetch.min.bytes" fetch_min_bytes: i32 as "Int",
        "max.partition.fetch.bytes" max_partition_fetch_bytes: i32 as "Int",
        "max.poll.records" max_poll_records: u32 as "Ranged<1, 100_000>",
        "request.timeout.ms" request_timeout: Ms as "Period",
        "retry.backoff.ms" retry_backoff: Ms as "Period",
        "reconnect.backoff.ms" reconnect_backoff: Ms as "Millis",
        "reconnect.backoff.max.ms" reconnect_backoff_max: Ms as "Millis",
        "metadata.max.age.ms" metadata_max_age: Ms as "Period",
        "session.timeout.ms" session_timeout: Ms as "Millis",
        "heartbeat.interval.ms" heartbeat_interval: Ms as "Period",
        "max.poll.interval.ms" max_poll_interval: Ms as "Millis",
        "auto.commit.interval.ms" auto_commit_interval: Ms as "Period",
    }
}
