//! The request Fetch, of consumers and of followers.
//!
//! Kafka counterpart: `KafkaApis#handleFetchRequest`, `ReplicaManager#fetchMessages` and
//! `#readFromLog`, `Partition#fetchRecords`, `DelayedFetch`. Invariants: no reader gets anything at
//! or beyond its bound (L-FET-1); bounds in an answer are those from before the read (L-FET-4).
//! Of Kafka's fetch sessions the answers are modelled, not the requests: a request has every
//! partition, an answer to a follower only those of which there is something new (L-HW-6).

use alloc::vec::Vec;

use eosim_actor::RequestToken;
use eosim_types::message::{
    FetchPartition, FetchPartitionResponse, FetchRequest, FetchResponse, IsolationLevel,
};
use eosim_types::{Duration, ErrorCode, Few, LeaderEpoch, TopicPartition, rule};

use super::delayed_operation::{DelayedFetch, OperationId};
use super::partition::Partition;
use super::replica::FollowerFetch;
use super::{ReplicaManager, not_hosted};
use crate::io::Io;
use crate::timers::Timer;

/// Room for so many partitions in an answer: a fetch session hears of few at a time.
const FEW_ANSWERS: usize = 4;

/// What one partition has for a reader.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readable {
    /// So many bytes below the bound.
    Bytes(i64),
    /// The logs part before the offset asked for (L-FLT-2).
    Diverging(LeaderEpoch, i64),
}

impl ReplicaManager {
    /// Answers a fetch, or parks it.
    pub(crate) fn handle_fetch(
        &mut self,
        io: &mut Io<'_>,
        token: RequestToken,
        request: FetchRequest,
    ) {
        let max_wait = Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0));
        if max_wait == Duration::ZERO || self.is_ready(io, &request) {
            let response = self.read_from_log(io, &request);
            io.respond(token, response);
            return self.update_follower_fetch_states(io, &request);
        }
        self.update_follower_fetch_states(io, &request);
        let deadline = io.now() + max_wait;
        let id = self.purgatory.next_id();
        self.purgatory.fetches.insert(id, DelayedFetch { token, request, deadline });
        io.wake_at(Timer::Purgatory, deadline);
    }

    /// Is there anything to say already (L-FET-5, `DelayedFetch#tryComplete`)?
    fn is_ready(&self, io: &mut Io<'_>, request: &FetchRequest) -> bool {
        let mut missing = i64::from(request.min_bytes);
        for read in &request.partitions {
            match self.readable(io, request, read) {
                Err(_) | Ok(Readable::Diverging(..)) => return true,
                Ok(Readable::Bytes(bytes)) => missing -= bytes,
            }
            if missing <= 0 {
                return true;
            }
        }
        request.partitions.is_empty()
    }

    /// Has the change of one partition made a parked fetch ready? Where a byte is enough, the
    /// others are as they were.
    fn became_ready(
        &self,
        io: &mut Io<'_>,
        request: &FetchRequest,
        changed: TopicPartition,
    ) -> bool {
        let mut reads = request.partitions.iter();
        let Some(read) = reads.find(|read| read.partition == changed) else { return false };
        if request.min_bytes > 1 {
            return self.is_ready(io, request);
        }
        self.readable(io, request, read) != Ok(Readable::Bytes(0))
    }

    fn readable(
        &self,
        io: &mut Io<'_>,
        request: &FetchRequest,
        read: &FetchPartition,
    ) -> Result<Readable, ErrorCode> {
        self.hosted(io, read.partition)?.readable(io, request, read)
    }

    /// Reads the partitions of a request (`readFromLog`).
    fn read_from_log(&mut self, io: &mut Io<'_>, request: &FetchRequest) -> FetchResponse {
        let mut partitions = Vec::with_capacity(request.partitions.len().min(FEW_ANSWERS));
        for read in &request.partitions {
            let Some(partition) = self.partitions.get_mut(read.partition) else {
                let error = not_hosted(io, read.partition);
                partitions.push(error_response(read.partition, error));
                continue;
            };
            let answer = partition.fetch_records(io, request, read);
            if partition.must_respond(io, request, &answer) {
                partitions.push(answer);
            }
        }
        FetchResponse { partitions }
    }

    /// The leader learns where its followers are (L-HW-3).
    fn update_follower_fetch_states(&mut self, io: &mut Io<'_>, request: &FetchRequest) {
        let Some((follower, broker_epoch)) = request.replica else { return };
        for read in &request.partitions {
            let Some(partition) = self.partitions.get_mut(read.partition) else { continue };
            if partition.diverges_or_is_fenced(io, read) {
                continue;
            }
            let fetch = FollowerFetch {
                fetch_offset: read.fetch_offset,
                log_start_offset: read.log_start_offset,
                broker_epoch,
                leader_log_end_offset: partition.log.log_end_offset(),
            };
            if partition.update_follower_fetch_state(io, follower, fetch) {
                partition.maybe_increment_leader_high_watermark(io);
                self.note_change(read.partition);
            }
        }
    }

    /// Answers the parked fetches of `tp` that have become ready.
    pub(crate) fn complete_fetches(&mut self, io: &mut Io<'_>, tp: TopicPartition) {
        let mut place = 0;
        while let Some((id, fetch)) = self.purgatory.fetches.at(place) {
            if self.became_ready(io, &fetch.request, tp) {
                rule!(io.env, "L-FET-5");
                self.complete_fetch(io, id);
            } else {
                place += 1;
            }
        }
    }

    /// Answers a parked fetch with what there is now.
    pub(crate) fn complete_fetch(&mut self, io: &mut Io<'_>, id: OperationId) {
        let Some(fetch) = self.purgatory.fetches.remove(id) else { return };
        let response = self.read_from_log(io, &fetch.request);
        io.respond(fetch.token, response);
    }
}

