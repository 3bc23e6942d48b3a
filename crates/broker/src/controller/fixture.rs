//! Small clusters and surroundings for tests.

use alloc::vec::Vec;

use eosim_types::config::{BrokerConfig, TopicConfig};
use eosim_types::version::{KafkaVersion, TransactionVersion};
use eosim_types::{BrokerId, DefectSet, Duration, Env, Instant, LeaderEpoch, Marks, Topic};

use super::config::{ControllerConfig, TopicSpec};

/// The one topic of the tests.
pub(super) const TOPIC: Topic = Topic(2);

/// A cluster with one topic, whose partitions have the given replicas; the session timeout is that
/// of the recordings.
pub(super) fn cluster(brokers: &[i32], replicas: &[&[i32]]) -> ControllerConfig {
    let ids = |list: &[i32]| list.iter().copied().map(BrokerId).collect::<Vec<_>>();
    ControllerConfig {
        brokers: ids(brokers),
        topics: [TopicSpec {
            topic: TOPIC,
            replicas: replicas.iter().map(|list| ids(list)).collect(),
            config: TopicConfig::default(),
            leader_epoch: LeaderEpoch(0),
        }]
        .into(),
        broker_config: BrokerConfig {
            broker_session_timeout: Duration::from_millis(3_000),
            ..BrokerConfig::default()
        },
        transaction_version: TransactionVersion::Tv2,
        kafka: Default::default(),
    }
}

/// Calls `test` with correct surroundings at the beginning of a run.
pub(super) fn with_env<T>(test: impl FnOnce(&mut Env<'_>) -> T) -> T {
    test(&mut env(Instant::START, &mut Marks::new()))
}

/// Correct surroundings at `now`.
pub(super) fn env(now: Instant, marks: &mut Marks) -> Env<'_> {
    let (kafka, defects) = (KafkaVersion::V4_4, DefectSet::NONE);
    Env {
        now,
        clock_skew_ms: 0,
        kafka,
        backports: eosim_types::CapabilitySet::NONE,
        defects,
        marks,
    }
}
