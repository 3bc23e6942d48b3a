//! Appends at the leader, and the wait for replicas.
//!
//! Kafka counterpart: `ReplicaManager#appendRecords`, `#appendToLocalLog`,
//! `Partition#appendRecordsToLeader`, `DelayedProduce`. Invariant: every append is answered once.

use alloc::vec::Vec;

use eosim_storage::{AppendOrigin, LogAppendInfo, VerificationGuard};
use eosim_types::message::{ProducePartitionResponse, ProduceResponse};
use eosim_types::record::RecordBatch;
use eosim_types::version::TransactionVersion;
use eosim_types::{Duration, ErrorCode, Few, TopicPartition, rule};

use super::ReplicaManager;
use super::delayed_operation::{Appender, DelayedProduce, OperationId, ProducePartitionStatus};
use super::partition::{Partition, Role};
use crate::io::Io;

/// How a batch is appended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct AppendOptions {
    /// Who made the batch (L-REC-7).
    pub(crate) origin: AppendOrigin,
    /// 0, 1 or -1 (all).
    pub(crate) acks: i16,
    /// May it go to an internal topic?
    pub(crate) internal_topics_allowed: bool,
    /// What the verification stage gave.
    pub(crate) verification_guard: VerificationGuard,
    /// The version that a marker carries (L-MRK-2).
    pub(crate) transaction_version: Option<TransactionVersion>,
}

/// Why an append was refused, and where the log begins if that is known (L-PIPE-5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct AppendRefused {
    /// The reason.
    pub(crate) error: ErrorCode,
    /// -1 if not known.
    pub(crate) log_start_offset: i64,
}

impl From<ErrorCode> for AppendRefused {
    fn from(error: ErrorCode) -> Self {
        Self { error, log_start_offset: -1 }
    }
}

/// One append with its outcome.
pub(crate) type AppendResult = Result<LogAppendInfo, AppendRefused>;

impl ReplicaManager {
    /// One batch into one local log (L-PIPE-4).
    pub(crate) fn append_to_local_log(
        &mut self,
        io: &mut Io<'_>,
        tp: TopicPartition,
        batch: RecordBatch,
        options: AppendOptions,
    ) -> AppendResult {
        rule!(io.env, "L-PIPE-4");
        rule!(io.env, "L-REC-8");
        if !matches!(options.acks, -1..=1) {
            return Err(ErrorCode::InvalidRequiredAcks.into());
        }
        if tp.topic.is_internal() && !options.internal_topics_allowed {
            return Err(ErrorCode::InvalidTopicException.into());
        }
        let partition = self.hosted_mut(io, tp)?;
        let info = partition.append_records_to_leader(io, batch, options)?;
        partition.maybe_increment_leader_high_watermark(io);
        self.note_change(tp);
        Ok(info)
    }

    /// Waits until the high watermark has passed everything that was appended (L-PIPE-6).
    pub(crate) fn await_replication(
        &mut self,
        io: &mut Io<'_>,
        appender: Appender,
        timeout: Duration,
        statuses: Few<ProducePartitionStatus>,
    ) {
        let id = self.purgatory.next_id();
        let mut undecided = 0;
        for status in &statuses {
            let tp = status.partition;
            let (Ok(info), Some(partition)) = (status.appended, self.partitions.get_mut(tp)) else {
                continue;
            };
            rule!(io.env, "L-DUP-4");
            partition.watchers.push((info.last_offset + 1, id));
            undecided += 1;
            self.note_change(tp);
        }
        let deadline = io.now() + timeout;
        let delayed = DelayedProduce { appender, deadline, undecided, statuses };
        if delayed.undecided == 0 {
            return self.finish_append(io, delayed);
        }
        self.purgatory.produces.insert(id, delayed);
        io.wake_at(crate::timers::Timer::Purgatory, deadline);
    }

    /// Decides the parked appends of `tp` that can be decided (`DelayedProduce#tryComplete`).
    pub(crate) fn complete_produces(&mut self, io: &mut Io<'_>, tp: TopicPartition) {
        while let Some(partition) = self.partitions.get_mut(tp)
            && let Some((id, error)) = partition.take_due_watcher(io)
        {
            self.decide_append(io, id, tp, error);
        }
    }

    pub(crate) fn decide_append(
        &mut self,
        io: &mut Io<'_>,
        id: OperationId,
        tp: TopicPartition,
        error: ErrorCode,
    ) {
        let Some(delayed) = self.purgatory.produces.get_mut(id) else { return };
        delayed.decide(tp, error);
        if delayed.undecided == 0
            && let Some(delayed) = self.purgatory.produces.remove(id)
        {
            self.finish_append(io, delayed);
        }
    }

