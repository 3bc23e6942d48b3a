//! What an operator does to the cluster by chance: elections and reassignments.
//!
//! Kafka counterpart: `kafka-leader-election`, `kafka-reassign-partitions`, as they reach the
//! controller.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use eosim_actor::Operation;
use eosim_types::message::{AlterPartitionReassignmentsRequest, ElectLeadersRequest};
use eosim_types::metadata::MetadataImage;
use eosim_types::{BrokerId, Env, TopicPartition};

use super::replication_control::ReplicationControlManager;

/// Fewer replicas than these are not asked for, if there are as many brokers.
const FEWEST_REPLICAS: usize = 2;

/// Carries out `operation` on the newest image.
pub(super) fn carry_out(
    replication: &mut ReplicationControlManager,
    image: &mut Arc<MetadataImage>,
    operation: Operation,
    env: &mut Env<'_>,
) {
    match operation {
        Operation::ElectLeader { partition, unclean } => {
            let Some(tp) = picked(image, partition) else { return };
            let request = ElectLeadersRequest { unclean, partitions: vec![tp] };
            replication.elect_leaders(image, &request, env);
        }
        Operation::Reassign { partition, replicas } => {
            let Some(tp) = picked(image, partition) else { return };
            let partitions = core::iter::once((tp, target(image, replicas))).collect();
            let request = AlterPartitionReassignmentsRequest { partitions };
            replication.alter_partition_reassignments(image, &request, env);
        }
        Operation::Housekeeping => {}
    }
}

fn picked(image: &MetadataImage, pick: u32) -> Option<TopicPartition> {
    let count = image.partitions.len().max(1);
    image.partitions.keys().nth(place(pick, count)).copied()
}

/// Neighbours among the brokers, from any of them on: at least two, at most all.
fn target(image: &MetadataImage, pick: u32) -> Vec<BrokerId> {
    let brokers: Vec<BrokerId> = image.brokers.keys().copied().collect();
    let (count, fewest) = (brokers.len(), brokers.len().min(FEWEST_REPLICAS));
    let size = fewest + place(pick / 16, count - fewest + 1);
    let first = place(pick, count);
    brokers.iter().cycle().skip(first).take(size).copied().collect()
}

fn place(pick: u32, count: usize) -> usize {
    usize::try_from(pick).expect("32 bits") % count
}