impl Partition {
    /// The checks of L-FET-2, for each partition of each fetch: when it comes, when it is looked at
    /// again, when it is answered.
    #[inline(always)]
    fn readable(
        &self,
        io: &mut Io<'_>,
        request: &FetchRequest,
        read: &FetchPartition,
    ) -> Result<Readable, ErrorCode> {
        rule!(io.env, "L-FET-2");
        self.check_current_leader_epoch(io, read.current_leader_epoch)?;
        if let Some((follower, _)) = request.replica {
            self.leadership()?;
            if !self.replicas.contains(&follower) {
                return Err(ErrorCode::NotLeaderOrFollower);
            }
        }
        if let Some((epoch, end_offset)) = self.diverging_epoch(io, read)? {
            return Ok(Readable::Diverging(epoch, end_offset));
        }
        let log = &self.log;
        if read.fetch_offset < log.log_start_offset() || read.fetch_offset > log.log_end_offset() {
            return Err(ErrorCode::OffsetOutOfRange);
        }
        let bound = self.bound(io, request);
        Ok(Readable::Bytes(self.bytes_below(read.fetch_offset, bound, request)))
    }

    /// What is answered (`fetchRecords`).
    fn fetch_records(
        &self,
        io: &mut Io<'_>,
        request: &FetchRequest,
        read: &FetchPartition,
    ) -> FetchPartitionResponse {
        let readable = match self.readable(io, request, read) {
            Ok(readable) => readable,
            Err(error) => return error_response(read.partition, error),
        };
        rule!(io.env, "L-FET-4");
        let mut response = FetchPartitionResponse {
            high_watermark: self.log.high_watermark(),
            last_stable_offset: self.log.last_stable_offset(),
            log_start_offset: self.log.log_start_offset(),
            ..error_response(read.partition, ErrorCode::None)
        };
        match readable {
            Readable::Diverging(epoch, end) => response.diverging_epoch = Some((epoch, end)),
            Readable::Bytes(0) => {}
            Readable::Bytes(_) => self.fill(io, request, read, &mut response),
        }
        response
    }

