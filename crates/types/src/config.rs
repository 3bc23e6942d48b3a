//! Configuration with Kafka's names and defaults.

use serde::{Deserialize, Serialize};

use crate::ids::{GroupId, ProducerEpoch, Sequence};
use crate::message::IsolationLevel;
use crate::time::Duration;
use crate::version::{KafkaVersion, TransactionVersion};

/// Settings of a broker (leader 0.2, coordinator 0).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BrokerConfig {
    /// The Kafka version that the broker runs.
    pub kafka: KafkaVersion,
    /// `request.timeout.ms`.
    pub request_timeout: Duration,
    /// `replica.lag.time.max.ms`; the shrink check runs every half of it (L-ISR-3).
    pub replica_lag_time_max: Duration,
    /// `replica.fetch.wait.max.ms`.
    pub replica_fetch_wait_max: Duration,
    /// `replica.fetch.backoff.ms`.
    pub replica_fetch_backoff: Duration,
    /// `replica.high.watermark.checkpoint.interval.ms` (L-HW-5).
    pub high_watermark_checkpoint_interval: Duration,
    /// `log.flush.start.offset.checkpoint.interval.ms` (L-SNP-7).
    pub log_start_offset_checkpoint_interval: Duration,
    /// `log.retention.check.interval.ms` (L-DEL-4).
    pub log_retention_check_interval: Duration,
    /// `log.cleaner.backoff.ms`: the pause between two passes of the cleaner (L-CMP-1).
    pub log_cleaner_backoff: Duration,
    /// How often the operating system writes what Kafka has handed to it; Kafka itself does not
    /// wait for the disk (L-FO-6).
    pub page_cache_flush_interval: Duration,
    /// `producer.id.expiration.ms` (L-EXP-1).
    pub producer_id_expiration: Duration,
    /// `producer.id.expiration.check.interval.ms` (L-EXP-1).
    pub producer_id_expiration_check_interval: Duration,
    /// `transaction.partition.verification.enable` (L-VER-2).
    pub transaction_partition_verification_enable: bool,
    /// `add.partitions.to.txn.retry.backoff.ms` (L-VER-8).
    pub add_partitions_to_txn_retry_backoff: Duration,
    /// `add.partitions.to.txn.retry.backoff.max.ms` (L-VER-8).
    pub add_partitions_to_txn_retry_backoff_max: Duration,
    /// `transaction.max.timeout.ms`.
    pub transaction_max_timeout_ms: i32,
    /// `transaction.two.phase.commit.enable` (C-INIT-6).
    pub transaction_two_phase_commit_enable: bool,
    /// `transaction.abort.timed.out.transaction.cleanup.interval.ms` (C-TMO-1).
    pub abort_timed_out_transactions_interval: Duration,
    /// The epoch with which a new transactional id begins; 0 in Kafka. Close to the last one it lets
    /// epochs run out within a run.
    pub first_producer_epoch: ProducerEpoch,
    /// Ids in a block that the controller hands out (`PRODUCER_ID_BLOCK_SIZE`); 1000 in Kafka.
    pub producer_id_block_size: i32,
    /// `transactional.id.expiration.ms` (C-EXP-1).
    pub transactional_id_expiration: Duration,
    /// `transaction.remove.expired.transaction.cleanup.interval.ms` (C-EXP-1).
    pub remove_expired_transactional_ids_interval: Duration,
    /// `offsets.commit.timeout.ms` (L-TOC-3).
    pub offsets_commit_timeout: Duration,
    /// `offsets.retention.minutes` (G-INT-5).
    pub offsets_retention: Duration,
    /// `offsets.retention.check.interval.ms` (G-INT-5).
    pub offsets_retention_check_interval: Duration,
    /// `group.initial.rebalance.delay.ms`: how long an empty classic group waits for more members.
    pub group_initial_rebalance_delay: Duration,
    /// `group.min.session.timeout.ms`.
    pub group_min_session_timeout: Duration,
    /// `group.max.session.timeout.ms`.
    pub group_max_session_timeout: Duration,
    /// `group.consumer.session.timeout.ms`, of members of KIP-848 groups.
    pub group_consumer_session_timeout: Duration,
    /// `group.consumer.heartbeat.interval.ms`, of members of KIP-848 groups.
    pub group_consumer_heartbeat_interval: Duration,
    /// `broker.heartbeat.interval.ms`.
    pub broker_heartbeat_interval: Duration,
    /// `broker.session.timeout.ms`; the controller fences a silent broker after it.
    pub broker_session_timeout: Duration,
    /// A marker that was refused is sent again after this pause; Kafka has none (C-MRK-7).
    pub marker_retry_backoff: Duration,
    /// How long the sender of markers sleeps at most between two rounds (C-MRK-12).
    pub marker_sender_poll: Duration,
    /// How long after its replicas a broker's transaction coordinator hears of a change of roles;
    /// Kafka has no such setting, it takes as long as it takes (C-LK-4).
    pub transaction_state_election_delay: Duration,
    /// How long a partition of `__transaction_state` waits before its new coordinator reads it;
    /// Kafka has no such setting, its loads take as long as they take (C-LK-4).
    pub transaction_state_load_delay: Duration,
}

