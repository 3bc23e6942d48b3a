//! Everything that one `__consumer_offsets` partition says.
//!
//! Counterpart: `GroupCoordinatorShard#replay`. The state is a function of the log alone: replaying
//! the same batches gives the same state (G-MARK-5).

use alloc::collections::BTreeMap;

use eosim_types::group_log::{GroupLogRecord, GroupMetadataValue};
use eosim_types::record::{Payload, RecordBatch};
use eosim_types::{Env, GroupId, ProducerId, rule};

use crate::consumer::ConsumerGroup;
use crate::offset_metadata_manager::OffsetMetadataManager;

/// A group as the log has it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PersistedGroup {
    /// A classic group, at the end of its last rebalance; or a simple group.
    Classic(GroupMetadataValue),
    /// A KIP-848 group.
    Consumer(ConsumerGroup),
}

/// Groups and offsets.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct GroupState {
    /// Committed and pending offsets.
    pub offsets: OffsetMetadataManager,
    /// Groups by id.
    pub groups: BTreeMap<GroupId, PersistedGroup>,
}

impl GroupState {
    /// Applies one batch of the log.
    pub fn replay(&mut self, env: &mut Env<'_>, batch: &RecordBatch) {
        match &batch.payload {
            Payload::OffsetCommits(records) => {
                let producer_id =
                    if batch.is_transactional { batch.producer_id } else { ProducerId::NONE };
                for (at, record) in (batch.base_offset..).zip(records.iter()) {
                    self.offsets.replay(env, producer_id, at, record);
                    if record.offset.is_some() {
                        rule!(env, "G-OFF-1");
                        self.groups.entry(record.group).or_insert_with(PersistedGroup::simple);
                    }
                }
            }
            Payload::GroupLog(records) => {
                for (at, record) in (batch.base_offset..).zip(records.iter()) {
                    self.replay_record(env, at, record);
                }
            }
            Payload::Control(marker) => {
                self.offsets.replay_end_transaction_marker(env, batch.producer_id, marker.result);
            }
            Payload::EmptyControl
            | Payload::Corrupt
            | Payload::Records(_)
            | Payload::TransactionLog(_) => {}
        }
    }

    fn replay_record(&mut self, env: &mut Env<'_>, at: i64, record: &GroupLogRecord) {
        match record {
            GroupLogRecord::OffsetCommit(record) => {
                self.offsets.replay(env, ProducerId::NONE, at, record);
            }
            GroupLogRecord::GroupMetadata { group, value: Some(value) } => {
                self.groups.insert(*group, PersistedGroup::Classic(value.clone()));
            }
            GroupLogRecord::GroupMetadata { group, value: None } => {
                if let Some(PersistedGroup::Classic(_)) = self.groups.get(group) {
                    self.groups.remove(group);
                }
            }
            GroupLogRecord::ConsumerGroupMetadata { group, value: None } => {
                if let Some(PersistedGroup::Consumer(_)) = self.groups.get(group) {
                    self.groups.remove(group);
                }
            }
            GroupLogRecord::ConsumerGroupMetadata { group, .. }
            | GroupLogRecord::ConsumerGroupMemberMetadata { group, .. }
            | GroupLogRecord::ConsumerGroupTargetAssignmentMetadata { group, .. }
            | GroupLogRecord::ConsumerGroupTargetAssignmentMember { group, .. }
            | GroupLogRecord::ConsumerGroupCurrentMemberAssignment { group, .. } => {
                self.replay_consumer_record(*group, record);
            }
        }
    }

    /// A value makes the group, in place of an empty classic one; a tombstone does not.
    fn replay_consumer_record(&mut self, group: GroupId, record: &GroupLogRecord) {
        let is_consumer = matches!(self.groups.get(&group), Some(PersistedGroup::Consumer(_)));
        if !is_consumer && !record.is_tombstone() {
            self.groups.insert(group, PersistedGroup::Consumer(ConsumerGroup::default()));
        }
        if let Some(PersistedGroup::Consumer(consumer)) = self.groups.get_mut(&group) {
            consumer.replay(record);
        }
    }
}

impl PersistedGroup {
    /// A group that only commits (G-OFF-1).
    fn simple() -> Self {
        Self::Classic(GroupMetadataValue::default())
    }
}
