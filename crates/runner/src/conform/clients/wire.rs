//! Requests as they were recorded.

use eosim_types::BrokerId;
use eosim_types::message::{
    CommittableOffset, CoordinatorKey, FetchRequest, FindCoordinatorRequest, GroupMember,
    IsolationLevel, ListOffsetsAsker, ListOffsetsRequest, ListOffsetsTimestamp,
    OffsetCommitRequest, OffsetFetchRequest, ProduceRequest, Request, TxnOffsetCommitRequest,
};
use eosim_types::record::RecordBatch;
use serde_json::{Map, Value, json};

use super::broker::{GROUP_COORDINATOR, SECOND_LEADER, TRANSACTION_COORDINATOR};
use super::names::CaseNames;
use crate::conform::fields::Unsupported;

/// Versions that the model's requests do not carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Versions {
    pub(super) find_coordinator: i16,
}

/// `request`, sent to `node`.
pub(super) fn request(
    node: BrokerId,
    request: &Request,
    versions: &Versions,
    names: &CaseNames,
) -> Result<Map<String, Value>, Unsupported> {
    let (any_node, fields) = match request {
        Request::FindCoordinator(r) => (true, find_coordinator(*r, *versions, names)),
        Request::InitProducerId(r) => (
            r.transactional_id.is_none(),
            json!({
                "version": r.version,
                "transactional_id": r.transactional_id.map(|id| names.transactional_id(id)),
                "transaction_timeout_ms": r.transaction_timeout_ms,
                "producer_id": r.producer_id,
                "producer_epoch": r.producer_epoch,
            }),
        ),
        Request::Produce(r) => (false, produce(r, names)),
        Request::AddPartitionsToTxn(r) => {
            let transaction = &r.transactions[0];
            let mut partitions: Vec<_> =
                transaction.partitions.iter().map(|tp| names.partition(*tp)).collect();
            partitions.sort_unstable();
            let fields = json!({
                "version": r.version,
                "transactional_id": names.transactional_id(transaction.transactional_id),
                "producer_id": transaction.producer_id,
                "producer_epoch": transaction.producer_epoch,
                "partitions": partitions,
            });
            (false, fields)
        }
        Request::AddOffsetsToTxn(r) => (
            false,
            json!({
                "version": r.version,
                "transactional_id": names.transactional_id(r.transactional_id),
                "producer_id": r.producer_id,
                "producer_epoch": r.producer_epoch,
                "group": names.group(r.group),
            }),
        ),
        Request::TxnOffsetCommit(r) => (false, txn_offset_commit(r, names)),
        Request::EndTxn(r) => (
            false,
            json!({
                "version": r.version,
                "transactional_id": names.transactional_id(r.transactional_id),
                "producer_id": r.producer_id,
                "producer_epoch": r.producer_epoch,
                "committed": r.committed,
            }),
        ),
        Request::Fetch(r) => (false, fetch(r, names)),
        Request::ListOffsets(r) => (false, list_offsets(r, names)),
        Request::OffsetFetch(r) => (false, offset_fetch(r, names)),
        Request::OffsetCommit(r) => (false, offset_commit(r, names)),
        other => return Err(Unsupported(format!("the request {}", other.api().name()))),
    };
    let Value::Object(mut entry) = fields else { unreachable!("an object was written") };
    entry.insert("api".to_string(), json!(request.api().name()));
    entry.insert("to".to_string(), json!(if any_node { "any" } else { role(node) }));
    Ok(entry)
}

fn role(node: BrokerId) -> &'static str {
    match node {
        TRANSACTION_COORDINATOR => "txn-coordinator",
        GROUP_COORDINATOR => "group-coordinator",
        SECOND_LEADER => "leader-2",
        _ => "leader",
    }
}

fn find_coordinator(r: FindCoordinatorRequest, versions: Versions, names: &CaseNames) -> Value {
    let (key_type, key) = match r.key {
        CoordinatorKey::Transaction(id) => ("transaction", names.transactional_id(id)),
        CoordinatorKey::Group(group) => ("group", names.group(group)),
    };
    json!({ "version": versions.find_coordinator, "key_type": key_type, "key": key })
}

