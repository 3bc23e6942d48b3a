//! Followers fetch: what to ask of which leader, and when.
//!
//! Kafka counterpart: `ReplicaFetcherManager`, `AbstractFetcherThread#doWork`. Invariants: a
//! partition is fetched from one leader; at most one fetch per leader is under way.

use alloc::vec::Vec;

use eosim_types::message::{
    FetchMetadata, FetchPartition, FetchRequest, FetchResponse, IsolationLevel,
};
use eosim_types::{BrokerId, Instant, LeaderEpoch, Spare, TopicPartition, rule};

use super::ReplicaManager;
use super::fetch_session_handler::FetchSessionHandler;
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
    /// What the fetch session asks of it (`sessionPartitions`).
    asked: Option<FetchPartition>,
    /// Something has happened since: it may have to be asked otherwise.
    may_change: bool,
}

/// `ReplicaFetcherThread`: fetches from one leader.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct ReplicaFetcher {
    /// What is fetched, sorted.
    partitions: Vec<FetchedPartition>,
    /// What is not fetched any more, but the session still asks for.
    left: Vec<FetchPartition>,
    /// A fetch is under way.
    in_flight: bool,
    session: FetchSessionHandler,
    /// The connection broke: nothing is asked until then.
    back_off_until: Option<Instant>,
}

/// What the next fetch says (`FetchSessionHandler.FetchRequestData`).
struct FetchRequestData {
    metadata: FetchMetadata,
    to_send: Vec<FetchPartition>,
    to_forget: Vec<TopicPartition>,
}

impl ReplicaFetcher {
    fn place(&self, tp: TopicPartition) -> Result<usize, usize> {
        self.partitions.binary_search_by_key(&tp, |fetched| fetched.partition)
    }

    /// How the fetching of `tp` stands; whoever asks may change it.
    pub(crate) fn partition_mut(&mut self, tp: TopicPartition) -> Option<&mut FetchedPartition> {
        let fetched = self.place(tp).ok().map(|place| &mut self.partitions[place])?;
        fetched.may_change = true;
        Some(fetched)
    }

    /// Something has happened to `tp`.
    pub(crate) fn question_may_change(&mut self, tp: TopicPartition) {
        self.partition_mut(tp);
    }

    fn insert(&mut self, tp: TopicPartition, leader_epoch: LeaderEpoch) {
        self.remove(tp);
        let left = self.left.iter().position(|left| left.partition == tp);
        let asked = left.map(|place| self.left.swap_remove(place));
        let (state, may_change) = (FetchState::Fetching, true);
        let fetched = FetchedPartition { partition: tp, leader_epoch, state, asked, may_change };
        let place = self.place(tp).unwrap_or_else(|place| place);
        self.partitions.insert(place, fetched);
    }

    fn remove(&mut self, tp: TopicPartition) {
        if let Ok(place) = self.place(tp) {
            self.left.extend(self.partitions.remove(place).asked);
        }
    }

    /// The fetch under way was answered. False if the answer says nothing but that the session has
    /// failed.
    pub(crate) fn on_answer(&mut self, response: &FetchResponse) -> bool {
        self.in_flight = false;
        self.session.handle_response(response)
    }

    /// The next fetch, if there is something to ask for now (`FetchSessionHandler.Builder#build`).
    fn build_fetch(
        &mut self,
        replicas: &Partitions,
        spare: &mut Spare<FetchPartition>,
    ) -> Option<FetchRequestData> {
        let metadata = self.session.next_metadata;
        if self.partitions.is_empty() || metadata.is_full() {
            self.forget_session();
        }
        let (mut to_send, mut is_empty) = (spare.take(), true);
        let mut to_forget: Vec<_> = self.left.drain(..).map(|left| left.partition).collect();
        for fetched in &mut self.partitions {
            if core::mem::take(&mut fetched.may_change) {
                let wanted = fetched.question(replicas);
                let asked = core::mem::replace(&mut fetched.asked, wanted);
                match wanted {
                    Some(wanted) if asked != Some(wanted) => to_send.push(wanted),
                    None if asked.is_some() => to_forget.push(fetched.partition),
                    _ => {}
                }
            }
            is_empty &= fetched.asked.is_none();
        }
        let is_nothing = is_empty && to_forget.is_empty();
        (!is_nothing).then_some(FetchRequestData { metadata, to_send, to_forget })
    }

