//! Leaders, ISR, ELR and replicas of every partition.
//!
//! Kafka counterpart: `ReplicationControlManager`. It decides over the image alone; every decision
//! is one change that [`partition_change_builder`] works out.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use eosim_types::config::TopicConfig;
use eosim_types::metadata::{MetadataImage, PartitionMetadata};
use eosim_types::{BrokerId, Env, Topic, TopicPartition};

use super::cluster_control::{is_active, replay_broker_registration_change};
use partition_change_builder::{Election, PartitionChangeBuilder};
use partition_registration::{PartitionRegistration, Unsettled};

mod alter_partition;
mod elect_leaders;
mod partition_change_builder;
mod partition_registration;
mod reassignment;
#[cfg(test)]
mod tests;

/// Decides who leads and who is in sync.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ReplicationControlManager {
    /// Settings; of a topic they never change.
    topics: BTreeMap<Topic, TopicConfig>,
    /// What is under way, only where something is. From the metadata log, as the image is.
    unsettled: BTreeMap<TopicPartition, Unsettled>,
}

/// Which broker an update of leaders is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Affected {
    /// Leaves every ISR and leads nothing (`brokerToRemove`).
    remove: Option<BrokerId>,
    /// May lead although the image still has it fenced (`brokerToAdd`).
    add: Option<BrokerId>,
    /// As `remove`, and is not eligible either (`brokerWithUncleanShutdown`).
    unclean_shutdown: Option<BrokerId>,
}

impl ReplicationControlManager {
    /// Nothing is under way.
    pub(super) const fn new(topics: BTreeMap<Topic, TopicConfig>) -> Self {
        Self { topics, unsettled: BTreeMap::new() }
    }

    /// Back to the settled beginning.
    pub(super) fn reset(&mut self) {
        self.unsettled.clear();
    }

    /// `handleBrokerFenced`.
    pub(super) fn handle_broker_fenced(
        &mut self,
        image: &mut Arc<MetadataImage>,
        broker: BrokerId,
        env: &mut Env<'_>,
    ) {
        let affected = Affected { remove: Some(broker), ..Affected::default() };
        let in_isr = partitions_with_broker_in_isr(image, broker);
        self.generate_leader_and_isr_updates(image, affected, in_isr, env);
        replay_broker_registration_change(image, broker, |b| b.fenced = true);
    }

    /// `handleBrokerUnfenced`: it may lead what nobody leads.
    pub(super) fn handle_broker_unfenced(
        &mut self,
        image: &mut Arc<MetadataImage>,
        broker: BrokerId,
        env: &mut Env<'_>,
    ) {
        replay_broker_registration_change(image, broker, |b| b.fenced = false);
        let affected = Affected { add: Some(broker), ..Affected::default() };
        let leaderless = partitions(image, |partition| partition.leader.is_none());
        self.generate_leader_and_isr_updates(image, affected, leaderless, env);
    }

    /// `handleBrokerInControlledShutdown`: it leaves every ISR while it still answers.
    pub(super) fn handle_broker_in_controlled_shutdown(
        &mut self,
        image: &mut Arc<MetadataImage>,
        broker: BrokerId,
        env: &mut Env<'_>,
    ) {
        replay_broker_registration_change(image, broker, |b| b.in_controlled_shutdown = true);
        let affected = Affected { remove: Some(broker), ..Affected::default() };
        let in_isr = partitions_with_broker_in_isr(image, broker);
        self.generate_leader_and_isr_updates(image, affected, in_isr, env);
    }

    /// `handleBrokerShutdown`: a new life registers, so the old one is over. If that did not stop
    /// in good order it may have lost the end of its logs and is not eligible any more (KIP-966).
    pub(super) fn handle_broker_shutdown(
        &mut self,
        image: &mut Arc<MetadataImage>,
        broker: BrokerId,
        is_clean_shutdown: bool,
        env: &mut Env<'_>,
    ) {
        let in_isr = partitions_with_broker_in_isr(image, broker);
        if is_clean_shutdown {
            let affected = Affected { remove: Some(broker), ..Affected::default() };
            self.generate_leader_and_isr_updates(image, affected, in_isr, env);
            return;
        }
        let affected = Affected { unclean_shutdown: Some(broker), ..Affected::default() };
        self.generate_leader_and_isr_updates(image, affected, in_isr, env);
        let in_elr = partitions(image, |partition| partition.elr.contains(&broker));
        self.generate_leader_and_isr_updates(image, affected, in_elr, env);
    }

