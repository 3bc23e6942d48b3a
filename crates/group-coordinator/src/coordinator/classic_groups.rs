//! Requests and timers of classic groups.
//!
//! Counterpart: `GroupMetadataManager#classicGroupJoin`, `#classicGroupSync`,
//! `#classicGroupHeartbeat`, `#classicGroupLeave`.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use eosim_types::assignor::Assignment;
use eosim_types::group_log::GroupLogRecord;
use eosim_types::message::{
    GroupMember, HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, JoinGroupResponse,
    LeaveGroupRequest, LeaveGroupResponse, Response, SyncGroupRequest, SyncGroupResponse,
};
use eosim_types::record::Payload;
use eosim_types::{ErrorCode, GroupId};

use super::{GroupCoordinator, group_batch};
use crate::action::{Cx, PreparedWrite, ReplyTo, Waiting};
use crate::classic::{ClassicCx, ClassicGroup, ClassicWrite};
use crate::shard::{Group, Shard};

impl GroupCoordinator {
    /// JoinGroup. The answer comes when the join phase is over.
    pub fn join_group(
        &mut self,
        cx: &mut Cx<'_>,
        to: ReplyTo,
        request: &JoinGroupRequest,
    ) -> Option<PreparedWrite> {
        let prepared = self.prepare_join(cx, request);
        let (partition, tombstones) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                let response = JoinGroupResponse {
                    error,
                    generation: -1,
                    protocol: None,
                    leader: None,
                    member: request.member,
                    members: Vec::new(),
                };
                cx.reply(to, response);
                return None;
            }
        };
        let new_id = self.shards.get_mut(&partition)?.new_member_id();
        let write = self.with_classic(cx, partition, request.group, |group, cx| {
            group.join(cx, to, request, new_id)
        });
        if tombstones.is_empty() {
            return write;
        }
        assert!(write.is_none(), "a group that was empty writes nothing when somebody joins");
        let batch = group_batch(cx, Payload::GroupLog(Arc::from(tombstones)), None);
        Some(PreparedWrite { partition, batch, then: Vec::new() })
    }

    /// The partition, and the tombstones of an empty KIP-848 group that makes room.
    fn prepare_join(
        &mut self,
        cx: &Cx<'_>,
        request: &JoinGroupRequest,
    ) -> Result<(i32, Vec<GroupLogRecord>), ErrorCode> {
        let sessions = cx.config.group_min_session_timeout..=cx.config.group_max_session_timeout;
        let (partition, shard) = self.shard_of(cx, request.group)?;
        if !sessions.contains(&request.session_timeout) {
            return Err(ErrorCode::InvalidSessionTimeout);
        }
        let tombstones = match shard.group(request.group) {
            Group::Absent if request.member.is_some() => return Err(ErrorCode::UnknownMemberId),
            Group::Consumer(group) if !group.members.is_empty() => {
                return Err(ErrorCode::InconsistentGroupProtocol);
            }
            Group::Consumer(_) => super::deletion::consumer_group_tombstones(request.group),
            Group::Absent | Group::Classic(_) => Vec::new(),
        };
        Ok((partition, tombstones))
    }

    /// SyncGroup. The answer comes when the leader's assignment is in the log.
    pub fn sync_group(
        &mut self,
        cx: &mut Cx<'_>,
        to: ReplyTo,
        request: &SyncGroupRequest,
    ) -> Option<PreparedWrite> {
        match self.classic_partition(cx, request.group) {
            Ok(partition) => self.with_classic(cx, partition, request.group, |group, cx| {
                group.sync(cx, to, request)
            }),
            Err(error) => {
                cx.reply(to, SyncGroupResponse { error, assignment: Vec::new() });
                None
            }
        }
    }

    /// Heartbeat.
    pub fn heartbeat(&mut self, cx: &mut Cx<'_>, to: ReplyTo, request: &HeartbeatRequest) {
        let partition = match self.classic_partition(cx, request.group) {
            Ok(partition) => partition,
            Err(error) => return cx.reply(to, HeartbeatResponse { error }),
        };
        let mut beat = Ok(());
        self.with_classic(cx, partition, request.group, |group, cx| {
            beat = group.heartbeat(cx, request.member);
            None
        });
        let response = HeartbeatResponse { error: beat.err().unwrap_or(ErrorCode::None) };
        self.write_or_reply(cx, partition, (to, response.into()), Vec::new());
    }

    /// LeaveGroup.
    pub fn leave_group(
        &mut self,
        cx: &mut Cx<'_>,
        to: ReplyTo,
        request: &LeaveGroupRequest,
    ) -> Option<PreparedWrite> {
        let response = |error, members| Response::from(LeaveGroupResponse { error, members });
        let partition = match self.classic_partition(cx, request.group) {
            Ok(partition) => partition,
            Err(ErrorCode::UnknownMemberId) => {
                let unknown = request.members.iter().map(|_| ErrorCode::UnknownMemberId);
                cx.reply(to, response(ErrorCode::None, unknown.collect()));
                return None;
            }
            Err(error) => {
                cx.reply(to, response(error, Vec::new()));
                return None;
            }
        };
        let mut outcomes = Vec::new();
        let write = self.with_classic(cx, partition, request.group, |group, cx| {
            let (members, write) = group.leave(cx, &request.members);
            outcomes = members;
            write
        });
        let response = response(ErrorCode::None, outcomes);
        let Some(mut write) = write else {
            return self.write_or_reply(cx, partition, (to, response), Vec::new());
        };
        write.then.push(Waiting::Reply { to, response });
        Some(write)
    }

    /// The partition of a group that is a classic one.
    fn classic_partition(&mut self, cx: &Cx<'_>, group: GroupId) -> Result<i32, ErrorCode> {
        let (partition, shard) = self.shard_of(cx, group)?;
        match shard.group(group) {
            Group::Classic(_) => Ok(partition),
            Group::Absent | Group::Consumer(_) => Err(ErrorCode::UnknownMemberId),
        }
    }

    /// A plain commit was heard of a member (G-OFF-4).
    pub(super) fn refresh_session(&mut self, cx: &mut Cx<'_>, group: GroupId, who: GroupMember) {
        let partition = Self::partition_of(cx.names, cx.metadata, group);
        if self.shards.get(&partition).is_some_and(|shard| shard.classic.contains_key(&group)) {
            self.with_classic(cx, partition, group, |group, cx| {
                group.on_plain_commit(cx, who);
                None
            });
        }
    }

    /// The assignment of a generation is committed, or never will be.
    pub(super) fn on_assignment_written(
        &mut self,
        cx: &mut Cx<'_>,
        partition: i32,
        (group, generation): (GroupId, i32),
        written: Result<Assignment, ErrorCode>,
    ) {
        let mapped = |error| crate::txn_offset_commit_error(error, i16::MAX);
        let written = written.map_err(mapped);
        self.with_classic(cx, partition, group, |group, cx| {
            group.on_assignment_written(cx, generation, written);
            None
        });
    }

    /// Members that wait for phases that nobody here will end.
    pub(super) fn refuse_classic_members(&mut self, cx: &mut Cx<'_>, partition: i32) {
        for group in self.classic_groups(partition) {
            self.with_classic(cx, partition, group, |group, cx| {
                group.refuse_all(cx, ErrorCode::NotCoordinator);
                None
            });
        }
    }

    /// Groups with phases.
    pub(super) fn classic_groups(&self, partition: i32) -> Vec<GroupId> {
        self.shards
            .get(&partition)
            .map(|shard| shard.classic.keys().copied().collect())
            .unwrap_or_default()
    }

    /// Calls `f` with a classic group, which exists from then on.
    pub(super) fn with_classic(
        &mut self,
        cx: &mut Cx<'_>,
        partition: i32,
        group_id: GroupId,
        f: impl FnOnce(&mut ClassicGroup, &mut ClassicCx<'_>) -> Option<ClassicWrite>,
    ) -> Option<PreparedWrite> {
        let shard = self.shards.get_mut(&partition)?;
        let mut group = take_classic(shard, group_id);
        let mut classic_cx = ClassicCx {
            group_id,
            now: cx.env.now,
            clock_ms: cx.env.clock_ms(),
            config: cx.config,
            timer: &mut shard.timer,
            actions: &mut *cx.actions,
            marks: &mut *cx.env.marks,
        };
        let write = f(&mut group, &mut classic_cx);
        shard.classic.insert(group_id, group);
        self.arm(cx);
        let ClassicWrite { value, then } = write?;
        let records = vec![GroupLogRecord::GroupMetadata { group: group_id, value: Some(value) }];
        let batch = group_batch(cx, Payload::GroupLog(Arc::from(records)), None);
        Some(PreparedWrite { partition, batch, then })
    }
}

fn take_classic(shard: &mut Shard, group: GroupId) -> ClassicGroup {
    if let Some(group) = shard.classic.remove(&group) {
        return group;
    }
    match shard.group(group) {
        Group::Classic(known) => known.into_owned(),
        Group::Absent | Group::Consumer(_) => ClassicGroup::from_value(&Default::default()),
    }
}
