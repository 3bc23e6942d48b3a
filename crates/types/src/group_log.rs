//! The records of `__consumer_offsets` that are not commits.
//!
//! Counterpart: the generated classes of `group-coordinator/src/main/resources/common/message`.
//! A missing value is a tombstone.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::assignor::Assignor;
use crate::ids::{GroupId, Topic, TopicPartition};
use crate::record::OffsetCommitRecord;
use crate::time::Duration;

/// One member in a [`GroupMetadataValue`] (`GroupMetadataValue.MemberMetadata`).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ClassicMemberMetadata {
    /// Member id.
    pub member: u32,
    /// Instance id of a static member.
    pub instance: Option<u32>,
    /// How long a rebalance waits for the member.
    pub rebalance_timeout: Duration,
    /// How long the member may be silent.
    pub session_timeout: Duration,
    /// Topics that it wants, sorted.
    pub subscription: Vec<Topic>,
    /// Partitions that it has.
    pub assignment: Vec<TopicPartition>,
}

/// A classic group as it was when its last generation was complete (`GroupMetadataValue`). The
/// default is a simple group: one that only commits.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct GroupMetadataValue {
    /// `protocolType` is `consumer`; false for a simple group.
    pub is_consumer_protocol: bool,
    /// Generation.
    pub generation: i32,
    /// The assignor that all members know; `None` without members.
    pub protocol: Option<Assignor>,
    /// Member id of the leader.
    pub leader: Option<u32>,
    /// When the group took its state, ms.
    pub current_state_timestamp_ms: i64,
    /// Members, by id.
    pub members: Vec<ClassicMemberMetadata>,
}

/// What a KIP-848 group knows of itself (`ConsumerGroupMetadataValue`).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct ConsumerGroupMetadataValue {
    /// Group epoch.
    pub epoch: i32,
    /// Topics that members want, each with its number of partitions (Kafka: a hash of them).
    pub topics: Vec<(Topic, i32)>,
}

/// What a member of a KIP-848 group asks for (`ConsumerGroupMemberMetadataValue`).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ConsumerGroupMemberMetadataValue {
    /// Instance id of a static member.
    pub instance: Option<u32>,
    /// Topics that it wants, sorted.
    pub subscribed_topics: Vec<Topic>,
    /// How long it may take to give partitions up.
    pub rebalance_timeout: Duration,
    /// The assignor that it prefers.
    pub server_assignor: Option<Assignor>,
}

/// How far a member of a KIP-848 group has followed its target (`MemberState`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum MemberState {
    /// It has what it shall have.
    Stable,
    /// It must give partitions up first.
    UnrevokedPartitions,
    /// Partitions that it shall have belong to others still.
    UnreleasedPartitions,
}

impl MemberState {
    /// Kafka's id of the state.
    #[must_use]
    pub const fn id(self) -> i8 {
        match self {
            Self::Stable => 0,
            Self::UnrevokedPartitions => 1,
            Self::UnreleasedPartitions => 2,
        }
    }

    /// Kafka's spelling.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stable => "STABLE",
            Self::UnrevokedPartitions => "UNREVOKED_PARTITIONS",
            Self::UnreleasedPartitions => "UNRELEASED_PARTITIONS",
        }
    }
}

/// What a member of a KIP-848 group has now (`ConsumerGroupCurrentMemberAssignmentValue`).
/// Partitions go with the epoch in which the member got them (KIP-1251).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ConsumerGroupCurrentMemberAssignmentValue {
    /// Member epoch; -2 while a static member is away.
    pub member_epoch: i32,
    /// The member epoch before.
    pub previous_member_epoch: i32,
    /// State.
    pub state: MemberState,
    /// Partitions that it owns.
    pub assigned_partitions: Vec<(TopicPartition, i32)>,
    /// Partitions that it must give up.
    pub partitions_pending_revocation: Vec<(TopicPartition, i32)>,
}

