//! A member of a classic group (`AbstractCoordinator`, `ConsumerCoordinator`), with an assignor
//! that takes everything away before each rebalance (`RebalanceProtocol.EAGER`).
//!
//! Invariants: an answer counts only in the generation for which it was asked; while the member
//! has not joined it sends no heartbeats.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use eosim_actor::Cx;
use eosim_types::assignor::{Assignment, Assignor};
use eosim_types::message::{
    GroupMember, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest,
    Response, SyncGroupRequest,
};
use eosim_types::{Duration, ErrorCode, GroupId, Instant, TopicPartition};

use super::membership::{Member, Membership, RebalanceCallback};
use super::{Consumer, InFlight};
use crate::exception::{Exception, ExceptionClass};
use crate::network_client::{Answer, ClientOut};

/// The version of JoinGroup: from 4 on a new member must come back with its id.
const JOIN_GROUP_VERSION: i16 = 9;
/// A JoinGroup may take longer than the rebalance it waits for (`JOIN_GROUP_TIMEOUT_LAPSE`).
const JOIN_GROUP_TIMEOUT_LAPSE: Duration = Duration::from_millis(5_000);

/// How far a member has come (`AbstractCoordinator.MemberState`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum MemberState {
    Unjoined,
    PreparingRebalance,
    CompletingRebalance,
    Stable,
}

/// A member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ClassicMember {
    state: MemberState,
    /// Member id and generation; both may be unknown.
    generation: GroupMember,
    rejoin_needed: bool,
    /// Partitions have to be taken away before the next JoinGroup.
    needs_join_prepare: bool,
    /// A JoinGroup or SyncGroup is on the wire.
    is_joining: bool,
    /// What SyncGroup gave, until `poll()` takes it.
    joined: Option<Vec<TopicPartition>>,
    /// No JoinGroup before.
    retry_at: Instant,
    heartbeat_in_flight: bool,
    heartbeat_at: Instant,
    /// Nothing was heard of the coordinator until then: it may be another.
    session_deadline: Instant,
}

/// What `poll()` does next for the membership.
enum Step {
    Nothing,
    Complete(Vec<TopicPartition>),
    Prepare,
    Join,
}

impl ClassicMember {
    pub(super) const fn new(instance: Option<u32>) -> Self {
        Self {
            state: MemberState::Unjoined,
            generation: GroupMember { instance, ..GroupMember::NONE },
            rejoin_needed: true,
            needs_join_prepare: true,
            is_joining: false,
            joined: None,
            retry_at: Instant::START,
            heartbeat_in_flight: false,
            heartbeat_at: Instant::FAR,
            session_deadline: Instant::FAR,
        }
    }

    fn next_step(&mut self, now: Instant) -> Step {
        if let Some(assignment) = self.joined.take() {
            return Step::Complete(assignment);
        }
        if !self.rejoin_needed || self.is_joining {
            return Step::Nothing;
        }
        if core::mem::take(&mut self.needs_join_prepare) {
            return Step::Prepare;
        }
        if now >= self.retry_at { Step::Join } else { Step::Nothing }
    }

    const fn has_joined(&self) -> bool {
        matches!(self.state, MemberState::CompletingRebalance | MemberState::Stable)
    }

    /// `resetStateAndRejoin`.
    fn reset(&mut self, forget_member_id: bool) {
        self.state = MemberState::Unjoined;
        let GroupMember { member, instance, .. } = self.generation;
        let member = member.filter(|_| !forget_member_id);
        self.generation = GroupMember { member, instance, ..GroupMember::NONE };
        self.rejoin_needed = true;
        self.joined = None;
    }

    /// The generation or the member's id is unknown: it is no member any more.
    const fn is_out(&self) -> bool {
        self.generation.generation_or_epoch < 0 || self.generation.member.is_none()
    }

