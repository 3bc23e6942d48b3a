//! Taking over and giving up partitions of `__transaction_state`.
//!
//! Kafka counterpart: `TransactionCoordinator.onElection` and `onResignation`,
//! `TransactionStateManager.loadTransactionsForTxnTopicPartition` and
//! `removeTransactionsForTxnTopicPartition`. The broker turns changes of its metadata into these
//! calls (C-LOAD-1) and reads the log (C-LOAD-3); a read that fails hands over what it got
//! (C-LOAD-4).
//! Invariant: what is decided (Prepare…) is taken up by the load; everything else needs no action
//! (C-LOAD-7).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use eosim_types::machine::CoordinatorEvent;
use eosim_types::record::{TransactionLogRecord, TransactionResult, TransactionState};
use eosim_types::{CoordinatorEpoch, Defect, Topic, TransactionalId, rule};

use crate::action::{Action, Ctx};
use crate::append_transaction_to_log::PreparedTransition;
use crate::coordinator::TransactionCoordinator;
use crate::transaction_metadata::TransactionMetadata;
use crate::transaction_state::is_prepare;
use crate::transaction_state_manager::{
    LoadingPartition, MetadataPerTransactionalId, TxnMetadataCacheEntry,
};

impl TransactionCoordinator {
    /// C-LOAD-2.
    pub(crate) fn elected(
        &mut self,
        cx: &mut Ctx<'_>,
        partition: i32,
        coordinator_epoch: CoordinatorEpoch,
    ) {
        rule!(cx.env, "C-LOAD-1");
        rule!(cx.env, "C-LOAD-2");
        self.channel_manager.remove_markers_for_txn_topic_partition(cx, partition);
        let loading = &mut self.state_manager.loading_partitions;
        if !loading.is_empty() && loading.keys().any(|&(other, _)| other == partition) {
            rule!(cx.env, "C-LOAD-8");
        }
        loading.insert((partition, coordinator_epoch), LoadingPartition::Reading);
        cx.actions.push(Action::Load { partition, coordinator_epoch });
    }

    /// C-RES-1.
    pub(crate) fn resigned(
        &mut self,
        cx: &mut Ctx<'_>,
        partition: i32,
        leader_epoch: Option<CoordinatorEpoch>,
    ) {
        rule!(cx.env, "C-RES-1");
        self.state_manager.loading_partitions.retain(|&(loading, loading_epoch), _| {
            loading != partition || leader_epoch.is_some_and(|epoch| loading_epoch >= epoch)
        });
        if let Some(entry) = self.state_manager.transaction_metadata_cache.remove(&partition) {
            for metadata in entry.metadata_per_transactional_id.values() {
                metadata.takes(&mut cx.env, CoordinatorEvent::Resigned);
            }
        }
        self.channel_manager.remove_markers_for_txn_topic_partition(cx, partition);
    }

