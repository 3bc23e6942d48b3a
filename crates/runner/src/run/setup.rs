//! What the checker must know of a run besides its history.

use eosim_checker::CheckerSetup;
use eosim_scenario::Plan;
use eosim_sim::cluster::{ClientSpec, ProducerSpec, TopicSpec};
use eosim_types::{ActorId, Duration, Topic, TransactionalId};

use crate::assemble::Assembly;

/// Markers of an aborted transaction are written within this time in a healed cluster.
const MARKER_TIME: Duration = Duration::from_millis(5_000);

/// The setup of `plan` as it was assembled.
pub(super) fn of(plan: &Plan, assembly: &Assembly) -> CheckerSetup {
    let cluster = &assembly.cluster;
    let broker = &cluster.shape.controller.broker_config;
    let producers: Vec<(ActorId, &ProducerSpec)> = producers(assembly).collect();
    let actors = |test: fn(&ProducerSpec) -> bool| {
        producers.iter().filter(|(_, spec)| test(spec)).map(|(actor, _)| *actor).collect()
    };
    let topics = |test: fn(&TopicSpec) -> bool| -> Vec<Topic> {
        let specs = cluster.shape.controller.topics.iter();
        specs.filter(|spec| test(spec)).map(|spec| spec.topic).collect()
    };
    let timeouts = || producers.iter().map(|(_, spec)| spec.config.transaction_timeout_ms);
    let millis = |ms: Option<i32>| {
        Duration::from_millis(ms.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(60_000))
    };
    CheckerSetup {
        names: cluster.shape.names.as_ref().clone(),
        acks_below_all: actors(|spec| spec.config.acks != -1),
        without_idempotence: actors(|spec| !spec.config.enable_idempotence),
        unclean_elections: topics(|spec| spec.config.unclean_leader_election_enable),
        compacted: topics(|spec| spec.config.cleanup_compact),
        shared_transactional_ids: shared_ids(&producers),
        late_requests: plan.faults.late_request.is_some() || !plan.aimed.is_empty(),
        shortest_transaction_timeout: millis(timeouts().min()),
        longest_transaction_timeout: millis(timeouts().max()),
        abort_grace: broker.abort_timed_out_transactions_interval + MARKER_TIME,
        producer_id_expiration: broker.producer_id_expiration,
        transactional_id_expiration: broker.transactional_id_expiration,
        ..CheckerSetup::default()
    }
}

fn producers(assembly: &Assembly) -> impl Iterator<Item = (ActorId, &ProducerSpec)> {
    let clients = assembly.cluster.clients.iter().enumerate();
    clients.filter_map(|(index, spec)| match spec {
        ClientSpec::Producer(spec) => Some((assembly.cluster.client_id(index), spec)),
        ClientSpec::Consumer(_) => None,
    })
}

/// Transactional ids of more than one application.
fn shared_ids(producers: &[(ActorId, &ProducerSpec)]) -> Vec<TransactionalId> {
    let mut ids: Vec<_> = producers.iter().filter_map(|(_, spec)| spec.transactional_id).collect();
    ids.sort_unstable();
    let pairs = ids.windows(2).filter(|pair| pair[0] == pair[1]);
    let mut shared: Vec<TransactionalId> = pairs.map(|pair| pair[0]).collect();
    shared.dedup();
    shared
}
