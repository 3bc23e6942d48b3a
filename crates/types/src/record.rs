//! Record batches, control records and the records of Kafka's internal topics.

use alloc::sync::Arc;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::group_log::GroupLogRecord;
use crate::ids::{
    CoordinatorEpoch, GroupId, LeaderEpoch, ProducerEpoch, ProducerId, Sequence, TopicPartition,
    TransactionalId, Value,
};

/// Bytes of a batch's header on the wire (`DefaultRecordBatch.RECORD_BATCH_OVERHEAD`).
pub const BATCH_OVERHEAD: i32 = 61;

/// One record as an application sends it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Record {
    /// What the record says.
    pub value: Value,
    /// The key, if any; matters to compaction only.
    pub key: Option<u32>,
    /// Size of the value on the wire, bytes.
    pub value_bytes: u32,
}

/// How a transaction ends (`TransactionResult`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum TransactionResult {
    /// `ABORT`, control type 0.
    Abort,
    /// `COMMIT`, control type 1.
    Commit,
}

impl TransactionResult {
    /// Kafka's spelling: `COMMIT` or `ABORT`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Abort => "ABORT",
            Self::Commit => "COMMIT",
        }
    }

    /// `committed` of an EndTxn request, as a result.
    #[must_use]
    pub const fn from_committed(committed: bool) -> Self {
        if committed { Self::Commit } else { Self::Abort }
    }
}

/// A control record that ends a transaction in one partition (`EndTransactionMarker`, L-REC-5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct EndTransactionMarker {
    /// COMMIT or ABORT.
    pub result: TransactionResult,
    /// The epoch of the coordinator that wrote it.
    pub coordinator_epoch: CoordinatorEpoch,
}

/// State of a transaction as it stands in `__transaction_state` (`TransactionState`, C-REC-5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum TransactionState {
    /// No transaction since the last initialisation.
    Empty,
    /// Partitions or offsets were added.
    Ongoing,
    /// The decision to commit is durable.
    PrepareCommit,
    /// The decision to abort is durable.
    PrepareAbort,
    /// All COMMIT markers are written.
    CompleteCommit,
    /// All ABORT markers are written.
    CompleteAbort,
    /// The id is being expired; only ever pending.
    Dead,
    /// The epoch is being raised to fence the producer; only ever pending.
    PrepareEpochFence,
}

impl TransactionState {
    /// Every state, in the order of the ids in the log (C-REC-5).
    pub const ALL: [Self; 8] = [
        Self::Empty,
        Self::Ongoing,
        Self::PrepareCommit,
        Self::PrepareAbort,
        Self::CompleteCommit,
        Self::CompleteAbort,
        Self::Dead,
        Self::PrepareEpochFence,
    ];

    /// Kafka's spelling.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Ongoing => "Ongoing",
            Self::PrepareCommit => "PrepareCommit",
            Self::PrepareAbort => "PrepareAbort",
            Self::CompleteCommit => "CompleteCommit",
            Self::CompleteAbort => "CompleteAbort",
            Self::Dead => "Dead",
            Self::PrepareEpochFence => "PrepareEpochFence",
        }
    }
}

/// A value in `__transaction_state` (`TransactionLogValue`, C-REC-2).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct TransactionLogValue {
    /// The version of the value: 0, or 1 with the tagged fields (C-TV-1).
    pub version: i16,
    /// Producer id.
    pub producer_id: ProducerId,
    /// Tagged; -1 if none.
    pub previous_producer_id: ProducerId,
    /// Tagged; -1 if none.
    pub next_producer_id: ProducerId,
    /// Producer epoch.
    pub producer_epoch: ProducerEpoch,
    /// Tagged, [`Capability::LastEpochIsWritten`](crate::Capability); -1 if none.
    pub last_producer_epoch: ProducerEpoch,
    /// The transaction's timeout, ms.
    pub transaction_timeout_ms: i32,
    /// The state.
    pub transaction_status: TransactionState,
    /// Partitions of the transaction, sorted; `None` (null) exactly for Empty (C-REC-3).
    pub transaction_partitions: Option<Vec<TopicPartition>>,
    /// When the transition was prepared, ms.
    pub last_update_timestamp_ms: i64,
    /// When the transaction became Ongoing, ms; -1 if none.
    pub start_timestamp_ms: i64,
    /// Tagged; 0 if none.
    pub client_transaction_version: i16,
}

/// One record of `__transaction_state`; a missing value is a tombstone.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct TransactionLogRecord {
    /// The key.
    pub transactional_id: TransactionalId,
    /// The value.
    pub value: Option<TransactionLogValue>,
}

/// One offset record of `__consumer_offsets`; a missing offset is a tombstone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct OffsetCommitRecord {
    /// The group.
    pub group: GroupId,
    /// The partition that was read.
    pub partition: TopicPartition,
    /// The next offset to read.
    pub offset: Option<i64>,
    /// Leader epoch of the last record read, -1 if unknown.
    pub leader_epoch: LeaderEpoch,
    /// When it was committed, ms.
    pub commit_timestamp_ms: i64,
}

/// What a batch holds.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Payload {
    /// An application's records.
    Records(Arc<[Record]>),
    /// A marker; the batch is a control batch.
    Control(EndTransactionMarker),
    /// What compaction leaves of a marker: a control batch without a record.
    EmptyControl,
    /// Bytes whose checksum is wrong; no log of the model holds them (K-FILT-1).
    Corrupt,
    /// Records of the transaction coordinator.
    TransactionLog(Arc<[TransactionLogRecord]>),
    /// Records of the group coordinator: commits.
    OffsetCommits(Arc<[OffsetCommitRecord]>),
    /// Records of the group coordinator: everything else.
    GroupLog(Arc<[GroupLogRecord]>),
}

