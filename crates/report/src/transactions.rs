//! `kafka-transactions.sh`: `list`, `describe`, `describe-producers`.
//!
//! Counterparts: `TransactionsCommand`, `ToolsUtils#prettyPrintTable`: columns padded to the widest
//! cell, each followed by a tab.

use eosim_types::observation::{ClusterDump, ReplicaDump, TransactionDump};
use eosim_types::record::{Payload, TransactionState};
use eosim_types::{Names, Topic, TransactionalId};

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