    /// The deadline has passed: what is undecided stays unknown, and is found out by the producer's
    /// retry (L-ACK-3, L-ACK-4, L-FO-2).
    pub(crate) fn expire_produce(&mut self, io: &mut Io<'_>, id: OperationId) {
        let Some(mut delayed) = self.purgatory.produces.remove(id) else { return };
        rule!(io.env, "L-ACK-4");
        for status in &mut delayed.statuses {
            let partition = self.partitions.get_mut(status.partition);
            if partition.is_some_and(|partition| partition.remove_watcher(id)) {
                status.decided = Some(ErrorCode::RequestTimedOut);
            }
        }
        self.finish_append(io, delayed);
    }

    fn finish_append(&mut self, io: &mut Io<'_>, delayed: DelayedProduce) {
        let DelayedProduce { appender, statuses, .. } = delayed;
        match appender {
            Appender::Produce(token) => {
                let partitions = statuses.iter().map(response_of).collect();
                io.respond(token, ProduceResponse { partitions });
            }
            Appender::Markers { request, producer_id } => {
                let errors = statuses.iter().map(|s| (s.partition, s.error())).collect();
                self.marker_written(io, request, producer_id, errors);
            }
            Appender::TransactionLog(id) => {
                let error = statuses.first().map_or(ErrorCode::None, ProducePartitionStatus::error);
                self.finished_appends.push((id, error));
            }
        }
    }
}

impl Partition {
    /// `Partition#appendRecordsToLeader`.
    fn append_records_to_leader(
        &mut self,
        io: &mut Io<'_>,
        batch: RecordBatch,
        options: AppendOptions,
    ) -> AppendResult {
        let committed = self.leadership()?.isr.committed.len();
        let refused = |error, log_start_offset| Err(AppendRefused { error, log_start_offset });
        if options.acks == -1 && committed < self.effective_min_isr(io) {
            rule!(io.env, "L-ACK-2");
            return refused(ErrorCode::NotEnoughReplicas, self.log.log_start_offset());
        }
        rule!(io.env, "L-ACK-5");
        rule!(io.env, "L-LEP-4");
        let appended = io.disk.write(|| {
            self.log.append_as_leader(
                &mut io.env,
                batch,
                self.leader_epoch,
                options.origin,
                options.verification_guard,
                options.transaction_version,
            )
        });
        rule!(io.env, "L-PIPE-5");
        appended.or_else(|error| refused(error, self.log_start_offset_beside(error)))
    }

    /// Producer-state errors come with the log's start, others without (L-PIPE-5).
    fn log_start_offset_beside(&self, error: ErrorCode) -> i64 {
        match error {
            ErrorCode::OutOfOrderSequenceNumber
            | ErrorCode::InvalidProducerEpoch
            | ErrorCode::InvalidTxnState
            | ErrorCode::TransactionCoordinatorFenced => self.log.log_start_offset(),
            _ => -1,
        }
    }

    /// Takes a watcher that can be decided, and how (`checkEnoughReplicasReachOffset`).
    fn take_due_watcher(&mut self, io: &mut Io<'_>) -> Option<(OperationId, ErrorCode)> {
        if self.watchers.is_empty() {
            return None;
        }
        rule!(io.env, "L-ACK-3");
        let min_isr = self.effective_min_isr(io);
        let Role::Leader(leadership) = &self.role else {
            rule!(io.env, "L-FO-4");
            return Some((self.watchers.remove(0).1, ErrorCode::NotLeaderOrFollower));
        };
        let error = if leadership.isr.maximal_len() < min_isr {
            ErrorCode::NotEnoughReplicasAfterAppend
        } else {
            ErrorCode::None
        };
        let high_watermark = self.log.high_watermark();
        let due = self.watchers.iter().position(|&(required, _)| required <= high_watermark)?;
        Some((self.watchers.remove(due).1, error))
    }

    /// The append `id` waits no more; did it wait?
    fn remove_watcher(&mut self, id: OperationId) -> bool {
        let waiting = self.watchers.len();
        self.watchers.retain(|(_, watcher)| *watcher != id);
        self.watchers.len() < waiting
    }
}

/// L-PIPE-5.
pub(crate) fn response_of(status: &ProducePartitionStatus) -> ProducePartitionResponse {
    let (base_offset, log_append_time, log_start_offset) = match status.appended {
        Ok(info) => (info.first_offset, info.log_append_time, info.log_start_offset),
        Err(refused) => (-1, -1, refused.log_start_offset),
    };
    ProducePartitionResponse {
        partition: status.partition,
        error: status.error(),
        base_offset,
        log_append_time,
        log_start_offset,
        record_errors: Vec::new(),
        current_leader: None,
    }
}
