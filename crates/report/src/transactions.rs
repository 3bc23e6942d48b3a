//! `kafka-transactions.sh`: `list`, `describe`, `describe-producers`, `find-hanging`.
//!
//! Counterparts: `TransactionsCommand`, `ToolsUtils#prettyPrintTable`: columns padded to the widest
//! cell, each followed by a tab.

use eosim_types::message::ProducerState;
use eosim_types::observation::{ClusterDump, ReplicaDump, TransactionDump};
use eosim_types::record::{Payload, TransactionState};
use eosim_types::{Names, Topic, TopicPartition, TransactionalId};

const LIST: [&str; 4] = ["TransactionalId", "Coordinator", "ProducerId", "TransactionState"];
const DESCRIBE: [&str; 9] = [
    "CoordinatorId",
    "TransactionalId",
    "ProducerId",
    "ProducerEpoch",
    "TransactionState",
    "TransactionTimeoutMs",
    "CurrentTransactionStartTimeMs",
    "TransactionDurationMs",
    "TopicPartitions",
];
const PRODUCERS: [&str; 6] = [
    "ProducerId",
    "ProducerEpoch",
    "LatestCoordinatorEpoch",
    "LastSequence",
    "LastTimestamp",
    "CurrentTransactionStartOffset",
];
const HANGING: [&str; 8] = [
    "Topic",
    "Partition",
    "ProducerId",
    "ProducerEpoch",
    "CoordinatorEpoch",
    "StartOffset",
    "LastTimestamp",
    "Duration(min)",
];

const MILLIS_PER_MINUTE: i64 = 60_000;

/// What is printed for a value that there is not.
const NONE: &str = "None";

/// `kafka-transactions.sh list`.
#[must_use]
pub fn list(dump: &ClusterDump, names: &Names) -> String {
    let row = |transaction: &TransactionDump| {
        vec![
            names.transactional_id(transaction.transactional_id).to_string(),
            transaction.broker.to_string(),
            transaction.producer_id.to_string(),
            transaction.state.name().to_string(),
        ]
    };
    table(&LIST, &dump.transactions.iter().map(row).collect::<Vec<_>>())
}

/// `kafka-transactions.sh describe` of every transactional id.
#[must_use]
pub fn describe(dump: &ClusterDump, names: &Names) -> String {
    let row = |transaction: &TransactionDump| {
        let start = start_time(dump, transaction.transactional_id);
        let open = matches!(
            transaction.state,
            TransactionState::Ongoing
                | TransactionState::PrepareCommit
                | TransactionState::PrepareAbort
        );
        let start = start.filter(|start| open && *start >= 0);
        let duration = start.map(|start| dump.at.as_millis() - start);
        let partitions: Vec<_> =
            transaction.partitions.iter().map(|tp| names.partition(*tp)).collect();
        vec![
            transaction.broker.to_string(),
            names.transactional_id(transaction.transactional_id).to_string(),
            transaction.producer_id.to_string(),
            transaction.producer_epoch.to_string(),
            transaction.state.name().to_string(),
            transaction.transaction_timeout_ms.to_string(),
            optional(start),
            optional(duration),
            partitions.join(","),
        ]
    };
    table(&DESCRIBE, &dump.transactions.iter().map(row).collect::<Vec<_>>())
}

/// When the transaction of `id` began, as the last record of the leader's log says.
fn start_time(dump: &ClusterDump, id: TransactionalId) -> Option<i64> {
    let logs = dump
        .replicas
        .iter()
        .filter(|replica| replica.is_leader && replica.partition.topic == Topic::TRANSACTION_STATE);
    let batches = logs.flat_map(|replica| &replica.batches);
    let mut records = batches.flat_map(|batch| match &batch.payload {
        Payload::TransactionLog(records) => &records[..],
        _ => &[],
    });
    let last = records.rfind(|record| record.transactional_id == id)?;
    last.value.as_ref().map(|value| value.start_timestamp_ms)
}

/// `kafka-transactions.sh describe-producers` of one partition.
#[must_use]
pub fn describe_producers(replica: &ReplicaDump) -> String {
    let rows = replica.producers.iter().map(|producer| {
        let start = producer.current_txn_start_offset;
        vec![
            producer.producer_id.to_string(),
            producer.producer_epoch.to_string(),
            producer.coordinator_epoch.to_string(),
            producer.last_sequence.to_string(),
            producer.last_timestamp.to_string(),
            optional((start >= 0).then_some(start)),
        ]
    });
    table(&PRODUCERS, &rows.collect::<Vec<_>>())
}

/// `kafka-transactions.sh find-hanging` among `replicas`, which should be leaders: what is open,
/// was not written to for more than `max_transaction_timeout_ms`, and is nothing that a coordinator
/// knows of (L-TOOL-3).
#[must_use]
pub fn find_hanging<'a>(
    dump: &ClusterDump,
    replicas: impl IntoIterator<Item = &'a ReplicaDump>,
    names: &Names,
    max_transaction_timeout_ms: i64,
) -> String {
    let now = dump.at.as_millis();
    let mut rows = Vec::new();
    for replica in replicas {
        let partition = replica.partition;
        let open = replica.producers.iter().filter(|p| p.current_txn_start_offset >= 0);
        let old = open.filter(|p| now - p.last_timestamp > max_transaction_timeout_ms);
        let hanging = old.filter(|producer| !is_known(dump, partition, producer));
        rows.extend(hanging.map(|producer| {
            vec![
                names.topic(partition.topic).to_string(),
                partition.partition.to_string(),
                producer.producer_id.to_string(),
                producer.producer_epoch.to_string(),
                producer.coordinator_epoch.to_string(),
                producer.current_txn_start_offset.to_string(),
                producer.last_timestamp.to_string(),
                ((now - producer.last_timestamp) / MILLIS_PER_MINUTE).to_string(),
            ]
        }));
    }
    table(&HANGING, &rows)
}

/// Does a coordinator hold the partition in a transaction of the producer?
fn is_known(dump: &ClusterDump, partition: TopicPartition, producer: &ProducerState) -> bool {
    let mut of_producer =
        dump.transactions.iter().filter(|t| t.producer_id == producer.producer_id);
    of_producer.any(|transaction| transaction.partitions.contains(&partition))
}

fn optional(value: Option<i64>) -> String {
    value.map_or_else(|| NONE.to_string(), |value| value.to_string())
}

fn table(headers: &[&str], rows: &[Vec<String>]) -> String {
    let headers: Vec<String> = headers.iter().map(|header| (*header).to_string()).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([headers[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headers.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}\t"));
        cells.collect::<String>() + "\n"
    };
    std::iter::once(&headers).chain(rows).map(line).collect()
}
