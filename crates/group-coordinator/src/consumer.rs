//! A KIP-848 group: members with epochs, a target assignment made by the coordinator, and how far
//! each member has followed it.
//!
//! Counterpart: `ConsumerGroup` and `ConsumerGroupMember`. Invariants: the state is a function of
//! the log; no partition is assigned to, or still to be revoked from, two members at once.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use eosim_types::assignor::{Assignment, Assignor, Subscriptions};
use eosim_types::group_log::{
    ConsumerGroupCurrentMemberAssignmentValue, ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue, GroupLogRecord, MemberState,
};
use eosim_types::machine::MemberEvent;
use eosim_types::message::{CommittableOffset, GroupMember};
use eosim_types::{Defect, Env, ErrorCode, Topic, TopicPartition, rule};

mod current_assignment_builder;
mod heartbeat;
mod leave;
mod transition;

pub(crate) use heartbeat::validate as validate_heartbeat;
pub(crate) use transition::Transition;

/// A member (`ConsumerGroupMember`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ConsumerGroupMember {
    pub(crate) metadata: ConsumerGroupMemberMetadataValue,
    pub(crate) current: ConsumerGroupCurrentMemberAssignmentValue,
}

impl ConsumerGroupMember {
    pub(crate) fn new(metadata: ConsumerGroupMemberMetadataValue) -> Self {
        let current = ConsumerGroupCurrentMemberAssignmentValue {
            member_epoch: 0,
            previous_member_epoch: -1,
            state: MemberState::Stable,
            assigned_partitions: Vec::new(),
            partitions_pending_revocation: Vec::new(),
        };
        Self { metadata, current }
    }

    /// Partitions that the member has not given up, with the epoch in which it got them.
    pub(crate) fn held_partitions(&self) -> impl Iterator<Item = &(TopicPartition, i32)> {
        let ConsumerGroupCurrentMemberAssignmentValue {
            assigned_partitions,
            partitions_pending_revocation,
            ..
        } = &self.current;
        assigned_partitions.iter().chain(partitions_pending_revocation)
    }

    pub(crate) fn assigned(&self) -> Vec<TopicPartition> {
        self.current.assigned_partitions.iter().map(|(tp, _)| *tp).collect()
    }
}

/// A group.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ConsumerGroup {
    pub(crate) metadata: ConsumerGroupMetadataValue,
    pub(crate) assignment_epoch: i32,
    pub(crate) members: BTreeMap<u32, ConsumerGroupMember>,
    pub(crate) target: Assignment,
}

impl ConsumerGroup {
    /// Applies one record of the group.
    pub(crate) fn replay(&mut self, record: &GroupLogRecord) {
        match record {
            GroupLogRecord::ConsumerGroupMetadata { value: Some(value), .. } => {
                self.metadata = value.clone();
            }
            GroupLogRecord::ConsumerGroupMemberMetadata { member, value: Some(value), .. } => {
                let new = || ConsumerGroupMember::new(value.clone());
                self.members.entry(*member).or_insert_with(new).metadata = value.clone();
            }
            GroupLogRecord::ConsumerGroupMemberMetadata { member, value: None, .. } => {
                self.members.remove(member);
            }
            GroupLogRecord::ConsumerGroupTargetAssignmentMetadata { assignment_epoch, .. } => {
                self.assignment_epoch = assignment_epoch.unwrap_or(-1);
            }
            GroupLogRecord::ConsumerGroupTargetAssignmentMember { member, partitions, .. } => {
                match partitions {
                    Some(partitions) => self.target.insert(*member, partitions.clone()),
                    None => self.target.remove(member),
                };
            }
            GroupLogRecord::ConsumerGroupCurrentMemberAssignment {
                member,
                value: Some(value),
                ..
            } => {
                if let Some(member) = self.members.get_mut(member) {
                    member.current = value.clone();
                }
            }
            // What is left goes with the member or with the group.
            GroupLogRecord::ConsumerGroupCurrentMemberAssignment { value: None, .. }
            | GroupLogRecord::ConsumerGroupMetadata { value: None, .. }
            | GroupLogRecord::OffsetCommit(_)
            | GroupLogRecord::GroupMetadata { .. } => {}
        }
    }