/// One batch as it lies in a log (`DefaultRecordBatch`, L-REC-1).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct RecordBatch {
    /// Offset of the first record; 0 as a client sends it.
    pub base_offset: i64,
    /// Last offset minus base offset; doubles as the sequence delta (L-REC-2).
    pub last_offset_delta: i32,
    /// Stamped by the leader that appended the batch (L-LEP-4).
    pub partition_leader_epoch: LeaderEpoch,
    /// Attribute bit 4.
    pub is_transactional: bool,
    /// The largest timestamp of the records, ms; the client's clock for data.
    pub max_timestamp: i64,
    /// Producer id, -1 if none.
    pub producer_id: ProducerId,
    /// Producer epoch, -1 if none.
    pub producer_epoch: ProducerEpoch,
    /// Sequence of the first record, -1 if none.
    pub base_sequence: Sequence,
    /// The records.
    pub payload: Payload,
}

impl RecordBatch {
    /// Offset of the last record.
    #[must_use]
    pub fn last_offset(&self) -> i64 {
        self.base_offset + i64::from(self.last_offset_delta)
    }

    /// The offset after the last record.
    #[must_use]
    pub fn next_offset(&self) -> i64 {
        self.last_offset() + 1
    }

    /// Sequence of the last record; -1 if the batch has none (L-REC-2).
    #[must_use]
    pub fn last_sequence(&self) -> Sequence {
        if self.base_sequence == Sequence::NONE {
            Sequence::NONE
        } else {
            self.base_sequence.advance(self.last_offset_delta)
        }
    }

    /// Attribute bit 5.
    #[must_use]
    pub fn is_control(&self) -> bool {
        matches!(self.payload, Payload::Control(_) | Payload::EmptyControl)
    }

    /// Has it a producer id?
    #[must_use]
    pub fn has_producer_id(&self) -> bool {
        self.producer_id != ProducerId::NONE
    }

    /// How many records it holds.
    #[must_use]
    pub fn record_count(&self) -> i32 {
        let count = match &self.payload {
            Payload::Records(records) => records.len(),
            Payload::Control(_) => 1,
            Payload::EmptyControl | Payload::Corrupt => 0,
            Payload::TransactionLog(records) => records.len(),
            Payload::OffsetCommits(records) => records.len(),
            Payload::GroupLog(records) => records.len(),
        };
        i32::try_from(count).unwrap_or(i32::MAX)
    }

    /// The marker, if it is a control batch that holds one.
    #[must_use]
    pub fn marker(&self) -> Option<EndTransactionMarker> {
        match self.payload {
            Payload::Control(marker) => Some(marker),
            _ => None,
        }
    }

    /// An application's records; empty for every other batch.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        match &self.payload {
            Payload::Records(records) => records,
            _ => &[],
        }
    }

    /// The size on the wire, bytes: header and records (P-ACC-8).
    #[must_use]
    pub fn size_in_bytes(&self) -> i32 {
        let body = match &self.payload {
            Payload::Records(records) => {
                (0i32..).zip(records.iter()).map(|(i, r)| record_size(i, *r)).sum()
            }
            Payload::Control(_) => 16,
            Payload::EmptyControl | Payload::Corrupt => 0,
            Payload::TransactionLog(records) => wire_estimate(records.len(), 100),
            Payload::OffsetCommits(records) => wire_estimate(records.len(), 70),
            Payload::GroupLog(records) => wire_estimate(records.len(), 100),
        };
        BATCH_OVERHEAD + body
    }
}

fn wire_estimate(records: usize, each: i32) -> i32 {
    i32::try_from(records).unwrap_or(i32::MAX / 1024).saturating_mul(each)
}

/// Size of one record at place `index` of its batch: length, attributes, two deltas, key, value,
/// number of headers. The timestamp delta is taken as one byte.
#[must_use]
pub fn record_size(index: i32, record: Record) -> i32 {
    let value = i32::try_from(record.value_bytes).unwrap_or(i32::MAX / 2);
    let key = if record.key.is_some() { 1 + 4 } else { 1 };
    let body = 1 + 1 + varint_size(index) + key + varint_size(value) + value + 1;
    varint_size(body) + body
}

/// Bytes of a zig-zag varint of a number ≥ 0.
fn varint_size(value: i32) -> i32 {
    let mut rest = i64::from(value) << 1;
    let mut bytes = 1;
    while rest >= 0x80 {
        rest >>= 7;
        bytes += 1;
    }
    bytes
}

/// One entry of the aborted-transaction index (`AbortedTxn`, L-IDX-2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct AbortedTxn {
    /// The producer whose transaction was aborted.
    pub producer_id: ProducerId,
    /// First offset of the transaction in this partition.
    pub first_offset: i64,
    /// Offset of the ABORT marker.
    pub last_offset: i64,
    /// L-IDX-3: the smallest first offset still open by another producer, or last offset + 1.
    pub last_stable_offset: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_of_one_short_record_is_70_bytes_l_rec_1_l_rec_2() {
        let record = Record { value: Value(1), key: None, value_bytes: 2 };
        let batch = RecordBatch {
            base_offset: 5,
            last_offset_delta: 0,
            partition_leader_epoch: LeaderEpoch(0),
            is_transactional: false,
            max_timestamp: 0,
            producer_id: ProducerId(1),
            producer_epoch: ProducerEpoch(0),
            base_sequence: Sequence(i32::MAX),
            payload: Payload::Records(Arc::from([record])),
        };
        assert_eq!(batch.size_in_bytes(), 70);
        assert_eq!(batch.last_sequence(), Sequence(i32::MAX));
        assert_eq!((batch.record_count(), batch.next_offset()), (1, 6));
    }
}
