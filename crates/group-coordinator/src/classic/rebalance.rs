//! The join phase: it begins, it ends with a new generation.
//!
//! Counterpart: `GroupMetadataManager#prepareRebalance`, `#tryCompleteInitialRebalanceElseSchedule`,
//! `#completeClassicGroupJoin`.

use alloc::vec::Vec;

use eosim_types::assignor::Assignor;
use eosim_types::machine::GroupEvent;
use eosim_types::message::{JoinGroupResponse, JoinGroupResponseMember, SyncGroupResponse};
use eosim_types::{Duration, ErrorCode};

use super::{ClassicCx, ClassicGroup, ClassicGroupMember, ClassicGroupState, ClassicWrite};
use crate::timer::TimerKey;

impl ClassicGroupMember {
    /// Refuses what the member waits for.
    pub(super) fn refuse(&mut self, cx: &mut ClassicCx<'_>, id: u32, error: ErrorCode) {
        if let Some(to) = self.awaiting_join.take() {
            cx.reply(to, join_error(error, Some(id)));
        }
        if let Some(to) = self.awaiting_sync.take() {
            cx.reply(to, SyncGroupResponse { error, assignment: Vec::new() });
        }
    }
}

/// A JoinGroup that was refused.
pub(super) fn join_error(error: ErrorCode, member: Option<u32>) -> JoinGroupResponse {
    let members = Vec::new();
    JoinGroupResponse { error, generation: -1, protocol: None, leader: None, member, members }
}

impl ClassicGroup {
    /// Asks all members to join again (`prepareRebalance`).
    pub(super) fn prepare_rebalance(&mut self, cx: &mut ClassicCx<'_>) -> Option<ClassicWrite> {
        if self.is_in_state(ClassicGroupState::CompletingRebalance) {
            self.refuse_syncs(cx, ErrorCode::RebalanceInProgress);
        }
        cx.timer.cancel(TimerKey::ClassicSync(cx.group_id));
        let was_empty = self.is_in_state(ClassicGroupState::Empty);
        self.transition_to(cx, ClassicGroupState::PreparingRebalance);
        if was_empty {
            let delay = cx.config.group_initial_rebalance_delay;
            let remaining = self.rebalance_timeout().0.saturating_sub(delay.0);
            self.initial_rebalance_remaining = Some(Duration(remaining));
            cx.schedule(TimerKey::ClassicJoin(cx.group_id), delay);
            return None;
        }
        cx.schedule(TimerKey::ClassicJoin(cx.group_id), self.rebalance_timeout());
        self.maybe_complete_join_phase(cx)
    }

    /// Nobody has an assignment of this generation (`resetAndPropagateAssignmentWithError`).
    pub(super) fn refuse_syncs(&mut self, cx: &mut ClassicCx<'_>, error: ErrorCode) {
        self.pending_sync_members.clear();
        for member in self.members.values_mut() {
            member.assignment.clear();
            if let Some(to) = member.awaiting_sync.take() {
                cx.reply(to, SyncGroupResponse { error, assignment: Vec::new() });
            }
        }
    }

    /// The coordinator is here no more: refuses all that wait.
    pub(crate) fn refuse_all(&mut self, cx: &mut ClassicCx<'_>, error: ErrorCode) {
        self.takes(cx, GroupEvent::Resigned);
        for (&id, member) in &mut self.members {
            member.refuse(cx, id, error);
        }
    }

    /// Ends the join phase if everybody is there.
    pub(super) fn maybe_complete_join_phase(
        &mut self,
        cx: &mut ClassicCx<'_>,
    ) -> Option<ClassicWrite> {
        let all_joined = self.pending_join_members.is_empty()
            && self.members.values().all(|member| member.awaiting_join.is_some());
        let may_complete = self.is_in_state(ClassicGroupState::PreparingRebalance)
            && self.initial_rebalance_remaining.is_none();
        if may_complete && all_joined { self.complete_join(cx) } else { None }
    }