    /// Member id of the static member `instance`.
    pub(crate) fn static_member(&self, instance: u32) -> Option<u32> {
        let own =
            |(_, member): &(&u32, &ConsumerGroupMember)| member.metadata.instance == Some(instance);
        self.members.iter().find(own).map(|(member, _)| *member)
    }

    /// How far `member` has followed its target.
    pub(crate) fn state_of(&self, member: u32) -> Option<MemberState> {
        self.members.get(&member).map(|member| member.current.state)
    }

    /// Does somebody want `topic`?
    pub(crate) fn is_subscribed_to_topic(&self, topic: Topic) -> bool {
        self.members.values().any(|member| member.metadata.subscribed_topics.contains(&topic))
    }

    pub(crate) fn subscriptions(&self) -> Subscriptions {
        let topics = |member: &ConsumerGroupMember| member.metadata.subscribed_topics.clone();
        self.members.iter().map(|(id, member)| (*id, topics(member))).collect()
    }

    /// The assignor that most members prefer.
    pub(crate) fn preferred_server_assignor(&self) -> Assignor {
        let wishes = self.members.values().filter_map(|member| member.metadata.server_assignor);
        let range = wishes.clone().filter(|wish| *wish == Assignor::Range).count();
        if range * 2 > wishes.count() { Assignor::Range } else { Assignor::Uniform }
    }

    /// May `who` read committed offsets (`validateOffsetFetch`)? Whoever does not say that it is a
    /// member may.
    ///
    /// # Errors
    ///
    /// UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH.
    pub(crate) fn validate_offset_fetch(&self, who: GroupMember) -> Result<(), ErrorCode> {
        if who.member.is_none() && who.generation_or_epoch < 0 {
            return Ok(());
        }
        let member = who.member.and_then(|id| self.members.get(&id));
        let member = member.ok_or(ErrorCode::UnknownMemberId)?;
        let is_current = who.generation_or_epoch == member.current.member_epoch;
        if is_current { Ok(()) } else { Err(ErrorCode::StaleMemberEpoch) }
    }

    /// May `who` commit these offsets (G-OFF-3, `validateOffsetCommit`)?
    ///
    /// # Errors
    ///
    /// UNKNOWN_MEMBER_ID, UNSUPPORTED_VERSION, STALE_MEMBER_EPOCH.
    pub(crate) fn validate_offset_commit(
        &self,
        env: &mut Env<'_>,
        who: GroupMember,
        (is_transactional, version): (bool, i16),
        offsets: &[CommittableOffset],
    ) -> Result<(), ErrorCode> {
        rule!(env, "G-OFF-3");
        if who.generation_or_epoch < 0 && self.members.is_empty() {
            return Ok(());
        }
        if is_transactional && who == GroupMember::NONE {
            return Ok(());
        }
        let member = who.member.and_then(|id| self.members.get(&id));
        let member = member.ok_or(ErrorCode::UnknownMemberId)?;
        let event =
            if is_transactional { MemberEvent::TxnOffsetCommit } else { MemberEvent::OffsetCommit };
        env.takes(member.current.state, event);
        if !is_transactional && version < 9 {
            return Err(ErrorCode::UnsupportedVersion);
        }
        let received = who.generation_or_epoch;
        let may_commit = |offset: &CommittableOffset| {
            let held = member.held_partitions().find(|(tp, _)| *tp == offset.partition);
            held.is_some_and(|(_, assignment_epoch)| received >= *assignment_epoch)
        };
        let current = member.current.member_epoch;
        let is_strict = is_transactional && env.on(Defect::GroupTxnOffsetStrictMemberEpoch);
        let is_older = received < current && !is_strict;
        let accepted = received == current || is_older && offsets.iter().all(may_commit);
        if accepted { Ok(()) } else { Err(ErrorCode::StaleMemberEpoch) }
    }
}
