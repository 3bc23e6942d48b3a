//! APIs of the partition leader.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::error::ErrorCode;
use crate::few::Few;
use crate::ids::{
    BrokerId, CoordinatorEpoch, LeaderEpoch, ProducerEpoch, ProducerId, Sequence, TopicPartition,
    TransactionalId,
};
use crate::record::{AbortedTxn, RecordBatch};
use serde::{Deserialize, Serialize};

use super::FetchMetadata;

/// `ProduceRequest`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ProduceRequest {
    /// Request version (leader 0.4).
    pub version: i16,
    /// Set for transactional batches.
    pub transactional_id: Option<TransactionalId>,
    /// 0, 1 or -1 (all).
    pub acks: i16,
    /// How long the leader may wait for replicas, ms.
    pub timeout_ms: i32,
    /// One batch per partition.
    pub partitions: Vec<(TopicPartition, RecordBatch)>,
}

/// `ProduceResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ProduceResponse {
    /// In the order of the request.
    pub partitions: Vec<ProducePartitionResponse>,
}

/// One partition's answer to Produce (L-PIPE-5).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ProducePartitionResponse {
    /// The partition.
    pub partition: TopicPartition,
    /// The outcome.
    pub error: ErrorCode,
    /// Offset of the first record, -1 if refused before the append.
    pub base_offset: i64,
    /// -1 for CreateTime topics, except for duplicates.
    pub log_append_time: i64,
    /// Where the log begins, -1 if not known.
    pub log_start_offset: i64,
    /// The records that are at fault, as places in their batch (`recordErrors`); empty if the
    /// error is the batch's own.
    pub record_errors: Vec<i32>,
    /// The leader that the broker knows, with its epoch, if it is not itself (`currentLeader`).
    pub current_leader: Option<(BrokerId, LeaderEpoch)>,
}

impl ProducePartitionResponse {
    /// An answer that knows no offset: refused before the append, or given by nobody.
    #[must_use]
    pub const fn without_offset(partition: TopicPartition, error: ErrorCode) -> Self {
        Self {
            partition,
            error,
            base_offset: -1,
            log_append_time: -1,
            log_start_offset: -1,
            record_errors: Vec::new(),
            current_leader: None,
        }
    }
}

/// `isolation.level` of a reader (`IsolationLevel`).
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum IsolationLevel {
    /// Up to the high watermark.
    #[default]
    ReadUncommitted,
    /// Up to the last stable offset, without aborted data.
    ReadCommitted,
}

/// `FetchRequest`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FetchRequest {
    /// Request version.
    pub version: i16,
    /// The follower that asks, with its broker epoch; `None` for a consumer.
    pub replica: Option<(BrokerId, i64)>,
    /// For consumers.
    pub isolation_level: IsolationLevel,
    /// How long the leader may wait for `min_bytes`, ms.
    pub max_wait_ms: i32,
    /// Answer at once when so many bytes are there.
    pub min_bytes: i32,
    /// At most so many bytes for each partition; the first batch is always given.
    pub partition_max_bytes: i32,
    /// The fetch session and the place of this fetch in it. Followers have sessions; consumers are
    /// modelled without ([`FetchMetadata::LEGACY`]).
    pub metadata: FetchMetadata,
    /// What to read; in a session only what is new or asked otherwise than before.
    pub partitions: Vec<FetchPartition>,
    /// What the session has and shall read no more (`forgottenTopicsData`).
    pub forgotten: Box<[TopicPartition]>,
}

/// One partition of a Fetch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FetchPartition {
    /// The partition.
    pub partition: TopicPartition,
    /// The first offset wanted.
    pub fetch_offset: i64,
    /// The leader epoch that the sender knows; -1 if none.
    pub current_leader_epoch: LeaderEpoch,
    /// For followers: the epoch of the last batch fetched; -1 if none.
    pub last_fetched_epoch: LeaderEpoch,
    /// For followers: where the follower's log begins; -1 for consumers.
    pub log_start_offset: i64,
}

/// `FetchResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct FetchResponse {
    /// An error of the fetch session.
    pub error: ErrorCode,
    /// The session that goes on, 0 if there is none.
    pub session_id: i32,
    /// Every partition if the fetch was full; else those of which there is something new since the
    /// answer before (L-HW-6).
    pub partitions: Vec<FetchPartitionResponse>,
}

/// One partition's answer to Fetch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FetchPartitionResponse {
    /// The partition.
    pub partition: TopicPartition,
    /// The outcome.
    pub error: ErrorCode,
    /// Taken before the read (L-FET-4), -1 on error.
    pub high_watermark: i64,
    /// Taken before the read (L-FET-4), -1 on error.
    pub last_stable_offset: i64,
    /// Taken before the read (L-FET-4), -1 on error.
    pub log_start_offset: i64,
    /// For read_committed: the aborted transactions in the range (L-FET-3), in index order.
    pub aborted_transactions: Vec<AbortedTxn>,
    /// For followers: where the logs part, as (epoch, end offset) (L-FLT-2).
    pub diverging_epoch: Option<(LeaderEpoch, i64)>,
    /// Whole batches.
    pub batches: Few<RecordBatch>,
}

