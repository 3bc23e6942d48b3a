//! One step of a member towards its target.
//!
//! Counterpart: `CurrentAssignmentBuilder`. A partition is given to a member only after the one
//! that had it has said that it owns it no more.

use alloc::vec::Vec;

use eosim_types::TopicPartition;
use eosim_types::group_log::{ConsumerGroupCurrentMemberAssignmentValue, MemberState};

use super::ConsumerGroup;

type WithEpochs = Vec<(TopicPartition, i32)>;

impl ConsumerGroup {
    /// What `member_id` has after a heartbeat in which it says that it owns `owned`.
    ///
    /// # Panics
    ///
    /// If there is no such member.
    pub(super) fn reconciled(
        &self,
        member_id: u32,
        owned: Option<&[TopicPartition]>,
    ) -> ConsumerGroupCurrentMemberAssignmentValue {
        let current = &self.members[&member_id].current;
        match current.state {
            MemberState::Stable if current.member_epoch == self.assignment_epoch => current.clone(),
            MemberState::Stable | MemberState::UnreleasedPartitions => {
                self.next_assignment(member_id, current.member_epoch, owned)
            }
            MemberState::UnrevokedPartitions
                if owns_any(owned, &current.partitions_pending_revocation) =>
            {
                current.clone()
            }
            MemberState::UnrevokedPartitions => {
                self.next_assignment(member_id, current.member_epoch + 1, owned)
            }
        }
    }

    fn next_assignment(
        &self,
        member_id: u32,
        member_epoch: i32,
        owned: Option<&[TopicPartition]>,
    ) -> ConsumerGroupCurrentMemberAssignmentValue {
        let current = &self.members[&member_id].current;
        let target = self.target.get(&member_id).map_or(&[][..], Vec::as_slice);
        let (mut assigned, revoked): (WithEpochs, WithEpochs) =
            current.assigned_partitions.iter().partition(|(tp, _)| target.contains(tp));
        let next = |member_epoch, state, assigned_partitions, partitions_pending_revocation| {
            ConsumerGroupCurrentMemberAssignmentValue {
                member_epoch,
                previous_member_epoch: current.member_epoch,
                state,
                assigned_partitions,
                partitions_pending_revocation,
            }
        };
        if !revoked.is_empty() && owns_any(owned, &revoked) {
            return next(member_epoch, MemberState::UnrevokedPartitions, assigned, revoked);
        }
        let missing = target.iter().filter(|tp| !assigned.iter().any(|(own, _)| own == *tp));
        let (free, taken): (Vec<_>, Vec<_>) =
            missing.copied().partition(|tp| !self.is_held_by_another(member_id, *tp));
        assigned.extend(free.into_iter().map(|tp| (tp, self.assignment_epoch)));
        assigned.sort_unstable();
        let state =
            if taken.is_empty() { MemberState::Stable } else { MemberState::UnreleasedPartitions };
        next(self.assignment_epoch, state, assigned, Vec::new())
    }

    fn is_held_by_another(&self, member_id: u32, tp: TopicPartition) -> bool {
        let others = self.members.iter().filter(|(id, _)| **id != member_id);
        others.flat_map(|(_, other)| other.held_partitions()).any(|(held, _)| *held == tp)
    }
}

/// A member that does not say what it owns may own everything.
fn owns_any(owned: Option<&[TopicPartition]>, of: &[(TopicPartition, i32)]) -> bool {
    owned.is_none_or(|owned| of.iter().any(|(tp, _)| owned.contains(tp)))
}
