//! SyncGroup: the leader hands the assignment in, all learn of it once it is in the log.
//!
//! Counterpart: `GroupMetadataManager#classicGroupSyncToClassicGroup`.

use alloc::vec;
use alloc::vec::Vec;

use eosim_types::assignor::Assignment;
use eosim_types::machine::GroupEvent;
use eosim_types::message::{SyncGroupRequest, SyncGroupResponse};
use eosim_types::{ErrorCode, TopicPartition};

use super::{ClassicCx, ClassicGroup, ClassicGroupState, ClassicWrite};
use crate::action::{ReplyTo, Waiting};
use crate::timer::TimerKey;

impl ClassicGroup {
    /// SyncGroup.
    pub(crate) fn sync(
        &mut self,
        cx: &mut ClassicCx<'_>,
        to: ReplyTo,
        request: &SyncGroupRequest,
    ) -> Option<ClassicWrite> {
        self.takes(cx, GroupEvent::SyncGroup);
        let validated = self.validate_generation(request.member);
        let answer = match (validated, self.state) {
            (Err(error), _) => Err(error),
            (Ok(_), ClassicGroupState::Empty) => Err(ErrorCode::UnknownMemberId),
            (Ok(_), ClassicGroupState::PreparingRebalance) => Err(ErrorCode::RebalanceInProgress),
            (Ok(member), ClassicGroupState::CompletingRebalance) => {
                return self.await_sync(cx, to, member, request);
            }
            (Ok(member), ClassicGroupState::Stable) => {
                self.pending_sync_members.remove(&member);
                self.refresh_session(cx, member);
                Ok(self.members[&member].assignment.clone())
            }
        };
        cx.reply(to, sync_response(answer));
        None
    }

    fn await_sync(
        &mut self,
        cx: &mut ClassicCx<'_>,
        to: ReplyTo,
        id: u32,
        request: &SyncGroupRequest,
    ) -> Option<ClassicWrite> {
        let member = self.members.get_mut(&id)?;
        if let Some(earlier) = member.awaiting_sync.replace(to) {
            cx.reply(earlier, sync_response(Err(ErrorCode::UnknownMemberId)));
        }
        self.pending_sync_members.remove(&id);
        if self.leader != Some(id) {
            return None;
        }
        let mut value = self.value();
        for member in &mut value.members {
            let own = request.assignments.iter().find(|(id, _)| *id == member.member);
            member.assignment = own.map(|(_, partitions)| partitions.clone()).unwrap_or_default();
        }
        let assigned = value.members.iter().map(|m| (m.member, m.assignment.clone()));
        let then = vec![Waiting::ClassicSync {
            group: cx.group_id,
            generation: self.generation,
            assignments: assigned.collect(),
        }];
        Some(ClassicWrite { value, then })
    }

    /// The assignment is committed, or could not be written. By then the group may have moved on.
    pub(crate) fn on_assignment_written(
        &mut self,
        cx: &mut ClassicCx<'_>,
        generation: i32,
        written: Result<Assignment, ErrorCode>,
    ) {
        let event = match written {
            Ok(_) => GroupEvent::AssignmentWritten,
            Err(_) => GroupEvent::AssignmentFailed,
        };
        self.takes(cx, event);
        let is_current = self.is_in_state(ClassicGroupState::CompletingRebalance)
            && self.generation == generation;
        match written {
            _ if !is_current => {}
            Ok(assignments) => self.propagate_assignment(cx, assignments),
            Err(error) => {
                self.refuse_syncs(cx, error);
                let write = self.prepare_rebalance(cx);
                assert!(write.is_none(), "a group with members has lost none");
            }
        }
    }

    fn propagate_assignment(&mut self, cx: &mut ClassicCx<'_>, assignments: Assignment) {
        for (id, assignment) in assignments {
            let Some(member) = self.members.get_mut(&id) else { continue };
            member.assignment = assignment;
            if let Some(to) = member.awaiting_sync.take() {
                cx.reply(to, sync_response(Ok(member.assignment.clone())));
                cx.schedule_heartbeat(id, member.session_timeout);
            }
        }
        self.transition_to(cx, ClassicGroupState::Stable);
        if self.pending_sync_members.is_empty() {
            cx.timer.cancel(TimerKey::ClassicSync(cx.group_id));
        }
    }

    /// Members that have not synced for the time of a rebalance are put out (`expirePendingSync`).
    pub(crate) fn on_sync_timeout(&mut self, cx: &mut ClassicCx<'_>) -> Option<ClassicWrite> {
        self.takes(cx, GroupEvent::SyncTimedOut);
        let late = core::mem::take(&mut self.pending_sync_members);
        if late.is_empty() {
            return None;
        }
        for id in late {
            self.remove_member(cx, id);
        }
        self.on_members_removed(cx)
    }
}

fn sync_response(answer: Result<Vec<TopicPartition>, ErrorCode>) -> SyncGroupResponse {
    match answer {
        Ok(assignment) => SyncGroupResponse { error: ErrorCode::None, assignment },
        Err(error) => SyncGroupResponse { error, assignment: Vec::new() },
    }
}
