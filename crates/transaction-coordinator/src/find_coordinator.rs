//! FindCoordinator: who leads the partition that holds a transactional id or a group.
//!
//! Kafka counterpart: `KafkaApis.getCoordinator`. Any broker answers, from its own view of the
//! cluster, which may be stale: a deposed coordinator names itself.

use eosim_types::message::{CoordinatorKey, FindCoordinatorRequest, FindCoordinatorResponse};
use eosim_types::{BrokerId, ErrorCode, Names, Topic, TopicPartition, rule};

use crate::action::Ctx;

/// Answers FindCoordinator (C-PART-5).
pub(crate) fn find_coordinator(
    cx: &mut Ctx<'_>,
    request: FindCoordinatorRequest,
) -> FindCoordinatorResponse {
    rule!(cx.env, "C-PART-5");
    rule!(cx.env, "C-PART-2");
    match coordinator_of(cx, request.key) {
        Some(broker) => FindCoordinatorResponse { error: ErrorCode::None, node: Some(broker) },
        None => FindCoordinatorResponse { error: ErrorCode::CoordinatorNotAvailable, node: None },
    }
}

fn coordinator_of(cx: &Ctx<'_>, key: CoordinatorKey) -> Option<BrokerId> {
    let (topic, name) = match key {
        CoordinatorKey::Transaction(id) => {
            (Topic::TRANSACTION_STATE, cx.names.transactional_id(id))
        }
        CoordinatorKey::Group(group) => (Topic::CONSUMER_OFFSETS, cx.names.group(group)),
    };
    let partitions = cx.metadata.partition_count(topic);
    if partitions == 0 {
        return None;
    }
    let partition = Names::hash_partition(name, partitions);
    let leader = cx.metadata.leader(TopicPartition::new(topic, partition))?;
    cx.metadata.is_alive(leader).then_some(leader)
}
