//! What a leader knows of one follower.
//!
//! Kafka counterpart: `Replica`, `ReplicaState`. Invariant: a position is unknown until the
//! follower's first fetch under the present leader epoch.

use eosim_types::{BrokerId, Duration, Env, Instant, rule};

/// "Position unknown" (Kafka: `UnifiedLog.UNKNOWN_OFFSET`).
pub(crate) const UNKNOWN_OFFSET: i64 = -1;

/// A follower as its leader sees it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Replica {
    /// The follower.
    pub(crate) id: BrokerId,
    /// Where its log ends: the offset of its latest fetch (L-HW-3).
    pub(crate) log_end_offset: i64,
    /// Where its log begins, as told by its latest fetch.
    pub(crate) log_start_offset: i64,
    /// The broker epoch of its latest fetch; -1 before the first.
    pub(crate) broker_epoch: i64,
    last_caught_up: Option<Instant>,
    last_fetch: Option<Instant>,
    last_fetch_leader_log_end_offset: i64,
}

/// What a follower's fetch tells its leader.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FollowerFetch {
    /// The offset asked for.
    pub(crate) fetch_offset: i64,
    /// Where the follower's log begins.
    pub(crate) log_start_offset: i64,
    /// The follower's broker epoch.
    pub(crate) broker_epoch: i64,
    /// Where the leader's log ended when it read.
    pub(crate) leader_log_end_offset: i64,
}

impl Replica {
    /// A follower of which nothing is known.
    pub(crate) fn new(id: BrokerId) -> Self {
        Self {
            id,
            log_end_offset: UNKNOWN_OFFSET,
            log_start_offset: UNKNOWN_OFFSET,
            broker_epoch: -1,
            last_caught_up: None,
            last_fetch: None,
            last_fetch_leader_log_end_offset: UNKNOWN_OFFSET,
        }
    }

    /// The leader begins a new leader epoch: the position is unknown again; a member of the ISR
    /// counts as caught up now (L-LEP-1, `Replica#resetReplicaState`).
    pub(crate) fn reset(&mut self, in_isr: bool, now: Instant) {
        let last_caught_up = in_isr.then_some(now);
        *self = Self { last_caught_up, last_fetch: last_caught_up, ..Self::new(self.id) };
    }

    /// `Replica#updateFetchStateOrThrow`.
    pub(crate) fn update_fetch_state(&mut self, env: &mut Env<'_>, fetch: FollowerFetch) {
        rule!(env, "L-ISR-3");
        rule!(env, "L-HW-3");
        if fetch.fetch_offset >= fetch.leader_log_end_offset {
            self.last_caught_up = self.last_caught_up.max(Some(env.now));
        } else if fetch.fetch_offset >= self.last_fetch_leader_log_end_offset {
            self.last_caught_up = self.last_caught_up.max(self.last_fetch);
        }
        self.log_start_offset = fetch.log_start_offset;
        self.log_end_offset = fetch.fetch_offset;
        self.last_fetch_leader_log_end_offset = fetch.leader_log_end_offset;
        self.last_fetch = Some(env.now);
        self.broker_epoch = fetch.broker_epoch;
    }

    /// Fetches until `at` have found it where the leader's log ended.
    pub(crate) fn note_caught_up(&mut self, at: Instant) {
        self.last_caught_up = self.last_caught_up.max(Some(at));
        self.last_fetch = self.last_fetch.max(Some(at));
    }

    /// `ReplicaState#isCaughtUp`.
    pub(crate) fn is_caught_up(
        &self,
        leader_log_end_offset: i64,
        now: Instant,
        replica_lag_time_max: Duration,
    ) -> bool {
        self.log_end_offset == leader_log_end_offset
            || self.last_caught_up.is_some_and(|at| now.since(at) <= replica_lag_time_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eosim_types::{DefectSet, Marks};

    fn caught_up_after(fetches: &[(u64, i64, i64)], at: u64) -> bool {
        let mut marks = Marks::new();
        let mut replica = Replica::new(BrokerId(2));
        replica.reset(false, Instant(0));
        for &(millis, fetch_offset, leader_log_end_offset) in fetches {
            let mut env = Env {
                now: Instant(millis * 1000),
                clock_skew_ms: 0,
                kafka: eosim_types::version::KafkaVersion::V4_4,
                backports: eosim_types::CapabilitySet::NONE,
                defects: DefectSet::NONE,
                marks: &mut marks,
            };
            let (log_start_offset, broker_epoch) = (0, 7);
            replica.update_fetch_state(
                &mut env,
                FollowerFetch {
                    fetch_offset,
                    log_start_offset,
                    broker_epoch,
                    leader_log_end_offset,
                },
            );
        }
        replica.is_caught_up(i64::MAX, Instant(at * 1000), Duration::from_millis(100))
    }

    #[test]
    fn last_caught_up_is_this_or_the_previous_fetch_l_isr_3() {
        type Fetches = &'static [(u64, i64, i64)];
        let cases: [(Fetches, u64, bool); 5] = [
            (&[], 10, false),
            (&[(1000, 5, 5)], 1100, true),
            (&[(1000, 5, 5)], 1101, false),
            (&[(1000, 3, 5), (1050, 5, 9)], 1100, true),
            (&[(1000, 3, 5), (1050, 4, 9)], 1100, false),
        ];
        for (fetches, at, expected) in cases {
            assert_eq!(caught_up_after(fetches, at), expected, "{fetches:?} at {at}");
        }
    }
}
