//! A leader proposes a new ISR.
//!
//! Kafka counterpart: `ReplicationControlManager#alterPartition`. Invariants: only the leader in
//! office, knowing the newest state of the partition, changes the ISR, so a partitioned old leader
//! cannot shrink it to itself (L-ISR-4); only replicas that may lead enter it (L-ISR-2).

use alloc::sync::Arc;
use alloc::vec::Vec;

use eosim_types::message::{AlterPartitionRequest, AlterPartitionResponse};
use eosim_types::metadata::{MetadataImage, PartitionMetadata};
use eosim_types::{BrokerId, Defect, Env, ErrorCode, LeaderEpoch, TopicPartition, rule};

use super::super::cluster_control::{check_broker_epoch, is_active};
use super::{ReplicationControlManager, partition_change_builder};

impl ReplicationControlManager {
    /// `alterPartition`. The answer NEW_LEADER_ELECTED comes with a change: the proposal completed
    /// a reassignment that took the leadership from the sender.
    pub(crate) fn alter_partition(
        &mut self,
        image: &mut Arc<MetadataImage>,
        request: &AlterPartitionRequest,
        env: &mut Env<'_>,
    ) -> AlterPartitionResponse {
        rule!(env, "L-ISR-1");
        let tp = request.partition;
        let error = validate_alter_partition_data(image, request, env);
        if error == ErrorCode::IneligibleReplica {
            self.forget_proposals(image, tp, env);
        }
        if error != ErrorCode::None {
            return refusal(tp, error);
        }
        self.change_isr(image, tp, sorted_isr(request), env);
        let partition = &image.partitions[&tp];
        if partition.leader != Some(request.broker) {
            return refusal(tp, ErrorCode::NewLeaderElected);
        }
        AlterPartitionResponse {
            partition: tp,
            error,
            leader_epoch: partition.leader_epoch,
            partition_epoch: partition.partition_epoch,
            isr: partition.isr.clone(),
        }
    }

    /// The sender goes on with the ISR that it had. An earlier copy of the proposal may still be
    /// under way, and what it says may be acceptable by then: a new partition epoch refuses it.
    fn forget_proposals(
        &mut self,
        image: &mut Arc<MetadataImage>,
        tp: TopicPartition,
        env: &Env<'_>,
    ) {
        if env.on(Defect::UpstreamControllerLateAlterPartition) {
            return;
        }
        let partition = self.registration(image, tp).expect("the partition was validated");
        let next = partition_change_builder::with_next_partition_epoch(partition);
        self.replay_partition_change(image, tp, Some(next));
    }

    fn change_isr(
        &mut self,
        image: &mut Arc<MetadataImage>,
        tp: TopicPartition,
        target_isr: Vec<BrokerId>,
        env: &mut Env<'_>,
    ) {
        let partition = self.registration(image, tp).expect("the partition was validated");
        let is_acceptable_leader = |replica| is_active(image, replica);
        let next = self
            .builder(tp, &partition, &is_acceptable_leader)
            .set_election(self.unattended_election(tp))
            .set_target_isr(target_isr)
            .build(env);
        self.replay_partition_change(image, tp, next);
    }
}

/// `validateAlterPartitionData`, in its order.
fn validate_alter_partition_data(
    image: &MetadataImage,
    request: &AlterPartitionRequest,
    env: &mut Env<'_>,
) -> ErrorCode {
    if !check_broker_epoch(image, request.broker, request.broker_epoch) {
        return ErrorCode::StaleBrokerEpoch;
    }
    let Some(partition) = image.partitions.get(&request.partition) else {
        return ErrorCode::UnknownTopicOrPartition;
    };
    if request.leader_epoch > partition.leader_epoch
        || request.partition_epoch > partition.partition_epoch
    {
        // Whoever knows more than this controller was told so by a newer one.
        return ErrorCode::NotController;
    }
    if request.leader_epoch < partition.leader_epoch {
        rule!(env, "L-ISR-4");
        return ErrorCode::FencedLeaderEpoch;
    }
    if partition.leader != Some(request.broker) {
        return ErrorCode::InvalidRequest;
    }
    if request.partition_epoch < partition.partition_epoch {
        return ErrorCode::InvalidUpdateVersion;
    }
    validate_new_isr(image, partition, request, env)
}

fn validate_new_isr(
    image: &MetadataImage,
    partition: &PartitionMetadata,
    request: &AlterPartitionRequest,
    env: &mut Env<'_>,
) -> ErrorCode {
    let mut isr = sorted_isr(request);
    isr.dedup();
    let are_replicas = isr.iter().all(|replica| partition.replicas.contains(replica));
    if isr.len() != request.new_isr.len() || !are_replicas || !isr.contains(&request.broker) {
        return ErrorCode::InvalidRequest;
    }
    if !request.new_isr.iter().all(|&(replica, epoch)| is_eligible(image, replica, epoch)) {
        rule!(env, "L-ISR-2");
        return ErrorCode::IneligibleReplica;
    }
    ErrorCode::None
}

/// Not fenced, not in controlled shutdown, and fetching in the life that is registered; -1 skips
/// the last test (L-ISR-2).
fn is_eligible(image: &MetadataImage, replica: BrokerId, broker_epoch: i64) -> bool {
    is_active(image, replica)
        && (broker_epoch == -1 || check_broker_epoch(image, replica, broker_epoch))
}

fn sorted_isr(request: &AlterPartitionRequest) -> Vec<BrokerId> {
    let mut isr: Vec<BrokerId> = request.new_isr.iter().map(|&(replica, _)| replica).collect();
    isr.sort_unstable();
    isr
}

const fn refusal(partition: TopicPartition, error: ErrorCode) -> AlterPartitionResponse {
    AlterPartitionResponse {
        partition,
        error,
        leader_epoch: LeaderEpoch(0),
        partition_epoch: 0,
        isr: Vec::new(),
    }
}