    /// The whole log is read. Acts on it now, or once all of it is confirmed: replicated by the ISR,
    /// as that shows in this leader epoch. A high watermark of an earlier epoch does not do: a replica
    /// with a longer log, in which the transaction was decided otherwise, may be elected next.
    pub(crate) fn loaded<'r>(
        &mut self,
        cx: &mut Ctx<'_>,
        partition: i32,
        coordinator_epoch: CoordinatorEpoch,
        records: impl IntoIterator<Item = &'r TransactionLogRecord>,
        log_end_offset: i64,
        confirmed_offset: i64,
    ) {
        rule!(cx.env, "C-PART-3");
        let count = cx.metadata.partition_count(Topic::TRANSACTION_STATE);
        let key = (partition, coordinator_epoch);
        let is_wanted = self.state_manager.loading_partitions.contains_key(&key);
        if !is_wanted || count != self.state_manager.transaction_topic_partition_count {
            return;
        }
        if confirmed_offset < log_end_offset {
            rule!(cx.env, "H-2");
        }
        let metadata = read_records(cx, records);
        let acts_above = cx.env.on(Defect::UpstreamCoordinatorLoadActsAboveHighWatermark);
        if acts_above || confirmed_offset >= log_end_offset {
            self.install(cx, partition, coordinator_epoch, metadata);
        } else {
            let waiting = LoadingPartition::AwaitingConfirmation { metadata, log_end_offset };
            self.state_manager.loading_partitions.insert(key, waiting);
        }
    }

    /// Takes up the loads that waited for this, the older ones first (C-LOAD-8).
    pub(crate) fn confirmed(&mut self, cx: &mut Ctx<'_>, partition: i32, confirmed_offset: i64) {
        let is_reached = |(&(loading, epoch), load): (&(i32, CoordinatorEpoch), &_)| match load {
            LoadingPartition::AwaitingConfirmation { log_end_offset, .. }
                if loading == partition && *log_end_offset <= confirmed_offset =>
            {
                Some((loading, epoch))
            }
            _ => None,
        };
        let loading = &mut self.state_manager.loading_partitions;
        let reached: Vec<_> = loading.iter().filter_map(is_reached).collect();
        for key in reached {
            let load = self.state_manager.loading_partitions.remove(&key);
            if let Some(LoadingPartition::AwaitingConfirmation { metadata, .. }) = load {
                self.install(cx, key.0, key.1, metadata);
            }
        }
    }

    /// C-LOAD-6.
    fn install(
        &mut self,
        cx: &mut Ctx<'_>,
        partition: i32,
        coordinator_epoch: CoordinatorEpoch,
        mut metadata: MetadataPerTransactionalId,
    ) {
        rule!(cx.env, "C-LOAD-6");
        rule!(cx.env, "C-LOAD-7");
        if cx.env.on(Defect::CoordinatorLoadRefusedIfCached)
            && self.state_manager.transaction_metadata_cache.contains_key(&partition)
        {
            return;
        }
        let skips = cx.env.on(Defect::CoordinatorLoadSkipsPrepared);
        let decided = if skips {
            Vec::new()
        } else {
            prepare_completions(cx, coordinator_epoch, &mut metadata)
        };
        let entry =
            TxnMetadataCacheEntry { coordinator_epoch, metadata_per_transactional_id: metadata };
        self.state_manager.transaction_metadata_cache.insert(partition, entry);
        self.state_manager.loading_partitions.remove(&(partition, coordinator_epoch));
        for (result, prepared) in decided {
            rule!(cx.env, "C-MRK-13");
            self.add_txn_markers_to_send(cx, result, prepared);
        }
    }
}

/// The last record of an id wins, a tombstone removes it.
fn read_records<'r>(
    cx: &mut Ctx<'_>,
    records: impl IntoIterator<Item = &'r TransactionLogRecord>,
) -> MetadataPerTransactionalId {
    rule!(cx.env, "C-LOAD-3");
    let mut last: BTreeMap<TransactionalId, _> = BTreeMap::new();
    for record in records {
        match &record.value {
            Some(value) => last.insert(record.transactional_id, value),
            None => last.remove(&record.transactional_id),
        };
    }
    let decode = |(id, value)| (id, TransactionMetadata::from_log_value(&mut cx.env, value));
    last.into_iter().map(decode).collect()
}

fn prepare_completions(
    cx: &mut Ctx<'_>,
    coordinator_epoch: CoordinatorEpoch,
    metadata: &mut MetadataPerTransactionalId,
) -> Vec<(TransactionResult, PreparedTransition)> {
    let decided = metadata.iter_mut().filter(|(_, metadata)| is_prepare(metadata.state));
    decided
        .map(|(&transactional_id, metadata)| {
            let commit = metadata.state == TransactionState::PrepareCommit;
            let transit =
                metadata.prepare_complete(&mut cx.env).expect("nothing is pending after a load");
            let prepared = PreparedTransition { transactional_id, coordinator_epoch, transit };
            (TransactionResult::from_committed(commit), prepared)
        })
        .collect()
}
