//! A classic group: its members meet in a join phase, the leader shares out, all learn of it in a
//! sync phase.
//!
//! Counterpart: `ClassicGroup`, `ClassicGroupMember`. Only what a complete generation left is in
//! the log; phases, who waits for an answer, and ids that are handed out but not used yet, die with
//! the coordinator.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use eosim_types::assignor::Assignor;
use eosim_types::config::BrokerConfig;
use eosim_types::group_log::{ClassicMemberMetadata, GroupMetadataValue};
use eosim_types::machine::GroupEvent;
use eosim_types::message::Response;
use eosim_types::{Duration, GroupId, Instant, Marks, Topic, TopicPartition};

use crate::action::{Action, ReplyTo, Waiting};
use crate::timer::{CoordinatorTimer, TimerKey};

mod classic_group_state;
mod heartbeat;
mod join;
mod leave;
mod rebalance;
mod sync;
mod validation;

pub use classic_group_state::{CLASSIC_GROUP_TRANSITIONS, ClassicGroupState};

/// A member (`ClassicGroupMember`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ClassicGroupMember {
    pub(crate) instance: Option<u32>,
    pub(crate) rebalance_timeout: Duration,
    pub(crate) session_timeout: Duration,
    pub(crate) protocols: Vec<Assignor>,
    pub(crate) subscription: Vec<Topic>,
    pub(crate) assignment: Vec<TopicPartition>,
    awaiting_join: Option<ReplyTo>,
    awaiting_sync: Option<ReplyTo>,
}

/// A group.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ClassicGroup {
    pub(crate) state: ClassicGroupState,
    is_consumer_protocol: bool,
    pub(crate) generation: i32,
    protocol: Option<Assignor>,
    leader: Option<u32>,
    current_state_timestamp_ms: i64,
    pub(crate) members: BTreeMap<u32, ClassicGroupMember>,
    /// Ids that were handed out and not used yet.
    pending_join_members: BTreeSet<u32>,
    /// Members of the new generation that have not synced yet.
    pending_sync_members: BTreeSet<u32>,
    /// `Some` while a group that was empty waits for more members: for how much longer it may be
    /// put off.
    initial_rebalance_remaining: Option<Duration>,
    new_member_added: bool,
}

/// What must be written for a classic group, and what follows once it is committed.
pub(crate) struct ClassicWrite {
    pub(crate) value: GroupMetadataValue,
    pub(crate) then: Vec<Waiting>,
}

/// Surroundings lent to a classic group for one call.
pub(crate) struct ClassicCx<'a> {
    pub(crate) group_id: GroupId,
    pub(crate) now: Instant,
    pub(crate) clock_ms: i64,
    pub(crate) config: &'a BrokerConfig,
    pub(crate) timer: &'a mut CoordinatorTimer,
    pub(crate) actions: &'a mut Vec<Action>,
    pub(crate) marks: &'a mut Marks,
}

impl ClassicCx<'_> {
    fn reply(&mut self, to: ReplyTo, response: impl Into<Response>) {
        self.actions.push(Action::Reply { to, response: response.into() });
    }

    fn schedule(&mut self, key: TimerKey, after: Duration) {
        self.timer.schedule(key, self.now + after);
    }

    fn schedule_heartbeat(&mut self, member: u32, session_timeout: Duration) {
        self.schedule(TimerKey::ClassicHeartbeat(self.group_id, member), session_timeout);
    }

    fn cancel_heartbeat(&mut self, member: u32) {
        self.timer.cancel(TimerKey::ClassicHeartbeat(self.group_id, member));
    }
}

