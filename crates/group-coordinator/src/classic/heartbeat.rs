//! Sessions of classic members.
//!
//! Counterpart: `GroupMetadataManager#classicGroupHeartbeat`, `#expireClassicGroupMemberHeartbeat`.

use eosim_types::ErrorCode;
use eosim_types::machine::GroupEvent;
use eosim_types::message::GroupMember;

use super::{ClassicCx, ClassicGroup, ClassicGroupState, ClassicWrite};

impl ClassicGroup {
    /// Heartbeat.
    ///
    /// # Errors
    ///
    /// UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION; REBALANCE_IN_PROGRESS asks the
    /// member to join again.
    pub(crate) fn heartbeat(
        &mut self,
        cx: &mut ClassicCx<'_>,
        who: GroupMember,
    ) -> Result<(), ErrorCode> {
        self.takes(cx, GroupEvent::Heartbeat);
        let member = self.validate_generation(who)?;
        self.refresh_session(cx, member);
        match self.state {
            ClassicGroupState::Empty => Err(ErrorCode::UnknownMemberId),
            ClassicGroupState::PreparingRebalance => Err(ErrorCode::RebalanceInProgress),
            ClassicGroupState::CompletingRebalance | ClassicGroupState::Stable => Ok(()),
        }
    }

    pub(super) fn refresh_session(&self, cx: &mut ClassicCx<'_>, member: u32) {
        if let Some(known) = self.members.get(&member) {
            cx.schedule_heartbeat(member, known.session_timeout);
        }
    }

    /// A plain commit keeps the session, a transactional one does not (G-OFF-4).
    pub(crate) fn on_plain_commit(&self, cx: &mut ClassicCx<'_>, who: GroupMember) {
        let keeps =
            matches!(self.state, ClassicGroupState::Stable | ClassicGroupState::PreparingRebalance);
        if let Some(member) = who.member.filter(|_| keeps) {
            self.refresh_session(cx, member);
        }
    }

    /// Nothing was heard of a member, or of somebody who was given an id.
    pub(crate) fn on_session_expired(
        &mut self,
        cx: &mut ClassicCx<'_>,
        member: u32,
    ) -> Option<ClassicWrite> {
        self.takes(cx, GroupEvent::SessionTimedOut);
        if self.pending_join_members.remove(&member) {
            return self.maybe_complete_join_phase(cx);
        }
        let known = self.members.get(&member)?;
        if known.awaiting_join.is_some() || known.awaiting_sync.is_some() {
            cx.schedule_heartbeat(member, known.session_timeout);
            return None;
        }
        self.remove_member(cx, member);
        self.on_members_removed(cx)
    }
}