impl Default for BrokerConfig {
    fn default() -> Self {
        Self {
            kafka: KafkaVersion::default(),
            request_timeout: Duration::from_millis(30_000),
            replica_lag_time_max: Duration::from_millis(30_000),
            replica_fetch_wait_max: Duration::from_millis(500),
            replica_fetch_backoff: Duration::from_millis(1_000),
            high_watermark_checkpoint_interval: Duration::from_millis(5_000),
            log_start_offset_checkpoint_interval: Duration::from_millis(60_000),
            log_retention_check_interval: Duration::from_millis(300_000),
            log_cleaner_backoff: Duration::from_millis(15_000),
            page_cache_flush_interval: Duration::from_millis(30_000),
            producer_id_expiration: Duration::from_millis(86_400_000),
            producer_id_expiration_check_interval: Duration::from_millis(600_000),
            transaction_partition_verification_enable: true,
            add_partitions_to_txn_retry_backoff: Duration::from_millis(20),
            add_partitions_to_txn_retry_backoff_max: Duration::from_millis(100),
            transaction_max_timeout_ms: 900_000,
            transaction_two_phase_commit_enable: false,
            abort_timed_out_transactions_interval: Duration::from_millis(10_000),
            first_producer_epoch: ProducerEpoch(0),
            producer_id_block_size: 1000,
            transactional_id_expiration: Duration::from_millis(604_800_000),
            remove_expired_transactional_ids_interval: Duration::from_millis(3_600_000),
            offsets_commit_timeout: Duration::from_millis(5_000),
            offsets_retention: Duration::from_millis(604_800_000),
            offsets_retention_check_interval: Duration::from_millis(600_000),
            group_initial_rebalance_delay: Duration::from_millis(3_000),
            group_min_session_timeout: Duration::from_millis(6_000),
            group_max_session_timeout: Duration::from_millis(1_800_000),
            group_consumer_session_timeout: Duration::from_millis(45_000),
            group_consumer_heartbeat_interval: Duration::from_millis(5_000),
            broker_heartbeat_interval: Duration::from_millis(2_000),
            broker_session_timeout: Duration::from_millis(9_000),
            marker_retry_backoff: Duration::from_millis(5),
            marker_sender_poll: Duration::from_millis(30_000),
            transaction_state_election_delay: Duration::ZERO,
            transaction_state_load_delay: Duration::ZERO,
        }
    }
}

/// Settings of one topic.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TopicConfig {
    /// `min.insync.replicas`.
    pub min_insync_replicas: i32,
    /// `unclean.leader.election.enable`.
    pub unclean_leader_election_enable: bool,
    /// `max.message.bytes`.
    pub max_message_bytes: i32,
    /// `segment.bytes`.
    pub segment_bytes: i32,
    /// `cleanup.policy` contains `delete`.
    pub cleanup_delete: bool,
    /// `cleanup.policy` contains `compact`.
    pub cleanup_compact: bool,
    /// `retention.bytes`; -1 keeps everything.
    pub retention_bytes: i64,
    /// `retention.ms`, judged by the records' timestamps; -1 keeps everything.
    pub retention_ms: i64,
    /// `delete.retention.ms`: how long a marker outlives its transaction (L-CMP-3).
    pub delete_retention: Duration,
}

impl Default for TopicConfig {
    fn default() -> Self {
        Self {
            min_insync_replicas: 1,
            unclean_leader_election_enable: false,
            max_message_bytes: 1_048_588,
            segment_bytes: 1 << 30,
            cleanup_delete: true,
            cleanup_compact: false,
            retention_bytes: -1,
            retention_ms: 604_800_000,
            delete_retention: Duration::from_millis(86_400_000),
        }
    }
}

/// Settings of a producer (P-CFG).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ProducerConfig {
    /// `enable.idempotence`.
    pub enable_idempotence: bool,
    /// `acks`: 0, 1 or -1 (all).
    pub acks: i16,
    /// `retries`.
    pub retries: i32,
    /// `max.in.flight.requests.per.connection`.
    pub max_in_flight_requests_per_connection: u32,
    /// `delivery.timeout.ms`.
    pub delivery_timeout: Duration,
    /// `request.timeout.ms`.
    pub request_timeout: Duration,
    /// `linger.ms`.
    pub linger: Duration,
    /// `batch.size`, bytes.
    pub batch_size: i32,
    /// `max.request.size`, bytes.
    pub max_request_size: i32,
    /// `buffer.memory`, bytes.
    pub buffer_memory: i64,
    /// `max.block.ms`.
    pub max_block: Duration,
    /// `transaction.timeout.ms`.
    pub transaction_timeout_ms: i32,
    /// `transaction.two.phase.commit.enable` (P-CFG-6).
    pub transaction_two_phase_commit_enable: bool,
    /// `retry.backoff.ms`.
    pub retry_backoff: Duration,
    /// `retry.backoff.max.ms`.
    pub retry_backoff_max: Duration,
    /// `reconnect.backoff.ms`.
    pub reconnect_backoff: Duration,
    /// `reconnect.backoff.max.ms`.
    pub reconnect_backoff_max: Duration,
    /// `metadata.max.age.ms`.
    pub metadata_max_age: Duration,
    /// The transaction version that the client speaks.
    pub transaction_version: TransactionVersion,
    /// The sequence with which a producer without transactions begins in each partition; 0 in Kafka.
    /// Close to the last one it lets sequences wrap within a run.
    pub first_sequence: Sequence,
}

