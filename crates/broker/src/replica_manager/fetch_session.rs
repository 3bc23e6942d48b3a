//! Fetch sessions: a follower names only what it asks otherwise than before, and is told only what
//! is new (KIP-227).
//!
//! Kafka counterpart: `FetchManager`, `FetchSessionCache`, `FetchSession`, `CachedPartition`. A
//! fetch without a session is kept as a session of one fetch. Invariant: of a partition that is not
//! among the changed ones there is nothing to say, and its follower is in sync.
//!
//! Sessions die with the process. Kafka draws their ids at random, so that an id from before a
//! restart is unknown; here the ids of each life lie apart. No run fills Kafka's 1,000 slots:
//! nothing is evicted.

use alloc::vec::Vec;

use eosim_types::message::{FetchMetadata, FetchPartition, FetchPartitionResponse, FetchRequest};
use eosim_types::{ErrorCode, Few, Instant, SortedMap, TopicPartition, rule};

use super::delayed_operation::DelayedFetch;
use super::partition_fetch::{FetchParams, Readable, fetch_records, readable};
use super::partitions::Partitions;
use crate::io::Io;

/// How far apart the session ids of two lives of a broker are.
const IDS_OF_ONE_LIFE: i32 = 1 << 16;

/// The name of a session: its id, or a negative number for a fetch without a session.
pub(crate) type SessionKey = i32;

/// A partition of a session (`CachedPartition`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct CachedPartition {
    /// What is asked.
    read: FetchPartition,
    /// High watermark and log start as they were told last; -1 if they were not.
    told: (i64, i64),
    /// When it was read last, everything was said and its follower was in sync.
    is_settled: bool,
}

impl CachedPartition {
    fn new(read: FetchPartition) -> Self {
        Self { read, told: (-1, -1), is_settled: false }
    }

    /// L-HW-6 (`maybeUpdateResponseData`): is there anything that was not told? After an error or
    /// a diverging epoch everything is told again, except by the answer that begins a session.
    fn must_respond(
        &mut self,
        io: &mut Io<'_>,
        answer: &FetchPartitionResponse,
        all: bool,
    ) -> bool {
        rule!(io.env, "L-HW-6");
        let bounds = (answer.high_watermark, answer.log_start_offset);
        let told = core::mem::replace(&mut self.told, bounds);
        if all {
            return true;
        }
        if answer.diverging_epoch.is_some() {
            self.told.0 = -1;
        }
        told != bounds || !is_empty(answer)
    }
}

fn is_empty(answer: &FetchPartitionResponse) -> bool {
    answer.error.is_none() && answer.diverging_epoch.is_none() && answer.batches.is_empty()
}

/// Puts `value` at the end of `list`, to be changed there.
fn pushed<T>(list: &mut Vec<T>, value: T) -> &mut T {
    list.push(value);
    list.last_mut().expect("just pushed")
}

/// A session (`FetchSession`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FetchSession {
    /// 0 if it is a fetch without a session.
    id: i32,
    /// The epoch of the next fetch.
    epoch: i32,
    /// What its latest fetch wants.
    params: FetchParams,
    /// When that came.
    fetched_at: Instant,
    /// Sorted.
    partitions: Vec<CachedPartition>,
    /// Places of partitions that must be looked at, sorted.
    changed: Vec<u32>,
    /// The fetch that waits for data.
    pub(crate) delayed: Option<DelayedFetch>,
}

impl FetchSession {
    fn new(id: i32, request: &FetchRequest) -> Self {
        let reads = request.partitions.iter();
        let mut session = Self {
            id,
            epoch: FetchMetadata::next_epoch(request.metadata.epoch),
            params: FetchParams::of(request),
            fetched_at: Instant::START,
            partitions: reads.map(|&read| CachedPartition::new(read)).collect(),
            changed: Vec::new(),
            delayed: None,
        };
        session.partitions.sort_unstable_by_key(|cached| cached.read.partition);
        session.change_all();
        session
    }

