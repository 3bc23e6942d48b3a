//! The coordinator of all groups whose offsets partitions this broker leads.
//!
//! Counterpart: `GroupCoordinatorService` over `CoordinatorRuntime`. A request that changes
//! something gives a [`PreparedWrite`]; the broker appends it at once, before anything else happens
//! to the coordinator, and tells how that went. It also tells when the high watermark moves; an
//! answer leaves when its batch is below it.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use eosim_types::group_log::GroupLogRecord;
use eosim_types::message::Response;
use eosim_types::metadata::MetadataImage;
use eosim_types::record::{Payload, RecordBatch};
use eosim_types::{
    Defect, ErrorCode, GroupId, LeaderEpoch, Names, ProducerEpoch, ProducerId, Sequence, Topic,
    rule,
};

use crate::action::{Action, Cx, PreparedWrite, ReplyTo, Waiting};
use crate::error_mapping::{refused, txn_offset_commit_error};
use crate::group_state::GroupState;
use crate::shard::Shard;

mod classic_groups;
mod consumer_groups;
mod deletion;
mod expiration;
mod offset_commit;
mod offset_fetch;
mod timers;

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
        self.unload(cx, partition);
        self.loading.insert(partition, leader_epoch);
        cx.actions.push(Action::Load { partition, leader_epoch });
    }

    /// This broker leads an offsets partition no longer: what waits there is refused, and nothing
    /// of it is kept (G-INT-8).
    pub fn on_resigned(&mut self, cx: &mut Cx<'_>, partition: i32) {
        rule!(cx.env, "G-INT-8");
        self.loading.remove(&partition);
        if !cx.env.on(Defect::GroupUnloadFails) {
            self.unload(cx, partition);
        }
    }

    fn unload(&mut self, cx: &mut Cx<'_>, partition: i32) {
        let Some(shard) = self.shards.get_mut(&partition) else { return };
        for (.., waiting) in core::mem::take(&mut shard.waiting) {
            self.finish(cx, partition, waiting, Err(ErrorCode::NotLeaderOrFollower));
        }
        self.refuse_classic_members(cx, partition);
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
            if batch.base_offset > shard.end && cx.env.on(Defect::GroupLoadFailOnGap) {
                return;
            }
            shard.replay(&mut cx.env, batch.clone());
        }
        shard.advance(&mut cx.env, high_watermark);
        self.shards.insert(partition, shard);
        self.start_timers(cx, partition);
    }

    /// The high watermark of an offsets partition has moved.
    pub fn on_high_watermark(&mut self, cx: &mut Cx<'_>, partition: i32, high_watermark: i64) {
        let Some(shard) = self.shards.get_mut(&partition) else { return };
        let ready = shard.advance(&mut cx.env, high_watermark);
        if ready.is_empty() {
            return;
        }
        for waiting in ready {
            self.finish(cx, partition, waiting, Ok(()));
        }
        self.arm(cx);
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

    /// Everything that the log of an offsets partition says; `None` if it is not coordinated here.
    #[must_use]
    pub fn state(&self, partition: i32) -> Option<&GroupState> {
        self.shards.get(&partition).map(|shard| &shard.latest)
    }

    /// The offsets partitions that are loaded, with leader epoch and everything in the log.
    pub fn loaded_partitions(&self) -> impl Iterator<Item = (i32, LeaderEpoch, &GroupState)> {
        self.shards.iter().map(|(&partition, shard)| (partition, shard.leader_epoch, &shard.latest))
    }

    /// The same, as far as the log is committed.
    #[must_use]
    pub fn committed_state(&self, partition: i32) -> Option<&GroupState> {
        self.shards.get(&partition).map(|shard| &shard.committed)
    }

    /// The offsets partitions that are loaded, with all that is held of them.
    pub(crate) fn shards(&self) -> impl Iterator<Item = (i32, &Shard)> {
        self.shards.iter().map(|(&partition, shard)| (partition, shard))
    }

    /// A batch that the broker appended to the offsets partition by itself: a marker (G-MARK-2).
    pub fn on_marker_appended(&mut self, cx: &mut Cx<'_>, partition: i32, batch: &RecordBatch) {
        rule!(cx.env, "G-MARK-2");
        if let Some(shard) = self.shards.get_mut(&partition) {
            shard.replay(&mut cx.env, batch.clone());
        }
    }

    /// The broker has appended a prepared write, at the batch's base offset, or could not. What
    /// follows waits for the high watermark (step 8 of G-OFF).
    pub fn finish_write(
        &mut self,
        cx: &mut Cx<'_>,
        prepared: PreparedWrite,
        appended: Result<i64, ErrorCode>,
    ) {
        let PreparedWrite { partition, mut batch, then } = prepared;
        match (appended, self.shards.get_mut(&partition)) {
            (Ok(base_offset), Some(shard)) => {
                batch.base_offset = base_offset;
                shard.replay(&mut cx.env, batch);
                for waiting in then {
                    wait(cx, shard, waiting);
                }
                self.schedule_expiration(cx, partition);
            }
            (appended, _) => {
                let error = appended.err().unwrap_or(ErrorCode::NotCoordinator);
                for waiting in then {
                    self.finish(cx, partition, waiting, Err(error));
                }
            }
        }
        self.arm(cx);
    }

    /// What has waited goes on: its batch is committed, or never will be.
    fn finish(
        &mut self,
        cx: &mut Cx<'_>,
        partition: i32,
        waiting: Waiting,
        outcome: Result<(), ErrorCode>,
    ) {
        match (waiting, outcome) {
            (Waiting::Commit { to, reply }, Ok(())) => cx.reply(to, reply.into_response()),
            (Waiting::Commit { to, reply }, Err(error)) => {
                cx.reply(to, reply.failing(error).into_response());
            }
            (Waiting::Reply { to, response }, Ok(())) => cx.reply(to, response),
            (Waiting::Reply { to, response }, Err(error)) => {
                cx.reply(to, refused(&response, txn_offset_commit_error(error, i16::MAX)));
            }
            (Waiting::ClassicSync { group, generation, assignments }, outcome) => {
                let written = outcome.map(|()| assignments);
                self.on_assignment_written(cx, partition, (group, generation), written);
            }
        }
    }

    /// The active shard of `group`, with its partition.
    fn shard_of(&mut self, cx: &Cx<'_>, group: GroupId) -> Result<(i32, &mut Shard), ErrorCode> {
        if group == GroupId::EMPTY {
            return Err(ErrorCode::InvalidGroupId);
        }
        let partition = Self::partition_of(cx.names, cx.metadata, group);
        self.check_active(partition)?;
        Ok((partition, self.shards.get_mut(&partition).expect("checked to be active")))
    }

    /// Writes `records` and answers then; without records, answers once all earlier writes are
    /// committed.
    fn write_or_reply(
        &mut self,
        cx: &mut Cx<'_>,
        partition: i32,
        (to, response): (ReplyTo, Response),
        records: Vec<GroupLogRecord>,
    ) -> Option<PreparedWrite> {
        let then = Waiting::Reply { to, response };
        if !records.is_empty() {
            let batch = group_batch(cx, Payload::GroupLog(Arc::from(records)), None);
            return Some(PreparedWrite { partition, batch, then: vec![then] });
        }
        match self.shards.get_mut(&partition) {
            Some(shard) if !shard.is_caught_up() => wait(cx, shard, then),
            _ => self.finish(cx, partition, then, Ok(())),
        }
        self.arm(cx);
        None
    }
}

/// Lets `waiting` wait for everything that is in the log now.
fn wait(cx: &Cx<'_>, shard: &mut Shard, waiting: Waiting) {
    let deadline = cx.env.now + cx.config.offsets_commit_timeout;
    shard.waiting.push_back((shard.end, deadline, waiting));
}

/// One batch of the coordinator's records; a transactional one has base sequence 0 (L-TOC-3).
fn group_batch(
    cx: &Cx<'_>,
    payload: Payload,
    producer: Option<(ProducerId, ProducerEpoch)>,
) -> RecordBatch {
    let (producer_id, producer_epoch) = producer.unwrap_or((ProducerId::NONE, ProducerEpoch::NONE));
    let mut batch = RecordBatch {
        base_offset: 0,
        last_offset_delta: 0,
        partition_leader_epoch: LeaderEpoch::NONE,
        is_transactional: producer.is_some(),
        max_timestamp: cx.env.clock_ms(),
        producer_id,
        producer_epoch,
        base_sequence: if producer.is_some() { Sequence::ZERO } else { Sequence::NONE },
        payload,
    };
    batch.last_offset_delta = batch.record_count() - 1;
    batch
}