    /// L-HW-6 (`CachedPartition#maybeUpdateResponseData`): a follower is told nothing twice.
    fn must_respond(
        &mut self,
        io: &mut Io<'_>,
        request: &FetchRequest,
        answer: &FetchPartitionResponse,
    ) -> bool {
        let Some((follower, _)) = request.replica else { return true };
        let Some(replica) = self.remote_replica_mut(follower) else { return true };
        let bounds = Some((answer.high_watermark, answer.log_start_offset));
        let told = core::mem::replace(&mut replica.told, bounds);
        if request.is_full || told != bounds {
            return true;
        }
        rule!(io.env, "L-HW-6");
        !answer.error.is_none() || answer.diverging_epoch.is_some() || !answer.batches.is_empty()
    }

    /// Where a reader must stop (L-FET-1).
    #[inline]
    fn bound(&self, io: &mut Io<'_>, request: &FetchRequest) -> i64 {
        rule!(io.env, "L-FET-1");
        match (request.replica, request.isolation_level) {
            (Some(_), _) => self.log.log_end_offset(),
            (None, IsolationLevel::ReadUncommitted) => self.log.high_watermark(),
            (None, IsolationLevel::ReadCommitted) => self.log.last_stable_offset(),
        }
    }

    /// L-FLT-2: does the follower's log part from this one before the offset that it asks for?
    fn diverging_epoch(
        &self,
        io: &mut Io<'_>,
        read: &FetchPartition,
    ) -> Result<Option<(LeaderEpoch, i64)>, ErrorCode> {
        if read.last_fetched_epoch == LeaderEpoch::NONE {
            return Ok(None);
        }
        rule!(io.env, "L-FLT-2");
        let end = self.log.end_offset_for_epoch(read.last_fetched_epoch);
        let (epoch, end_offset) = end.ok_or(ErrorCode::OffsetOutOfRange)?;
        let diverging = epoch < read.last_fetched_epoch || end_offset < read.fetch_offset;
        Ok(diverging.then_some((epoch, end_offset)))
    }

    /// Such a fetch says nothing about what the follower has.
    fn diverges_or_is_fenced(&self, io: &mut Io<'_>, read: &FetchPartition) -> bool {
        let in_range = self.log.log_start_offset()..=self.log.log_end_offset();
        self.check_current_leader_epoch(io, read.current_leader_epoch).is_err()
            || !in_range.contains(&read.fetch_offset)
            || self.diverging_epoch(io, read) != Ok(None)
    }

    /// Bytes from `fetch_offset` up to `bound`; at most what the reader waits for is counted.
    #[inline]
    fn bytes_below(&self, fetch_offset: i64, bound: i64, request: &FetchRequest) -> i64 {
        if fetch_offset >= bound {
            return 0;
        }
        if request.min_bytes <= 1 { 1 } else { self.bytes_read(fetch_offset, bound, request) }
    }

    fn bytes_read(&self, fetch_offset: i64, bound: i64, request: &FetchRequest) -> i64 {
        let batches = self.log.read(fetch_offset, bound, request.partition_max_bytes);
        batches.iter().map(|batch| i64::from(batch.size_in_bytes())).sum()
    }

    /// Whole batches, and for read_committed what among them was aborted (L-FET-3).
    fn fill(
        &self,
        io: &mut Io<'_>,
        request: &FetchRequest,
        read: &FetchPartition,
        response: &mut FetchPartitionResponse,
    ) {
        let bound = self.bound(io, request);
        let batches = self.log.read(read.fetch_offset, bound, request.partition_max_bytes);
        let is_consumer = request.replica.is_none();
        if is_consumer && request.isolation_level == IsolationLevel::ReadCommitted {
            rule!(io.env, "L-FET-3");
            response.aborted_transactions =
                self.log.aborted_transactions(&mut io.env, read.fetch_offset, &batches);
        }
        response.batches = batches;
    }
}

fn error_response(partition: TopicPartition, error: ErrorCode) -> FetchPartitionResponse {
    FetchPartitionResponse {
        partition,
        error,
        high_watermark: -1,
        last_stable_offset: -1,
        log_start_offset: -1,
        aborted_transactions: Vec::new(),
        diverging_epoch: None,
        batches: Few::new(),
    }
}
