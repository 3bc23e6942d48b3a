//! The coordinator of all groups whose offsets partitions this broker leads.
//!
//! Counterpart: `GroupCoordinatorService` over `CoordinatorRuntime`. The broker appends to the log
//! at once, in a closure handed to the call, and tells when the high watermark moves; an answer
//! leaves when its batch is below it.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use eosim_types::config::BrokerConfig;
use eosim_types::message::{
    CommittableOffset, GroupMember, OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest,
    OffsetFetchResponse, OffsetFetchResult, PerPartition, Response, TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
};
use eosim_types::metadata::MetadataImage;
use eosim_types::record::{OffsetCommitRecord, Payload, RecordBatch};
use eosim_types::{
    Env, ErrorCode, GroupId, Instant, LeaderEpoch, Names, ProducerEpoch, ProducerId, Sequence,
    Topic, TopicPartition, rule,
};

use crate::error_mapping::txn_offset_commit_error;
use crate::offset_metadata_manager::OffsetMetadataManager;
use crate::shard::Shard;

/// Whom to answer; the broker's own name for a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ReplyTo(pub u64);

/// The coordinator's timer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum GroupTimer {
    /// The oldest answer that waits for replicas has waited `offsets.commit.timeout.ms`.
    CommitTimeout,
}

/// What the coordinator wants done.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Answer a request.
    Reply {
        /// Whom.
        to: ReplyTo,
        /// With what.
        response: Response,
    },
    /// Read the whole log of a partition and call [`GroupCoordinator::on_loaded`].
    Load {
        /// Partition of `__consumer_offsets`.
        partition: i32,
        /// Under which leader epoch.
        leader_epoch: LeaderEpoch,
    },
    /// Set the timer, or set it anew.
    SetTimer {
        /// Which.
        timer: GroupTimer,
        /// When.
        at: Instant,
    },
}

/// Surroundings lent to the coordinator for one call.
pub struct Cx<'a> {
    /// Time, switches and rule marks.
    pub env: Env<'a>,
    /// The broker's image of the cluster.
    pub metadata: &'a MetadataImage,
    /// The strings behind groups.
    pub names: &'a Names,
    /// The broker's settings.
    pub config: &'a BrokerConfig,
    /// What is to be done.
    pub actions: &'a mut Vec<Action>,
}

/// An answer that waits for the high watermark.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Waiting {
    Commit { to: ReplyTo, reply: CommitReply },
    Fetch { to: ReplyTo, response: OffsetFetchResponse },
}

/// A commit that was found good: the broker appends `batch` to the offsets partition at once and
/// calls [`GroupCoordinator::finish_commit`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PreparedCommit {
    /// Partition of `__consumer_offsets`.
    pub partition: i32,
    /// What to append, with acks=1 (L-TOC-3).
    pub batch: RecordBatch,
    to: ReplyTo,
    reply: CommitReply,
}

/// The answer to a commit, as far as it is known before the batch is committed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct CommitReply {
    is_transactional: bool,
    version: i16,
    partitions: PerPartition<ErrorCode>,
}

impl CommitReply {
    /// `error` for every partition that had none.
    fn failing(mut self, error: ErrorCode) -> Self {
        let mapped = txn_offset_commit_error(error, self.version);
        for (_, outcome) in self.partitions.iter_mut().filter(|(_, outcome)| outcome.is_none()) {
            *outcome = mapped;
        }
        self
    }

    fn into_response(self) -> Response {
        let partitions = self.partitions;
        if self.is_transactional {
            TxnOffsetCommitResponse { partitions }.into()
        } else {
            OffsetCommitResponse { partitions }.into()
        }
    }
}

/// The coordinator of one broker.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct GroupCoordinator {
    shards: BTreeMap<i32, Shard>,
    loading: BTreeMap<i32, LeaderEpoch>,
}

