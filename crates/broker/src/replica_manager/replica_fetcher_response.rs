//! Followers fetch: what becomes of the answer.
//!
//! Kafka counterpart: `AbstractFetcherThread#processFetchRequest`, `#truncateOnFetchResponse`,
//! `#fetchOffsetAndTruncate`, `ReplicaFetcherThread#processPartitionData`. Invariant: an answer
//! counts only if leader epoch and log end are still those of the question.

use eosim_types::message::{
    FetchPartitionResponse, FetchResponse, ListOffsetsAsker, ListOffsetsPartition,
    ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsTimestamp,
};
use eosim_types::{BrokerId, Defect, ErrorCode, Few, LeaderEpoch, TopicPartition, rule};

use super::ReplicaManager;
use super::partition::Partition;
use super::replica_fetcher::FetchState;
use crate::io::Io;
use crate::network::{Call, LeaderOffset, lane};
use crate::timers::Timer;

/// The version of ListOffsets between brokers.
const LIST_OFFSETS_VERSION: i16 = 10;

impl ReplicaManager {
    /// The leader has answered a fetch.
    pub(crate) fn on_fetch_response(
        &mut self,
        io: &mut Io<'_>,
        leader: BrokerId,
        response: &FetchResponse,
    ) {
        let Some(fetcher) = self.fetchers.get_mut(leader) else { return };
        if fetcher.on_answer(response) {
            for answer in &response.partitions {
                self.on_partition_data(io, leader, answer);
            }
        }
        self.maybe_send_fetch(io, leader);
    }

    fn on_partition_data(
        &mut self,
        io: &mut Io<'_>,
        leader: BrokerId,
        answer: &FetchPartitionResponse,
    ) {
        let tp = answer.partition;
        let is_truncation = answer.diverging_epoch.is_some();
        let any_epoch = is_truncation && io.env.on(Defect::FollowerTruncateIgnoreResponseEpoch);
        let asked = self.epoch_of_current_question(leader, tp, any_epoch);
        let Some(leader_epoch) = asked else { return };
        match answer.error {
            ErrorCode::None => {
                if self.take_partition_data(io, leader_epoch, answer).is_err() {
                    self.set_fetch_state(leader, tp, FetchState::Stopped);
                }
            }
            ErrorCode::OffsetOutOfRange => {
                self.set_fetch_state(leader, tp, FetchState::AwaitingLeaderOffset);
                ask_leader_offset(io, leader, tp, LeaderOffset::End, leader_epoch);
            }
            ErrorCode::FencedLeaderEpoch => {
                rule!(io.env, "L-FLT-4");
                self.set_fetch_state(leader, tp, FetchState::Stopped);
            }
            _ => self.delay_partition(io, leader, tp),
        }
    }

    /// The leader epoch under which `tp` was asked for, if the same would be asked still, or
    /// `any_epoch` will do.
    fn epoch_of_current_question(
        &mut self,
        leader: BrokerId,
        tp: TopicPartition,
        any_epoch: bool,
    ) -> Option<LeaderEpoch> {
        let log_end_offset = self.partitions.get(tp)?.log.log_end_offset();
        let fetched = self.fetchers.get_mut(leader)?.partition_mut(tp)?;
        (any_epoch || fetched.is_current(log_end_offset)).then_some(fetched.leader_epoch)
    }

    fn take_partition_data(
        &mut self,
        io: &mut Io<'_>,
        leader_epoch: LeaderEpoch,
        answer: &FetchPartitionResponse,
    ) -> Result<(), ErrorCode> {
        let tp = answer.partition;
        let Some(partition) = self.partitions.get_mut(tp) else { return Ok(()) };
        if let Some((epoch, end_offset)) = answer.diverging_epoch {
            partition.truncate_to_diverging(io, epoch, end_offset);
        } else if partition.append_records_to_follower(io, leader_epoch, answer)? {
            self.note_change(tp);
        }
        Ok(())
    }

    fn set_fetch_state(&mut self, leader: BrokerId, tp: TopicPartition, state: FetchState) {
        let fetcher = self.fetchers.get_mut(leader);
        if let Some(fetched) = fetcher.and_then(|fetcher| fetcher.partition_mut(tp)) {
            fetched.state = state;
        }
    }

    /// `replica.fetch.backoff.ms` for one partition (L-FLT-4).
    pub(crate) fn delay_partition(
        &mut self,
        io: &mut Io<'_>,
        leader: BrokerId,
        tp: TopicPartition,
    ) {
        rule!(io.env, "L-FLT-4");
        let until = io.now() + io.spec.config.replica_fetch_backoff;
        self.set_fetch_state(leader, tp, FetchState::Delayed { until });
        io.wake_at(Timer::ReplicaFetcher, until);
    }

