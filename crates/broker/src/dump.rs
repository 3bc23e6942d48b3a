//! What the checker may read of a broker.
//!
//! Kafka counterpart: `kafka-dump-log`, `kafka-transactions`.

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use eosim_storage::UnifiedLog;
use eosim_types::digest::Digest;
use eosim_types::look::GroupStanding;
use eosim_types::message::ProducerState;
use eosim_types::observation::{ClusterDump, CoordinatorDump, ReplicaDump, Unseen};
use eosim_types::record::{AbortedTxn, RecordBatch};
use eosim_types::{BrokerId, LeaderEpoch, Topic, TopicPartition};

use crate::broker::Broker;

/// A replica that is looked at where it lies, without a copy of its log.
#[derive(Clone, Copy, Debug)]
pub struct ReplicaView<'a> {
    /// Which.
    pub partition: TopicPartition,
    /// It leads, as far as it knows.
    pub is_leader: bool,
    /// A running process hosts it.
    pub is_hosted: bool,
    /// Its leader epoch.
    pub leader_epoch: LeaderEpoch,
    /// Of a leader, who is in sync as the controller decided.
    pub isr: &'a [BrokerId],
    log: &'a UnifiedLog,
}

impl<'a> ReplicaView<'a> {
    /// Log start offset, high watermark, last stable offset and log end offset.
    #[must_use]
    pub fn offsets(&self) -> [i64; 4] {
        let log = self.log;
        let bounds = [log.high_watermark(), log.last_stable_offset(), log.log_end_offset()];
        [log.log_start_offset(), bounds[0], bounds[1], bounds[2]]
    }

    /// Its batches.
    pub fn batches(&self) -> impl Iterator<Item = &'a RecordBatch> {
        self.log.batches()
    }

    /// What it knows of producers.
    #[must_use]
    pub fn producers(&self) -> Vec<ProducerState> {
        self.log.producers()
    }

    /// Its index of aborted transactions.
    #[must_use]
    pub fn aborted_transactions(&self) -> Vec<AbortedTxn> {
        self.log.aborted_index()
    }
}

impl Broker {
    /// Every replica, where it lies.
    pub fn replicas(&self) -> impl Iterator<Item = ReplicaView<'_>> {
        let hosted = self.replica_manager().partitions.iter().map(|partition| ReplicaView {
            partition: partition.topic_partition,
            is_leader: partition.is_leader(),
            is_hosted: true,
            leader_epoch: partition.leader_epoch,
            isr: partition.leadership().map_or(&[], |leads| &leads.isr.committed),
            log: &partition.log,
        });
        let lying = self.log_manager().logs().map(|(partition, log)| ReplicaView {
            partition,
            is_leader: false,
            is_hosted: false,
            leader_epoch: log.latest_epoch().unwrap_or(LeaderEpoch::NONE),
            isr: &[],
            log,
        });
        hosted.chain(lying)
    }

    /// Every group that it coordinates.
    pub fn groups(&self) -> impl Iterator<Item = GroupStanding> {
        self.group_coordinator().coordinator.standings()
    }

    /// Adds every replica and every owned transactional id to `dump`. The logs of a dead process
    /// are shown as they lie on its disk.
    pub fn dump(&self, dump: &mut ClusterDump) {
        self.dump_where(&|_| true, dump);
    }

    /// The same, but only the replicas of the partitions that `is_wanted`.
    pub fn dump_where(&self, is_wanted: &dyn Fn(TopicPartition) -> bool, dump: &mut ClusterDump) {
        let hosted = self.replica_manager().partitions.iter();
        for partition in hosted.filter(|partition| is_wanted(partition.topic_partition)) {
            let replica = self.dump_log(partition.topic_partition, &partition.log);
            dump.replicas.push(ReplicaDump {
                is_leader: partition.is_leader(),
                leader_epoch: partition.leader_epoch,
                is_hosted: true,
                ..replica
            });
        }
        for (tp, log) in self.log_manager().logs().filter(|(tp, _)| is_wanted(*tp)) {
            dump.replicas.push(self.dump_log(tp, log));
        }
        dump.transactions.extend(self.transaction_coordinator().coordinator.dump());
        dump.coordinators.extend(self.loaded());
    }

    /// What its coordinators have loaded.
    fn loaded(&self) -> impl Iterator<Item = CoordinatorDump> {
        let transactions = self.transaction_coordinator().coordinator.loaded_partitions();
        let groups = self.group_coordinator().coordinator.loaded_partitions();
        let of = |topic, partition, leader_epoch| CoordinatorDump {
            broker: self.spec().id,
            partition: TopicPartition::new(topic, partition),
            leader_epoch,
            offsets: Vec::new(),
        };
        let transactions = transactions.map(move |(partition, coordinator_epoch)| {
            of(Topic::TRANSACTION_STATE, partition, LeaderEpoch(coordinator_epoch.0))
        });
        let groups = groups.map(move |(partition, leader_epoch, state)| CoordinatorDump {
            offsets: state.offsets.dump().collect(),
            ..of(Topic::CONSUMER_OFFSETS, partition, leader_epoch)
        });
        transactions.chain(groups)
    }

    /// Differs from what it was after every start of the process and every load of a coordinator:
    /// whatever was rebuilt from logs since can be judged anew.
    #[must_use]
    pub fn rebuilt(&self) -> u64 {
        let mut digest = Digest::new();
        self.lives().hash(&mut digest);
        let transactions = self.transaction_coordinator().coordinator.loaded_partitions();
        transactions.for_each(|loaded| loaded.hash(&mut digest));
        let groups = self.group_coordinator().coordinator.loaded_partitions();
        groups.for_each(|(partition, leader_epoch, _)| {
            (partition, leader_epoch).hash(&mut digest);
        });
        digest.finish()
    }

    /// A log as it lies on the disk.
    fn dump_log(&self, partition: TopicPartition, log: &UnifiedLog) -> ReplicaDump {
        let mut batches = Vec::with_capacity(log.stored_batches());
        batches.extend(log.batches().cloned());
        ReplicaDump {
            broker: self.spec().id,
            partition,
            is_leader: false,
            leader_epoch: log.latest_epoch().unwrap_or(LeaderEpoch::NONE),
            is_hosted: false,
            log_start_offset: log.log_start_offset(),
            high_watermark: log.high_watermark(),
            last_stable_offset: log.last_stable_offset(),
            log_end_offset: log.log_end_offset(),
            batches,
            aborted_transactions: log.aborted_index(),
            producers: log.producers(),
            remembered: log.remembered_batches(),
            unseen: Unseen::default(),
        }
    }
}