impl GroupCoordinator {
    /// A coordinator of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        self.shards.clear();
        self.loading.clear();
    }

    /// The offsets partition of `group`.
    #[must_use]
    pub fn partition_of(names: &Names, metadata: &MetadataImage, group: GroupId) -> i32 {
        let partitions = metadata.partition_count(Topic::CONSUMER_OFFSETS).max(1);
        names.group_partition(group, partitions)
    }

    /// This broker was elected leader of an offsets partition: it must be loaded.
    pub fn on_elected(&mut self, cx: &mut Cx<'_>, partition: i32, leader_epoch: LeaderEpoch) {
        self.fail_waiting(cx, partition);
        self.shards.remove(&partition);
        self.loading.insert(partition, leader_epoch);
        cx.actions.push(Action::Load { partition, leader_epoch });
    }

    /// This broker leads an offsets partition no longer: what waits there is refused, and nothing
    /// of it is kept (G-INT-8).
    pub fn on_resigned(&mut self, cx: &mut Cx<'_>, partition: i32) {
        rule!(cx.env, "G-INT-8");
        self.loading.remove(&partition);
        self.fail_waiting(cx, partition);
        self.shards.remove(&partition);
    }

    /// The log has been read (G-MARK-5).
    pub fn on_loaded<'b>(
        &mut self,
        cx: &mut Cx<'_>,
        partition: i32,
        leader_epoch: LeaderEpoch,
        batches: impl Iterator<Item = &'b RecordBatch>,
        high_watermark: i64,
    ) {
        if self.loading.get(&partition) != Some(&leader_epoch) {
            return;
        }
        rule!(cx.env, "G-MARK-5");
        self.loading.remove(&partition);
        let mut shard = Shard::new(leader_epoch);
        for batch in batches {
            shard.replay(&mut cx.env, batch.clone());
        }
        shard.advance(&mut cx.env, high_watermark);
        self.shards.insert(partition, shard);
    }

    /// The high watermark of an offsets partition has moved.
    pub fn on_high_watermark(&mut self, cx: &mut Cx<'_>, partition: i32, high_watermark: i64) {
        let Some(shard) = self.shards.get_mut(&partition) else { return };
        for waiting in shard.advance(&mut cx.env, high_watermark) {
            cx.actions.push(match waiting {
                Waiting::Commit { to, reply } => {
                    Action::Reply { to, response: reply.into_response() }
                }
                Waiting::Fetch { to, response } => Action::Reply { to, response: response.into() },
            });
        }
    }

    /// `Ok` if this broker coordinates the offsets partition now, else the error to answer.
    ///
    /// # Errors
    ///
    /// COORDINATOR_LOAD_IN_PROGRESS or NOT_COORDINATOR.
    pub fn check_active(&self, partition: i32) -> Result<(), ErrorCode> {
        if self.loading.contains_key(&partition) {
            Err(ErrorCode::CoordinatorLoadInProgress)
        } else if self.shards.contains_key(&partition) {
            Ok(())
        } else {
            Err(ErrorCode::NotCoordinator)
        }
    }

    /// A batch that the broker appended to the offsets partition by itself: a marker (G-MARK-2).
    pub fn on_marker_appended(&mut self, cx: &mut Cx<'_>, partition: i32, batch: &RecordBatch) {
        rule!(cx.env, "G-MARK-2");
        if let Some(shard) = self.shards.get_mut(&partition) {
            shard.replay(&mut cx.env, batch.clone());
        }
    }

    /// What must be answered before a TxnOffsetCommit is verified: unknown partitions, each for
    /// itself, and an empty group id (G-OFF, steps 2 and 3). The rest is what goes on.
    #[must_use]
    pub fn validate_txn_offset_commit(
        cx: &Cx<'_>,
        request: &TxnOffsetCommitRequest,
    ) -> PerPartition<ErrorCode> {
        validate(cx, request.group, &request.offsets)
    }

    /// TxnOffsetCommit after its verification, which ended with `verified`. `outcomes` holds the
    /// partitions refused already. `None` if it is answered.
    pub fn prepare_txn_offset_commit(
        &mut self,
        cx: &mut Cx<'_>,
        to: ReplyTo,
        request: &TxnOffsetCommitRequest,
        outcomes: PerPartition<ErrorCode>,
        verified: Result<(), ErrorCode>,
    ) -> Option<PreparedCommit> {
        let reply =
            CommitReply { is_transactional: true, version: request.version, partitions: outcomes };
        let checked = verified
            .and_then(|()| self.check_active(Self::partition_of(cx.names, cx.metadata, request.group)))
            .and_then(|()| check_member(cx, request.member, request.version));
        let producer = Some((request.producer_id, request.producer_epoch));
        prepare(cx, to, request.group, reply, checked, producer, &request.offsets)
    }

    /// OffsetCommit. `None` if it is answered.
    pub fn prepare_offset_commit(
        &mut self,
        cx: &mut Cx<'_>,
        to: ReplyTo,
        request: &OffsetCommitRequest,
    ) -> Option<PreparedCommit> {
        let partitions = validate(cx, request.group, &request.offsets);
        let reply = CommitReply { is_transactional: false, version: request.version, partitions };
        let checked = self
            .check_active(Self::partition_of(cx.names, cx.metadata, request.group))
            .and_then(|()| check_member(cx, request.member, request.version));
        prepare(cx, to, request.group, reply, checked, None, &request.offsets)
    }

    /// The broker has appended a prepared commit, at the batch's base offset, or could not. The
    /// answer waits for the high watermark (step 8 of G-OFF).
    pub fn finish_commit(
        &mut self,
        cx: &mut Cx<'_>,
        prepared: PreparedCommit,
        appended: Result<i64, ErrorCode>,
    ) {
        let PreparedCommit { partition, mut batch, to, reply } = prepared;
        match (appended, self.shards.get_mut(&partition)) {
            (Ok(base_offset), Some(shard)) => {
                batch.base_offset = base_offset;
                shard.replay(&mut cx.env, batch);
                let deadline = cx.env.now + cx.config.offsets_commit_timeout;
                shard.waiting.push_back((shard.end, deadline, Waiting::Commit { to, reply }));
                self.arm(cx);
            }
            (appended, _) => {
                let error = appended.err().unwrap_or(ErrorCode::NotCoordinator);
                let response = reply.failing(error).into_response();
                cx.actions.push(Action::Reply { to, response });
            }
        }
    }

    /// OffsetFetch (G-INT-2): without `require_stable` from what is committed, with it from
    /// everything, and only once everything is committed.
    pub fn offset_fetch(&mut self, cx: &mut Cx<'_>, to: ReplyTo, request: &OffsetFetchRequest) {
        rule!(cx.env, "G-INT-2");
        let partition = Self::partition_of(cx.names, cx.metadata, request.group);
        if let Err(error) = self.check_active(partition) {
            let response = OffsetFetchResponse { error, partitions: Vec::new() };
            cx.actions.push(Action::Reply { to, response: response.into() });
            return;
        }
        let shard = self.shards.get_mut(&partition).expect("checked to be active");
        let state = if request.require_stable { &shard.latest } else { &shard.committed };
        let response = fetch(state, request);
        if request.require_stable && !shard.is_caught_up() {
            let deadline = cx.env.now + cx.config.offsets_commit_timeout;
            shard.waiting.push_back((shard.end, deadline, Waiting::Fetch { to, response }));
            self.arm(cx);
        } else {
            cx.actions.push(Action::Reply { to, response: response.into() });
        }
    }

    /// Answers what has waited for too long; the batch stays in the log (L-TOC-3).
    pub fn on_timer(&mut self, cx: &mut Cx<'_>, timer: GroupTimer) {
        let GroupTimer::CommitTimeout = timer;
        let now = cx.env.now;
        for shard in self.shards.values_mut() {
            while shard.waiting.front().is_some_and(|(_, deadline, _)| *deadline <= now) {
                rule!(cx.env, "L-TOC-3");
                if let Some((.., waiting)) = shard.waiting.pop_front() {
                    cx.actions.push(refuse(waiting, ErrorCode::RequestTimedOut));
                }
            }
        }
        self.arm(cx);
    }

    fn arm(&self, cx: &mut Cx<'_>) {
        let deadlines = self.shards.values().filter_map(|shard| shard.waiting.front());
        if let Some(at) = deadlines.map(|(_, deadline, _)| *deadline).min() {
            cx.actions.push(Action::SetTimer { timer: GroupTimer::CommitTimeout, at });
        }
    }

    fn fail_waiting(&mut self, cx: &mut Cx<'_>, partition: i32) {
        let Some(shard) = self.shards.get_mut(&partition) else { return };
        for (.., waiting) in shard.waiting.drain(..) {
            cx.actions.push(refuse(waiting, ErrorCode::NotLeaderOrFollower));
        }
    }
}

