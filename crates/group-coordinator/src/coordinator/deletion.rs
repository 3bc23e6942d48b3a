//! OffsetDelete, DeleteGroups, and what becomes of offsets when a topic is deleted.
//!
//! Counterpart: `OffsetMetadataManager#deleteOffsets`, `#deleteAllOffsets`, `#onPartitionsDeleted`,
//! `GroupMetadataManager#createGroupTombstoneRecords`.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use eosim_types::group_log::GroupLogRecord;
use eosim_types::message::{
    DeleteGroupsRequest, DeleteGroupsResponse, OffsetDeleteRequest, OffsetDeleteResponse,
    PerPartition,
};
use eosim_types::record::{OffsetCommitRecord, Payload};
use eosim_types::{ErrorCode, GroupId, LeaderEpoch, TopicPartition, rule};

use super::{GroupCoordinator, group_batch};
use crate::action::{Cx, PreparedWrite, ReplyTo};
use crate::classic::ClassicGroupState;
use crate::shard::{Group, Shard};

impl GroupCoordinator {
    /// OffsetDelete: partitions of topics that somebody reads stay.
    pub fn offset_delete(
        &mut self,
        cx: &mut Cx<'_>,
        to: ReplyTo,
        request: &OffsetDeleteRequest,
    ) -> Option<PreparedWrite> {
        rule!(cx.env, "G-INT-4");
        let group = request.group;
        let found = self.shard_of(cx, group).and_then(|(partition, shard)| {
            let exists = !matches!(shard.group(group), Group::Absent);
            if exists { Ok((partition, shard)) } else { Err(ErrorCode::GroupIdNotFound) }
        });
        let (partition, shard) = match found {
            Ok(found) => found,
            Err(error) => {
                cx.reply(to, OffsetDeleteResponse { error, partitions: PerPartition::new() });
                return None;
            }
        };
        let (mut partitions, mut records) = (PerPartition::new(), Vec::new());
        for &tp in &request.partitions {
            let is_read = shard.group(group).is_subscribed_to_topic(tp);
            if !is_read && shard.latest.offsets.is_known(group, tp) {
                records.push(offset_tombstone(group, tp));
            }
            let outcome = if is_read { ErrorCode::GroupSubscribedToTopic } else { ErrorCode::None };
            partitions.push((tp, outcome));
        }
        let response = OffsetDeleteResponse { error: ErrorCode::None, partitions };
        self.write_or_reply(cx, partition, (to, response.into()), records)
    }

    /// DeleteGroups, for one group.
    pub fn delete_group(
        &mut self,
        cx: &mut Cx<'_>,
        to: ReplyTo,
        request: &DeleteGroupsRequest,
    ) -> Option<PreparedWrite> {
        rule!(cx.env, "G-INT-4");
        let group = request.group;
        let deletable = self.shard_of(cx, group).and_then(|(partition, shard)| {
            shard.group(group).validate_delete().map(|()| (partition, shard))
        });
        let (partition, shard) = match deletable {
            Ok(deletable) => deletable,
            Err(error) => {
                cx.reply(to, DeleteGroupsResponse { error });
                return None;
            }
        };
        let own = shard.latest.offsets.keys().into_iter().filter(|(of, _)| *of == group);
        let mut records: Vec<_> = own.map(|(_, tp)| offset_tombstone(group, tp)).collect();
        records.extend(group_tombstones(shard, group));
        shard.forget(group);
        let response = DeleteGroupsResponse { error: ErrorCode::None };
        self.write_or_reply(cx, partition, (to, response.into()), records)
    }

    /// Partitions exist no longer: every group forgets its offsets (G-INT-6).
    pub fn on_partitions_deleted(
        &mut self,
        cx: &mut Cx<'_>,
        deleted: &BTreeSet<TopicPartition>,
    ) -> Vec<PreparedWrite> {
        let mut writes = Vec::new();
        for (&partition, shard) in &self.shards {
            let keys = shard.latest.offsets.keys().into_iter();
            let gone = keys.filter(|(_, tp)| deleted.contains(tp));
            let records: Vec<_> = gone.map(|(group, tp)| offset_tombstone(group, tp)).collect();
            if !records.is_empty() {
                rule!(cx.env, "G-INT-6");
                let batch = group_batch(cx, Payload::GroupLog(Arc::from(records)), None);
                writes.push(PreparedWrite { partition, batch, then: Vec::new() });
            }
        }
        writes
    }
}

impl Group<'_> {
    pub(super) fn is_subscribed_to_topic(&self, tp: TopicPartition) -> bool {
        match self {
            Self::Absent => false,
            Self::Classic(group) => group.is_subscribed_to_topic(tp.topic),
            Self::Consumer(group) => group.is_subscribed_to_topic(tp.topic),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Absent => true,
            Self::Classic(group) => group.is_in_state(ClassicGroupState::Empty),
            Self::Consumer(group) => group.members.is_empty(),
        }
    }

    fn validate_delete(&self) -> Result<(), ErrorCode> {
        match self {
            Self::Absent => Err(ErrorCode::GroupIdNotFound),
            _ if self.is_empty() => Ok(()),
            _ => Err(ErrorCode::NonEmptyGroup),
        }
    }
}

/// The tombstone of one offset.
pub(super) fn offset_tombstone(group: GroupId, partition: TopicPartition) -> GroupLogRecord {
    GroupLogRecord::OffsetCommit(OffsetCommitRecord {
        group,
        partition,
        offset: None,
        leader_epoch: LeaderEpoch::NONE,
        commit_timestamp_ms: 0,
    })
}

/// The tombstones of a group without members.
pub(super) fn group_tombstones(shard: &Shard, group: GroupId) -> Vec<GroupLogRecord> {
    match shard.group(group) {
        Group::Absent => Vec::new(),
        Group::Classic(_) => vec![GroupLogRecord::GroupMetadata { group, value: None }],
        Group::Consumer(_) => consumer_group_tombstones(group),
    }
}

/// The tombstones of a KIP-848 group without members.
pub(super) fn consumer_group_tombstones(group: GroupId) -> Vec<GroupLogRecord> {
    vec![
        GroupLogRecord::ConsumerGroupTargetAssignmentMetadata { group, assignment_epoch: None },
        GroupLogRecord::ConsumerGroupMetadata { group, value: None },
    ]
}
