//! Who has what in a group, by its log.

use eosim_types::TopicPartition;
use eosim_types::group_log::{
    ClassicMemberMetadata, ConsumerGroupCurrentMemberAssignmentValue, ConsumerGroupMetadataValue,
    GroupLogRecord, GroupMetadataValue, MemberState,
};
use eosim_types::{Duration, Topic};

use crate::testing::{GROUP, History, P0, P1};

/// A member of a consumer group, what it has, and what it has yet to give up.
fn member(member: u32, assigned: &[TopicPartition], pending: &[TopicPartition]) -> GroupLogRecord {
    let with_epochs = |list: &[TopicPartition]| list.iter().map(|tp| (*tp, 1)).collect();
    let value = ConsumerGroupCurrentMemberAssignmentValue {
        member_epoch: 1,
        previous_member_epoch: 0,
        state: MemberState::Stable,
        assigned_partitions: with_epochs(assigned),
        partitions_pending_revocation: with_epochs(pending),
    };
    GroupLogRecord::ConsumerGroupCurrentMemberAssignment {
        group: GROUP,
        member,
        value: Some(value),
    }
}

fn gone(member: u32) -> GroupLogRecord {
    GroupLogRecord::ConsumerGroupCurrentMemberAssignment { group: GROUP, member, value: None }
}

fn epoch(epoch: i32) -> GroupLogRecord {
    let value = Some(ConsumerGroupMetadataValue { epoch, topics: Vec::new() });
    GroupLogRecord::ConsumerGroupMetadata { group: GROUP, value }
}

fn assignment_epoch(epoch: i32) -> GroupLogRecord {
    let assignment_epoch = Some(epoch);
    GroupLogRecord::ConsumerGroupTargetAssignmentMetadata { group: GROUP, assignment_epoch }
}

fn generation(generation: i32, members: &[(u32, TopicPartition)]) -> GroupLogRecord {
    let members = members.iter().map(|&(member, partition)| ClassicMemberMetadata {
        member,
        instance: None,
        rebalance_timeout: Duration::ZERO,
        session_timeout: Duration::ZERO,
        subscription: vec![Topic(2)],
        assignment: vec![partition],
    });
    let value = GroupMetadataValue {
        is_consumer_protocol: true,
        generation,
        members: members.collect(),
        ..GroupMetadataValue::default()
    };
    GroupLogRecord::GroupMetadata { group: GROUP, value: Some(value) }
}

fn history(batches: &[&[GroupLogRecord]]) -> History {
    let mut h = History::new();
    batches.iter().for_each(|batch| h.append_group(batch));
    h
}

#[test]
fn group_assignment_partition_with_two_owners() {
    for batches in [
        [[member(1, &[P0], &[])], [member(2, &[P0], &[])]],
        [[member(1, &[], &[P0])], [member(2, &[P0], &[])]],
        [[generation(1, &[(1, P0)])], [generation(2, &[(1, P0), (2, P0)])]],
    ] {
        let mut h = history(&[&batches[0], &batches[1]]);
        assert_eq!(h.breaks("group-assignment"), [""; 0]);
        h.setup.unclean_elections.push(Topic::CONSUMER_OFFSETS);
        h.is_sound();
    }
}

#[test]
fn group_assignment_numbers_that_go_back() {
    for batches in [
        [[generation(3, &[(1, P0)])], [generation(1, &[(1, P0)])]],
        [[epoch(3)], [epoch(2)]],
        [[assignment_epoch(3)], [assignment_epoch(2)]],
    ] {
        let h = history(&[&batches[0], &batches[1]]);
        assert_eq!(h.breaks("group-assignment"), [""; 0]);
    }
}

#[test]
fn partitions_change_hands_within_a_batch_and_groups_begin_anew() {
    let deleted = GroupLogRecord::ConsumerGroupMetadata { group: GROUP, value: None };
    let h = history(&[
        &[epoch(4), assignment_epoch(4), member(1, &[P0], &[P1])],
        &[member(1, &[P0], &[])],
        &[member(2, &[P1], &[])],
        &[member(3, &[P0, P1], &[]), gone(1), gone(2)],
        &[gone(3), deleted],
        &[generation(1, &[(1, P0), (2, P1)])],
        &[generation(1, &[])],
        &[generation(2, &[(1, P1), (2, P0)])],
    ]);
    h.is_sound();
}