/// Builds the batch of a commit, or answers it.
fn prepare(
    cx: &mut Cx<'_>,
    to: ReplyTo,
    group: GroupId,
    reply: CommitReply,
    checked: Result<(), ErrorCode>,
    producer: Option<(ProducerId, ProducerEpoch)>,
    offsets: &[CommittableOffset],
) -> Option<PreparedCommit> {
    let reply = match checked {
        Ok(()) => reply,
        Err(error) => reply.failing(error),
    };
    let records = records(cx, group, offsets, &reply.partitions);
    if records.is_empty() {
        cx.actions.push(Action::Reply { to, response: reply.into_response() });
        return None;
    }
    let partition = GroupCoordinator::partition_of(cx.names, cx.metadata, group);
    Some(PreparedCommit { partition, batch: offsets_batch(cx, producer, records), to, reply })
}

fn refuse(waiting: Waiting, error: ErrorCode) -> Action {
    match waiting {
        Waiting::Commit { to, reply } => {
            Action::Reply { to, response: reply.failing(error).into_response() }
        }
        Waiting::Fetch { to, .. } => {
            let error = txn_offset_commit_error(error, i16::MAX);
            let response = OffsetFetchResponse { error, partitions: Vec::new() };
            Action::Reply { to, response: response.into() }
        }
    }
}

