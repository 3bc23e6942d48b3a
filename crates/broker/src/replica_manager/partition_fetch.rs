//! What one partition has for a reader, and what a follower's fetch tells it.
//!
//! Kafka counterpart: `Partition#fetchRecords`, `#updateFollowerFetchState`, `FetchParams`.
//! Invariants: no reader gets anything at or beyond its bound (L-FET-1); bounds in an answer are
//! those from before the read (L-FET-4).

use eosim_types::message::{FetchPartition, FetchPartitionResponse, FetchRequest, IsolationLevel};
use eosim_types::{BrokerId, Defect, ErrorCode, LeaderEpoch, rule};

use super::not_hosted;
use super::partition::{Leadership, Partition};
use super::replica::FollowerFetch;
use crate::io::Io;

/// What holds for all partitions of a fetch (`FetchParams`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FetchParams {
    /// The follower that asks, with its broker epoch; `None` for a consumer.
    pub(crate) replica: Option<(BrokerId, i64)>,
    /// For consumers.
    pub(crate) isolation_level: IsolationLevel,
    /// The fetch waits for so many bytes.
    pub(crate) min_bytes: i32,
    /// At most so many bytes for each partition; the first batch is always given.
    pub(crate) partition_max_bytes: i32,
}

impl FetchParams {
    /// Those of `request`.
    pub(crate) fn of(request: &FetchRequest) -> Self {
        Self {
            replica: request.replica,
            isolation_level: request.isolation_level,
            min_bytes: request.min_bytes,
            partition_max_bytes: request.partition_max_bytes,
        }
    }
}

/// What one partition has for a reader.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readable {
    /// So many bytes below the bound.
    Bytes(i64),
    /// The logs part before the offset asked for (L-FLT-2).
    Diverging(LeaderEpoch, i64),
}

/// What there is to `read`.
pub(crate) fn readable(
    io: &mut Io<'_>,
    params: &FetchParams,
    read: &FetchPartition,
    partition: Option<&Partition>,
) -> Result<Readable, ErrorCode> {
    let partition = partition.ok_or_else(|| not_hosted(io, read.partition))?;
    partition.readable(io, params, read)
}

/// Fills in what is answered to `read`; `answer` has no bounds and no batches yet.
pub(crate) fn fetch_records(
    io: &mut Io<'_>,
    params: &FetchParams,
    read: &FetchPartition,
    partition: Option<&Partition>,
    answer: &mut FetchPartitionResponse,
) {
    match partition {
        Some(partition) => partition.fetch_records(io, params, read, answer),
        None => answer.error = not_hosted(io, read.partition),
    }
}

impl Partition {
    /// The checks of L-FET-2, for each partition of each fetch: when it comes, when it is looked at
    /// again, when it is answered.
    fn readable(
        &self,
        io: &mut Io<'_>,
        params: &FetchParams,
        read: &FetchPartition,
    ) -> Result<Readable, ErrorCode> {
        rule!(io.env, "L-FET-2");
        self.check_current_leader_epoch(io, read.current_leader_epoch)?;
        if let Some((follower, _)) = params.replica {
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
        let bound = self.bound(io, params);
        Ok(Readable::Bytes(self.bytes_below(read.fetch_offset, bound, params)))
    }

    /// Fills in what is answered (`fetchRecords`).
    fn fetch_records(
        &self,
        io: &mut Io<'_>,
        params: &FetchParams,
        read: &FetchPartition,
        answer: &mut FetchPartitionResponse,
    ) {
        let readable = match self.readable(io, params, read) {
            Ok(readable) => readable,
            Err(error) => return answer.error = error,
        };
        rule!(io.env, "L-FET-4");
        answer.high_watermark = self.log.high_watermark();
        answer.last_stable_offset = self.log.last_stable_offset();
        answer.log_start_offset = self.log.log_start_offset();
        match readable {
            Readable::Diverging(epoch, end) => answer.diverging_epoch = Some((epoch, end)),
            Readable::Bytes(0) => {}
            Readable::Bytes(_) => self.fill(io, params, read, answer),
        }
    }

    /// Where a reader must stop (L-FET-1).
    #[inline]
    fn bound(&self, io: &mut Io<'_>, params: &FetchParams) -> i64 {
        rule!(io.env, "L-FET-1");
        if params.replica.is_none() && io.env.on(Defect::LeaderLsoIgnoreOpenTxn) {
            return self.log.high_watermark();
        }
        match (params.replica, params.isolation_level) {
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

    /// Does the reader belong to the maximal ISR, if it is a follower?
    pub(crate) fn has_in_sync(&self, reader: Option<(BrokerId, i64)>) -> bool {
        let is_in_sync = |leadership: &Leadership, id| leadership.isr.maximal_contains(id);
        reader.is_none_or(|(id, _)| self.leadership().is_ok_and(|led| is_in_sync(led, id)))
    }

    /// A follower's fetch tells where its log ends, unless the logs part or the leader epoch does
    /// not fit (L-HW-3). True if a watermark has moved.
    pub(crate) fn update_follower_fetch_state(
        &mut self,
        io: &mut Io<'_>,
        (follower, broker_epoch): (BrokerId, i64),
        read: &FetchPartition,
    ) -> bool {
        let in_range = self.log.log_start_offset()..=self.log.log_end_offset();
        if self.check_current_leader_epoch(io, read.current_leader_epoch).is_err()
            || !in_range.contains(&read.fetch_offset)
            || self.diverging_epoch(io, read) != Ok(None)
        {
            return false;
        }
        let fetch = FollowerFetch {
            fetch_offset: read.fetch_offset,
            log_start_offset: read.log_start_offset,
            broker_epoch,
            leader_log_end_offset: self.log.log_end_offset(),
        };
        self.note_follower_fetch(io, follower, fetch)
    }

    /// Bytes from `fetch_offset` up to `bound`; at most what the reader waits for is counted.
    #[inline]
    fn bytes_below(&self, fetch_offset: i64, bound: i64, params: &FetchParams) -> i64 {
        if fetch_offset >= bound {
            return 0;
        }
        if params.min_bytes <= 1 { 1 } else { self.bytes_read(fetch_offset, bound, params) }
    }

    fn bytes_read(&self, fetch_offset: i64, bound: i64, params: &FetchParams) -> i64 {
        let batches = self.log.read(fetch_offset, bound, params.partition_max_bytes);
        batches.iter().map(|batch| i64::from(batch.size_in_bytes())).sum()
    }

    /// Whole batches, and for read_committed what among them was aborted (L-FET-3).
    fn fill(
        &self,
        io: &mut Io<'_>,
        params: &FetchParams,
        read: &FetchPartition,
        response: &mut FetchPartitionResponse,
    ) {
        let bound = self.bound(io, params);
        let batches = self.log.read(read.fetch_offset, bound, params.partition_max_bytes);
        let is_consumer = params.replica.is_none();
        if is_consumer && params.isolation_level == IsolationLevel::ReadCommitted {
            rule!(io.env, "L-FET-3");
            response.aborted_transactions =
                self.log.aborted_transactions(&mut io.env, read.fetch_offset, &batches);
        }
        response.batches = batches;
    }
}
