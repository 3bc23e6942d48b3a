//! A look at the transaction manager from outside, for people, tests and comparisons.

use alloc::vec::Vec;

use eosim_types::TopicPartition;

use super::producer_batch::ProducerIdAndEpoch;
use super::state::State;
use super::transaction_manager::TransactionManager;
use super::txn_partition_entry::TxnPartitionEntry;
use crate::exception::Exception;

/// The transaction manager's state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransactionManagerDescription {
    /// The state.
    pub state: State,
    /// The error of an error state.
    pub last_error: Option<Exception>,
    /// Id and epoch in use.
    pub producer: ProducerIdAndEpoch,
    /// The next completion is followed by InitProducerId, or the next iteration by a local bump.
    pub epoch_bump_required: bool,
    /// The transaction reached the coordinator, as far as the client counts it.
    pub transaction_started: bool,
    /// The current transaction runs in version 2.
    pub is_transaction_v2_enabled: bool,
    /// The transaction coordinator takes an InitProducerId that resumes (P-SND-5).
    pub coordinator_supports_bumping_epoch: bool,
    /// The numbering of each partition.
    pub partitions: Vec<(TopicPartition, PartitionNumbering)>,
    /// Partitions whose last sequences nobody knows, with the sequence after them.
    pub unresolved: Vec<(TopicPartition, i32)>,
}

/// What a producer knows of its numbering in one partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartitionNumbering {
    /// Id and epoch of the numbering.
    pub producer: ProducerIdAndEpoch,
    /// The next sequence to assign.
    pub next_sequence: i32,
    /// -1 if none.
    pub last_acked_sequence: i32,
    /// -1 if none.
    pub last_acked_offset: i64,
    /// Batches with a sequence that have not completed.
    pub in_flight: usize,
}

impl From<&TxnPartitionEntry> for PartitionNumbering {
    fn from(entry: &TxnPartitionEntry) -> Self {
        Self {
            producer: entry.producer,
            next_sequence: entry.next_sequence.0,
            last_acked_sequence: entry.last_acked_sequence,
            last_acked_offset: entry.last_acked_offset,
            in_flight: entry.in_flight().len(),
        }
    }
}

impl TransactionManager {
    pub(super) fn describe(&self) -> TransactionManagerDescription {
        let partitions = self.partition_map().iter();
        TransactionManagerDescription {
            state: self.state(),
            last_error: self.last_error().cloned(),
            producer: self.producer_id_and_epoch(),
            epoch_bump_required: self.epoch_bump_required(),
            transaction_started: self.transaction_started(),
            is_transaction_v2_enabled: self.is_transaction_v2_enabled(),
            coordinator_supports_bumping_epoch: self.coordinator_supports_bumping_epoch(),
            partitions: partitions.map(|(tp, entry)| (tp, entry.into())).collect(),
            unresolved: self.unresolved().iter().map(|(&tp, &next)| (tp, next)).collect(),
        }
    }
}
