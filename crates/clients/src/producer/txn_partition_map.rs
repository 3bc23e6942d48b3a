//! The numbering of every partition (`TxnPartitionMap`).

use alloc::collections::BTreeMap;

use eosim_types::{Sequence, TopicPartition};

use super::producer_batch::Batches;
use super::txn_partition_entry::TxnPartitionEntry;

/// Entries by partition; when one comes into being: P-DM-4.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct TxnPartitionMap {
    entries: BTreeMap<TopicPartition, TxnPartitionEntry>,
    /// Where a new entry begins: 0, except at first if so configured.
    first_sequence: Sequence,
}

impl TxnPartitionMap {
    pub(crate) fn new(first_sequence: Sequence) -> Self {
        Self { entries: BTreeMap::new(), first_sequence }
    }

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
        let first_sequence = self.first_sequence;
        self.entries.entry(partition).or_insert_with(|| TxnPartitionEntry::new(first_sequence))
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
        self.first_sequence = Sequence::ZERO;
    }

    /// Forgets everything (`reset`).
    pub(crate) fn reset(&mut self, batches: &mut Batches) {
        for entry in self.entries.values_mut() {
            entry.forget_in_flight(batches);
            self.first_sequence = Sequence::ZERO;
        }
        self.entries.clear();
    }
}
