//! What an operator does to the cluster: elections, reassignments, feature changes, topics.
//!
//! Kafka counterpart: `kafka-leader-election`, `kafka-reassign-partitions`, `kafka-features`, as
//! they reach the controller.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use eosim_actor::Operation;
use eosim_types::message::{
    AlterPartitionReassignmentsRequest, ElectLeadersRequest, UpdateFeaturesRequest,
};
use eosim_types::metadata::{MetadataImage, PartitionMetadata};
use eosim_types::version::TransactionVersion;
use eosim_types::{BrokerId, Env, LeaderEpoch, Topic, TopicPartition};

use super::feature_control::update_features;
use super::replication_control::ReplicationControlManager;

/// Fewer replicas than these are not asked for, if there are as many brokers.
const FEWEST_REPLICAS: usize = 2;

/// Carries out `operation` on the newest image; every broker has the features `supported`.
pub(super) fn carry_out(
    replication: &mut ReplicationControlManager,
    image: &mut Arc<MetadataImage>,
    operation: Operation,
    supported: TransactionVersion,
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
        Operation::ChangeFeature => {
            let transaction_version = other_version(image.transaction_version);
            update_features(image, UpdateFeaturesRequest { transaction_version }, supported, env);
        }
        Operation::Housekeeping => {}
        Operation::CreateTopic { topic, partitions, replicas } => {
            create_topic(image, Topic(topic), partitions, replicas);
        }
        Operation::DeleteTopic { topic } => delete_topic(image, Topic(topic)),
    }
}

/// `createTopics`, with all replicas that live in sync and the first of them leading.
fn create_topic(image: &mut Arc<MetadataImage>, topic: Topic, partitions: u32, replicas: u32) {
    let brokers: Vec<BrokerId> = image.brokers.keys().copied().collect();
    if image.partition_count(topic) > 0 || brokers.is_empty() {
        return;
    }
    let new = Arc::make_mut(image);
    new.version += 1;
    for partition in 0..partitions {
        let first = place(partition + u32::from(topic.0), brokers.len());
        let count = usize::try_from(replicas).unwrap_or(1).clamp(1, brokers.len());
        let replicas: Vec<BrokerId> =
            brokers.iter().cycle().skip(first).take(count).copied().collect();
        let mut isr: Vec<BrokerId> =
            replicas.iter().copied().filter(|&broker| new.is_alive(broker)).collect();
        let leader = isr.first().copied();
        isr.sort_unstable();
        let registration = PartitionMetadata {
            replicas,
            isr,
            elr: Vec::new(),
            leader,
            leader_epoch: LeaderEpoch(0),
            partition_epoch: 0,
        };
        let partition = i32::try_from(partition).unwrap_or(i32::MAX);
        new.partitions.insert(TopicPartition::new(topic, partition), registration);
    }
}

/// `deleteTopics`.
fn delete_topic(image: &mut Arc<MetadataImage>, topic: Topic) {
    if image.partition_count(topic) > 0 {
        let new = Arc::make_mut(image);
        new.version += 1;
        new.partitions.retain(|tp, _| tp.topic != topic);
    }
}

/// Where `transaction.version` goes from `present`.
fn other_version(present: TransactionVersion) -> TransactionVersion {
    match present {
        TransactionVersion::Tv2 => TransactionVersion::Tv1,
        TransactionVersion::Tv0 | TransactionVersion::Tv1 => TransactionVersion::Tv2,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::fixture::{cluster, with_env};

    #[test]
    fn a_topic_comes_once_with_all_replicas_in_sync_and_goes() {
        let mut image = Arc::new(cluster(&[1, 2, 3], &[&[1]]).initial_image());
        let mut replication = ReplicationControlManager::new(Default::default());
        let mut operate = |image: &mut Arc<MetadataImage>, operation| {
            with_env(|env| {
                carry_out(&mut replication, image, operation, TransactionVersion::Tv2, env);
            });
            image.partition_count(Topic(9))
        };
        let create = |partitions| Operation::CreateTopic { topic: 9, partitions, replicas: 2 };
        assert_eq!(operate(&mut image, create(4)), 4);
        assert_eq!(operate(&mut image, create(6)), 4, "it is there already");
        let first = &image.partitions[&TopicPartition::new(Topic(9), 0)];
        assert_eq!((first.replicas.len(), first.isr.len()), (2, 2));
        assert_eq!(first.leader, first.replicas.first().copied());
        assert_eq!(operate(&mut image, Operation::DeleteTopic { topic: 9 }), 0);
    }

    #[test]
    fn transaction_version_is_lowered_and_raised_in_turn_c_tv_1() {
        let mut image = Arc::new(cluster(&[1], &[&[1]]).initial_image());
        let mut replication = ReplicationControlManager::new(Default::default());
        let mut levels = Vec::new();
        for _ in 0..3 {
            let operation = Operation::ChangeFeature;
            with_env(|env| {
                carry_out(&mut replication, &mut image, operation, TransactionVersion::Tv2, env);
            });
            levels.push(image.transaction_version);
        }
        assert_eq!(
            levels,
            [TransactionVersion::Tv1, TransactionVersion::Tv2, TransactionVersion::Tv1]
        );
    }
}
