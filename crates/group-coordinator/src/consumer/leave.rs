//! A member leaves, or is put out.
//!
//! Counterpart: `GroupMetadataManager#consumerGroupLeave`, `#consumerGroupFenceMember`.

use eosim_types::ErrorCode;
use eosim_types::group_log::{ConsumerGroupCurrentMemberAssignmentValue, MemberState};
use eosim_types::message::ConsumerGroupHeartbeatRequest;
use eosim_types::metadata::MetadataImage;

use super::Transition;

impl Transition {
    /// A heartbeat with epoch -1 or -2.
    ///
    /// # Errors
    ///
    /// UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID.
    pub(crate) fn leave(
        &mut self,
        metadata: &MetadataImage,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> Result<(), ErrorCode> {
        let static_member = request.instance.map(|instance| self.group.static_member(instance));
        match static_member {
            Some(None) => return Err(ErrorCode::UnknownMemberId),
            Some(Some(member)) if member != request.member => {
                return Err(ErrorCode::FencedInstanceId);
            }
            _ if !self.group.members.contains_key(&request.member) => {
                return Err(ErrorCode::UnknownMemberId);
            }
            _ => {}
        }
        if request.member_epoch == ConsumerGroupHeartbeatRequest::LEAVE_STATIC_EPOCH {
            self.release_static_member(request.member);
        } else {
            self.fence_member(metadata, request.member);
        }
        Ok(())
    }

    /// The member keeps its place; whoever comes with its instance id gets it.
    fn release_static_member(&mut self, member: u32) {
        let current = &self.group.members[&member].current;
        let kept = current.assigned_partitions.iter().map(|(tp, _)| (*tp, 0)).collect();
        let away = ConsumerGroupCurrentMemberAssignmentValue {
            member_epoch: ConsumerGroupHeartbeatRequest::LEAVE_STATIC_EPOCH,
            previous_member_epoch: current.member_epoch,
            state: MemberState::Stable,
            assigned_partitions: kept,
            partitions_pending_revocation: alloc::vec::Vec::new(),
        };
        self.set_current(member, Some(away));
    }

    /// Removes a member; its partitions are free, the others get a new target with their next
    /// heartbeats.
    pub(crate) fn fence_member(&mut self, metadata: &MetadataImage, member: u32) {
        self.remove_member(member);
        self.bump_group_epoch(metadata);
    }
}