fn produce(r: &ProduceRequest, names: &CaseNames) -> Value {
    let mut batches: Vec<_> =
        r.partitions.iter().map(|(tp, batch)| (names.partition(*tp), batch)).collect();
    batches.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let batch = |(name, batch): &(String, &RecordBatch)| {
        let values: Vec<_> = batch.records().iter().map(|r| names.value(r.value)).collect();
        json!({
            "partition": name,
            "producer_id": batch.producer_id,
            "producer_epoch": batch.producer_epoch,
            "base_sequence": batch.base_sequence,
            "record_count": batch.record_count(),
            "transactional": batch.is_transactional,
            "values": values,
        })
    };
    json!({
        "version": r.version,
        "transactional_id": r.transactional_id.map(|id| names.transactional_id(id)),
        "acks": r.acks,
        "batches": batches.iter().map(batch).collect::<Vec<_>>(),
    })
}

fn offsets(offsets: &[CommittableOffset], names: &CaseNames) -> Value {
    let each = offsets.iter().map(|o| (names.partition(o.partition), json!(o.offset)));
    Value::Object(each.collect())
}

fn member_id(member: GroupMember, names: &CaseNames) -> String {
    member.member.map_or(String::new(), |place| names.member(place).to_string())
}

fn txn_offset_commit(r: &TxnOffsetCommitRequest, names: &CaseNames) -> Value {
    json!({
        "version": r.version,
        "transactional_id": names.transactional_id(r.transactional_id),
        "producer_id": r.producer_id,
        "producer_epoch": r.producer_epoch,
        "group": names.group(r.group),
        "generation": r.member.generation_or_epoch,
        "member": member_id(r.member, names),
        "instance": r.member.instance.map(|place| names.member(place)),
        "offsets": offsets(&r.offsets, names),
        "by_topic_id": r.version >= 6,
    })
}

const fn isolation(level: IsolationLevel) -> &'static str {
    match level {
        IsolationLevel::ReadUncommitted => "read_uncommitted",
        IsolationLevel::ReadCommitted => "read_committed",
    }
}

fn fetch(r: &FetchRequest, names: &CaseNames) -> Value {
    let each = r.partitions.iter().map(|p| (names.partition(p.partition), json!(p.fetch_offset)));
    json!({
        "version": r.version,
        "isolation_level": isolation(r.isolation_level),
        "fetch_offsets": each.collect::<Map<_, _>>(),
    })
}

fn list_offsets(r: &ListOffsetsRequest, names: &CaseNames) -> Value {
    let level = match r.asker {
        ListOffsetsAsker::Consumer(level) => isolation(level),
        ListOffsetsAsker::Debug => "debug",
    };
    let timestamps = r.partitions.iter().map(|asked| {
        let timestamp = match asked.timestamp {
            ListOffsetsTimestamp::Latest => "latest",
            ListOffsetsTimestamp::Earliest => "earliest",
            ListOffsetsTimestamp::At(_) => "<time>",
        };
        (names.partition(asked.partition), json!(timestamp))
    });
    let timestamps: Map<_, _> = timestamps.collect();
    json!({ "version": r.version, "isolation_level": level, "timestamps": timestamps })
}

fn offset_fetch(r: &OffsetFetchRequest, names: &CaseNames) -> Value {
    let partitions: Vec<_> = r.partitions.iter().flatten().map(|tp| names.partition(*tp)).collect();
    json!({
        "version": r.version,
        "require_stable": r.require_stable,
        "group": names.group(r.group),
        "member": r.member.member.map(|place| names.member(place)),
        "generation": r.member.generation_or_epoch,
        "partitions": partitions,
    })
}

fn offset_commit(r: &OffsetCommitRequest, names: &CaseNames) -> Value {
    json!({
        "version": r.version,
        "group": names.group(r.group),
        "generation": r.member.generation_or_epoch,
        "member": member_id(r.member, names),
        "offsets": offsets(&r.offsets, names),
    })
}
