//! A member of a KIP-848 group (`ConsumerMembershipManager`, `ConsumerHeartbeatRequestManager`).
//!
//! Invariants: one heartbeat at a time; a new assignment is acknowledged only after the
//! application has let go of what it lost; a fenced member joins again only after that.

use alloc::vec::Vec;

use eosim_actor::Cx;
use eosim_types::message::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, GroupMember, Response,
};
use eosim_types::{Duration, ErrorCode, Instant, TopicPartition};

use super::membership::{Member, Membership, RebalanceCallback};
use super::{Consumer, InFlight};
use crate::network_client::{Answer, ClientOut};

/// How far a member has come (`org.apache.kafka.clients.consumer.internals.MemberState`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum MemberState {
    /// It has to be taken in.
    Joining,
    /// Its assignment is not the one that it was given.
    Reconciling,
    /// The coordinator does not know yet that it is.
    Acknowledging,
    /// It has what it shall have.
    Stable,
    /// The coordinator has put it out.
    Fenced,
    /// It has left because it polled too late.
    Stale,
    /// It can only be closed.
    Fatal,
}

/// A member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ConsumerMember {
    id: u32,
    /// A static member has one.
    instance: Option<u32>,
    epoch: i32,
    state: MemberState,
    /// What the coordinator wants it to have.
    target: Vec<TopicPartition>,
    /// What it said last that it owns; `None` if everything has to be said.
    said: Option<Vec<TopicPartition>>,
    in_flight: bool,
    interval: Duration,
    heartbeat_at: Instant,
    /// Nothing is sent before.
    retry_at: Instant,
}

impl ConsumerMember {
    pub(super) const fn new(id: u32, instance: Option<u32>) -> Self {
        Self {
            id,
            instance,
            epoch: ConsumerGroupHeartbeatRequest::JOIN_EPOCH,
            state: MemberState::Joining,
            target: Vec::new(),
            said: None,
            in_flight: false,
            interval: Duration::ZERO,
            heartbeat_at: Instant::START,
            retry_at: Instant::START,
        }
    }

    /// It is no member any more.
    const fn is_out(&self) -> bool {
        matches!(self.state, MemberState::Fenced | MemberState::Stale)
    }

    /// Nothing of the old assignment is left: joins anew if it was put out.
    pub(super) fn rejoin_if_out(&mut self, now: Instant) {
        if self.is_out() {
            let (in_flight, interval) = (self.in_flight, self.interval);
            *self =
                Self { in_flight, interval, retry_at: now, ..Self::new(self.id, self.instance) };
        }
    }

    /// How it introduces itself in what it asks about offsets (`MemberInfo`); not before it has an
    /// epoch.
    pub(super) fn member_info(&self) -> GroupMember {
        if self.epoch <= 0 || self.is_out() || self.state == MemberState::Fatal {
            return GroupMember::NONE;
        }
        let (member, instance) = (Some(self.id), self.instance);
        GroupMember { generation_or_epoch: self.epoch, member, instance }
    }

    /// When the next heartbeat is due, the one on the wire apart.
    fn due(&self) -> Instant {
        match self.state {
            MemberState::Joining | MemberState::Acknowledging => self.retry_at,
            MemberState::Reconciling | MemberState::Stable => self.heartbeat_at.max(self.retry_at),
            MemberState::Fenced | MemberState::Stale | MemberState::Fatal => Instant::FAR,
        }
    }

    pub(super) fn next_wake(&self) -> Instant {
        if self.in_flight { Instant::FAR } else { self.due() }
    }

    /// `onHeartbeatSuccess`.
    fn accept(&mut self, response: ConsumerGroupHeartbeatResponse, owned: &[TopicPartition]) {
        self.epoch = response.member_epoch;
        let joins = self.state == MemberState::Joining;
        if let Some(target) = response.assignment {
            self.target = target;
            if joins || self.target != owned {
                self.state = MemberState::Reconciling;
            }
        }
    }
}

impl Consumer {
    fn consumer_member(&mut self) -> Option<&mut ConsumerMember> {
        match self.membership.as_mut() {
            Some(Membership { member: Member::Consumer(member), .. }) => Some(member),
            _ => None,
        }
    }

    fn sorted_assignment(&self) -> Vec<TopicPartition> {
        let mut owned = self.assignment();
        owned.sort_unstable();
        owned
    }

    /// The part of the application's thread: callbacks, and the assignment between them
    /// (`maybeReconcile`, `transitionToFenced`, `maybeRejoinStaleMember`).
    pub(super) fn poll_consumer_membership(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let owned = self.sorted_assignment();
        let Some(member) = self.consumer_member() else { return };
        if member.is_out() {
            if owned.is_empty() {
                return member.rejoin_if_out(cx.now());
            }
            return self.call_back(RebalanceCallback::Lost(owned));
        }
        if member.state != MemberState::Reconciling {
            return;
        }
        let target = member.target.clone();
        let (kept, revoked): (Vec<_>, Vec<_>) =
            owned.into_iter().partition(|partition| target.contains(partition));
        let added: Vec<_> = target.iter().copied().filter(|tp| !kept.contains(tp)).collect();
        self.mark_pending_revocation(&revoked);
        if !revoked.is_empty() {
            if self.auto_committed_before_rebalance(cx, out) {
                self.call_back(RebalanceCallback::Revoked(revoked));
            }
            return;
        }
        if !added.is_empty() {
            self.assign_from_subscribed(&target);
            return self.call_back(RebalanceCallback::Assigned(added));
        }
        let Some(member) = self.consumer_member() else { return };
        member.state = MemberState::Acknowledging;
        self.keep_consumer_membership(cx, out);
    }