    fn generate_leader_and_isr_updates(
        &mut self,
        image: &mut Arc<MetadataImage>,
        affected: Affected,
        partitions: Vec<TopicPartition>,
        env: &mut Env<'_>,
    ) {
        let gone = |broker| [affected.remove, affected.unclean_shutdown].contains(&Some(broker));
        for tp in partitions {
            let partition = self.registration(image, tp).expect("the partition was found");
            let is_acceptable_leader = |replica| {
                !gone(replica) && (affected.add == Some(replica) || is_active(image, replica))
            };
            let isr = partition.metadata.isr.iter().copied();
            let next = self
                .builder(tp, &partition, &is_acceptable_leader)
                .set_election(self.unattended_election(tp))
                .set_unclean_shutdown_replica(affected.unclean_shutdown)
                .set_target_isr(isr.filter(|&replica| !gone(replica)).collect())
                .build(env);
            self.replay_partition_change(image, tp, next);
        }
    }

    /// The partition as the controller knows it.
    fn registration(
        &self,
        image: &MetadataImage,
        tp: TopicPartition,
    ) -> Option<PartitionRegistration> {
        let metadata = image.partitions.get(&tp)?.clone();
        let unsettled = self.unsettled.get(&tp).cloned().unwrap_or_default();
        Some(PartitionRegistration { metadata, unsettled })
    }

    fn builder<'a>(
        &self,
        tp: TopicPartition,
        partition: &'a PartitionRegistration,
        is_acceptable_leader: &'a dyn Fn(BrokerId) -> bool,
    ) -> PartitionChangeBuilder<'a> {
        let min_insync_replicas = self.config(tp.topic).min_insync_replicas;
        PartitionChangeBuilder::new(partition, is_acceptable_leader, min_insync_replicas)
    }

    /// The settings of `topic`; of one that came up without any, Kafka's defaults.
    fn config(&self, topic: Topic) -> TopicConfig {
        self.topics.get(&topic).cloned().unwrap_or_default()
    }

    /// Takes over the settings of a topic that comes up.
    pub(super) fn configure(&mut self, topic: Topic, config: TopicConfig) {
        self.topics.insert(topic, config);
    }

    /// How a leader is chosen when no operator asks (L-FO-5).
    fn unattended_election(&self, tp: TopicPartition) -> Election {
        if self.config(tp.topic).unclean_leader_election_enable {
            Election::Unclean
        } else {
            Election::Online
        }
    }

    /// Applies a `PartitionChangeRecord`, if there is one.
    fn replay_partition_change(
        &mut self,
        image: &mut Arc<MetadataImage>,
        tp: TopicPartition,
        change: Option<PartitionRegistration>,
    ) {
        let Some(PartitionRegistration { metadata, unsettled }) = change else {
            return;
        };
        let image = Arc::make_mut(image);
        image.version += 1;
        image.partitions.insert(tp, metadata);
        if unsettled == Unsettled::default() {
            self.unsettled.remove(&tp);
        } else {
            self.unsettled.insert(tp, unsettled);
        }
    }
}

fn partitions_with_broker_in_isr(image: &MetadataImage, broker: BrokerId) -> Vec<TopicPartition> {
    partitions(image, |partition| partition.isr.contains(&broker))
}

fn partitions(
    image: &MetadataImage,
    wanted: impl Fn(&PartitionMetadata) -> bool,
) -> Vec<TopicPartition> {
    let found = image.partitions.iter().filter(|(_, partition)| wanted(partition));
    found.map(|(&tp, _)| tp).collect()
}