    /// Who commits; only while the generation is complete (`generationIfStable`, K-COM-5).
    pub(super) fn committer(&self) -> Result<GroupMember, Exception> {
        match self.state {
            MemberState::Stable => Ok(self.generation),
            MemberState::PreparingRebalance | MemberState::CompletingRebalance => {
                Err(Exception::of(ErrorCode::RebalanceInProgress))
            }
            MemberState::Unjoined => Err(Exception::new(ExceptionClass::CommitFailed)),
        }
    }

    pub(super) fn next_wake(&self) -> Instant {
        let beats = self.has_joined() && !self.heartbeat_in_flight;
        let heartbeat = if beats { self.heartbeat_at } else { Instant::FAR };
        let session = if self.has_joined() { self.session_deadline } else { Instant::FAR };
        heartbeat.min(session).min(self.retry_at)
    }
}

impl Consumer {
    fn classic(&mut self) -> Option<&mut ClassicMember> {
        match self.membership.as_mut() {
            Some(Membership { member: Member::Classic(member), .. }) => Some(member),
            _ => None,
        }
    }

    /// `joinGroupIfNeeded`.
    pub(super) fn poll_classic_membership(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        if self.member_coordinator(cx, out).is_none() || !self.knows_subscribed_topics() {
            return;
        }
        let Some(member) = self.classic() else { return };
        match member.next_step(cx.now()) {
            Step::Nothing => {}
            Step::Complete(assignment) => self.on_join_complete(assignment),
            Step::Prepare => self.on_join_prepare(cx, out),
            Step::Join => self.send_join_group(cx, out),
        }
    }

    fn knows_subscribed_topics(&mut self) -> bool {
        let Some(membership) = &self.membership else { return false };
        let image = self.metadata.image();
        let is_known = |topic| image.is_some_and(|image| image.partition_count(topic) > 0);
        let known = membership.topics.iter().all(|&topic| is_known(topic));
        if !known {
            self.metadata.request_update();
        }
        known
    }

    fn on_join_complete(&mut self, assignment: Vec<TopicPartition>) {
        let Some(member) = self.classic() else { return };
        member.needs_join_prepare = true;
        let generation = member.generation;
        if let Some(membership) = self.membership.as_mut() {
            membership.group_metadata = generation;
        }
        self.assign_from_subscribed(&assignment);
        self.call_back(RebalanceCallback::Assigned(assignment));
    }

    /// Everything is taken away: revoked, or lost if the member is none any more.
    fn on_join_prepare(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let owned = self.assignment();
        let is_out = self.classic().is_some_and(|member| member.is_out());
        if owned.is_empty() {
            return self.poll_classic_membership(cx, out);
        }
        self.mark_pending_revocation(&owned);
        if !self.auto_committed_before_rebalance(cx, out) {
            if let Some(member) = self.classic() {
                member.needs_join_prepare = true;
            }
            return;
        }
        let callback = if is_out { RebalanceCallback::Lost } else { RebalanceCallback::Revoked };
        self.call_back(callback(owned));
    }

    fn send_join_group(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let (Some(group), Some(node)) = (self.config.group, self.offsets.coordinator()) else {
            return;
        };
        let rebalance_timeout = self.config.max_poll_interval;
        let longest = self.config.request_timeout.max(rebalance_timeout + JOIN_GROUP_TIMEOUT_LAPSE);
        let subscription = self.membership.as_ref().map_or(Vec::new(), |m| m.topics.clone());
        let session_timeout = self.config.session_timeout;
        let Some(member) = self.classic() else { return };
        member.state = MemberState::PreparingRebalance;
        member.is_joining = true;
        let request = JoinGroupRequest {
            version: JOIN_GROUP_VERSION,
            group,
            session_timeout,
            rebalance_timeout,
            member: member.generation.member,
            instance: member.generation.instance,
            protocols: vec![Assignor::Range],
            subscription,
        };
        let deadline = cx.now() + longest;
        self.client.send_until(node, request.into(), InFlight::JoinGroup, deadline, out);
    }

