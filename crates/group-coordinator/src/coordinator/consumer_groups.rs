//! Requests and timers of KIP-848 groups.
//!
//! Counterpart: `GroupMetadataManager#consumerGroupHeartbeat`,
//! `#scheduleConsumerGroupSessionTimeout`, `#scheduleConsumerGroupRebalanceTimeout`.

use alloc::sync::Arc;
use alloc::vec::Vec;

use eosim_types::group_log::{GroupLogRecord, MemberState};
use eosim_types::machine::MemberEvent;
use eosim_types::message::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use eosim_types::record::Payload;
use eosim_types::{Defect, ErrorCode, GroupId, TopicPartition};

use super::{GroupCoordinator, group_batch};
use crate::action::{Cx, PreparedWrite, ReplyTo};
use crate::classic::ClassicGroupState;
use crate::consumer::{ConsumerGroup, Transition, validate_heartbeat};
use crate::group_state::PersistedGroup;
use crate::shard::Group;
use crate::timer::TimerKey;

type Heartbeat = (i32, Transition, Option<Vec<TopicPartition>>);

impl GroupCoordinator {
    /// ConsumerGroupHeartbeat: joins, stays or leaves.
    pub fn consumer_group_heartbeat(
        &mut self,
        cx: &mut Cx<'_>,
        to: ReplyTo,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> Option<PreparedWrite> {
        let heartbeat_interval = cx.config.group_consumer_heartbeat_interval;
        let (partition, transition, assignment) = match self.transition(cx, request) {
            Ok(transition) => transition,
            Err(error) => {
                let (member_epoch, assignment) = (request.member_epoch, None);
                cx.reply(
                    to,
                    ConsumerGroupHeartbeatResponse {
                        error,
                        member_epoch,
                        heartbeat_interval,
                        assignment,
                    },
                );
                return None;
            }
        };
        let member = transition.group.members.get(&request.member);
        let member_epoch = member.map_or(request.member_epoch, |m| m.current.member_epoch);
        let response = ConsumerGroupHeartbeatResponse {
            error: ErrorCode::None,
            member_epoch,
            heartbeat_interval,
            assignment,
        };
        self.schedule_member(cx, partition, request.group, (request.member, &transition.group));
        let records = transition.records;
        self.write_or_reply(cx, partition, (to, response.into()), records)
    }

    fn transition(
        &mut self,
        cx: &mut Cx<'_>,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> Result<Heartbeat, ErrorCode> {
        validate_heartbeat(request)?;
        let joins = request.member_epoch == ConsumerGroupHeartbeatRequest::JOIN_EPOCH;
        let (partition, shard) = self.shard_of(cx, request.group)?;
        let mut transition = match shard.group(request.group) {
            Group::Consumer(group) => Transition::new(request.group, group.clone()),
            Group::Classic(group) if joins && group.is_in_state(ClassicGroupState::Empty) => {
                let mut transition = Transition::new(request.group, ConsumerGroup::default());
                if group.is_persisted() {
                    let tombstone =
                        GroupLogRecord::GroupMetadata { group: request.group, value: None };
                    transition.records.push(tombstone);
                }
                transition
            }
            Group::Absent if joins => Transition::new(request.group, ConsumerGroup::default()),
            Group::Classic(_) | Group::Absent => return Err(ErrorCode::GroupIdNotFound),
        };
        let before = transition.group.state_of(request.member);
        if let Some(state) = before {
            cx.env.takes(state, event_of(request));
        }
        let assignment = if request.member_epoch < 0 {
            transition.leave(cx.metadata, request)?;
            None
        } else {
            let repeats = !cx.env.on(Defect::UpstreamGroupAssignmentToldOnce);
            transition.heartbeat(cx.metadata, request, repeats)?
        };
        if shard.classic.contains_key(&request.group) {
            shard.forget(request.group);
        }
        let after = transition.group.state_of(request.member);
        if let Some(state) = after.filter(|_| after != before) {
            cx.env.enters(state);
        }
        Ok((partition, transition, assignment))
    }

    /// The member was heard of: its session begins anew. It has the time of a rebalance to give
    /// partitions up.
    fn schedule_member(
        &mut self,
        cx: &mut Cx<'_>,
        partition: i32,
        group_id: GroupId,
        (id, group): (u32, &ConsumerGroup),
    ) {
        let Some(shard) = self.shards.get_mut(&partition) else { return };
        let session = TimerKey::ConsumerSession(group_id, id);
        let rebalance = TimerKey::ConsumerRebalance(group_id, id);
        let Some(member) = group.members.get(&id) else {
            shard.timer.cancel(session);
            return shard.timer.cancel(rebalance);
        };
        shard.timer.schedule(session, cx.env.now + cx.config.group_consumer_session_timeout);
        if member.current.state == MemberState::UnrevokedPartitions {
            let at = cx.env.now + member.metadata.rebalance_timeout;
            shard.timer.schedule_if_absent(rebalance, at);
        } else {
            shard.timer.cancel(rebalance);
        }
    }

    /// Starts the timers of the members of every loaded group.
    pub(super) fn schedule_consumer_members(&mut self, cx: &mut Cx<'_>, partition: i32) {
        let Some(shard) = self.shards.get(&partition) else { return };
        let consumer = |(&id, group): (&GroupId, &PersistedGroup)| match group {
            PersistedGroup::Consumer(group) => Some((id, group.clone())),
            PersistedGroup::Classic(_) => None,
        };
        for (group_id, group) in shard.latest.groups.iter().filter_map(consumer).collect::<Vec<_>>()
        {
            for (&member, known) in &group.members {
                cx.env.takes(known.current.state, MemberEvent::Loaded);
                self.schedule_member(cx, partition, group_id, (member, &group));
            }
        }
    }

    /// A member was silent, or has not given partitions up in time.
    pub(super) fn fence_consumer_member(
        &mut self,
        cx: &mut Cx<'_>,
        partition: i32,
        (group, member): (GroupId, u32),
        why: MemberEvent,
    ) -> Option<PreparedWrite> {
        let shard = self.shards.get_mut(&partition)?;
        let Group::Consumer(known) = shard.group(group) else { return None };
        cx.env.takes(known.state_of(member)?, why);
        let mut transition = Transition::new(group, known.clone());
        transition.fence_member(cx.metadata, member);
        shard.timer.cancel(TimerKey::ConsumerSession(group, member));
        shard.timer.cancel(TimerKey::ConsumerRebalance(group, member));
        let batch = group_batch(cx, Payload::GroupLog(Arc::from(transition.records)), None);
        Some(PreparedWrite { partition, batch, then: Vec::new() })
    }
}

/// What a heartbeat is to a member that is known.
const fn event_of(request: &ConsumerGroupHeartbeatRequest) -> MemberEvent {
    match request.member_epoch {
        ConsumerGroupHeartbeatRequest::JOIN_EPOCH => MemberEvent::Joins,
        ConsumerGroupHeartbeatRequest::LEAVE_STATIC_EPOCH => MemberEvent::LeavesForAWhile,
        ..0 => MemberEvent::Leaves,
        _ => MemberEvent::Heartbeat,
    }
}
