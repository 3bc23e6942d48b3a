//! The cluster as the recorder knows it from the brokers that answer: leaders, in-sync replicas,
//! coordinators.

use std::collections::BTreeMap;
use std::sync::Arc;

use eosim_sim::cluster::{Broker, ClusterActor};
use eosim_types::metadata::{MetadataImage, PartitionMetadata};
use eosim_types::{ActorId, BrokerId, Names, Topic, TopicPartition};
use serde_json::{Map, Value, json};

use super::operation::Target;
use super::recorder::Recorder;

/// What is known at one moment.
pub(crate) struct View<'a> {
    recorder: &'a Recorder,
    /// The newest metadata at a broker that answers.
    image: Arc<MetadataImage>,
}

impl<'a> View<'a> {
    pub(crate) fn new(recorder: &'a Recorder) -> Self {
        let images = serving(recorder).map(Broker::image);
        let newest = images.max_by_key(|image| image.version).cloned();
        Self { recorder, image: newest.unwrap_or_default() }
    }

    /// What is known of a partition.
    pub(crate) fn partition(&self, partition: TopicPartition) -> Option<&PartitionMetadata> {
        self.image.partitions.get(&partition)
    }

    /// The partition's replicas that answer.
    pub(crate) fn serving_replicas(&self, partition: TopicPartition) -> Vec<BrokerId> {
        self.partition(partition).map_or(Vec::new(), |state| self.serving(&state.replicas))
    }

    /// Whom to ask.
    pub(crate) fn route(&self, target: Target) -> Option<BrokerId> {
        match target {
            Target::Broker(broker) => Some(broker),
            Target::Leader(partition) if self.partition(partition).is_none() => {
                self.route(Target::Any)
            }
            Target::Any => serving(self.recorder).next().map(|broker| broker.spec().id),
            _ => self.image.leader(self.led(target)?),
        }
    }

    /// Leader, in-sync replicas and leader epoch of every partition, and who coordinates whom.
    pub(crate) fn to_json(&self, names: &Names, targets: &BTreeMap<String, Target>) -> Value {
        let data = self.image.partitions.iter().filter(|(tp, _)| !tp.topic.is_internal());
        let partitions: Map<String, Value> =
            data.map(|(tp, state)| (names.partition(*tp), described(state))).collect();
        let coordinators: Map<String, Value> = targets
            .iter()
            .filter_map(|(name, target)| Some((name.clone(), self.coordinator(*target)?)))
            .collect();
        json!({ "partitions": partitions, "coordinators": coordinators })
    }

    /// Does every broker that answers know the newest metadata, and is nothing left to be done in
    /// them?
    pub(crate) fn is_settled(&self) -> bool {
        let controller = self.recorder.actors().iter().find_map(ClusterActor::as_controller);
        let newest = match controller {
            Some(known) if self.recorder.is_serving(ActorId::CONTROLLER) => known.image().version,
            _ => self.image.version,
        };
        let mut brokers = serving(self.recorder).peekable();
        brokers.peek().is_none()
            || brokers.all(|broker| broker.image().version == newest)
                && self.image.partitions.values().all(|state| self.is_final(state))
    }

    /// All that answer are in sync; or none that could lead does answer.
    fn is_final(&self, state: &PartitionMetadata) -> bool {
        match state.leader {
            Some(_) => {
                let mut serving = self.serving(&state.replicas);
                serving.sort_unstable();
                serving == state.isr
            }
            None => self.serving(&state.isr).is_empty() && self.serving(&state.elr).is_empty(),
        }
    }

    fn serving(&self, brokers: &[BrokerId]) -> Vec<BrokerId> {
        let answers = |broker: &BrokerId| self.recorder.is_serving(ActorId::of_broker(*broker));
        brokers.iter().copied().filter(answers).collect()
    }

    fn coordinator(&self, target: Target) -> Option<Value> {
        let state = self.partition(self.led(target)?)?;
        let broker = state.leader?;
        Some(json!({ "broker": broker.0, "epoch": state.leader_epoch.0 }))
    }

    /// The partition whose leader is asked.
    fn led(&self, target: Target) -> Option<TopicPartition> {
        let names = &serving(self.recorder).next()?.spec().names;
        let count = |topic| self.image.partition_count(topic);
        match target {
            Target::Leader(partition) => Some(partition),
            Target::Transaction(id) => {
                let topic = Topic::TRANSACTION_STATE;
                Some(TopicPartition::new(topic, names.transaction_partition(id, count(topic))))
            }
            Target::Group(group) => {
                let topic = Topic::CONSUMER_OFFSETS;
                Some(TopicPartition::new(topic, names.group_partition(group, count(topic))))
            }
            Target::Any | Target::Broker(_) => None,
        }
    }
}

/// The brokers that answer.
fn serving(recorder: &Recorder) -> impl Iterator<Item = &Broker> {
    let brokers = recorder.actors().iter().filter_map(ClusterActor::as_broker);
    brokers.filter(|broker| recorder.is_serving(ActorId::of_broker(broker.spec().id)))
}

/// A partition as the recordings describe it. Leader epochs begin with 0, so they are differences
/// from the beginning as they are.
pub(crate) fn described(state: &PartitionMetadata) -> Value {
    let ids = |brokers: &[BrokerId]| brokers.iter().map(|broker| broker.0).collect::<Vec<_>>();
    let mut value = json!({
        "leader": state.leader.map_or(-1, |leader| leader.0),
        "isr": ids(&state.isr),
        "epoch": state.leader_epoch.0,
    });
    if !state.elr.is_empty() {
        value["elr"] = ids(&state.elr).into();
    }
    value
}
