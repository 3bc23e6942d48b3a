//! Brokers, topics and where they lie.

use eosim_scenario::Plan;
use eosim_scenario::plan::{self, InternalTopic};
use eosim_sim::cluster::{ControllerConfig, TopicSpec, Upgrade};
use eosim_types::config::TopicConfig;
use eosim_types::{BrokerId, Duration, Instant, LeaderEpoch, Names, Topic};

/// The cluster of `plan`; topics get their numbers in the order of their names.
pub(super) fn controller_config(plan: &Plan, names: &mut Names) -> ControllerConfig {
    let cluster = &plan.cluster;
    let brokers = cluster.brokers;
    let mut transaction_state =
        internal(Topic::TRANSACTION_STATE, &cluster.transaction_state, brokers);
    for (id, &broker) in &cluster.place {
        place(&mut transaction_state, id, broker_id(broker));
    }
    let offsets = internal(Topic::CONSUMER_OFFSETS, &cluster.consumer_offsets, brokers);
    let mut topics = vec![transaction_state, offsets];
    for (name, topic) in &cluster.topics {
        let replicas = topic.assignment(brokers).iter().map(|ids| broker_ids(ids)).collect();
        let (topic, config) = (names.add_topic(name), topic.config());
        topics.push(TopicSpec { topic, replicas, config, leader_epoch: LeaderEpoch(0) });
    }
    ControllerConfig {
        brokers: (1..=brokers).map(broker_id).collect(),
        topics,
        broker_config: cluster.broker_config(plan.kafka),
        transaction_version: plan.transaction_version(),
        kafka: cluster.versions(plan.kafka).map(|(at, kafka)| (broker_id(at), kafka)).collect(),
    }
}

/// What is installed while the run goes on.
pub(super) fn upgrade(plan: &Plan) -> Option<Upgrade> {
    let plan::Upgrade { kafka, at_ms } = plan.cluster.upgrade?;
    Some(Upgrade { at: Instant::START + Duration::from_millis(at_ms), kafka })
}

fn internal(topic: Topic, plan: &InternalTopic, brokers: u32) -> TopicSpec {
    let min_insync = plan.min_insync_replicas(brokers);
    let config = TopicConfig {
        min_insync_replicas: i32::try_from(min_insync).expect("at most 9"),
        cleanup_delete: false,
        cleanup_compact: true,
        segment_bytes: plan.segment_bytes,
        ..TopicConfig::default()
    };
    let replicas = plan.assignment(brokers).iter().map(|ids| broker_ids(ids)).collect();
    TopicSpec { topic, replicas, config, leader_epoch: LeaderEpoch(0) }
}

/// Makes `broker` the preferred leader of the partition that holds `id`.
fn place(topic: &mut TopicSpec, id: &str, broker: BrokerId) {
    let partitions = i32::try_from(topic.replicas.len()).expect("at most 50");
    let partition = Names::hash_partition(id, partitions);
    let replicas = &mut topic.replicas[usize::try_from(partition).expect("not negative")];
    match replicas.iter().position(|&replica| replica == broker) {
        Some(at) => replicas.swap(0, at),
        None => replicas[0] = broker,
    }
}

fn broker_ids(numbers: &[u32]) -> Vec<BrokerId> {
    numbers.iter().copied().map(broker_id).collect()
}

/// The broker of that number.
pub(super) fn broker_id(number: u32) -> BrokerId {
    BrokerId(i32::try_from(number).expect("at most 9"))
}