/// One record of the group coordinator that is not part of a commit.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum GroupLogRecord {
    /// An offset; here only ever a tombstone.
    OffsetCommit(OffsetCommitRecord),
    /// A classic group.
    GroupMetadata {
        /// Key.
        group: GroupId,
        /// Value.
        value: Option<GroupMetadataValue>,
    },
    /// A KIP-848 group.
    ConsumerGroupMetadata {
        /// Key.
        group: GroupId,
        /// Value.
        value: Option<ConsumerGroupMetadataValue>,
    },
    /// A member's wishes.
    ConsumerGroupMemberMetadata {
        /// Key.
        group: GroupId,
        /// Key.
        member: u32,
        /// Value.
        value: Option<ConsumerGroupMemberMetadataValue>,
    },
    /// The epoch of the target assignment.
    ConsumerGroupTargetAssignmentMetadata {
        /// Key.
        group: GroupId,
        /// Value.
        assignment_epoch: Option<i32>,
    },
    /// What a member shall have.
    ConsumerGroupTargetAssignmentMember {
        /// Key.
        group: GroupId,
        /// Key.
        member: u32,
        /// Value.
        partitions: Option<Vec<TopicPartition>>,
    },
    /// What a member has.
    ConsumerGroupCurrentMemberAssignment {
        /// Key.
        group: GroupId,
        /// Key.
        member: u32,
        /// Value.
        value: Option<ConsumerGroupCurrentMemberAssignmentValue>,
    },
}

/// The key of a record of `__consumer_offsets`; of records with equal keys the cleaner keeps the
/// newest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum GroupLogKey {
    /// Key of an offset.
    OffsetCommit(GroupId, TopicPartition),
    /// Key of a classic group.
    GroupMetadata(GroupId),
    /// Key of a KIP-848 group.
    ConsumerGroupMetadata(GroupId),
    /// Key of a member's wishes.
    ConsumerGroupMemberMetadata(GroupId, u32),
    /// Key of the epoch of the target assignment.
    ConsumerGroupTargetAssignmentMetadata(GroupId),
    /// Key of what a member shall have.
    ConsumerGroupTargetAssignmentMember(GroupId, u32),
    /// Key of what a member has.
    ConsumerGroupCurrentMemberAssignment(GroupId, u32),
}

impl OffsetCommitRecord {
    /// The record's key.
    #[must_use]
    pub const fn key(&self) -> GroupLogKey {
        GroupLogKey::OffsetCommit(self.group, self.partition)
    }
}

impl ConsumerGroupCurrentMemberAssignmentValue {
    /// What the member has, or has not given up yet.
    pub fn held(&self) -> impl Iterator<Item = TopicPartition> + '_ {
        let assigned = self.assigned_partitions.iter();
        assigned.chain(&self.partitions_pending_revocation).map(|(tp, _)| *tp)
    }
}

impl GroupMetadataValue {
    /// Its members, if they are consumers.
    pub fn consumers(&self) -> impl Iterator<Item = &ClassicMemberMetadata> {
        self.members.iter().filter(|_| self.is_consumer_protocol)
    }
}

impl GroupLogRecord {
    /// It has no value.
    #[must_use]
    pub const fn is_tombstone(&self) -> bool {
        match self {
            Self::OffsetCommit(record) => record.offset.is_none(),
            Self::GroupMetadata { value, .. } => value.is_none(),
            Self::ConsumerGroupMetadata { value, .. } => value.is_none(),
            Self::ConsumerGroupMemberMetadata { value, .. } => value.is_none(),
            Self::ConsumerGroupTargetAssignmentMetadata { assignment_epoch, .. } => {
                assignment_epoch.is_none()
            }
            Self::ConsumerGroupTargetAssignmentMember { partitions, .. } => partitions.is_none(),
            Self::ConsumerGroupCurrentMemberAssignment { value, .. } => value.is_none(),
        }
    }

    /// The record's key.
    #[must_use]
    pub const fn key(&self) -> GroupLogKey {
        use GroupLogKey as Key;
        match self {
            Self::OffsetCommit(record) => record.key(),
            Self::GroupMetadata { group, .. } => Key::GroupMetadata(*group),
            Self::ConsumerGroupMetadata { group, .. } => Key::ConsumerGroupMetadata(*group),
            Self::ConsumerGroupMemberMetadata { group, member, .. } => {
                Key::ConsumerGroupMemberMetadata(*group, *member)
            }
            Self::ConsumerGroupTargetAssignmentMetadata { group, .. } => {
                Key::ConsumerGroupTargetAssignmentMetadata(*group)
            }
            Self::ConsumerGroupTargetAssignmentMember { group, member, .. } => {
                Key::ConsumerGroupTargetAssignmentMember(*group, *member)
            }
            Self::ConsumerGroupCurrentMemberAssignment { group, member, .. } => {
                Key::ConsumerGroupCurrentMemberAssignment(*group, *member)
            }
        }
    }
}
