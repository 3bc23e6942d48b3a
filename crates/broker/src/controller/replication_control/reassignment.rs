//! Moving replicas: `AlterPartitionReassignments`, and when a move is complete.
//!
//! Kafka counterpart: `ReplicationControlManager#alterPartitionReassignments`,
//! `PartitionReassignmentReplicas`. Invariant: while a move is under way the partition has the old
//! replicas and the new; it is complete when all that are added are in sync.

use alloc::sync::Arc;
use alloc::vec::Vec;

use eosim_types::message::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse,
};
use eosim_types::metadata::MetadataImage;
use eosim_types::{BrokerId, Env, ErrorCode, TopicPartition};

use super::super::cluster_control::is_active;
use super::ReplicationControlManager;
use super::partition_registration::PartitionRegistration;

impl ReplicationControlManager {
    /// `alterPartitionReassignments`.
    pub(crate) fn alter_partition_reassignments(
        &mut self,
        image: &mut Arc<MetadataImage>,
        request: &AlterPartitionReassignmentsRequest,
        env: &mut Env<'_>,
    ) -> AlterPartitionReassignmentsResponse {
        let partitions = request
            .partitions
            .iter()
            .map(|(tp, target)| (*tp, self.change_partition_reassignment(image, *tp, target, env)));
        AlterPartitionReassignmentsResponse { partitions: partitions.collect() }
    }

    fn change_partition_reassignment(
        &mut self,
        image: &mut Arc<MetadataImage>,
        tp: TopicPartition,
        target: &[BrokerId],
        env: &mut Env<'_>,
    ) -> ErrorCode {
        let Some(partition) = self.registration(image, tp) else {
            return ErrorCode::UnknownTopicOrPartition;
        };
        if !is_valid_assignment(image, target) {
            return ErrorCode::InvalidReplicaAssignment;
        }
        let (replicas, adding, removing) = reassignment_replicas(&partition, target);
        let is_acceptable_leader = |replica| is_active(image, replica);
        let next = self
            .builder(tp, &partition, &is_acceptable_leader)
            .set_target_replicas(replicas, adding, removing)
            .build(env);
        self.replay_partition_change(image, tp, next);
        ErrorCode::None
    }
}

/// `validateManualPartitionAssignment`: some registered brokers, none of them twice.
fn is_valid_assignment(image: &MetadataImage, target: &[BrokerId]) -> bool {
    let mut sorted = target.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    !target.is_empty()
        && sorted.len() == target.len()
        && target.iter().all(|broker| image.brokers.contains_key(broker))
}

/// All replicas while the move is under way, those added and those removed.
fn reassignment_replicas(
    partition: &PartitionRegistration,
    target: &[BrokerId],
) -> (Vec<BrokerId>, Vec<BrokerId>, Vec<BrokerId>) {
    let current = &partition.metadata.replicas;
    let mut adding = without(target, current);
    let mut removing = without(current, target);
    adding.sort_unstable();
    removing.sort_unstable();
    (target.iter().chain(&removing).copied().collect(), adding, removing)
}

/// `maybeCompleteReassignment`: replicas and ISR after the move, if it is under way and may be
/// completed.
pub(super) fn complete_reassignment(
    replicas: &[BrokerId],
    isr: &[BrokerId],
    adding: &[BrokerId],
    removing: &[BrokerId],
) -> Option<(Vec<BrokerId>, Vec<BrokerId>)> {
    if adding.is_empty() && removing.is_empty() {
        return None;
    }
    let isr = without(isr, removing);
    let complete = !isr.is_empty() && adding.iter().all(|replica| isr.contains(replica));
    complete.then(|| (without(replicas, removing), isr))
}

fn without(list: &[BrokerId], removed: &[BrokerId]) -> Vec<BrokerId> {
    list.iter().copied().filter(|replica| !removed.contains(replica)).collect()
}
