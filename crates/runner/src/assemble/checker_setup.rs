//! What the checker must know of a run besides its history.

use eosim_checker::{CheckerSetup, GroupReader, Transform};
use eosim_scenario::Plan;
use eosim_scenario::plan::{Action, Aimed, Expectation, Moment};
use eosim_sim::cluster::{
    AdminStep, ClientSpec, ClusterPlan, ProducerWorkload, ScriptStep, TopicSpec,
};
use eosim_types::config::{ProducerConfig, TopicConfig};
use eosim_types::message::ApiKey;
use eosim_types::{ActorId, Capability, Defect, Duration, Instant, Topic, TransactionalId};

/// Markers of an aborted transaction are written within this time in a healed cluster.
const MARKER_TIME: Duration = Duration::from_millis(5_000);

/// The setup of `plan`, whose cluster is `cluster`; its actors are called `called`.
pub(super) fn of(plan: &Plan, cluster: &ClusterPlan, called: Vec<String>) -> CheckerSetup {
    let broker = &cluster.shape.controller.broker_config;
    let producers: Vec<Producer<'_>> = producers(cluster).collect();
    let actors = |test: fn(&ProducerConfig) -> bool| {
        producers.iter().filter(|p| test(p.config)).map(|producer| producer.actor).collect()
    };
    let topics = |test: fn(&TopicSpec) -> bool| -> Vec<Topic> {
        let specs = cluster.shape.controller.topics.iter();
        specs.filter(|spec| test(spec)).map(|spec| spec.topic).collect()
    };
    let timeouts = || producers.iter().map(|p| transaction_timeout_ms(p.config));
    let millis = |ms: Option<i32>| {
        Duration::from_millis(ms.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(60_000))
    };
    // A scenario that is there to show a loss is not excused from it.
    let expects_violation = matches!(plan.expect, Expectation::Violation(_));
    CheckerSetup {
        names: cluster.shape.names.as_ref().clone(),
        actors: called,
        acks_below_all: actors(|config| config.acks != -1),
        without_idempotence: actors(|config| !config.enable_idempotence),
        unclean_elections: if expects_violation {
            Vec::new()
        } else {
            unclean_elections(plan, cluster)
        },
        deletable: deletable(cluster),
        compacted: topics(|spec| spec.config.cleanup_compact),
        shared_transactional_ids: shared_ids(&producers),
        transforms: transforms(cluster),
        group_readers: group_readers(cluster),
        late_requests: plan.faults.make_requests_late() || plan.aimed.iter().any(makes_late),
        clock_jumps: plan.faults.clock_jump.is_some(),
        shortest_transaction_timeout: millis(timeouts().min()),
        longest_transaction_timeout: millis(timeouts().max()),
        abort_grace: broker.abort_timed_out_transactions_interval + MARKER_TIME,
        producer_id_expiration: broker.producer_id_expiration,
        transactional_id_expiration: broker.transactional_id_expiration,
        request_timeout: broker.request_timeout,
        delivery_timeouts: delivery_timeouts(cluster, &producers),
        healed_at: Some(Instant::START + Duration::from_millis(plan.faults.until_ms)),
        last_epoch_is_persisted: last_epoch_is_persisted(plan, cluster),
        ..CheckerSetup::default()
    }
}

/// May a request that can fence a producer be handled long after its sender gave it up?
fn makes_late(rule: &Aimed) -> bool {
    let fences = |api| matches!(api, ApiKey::InitProducerId | ApiKey::EndTxn);
    let is_sent = matches!(rule.when.moment(), Some((Moment::Sent, api)) if fences(api));
    let waits = matches!(
        rule.r#do,
        Action::DelayMs(_)
            | Action::LateMs(_)
            | Action::LateUntil(_)
            | Action::Hold(_)
            | Action::HoldUntil(_)
    );
    is_sent && waits
}

/// Every broker writes the last producer epoch into its log, and reads it (C-INIT-21).
fn last_epoch_is_persisted(plan: &Plan, cluster: &ClusterPlan) -> bool {
    !cluster.defects.contains(Defect::UpstreamCoordinatorLastEpochForgotten)
        || plan
            .cluster
            .versions(plan.kafka)
            .all(|(_, kafka)| kafka.has(Capability::LastEpochIsWritten))
}

/// Two-phase commit knows no timeout (C-INIT-22).
fn transaction_timeout_ms(config: &ProducerConfig) -> i32 {
    let is_two_phase = config.transaction_two_phase_commit_enable;
    if is_two_phase { i32::MAX } else { config.transaction_timeout_ms }
}

