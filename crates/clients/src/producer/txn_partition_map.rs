//! The numbering of every partition (`TxnPartitionMap`).

use alloc::collections::BTreeMap;

use eosim_types::TopicPartition;

use super::producer_batch::Batches;
use super::txn_partition_entry::TxnPartitionEntry;

/// Entries by partition; when one comes into being: P-DM-4.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct TxnPartitionMap {
    entries: BTreeMap<TopicPartition, TxnPartitionEntry>,
}

impl TxnPartitionMap {
    /// The entry of `partition`, if there is one.
    pub(crate) fn get(&self, partition: TopicPartition) -> Option<&TxnPartitionEntry> {
        self.entries.get(&partition)
    }

    /// The entry of `partition`, if there is one.
    pub(crate) fn get_mut(&mut self, partition: TopicPartition) -> Option<&mut TxnPartitionEntry> {
        self.entries.get_mut(&partition)
    }

    /// The entry of `partition`, made if need be.
    pub(crate) fn get_or_create(&mut self, partition: TopicPartition) -> &mut TxnPartitionEntry {
        self.entries.entry(partition).or_default()
    }

    /// All entries.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TopicPartition, &TxnPartitionEntry)> {
        self.entries.iter().map(|(&partition, entry)| (partition, entry))
    }

    /// Forgets `partition`.
    pub(crate) fn remove(&mut self, partition: TopicPartition, batches: &mut Batches) {
        if let Some(mut entry) = self.entries.remove(&partition) {
            entry.forget_in_flight(batches);
        }
    }

    /// Forgets everything (`reset`).
    pub(crate) fn reset(&mut self, batches: &mut Batches) {
        for entry in self.entries.values_mut() {
            entry.forget_in_flight(batches);
        }
        self.entries.clear();
    }
}
