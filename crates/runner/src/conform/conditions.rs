//! The conditions under which recordings were made: which brokers, which settings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use eosim_sim::Latency;
use eosim_sim::cluster::{ClusterPlan, ClusterShape, ControllerConfig, TopicSpec};
use eosim_types::config::{BrokerConfig, TopicConfig};
use eosim_types::{
    BrokerId, CapabilitySet, DefectSet, Duration, GroupId, LeaderEpoch, Names, Topic,
    TransactionalId,
};

use super::case::{Case, TopicLayout};
use super::compare::for_each_epoch;
use super::fields::Unsupported;
use super::operation::parse_partition;

/// Whom a transactional id or group is coordinated by where a case names nobody.
const USUAL_COORDINATOR: i32 = 3;

/// All names of a case, so that the cluster knows them before it begins.
pub(crate) fn names(case: &Case) -> Result<Names, Unsupported> {
    let mut names = Names::default();
    for step in &case.steps {
        for (key, value) in step {
            match (key.as_str(), value.as_str()) {
                ("transactional_id", Some(id)) => drop(names.add_transactional_id(id)),
                ("group", Some(group)) => drop(names.add_group(group)),
                ("partition", Some(text)) => drop(parse_partition(&mut names, text)?),
                _ => {}
            }
        }
    }
    Ok(names)
}

/// The cluster of `case`, whose names are `names`; its coordinators take over so long after a
/// start (C-LK-4).
pub(crate) fn plan(
    case: &Case,
    names: &mut Names,
    transaction_state_election_delay: Duration,
) -> Result<ClusterPlan, Unsupported> {
    let several = is_several(case);
    let topics: Result<Vec<_>, _> =
        case.topics.iter().map(|(name, layout)| topic(names.add_topic(name), layout)).collect();
    let mut specs = if several { three_brokers_internal() } else { single_broker_internal() };
    specs.iter_mut().for_each(|spec| spec.leader_epoch = coordinator_epoch(case));
    specs.extend(topics?);
    let shape = ClusterShape {
        names: Arc::new(if several { placed(names, &case.place) } else { names.clone() }),
        controller: ControllerConfig {
            brokers: (1..=if several { 3 } else { 1 }).map(BrokerId).collect(),
            topics: specs,
            broker_config: BrokerConfig {
                kafka: case.recorded_on.kafka,
                transaction_state_election_delay,
                ..if several { three_brokers_config() } else { single_broker_config() }
            },
            transaction_version: case.recorded_on.transaction_version,
            kafka: Default::default(),
        },
        upgrade: None,
    };
    Ok(ClusterPlan {
        shape: Arc::new(shape),
        clients: Vec::new(),
        latency: Latency { min: Duration::from_micros(100), max: Duration::from_micros(100) },
        defects: DefectSet::as_released(),
        backports: CapabilitySet::NONE,
    })
}

/// Was the case recorded on several brokers?
pub(crate) fn is_several(case: &Case) -> bool {
    case.topics.values().any(|layout| matches!(layout, TopicLayout::Replicas { .. }))
}

fn topic(topic: Topic, layout: &TopicLayout) -> Result<TopicSpec, Unsupported> {
    match layout {
        TopicLayout::Partitions(partitions) => {
            let replicas = vec![vec![BrokerId(1)]; usize::try_from(*partitions).unwrap_or(0)];
            Ok(new_topic(topic, replicas, TopicConfig::default()))
        }
        TopicLayout::Replicas { partitions, config } => {
            let ids = |replicas: &Vec<i32>| replicas.iter().copied().map(BrokerId).collect();
            let replicas = partitions.iter().map(ids).collect();
            Ok(new_topic(topic, replicas, topic_config(config)?))
        }
    }
}

fn new_topic(topic: Topic, replicas: Vec<Vec<BrokerId>>, config: TopicConfig) -> TopicSpec {
    TopicSpec { topic, replicas, config, leader_epoch: LeaderEpoch(0) }
}

fn topic_config(settings: &BTreeMap<String, String>) -> Result<TopicConfig, Unsupported> {
    let mut config = TopicConfig::default();
    for (name, value) in settings {
        let bad = |_| Unsupported(format!("{name}={value}"));
        match name.as_str() {
            "min.insync.replicas" => config.min_insync_replicas = value.parse().map_err(bad)?,
            "unclean.leader.election.enable" => {
                config.unclean_leader_election_enable = value == "true";
            }
            _ => return Err(Unsupported(format!("topic setting {name}"))),
        }
    }
    Ok(config)
}

