//! Everything a broker does with its replicas.
//!
//! Kafka counterpart: `ReplicaManager`. One file per request; the parts that several requests share
//! are [`partition`], [`append`] and [`delayed_operation`]. Whatever may complete a parked request
//! is noted in the action queue and looked at when the event has been handled
//! (`DelayedActionQueue`).

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use eosim_actor::RequestToken;
use eosim_storage::VerificationGuard;
use eosim_transaction_coordinator::AppendId;
use eosim_types::message::{FetchPartition, FetchPartitionResponse};
use eosim_types::record::RecordBatch;
use eosim_types::{BrokerId, ErrorCode, Instant, SortedMap, Spare, TopicPartition, rule};

use crate::add_partitions_to_txn_manager::{AddPartitionsToTxnManager, VerificationId};
use crate::io::Io;
use crate::timers::Timer;

pub(crate) mod append;
pub(crate) mod delayed_operation;
mod delete_records;
mod describe_producers;
mod fetch;
mod fetch_session;
mod fetch_session_handler;
mod high_watermark;
mod isr;
mod list_offsets;
mod maintenance;
mod offset_for_leader_epoch;
pub(crate) mod partition;
mod partition_fetch;
pub(crate) mod partitions;
mod produce;
mod replica;
mod replica_alter_partition;
mod replica_fetcher;
mod replica_fetcher_response;
pub(crate) mod roles;
pub(crate) mod transactional_offsets;
mod verification;
mod write_txn_markers;

use delayed_operation::{Purgatory, expired};
use fetch_session::FetchSessionCache;
use maintenance::MaintenanceSchedule;
use partition::Partition;
use partitions::Partitions;
use replica_fetcher::ReplicaFetcher;
use transactional_offsets::{PendingOffsetCommit, VerifiedOffsetCommit};
use verification::PendingProduce;
use write_txn_markers::MarkerRequest;

/// `ReplicaManager`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct ReplicaManager {
    /// The replicas that this broker hosts.
    pub(crate) partitions: Partitions,
    /// Calls to transaction coordinators.
    pub(crate) add_partitions_to_txn_manager: AddPartitionsToTxnManager,
    /// Appends of the transaction coordinator that have ended, oldest first.
    pub(crate) finished_appends: Vec<(AppendId, ErrorCode)>,
    /// Offset commits whose verification is over, oldest first.
    pub(crate) verified_commits: Vec<VerifiedOffsetCommit>,
    /// Markers written to offsets partitions of which the group coordinator has not heard.
    pub(crate) offset_markers: Vec<(i32, RecordBatch)>,
    /// Partitions that have changed in this step.
    action_queue: VecDeque<TopicPartition>,
    purgatory: Purgatory,
    fetch_sessions: FetchSessionCache,
    verifications: SortedMap<VerificationId, PendingProduce>,
    offset_verifications: SortedMap<VerificationId, (PendingOffsetCommit, VerificationGuard)>,
    next_verification: u64,
    marker_requests: SortedMap<RequestToken, MarkerRequest>,
    fetchers: SortedMap<BrokerId, ReplicaFetcher>,
    alter_partition_retries: BTreeMap<TopicPartition, Instant>,
    maintenance: MaintenanceSchedule,
    /// Lists of fetches that came.
    pub(crate) spare_questions: Spare<FetchPartition>,
    /// Lists of answers to fetches that came.
    pub(crate) spare_answers: Spare<FetchPartitionResponse>,
}

impl ReplicaManager {
    /// Forgets everything; the logs of hosted partitions are emptied and their memory is kept.
    pub(crate) fn reset(&mut self) {
        let mut partitions = core::mem::take(&mut self.partitions);
        partitions.iter_mut().for_each(Partition::reset);
        let spare_questions = core::mem::take(&mut self.spare_questions);
        let spare_answers = core::mem::take(&mut self.spare_answers);
        *self = Self { partitions, spare_questions, spare_answers, ..Self::default() };
    }

    /// The replica of `tp` on this broker (L-PIPE-4.3, `getPartitionOrException`).
    pub(crate) fn hosted(&self, io: &Io<'_>, tp: TopicPartition) -> Result<&Partition, ErrorCode> {
        self.partitions.get(tp).ok_or_else(|| not_hosted(io, tp))
    }

    /// The same, to be changed.
    pub(crate) fn hosted_mut(
        &mut self,
        io: &Io<'_>,
        tp: TopicPartition,
    ) -> Result<&mut Partition, ErrorCode> {
        self.partitions.get_mut(tp).ok_or_else(|| not_hosted(io, tp))
    }

    /// The process begins, in the life of that number.
    pub(crate) fn begin_life(&mut self, life: u64) {
        self.fetch_sessions = FetchSessionCache::new(life);
    }

    /// `tp` has changed: what waits for it is looked at when the event has been handled.
    pub(crate) fn note_change(&mut self, tp: TopicPartition) {
        if !self.action_queue.contains(&tp) {
            self.action_queue.push_back(tp);
        }
    }

    /// A partition that has changed and has not been looked at.
    pub(crate) fn take_change(&mut self) -> Option<TopicPartition> {
        self.action_queue.pop_front()
    }

    /// Completes what waits for `tp` (`DelayedActionQueue#tryCompleteActions`).
    pub(crate) fn try_complete_actions(&mut self, io: &mut Io<'_>, tp: TopicPartition) {
        rule!(io.env, "L-HW-4");
        self.complete_produces(io, tp);
        self.complete_fetches(io, tp);
        self.complete_deletes(io, tp);
    }

    /// Answers what has waited too long.
    pub(crate) fn expire_operations(&mut self, io: &mut Io<'_>) {
        let now = io.now();
        for id in expired(&self.purgatory.produces, now, |operation| operation.deadline) {
            self.expire_produce(io, id);
        }
        self.expire_fetches(io);
        for id in expired(&self.purgatory.deletes, now, |operation| operation.deadline) {
            self.complete_delete(io, id, ErrorCode::RequestTimedOut);
        }
        let fetches = self.fetch_sessions.delayed().map(|fetch| fetch.deadline);
        if let Some(deadline) = fetches.chain(self.purgatory.next_deadline()).min() {
            io.wake_at(Timer::Purgatory, deadline);
        }
    }
}

fn not_hosted(io: &Io<'_>, tp: TopicPartition) -> ErrorCode {
    if io.image.partitions.contains_key(&tp) {
        ErrorCode::NotLeaderOrFollower
    } else {
        ErrorCode::UnknownTopicOrPartition
    }
}