    /// The join phase has lasted long enough.
    pub(crate) fn on_join_timeout(&mut self, cx: &mut ClassicCx<'_>) -> Option<ClassicWrite> {
        self.takes(cx, GroupEvent::JoinTimedOut);
        if let Some(remaining) = self.initial_rebalance_remaining.take()
            && core::mem::take(&mut self.new_member_added)
            && remaining > Duration::ZERO
        {
            let delay = cx.config.group_initial_rebalance_delay.min(remaining);
            self.initial_rebalance_remaining = Some(Duration(remaining.0 - delay.0));
            cx.schedule(TimerKey::ClassicJoin(cx.group_id), delay);
            return None;
        }
        self.complete_join(cx)
    }

    /// A new generation of those that have joined.
    fn complete_join(&mut self, cx: &mut ClassicCx<'_>) -> Option<ClassicWrite> {
        self.remove_members_not_joined(cx);
        let nobody_joined = self.members.values().all(|member| member.awaiting_join.is_none());
        if nobody_joined && !self.members.is_empty() {
            cx.schedule(TimerKey::ClassicJoin(cx.group_id), self.rebalance_timeout());
            return None;
        }
        cx.timer.cancel(TimerKey::ClassicJoin(cx.group_id));
        self.elect_joined_leader();
        self.generation += 1;
        if self.members.is_empty() {
            self.protocol = None;
            self.leader = None;
            self.transition_to(cx, ClassicGroupState::Empty);
            return Some(ClassicWrite { value: self.value(), then: Vec::new() });
        }
        self.protocol = self.select_protocol();
        self.transition_to(cx, ClassicGroupState::CompletingRebalance);
        self.answer_joins(cx);
        cx.schedule(TimerKey::ClassicSync(cx.group_id), self.rebalance_timeout());
        None
    }

    /// Static members may be away for a session, dynamic ones may not.
    fn remove_members_not_joined(&mut self, cx: &mut ClassicCx<'_>) {
        let is_late = |member: &ClassicGroupMember| {
            member.awaiting_join.is_none() && member.instance.is_none()
        };
        let late = self.members.iter().filter(|(_, member)| is_late(member));
        for id in late.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.remove_member(cx, id);
        }
    }

    fn elect_joined_leader(&mut self) {
        let has_joined = |id: &u32| self.members[id].awaiting_join.is_some();
        if !self
            .leader
            .is_some_and(|leader| self.members.contains_key(&leader) && has_joined(&leader))
        {
            self.leader = self.members.keys().copied().find(has_joined);
        }
    }

    /// The assignor that all know and most prefer.
    pub(super) fn select_protocol(&self) -> Option<Assignor> {
        let known = |protocol: &Assignor| {
            self.members.values().all(|member| member.protocols.contains(protocol))
        };
        let candidates = [Assignor::Range, Assignor::Uniform].into_iter().filter(known);
        let preferred = |member: &ClassicGroupMember| member.protocols.iter().copied().find(known);
        let votes = |candidate: &Assignor| {
            self.members.values().filter(|member| preferred(member) == Some(*candidate)).count()
        };
        candidates.min_by_key(|candidate| core::cmp::Reverse(votes(candidate)))
    }

    fn answer_joins(&mut self, cx: &mut ClassicCx<'_>) {
        for id in self.members.keys().copied().collect::<Vec<_>>() {
            let response = self.join_response(id);
            let member = self.members.get_mut(&id).expect("one of the keys");
            cx.schedule_heartbeat(id, member.session_timeout);
            self.pending_sync_members.insert(id);
            if let Some(to) = member.awaiting_join.take() {
                cx.reply(to, response);
            }
        }
    }

    /// The current generation, as `member` is told of it.
    pub(super) fn join_response(&self, member: u32) -> JoinGroupResponse {
        let listed = |(&member, known): (&u32, &ClassicGroupMember)| JoinGroupResponseMember {
            member,
            instance: known.instance,
            subscription: known.subscription.clone(),
        };
        let leads = self.leader == Some(member);
        JoinGroupResponse {
            error: ErrorCode::None,
            generation: self.generation,
            protocol: self.protocol,
            leader: self.leader,
            member: Some(member),
            members: self.members.iter().filter(|_| leads).map(listed).collect(),
        }
    }
}
