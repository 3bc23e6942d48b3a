//! Followers fetch: what to ask of which leader, and when.
//!
//! Kafka counterpart: `ReplicaFetcherManager`, `AbstractFetcherThread#doWork`. Invariants: a
//! partition is fetched from one leader; at most one fetch per leader is under way.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use eosim_types::message::{FetchPartition, FetchRequest, IsolationLevel};
use eosim_types::{BrokerId, Instant, LeaderEpoch, TopicPartition, rule};

use super::ReplicaManager;
use crate::io::Io;
use crate::network::{Call, lane};
use crate::timers::Timer;

/// The version of fetches between brokers.
const REQUEST_VERSION: i16 = 17;
/// `replica.fetch.max.bytes`.
const REPLICA_FETCH_MAX_BYTES: i32 = 1 << 20;

/// How the fetching of one partition stands (`PartitionFetchState`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum FetchState {
    /// It is asked for.
    Fetching,
    /// It pauses after an error.
    Delayed {
        /// Until then.
        until: Instant,
    },
    /// Out of range: the leader has been asked where its log ends, then begins.
    AwaitingLeaderOffset,
    /// The leader epoch is fenced, or the data were refused: only newer metadata help (L-FLT-4).
    Stopped,
}

/// One partition of a fetcher.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FetchedPartition {
    /// The leader epoch under which it is fetched.
    pub(crate) leader_epoch: LeaderEpoch,
    /// How it stands.
    pub(crate) state: FetchState,
}

/// `ReplicaFetcherThread`: fetches from one leader.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct ReplicaFetcher {
    /// What is fetched.
    pub(crate) partitions: BTreeMap<TopicPartition, FetchedPartition>,
    /// What was asked for by the fetch under way.
    pub(crate) in_flight: Option<Vec<FetchPartition>>,
    /// The connection broke: nothing is asked until then.
    pub(crate) back_off_until: Option<Instant>,
}

impl ReplicaFetcher {
    /// Ends pauses that are over; the time of the next end, if there is one.
    fn end_pauses(&mut self, now: Instant) -> Option<Instant> {
        if self.back_off_until.is_some_and(|at| at <= now) {
            self.back_off_until = None;
        }
        let mut next = self.back_off_until;
        for partition in self.partitions.values_mut() {
            if let FetchState::Delayed { until } = partition.state {
                if until <= now {
                    partition.state = FetchState::Fetching;
                } else {
                    next = Some(next.map_or(until, |next| next.min(until)));
                }
            }
        }
        next
    }
}

impl ReplicaManager {
    /// Fetches `tp` from `leader` from now on (`addFetcherForPartitions`).
    pub(crate) fn add_fetcher(
        &mut self,
        io: &mut Io<'_>,
        leader: BrokerId,
        tp: TopicPartition,
        leader_epoch: LeaderEpoch,
    ) {
        rule!(io.env, "L-FLT-1");
        let state = FetchState::Fetching;
        let fetcher = self.fetchers.entry(leader).or_default();
        fetcher.partitions.insert(tp, FetchedPartition { leader_epoch, state });
    }

    /// Fetches `tp` no more (`removeFetcherForPartitions`).
    pub(crate) fn remove_fetcher(&mut self, tp: TopicPartition) {
        for fetcher in self.fetchers.values_mut() {
            fetcher.partitions.remove(&tp);
        }
    }

    /// Sends a fetch to every leader that has none under way.
    pub(crate) fn send_fetches(&mut self, io: &mut Io<'_>) {
        let leaders: Vec<_> = self.fetchers.keys().copied().collect();
        for leader in leaders {
            self.maybe_send_fetch(io, leader);
        }
    }

    /// Sends the next fetch to `leader`, if there is something to ask for.
    pub(crate) fn maybe_send_fetch(&mut self, io: &mut Io<'_>, leader: BrokerId) {
        let Some(fetcher) = self.fetchers.get_mut(&leader) else { return };
        if fetcher.in_flight.is_some() {
            return;
        }
        if let Some(at) = fetcher.end_pauses(io.now()) {
            io.wake_at(Timer::ReplicaFetcher, at);
        }
        if fetcher.back_off_until.is_some() {
            return;
        }
        let replicas = &self.partitions;
        let fetched = fetcher.partitions.iter();
        let fetching = fetched.filter(|(_, fetched)| fetched.state == FetchState::Fetching);
        let ask = |(tp, fetched): (&TopicPartition, &FetchedPartition)| {
            let log = &replicas.get(tp)?.log;
            Some(FetchPartition {
                partition: *tp,
                fetch_offset: log.log_end_offset(),
                current_leader_epoch: fetched.leader_epoch,
                last_fetched_epoch: log.latest_epoch().unwrap_or(LeaderEpoch::NONE),
                log_start_offset: log.log_start_offset(),
            })
        };
        let partitions: Vec<_> = fetching.filter_map(ask).collect();
        if partitions.is_empty() {
            return;
        }
        fetcher.in_flight = Some(partitions.clone());
        let request = fetch_request(io, partitions);
        io.send(leader, lane::REPLICA_FETCHER, Call::ReplicaFetch { leader }, request);
    }

    /// The fetch to `leader` broke: pause, then ask again (L-FLT-4).
    pub(crate) fn on_fetch_disconnected(&mut self, io: &mut Io<'_>, leader: BrokerId) {
        let Some(fetcher) = self.fetchers.get_mut(&leader) else { return };
        rule!(io.env, "L-FLT-4");
        fetcher.in_flight = None;
        let until = io.now() + io.spec.config.replica_fetch_backoff;
        fetcher.back_off_until = Some(until);
        io.wake_at(Timer::ReplicaFetcher, until);
    }
}

fn fetch_request(io: &Io<'_>, partitions: Vec<FetchPartition>) -> FetchRequest {
    let max_wait = io.spec.config.replica_fetch_wait_max.as_millis();
    FetchRequest {
        version: REQUEST_VERSION,
        replica: Some((io.spec.id, io.broker_epoch)),
        isolation_level: IsolationLevel::ReadUncommitted,
        max_wait_ms: i32::try_from(max_wait).unwrap_or(i32::MAX),
        min_bytes: 1,
        partition_max_bytes: REPLICA_FETCH_MAX_BYTES,
        partitions,
    }
}
