//! What the checker may read of a broker.
//!
//! Kafka counterpart: `kafka-dump-log`, `kafka-transactions`.

use eosim_storage::UnifiedLog;
use eosim_types::observation::{ClusterDump, ReplicaDump};
use eosim_types::{LeaderEpoch, TopicPartition};

use crate::broker::Broker;

impl Broker {
    /// Adds every replica and every owned transactional id to `dump`. The logs of a dead process
    /// are shown as they lie on its disk.
    pub fn dump(&self, dump: &mut ClusterDump) {
        for partition in self.replica_manager().partitions.iter() {
            let role = (partition.is_leader(), partition.leader_epoch);
            dump.replicas.push(self.dump_log(partition.topic_partition, &partition.log, role));
        }
        for (tp, log) in self.log_manager().logs() {
            let leader_epoch = log.latest_epoch().unwrap_or(LeaderEpoch::NONE);
            dump.replicas.push(self.dump_log(tp, log, (false, leader_epoch)));
        }
        dump.transactions.extend(self.transaction_coordinator().coordinator.dump());
    }

    fn dump_log(
        &self,
        partition: TopicPartition,
        log: &UnifiedLog,
        (is_leader, leader_epoch): (bool, LeaderEpoch),
    ) -> ReplicaDump {
        ReplicaDump {
            broker: self.spec().id,
            partition,
            is_leader,
            leader_epoch,
            log_start_offset: log.log_start_offset(),
            high_watermark: log.high_watermark(),
            last_stable_offset: log.last_stable_offset(),
            log_end_offset: log.log_end_offset(),
            batches: log.batches().cloned().collect(),
            aborted_transactions: log.aborted_index(),
            producers: log.producers(),
        }
    }
}