impl Default for ProducerConfig {
    fn default() -> Self {
        Self {
            enable_idempotence: true,
            acks: -1,
            retries: i32::MAX,
            max_in_flight_requests_per_connection: 5,
            delivery_timeout: Duration::from_millis(120_000),
            request_timeout: Duration::from_millis(30_000),
            linger: Duration::from_millis(5),
            batch_size: 16_384,
            max_request_size: 1_048_576,
            buffer_memory: 33_554_432,
            max_block: Duration::from_millis(60_000),
            transaction_timeout_ms: 60_000,
            transaction_two_phase_commit_enable: false,
            retry_backoff: Duration::from_millis(100),
            retry_backoff_max: Duration::from_millis(1_000),
            reconnect_backoff: Duration::from_millis(50),
            reconnect_backoff_max: Duration::from_millis(1_000),
            metadata_max_age: Duration::from_millis(300_000),
            transaction_version: TransactionVersion::Tv2,
            first_sequence: Sequence::ZERO,
        }
    }
}

/// `auto.offset.reset`: where a consumer begins without a position (K-OFF-4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AutoOffsetReset {
    /// At the start of the log.
    Earliest,
    /// At the end that its isolation level lets it see.
    #[default]
    Latest,
    /// At the first record that is no older than this.
    ByDuration(Duration),
    /// Nowhere; it throws.
    None,
}

/// `group.protocol`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupProtocol {
    /// Rebalanced by its members.
    #[default]
    Classic,
    /// Rebalanced by the coordinator (KIP-848).
    Consumer,
}

/// Settings of a consumer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ConsumerConfig {
    /// `isolation.level`.
    pub isolation_level: IsolationLevel,
    /// `fetch.max.wait.ms`.
    pub fetch_max_wait: Duration,
    /// `fetch.min.bytes`.
    pub fetch_min_bytes: i32,
    /// `max.partition.fetch.bytes`.
    pub max_partition_fetch_bytes: i32,
    /// `max.poll.records`.
    pub max_poll_records: u32,
    /// `request.timeout.ms`.
    pub request_timeout: Duration,
    /// `retry.backoff.ms`.
    pub retry_backoff: Duration,
    /// `reconnect.backoff.ms`.
    pub reconnect_backoff: Duration,
    /// `reconnect.backoff.max.ms`.
    pub reconnect_backoff_max: Duration,
    /// `metadata.max.age.ms`.
    pub metadata_max_age: Duration,
    /// `default.api.timeout.ms`.
    pub default_api_timeout: Duration,
    /// `auto.offset.reset`.
    pub auto_offset_reset: AutoOffsetReset,
    /// `group.id`.
    pub group: Option<GroupId>,
    /// `group.protocol`.
    pub group_protocol: GroupProtocol,
    /// `group.instance.id`, which makes a static member.
    pub group_instance: Option<u32>,
    /// `enable.auto.commit`. Off, as whoever commits in transactions has it (K-CTP), though Kafka's
    /// default is on.
    pub enable_auto_commit: bool,
    /// `auto.commit.interval.ms`.
    pub auto_commit_interval: Duration,
    /// `session.timeout.ms`, of classic members.
    pub session_timeout: Duration,
    /// `heartbeat.interval.ms`, of classic members.
    pub heartbeat_interval: Duration,
    /// `max.poll.interval.ms`.
    pub max_poll_interval: Duration,
}

impl Default for ConsumerConfig {
    fn default() -> Self {
        Self {
            isolation_level: IsolationLevel::ReadUncommitted,
            fetch_max_wait: Duration::from_millis(500),
            fetch_min_bytes: 1,
            max_partition_fetch_bytes: 1 << 20,
            max_poll_records: 500,
            request_timeout: Duration::from_millis(30_000),
            retry_backoff: Duration::from_millis(100),
            reconnect_backoff: Duration::from_millis(50),
            reconnect_backoff_max: Duration::from_millis(1_000),
            metadata_max_age: Duration::from_millis(300_000),
            default_api_timeout: Duration::from_millis(60_000),
            auto_offset_reset: AutoOffsetReset::Latest,
            group: None,
            group_protocol: GroupProtocol::Classic,
            group_instance: None,
            enable_auto_commit: false,
            auto_commit_interval: Duration::from_millis(5_000),
            session_timeout: Duration::from_millis(45_000),
            heartbeat_interval: Duration::from_millis(3_000),
            max_poll_interval: Duration::from_millis(300_000),
        }
    }
}
