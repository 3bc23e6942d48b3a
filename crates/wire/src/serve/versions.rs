//! Which versions of which API a served broker says that it speaks: those of Kafka 4.4, as far as
//! the schemas of `kafka-protocol` go, and a little further (`codec::by_id`). InitProducerId 6 is
//! not stable in Kafka 4.4, so that brokers do not say it.

use eosim_types::Capability;
use eosim_types::version::KafkaVersion;
use kafka_protocol::messages::ApiKey;

/// API, lowest and highest version.
const SPOKEN: &[(ApiKey, i16, i16)] = &[
    (ApiKey::Produce, 0, 13),
    (ApiKey::Fetch, 4, 18),
    (ApiKey::ListOffsets, 1, 11),
    (ApiKey::Metadata, 0, 13),
    (ApiKey::OffsetCommit, 2, 10),
    (ApiKey::OffsetFetch, 1, 10),
    (ApiKey::FindCoordinator, 0, 6),
    (ApiKey::JoinGroup, 0, 9),
    (ApiKey::Heartbeat, 0, 4),
    (ApiKey::LeaveGroup, 0, 5),
    (ApiKey::SyncGroup, 0, 5),
    (ApiKey::ApiVersions, 0, 4),
    (ApiKey::CreateTopics, 2, 7),
    (ApiKey::DeleteTopics, 1, 6),
    (ApiKey::DeleteRecords, 0, 2),
    (ApiKey::InitProducerId, 0, 5),
    (ApiKey::OffsetForLeaderEpoch, 2, 4),
    (ApiKey::AddPartitionsToTxn, 0, 5),
    (ApiKey::AddOffsetsToTxn, 0, 4),
    (ApiKey::EndTxn, 0, 5),
    (ApiKey::WriteTxnMarkers, 1, 2),
    (ApiKey::TxnOffsetCommit, 0, 6),
    (ApiKey::DescribeConfigs, 1, 4),
    (ApiKey::DeleteGroups, 0, 2),
    (ApiKey::OffsetDelete, 0, 0),
    (ApiKey::DescribeCluster, 0, 2),
    (ApiKey::DescribeProducers, 0, 0),
    (ApiKey::DescribeTransactions, 0, 0),
    (ApiKey::ListTransactions, 0, 2),
    (ApiKey::ConsumerGroupHeartbeat, 0, 1),
];

/// Produce below this version is said to be spoken, for the sake of old clients, and is not.
const PRODUCE_MIN: i16 = 3;

/// What a broker of `kafka` says: API, lowest and highest version.
pub fn spoken(kafka: KafkaVersion) -> impl Iterator<Item = (ApiKey, i16, i16)> {
    SPOKEN.iter().map(move |&(key, min, max)| (key, min, max.min(newest(key, kafka))))
}

/// The newest version of an API that came with a capability.
fn newest(key: ApiKey, kafka: KafkaVersion) -> i16 {
    let bumps = kafka.has(Capability::EpochPerTransaction);
    match key {
        ApiKey::Produce if !bumps => 11,
        ApiKey::EndTxn | ApiKey::TxnOffsetCommit if !bumps => 4,
        ApiKey::WriteTxnMarkers if !kafka.has(Capability::MarkerHasTransactionVersion) => 1,
        _ => i16::MAX,
    }
}

/// Is a request of that version answered?
pub(crate) fn is_spoken(kafka: KafkaVersion, key: ApiKey, version: i16) -> bool {
    let old = key == ApiKey::Produce && version < PRODUCE_MIN;
    let mut spoken = spoken(kafka);
    !old && spoken.any(|(known, min, max)| known == key && (min..=max).contains(&version))
}
