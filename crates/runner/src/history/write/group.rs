//! Records about the members of groups, as lines say them.

use eosim_types::group_log::{ClassicMemberMetadata, GroupLogRecord, GroupMetadataValue};
use eosim_types::{GroupId, Names, TopicPartition};

use super::super::group::{Generation, Membership, Owner};
use super::super::word::Number;
use super::partition;

/// The group of `record` and what it says, if that is judged.
pub(super) fn membership(names: &Names, record: &GroupLogRecord) -> Option<(GroupId, Membership)> {
    use GroupLogRecord as R;
    Some(match record {
        R::GroupMetadata { group, value: Some(value) } => {
            (*group, Membership::Generation(generation(names, value)))
        }
        R::GroupMetadata { group, value: None } => (*group, Membership::GenerationGone),
        R::ConsumerGroupMetadata { group, value: Some(value) } => {
            (*group, Membership::GroupEpoch(Number(value.epoch)))
        }
        R::ConsumerGroupMetadata { group, value: None } => (*group, Membership::GroupGone),
        R::ConsumerGroupTargetAssignmentMetadata { group, assignment_epoch: Some(epoch) } => {
            (*group, Membership::AssignmentEpoch(Number(*epoch)))
        }
        R::ConsumerGroupCurrentMemberAssignment { group, member, value: Some(value) } => {
            (*group, Membership::Owner(owner(names, *member, value.held())))
        }
        R::ConsumerGroupCurrentMemberAssignment { group, member, value: None } => {
            (*group, Membership::OwnerGone(number(*member)))
        }
        R::ConsumerGroupTargetAssignmentMetadata { assignment_epoch: None, .. }
        | R::ConsumerGroupTargetAssignmentMember { .. }
        | R::ConsumerGroupMemberMetadata { .. }
        | R::OffsetCommit(_) => return None,
    })
}

fn generation(names: &Names, value: &GroupMetadataValue) -> Generation {
    let owner = |m: &ClassicMemberMetadata| owner(names, m.member, m.assignment.iter().copied());
    let owners = value.consumers().map(owner);
    Generation { number: Number(value.generation), owners: owners.collect() }
}

fn owner(names: &Names, member: u32, held: impl Iterator<Item = TopicPartition>) -> Owner {
    Owner { member: number(member), partitions: held.map(|tp| partition(names, tp)).collect() }
}

/// Member ids are 32 bits of a coordinator's own making.
const fn number(member: u32) -> Number {
    Number(member.cast_signed())
}
