//! Membership of a group, whichever protocol it speaks (`ConsumerRebalanceListenerInvoker`,
//! `ConsumerGroupMetadata`).
//!
//! What the background thread of the real client does goes on with every event; what its
//! application's thread does goes on in `poll()` only, and stands still while a callback runs.
//! Invariants: a partition is taken away only after its callback returned; what was asked of
//! committed offsets before a change of the assignment is not used after it.

use alloc::vec::Vec;

use eosim_actor::Cx;
use eosim_types::config::GroupProtocol;
use eosim_types::message::GroupMember;
use eosim_types::observation::{Observed, Rebalance};
use eosim_types::{BrokerId, GroupId, Instant, Topic, TopicPartition};

use super::Consumer;
use super::classic_member::ClassicMember;
use super::consumer_member::ConsumerMember;
use crate::exception::Exception;
use crate::network_client::ClientOut;

/// A call of `ConsumerRebalanceListener`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RebalanceCallback {
    /// `onPartitionsAssigned()`: these came.
    Assigned(Vec<TopicPartition>),
    /// `onPartitionsRevoked()`: these go when it returns.
    Revoked(Vec<TopicPartition>),
    /// `onPartitionsLost()`: somebody else may have these already.
    Lost(Vec<TopicPartition>),
}

impl RebalanceCallback {
    /// Which partitions it is about.
    #[must_use]
    pub fn partitions(&self) -> &[TopicPartition] {
        let (Self::Assigned(partitions) | Self::Revoked(partitions) | Self::Lost(partitions)) =
            self;
        partitions
    }

    /// What befell a member of `group`, as the checker is told.
    #[must_use]
    pub fn observed(&self, group: GroupId) -> Observed {
        let callback = match self {
            Self::Assigned(_) => Rebalance::Assigned,
            Self::Revoked(_) => Rebalance::Revoked,
            Self::Lost(_) => Rebalance::Lost,
        };
        Observed::Rebalanced { group, callback, partitions: self.partitions().to_vec() }
    }
}

/// The member, by protocol.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Member {
    /// `group.protocol=classic`.
    Classic(ClassicMember),
    /// `group.protocol=consumer`.
    Consumer(ConsumerMember),
}

/// What a subscribed consumer knows of its group.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Membership {
    /// What is subscribed to, sorted.
    pub(super) topics: Vec<Topic>,
    pub(super) member: Member,
    /// Runs on the application's thread.
    pub(super) callback: Option<RebalanceCallback>,
    /// The last `poll()`.
    pub(super) last_poll: Instant,
    pub(super) group_metadata: GroupMember,
    /// What the next `poll()` throws.
    pub(super) error: Option<Exception>,
}

impl Consumer {
    /// `subscribe(topics)`. `member` becomes the id of a member of the newer protocol; it must be
    /// unlike that of every other consumer.
    pub fn subscribe(&mut self, topics: &[Topic], member: u32, now: Instant) {
        let mut topics = topics.to_vec();
        topics.sort_unstable();
        let instance = self.config.group_instance;
        self.auto_commit.next = now + self.config.auto_commit_interval;
        self.membership = Some(Membership {
            topics,
            member: match self.config.group_protocol {
                GroupProtocol::Classic => Member::Classic(ClassicMember::new(instance)),
                GroupProtocol::Consumer => Member::Consumer(ConsumerMember::new(member, instance)),
            },
            callback: None,
            last_poll: now,
            group_metadata: GroupMember { instance, ..GroupMember::NONE },
            error: None,
        });
    }

    /// `groupMetadata()` (K-CTP-1). A classic member's changes in `poll()` only, that of the newer
    /// protocol with every heartbeat's answer.
    #[must_use]
    pub fn group_metadata(&self) -> GroupMember {
        self.membership.as_ref().map_or(GroupMember::NONE, |membership| membership.group_metadata)
    }

    /// How a member of the newer protocol introduces itself when it asks about offsets.
    pub(super) fn member_info(&self) -> GroupMember {
        match self.membership.as_ref().map(|membership| &membership.member) {
            Some(Member::Consumer(member)) => member.member_info(),
            _ => GroupMember::NONE,
        }
    }

    /// Who commits offsets.
    pub(super) fn committer(&self) -> Result<GroupMember, Exception> {
        match self.membership.as_ref().map(|membership| &membership.member) {
            Some(Member::Classic(member)) => member.committer(),
            Some(Member::Consumer(member)) => Ok(member.member_info()),
            None => Ok(GroupMember::NONE),
        }
    }