impl ClassicGroup {
    /// The group that the log describes: nobody is in the middle of anything.
    pub(crate) fn from_value(value: &GroupMetadataValue) -> Self {
        let member = |metadata: &ClassicMemberMetadata| {
            let member = ClassicGroupMember {
                instance: metadata.instance,
                rebalance_timeout: metadata.rebalance_timeout,
                session_timeout: metadata.session_timeout,
                protocols: value.protocol.into_iter().collect(),
                subscription: metadata.subscription.clone(),
                assignment: metadata.assignment.clone(),
                awaiting_join: None,
                awaiting_sync: None,
            };
            (metadata.member, member)
        };
        let is_empty = value.members.is_empty();
        Self {
            state: if is_empty { ClassicGroupState::Empty } else { ClassicGroupState::Stable },
            is_consumer_protocol: value.is_consumer_protocol,
            generation: value.generation,
            protocol: value.protocol,
            leader: value.leader,
            current_state_timestamp_ms: value.current_state_timestamp_ms,
            members: value.members.iter().map(member).collect(),
            pending_join_members: BTreeSet::new(),
            pending_sync_members: BTreeSet::new(),
            initial_rebalance_remaining: None,
            new_member_added: false,
        }
    }

    /// What the log shall say of the group.
    pub(crate) fn value(&self) -> GroupMetadataValue {
        let metadata = |(&id, member): (&u32, &ClassicGroupMember)| ClassicMemberMetadata {
            member: id,
            instance: member.instance,
            rebalance_timeout: member.rebalance_timeout,
            session_timeout: member.session_timeout,
            subscription: member.subscription.clone(),
            assignment: member.assignment.clone(),
        };
        GroupMetadataValue {
            is_consumer_protocol: self.is_consumer_protocol,
            generation: self.generation,
            protocol: self.protocol,
            leader: self.leader,
            current_state_timestamp_ms: self.current_state_timestamp_ms,
            members: self.members.iter().map(metadata).collect(),
        }
    }

    /// The log has a record of the group; it has none of a simple group.
    pub(crate) fn is_persisted(&self) -> bool {
        self.is_consumer_protocol
    }

    /// Starts the sessions of members that were loaded.
    pub(crate) fn schedule_sessions(&self, cx: &mut ClassicCx<'_>) {
        self.takes(cx, GroupEvent::Loaded);
        for (&id, member) in &self.members {
            cx.schedule_heartbeat(id, member.session_timeout);
        }
    }

    /// Meets `event` as it is now.
    fn takes(&self, cx: &mut ClassicCx<'_>, event: GroupEvent) {
        cx.marks.takes(self.state, event);
    }

    fn transition_to(&mut self, cx: &mut ClassicCx<'_>, state: ClassicGroupState) {
        let from = self.state;
        assert!(from.may_become(state), "a group went from {} to {}", from.name(), state.name());
        self.state = state;
        cx.marks.enters(state);
        self.current_state_timestamp_ms = cx.clock_ms;
    }

    pub(crate) fn is_in_state(&self, state: ClassicGroupState) -> bool {
        self.state == state
    }

    /// The member id of the static member `instance`.
    fn static_member(&self, instance: u32) -> Option<u32> {
        let own = |(_, member): &(&u32, &ClassicGroupMember)| member.instance == Some(instance);
        self.members.iter().find(own).map(|(member, _)| *member)
    }

    /// Does a member read `topic`?
    pub(crate) fn is_subscribed_to_topic(&self, topic: Topic) -> bool {
        self.members.values().any(|member| member.subscription.contains(&topic))
    }

    /// Is an offset of the group too old (G-INT-5, `offsetExpirationCondition`)? From when on it
    /// counts; `None` if nothing expires in this state.
    pub(crate) fn expiration_base_ms(&self, commit_timestamp_ms: i64) -> Option<i64> {
        match self.state {
            _ if !self.is_consumer_protocol => Some(commit_timestamp_ms),
            ClassicGroupState::Empty => Some(self.current_state_timestamp_ms),
            ClassicGroupState::Stable => Some(commit_timestamp_ms),
            ClassicGroupState::PreparingRebalance | ClassicGroupState::CompletingRebalance => None,
        }
    }

    /// The longest time that a member wants for a rebalance.
    fn rebalance_timeout(&self) -> Duration {
        let timeouts = self.members.values().map(|member| member.rebalance_timeout);
        timeouts.max().unwrap_or(Duration::ZERO)
    }
}
