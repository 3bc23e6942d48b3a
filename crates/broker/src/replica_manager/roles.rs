//! Replicas take their roles from the metadata.
//!
//! Kafka counterpart: `ReplicaManager#applyDelta`. Invariant: after it, every partition that the
//! image assigns to this broker is hosted, and no other.

use alloc::vec::Vec;

use eosim_storage::UnifiedLog;
use eosim_types::metadata::{MetadataImage, PartitionMetadata};
use eosim_types::{BrokerId, CoordinatorEpoch, Defect, TopicPartition, rule};

use super::ReplicaManager;
use super::partition::{Partition, RoleChange};
use crate::io::Io;
use crate::log_manager::LogManager;

/// What a coordinator must hear about one of its partitions (C-LOAD-1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum LeadershipChange {
    /// This broker leads under a new leader epoch.
    Elected(CoordinatorEpoch),
    /// It follows; the leader epoch known now.
    Resigned(CoordinatorEpoch),
    /// The replica is gone.
    Removed,
}

impl ReplicaManager {
    /// Takes over `image`, the successor of `before`; what coordinators must hear is returned.
    pub(crate) fn apply_image(
        &mut self,
        io: &mut Io<'_>,
        before: &MetadataImage,
        logs: &mut LogManager,
    ) -> Vec<(TopicPartition, LeadershipChange)> {
        let mut changes = self.stop_replicas(io, logs);
        let image = io.image.clone();
        for (&tp, metadata) in &image.partitions {
            let changed = before.partitions.get(&tp) != Some(metadata);
            if changed && metadata.replicas.contains(&io.spec.id) {
                let change = self.take_role(io, logs, tp, metadata);
                changes.extend(change.map(|change| (tp, change)));
            }
        }
        if before.brokers != image.brokers {
            self.brokers_changed(io);
        }
        self.send_fetches(io);
        changes
    }

    /// Drops replicas that are assigned to this broker no more.
    fn stop_replicas(
        &mut self,
        io: &mut Io<'_>,
        logs: &mut LogManager,
    ) -> Vec<(TopicPartition, LeadershipChange)> {
        let assigned = |tp: &TopicPartition| {
            let metadata = io.image.partitions.get(tp);
            metadata.is_some_and(|metadata| metadata.replicas.contains(&io.spec.id))
        };
        let gone: Vec<_> =
            self.partitions.iter().map(|p| p.topic_partition).filter(|tp| !assigned(tp)).collect();
        for &tp in &gone {
            self.stop_replica(io, tp);
        }
        logs.delete_unassigned(assigned);
        gone.into_iter().map(|tp| (tp, LeadershipChange::Removed)).collect()
    }

    fn stop_replica(&mut self, io: &mut Io<'_>, tp: TopicPartition) {
        self.remove_fetcher(tp);
        let Some(mut partition) = self.partitions.remove(tp) else { return };
        let error = super::not_hosted(io, tp);
        for (_, id) in core::mem::take(&mut partition.watchers) {
            self.decide_append(io, id, tp, error);
        }
        self.note_change(tp);
    }

    fn take_role(
        &mut self,
        io: &mut Io<'_>,
        logs: &mut LogManager,
        tp: TopicPartition,
        metadata: &PartitionMetadata,
    ) -> Option<LeadershipChange> {
        self.note_change(tp);
        let create = || new_partition(io, tp, logs.take_or_create(io, tp));
        let partition = self.partitions.get_or_create(tp, create);
        let leads = metadata.leader == Some(io.spec.id);
        let before = partition.partition_epoch;
        let change = if leads {
            partition.make_leader(io, metadata)
        } else {
            partition.make_follower(metadata)
        };
        let epoch = CoordinatorEpoch(metadata.leader_epoch.0);
        if leads {
            partition.maybe_increment_leader_high_watermark(io);
            self.remove_fetcher(tp);
            let reloads = io.env.on(Defect::CoordinatorLoadOnPartitionEpochChange)
                && metadata.partition_epoch > before;
            let is_elected = change == RoleChange::Elected || reloads;
            return is_elected.then_some(LeadershipChange::Elected(epoch));
        }
        if change == RoleChange::Following {
            self.follow(io, tp, metadata.leader);
        }
        (metadata.partition_epoch > before).then_some(LeadershipChange::Resigned(epoch))
    }

    /// Begins to fetch from the leader, if there is one (L-FLT-1).
    fn follow(&mut self, io: &mut Io<'_>, tp: TopicPartition, leader: Option<BrokerId>) {
        self.remove_fetcher(tp);
        rule!(io.env, "L-TRC-3");
        let (Some(partition), Some(leader)) = (self.partitions.get_mut(tp), leader) else { return };
        if partition.log.latest_epoch().is_none() {
            let high_watermark = partition.log.high_watermark();
            partition.log.truncate_to(&mut io.env, high_watermark);
        }
        let leader_epoch = partition.leader_epoch;
        self.add_fetcher(io, leader, tp, leader_epoch);
    }

    /// A broker that is fenced or stopping holds no high watermark back any more, and a parked
    /// deletion does not wait for it (L-HW-2, L-DEL-1).
    fn brokers_changed(&mut self, io: &mut Io<'_>) {
        let mut changed = Vec::new();
        for partition in self.partitions.iter_mut().filter(|p| p.is_leader()) {
            partition.maybe_increment_leader_high_watermark(io);
            changed.push(partition.topic_partition);
        }
        changed.into_iter().for_each(|tp| self.note_change(tp));
    }
}

fn new_partition(io: &Io<'_>, tp: TopicPartition, log: UnifiedLog) -> Partition {
    Partition::new(tp, log, io.spec.topic_config(tp.topic).min_insync_replicas)
}
