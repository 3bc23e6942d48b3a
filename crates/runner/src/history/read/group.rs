//! Records about the members of groups, from what lines say of them.

use eosim_types::GroupId;
use eosim_types::group_log::{
    ClassicMemberMetadata, ConsumerGroupCurrentMemberAssignmentValue, ConsumerGroupMetadataValue,
    GroupLogRecord, GroupMetadataValue, MemberState,
};

use super::super::group::{Generation, Membership, Owner};
use super::batch::partitions;
use super::{Complaint, Known};

/// The record of `group` at `path`.
pub(super) fn record(
    known: &Known,
    path: &str,
    group: GroupId,
    membership: &Membership,
) -> Result<GroupLogRecord, Complaint> {
    use GroupLogRecord as R;
    Ok(match membership {
        Membership::Generation(of) => {
            R::GroupMetadata { group, value: Some(generation(known, path, of)?) }
        }
        Membership::GenerationGone => R::GroupMetadata { group, value: None },
        Membership::GroupEpoch(epoch) => {
            let value = ConsumerGroupMetadataValue { epoch: epoch.0, topics: Vec::new() };
            R::ConsumerGroupMetadata { group, value: Some(value) }
        }
        Membership::GroupGone => R::ConsumerGroupMetadata { group, value: None },
        Membership::AssignmentEpoch(epoch) => {
            let assignment_epoch = Some(epoch.0);
            R::ConsumerGroupTargetAssignmentMetadata { group, assignment_epoch }
        }
        Membership::Owner(owner) => {
            let member = owner.member.0.cast_unsigned();
            let value = Some(current(known, path, owner)?);
            R::ConsumerGroupCurrentMemberAssignment { group, member, value }
        }
        Membership::OwnerGone(member) => {
            let member = member.0.cast_unsigned();
            R::ConsumerGroupCurrentMemberAssignment { group, member, value: None }
        }
    })
}

fn generation(known: &Known, path: &str, of: &Generation) -> Result<GroupMetadataValue, Complaint> {
    let member = |owner: &Owner| {
        let path = format!("{path}.generation.owners");
        Ok(ClassicMemberMetadata {
            member: owner.member.0.cast_unsigned(),
            instance: None,
            rebalance_timeout: eosim_types::Duration::ZERO,
            session_timeout: eosim_types::Duration::ZERO,
            subscription: Vec::new(),
            assignment: partitions(known, &path, &owner.partitions)?,
        })
    };
    Ok(GroupMetadataValue {
        is_consumer_protocol: true,
        generation: of.number.0,
        members: of.owners.iter().map(member).collect::<Result<_, _>>()?,
        ..GroupMetadataValue::default()
    })
}

fn current(
    known: &Known,
    path: &str,
    owner: &Owner,
) -> Result<ConsumerGroupCurrentMemberAssignmentValue, Complaint> {
    let held = partitions(known, &format!("{path}.owner.partitions"), &owner.partitions)?;
    Ok(ConsumerGroupCurrentMemberAssignmentValue {
        member_epoch: 0,
        previous_member_epoch: 0,
        state: MemberState::Stable,
        assigned_partitions: held.into_iter().map(|tp| (tp, 0)).collect(),
        partitions_pending_revocation: Vec::new(),
    })
}
