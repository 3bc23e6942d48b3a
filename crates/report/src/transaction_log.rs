//! `kafka-dump-log.sh --transaction-log-decoder` and `--offsets-decoder`: the records of Kafka's
//! internal topics as JSON.
//!
//! Counterparts: `TransactionLogValueJsonConverter`, `TransactionLogMessageParser`,
//! `OffsetsMessageParser`. A tagged field that a record does not carry is left out. Kafka prints two
//! timestamps besides (`transactionLastUpdateTimestampMs`, `transactionStartTimestampMs`); they are
//! left out, so that the text of a run can be compared with that of a real cluster.

use eosim_types::observation::ReplicaDump;
use eosim_types::record::{OffsetCommitRecord, Payload, TransactionLogRecord, TransactionLogValue};
use eosim_types::{Names, TopicPartition};

use crate::dump_log::{dump_log, line};
use crate::json::{Object, list};

/// What Kafka prints for a record without a value.
const DELETED: &str = "<DELETE>";

/// Every replica of `__transaction_state` that leads and is not empty, as `dump-log` shows it.
#[must_use]
pub fn transaction_log(replicas: &[ReplicaDump], names: &Names) -> String {
    let is_shown = |replica: &&ReplicaDump| {
        let topic = replica.partition.topic;
        topic == eosim_types::Topic::TRANSACTION_STATE
            && replica.is_leader
            && !replica.batches.is_empty()
    };
    replicas.iter().filter(is_shown).map(|replica| dump_log(replica, names)).collect()
}

/// The values in a replica of `__transaction_state`, one a line, as `transactionalId: payload`.
#[must_use]
pub fn transaction_log_payloads(replica: &ReplicaDump, names: &Names) -> String {
    let mut text = String::new();
    for batch in &replica.batches {
        let Payload::TransactionLog(records) = &batch.payload else { continue };
        for record in records.iter() {
            let id = names.transactional_id(record.transactional_id);
            let payload = record.value.as_ref().map(|value| payload(value, names));
            let payload = payload.as_deref().unwrap_or(DELETED);
            line(&mut text, format_args!("{id}: {payload}"));
        }
    }
    text
}

/// The value of a record of `__transaction_state`.
#[must_use]
pub fn payload(value: &TransactionLogValue, names: &Names) -> String {
    let epoch = i64::from(value.last_producer_epoch.0);
    Object::new()
        .raw("producerId", value.producer_id)
        .tagged("previousProducerId", value.previous_producer_id.0, -1)
        .tagged("nextProducerId", value.next_producer_id.0, -1)
        .tagged("lastProducerEpoch", epoch, -1)
        .raw("producerEpoch", value.producer_epoch)
        .raw("transactionTimeoutMs", value.transaction_timeout_ms)
        .string("transactionStatus", value.transaction_status.name())
        .raw("transactionPartitions", partitions(value, names))
        .tagged("clientTransactionVersion", i64::from(value.client_transaction_version), 0)
        .end()
}

/// Partitions by topic; `null` for Empty.
fn partitions(value: &TransactionLogValue, names: &Names) -> String {
    let Some(partitions) = &value.transaction_partitions else { return "null".to_string() };
    list(by_topic(partitions).into_iter().map(|of_topic| {
        let ids = list(of_topic.iter().map(|tp| tp.partition.to_string()));
        Object::new().string("topic", names.topic(of_topic[0].topic)).raw("partitionIds", ids).end()
    }))
}

/// Sorted partitions, those of one topic together.
pub(crate) fn by_topic(partitions: &[TopicPartition]) -> Vec<&[TopicPartition]> {
    partitions.chunk_by(|a, b| a.topic == b.topic).collect()
}

/// Key and value as one line shows them, `kind` and `version` being those of the schemas.
pub(crate) fn coordinator_record(kind: u8, key: &str, value: Option<(i16, String)>) -> String {
    let key = Object::new().string("type", &kind.to_string()).raw("data", key).end();
    let value = value.map(|(version, data)| {
        Object::new().string("version", &version.to_string()).raw("data", data).end()
    });
    format!("key: {key} payload: {}", value.as_deref().unwrap_or(DELETED))
}

/// Sizes of key and value, and the contents, of a record of `__transaction_state`.
pub(crate) fn transaction_log_record(
    record: &TransactionLogRecord,
    names: &Names,
) -> ((i64, i64), String) {
    let id = names.transactional_id(record.transactional_id);
    let key = Object::new().string("transactionalId", id).end();
    let value = record.value.as_ref().map(|value| (value.version, payload(value, names)));
    let value_size = record.value.as_ref().map_or(-1, |value| value_size(value, names));
    ((bytes(4 + id.len()), value_size), coordinator_record(0, &key, value))
}

pub(crate) fn bytes(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Bytes of a value on the wire: version 0 with plain, version 1 with compact strings and lists and
/// with tagged fields.
fn value_size(value: &TransactionLogValue, names: &Names) -> i64 {
    let flexible = value.version > 0;
    let (length, name) = if flexible { (1, 1) } else { (4, 2) };
    let topics = value.transaction_partitions.as_deref().map(by_topic).unwrap_or_default();
    let topic = |of_topic: &&[TopicPartition]| {
        let topic = names.topic(of_topic[0].topic).len();
        bytes(name + topic + length + 4 * of_topic.len()) + i64::from(flexible)
    };
    let fixed = 2 + 8 + 2 + 4 + 1 + 8 + 8 + bytes(length);
    let tagged = [
        (value.previous_producer_id.0 != -1, 10),
        (value.next_producer_id.0 != -1, 10),
        (value.last_producer_epoch.0 != -1, 4),
        (value.client_transaction_version != 0, 4),
    ];
    let tagged = tagged.iter().filter(|(carried, _)| *carried && flexible).map(|(_, size)| size);
    fixed + topics.iter().map(topic).sum::<i64>() + tagged.sum::<i64>() + i64::from(flexible)
}

/// Sizes of key and value, and the contents, of an offset in `__consumer_offsets`.
pub(crate) fn offset_commit_record(
    record: &OffsetCommitRecord,
    names: &Names,
) -> ((i64, i64), String) {
    let (group, topic) = (names.group(record.group), names.topic(record.partition.topic));
    let key = Object::new()
        .string("group", group)
        .string("topic", topic)
        .raw("partition", record.partition.partition)
        .end();
    let value = record.offset.map(|offset| {
        let data = Object::new()
            .raw("offset", offset)
            .raw("leaderEpoch", record.leader_epoch)
            .string("metadata", "")
            .raw("commitTimestamp", record.commit_timestamp_ms);
        (3, data.end())
    });
    let sizes = (bytes(10 + group.len() + topic.len()), value.as_ref().map_or(-1, |_| 24));
    (sizes, coordinator_record(1, &key, value))
}
