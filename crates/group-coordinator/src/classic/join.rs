//! JoinGroup.
//!
//! Counterpart: `GroupMetadataManager#classicGroupJoinNewMember`, `#classicGroupJoinExistingMember`,
//! `#updateStaticMemberThenRebalanceOrCompleteJoin`.

use alloc::vec;
use alloc::vec::Vec;

use eosim_types::ErrorCode;
use eosim_types::machine::GroupEvent;
use eosim_types::message::JoinGroupRequest;

use super::rebalance::join_error;
use super::{ClassicCx, ClassicGroup, ClassicGroupMember, ClassicGroupState, ClassicWrite};
use crate::action::{ReplyTo, Waiting};

impl ClassicGroup {
    /// JoinGroup; `new_id` is the id for a new member.
    pub(crate) fn join(
        &mut self,
        cx: &mut ClassicCx<'_>,
        to: ReplyTo,
        request: &JoinGroupRequest,
        new_id: u32,
    ) -> Option<ClassicWrite> {
        self.takes(cx, GroupEvent::JoinGroup);
        let error = match self.validate_join(request) {
            Ok(()) if request.member.is_none() => return self.join_new(cx, to, request, new_id),
            Ok(()) => return self.join_existing(cx, to, request),
            Err(error) => error,
        };
        cx.reply(to, join_error(error, request.member));
        None
    }

    fn validate_join(&self, request: &JoinGroupRequest) -> Result<(), ErrorCode> {
        let others = self.members.iter().filter(|(id, _)| Some(**id) != request.member);
        let others: Vec<_> = others.map(|(_, member)| member).collect();
        let is_common = |protocol| others.iter().all(|member| member.protocols.contains(protocol));
        if !request.protocols.iter().any(is_common) {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        let is_pending = request.member.is_some_and(|id| self.pending_join_members.contains(&id));
        if request.member.is_some() && !is_pending {
            self.validate_member(request.member, request.instance)?;
        }
        Ok(())
    }

    fn join_new(
        &mut self,
        cx: &mut ClassicCx<'_>,
        to: ReplyTo,
        request: &JoinGroupRequest,
        new_id: u32,
    ) -> Option<ClassicWrite> {
        let replaced = request.instance.and_then(|instance| self.static_member(instance));
        if let Some(replaced) = replaced {
            return self.replace_static_member(cx, to, request, (replaced, new_id));
        }
        if request.version >= 4 && request.instance.is_none() {
            self.pending_join_members.insert(new_id);
            cx.schedule_heartbeat(new_id, request.session_timeout);
            cx.reply(to, join_error(ErrorCode::MemberIdRequired, Some(new_id)));
            return None;
        }
        self.add_or_update_member(cx, to, request, new_id);
        self.maybe_prepare_rebalance_or_complete_join(cx)
    }

    fn join_existing(
        &mut self,
        cx: &mut ClassicCx<'_>,
        to: ReplyTo,
        request: &JoinGroupRequest,
    ) -> Option<ClassicWrite> {
        let id = request.member.expect("an existing member has an id");
        let is_known = self.members.get(&id).is_some_and(|member| member.matches(request));
        let leads = self.leader == Some(id);
        let needs_no_rebalance = match self.state {
            ClassicGroupState::Stable => is_known && !leads,
            ClassicGroupState::CompletingRebalance => is_known,
            ClassicGroupState::Empty | ClassicGroupState::PreparingRebalance => false,
        };
        if needs_no_rebalance {
            self.refresh_session(cx, id);
            cx.reply(to, self.join_response(id));
            return None;
        }
        self.add_or_update_member(cx, to, request, id);
        self.maybe_prepare_rebalance_or_complete_join(cx)
    }

    /// A new process comes with the instance id of a member. Nobody has to join again if the
    /// members' common assignor stays.
    fn replace_static_member(
        &mut self,
        cx: &mut ClassicCx<'_>,
        to: ReplyTo,
        request: &JoinGroupRequest,
        (old, new): (u32, u32),
    ) -> Option<ClassicWrite> {
        let mut replaced = self.members.remove(&old)?;
        replaced.refuse(cx, old, ErrorCode::FencedInstanceId);
        cx.cancel_heartbeat(old);
        let same_topics = replaced.subscription == request.subscription;
        self.members.insert(new, replaced);
        if self.leader == Some(old) {
            self.leader = Some(new);
        }
        if self.pending_sync_members.remove(&old) {
            self.pending_sync_members.insert(new);
        }
        self.add_or_update_member(cx, to, request, new);
        let same_protocol = self.select_protocol() == self.protocol;
        if self.is_in_state(ClassicGroupState::Stable) && same_protocol && same_topics {
            self.members.get_mut(&new)?.awaiting_join = None;
            let response = self.join_response(new).into();
            let then = vec![Waiting::Reply { to, response }];
            return Some(ClassicWrite { value: self.value(), then });
        }
        self.maybe_prepare_rebalance_or_complete_join(cx)
    }

    fn add_or_update_member(
        &mut self,
        cx: &mut ClassicCx<'_>,
        to: ReplyTo,
        request: &JoinGroupRequest,
        id: u32,
    ) {
        self.pending_join_members.remove(&id);
        self.is_consumer_protocol = true;
        let is_new = !self.members.contains_key(&id);
        self.new_member_added |= is_new && self.initial_rebalance_remaining.is_some();
        let assignment = self.members.get_mut(&id).map(|member| {
            if let Some(earlier) = member.awaiting_join.take() {
                cx.reply(earlier, join_error(ErrorCode::UnknownMemberId, Some(id)));
            }
            core::mem::take(&mut member.assignment)
        });
        let member = ClassicGroupMember {
            instance: request.instance,
            rebalance_timeout: request.rebalance_timeout,
            session_timeout: request.session_timeout,
            protocols: request.protocols.clone(),
            subscription: request.subscription.clone(),
            assignment: assignment.unwrap_or_default(),
            awaiting_join: Some(to),
            awaiting_sync: None,
        };
        self.members.insert(id, member);
        self.leader.get_or_insert(id);
        cx.schedule_heartbeat(id, request.session_timeout);
    }

    fn maybe_prepare_rebalance_or_complete_join(
        &mut self,
        cx: &mut ClassicCx<'_>,
    ) -> Option<ClassicWrite> {
        match self.state {
            ClassicGroupState::PreparingRebalance => self.maybe_complete_join_phase(cx),
            _ => self.prepare_rebalance(cx),
        }
    }
}

impl ClassicGroupMember {
    /// The member wants nothing new.
    fn matches(&self, request: &JoinGroupRequest) -> bool {
        self.protocols == request.protocols && self.subscription == request.subscription
    }
}
