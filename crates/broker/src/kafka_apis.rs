//! Requests go to the part of the broker that answers them.
//!
//! Kafka counterpart: `KafkaApis`.

use eosim_actor::RequestToken;
use eosim_types::message::{
    ApiVersionsResponse, CoordinatorKey, FindCoordinatorRequest, FindCoordinatorResponse,
    MetadataResponse, Request,
};
use eosim_types::metadata::MetadataImage;
use eosim_types::version::KafkaVersion;
use eosim_types::{ErrorCode, GroupId, Topic, TopicPartition};

use crate::io::Io;
use crate::parts::Parts;

/// Handles one request (`KafkaApis#handle`).
///
/// # Panics
/// If the request is one that no broker answers.
pub(crate) fn handle(
    io: &mut Io<'_>,
    parts: &mut Parts<'_>,
    token: RequestToken,
    request: Request,
) {
    let replicas = &mut *parts.replica_manager;
    match request {
        Request::Produce(request) => replicas.handle_produce(io, token, request),
        Request::Fetch(request) => {
            replicas.handle_fetch(io, token, &request);
            replicas.spare_questions.keep(request.partitions);
        }
        Request::ListOffsets(request) => replicas.handle_list_offsets(io, token, request),
        Request::OffsetForLeaderEpoch(request) => {
            replicas.handle_offset_for_leader_epoch(io, token, request);
        }
        Request::DescribeProducers(request) => {
            replicas.handle_describe_producers(io, token, request);
        }
        Request::DeleteRecords(request) => replicas.handle_delete_records(io, token, request),
        Request::WriteTxnMarkers(request) => {
            let groups = &parts.group_coordinator.coordinator;
            replicas.handle_write_txn_markers(io, token, request, groups);
        }
        Request::OffsetCommit(_)
        | Request::OffsetFetch(_)
        | Request::TxnOffsetCommit(_)
        | Request::OffsetDelete(_)
        | Request::DeleteGroups(_)
        | Request::JoinGroup(_)
        | Request::SyncGroup(_)
        | Request::Heartbeat(_)
        | Request::LeaveGroup(_)
        | Request::ConsumerGroupHeartbeat(_) => {
            parts.group_coordinator.handle_request(io, replicas, token, request);
        }
        Request::ApiVersions(_) => io.respond(token, api_versions(io.env.kafka, io.image)),
        Request::Metadata(_) => io.respond(token, MetadataResponse { image: io.image.clone() }),
        Request::FindCoordinator(request) => find_coordinator(io, parts, token, request),
        Request::InitProducerId(_)
        | Request::AddPartitionsToTxn(_)
        | Request::AddOffsetsToTxn(_)
        | Request::EndTxn(_)
        | Request::DescribeTransactions(_)
        | Request::ListTransactions(_) => {
            parts.transaction_coordinator.handle_request(io, token, request);
        }
        other => panic!("a broker does not answer {}", other.api().name()),
    }
}

/// Features as this broker's own metadata has them, which may be stale (P-TV-1).
fn api_versions(kafka: KafkaVersion, image: &MetadataImage) -> ApiVersionsResponse {
    ApiVersionsResponse {
        kafka,
        finalized_features_epoch: i64::try_from(image.version).unwrap_or(i64::MAX),
        transaction_version: image.transaction_version,
    }
}

/// Answered from this broker's own metadata, which may be stale (C-PART-5).
fn find_coordinator(
    io: &mut Io<'_>,
    parts: &mut Parts<'_>,
    token: RequestToken,
    request: FindCoordinatorRequest,
) {
    let response = match request.key {
        CoordinatorKey::Transaction(_) => {
            parts.transaction_coordinator.find_coordinator(io, request)
        }
        CoordinatorKey::Group(group) => find_group_coordinator(io, group),
    };
    io.respond(token, response);
}

fn find_group_coordinator(io: &Io<'_>, group: GroupId) -> FindCoordinatorResponse {
    let count = io.image.partition_count(Topic::CONSUMER_OFFSETS);
    let partition = || io.spec.names.group_partition(group, count);
    let leader = || io.image.leader(TopicPartition::new(Topic::CONSUMER_OFFSETS, partition()));
    let node = (count > 0).then(leader).flatten().filter(|&leader| io.image.is_alive(leader));
    let error = if node.is_some() { ErrorCode::None } else { ErrorCode::CoordinatorNotAvailable };
    FindCoordinatorResponse { error, node }
}