/// The epoch with which the coordinators begin. It shows only in a case that writes markers itself,
/// whose epochs are no ranks: its broker may have been started before, and then the lowest epoch of
/// its coordinators' own markers, as long as it is not restarted, is the one with which it came.
pub(super) fn coordinator_epoch(case: &Case) -> LeaderEpoch {
    let by_hand: BTreeSet<i64> =
        case.steps.iter().filter_map(|step| step.get("coordinator_epoch")?.as_i64()).collect();
    let first_life = || case.steps.iter().take_while(|step| step["op"] != "restart_broker");
    let ends_in_first_life = first_life().count() == case.steps.len();
    let answers = first_life().filter_map(|step| step.get("expect"));
    let answers = answers.chain(ends_in_first_life.then_some(&case.final_state));
    let mut own = BTreeSet::new();
    for answer in answers {
        for_each_epoch(&mut answer.clone(), &mut |epoch| {
            own.insert(*epoch);
        });
    }
    let lowest = own.difference(&by_hand).next().copied();
    let known = lowest.filter(|_| !by_hand.is_empty() && !is_several(case));
    LeaderEpoch(known.and_then(|epoch| i32::try_from(epoch).ok()).unwrap_or(0))
}

fn single_broker_internal() -> Vec<TopicSpec> {
    internal(&vec![vec![BrokerId(1)]; 5], 1)
}

/// Partition `n` is led by broker `n + 1`.
fn three_brokers_internal() -> Vec<TopicSpec> {
    internal(&[[1, 2, 3], [2, 3, 1], [3, 1, 2]].map(|ids| ids.map(BrokerId).to_vec()), 2)
}

fn internal(replicas: &[Vec<BrokerId>], min_insync_replicas: i32) -> Vec<TopicSpec> {
    let config = TopicConfig {
        min_insync_replicas,
        cleanup_delete: false,
        cleanup_compact: true,
        ..TopicConfig::default()
    };
    [Topic::TRANSACTION_STATE, Topic::CONSUMER_OFFSETS]
        .map(|topic| new_topic(topic, replicas.to_vec(), config.clone()))
        .to_vec()
}

fn single_broker_config() -> BrokerConfig {
    BrokerConfig {
        abort_timed_out_transactions_interval: Duration::from_millis(500),
        ..BrokerConfig::default()
    }
}

fn three_brokers_config() -> BrokerConfig {
    BrokerConfig {
        broker_session_timeout: Duration::from_millis(3_000),
        broker_heartbeat_interval: Duration::from_millis(500),
        replica_lag_time_max: Duration::from_millis(3_000),
        replica_fetch_wait_max: Duration::from_millis(100),
        replica_fetch_backoff: Duration::from_millis(200),
        ..single_broker_config()
    }
}

/// Names under which the brokers know ids and groups: such that each hashes to the partition that
/// is led by its broker of `place` (C-PART-1).
fn placed(names: &Names, place: &BTreeMap<String, i32>) -> Names {
    let mut placed = Names::default();
    let chosen = |name: &str| {
        let broker = place.get(name).copied().unwrap_or(USUAL_COORDINATOR);
        let candidates = (0..).map(|n| if n == 0 { name.into() } else { format!("{name}.{n}") });
        let mut fitting = candidates.filter(|text| Names::hash_partition(text, 3) == broker - 1);
        fitting.next().expect("some suffix hashes to each partition")
    };
    for index in Topic::FIRST_USER.0.. {
        match names.topic(Topic(index)) {
            "?" => break,
            name => placed.add_topic(name),
        };
    }
    for index in TransactionalId::EMPTY.0 + 1.. {
        match names.transactional_id(TransactionalId(index)) {
            "?" => break,
            name => placed.add_transactional_id(&chosen(name)),
        };
    }
    for index in GroupId::EMPTY.0 + 1.. {
        match names.group(GroupId(index)) {
            "?" => break,
            name => placed.add_group(&chosen(name)),
        };
    }
    placed
}