    /// `JoinGroupResponseHandler`.
    pub(super) fn joined_group(&mut self, answer: Answer, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let (interval, session) = (self.config.heartbeat_interval, self.config.session_timeout);
        let Some(member) = self.classic() else { return };
        member.is_joining = false;
        let Answer::Response(Response::JoinGroup(response)) = answer else {
            return self.join_failed(None, cx);
        };
        match response.error {
            ErrorCode::None if member.state != MemberState::PreparingRebalance => {}
            ErrorCode::None => {
                member.state = MemberState::CompletingRebalance;
                member.generation = GroupMember {
                    generation_or_epoch: response.generation,
                    member: response.member,
                    instance: member.generation.instance,
                };
                member.heartbeat_at = cx.now() + interval;
                member.session_deadline = cx.now() + session;
                self.send_sync_group(&response, cx, out);
            }
            ErrorCode::MemberIdRequired => {
                member.state = MemberState::Unjoined;
                member.generation.member = response.member;
            }
            error => {
                if error == ErrorCode::UnknownMemberId {
                    member.reset(true);
                }
                self.join_failed(Some(error), cx);
            }
        }
    }

    /// The leader shares out, the others ask what they get.
    fn send_sync_group(
        &mut self,
        joined: &JoinGroupResponse,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) {
        let leads = joined.leader.is_some() && joined.leader == joined.member;
        let assignments = if leads { self.assign_members(joined) } else { Vec::new() };
        let (Some(group), Some(node)) = (self.config.group, self.offsets.coordinator()) else {
            return;
        };
        let Some(member) = self.classic() else { return };
        member.is_joining = true;
        let generation = member.generation;
        let request = SyncGroupRequest { group, member: generation, assignments };
        self.client.send(node, request.into(), InFlight::SyncGroup(generation), cx.now(), out);
    }

    /// `ConsumerCoordinator#onLeaderElected`.
    fn assign_members(&self, joined: &JoinGroupResponse) -> Vec<(u32, Vec<TopicPartition>)> {
        let subscribed = joined.members.iter().map(|m| (m.member, m.subscription.clone()));
        let subscriptions: BTreeMap<_, _> = subscribed.collect();
        let image = self.metadata.image();
        let mut topics: Vec<_> = subscriptions.values().flatten().copied().collect();
        topics.sort_unstable();
        topics.dedup();
        let counted = topics.into_iter().filter_map(|topic| {
            let count = image?.partition_count(topic);
            (count > 0).then_some((topic, count))
        });
        let counted: Vec<_> = counted.collect();
        let assignor = joined.protocol.unwrap_or(Assignor::Range);
        assignor.assign(&subscriptions, &counted, &Assignment::new()).into_iter().collect()
    }

    /// `SyncGroupResponseHandler`.
    pub(super) fn synced_group(&mut self, sent: GroupMember, answer: Answer, cx: &mut Cx<'_>) {
        let Some(member) = self.classic() else { return };
        member.is_joining = false;
        let is_current = member.generation == sent;
        let Answer::Response(Response::SyncGroup(response)) = answer else {
            return self.join_failed(None, cx);
        };
        match response.error {
            ErrorCode::None if is_current && member.state == MemberState::CompletingRebalance => {
                member.state = MemberState::Stable;
                member.rejoin_needed = false;
                member.joined = Some(response.assignment);
            }
            ErrorCode::None => member.rejoin_needed = true,
            error => {
                if is_current && matches!(error, ErrorCode::UnknownMemberId) {
                    member.reset(true);
                } else if is_current && matches!(error, ErrorCode::IllegalGeneration) {
                    member.reset(false);
                }
                self.join_failed(Some(error), cx);
            }
        }
    }

    /// What is done about a failed JoinGroup or SyncGroup; `None` is a broken connection.
    fn join_failed(&mut self, error: Option<ErrorCode>, cx: &mut Cx<'_>) {
        use ErrorCode as E;
        let retry_at = cx.now() + self.config.retry_backoff;
        let Some(member) = self.classic() else { return };
        member.rejoin_needed = true;
        match error {
            None | Some(E::NotCoordinator | E::CoordinatorNotAvailable) => {
                member.retry_at = retry_at;
                self.offsets.forget_coordinator();
            }
            Some(E::UnknownMemberId | E::IllegalGeneration | E::RebalanceInProgress) => {}
            Some(error) if error.is_retriable() => member.retry_at = retry_at,
            Some(error) => self.membership_failed(error),
        }
    }

