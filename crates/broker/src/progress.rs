//! What a healed cluster must not be left with: undecided transactions, data that is not
//! replicated or not stable, coordinators that never finish loading.
//!
//! No Kafka counterpart; an operator reads the same from metrics and `kafka-transactions`.

use alloc::vec::Vec;

use eosim_types::TopicPartition;
use eosim_types::observation::TransactionDump;
use eosim_types::record::TransactionState;

use crate::broker::Broker;
use crate::replica_manager::partition::Partition;

/// Something that is not over yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Unfinished {
    /// A transaction that is open or decided but not complete.
    Transaction(TransactionDump),
    /// A partition that this broker leads, with data that is not replicated or not stable.
    Partition {
        /// Which.
        partition: TopicPartition,
        /// Exclusive bound of what is committed.
        high_watermark: i64,
        /// Exclusive bound of what is stable.
        last_stable_offset: i64,
        /// The next offset.
        log_end_offset: i64,
    },
}

impl Broker {
    /// Everything that is not over yet on this broker.
    #[must_use]
    pub fn unfinished(&self) -> Vec<Unfinished> {
        let coordinator = &self.transaction_coordinator().coordinator;
        let open = coordinator.dump().into_iter().filter(is_open).map(Unfinished::Transaction);
        open.chain(self.unstable_partitions()).collect()
    }

    /// Does this broker lead the partition, as far as it knows?
    #[must_use]
    pub fn leads(&self, partition: TopicPartition) -> bool {
        let partitions = &self.replica_manager().partitions;
        partitions.get(partition).is_some_and(Partition::is_leader)
    }

    /// High watermark and last stable offset of a replica.
    #[must_use]
    pub fn bounds(&self, partition: TopicPartition) -> Option<(i64, i64)> {
        let partition = self.replica_manager().partitions.get(partition)?;
        Some((partition.log.high_watermark(), partition.log.last_stable_offset()))
    }

    fn unstable_partitions(&self) -> impl Iterator<Item = Unfinished> + '_ {
        let led = self.replica_manager().partitions.iter().filter(|p| p.is_leader());
        led.filter_map(|state| {
            let (high_watermark, log_end_offset) =
                (state.log.high_watermark(), state.log.log_end_offset());
            let last_stable_offset = state.log.last_stable_offset();
            let over = high_watermark == log_end_offset && last_stable_offset >= high_watermark;
            (!over).then_some(Unfinished::Partition {
                partition: state.topic_partition,
                high_watermark,
                last_stable_offset,
                log_end_offset,
            })
        })
    }
}

fn is_open(transaction: &TransactionDump) -> bool {
    let over = matches!(
        transaction.state,
        TransactionState::Empty
            | TransactionState::CompleteCommit
            | TransactionState::CompleteAbort
    );
    !over || transaction.pending_state.is_some()
}
