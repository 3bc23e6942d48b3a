//! `kafka-dump-log.sh --print-data-log`, to the letter.
//!
//! Counterpart: `DumpLogSegments`. A replica's log is shown as one segment. Two fields are of bytes
//! that the model does not have: `crc` is always 0, and a record's `CreateTime` is its batch's.
//! `position` and `size` follow from the sizes that the model gives to batches.

use std::fmt::Write;

use eosim_types::message::IsolationLevel;
use eosim_types::observation::ReplicaDump;
use eosim_types::record::{AbortedTxn, Payload, Record, RecordBatch};
use eosim_types::{Names, Sequence};

use crate::group_log::group_log_record;
use crate::transaction_log::{offset_commit_record, transaction_log_record};

/// Key and value of a control record, bytes.
const CONTROL_SIZES: (i64, i64) = (4, 6);

/// A replica's log, batch by batch and record by record.
#[must_use]
pub fn dump_log(replica: &ReplicaDump, names: &Names) -> String {
    let mut text = head(replica, names, "log");
    let start = segment(replica);
    line(&mut text, format_args!("Log starting offset: {start}"));
    let mut position = 0;
    for batch in &replica.batches {
        line(&mut text, format_args!("{}", batch_line(batch, position)));
        position += i64::from(batch.size_in_bytes());
        for record in record_lines(batch, names) {
            line(&mut text, format_args!("{record}"));
        }
    }
    text
}

/// A replica's index of aborted transactions.
#[must_use]
pub fn dump_transaction_index(replica: &ReplicaDump, names: &Names) -> String {
    let mut text = head(replica, names, "txnindex");
    for entry in &replica.aborted_transactions {
        line(&mut text, format_args!("{}", index_line(entry)));
    }
    text
}

pub(crate) fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    writeln!(text, "{content}").expect("a string takes everything");
}

fn head(replica: &ReplicaDump, names: &Names, suffix: &str) -> String {
    let partition = names.partition(replica.partition);
    format!("Dumping {partition}/{:020}.{suffix}\n", segment(replica))
}

/// The base offset of the segment.
fn segment(replica: &ReplicaDump) -> i64 {
    replica.batches.first().map_or(replica.log_start_offset, |batch| batch.base_offset)
}

/// One batch, `position` bytes into its segment (`DumpLogSegments#printBatchLevel`).
#[must_use]
pub fn batch_line(batch: &RecordBatch, position: i64) -> String {
    format!(
        "baseOffset: {} lastOffset: {} count: {} baseSequence: {} lastSequence: {} producerId: {} \
         producerEpoch: {} partitionLeaderEpoch: {} isTransactional: {} isControl: {} \
         deleteHorizonMs: OptionalLong.empty position: {position} CreateTime: {} size: {} \
         magic: 2 compresscodec: none crc: 0 isvalid: true",
        batch.base_offset,
        batch.last_offset(),
        batch.record_count(),
        batch.base_sequence,
        batch.last_sequence(),
        batch.producer_id,
        batch.producer_epoch,
        batch.partition_leader_epoch,
        batch.is_transactional,
        batch.is_control(),
        batch.max_timestamp,
        batch.size_in_bytes(),
    )
}

/// The records of a batch, each on a line of its own.
#[must_use]
pub fn record_lines(batch: &RecordBatch, names: &Names) -> Vec<String> {
    match &batch.payload {
        Payload::Records(records) => numbered(batch, records, |record| data(record, names)),
        Payload::Control(marker) => {
            let result = marker.result.name();
            let epoch = marker.coordinator_epoch;
            let shown = format!("endTxnMarker: {result} coordinatorEpoch: {epoch}");
            numbered(batch, &[()], |()| (CONTROL_SIZES, shown.clone()))
        }
        Payload::EmptyControl | Payload::Corrupt => Vec::new(),
        Payload::TransactionLog(records) => {
            numbered(batch, records, |record| transaction_log_record(record, names))
        }
        Payload::OffsetCommits(records) => {
            numbered(batch, records, |record| offset_commit_record(record, names))
        }
        Payload::GroupLog(records) => {
            numbered(batch, records, |record| group_log_record(record, names))
        }
    }
}

/// One line per record: `show` gives sizes of key and value, and what is said of the contents.
fn numbered<R>(
    batch: &RecordBatch,
    records: &[R],
    show: impl Fn(&R) -> ((i64, i64), String),
) -> Vec<String> {
    let line = |(index, record): (i32, &R)| {
        let ((key_size, value_size), shown) = show(record);
        let offset = batch.base_offset + i64::from(index);
        let sequence = match batch.base_sequence {
            Sequence::NONE => Sequence::NONE,
            base => base.advance(index),
        };
        format!(
            "| offset: {offset} CreateTime: {} keySize: {key_size} valueSize: {value_size} \
             sequence: {sequence} headerKeys: [] {shown}",
            batch.max_timestamp
        )
    };
    (0..).zip(records).map(line).collect()
}

fn data(record: &Record, names: &Names) -> ((i64, i64), String) {
    let payload = format!("payload: {}", names.value(record.value));
    let value_size = i64::from(record.value_bytes);
    match record.key {
        Some(key) => ((4, value_size), format!("key: {key} {payload}")),
        None => ((-1, value_size), payload),
    }
}

/// One entry of the index of aborted transactions (`DumpLogSegments#dumpTxnIndex`).
#[must_use]
pub fn index_line(entry: &AbortedTxn) -> String {
    format!(
        "version: 0 producerId: {} firstOffset: {} lastOffset: {} lastStableOffset: {}",
        entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset
    )
}

/// `read_uncommitted` or `read_committed`.
pub(crate) const fn isolation(level: IsolationLevel) -> &'static str {
    match level {
        IsolationLevel::ReadUncommitted => "read_uncommitted",
        IsolationLevel::ReadCommitted => "read_committed",
    }
}