    fn place(&self, tp: TopicPartition) -> Result<usize, usize> {
        self.partitions.binary_search_by_key(&tp, |cached| cached.read.partition)
    }

    /// Notes that the partition at `place` must be looked at; false if that is known.
    fn change(&mut self, place: usize) -> bool {
        let place = u32::try_from(place).expect("a session has not so many partitions");
        let Err(at) = self.changed.binary_search(&place) else { return false };
        self.changed.insert(at, place);
        true
    }

    fn change_all(&mut self) {
        self.changed.clear();
        self.changed.extend((0..).zip(&self.partitions).map(|(place, _)| place));
    }

    /// What is asked of the partitions that must be looked at.
    fn changed_reads(&self) -> impl Iterator<Item = &FetchPartition> {
        self.changed.iter().map(|&place| &self.partitions[place as usize].read)
    }

    /// Takes over what a fetch asks otherwise than the one before (`FetchSession#update`).
    fn update(&mut self, request: &FetchRequest) {
        for &read in &request.partitions {
            match self.place(read.partition) {
                Ok(place) => {
                    self.partitions[place].read = read;
                    self.change(place);
                }
                Err(place) => {
                    self.partitions.insert(place, CachedPartition::new(read));
                    self.change_all();
                }
            }
        }
        for &tp in &request.forgotten {
            if let Ok(place) = self.place(tp) {
                self.partitions.remove(place);
                self.change_all();
            }
        }
        if self.params.replica != request.replica {
            self.change_all();
        }
        self.params = FetchParams::of(request);
    }

    /// Is there anything to say already (L-FET-5, `DelayedFetch#tryComplete`)?
    pub(crate) fn is_ready(&self, io: &mut Io<'_>, partitions: &Partitions) -> bool {
        let mut missing = i64::from(self.params.min_bytes);
        for read in self.changed_reads() {
            match readable(io, &self.params, read, partitions.get(read.partition)) {
                Err(_) | Ok(Readable::Diverging(..)) => return true,
                Ok(Readable::Bytes(bytes)) => missing -= bytes,
            }
        }
        missing <= 0 || self.partitions.is_empty()
    }

    /// `tp` has changed: does that make the fetch ready that waits? Where a byte is enough, the
    /// other partitions are as they were.
    ///
    /// If there was nothing to say of it, the fetches until now have shown its follower at the log
    /// end as it was.
    pub(crate) fn on_change(
        &mut self,
        io: &mut Io<'_>,
        partitions: &mut Partitions,
        tp: TopicPartition,
    ) -> bool {
        let Ok(place) = self.place(tp) else { return false };
        self.partitions[place].is_settled = false;
        let read = self.partitions[place].read;
        if self.change(place) {
            self.note_caught_up(&read, partitions);
        }
        if self.delayed.is_none() {
            return false;
        }
        if self.params.min_bytes > 1 {
            return self.is_ready(io, partitions);
        }
        readable(io, &self.params, &read, partitions.get(tp)) != Ok(Readable::Bytes(0))
    }

    fn note_caught_up(&self, read: &FetchPartition, partitions: &mut Partitions) {
        let partition = partitions.get_mut(read.partition);
        if let (Some((follower, _)), Some(partition)) = (self.params.replica, partition) {
            partition.note_caught_up(follower, read.fetch_offset, self.fetched_at);
        }
    }

    /// A fetch has come: it tells the leader where its follower is (L-HW-3). Partitions whose
    /// watermarks have moved are returned.
    pub(crate) fn update_follower_fetch_states(
        &mut self,
        io: &mut Io<'_>,
        partitions: &mut Partitions,
    ) -> Few<TopicPartition> {
        self.fetched_at = io.now();
        let mut moved = Few::new();
        let Some(replica) = self.params.replica else { return moved };
        for read in self.changed_reads() {
            let partition = partitions.get_mut(read.partition);
            if partition.is_some_and(|p| p.update_follower_fetch_state(io, replica, read)) {
                moved.push(read.partition);
            }
        }
        moved
    }