    /// The next session begins with nothing. Kafka ends a fetcher that has nothing to fetch, and
    /// its session with it.
    fn forget_session(&mut self) {
        self.left.clear();
        for fetched in &mut self.partitions {
            (fetched.asked, fetched.may_change) = (None, true);
        }
        if self.partitions.is_empty() {
            self.session = FetchSessionHandler::default();
        }
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
                    partition.may_change = true;
                } else {
                    next = Some(next.map_or(until, |next| next.min(until)));
                }
            }
        }
        next
    }
}

impl FetchedPartition {
    /// What is to be asked now, if anything.
    fn question(&self, replicas: &Partitions) -> Option<FetchPartition> {
        let log = &replicas.get(self.partition)?.log;
        (self.state == FetchState::Fetching).then(|| FetchPartition {
            partition: self.partition,
            fetch_offset: log.log_end_offset(),
            current_leader_epoch: self.leader_epoch,
            last_fetched_epoch: log.latest_epoch().unwrap_or(LeaderEpoch::NONE),
            log_start_offset: log.log_start_offset(),
        })
    }

    /// Would an answer at `log_end_offset` be one to what was asked?
    pub(crate) fn is_current(&self, log_end_offset: i64) -> bool {
        let asked = self.asked.map(|asked| (asked.fetch_offset, asked.current_leader_epoch));
        self.state == FetchState::Fetching && asked == Some((log_end_offset, self.leader_epoch))
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
        self.fetchers.get_or_default(leader).insert(tp, leader_epoch);
    }

    /// Fetches `tp` no more (`removeFetcherForPartitions`).
    pub(crate) fn remove_fetcher(&mut self, tp: TopicPartition) {
        self.fetchers.values_mut().for_each(|fetcher| fetcher.remove(tp));
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
        let Some(fetch) = fetcher.build_fetch(&self.partitions, &mut self.spare_questions) else {
            return;
        };
        fetcher.in_flight = true;
        let request = fetch_request(io, fetch);
        io.send(leader, lane::REPLICA_FETCHER, Call::ReplicaFetch { leader }, request);
    }

    /// The fetch to `leader` broke: pause, then ask again (L-FLT-4).
    pub(crate) fn on_fetch_disconnected(&mut self, io: &mut Io<'_>, leader: BrokerId) {
        let Some(fetcher) = self.fetchers.get_mut(leader) else { return };
        rule!(io.env, "L-FLT-4");
        fetcher.in_flight = false;
        fetcher.session.handle_error();
        let until = io.now() + io.spec.config.replica_fetch_backoff;
        fetcher.back_off_until = Some(until);
        io.wake_at(Timer::ReplicaFetcher, until);
    }
}

fn fetch_request(io: &Io<'_>, fetch: FetchRequestData) -> FetchRequest {
    let max_wait = io.spec.config.replica_fetch_wait_max.as_millis();
    FetchRequest {
        version: REQUEST_VERSION,
        replica: Some((io.spec.id, io.broker_epoch)),
        isolation_level: IsolationLevel::ReadUncommitted,
        max_wait_ms: i32::try_from(max_wait).unwrap_or(i32::MAX),
        min_bytes: 1,
        partition_max_bytes: REPLICA_FETCH_MAX_BYTES,
        metadata: fetch.metadata,
        partitions: fetch.to_send,
        forgotten: fetch.to_forget.into(),
    }
}
