//! The timers of one offsets partition.
//!
//! Counterpart: `CoordinatorTimer`. At most one deadline per key; they are not in the log, a newly
//! elected coordinator starts them afresh.

use alloc::collections::BTreeMap;

use eosim_types::{GroupId, Instant};

/// What a deadline is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum TimerKey {
    /// The join phase of a classic group ends (`classicGroupJoinKey`).
    ClassicJoin(GroupId),
    /// Members of a classic group that have not synced are removed (`classicGroupSyncKey`).
    ClassicSync(GroupId),
    /// A classic member has been silent (`classicGroupHeartbeatKey`).
    ClassicHeartbeat(GroupId, u32),
    /// A KIP-848 member has been silent (`groupSessionTimeoutKey`).
    ConsumerSession(GroupId, u32),
    /// A KIP-848 member has not given partitions up (`groupRebalanceTimeoutKey`).
    ConsumerRebalance(GroupId, u32),
    /// Old offsets and empty groups are looked for (`GROUP_EXPIRATION_KEY`).
    GroupExpiration,
}

/// Deadlines by key.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct CoordinatorTimer {
    deadlines: BTreeMap<TimerKey, Instant>,
}

impl CoordinatorTimer {
    /// Sets a deadline, in place of an earlier one of the same key.
    pub(crate) fn schedule(&mut self, key: TimerKey, at: Instant) {
        self.deadlines.insert(key, at);
    }

    /// Sets a deadline unless there is one.
    pub(crate) fn schedule_if_absent(&mut self, key: TimerKey, at: Instant) {
        self.deadlines.entry(key).or_insert(at);
    }

    pub(crate) fn cancel(&mut self, key: TimerKey) {
        self.deadlines.remove(&key);
    }

    /// Drops every deadline of `group`.
    pub(crate) fn cancel_group(&mut self, group: GroupId) {
        self.deadlines.retain(|key, _| key.group() != Some(group));
    }

    /// The earliest deadline.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.deadlines.values().min().copied()
    }

    /// Takes one deadline that has passed, the earliest first.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<TimerKey> {
        let due = self.deadlines.iter().filter(|(_, at)| **at <= now);
        let (&key, _) = due.min_by_key(|(key, at)| (**at, **key))?;
        self.deadlines.remove(&key);
        Some(key)
    }
}

impl TimerKey {
    fn group(self) -> Option<GroupId> {
        match self {
            Self::ClassicJoin(group)
            | Self::ClassicSync(group)
            | Self::ClassicHeartbeat(group, _)
            | Self::ConsumerSession(group, _)
            | Self::ConsumerRebalance(group, _) => Some(group),
            Self::GroupExpiration => None,
        }
    }
}
