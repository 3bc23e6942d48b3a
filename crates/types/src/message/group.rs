//! APIs of the group coordinator, as far as offsets go.

use alloc::vec::Vec;

use super::PerPartition;
use crate::error::ErrorCode;
use crate::ids::{
    GroupId, LeaderEpoch, ProducerEpoch, ProducerId, TopicPartition, TransactionalId,
};

/// One offset to commit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CommittableOffset {
    /// The partition that was read.
    pub partition: TopicPartition,
    /// The next offset to read.
    pub offset: i64,
    /// Leader epoch of the last record read, -1 if unknown.
    pub leader_epoch: LeaderEpoch,
}

/// Who commits, as a member of the group (`ConsumerGroupMetadata`, K-CTP-1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GroupMember {
    /// Generation or member epoch; -1 if not a member.
    pub generation_or_epoch: i32,
    /// Member id; `None` is the empty string.
    pub member: Option<u32>,
    /// Instance id of a static member.
    pub instance: Option<u32>,
}

impl GroupMember {
    /// Somebody who is not a member.
    pub const NONE: Self = Self { generation_or_epoch: -1, member: None, instance: None };
}

/// `TxnOffsetCommitRequest`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TxnOffsetCommitRequest {
    /// Request version; 5 and later adds the offsets partition (leader 0.4).
    pub version: i16,
    /// The transactional id.
    pub transactional_id: TransactionalId,
    /// The group.
    pub group: GroupId,
    /// Producer id.
    pub producer_id: ProducerId,
    /// Producer epoch.
    pub producer_epoch: ProducerEpoch,
    /// Who commits.
    pub member: GroupMember,
    /// What.
    pub offsets: Vec<CommittableOffset>,
}

/// `TxnOffsetCommitResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TxnOffsetCommitResponse {
    /// Per partition, in the order of the request.
    pub partitions: PerPartition<ErrorCode>,
}

/// `OffsetCommitRequest`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OffsetCommitRequest {
    /// Request version.
    pub version: i16,
    /// The group.
    pub group: GroupId,
    /// Who commits.
    pub member: GroupMember,
    /// What.
    pub offsets: Vec<CommittableOffset>,
}

/// `OffsetCommitResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OffsetCommitResponse {
    /// Per partition, in the order of the request.
    pub partitions: PerPartition<ErrorCode>,
}

/// `OffsetFetchRequest`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OffsetFetchRequest {
    /// Request version.
    pub version: i16,
    /// The group.
    pub group: GroupId,
    /// From version 9 on: the member of a KIP-848 group that asks, with its epoch.
    pub member: GroupMember,
    /// Which partitions; `None` for all that have an offset.
    pub partitions: Option<Vec<TopicPartition>>,
    /// Refuse partitions with an offset in an open transaction (KIP-447).
    pub require_stable: bool,
}

/// `OffsetFetchResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OffsetFetchResponse {
    /// Outcome of the whole.
    pub error: ErrorCode,
    /// Per partition: the offset (-1 if none) and its leader epoch, or an error.
    pub partitions: PerPartition<OffsetFetchResult>,
}

/// One partition's answer to OffsetFetch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OffsetFetchResult {
    /// The outcome.
    pub error: ErrorCode,
    /// -1 if none.
    pub offset: i64,
    /// -1 if none.
    pub leader_epoch: LeaderEpoch,
}
