//! What one heartbeat makes of a group: a copy that changes record by record, and the records.
//!
//! No Kafka counterpart; there the records are collected while builders hold the future state.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use eosim_types::GroupId;
use eosim_types::assignor::Assignment;
use eosim_types::group_log::{
    ConsumerGroupCurrentMemberAssignmentValue, ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue, GroupLogRecord,
};
use eosim_types::metadata::MetadataImage;

use super::ConsumerGroup;

/// A group on its way to a new state.
pub(crate) struct Transition {
    group_id: GroupId,
    pub(crate) group: ConsumerGroup,
    pub(crate) records: Vec<GroupLogRecord>,
}

impl Transition {
    pub(crate) fn new(group_id: GroupId, group: ConsumerGroup) -> Self {
        Self { group_id, group, records: Vec::new() }
    }

    fn emit(&mut self, record: GroupLogRecord) {
        self.group.replay(&record);
        self.records.push(record);
    }

    pub(super) fn set_member_metadata(
        &mut self,
        member: u32,
        value: Option<ConsumerGroupMemberMetadataValue>,
    ) {
        let group = self.group_id;
        self.emit(GroupLogRecord::ConsumerGroupMemberMetadata { group, member, value });
    }

    pub(super) fn set_current(
        &mut self,
        member: u32,
        value: Option<ConsumerGroupCurrentMemberAssignmentValue>,
    ) {
        let group = self.group_id;
        self.emit(GroupLogRecord::ConsumerGroupCurrentMemberAssignment { group, member, value });
    }

    pub(super) fn set_target(
        &mut self,
        member: u32,
        partitions: Option<Vec<eosim_types::TopicPartition>>,
    ) {
        let group = self.group_id;
        self.emit(GroupLogRecord::ConsumerGroupTargetAssignmentMember {
            group,
            member,
            partitions,
        });
    }

    /// The three tombstones of a member.
    pub(super) fn remove_member(&mut self, member: u32) {
        self.set_current(member, None);
        self.set_target(member, None);
        self.set_member_metadata(member, None);
    }

    /// A new group epoch asks for a new target.
    pub(super) fn bump_group_epoch(&mut self, metadata: &MetadataImage) {
        let wanted: BTreeMap<_, ()> =
            self.group.members.values().fold(BTreeMap::new(), |mut topics, member| {
                topics.extend(member.metadata.subscribed_topics.iter().map(|topic| (*topic, ())));
                topics
            });
        let counted = wanted.into_keys().map(|topic| (topic, metadata.partition_count(topic)));
        let topics = counted.filter(|(_, partitions)| *partitions > 0).collect();
        let value = ConsumerGroupMetadataValue { epoch: self.group.metadata.epoch + 1, topics };
        let group = self.group_id;
        self.emit(GroupLogRecord::ConsumerGroupMetadata { group, value: Some(value) });
    }

    /// Makes the target of the group epoch (`TargetAssignmentBuilder`).
    pub(super) fn update_target_assignment(&mut self) {
        let ConsumerGroup { metadata, target, .. } = &self.group;
        let epoch = metadata.epoch;
        let assignor = self.group.preferred_server_assignor();
        let new = assignor.assign(&self.group.subscriptions(), &metadata.topics, target);
        let is_new = |(member, partitions): &(u32, Vec<_>)| target.get(member) != Some(partitions);
        let changed: Assignment = new.into_iter().filter(is_new).collect();
        for (member, partitions) in changed {
            self.set_target(member, Some(partitions));
        }
        self.emit(GroupLogRecord::ConsumerGroupTargetAssignmentMetadata {
            group: self.group_id,
            assignment_epoch: Some(epoch),
        });
    }
}