    /// The next `poll()` throws.
    pub(super) fn membership_failed(&mut self, error: ErrorCode) {
        if let Some(membership) = self.membership.as_mut() {
            membership.error = Some(Exception::of(error));
        }
    }

    /// `HeartbeatThread`.
    pub(super) fn keep_classic_membership(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let now = cx.now();
        let polls_too_late = self.poll_timer_is_expired(now);
        let session = self.config.session_timeout;
        let Some(member) = self.classic().filter(|member| member.has_joined()) else { return };
        if now >= member.session_deadline {
            member.session_deadline = now + session;
            self.offsets.forget_coordinator();
        }
        if polls_too_late {
            return self.leave_classic_group(cx, out);
        }
        let Some(node) = self.member_coordinator(cx, out) else { return };
        let (Some(group), interval) = (self.config.group, self.config.heartbeat_interval) else {
            return;
        };
        let Some(member) = self.classic() else { return };
        if member.heartbeat_in_flight || now < member.heartbeat_at {
            return;
        }
        member.heartbeat_in_flight = true;
        member.heartbeat_at = now + interval;
        let generation = member.generation;
        let request = HeartbeatRequest { group, member: generation };
        self.client.send(node, request.into(), InFlight::Heartbeat(generation), now, out);
    }

    /// `HeartbeatResponseHandler`.
    pub(super) fn heartbeat_answered(
        &mut self,
        sent: GroupMember,
        answer: &Answer,
        cx: &mut Cx<'_>,
    ) {
        use ErrorCode as E;
        let session_deadline = cx.now() + self.config.session_timeout;
        let retry_at = cx.now() + self.config.retry_backoff;
        let Some(member) = self.classic() else { return };
        member.heartbeat_in_flight = false;
        let is_current = member.generation == sent;
        let Answer::Response(Response::Heartbeat(response)) = answer else {
            member.heartbeat_at = retry_at;
            return self.offsets.forget_coordinator();
        };
        match response.error {
            E::None => member.session_deadline = session_deadline,
            E::NotCoordinator | E::CoordinatorNotAvailable => {
                member.heartbeat_at = retry_at;
                self.offsets.forget_coordinator();
            }
            E::RebalanceInProgress => {
                member.session_deadline = session_deadline;
                member.rejoin_needed |= member.state == MemberState::Stable;
            }
            E::IllegalGeneration | E::UnknownMemberId | E::FencedInstanceId if is_current => {
                member.reset(response.error != E::IllegalGeneration);
                if response.error == E::FencedInstanceId {
                    self.membership_failed(response.error);
                }
            }
            E::IllegalGeneration | E::UnknownMemberId | E::FencedInstanceId => {}
            error if error.is_retriable() => member.heartbeat_at = retry_at,
            error => self.membership_failed(error),
        }
    }

    /// `maybeLeaveGroup`: by its own will, or because it polls too late. A static member says
    /// nothing: its place is kept until its session is over.
    pub(super) fn leave_classic_group(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let coordinator = self.offsets.coordinator();
        let Some(member) = self.classic() else { return };
        let may_be_known =
            member.state != MemberState::Unjoined && member.generation.instance.is_none();
        let id = member.generation.member.filter(|_| may_be_known);
        member.reset(true);
        if let (Some(node), Some(id), Some(group)) = (coordinator, id, self.config.group) {
            let request = leave_request(group, id);
            self.client.send(node, request.into(), InFlight::LeaveGroup, cx.now(), out);
        }
    }
}

fn leave_request(group: GroupId, member: u32) -> LeaveGroupRequest {
    LeaveGroupRequest { group, members: vec![(Some(member), None)] }
}