    /// The part of the background thread (`ConsumerHeartbeatRequestManager#poll`).
    pub(super) fn keep_consumer_membership(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let now = cx.now();
        let polls_too_late = self.poll_timer_is_expired(now);
        let Some(member) = self.consumer_member() else { return };
        if polls_too_late && !member.is_out() {
            return self.leave_consumer_group(cx, out);
        }
        if member.next_wake() > now {
            return;
        }
        let Some(node) = self.member_coordinator(cx, out) else { return };
        let owned = self.sorted_assignment();
        let Some(request) = self.consumer_group_heartbeat(owned) else { return };
        let in_flight = InFlight::ConsumerGroupHeartbeat(request.member_epoch);
        self.client.send(node, request.into(), in_flight, now, out);
    }

    /// What has changed since the last heartbeat, or everything (`HeartbeatState`).
    fn consumer_group_heartbeat(
        &mut self,
        owned: Vec<TopicPartition>,
    ) -> Option<ConsumerGroupHeartbeatRequest> {
        let group = self.config.group?;
        let rebalance_timeout = self.config.max_poll_interval;
        let topics = self.membership.as_ref()?.topics.clone();
        let member = self.consumer_member()?;
        let says_all = member.said.is_none() || member.state == MemberState::Joining;
        let is_new =
            member.state == MemberState::Acknowledging || member.said.as_ref() != Some(&owned);
        let request = ConsumerGroupHeartbeatRequest {
            group,
            member: member.id,
            member_epoch: member.epoch,
            instance: member.instance,
            rebalance_timeout: says_all.then_some(rebalance_timeout),
            subscribed_topics: says_all.then_some(topics),
            server_assignor: None,
            topic_partitions: (says_all || is_new).then(|| owned.clone()),
        };
        member.in_flight = true;
        if member.state == MemberState::Acknowledging {
            let is_reconciled = member.target == owned;
            member.state =
                if is_reconciled { MemberState::Stable } else { MemberState::Reconciling };
        }
        member.said = Some(owned);
        Some(request)
    }

    pub(super) fn consumer_heartbeat_answered(
        &mut self,
        sent_epoch: i32,
        answer: Answer,
        cx: &mut Cx<'_>,
    ) {
        let owned = self.sorted_assignment();
        let Some(member) = self.consumer_member() else { return };
        if sent_epoch < 0 {
            return;
        }
        member.in_flight = false;
        let Answer::Response(Response::ConsumerGroupHeartbeat(response)) = answer else {
            return self.consumer_heartbeat_failed(None, cx);
        };
        if member.is_out() || member.epoch != sent_epoch {
            return;
        }
        if !response.error.is_none() {
            return self.consumer_heartbeat_failed(Some(response.error), cx);
        }
        member.interval = response.heartbeat_interval;
        member.heartbeat_at = cx.now() + member.interval;
        member.accept(response, &owned);
        let (generation_or_epoch, instance) = (member.epoch, member.instance);
        let member = Some(member.id);
        if let Some(membership) = self.membership.as_mut() {
            membership.group_metadata = GroupMember { generation_or_epoch, member, instance };
        }
    }

    /// `onErrorResponse`, `onHeartbeatFailure`; `None` is a broken connection.
    fn consumer_heartbeat_failed(&mut self, error: Option<ErrorCode>, cx: &mut Cx<'_>) {
        use ErrorCode as E;
        let retry_at = cx.now() + self.config.retry_backoff;
        let Some(member) = self.consumer_member() else { return };
        member.said = None;
        member.retry_at = retry_at;
        member.heartbeat_at = retry_at;
        match error {
            None | Some(E::NotCoordinator | E::CoordinatorNotAvailable) => {
                self.offsets.forget_coordinator();
            }
            Some(E::FencedMemberEpoch | E::UnknownMemberId) => {
                member.state = MemberState::Fenced;
                member.epoch = ConsumerGroupHeartbeatRequest::JOIN_EPOCH;
            }
            Some(error) if error.is_retriable() => {}
            Some(error) => {
                member.state = MemberState::Fatal;
                self.membership_failed(error);
            }
        }
    }

    /// A heartbeat with epoch -1, or -2 of a static member, whose place is kept; by its own will or
    /// because it polls too late.
    pub(super) fn leave_consumer_group(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let (coordinator, group) = (self.offsets.coordinator(), self.config.group);
        let Some(member) = self.consumer_member() else { return };
        let was_in = member.epoch > 0 && !member.is_out() && member.state != MemberState::Fatal;
        member.state = MemberState::Stale;
        let (member, instance) = (member.id, member.instance);
        let (Some(node), Some(group), true) = (coordinator, group, was_in) else { return };
        let member_epoch = match instance {
            None => ConsumerGroupHeartbeatRequest::LEAVE_EPOCH,
            Some(_) => ConsumerGroupHeartbeatRequest::LEAVE_STATIC_EPOCH,
        };
        let request = ConsumerGroupHeartbeatRequest {
            group,
            member,
            member_epoch,
            instance,
            rebalance_timeout: None,
            subscribed_topics: None,
            server_assignor: None,
            topic_partitions: None,
        };
        let in_flight = InFlight::ConsumerGroupHeartbeat(member_epoch);
        self.client.send(node, request.into(), in_flight, cx.now(), out);
    }
}