impl FetchPartitionResponse {
    /// An answer without batches, and without a bound.
    #[must_use]
    pub const fn without_bounds(partition: TopicPartition, error: ErrorCode) -> Self {
        Self {
            partition,
            error,
            high_watermark: -1,
            last_stable_offset: -1,
            log_start_offset: -1,
            aborted_transactions: Vec::new(),
            diverging_epoch: None,
            batches: Few::new(),
        }
    }
}

/// What a ListOffsets asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ListOffsetsTimestamp {
    /// -1: the end, as far as the asker may see.
    Latest,
    /// -2: the start.
    Earliest,
    /// The first record at or after this time, ms.
    At(i64),
}

/// Who asks a ListOffsets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ListOffsetsAsker {
    /// A consumer.
    Consumer(IsolationLevel),
    /// Replica id -2 (debug): sees the log end, at any replica (L-LST-1).
    Debug,
}

/// `ListOffsetsRequest`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ListOffsetsRequest {
    /// Request version.
    pub version: i16,
    /// Who asks.
    pub asker: ListOffsetsAsker,
    /// What for.
    pub partitions: Few<ListOffsetsPartition>,
}

/// One partition of a ListOffsets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ListOffsetsPartition {
    /// The partition.
    pub partition: TopicPartition,
    /// The leader epoch that the sender knows; -1 if none.
    pub current_leader_epoch: LeaderEpoch,
    /// What for.
    pub timestamp: ListOffsetsTimestamp,
}

/// `ListOffsetsResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ListOffsetsResponse {
    /// In the order of the request.
    pub partitions: Few<ListOffsetsPartitionResponse>,
}

/// One partition's answer to ListOffsets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ListOffsetsPartitionResponse {
    /// The partition.
    pub partition: TopicPartition,
    /// The outcome.
    pub error: ErrorCode,
    /// -1 if not found.
    pub timestamp: i64,
    /// -1 if not found.
    pub offset: i64,
}

/// `OffsetForLeaderEpochRequest`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OffsetForLeaderEpochRequest {
    /// What for.
    pub partitions: Few<OffsetForLeaderPartition>,
}

/// One partition of an OffsetForLeaderEpoch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OffsetForLeaderPartition {
    /// The partition.
    pub partition: TopicPartition,
    /// The leader epoch that the sender knows; -1 if none.
    pub current_leader_epoch: LeaderEpoch,
    /// The epoch whose end is asked for.
    pub leader_epoch: LeaderEpoch,
}

/// `OffsetForLeaderEpochResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OffsetForLeaderEpochResponse {
    /// In the order of the request.
    pub partitions: Few<EpochEndOffset>,
}

/// One partition's answer to OffsetForLeaderEpoch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EpochEndOffset {
    /// The partition.
    pub partition: TopicPartition,
    /// The outcome.
    pub error: ErrorCode,
    /// The largest known epoch ≤ the one asked for; -1 if none.
    pub leader_epoch: LeaderEpoch,
    /// Its end; -1 if none.
    pub end_offset: i64,
}

/// `DescribeProducersRequest` for one partition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DescribeProducersRequest {
    /// The partition.
    pub partition: TopicPartition,
}

/// `DescribeProducersResponse` for one partition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DescribeProducersResponse {
    /// The partition.
    pub partition: TopicPartition,
    /// The outcome.
    pub error: ErrorCode,
    /// By producer id.
    pub producers: Vec<ProducerState>,
}

/// One producer as DescribeProducers shows it (L-DPR-1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ProducerState {
    /// Producer id.
    pub producer_id: ProducerId,
    /// Producer epoch.
    pub producer_epoch: ProducerEpoch,
    /// -1 if no batch is remembered.
    pub last_sequence: Sequence,
    /// Timestamp of the newest batch or marker, ms.
    pub last_timestamp: i64,
    /// -1 if no marker was seen.
    pub coordinator_epoch: CoordinatorEpoch,
    /// -1 if no transaction is open.
    pub current_txn_start_offset: i64,
}

/// `DeleteRecordsRequest` for one partition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DeleteRecordsRequest {
    /// The partition.
    pub partition: TopicPartition,
    /// Delete below this offset; -1 is the high watermark (L-DEL-1).
    pub offset: i64,
    /// How long to wait for the replicas, ms.
    pub timeout_ms: i32,
}

/// `DeleteRecordsResponse` for one partition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DeleteRecordsResponse {
    /// The partition.
    pub partition: TopicPartition,
    /// The outcome.
    pub error: ErrorCode,
    /// The lowest log start of all live replicas, -1 on error.
    pub low_watermark: i64,
}
