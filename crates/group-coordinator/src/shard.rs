//! One `__consumer_offsets` partition of which this broker is the coordinator.
//!
//! Counterpart: `CoordinatorRuntime.CoordinatorContext` with its `SnapshottableCoordinator`: the
//! newest state, the state below the high watermark, and what lies between; besides what is not in
//! the log: phases of classic groups, timers, answers that wait.
//! Invariant: `latest` = `committed` + `tail`.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use eosim_types::record::RecordBatch;
use eosim_types::{Env, GroupId, Instant, LeaderEpoch};

use crate::action::Waiting;
use crate::classic::ClassicGroup;
use crate::consumer::ConsumerGroup;
use crate::group_state::{GroupState, PersistedGroup};
use crate::timer::CoordinatorTimer;

/// One partition's state.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Shard {
    pub(crate) leader_epoch: LeaderEpoch,
    /// Everything in the log.
    pub(crate) latest: GroupState,
    /// What lies below the high watermark.
    pub(crate) committed: GroupState,
    /// Batches that are not below the high watermark yet.
    tail: VecDeque<RecordBatch>,
    /// The offset after the last batch.
    pub(crate) end: i64,
    /// What waits for the high watermark to reach an offset.
    pub(crate) waiting: VecDeque<(i64, Instant, Waiting)>,
    /// Classic groups that have, or had, members.
    pub(crate) classic: BTreeMap<GroupId, ClassicGroup>,
    pub(crate) timer: CoordinatorTimer,
    member_ids: u32,
}

/// A group as it is now.
pub(crate) enum Group<'a> {
    Absent,
    Classic(Cow<'a, ClassicGroup>),
    Consumer(&'a ConsumerGroup),
}

impl Shard {
    pub(crate) fn new(leader_epoch: LeaderEpoch) -> Self {
        Self {
            leader_epoch,
            latest: GroupState::default(),
            committed: GroupState::default(),
            tail: VecDeque::new(),
            end: 0,
            waiting: VecDeque::new(),
            classic: BTreeMap::new(),
            timer: CoordinatorTimer::default(),
            member_ids: 0,
        }
    }

    /// Takes in a batch that was appended to, or read from, the log.
    pub(crate) fn replay(&mut self, env: &mut Env<'_>, batch: RecordBatch) {
        self.latest.replay(env, &batch);
        self.end = batch.next_offset();
        self.tail.push_back(batch);
    }

    /// The high watermark has reached `high_watermark`: what lies below is committed, and what
    /// waited for it is returned.
    pub(crate) fn advance(&mut self, env: &mut Env<'_>, high_watermark: i64) -> Vec<Waiting> {
        while self.tail.front().is_some_and(|batch| batch.next_offset() <= high_watermark) {
            if let Some(batch) = self.tail.pop_front() {
                self.committed.replay(env, &batch);
            }
        }
        let mut ready = Vec::new();
        while self.waiting.front().is_some_and(|(end, ..)| *end <= high_watermark) {
            ready.extend(self.waiting.pop_front().map(|(_, _, waiting)| waiting));
        }
        ready
    }

    /// Takes what has waited past its deadline.
    pub(crate) fn pop_late(&mut self, now: Instant) -> Option<Waiting> {
        let is_late = self.waiting.front().is_some_and(|(_, deadline, _)| *deadline <= now);
        let late = if is_late { self.waiting.pop_front() } else { None };
        late.map(|(_, _, waiting)| waiting)
    }

    /// Nothing waits for the high watermark.
    pub(crate) fn is_caught_up(&self) -> bool {
        self.tail.is_empty()
    }

    /// The group `group`.
    pub(crate) fn group(&self, group: GroupId) -> Group<'_> {
        match (self.classic.get(&group), self.latest.groups.get(&group)) {
            (Some(classic), _) => Group::Classic(Cow::Borrowed(classic)),
            (None, Some(PersistedGroup::Classic(value))) => {
                Group::Classic(Cow::Owned(ClassicGroup::from_value(value)))
            }
            (None, Some(PersistedGroup::Consumer(consumer))) => Group::Consumer(consumer),
            (None, None) => Group::Absent,
        }
    }

    /// An id for a member, unlike every id that any coordinator of the partition ever made.
    pub(crate) fn new_member_id(&mut self) -> u32 {
        self.member_ids += 1;
        let elections = u32::try_from(self.leader_epoch.0).unwrap_or(0);
        (elections << 16) | self.member_ids
    }

    /// What a group leaves besides the log goes.
    pub(crate) fn forget(&mut self, group: GroupId) {
        self.classic.remove(&group);
        self.timer.cancel_group(group);
    }
}