    /// Out of range: the leader has said where its log ends or begins (`fetchOffsetAndTruncate`).
    pub(crate) fn on_leader_offset(
        &mut self,
        io: &mut Io<'_>,
        leader: BrokerId,
        which: LeaderOffset,
        response: ListOffsetsPartitionResponse,
    ) {
        let tp = response.partition;
        let fetched = self.fetchers.get_mut(leader).and_then(|f| f.partition_mut(tp)).copied();
        let Some(fetched) = fetched.filter(|f| f.state == FetchState::AwaitingLeaderOffset) else {
            return;
        };
        let Some(partition) = self.partitions.get_mut(tp) else { return };
        if !response.error.is_none() {
            return self.delay_partition(io, leader, tp);
        }
        let log_end_offset = partition.log.log_end_offset();
        if which == LeaderOffset::End && response.offset >= log_end_offset {
            return ask_leader_offset(io, leader, tp, LeaderOffset::Start, fetched.leader_epoch);
        }
        match which {
            LeaderOffset::End => partition.log.truncate_to(&mut io.env, response.offset),
            LeaderOffset::Start if response.offset > log_end_offset => {
                rule!(io.env, "L-TRC-2");
                partition.log.truncate_fully_and_start_at(&mut io.env, response.offset);
            }
            LeaderOffset::Start => {}
        }
        self.set_fetch_state(leader, tp, FetchState::Fetching);
        self.maybe_send_fetch(io, leader);
    }
}

fn ask_leader_offset(
    io: &mut Io<'_>,
    leader: BrokerId,
    partition: TopicPartition,
    which: LeaderOffset,
    current_leader_epoch: LeaderEpoch,
) {
    let timestamp = match which {
        LeaderOffset::End => ListOffsetsTimestamp::Latest,
        LeaderOffset::Start => ListOffsetsTimestamp::Earliest,
    };
    let asked = ListOffsetsPartition { partition, current_leader_epoch, timestamp };
    let request = ListOffsetsRequest {
        version: LIST_OFFSETS_VERSION,
        asker: ListOffsetsAsker::Debug,
        partitions: Few::One(asked),
    };
    let call = Call::LeaderOffset { leader, partition, which };
    io.send(leader, lane::REPLICA_FETCHER, call, request);
}

impl Partition {
    /// L-FLT-3 (`getOffsetTruncationState`).
    fn truncate_to_diverging(&mut self, io: &mut Io<'_>, epoch: LeaderEpoch, end_offset: i64) {
        rule!(io.env, "L-FLT-3");
        let log_end_offset = self.log.log_end_offset();
        let target = match self.log.end_offset_for_epoch(epoch) {
            Some((own_epoch, own_end)) if own_epoch == epoch => own_end.min(end_offset),
            Some((_, own_end)) => own_end,
            None => end_offset,
        };
        self.log.truncate_to(&mut io.env, target.min(log_end_offset));
    }

    /// L-RPL-1, L-HW-1 (`processPartitionData`). True if there is more to read for consumers.
    fn append_records_to_follower(
        &mut self,
        io: &mut Io<'_>,
        leader_epoch: LeaderEpoch,
        answer: &FetchPartitionResponse,
    ) -> Result<bool, ErrorCode> {
        self.begin_at_first_batch(io, answer);
        rule!(io.env, "L-RPL-1");
        let mut append = || self.log.append_as_follower(&mut io.env, &answer.batches, leader_epoch);
        if answer.batches.is_empty() { append() } else { io.disk.write(append) }?;
        rule!(io.env, "L-HW-1");
        let high_watermark = answer.high_watermark.min(self.log.log_end_offset());
        let has_moved = self.log.update_high_watermark(&mut io.env, high_watermark);
        self.log.maybe_increment_log_start_offset(&mut io.env, answer.log_start_offset);
        Ok(has_moved)
    }

    /// A leader's log may begin amid a batch, which is sent whole: an empty log then begins where
    /// that batch does (`UnexpectedAppendOffsetException`).
    fn begin_at_first_batch(&mut self, io: &mut Io<'_>, answer: &FetchPartitionResponse) {
        let Some(first) = answer.batches.first() else { return };
        let log_end_offset = self.log.log_end_offset();
        let is_empty = self.log.log_start_offset() == log_end_offset;
        if is_empty && (first.base_offset + 1..=first.last_offset()).contains(&log_end_offset) {
            rule!(io.env, "L-TRC-2");
            self.log.truncate_fully_and_start_at(&mut io.env, first.base_offset);
        }
    }
}