    /// Reads what has changed, or everything, into the empty list `answers` (`readFromLog`).
    pub(crate) fn read_from_log(
        &mut self,
        io: &mut Io<'_>,
        partitions: &Partitions,
        mut answers: Vec<FetchPartitionResponse>,
        all: bool,
    ) -> Vec<FetchPartitionResponse> {
        if all {
            self.change_all();
        }
        answers.reserve(self.changed.len());
        for &place in &self.changed {
            let cached = &mut self.partitions[place as usize];
            let tp = cached.read.partition;
            let partition = partitions.get(tp);
            // Answers are large: each is made where it stays, and taken back if nobody needs it.
            let answer =
                pushed(&mut answers, FetchPartitionResponse::without_bounds(tp, ErrorCode::None));
            fetch_records(io, &self.params, &cached.read, partition, answer);
            let is_in_sync = partition.is_some_and(|p| p.has_in_sync(self.params.replica));
            cached.is_settled = is_empty(answer) && is_in_sync;
            if !cached.must_respond(io, answer, all) {
                answers.pop();
            }
        }
        answers
    }

    /// What was read is answered: partitions of which there is nothing left to say need not be
    /// looked at until they change. The session id of the answer is returned: a session without
    /// partitions ends.
    pub(crate) fn answered(&mut self) -> i32 {
        let Self { partitions, changed, .. } = self;
        changed.retain(|&place| !partitions[place as usize].is_settled);
        if partitions.is_empty() { FetchMetadata::INVALID_SESSION_ID } else { self.id }
    }
}

/// `FetchSessionCache`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct FetchSessionCache {
    sessions: SortedMap<SessionKey, FetchSession>,
    last_id: i32,
    /// Counts down.
    last_without_session: i32,
}

impl FetchSessionCache {
    /// No session yet, in the life of that number.
    pub(crate) fn new(life: u64) -> Self {
        let life = i32::try_from(life).unwrap_or(i32::MAX) % (i32::MAX / IDS_OF_ONE_LIFE);
        Self { last_id: life * IDS_OF_ONE_LIFE, ..Self::default() }
    }

    /// Ends a session; the fetch that waits in it is returned.
    pub(crate) fn close(&mut self, key: SessionKey) -> Option<DelayedFetch> {
        self.sessions.remove(key)?.delayed
    }

    /// Finds or makes what a fetch reads (`FetchManager#newContext`).
    pub(crate) fn new_context(
        &mut self,
        request: &FetchRequest,
    ) -> Result<(SessionKey, &mut FetchSession), ErrorCode> {
        let FetchMetadata { session_id, epoch } = request.metadata;
        let key = if request.metadata.is_full() { self.insert(request) } else { session_id };
        let session = self.sessions.get_mut(key).ok_or(ErrorCode::FetchSessionIdNotFound)?;
        if !request.metadata.is_full() {
            if session.epoch != epoch {
                return Err(ErrorCode::InvalidFetchSessionEpoch);
            }
            session.update(request);
            session.epoch = FetchMetadata::next_epoch(epoch);
        }
        Ok((key, session))
    }

    fn insert(&mut self, request: &FetchRequest) -> SessionKey {
        let (key, id) = if request.metadata.epoch == FetchMetadata::FINAL_EPOCH {
            self.last_without_session -= 1;
            (self.last_without_session, FetchMetadata::INVALID_SESSION_ID)
        } else {
            self.last_id += 1;
            (self.last_id, self.last_id)
        };
        self.sessions.insert(key, FetchSession::new(id, request));
        key
    }

    /// The session that stands at `place`.
    pub(crate) fn at_mut(&mut self, place: usize) -> Option<(SessionKey, &mut FetchSession)> {
        self.sessions.at_mut(place)
    }

    /// Every fetch that waits.
    pub(crate) fn delayed(&self) -> impl Iterator<Item = &DelayedFetch> {
        self.sessions.values().filter_map(|session| session.delayed.as_ref())
    }
}
