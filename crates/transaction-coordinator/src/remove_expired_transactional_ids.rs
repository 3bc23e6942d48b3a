//! Forgetting transactional ids that have not been used for long.
//!
//! Kafka counterpart: `TransactionStateManager.removeExpiredTransactionalIds`. While an id is being
//! expired, Dead is its pending state and everybody hears CONCURRENT_TRANSACTIONS (C-EXP-4).

use alloc::vec::Vec;

use eosim_types::machine::CoordinatorEvent;
use eosim_types::record::{BATCH_OVERHEAD, TransactionLogRecord, TransactionState};
use eosim_types::{CoordinatorEpoch, Defect, ErrorCode, ProducerEpoch, TransactionalId, rule};

use crate::action::{CoordinatorTimer, Ctx};
use crate::append_transaction_to_log::PendingAppend;
use crate::coordinator::TransactionCoordinator;
use crate::transaction_metadata::TransactionMetadata;
use crate::transaction_state::state_rule;

/// `max.message.bytes` of `__transaction_state`.
const MAX_MESSAGE_BYTES: i32 = 1_048_588;
/// Bytes of a tombstone, as batches estimate them.
const TOMBSTONE_BYTES: i32 = 100;
/// How many tombstones fit into a batch (C-EXP-2).
const TOMBSTONES_PER_BATCH: usize =
    ((MAX_MESSAGE_BYTES - BATCH_OVERHEAD) / TOMBSTONE_BYTES) as usize;

/// The ids of one batch of tombstones.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ExpiredTransactionalIds {
    partition: i32,
    coordinator_epoch: CoordinatorEpoch,
    /// Each with its producer epoch when the tombstone was written.
    ids: Vec<(TransactionalId, ProducerEpoch)>,
}

impl TransactionCoordinator {
    /// One run of the task.
    pub(crate) fn remove_expired_transactional_ids(&mut self, cx: &mut Ctx<'_>) {
        let next = cx.env.now + cx.config.remove_expired_transactional_ids_interval;
        cx.set_timer(CoordinatorTimer::RemoveExpiredTransactionalIds, next);
        for expired in self.prepare_tombstones(cx) {
            self.append_tombstones(cx, expired);
        }
    }

    /// C-EXP-1. A partition that is being loaded is left alone: what is cached of it is hidden.
    fn prepare_tombstones(&mut self, cx: &mut Ctx<'_>) -> Vec<ExpiredTransactionalIds> {
        rule!(cx.env, "C-EXP-1");
        let mut batches = Vec::new();
        let manager = &mut self.state_manager;
        let loading = &manager.loading_partitions;
        for (&partition, entry) in &mut manager.transaction_metadata_cache {
            if loading.keys().any(|&(other, _)| other == partition) {
                continue;
            }
            let coordinator_epoch = entry.coordinator_epoch;
            let metadata = entry.metadata_per_transactional_id.iter_mut();
            let ids: Vec<_> = metadata.filter_map(|(&id, m)| prepare_dead(cx, id, m)).collect();
            batches.extend(ids.chunks(TOMBSTONES_PER_BATCH).map(|ids| ExpiredTransactionalIds {
                partition,
                coordinator_epoch,
                ids: ids.to_vec(),
            }));
        }
        batches
    }

    fn append_tombstones(&mut self, cx: &mut Ctx<'_>, expired: ExpiredTransactionalIds) {
        rule!(cx.env, "C-EXP-2");
        let tombstone =
            |&(transactional_id, _): &_| TransactionLogRecord { transactional_id, value: None };
        let records = expired.ids.iter().map(tombstone).collect();
        let (partition, epoch) = (expired.partition, expired.coordinator_epoch);
        let timeout = cx.config.request_timeout;
        self.append(cx, partition, epoch, records, timeout, PendingAppend::Tombstones(expired));
    }

    /// C-EXP-3. A failed append may still be durable, and a new coordinator forgets the id
    /// (C-EXP-5).
    pub(crate) fn tombstones_appended(
        &mut self,
        cx: &mut Ctx<'_>,
        expired: &ExpiredTransactionalIds,
        error: ErrorCode,
    ) {
        rule!(cx.env, "C-EXP-3");
        let cache = &mut self.state_manager.transaction_metadata_cache;
        let Some(entry) = cache.get_mut(&expired.partition) else { return };
        let is_gone = error.is_none() && entry.coordinator_epoch == expired.coordinator_epoch;
        for &(id, producer_epoch) in &expired.ids {
            let Some(metadata) = entry.metadata_per_transactional_id.get_mut(&id) else { continue };
            metadata.takes(&mut cx.env, CoordinatorEvent::TombstoneAnswered);
            let is_dead = metadata.pending_state == Some(TransactionState::Dead);
            if is_gone && is_dead && metadata.producer_epoch == producer_epoch {
                entry.metadata_per_transactional_id.remove(&id);
            } else if !cx.env.on(Defect::CoordinatorExpiryKeepsPendingDead) {
                metadata.pending_state = None;
            }
        }
    }
}

fn prepare_dead(
    cx: &mut Ctx<'_>,
    id: TransactionalId,
    metadata: &mut TransactionMetadata,
) -> Option<(TransactionalId, ProducerEpoch)> {
    let expiration_ms = cx.config.transactional_id_expiration.as_millis();
    let age_ms = cx.env.clock_ms() - metadata.transaction_last_update_timestamp;
    let is_old = u64::try_from(age_ms).is_ok_and(|age_ms| age_ms >= expiration_ms);
    let is_expired =
        is_old && metadata.pending_state.is_none() && state_rule(metadata.state).expiration_allowed;
    if !is_expired {
        return None;
    }
    metadata.takes(&mut cx.env, CoordinatorEvent::Expired);
    metadata.prepare_dead(&mut cx.env).expect("nothing is pending in a state that may expire");
    Some((id, metadata.producer_epoch))
}
