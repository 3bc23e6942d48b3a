//! One `__consumer_offsets` partition of which this broker is the coordinator.
//!
//! Counterpart: `CoordinatorRuntime.CoordinatorContext` with its `SnapshottableCoordinator`: the
//! newest state, the state below the high watermark, and what lies between.
//! Invariant: `latest` = `committed` + `tail`.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use eosim_types::record::{Payload, RecordBatch};
use eosim_types::{Env, Instant, LeaderEpoch, ProducerId};

use crate::coordinator::Waiting;
use crate::offset_metadata_manager::OffsetMetadataManager;

/// One partition's state.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Shard {
    pub(crate) leader_epoch: LeaderEpoch,
    /// Everything in the log.
    pub(crate) latest: OffsetMetadataManager,
    /// What lies below the high watermark.
    pub(crate) committed: OffsetMetadataManager,
    /// Batches that are not below the high watermark yet.
    tail: VecDeque<RecordBatch>,
    /// The offset after the last batch.
    pub(crate) end: i64,
    /// Answers that wait for the high watermark to reach an offset.
    pub(crate) waiting: VecDeque<(i64, Instant, Waiting)>,
}

impl Shard {
    pub(crate) fn new(leader_epoch: LeaderEpoch) -> Self {
        Self {
            leader_epoch,
            latest: OffsetMetadataManager::default(),
            committed: OffsetMetadataManager::default(),
            tail: VecDeque::new(),
            end: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Takes in a batch that was appended to, or read from, the log.
    pub(crate) fn replay(&mut self, env: &mut Env<'_>, batch: RecordBatch) {
        apply(&mut self.latest, env, &batch);
        self.end = batch.next_offset();
        self.tail.push_back(batch);
    }

    /// The high watermark has reached `high_watermark`: what lies below is committed, and the
    /// answers that waited for it may go.
    pub(crate) fn advance(&mut self, env: &mut Env<'_>, high_watermark: i64) -> Vec<Waiting> {
        while self.tail.front().is_some_and(|batch| batch.next_offset() <= high_watermark) {
            if let Some(batch) = self.tail.pop_front() {
                apply(&mut self.committed, env, &batch);
            }
        }
        let mut ready = Vec::new();
        while self.waiting.front().is_some_and(|(end, ..)| *end <= high_watermark) {
            ready.extend(self.waiting.pop_front().map(|(_, _, waiting)| waiting));
        }
        ready
    }

    /// Nothing waits for the high watermark.
    pub(crate) fn is_caught_up(&self) -> bool {
        self.tail.is_empty()
    }
}

/// Replays one batch (G-MARK-5).
fn apply(state: &mut OffsetMetadataManager, env: &mut Env<'_>, batch: &RecordBatch) {
    match &batch.payload {
        Payload::OffsetCommits(records) => {
            let producer_id =
                if batch.is_transactional { batch.producer_id } else { ProducerId::NONE };
            for (at, record) in (batch.base_offset..).zip(records.iter()) {
                state.replay(env, producer_id, at, record);
            }
        }
        Payload::Control(marker) => {
            state.replay_end_transaction_marker(env, batch.producer_id, marker.result);
        }
        Payload::EmptyControl
        | Payload::Records(_)
        | Payload::TransactionLog(_)
        | Payload::GroupLog(_) => {}
    }
}
