//! APIs of the group coordinator that are about groups and their members.
//!
//! Member ids and instance ids are numbers; `None` is the empty string or null. Ids of classic
//! members are made by the coordinator, ids of KIP-848 members by the members.

use alloc::vec::Vec;

use super::{GroupMember, PerPartition};
use crate::assignor::Assignor;
use crate::error::ErrorCode;
use crate::ids::{GroupId, Topic, TopicPartition};
use crate::time::Duration;

/// `JoinGroupRequest`, protocol type `consumer`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct JoinGroupRequest {
    /// Request version; from 4 on a new dynamic member must come back with the id it was given.
    pub version: i16,
    /// The group.
    pub group: GroupId,
    /// `session.timeout.ms`.
    pub session_timeout: Duration,
    /// `max.poll.interval.ms`.
    pub rebalance_timeout: Duration,
    /// `None` the first time.
    pub member: Option<u32>,
    /// `group.instance.id`.
    pub instance: Option<u32>,
    /// `partition.assignment.strategy`, the preferred one first.
    pub protocols: Vec<Assignor>,
    /// Topics, sorted; the metadata of each protocol.
    pub subscription: Vec<Topic>,
}

/// A member, as the leader of a classic group learns of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct JoinGroupResponseMember {
    /// Member id.
    pub member: u32,
    /// Instance id.
    pub instance: Option<u32>,
    /// Topics that it wants.
    pub subscription: Vec<Topic>,
}

/// `JoinGroupResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct JoinGroupResponse {
    /// The outcome.
    pub error: ErrorCode,
    /// The new generation, -1 on error.
    pub generation: i32,
    /// The assignor that all know.
    pub protocol: Option<Assignor>,
    /// The member that assigns.
    pub leader: Option<u32>,
    /// The id of the member that asked.
    pub member: Option<u32>,
    /// Everybody; empty for all but the leader.
    pub members: Vec<JoinGroupResponseMember>,
}

/// `SyncGroupRequest`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SyncGroupRequest {
    /// The group.
    pub group: GroupId,
    /// Who, in which generation.
    pub member: GroupMember,
    /// By member id; empty from all but the leader.
    pub assignments: Vec<(u32, Vec<TopicPartition>)>,
}

/// `SyncGroupResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SyncGroupResponse {
    /// The outcome.
    pub error: ErrorCode,
    /// What the member has.
    pub assignment: Vec<TopicPartition>,
}

/// `HeartbeatRequest`, of a classic member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct HeartbeatRequest {
    /// The group.
    pub group: GroupId,
    /// Who, in which generation.
    pub member: GroupMember,
}

/// `HeartbeatResponse`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HeartbeatResponse {
    /// The outcome.
    pub error: ErrorCode,
}

/// `LeaveGroupRequest`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LeaveGroupRequest {
    /// The group.
    pub group: GroupId,
    /// Member id and instance id of those who leave.
    pub members: Vec<(Option<u32>, Option<u32>)>,
}

/// `LeaveGroupResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LeaveGroupResponse {
    /// Outcome of the whole.
    pub error: ErrorCode,
    /// Outcome per member, in the order of the request.
    pub members: Vec<ErrorCode>,
}

/// `ConsumerGroupHeartbeatRequest` (KIP-848). What is `None` has not changed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ConsumerGroupHeartbeatRequest {
    /// The group.
    pub group: GroupId,
    /// Member id, made by the member.
    pub member: u32,
    /// Member epoch; 0 joins, -1 leaves, -2 leaves for a while (static members).
    pub member_epoch: i32,
    /// Instance id.
    pub instance: Option<u32>,
    /// `max.poll.interval.ms`.
    pub rebalance_timeout: Option<Duration>,
    /// Topics, sorted.
    pub subscribed_topics: Option<Vec<Topic>>,
    /// `group.remote.assignor`.
    pub server_assignor: Option<Assignor>,
    /// Partitions that the member owns.
    pub topic_partitions: Option<Vec<TopicPartition>>,
}

impl ConsumerGroupHeartbeatRequest {
    /// The epoch with which a member joins.
    pub const JOIN_EPOCH: i32 = 0;
    /// The epoch with which a member leaves.
    pub const LEAVE_EPOCH: i32 = -1;
    /// The epoch with which a static member leaves for a while.
    pub const LEAVE_STATIC_EPOCH: i32 = -2;
}

/// `ConsumerGroupHeartbeatResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ConsumerGroupHeartbeatResponse {
    /// The outcome.
    pub error: ErrorCode,
    /// Member epoch.
    pub member_epoch: i32,
    /// When to send the next one.
    pub heartbeat_interval: Duration,
    /// What the member may own; `None` if that has not changed.
    pub assignment: Option<Vec<TopicPartition>>,
}

/// `OffsetDeleteRequest`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OffsetDeleteRequest {
    /// The group.
    pub group: GroupId,
    /// Whose offsets.
    pub partitions: Vec<TopicPartition>,
}

/// `OffsetDeleteResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OffsetDeleteResponse {
    /// Outcome of the whole.
    pub error: ErrorCode,
    /// Per partition, in the order of the request.
    pub partitions: PerPartition<ErrorCode>,
}

/// `DeleteGroupsRequest`. The asker sends each coordinator its own groups.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeleteGroupsRequest {
    /// The group.
    pub group: GroupId,
}

/// `DeleteGroupsResponse`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DeleteGroupsResponse {
    /// The outcome.
    pub error: ErrorCode,
}
