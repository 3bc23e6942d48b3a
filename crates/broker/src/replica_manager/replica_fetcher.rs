//! Followers fetch: what to ask of which leader, and when.
//!
//! Kafka counterpart: `ReplicaFetcherManager`, `AbstractFetcherThread#doWork`. Invariants: a
//! partition is fetched from one leader; at most one fetch per leader is under way.

use alloc::vec::Vec;

use eosim_storage::UnifiedLog;
use eosim_types::message::{FetchPartition, FetchRequest, IsolationLevel};
use eosim_types::{BrokerId, Instant, LeaderEpoch, TopicPartition, rule};

use super::ReplicaManager;
use super::partitions::Partitions;
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
    /// Which.
    pub(crate) partition: TopicPartition,
    /// The leader epoch under which it is fetched.
    pub(crate) leader_epoch: LeaderEpoch,
    /// How it stands.
    pub(crate) state: FetchState,
    /// The offset asked for by the fetch under way.
    pub(crate) asked: Option<i64>,
}

/// `ReplicaFetcherThread`: fetches from one leader.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct ReplicaFetcher {
    /// What is fetched, sorted.
    partitions: Vec<FetchedPartition>,
    /// A fetch is under way.
    in_flight: bool,
    /// The last fetch was answered: the next one goes on from there (L-HW-6).
    in_session: bool,
    /// The connection broke: nothing is asked until then.
    back_off_until: Option<Instant>,
}

impl ReplicaFetcher {
    fn place(&self, tp: TopicPartition) -> Result<usize, usize> {
        self.partitions.binary_search_by_key(&tp, |fetched| fetched.partition)
    }

    /// How the fetching of `tp` stands.
    pub(crate) fn partition_mut(&mut self, tp: TopicPartition) -> Option<&mut FetchedPartition> {
        self.place(tp).ok().map(|place| &mut self.partitions[place])
    }

    fn insert(&mut self, fetched: FetchedPartition) {
        match self.place(fetched.partition) {
            Ok(place) => self.partitions[place] = fetched,
            Err(place) => self.partitions.insert(place, fetched),
        }
    }

    /// The fetch under way has ended, with an answer or without.
    pub(crate) fn end_fetch(&mut self, is_answered: bool) {
        self.in_flight = false;
        self.in_session = is_answered;
    }

    /// What is to be asked for now, noted as asked.
    fn ask(&mut self, replicas: &Partitions) -> Vec<FetchPartition> {
        let mut questions = Vec::with_capacity(self.partitions.len());
        for fetched in &mut self.partitions {
            fetched.asked = None;
            let replica = replicas.get(fetched.partition);
            if let (FetchState::Fetching, Some(replica)) = (fetched.state, replica) {
                let question = fetched.question(&replica.log);
                fetched.asked = Some(question.fetch_offset);
                questions.push(question);
            }
        }
        questions
    }

    /// Ends pauses that are over; the time of the next end, if there is one.
    fn end_pauses(&mut self, now: Instant) -> Option<Instant> {
        if self.back_off_until.is_some_and(|at| at <= now) {
            self.back_off_until = None;
        }
        let mut next = self.back_off_until;
        for partition in &mut self.partitions {
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

impl FetchedPartition {
    fn question(&self, log: &UnifiedLog) -> FetchPartition {
        FetchPartition {
            partition: self.partition,
            fetch_offset: log.log_end_offset(),
            current_leader_epoch: self.leader_epoch,
            last_fetched_epoch: log.latest_epoch().unwrap_or(LeaderEpoch::NONE),
            log_start_offset: log.log_start_offset(),
        }
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
        let fetcher = self.fetchers.get_or_default(leader);
        fetcher.insert(FetchedPartition { partition: tp, leader_epoch, state, asked: None });
    }

    /// Fetches `tp` no more (`removeFetcherForPartitions`).
    pub(crate) fn remove_fetcher(&mut self, tp: TopicPartition) {
        for fetcher in self.fetchers.values_mut() {
            if let Ok(place) = fetcher.place(tp) {
                fetcher.partitions.remove(place);
            }
        }
    }

    /// Sends a fetch to every leader that has none under way.
    pub(crate) fn send_fetches(&mut self, io: &mut Io<'_>) {
        let leaders: Vec<_> = self.fetchers.keys().collect();
        for leader in leaders {
            self.maybe_send_fetch(io, leader);
        }
    }

    /// Sends the next fetch to `leader`, if there is something to ask for.
    pub(crate) fn maybe_send_fetch(&mut self, io: &mut Io<'_>, leader: BrokerId) {
        let Some(fetcher) = self.fetchers.get_mut(leader) else { return };
        if fetcher.in_flight {
            return;
        }
        if let Some(at) = fetcher.end_pauses(io.now()) {
            io.wake_at(Timer::ReplicaFetcher, at);
        }
        if fetcher.back_off_until.is_some() {
            return;
        }
        let partitions = fetcher.ask(&self.partitions);
        if partitions.is_empty() {
            return;
        }
        fetcher.in_flight = true;
        let request = fetch_request(io, !fetcher.in_session, partitions);
        io.send(leader, lane::REPLICA_FETCHER, Call::ReplicaFetch { leader }, request);
    }

    /// The fetch to `leader` broke: pause, then ask again (L-FLT-4).
    pub(crate) fn on_fetch_disconnected(&mut self, io: &mut Io<'_>, leader: BrokerId) {
        let Some(fetcher) = self.fetchers.get_mut(leader) else { return };
        rule!(io.env, "L-FLT-4");
        fetcher.end_fetch(false);
        let until = io.now() + io.spec.config.replica_fetch_backoff;
        fetcher.back_off_until = Some(until);
        io.wake_at(Timer::ReplicaFetcher, until);
    }
}

fn fetch_request(io: &Io<'_>, is_full: bool, partitions: Vec<FetchPartition>) -> FetchRequest {
    let max_wait = io.spec.config.replica_fetch_wait_max.as_millis();
    FetchRequest {
        version: REQUEST_VERSION,
        replica: Some((io.spec.id, io.broker_epoch)),
        isolation_level: IsolationLevel::ReadUncommitted,
        max_wait_ms: i32::try_from(max_wait).unwrap_or(i32::MAX),
        min_bytes: 1,
        partition_max_bytes: REPLICA_FETCH_MAX_BYTES,
        is_full,
        partitions,
    }
}
