//! Which partitions of `__transaction_state` this broker owns, and the transactional ids in them.
//!
//! Kafka counterpart: `TransactionStateManager` (ownership and lookup; its appends are in
//! `append_transaction_to_log`, loading in `load_transactions`).
//! Invariants: a partition that is being loaded hides whatever is cached of it; everything in the
//! cache hashes to its partition.

use alloc::collections::BTreeMap;

use eosim_types::{CoordinatorEpoch, ErrorCode, TransactionalId, rule};

use crate::action::Ctx;
use crate::transaction_metadata::TransactionMetadata;

/// Transactional ids of one partition.
pub(crate) type MetadataPerTransactionalId = BTreeMap<TransactionalId, TransactionMetadata>;

/// One owned partition (`TxnMetadataCacheEntry`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct TxnMetadataCacheEntry {
    pub(crate) coordinator_epoch: CoordinatorEpoch,
    pub(crate) metadata_per_transactional_id: MetadataPerTransactionalId,
}

/// How far the load of a partition is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum LoadingPartition {
    /// The broker is reading the log.
    Reading,
    /// All is read; acted on once the high watermark has reached the end of what was read (the
    /// repair of H-2).
    AwaitingConfirmation { metadata: MetadataPerTransactionalId, log_end_offset: i64 },
}

/// What a lookup of a transactional id finds (`CoordinatorEpochAndTxnMetadata`).
pub(crate) struct Owned<'a> {
    pub(crate) partition: i32,
    pub(crate) coordinator_epoch: CoordinatorEpoch,
    pub(crate) metadata: Option<&'a mut TransactionMetadata>,
}

/// Ownership and memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct TransactionStateManager {
    /// Partitions of `__transaction_state`, read once at the start (C-PART-3); 0 before it.
    pub(crate) transaction_topic_partition_count: i32,
    pub(crate) transaction_metadata_cache: BTreeMap<i32, TxnMetadataCacheEntry>,
    pub(crate) loading_partitions: BTreeMap<(i32, CoordinatorEpoch), LoadingPartition>,
}

impl TransactionStateManager {
    /// Has [`start`](crate::TransactionCoordinator::start) been called?
    pub(crate) fn is_started(&self) -> bool {
        self.transaction_topic_partition_count > 0
    }

    /// Is any load of `partition` under way?
    pub(crate) fn is_loading(&self, partition: i32) -> bool {
        let from = (partition, CoordinatorEpoch(i32::MIN));
        let to = (partition, CoordinatorEpoch(i32::MAX));
        self.loading_partitions.range(from..=to).next().is_some()
    }

    /// The partition of `transactional_id` (C-PART-1). Kafka: `partitionFor`.
    pub(crate) fn partition_for(&self, cx: &mut Ctx<'_>, transactional_id: TransactionalId) -> i32 {
        rule!(cx.env, "C-PART-1");
        cx.names.transaction_partition(transactional_id, self.transaction_topic_partition_count)
    }

    /// Looks an id up (C-LK-1). Kafka: `getTransactionState`.
    ///
    /// # Errors
    /// `COORDINATOR_LOAD_IN_PROGRESS` or `NOT_COORDINATOR`; never COORDINATOR_NOT_AVAILABLE
    /// (C-LK-3).
    pub(crate) fn get_transaction_state(
        &mut self,
        cx: &mut Ctx<'_>,
        transactional_id: TransactionalId,
    ) -> Result<Owned<'_>, ErrorCode> {
        rule!(cx.env, "C-LK-1");
        if !self.is_started() {
            rule!(cx.env, "C-LK-4");
            return Err(ErrorCode::NotCoordinator);
        }
        let partition = self.partition_for(cx, transactional_id);
        if !self.loading_partitions.is_empty() && self.is_loading(partition) {
            return Err(ErrorCode::CoordinatorLoadInProgress);
        }
        let Some(entry) = self.transaction_metadata_cache.get_mut(&partition) else {
            return Err(ErrorCode::NotCoordinator);
        };
        rule!(cx.env, "C-PART-4");
        Ok(Owned {
            partition,
            coordinator_epoch: entry.coordinator_epoch,
            metadata: entry.metadata_per_transactional_id.get_mut(&transactional_id),
        })
    }

    /// The metadata of an id that must be cached under `coordinator_epoch`.
    ///
    /// # Errors
    /// The lookup's, or `NOT_COORDINATOR` if the id is gone or the partition was taken over anew.
    pub(crate) fn get_under_epoch(
        &mut self,
        cx: &mut Ctx<'_>,
        transactional_id: TransactionalId,
        coordinator_epoch: CoordinatorEpoch,
    ) -> Result<(i32, &mut TransactionMetadata), ErrorCode> {
        let owned = self.get_transaction_state(cx, transactional_id)?;
        if owned.coordinator_epoch != coordinator_epoch {
            return Err(ErrorCode::NotCoordinator);
        }
        let metadata = owned.metadata.ok_or(ErrorCode::NotCoordinator)?;
        Ok((owned.partition, metadata))
    }

    /// The same without a look at loads: what a completion in progress goes by.
    pub(crate) fn cached_under_epoch(
        &mut self,
        cx: &mut Ctx<'_>,
        transactional_id: TransactionalId,
        coordinator_epoch: CoordinatorEpoch,
    ) -> Option<&mut TransactionMetadata> {
        let partition = self.partition_for(cx, transactional_id);
        let entry = self.transaction_metadata_cache.get_mut(&partition)?;
        let metadata = entry.metadata_per_transactional_id.get_mut(&transactional_id)?;
        (entry.coordinator_epoch == coordinator_epoch).then_some(metadata)
    }

    /// Puts `metadata` under an id that is owned and absent (C-LK-2).
    ///
    /// # Errors
    /// As [`Self::get_transaction_state`].
    pub(crate) fn put_transaction_state_if_not_exists(
        &mut self,
        cx: &mut Ctx<'_>,
        transactional_id: TransactionalId,
        metadata: TransactionMetadata,
    ) -> Result<(), ErrorCode> {
        rule!(cx.env, "C-LK-2");
        let partition = self.get_transaction_state(cx, transactional_id)?.partition;
        if let Some(entry) = self.transaction_metadata_cache.get_mut(&partition) {
            entry.metadata_per_transactional_id.entry(transactional_id).or_insert(metadata);
        }
        Ok(())
    }
}
