//! What happens when time passes.
//!
//! Counterpart: the timer tasks of `CoordinatorRuntime`. One timer of the broker serves all
//! partitions: it is armed for the earliest deadline.

use alloc::vec::Vec;

use eosim_types::machine::MemberEvent;
use eosim_types::{ErrorCode, rule};

use super::GroupCoordinator;
use crate::action::{Action, Cx, PreparedWrite};
use crate::classic::ClassicGroup;
use crate::group_state::PersistedGroup;
use crate::timer::TimerKey;

impl GroupCoordinator {
    /// The timer has fired. A write ends the call early: it must be appended and finished, then
    /// the call be repeated.
    pub fn on_timer(&mut self, cx: &mut Cx<'_>) -> Option<PreparedWrite> {
        self.expire_waiting(cx);
        for partition in self.shards.keys().copied().collect::<Vec<_>>() {
            while let Some(key) =
                self.shards.get_mut(&partition).and_then(|shard| shard.timer.pop_due(cx.env.now))
            {
                let write = self.on_deadline(cx, partition, key);
                if write.is_some() {
                    return write;
                }
            }
        }
        self.arm(cx);
        None
    }

    fn on_deadline(
        &mut self,
        cx: &mut Cx<'_>,
        partition: i32,
        key: TimerKey,
    ) -> Option<PreparedWrite> {
        match key {
            TimerKey::ClassicJoin(group) => {
                self.with_classic(cx, partition, group, ClassicGroup::on_join_timeout)
            }
            TimerKey::ClassicSync(group) => {
                self.with_classic(cx, partition, group, ClassicGroup::on_sync_timeout)
            }
            TimerKey::ClassicHeartbeat(group, member) => {
                self.with_classic(cx, partition, group, |group, cx| {
                    group.on_session_expired(cx, member)
                })
            }
            TimerKey::ConsumerSession(group, member) => {
                let why = MemberEvent::SessionTimedOut;
                self.fence_consumer_member(cx, partition, (group, member), why)
            }
            TimerKey::ConsumerRebalance(group, member) => {
                let why = MemberEvent::RebalanceTimedOut;
                self.fence_consumer_member(cx, partition, (group, member), why)
            }
            TimerKey::GroupExpiration => self.expire_groups(cx, partition),
        }
    }

    /// Answers what has waited for too long; the batch stays in the log (L-TOC-3).
    fn expire_waiting(&mut self, cx: &mut Cx<'_>) {
        let now = cx.env.now;
        for partition in self.shards.keys().copied().collect::<Vec<_>>() {
            while let Some(waiting) =
                self.shards.get_mut(&partition).and_then(|shard| shard.pop_late(now))
            {
                rule!(cx.env, "L-TOC-3");
                self.finish(cx, partition, waiting, Err(ErrorCode::RequestTimedOut));
            }
        }
    }

    /// A partition was loaded: members have as long as if they had been heard of now.
    pub(super) fn start_timers(&mut self, cx: &mut Cx<'_>, partition: i32) {
        let Some(shard) = self.shards.get(&partition) else { return };
        let has_members = |group: &PersistedGroup| match group {
            PersistedGroup::Classic(value) => !value.members.is_empty(),
            PersistedGroup::Consumer(_) => false,
        };
        let classic = shard.latest.groups.iter().filter(|(_, group)| has_members(group));
        for group in classic.map(|(group, _)| *group).collect::<Vec<_>>() {
            self.with_classic(cx, partition, group, |group, cx| {
                group.schedule_sessions(cx);
                None
            });
        }
        self.schedule_consumer_members(cx, partition);
        self.schedule_expiration(cx, partition);
        self.arm(cx);
    }

    /// Asks to be called at the earliest deadline.
    pub(super) fn arm(&self, cx: &mut Cx<'_>) {
        let deadlines = self.shards.values().flat_map(|shard| {
            let waiting = shard.waiting.front().map(|(_, deadline, _)| *deadline);
            waiting.into_iter().chain(shard.timer.next())
        });
        if let Some(at) = deadlines.min() {
            cx.actions.push(Action::SetTimer { at });
        }
    }
}