/// Topics that an unclean election may hit: by their settings, by chance, or by the operator's hand.
fn unclean_elections(plan: &Plan, cluster: &ClusterPlan) -> Vec<Topic> {
    let specs = cluster.shape.controller.topics.iter();
    let by_chance = plan.faults.leader_election.is_some_and(|fault| !fault.unclean.is_zero());
    let allowed = |spec: &&TopicSpec| by_chance || spec.config.unclean_leader_election_enable;
    let allowed = specs.filter(allowed);
    let by_hand = operator_steps(cluster).filter_map(|step| match step {
        AdminStep::ElectLeader { partition, unclean: true } => Some(partition.topic),
        _ => None,
    });
    allowed.map(|spec| spec.topic).chain(by_hand).collect()
}

/// Topics whose head may go: by retention, or by the operator's hand.
fn deletable(cluster: &ClusterPlan) -> Vec<Topic> {
    let week = TopicConfig::default().retention_ms;
    let specs = cluster.shape.controller.topics.iter();
    let retained = specs.filter(|spec| {
        let config = &spec.config;
        config.cleanup_delete && (config.retention_bytes >= 0 || config.retention_ms < week)
    });
    let by_hand = operator_steps(cluster).filter_map(|step| match step {
        AdminStep::DeleteRecords { partition, .. } => Some(partition.topic),
        _ => None,
    });
    retained.map(|spec| spec.topic).chain(by_hand).collect()
}

fn operator_steps(cluster: &ClusterPlan) -> impl Iterator<Item = &AdminStep> {
    cluster.clients.iter().flat_map(|spec| match spec {
        ClientSpec::Admin(spec) => spec.steps.as_slice(),
        _ => &[],
    })
}

/// An application's producer.
struct Producer<'a> {
    actor: ActorId,
    config: &'a ProducerConfig,
    transactional_id: Option<TransactionalId>,
}

fn producers(cluster: &ClusterPlan) -> impl Iterator<Item = Producer<'_>> {
    let clients = cluster.clients.iter().enumerate();
    clients.filter_map(|(index, spec)| {
        let (config, transactional_id) = match spec {
            ClientSpec::Producer(spec) => (&spec.config, spec.transactional_id),
            ClientSpec::Transformer(spec) => (&spec.producer, Some(spec.transactional_id)),
            ClientSpec::Consumer(_) | ClientSpec::GroupConsumer(_) | ClientSpec::Admin(_) => {
                return None;
            }
        };
        Some(Producer { actor: cluster.client_id(index), config, transactional_id })
    })
}

/// Producers that retry as they do by default; what one writes by hand is not tried again.
fn delivery_timeouts(
    cluster: &ClusterPlan,
    producers: &[Producer<'_>],
) -> Vec<(ActorId, Duration)> {
    let clients = cluster.clients.iter().enumerate();
    let by_hand = clients.filter(|(_, spec)| writes_by_hand(spec));
    let by_hand: Vec<ActorId> = by_hand.map(|(index, _)| cluster.client_id(index)).collect();
    let usual = producers.iter().filter(|p| {
        p.config.enable_idempotence && p.config.retries == i32::MAX && !by_hand.contains(&p.actor)
    });
    usual.map(|p| (p.actor, p.config.delivery_timeout)).collect()
}

fn writes_by_hand(spec: &ClientSpec) -> bool {
    let ClientSpec::Producer(spec) = spec else { return false };
    let is_raw = |step: &ScriptStep| matches!(step, ScriptStep::RawProduce { .. });
    matches!(&spec.workload, ProducerWorkload::Script(steps) if steps.iter().any(is_raw))
}

/// What groups make of which topics.
fn transforms(cluster: &ClusterPlan) -> Vec<Transform> {
    let specs = cluster.clients.iter().filter_map(|spec| match spec {
        ClientSpec::Transformer(spec) => Some(spec),
        _ => None,
    });
    let mut transforms: Vec<Transform> = specs
        .filter_map(|spec| {
            let group = spec.consumer.group?;
            Some(Transform { group, input: spec.input, output: spec.output })
        })
        .collect();
    transforms.sort_unstable();
    transforms.dedup();
    transforms
}

/// Who reads as a member of which group.
fn group_readers(cluster: &ClusterPlan) -> Vec<GroupReader> {
    let clients = cluster.clients.iter().enumerate();
    let readers = clients.filter_map(|(index, spec)| {
        let ClientSpec::GroupConsumer(spec) = spec else { return None };
        let (actor, topic) = (cluster.client_id(index), spec.topic);
        Some(GroupReader { group: spec.config.group?, actor, topic })
    });
    readers.collect()
}

/// Transactional ids of more than one application.
fn shared_ids(producers: &[Producer<'_>]) -> Vec<TransactionalId> {
    let mut ids: Vec<_> = producers.iter().filter_map(|p| p.transactional_id).collect();
    ids.sort_unstable();
    let pairs = ids.windows(2).filter(|pair| pair[0] == pair[1]);
    let mut shared: Vec<TransactionalId> = pairs.map(|pair| pair[0]).collect();
    shared.dedup();
    shared
}