fn validate(cx: &Cx<'_>, group: GroupId, offsets: &[CommittableOffset]) -> PerPartition<ErrorCode> {
    let outcome = |offset: &CommittableOffset| {
        if !cx.metadata.partitions.contains_key(&offset.partition) {
            ErrorCode::UnknownTopicOrPartition
        } else if group == GroupId::EMPTY {
            ErrorCode::InvalidGroupId
        } else {
            ErrorCode::None
        }
    };
    offsets.iter().map(|offset| (offset.partition, outcome(offset))).collect()
}

/// G-OFF-1: nobody is a member of a simple group.
fn check_member(cx: &mut Cx<'_>, member: GroupMember, version: i16) -> Result<(), ErrorCode> {
    rule!(cx.env, "G-OFF-1");
    match member.generation_or_epoch {
        ..0 => Ok(()),
        0.. if version >= 6 => Err(ErrorCode::GroupIdNotFound),
        0.. => Err(ErrorCode::IllegalGeneration),
    }
}

fn records(
    cx: &Cx<'_>,
    group: GroupId,
    offsets: &[CommittableOffset],
    outcomes: &PerPartition<ErrorCode>,
) -> Vec<OffsetCommitRecord> {
    let accepted = offsets.iter().zip(outcomes).filter(|(_, (_, outcome))| outcome.is_none());
    let commit_timestamp_ms = cx.env.clock_ms();
    let record = |offset: &CommittableOffset| OffsetCommitRecord {
        group,
        partition: offset.partition,
        offset: Some(offset.offset),
        leader_epoch: offset.leader_epoch,
        commit_timestamp_ms,
    };
    accepted.map(|(offset, _)| record(offset)).collect()
}

/// One batch of offset records; a transactional one has base sequence 0 (L-TOC-3).
fn offsets_batch(
    cx: &Cx<'_>,
    producer: Option<(ProducerId, ProducerEpoch)>,
    records: Vec<OffsetCommitRecord>,
) -> RecordBatch {
    let (producer_id, producer_epoch) = producer.unwrap_or((ProducerId::NONE, ProducerEpoch::NONE));
    RecordBatch {
        base_offset: 0,
        last_offset_delta: i32::try_from(records.len()).unwrap_or(i32::MAX) - 1,
        partition_leader_epoch: LeaderEpoch::NONE,
        is_transactional: producer.is_some(),
        max_timestamp: cx.env.clock_ms(),
        producer_id,
        producer_epoch,
        base_sequence: if producer.is_some() { Sequence::ZERO } else { Sequence::NONE },
        payload: Payload::OffsetCommits(Arc::from(records)),
    }
}

fn fetch(state: &OffsetMetadataManager, request: &OffsetFetchRequest) -> OffsetFetchResponse {
    let group = request.group;
    let one = |partition: TopicPartition| {
        let unstable = request.require_stable && state.is_unstable(group, partition);
        let stored = state.committed(group, partition).filter(|_| !unstable);
        let result = OffsetFetchResult {
            error: if unstable { ErrorCode::UnstableOffsetCommit } else { ErrorCode::None },
            offset: stored.map_or(-1, |s| s.offset),
            leader_epoch: stored.map_or(LeaderEpoch::NONE, |s| s.leader_epoch),
        };
        (partition, result)
    };
    let partitions = match &request.partitions {
        Some(partitions) => partitions.iter().map(|&partition| one(partition)).collect(),
        None => state.partitions_of(group).map(one).collect(),
    };
    OffsetFetchResponse { error: ErrorCode::None, partitions }
}