    /// `assignment()`.
    #[must_use]
    pub fn assignment(&self) -> Vec<TopicPartition> {
        self.assigned.iter().map(|assigned| assigned.partition).collect()
    }

    /// The callback that runs; `poll()` does not go on before [`Self::callback_returned`].
    #[must_use]
    pub fn callback(&self) -> Option<&RebalanceCallback> {
        self.membership.as_ref()?.callback.as_ref()
    }

    /// The callback has returned.
    pub fn callback_returned(&mut self, now: Instant) {
        let callback = self.membership.as_mut().and_then(|membership| membership.callback.take());
        let Some(RebalanceCallback::Revoked(gone) | RebalanceCallback::Lost(gone)) = callback
        else {
            return;
        };
        let mut kept = self.assignment();
        kept.retain(|partition| !gone.contains(partition));
        self.assign_from_subscribed(&kept);
        if let Some(Membership { member: Member::Consumer(member), .. }) = &mut self.membership
            && kept.is_empty()
        {
            member.rejoin_if_out(now);
        }
    }

    /// `close()` of a member: it leaves its group and does not wait for the answer. A static member
    /// only goes away.
    pub fn close(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        self.auto_commit_at_close(cx, out);
        match self.membership.as_ref().map(|membership| &membership.member) {
            Some(Member::Classic(_)) => self.leave_classic_group(cx, out),
            Some(Member::Consumer(_)) => self.leave_consumer_group(cx, out),
            None => {}
        }
        self.client.close(out);
    }

    /// What the background thread does.
    pub(super) fn keep_membership(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        if self.waiting.as_ref().is_some_and(super::Waiting::is_poll)
            && let Some(membership) = self.membership.as_mut()
            && membership.callback.is_none()
        {
            membership.last_poll = cx.now();
        }
        match self.membership.as_ref().map(|membership| &membership.member) {
            Some(Member::Classic(_)) => self.keep_classic_membership(cx, out),
            Some(Member::Consumer(_)) => self.keep_consumer_membership(cx, out),
            None => {}
        }
    }

    /// What `poll()` does before it fetches (`ConsumerCoordinator#poll`).
    pub(super) fn poll_membership(
        &mut self,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Result<(), Exception> {
        let Some(membership) = self.membership.as_mut() else { return Ok(()) };
        if let Some(error) = membership.error.take() {
            return Err(error);
        }
        match membership.member {
            Member::Classic(_) => self.poll_classic_membership(cx, out),
            Member::Consumer(_) => self.poll_consumer_membership(cx, out),
        }
        if self.callback().is_none() {
            self.maybe_auto_commit(cx, out);
        }
        Ok(())
    }

    /// What the group gave (`SubscriptionState#assignFromSubscribed`): partitions that stay keep
    /// their positions, new ones get theirs from committed offsets.
    pub(super) fn assign_from_subscribed(&mut self, partitions: &[TopicPartition]) {
        self.assign(partitions);
        self.offsets.assignment_changed();
        self.auto_commit.before_rebalance = None;
    }

    /// The coordinator, or `None` after arranging for a look-up; what that led to is thrown by the
    /// next `poll()`.
    pub(super) fn member_coordinator(
        &mut self,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) -> Option<BrokerId> {
        let found = self.group_coordinator(cx, out);
        if let (Err(error), Some(membership)) = (&found, self.membership.as_mut()) {
            membership.error = Some(error.clone());
        }
        found.ok().flatten()
    }

    /// `markPendingRevocation`.
    pub(super) fn mark_pending_revocation(&mut self, partitions: &[TopicPartition]) {
        for assigned in &mut self.assigned {
            assigned.pending_revocation |= partitions.contains(&assigned.partition);
        }
    }

    pub(super) fn call_back(&mut self, callback: RebalanceCallback) {
        if let Some(membership) = self.membership.as_mut() {
            membership.callback = Some(callback);
        }
    }

    /// `max.poll.interval.ms` is over since the last `poll()`.
    pub(super) fn poll_timer_is_expired(&self, now: Instant) -> bool {
        self.membership
            .as_ref()
            .is_some_and(|membership| now >= membership.last_poll + self.config.max_poll_interval)
    }

    /// When membership goes on by itself.
    pub(super) fn next_membership_wake(&self) -> Instant {
        let Some(membership) = &self.membership else { return Instant::FAR };
        let poll = membership.last_poll + self.config.max_poll_interval;
        let own = match &membership.member {
            Member::Classic(member) => member.next_wake(),
            Member::Consumer(member) => member.next_wake(),
        };
        own.min(poll)
    }
}
