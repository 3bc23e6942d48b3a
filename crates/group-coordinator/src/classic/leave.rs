//! Members leave.
//!
//! Counterpart: `GroupMetadataManager#classicGroupLeaveToClassicGroup`.

use alloc::vec::Vec;

use eosim_types::ErrorCode;
use eosim_types::machine::GroupEvent;

use super::{ClassicCx, ClassicGroup, ClassicGroupState, ClassicWrite};

impl ClassicGroup {
    /// LeaveGroup: the outcome per member.
    pub(crate) fn leave(
        &mut self,
        cx: &mut ClassicCx<'_>,
        members: &[(Option<u32>, Option<u32>)],
    ) -> (Vec<ErrorCode>, Option<ClassicWrite>) {
        self.takes(cx, GroupEvent::LeaveGroup);
        let mut one = |&(member, instance)| self.leave_one(cx, member, instance).err();
        let outcomes: Vec<_> =
            members.iter().map(|member| one(member).unwrap_or(ErrorCode::None)).collect();
        let any_left = outcomes.iter().any(|outcome| outcome.is_none());
        let write = if any_left { self.on_members_removed(cx) } else { None };
        (outcomes, write)
    }

    /// A static member may be named by its instance id alone.
    fn leave_one(
        &mut self,
        cx: &mut ClassicCx<'_>,
        member: Option<u32>,
        instance: Option<u32>,
    ) -> Result<(), ErrorCode> {
        let by_instance = instance.filter(|_| member.is_none());
        let member = by_instance.and_then(|instance| self.static_member(instance)).or(member);
        if let Some(pending) = member.filter(|id| self.pending_join_members.remove(id)) {
            cx.cancel_heartbeat(pending);
            return Ok(());
        }
        let member = self.validate_member(member, instance)?;
        self.remove_member(cx, member);
        Ok(())
    }

    /// Takes a member out; what it waits for is refused.
    pub(super) fn remove_member(&mut self, cx: &mut ClassicCx<'_>, member: u32) {
        cx.cancel_heartbeat(member);
        self.pending_sync_members.remove(&member);
        let Some(mut removed) = self.members.remove(&member) else { return };
        removed.refuse(cx, member, ErrorCode::UnknownMemberId);
        if self.leader == Some(member) {
            self.leader = self.members.keys().next().copied();
        }
    }

    /// The others share the partitions out anew.
    pub(super) fn on_members_removed(&mut self, cx: &mut ClassicCx<'_>) -> Option<ClassicWrite> {
        match self.state {
            ClassicGroupState::Empty => None,
            ClassicGroupState::PreparingRebalance => self.maybe_complete_join_phase(cx),
            ClassicGroupState::CompletingRebalance | ClassicGroupState::Stable => {
                self.prepare_rebalance(cx)
            }
        }
    }
}
