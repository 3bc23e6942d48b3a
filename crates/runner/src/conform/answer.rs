//! Answers of the model in the form of the recordings.

use eosim_types::message::{
    AddPartitionsToTxnResponse, DescribeProducersResponse, DescribeTransactionsResponse,
    FetchPartitionResponse, FetchResponse, OffsetFetchResponse, PerPartition,
    ProducePartitionResponse, ProduceRequest, ProduceResponse, ProducerState, Request, Response,
    WriteTxnMarkersResponse,
};
use eosim_types::record::{Payload, RecordBatch};
use eosim_types::{ErrorCode, Names, ProducerEpoch, ProducerId, TopicPartition};
use serde_json::{Map, Value, json};

use super::producers::raw;

/// The answer to `request` as a recording would hold it. An old EndTxn has no id and epoch in it.
pub(crate) fn render(request: &Request, response: &Response, names: &Names) -> Value {
    let version = match request {
        Request::EndTxn(request) => request.version,
        _ => 0,
    };
    match response {
        Response::InitProducerId(r) => identity(r.error, r.producer_id, r.producer_epoch),
        Response::EndTxn(r) if version < 5 => error(r.error),
        Response::EndTxn(r) => identity(r.error, r.producer_id, r.producer_epoch),
        Response::Produce(r) => {
            let first = r.partitions.first();
            let code = first.map_or(ErrorCode::None, |p| p.error);
            json!({ "error": code.name(), "base_offset": first.map_or(-1, |p| p.base_offset) })
        }
        Response::AddPartitionsToTxn(r) => add_partitions(r, names),
        Response::AddOffsetsToTxn(r) => error(r.error),
        Response::TxnOffsetCommit(r) => results(&r.partitions, names),
        Response::OffsetCommit(r) => error(first_error(&r.partitions)),
        Response::OffsetFetch(r) => offsets(r, names),
        Response::WriteTxnMarkers(r) => markers(r, names),
        Response::ListOffsets(r) => {
            let first = r.partitions.first();
            let code = first.map_or(ErrorCode::None, |p| p.error);
            json!({ "error": code.name(), "offset": first.map_or(-1, |p| p.offset) })
        }
        Response::Fetch(r) => fetch(r, names),
        Response::DeleteRecords(r) => {
            json!({ "error": r.error.name(), "low_watermark": r.low_watermark })
        }
        Response::DescribeTransactions(r) => transaction(r, names),
        Response::DescribeProducers(r) => producers(r),
        Response::ElectLeaders(r) => error(first_error(&r.partitions)),
        Response::AlterPartitionReassignments(r) => error(first_error(&r.partitions)),
        Response::FindCoordinator(r) => {
            json!({ "error": r.error.name(), "broker": r.node.map_or(-1, |broker| broker.0) })
        }
        other => json!({ "unexpected": other.api().name() }),
    }
}

/// What a client takes for the answer to a batch with acks=0, which has none (L-PIPE-6).
pub(crate) fn unanswered(request: &ProduceRequest) -> Response {
    let nothing = |(partition, _): &(TopicPartition, RecordBatch)| {
        ProducePartitionResponse::without_offset(*partition, ErrorCode::None)
    };
    let partitions = request.partitions.iter().map(nothing).collect();
    ProduceResponse { partitions }.into()
}

/// The errors in an answer, for deciding on a retry.
pub(crate) fn errors(answer: &Value) -> Vec<&str> {
    let results = answer.get("results").and_then(Value::as_object);
    let each = results.into_iter().flat_map(|map| map.values());
    let offsets = answer.get("offsets").and_then(Value::as_object);
    let nested = offsets.into_iter().flat_map(|map| map.values()).filter_map(|v| v.get("error"));
    answer.get("error").into_iter().chain(each).chain(nested).filter_map(Value::as_str).collect()
}

fn error(code: ErrorCode) -> Value {
    json!({ "error": code.name() })
}

fn identity(code: ErrorCode, id: ProducerId, epoch: ProducerEpoch) -> Value {
    json!({ "error": code.name(), "producer": raw(id), "epoch": epoch.0 })
}

fn first_error(partitions: &PerPartition<ErrorCode>) -> ErrorCode {
    partitions.iter().map(|(_, code)| *code).find(|code| !code.is_none()).unwrap_or_default()
}

/// Per-partition errors, and the first of them by name of the partition as the error of the whole.
fn results(partitions: &PerPartition<ErrorCode>, names: &Names) -> Value {
    let map = per_partition(partitions, names);
    let codes = map.values().filter_map(Value::as_str);
    let first = codes.filter(|code| *code != "NONE").map(String::from).next();
    json!({ "error": first.unwrap_or_else(|| "NONE".into()), "results": map })
}

fn per_partition(partitions: &PerPartition<ErrorCode>, names: &Names) -> Map<String, Value> {
    let entry = |(tp, code): &(TopicPartition, ErrorCode)| {
        (names.partition(*tp), Value::String(code.name().into()))
    };
    partitions.iter().map(entry).collect()
}

fn add_partitions(response: &AddPartitionsToTxnResponse, names: &Names) -> Value {
    match response.results.first() {
        Some((_, partitions)) if response.error.is_none() => results(partitions, names),
        _ => json!({ "error": response.error.name(), "results": {} }),
    }
}

fn offsets(response: &OffsetFetchResponse, names: &Names) -> Value {
    let entry = |(tp, result): &(TopicPartition, eosim_types::message::OffsetFetchResult)| {
        let value = json!({ "offset": result.offset, "error": result.error.name() });
        (names.partition(*tp), value)
    };
    let map: Map<String, Value> = response.partitions.iter().map(entry).collect();
    json!({ "error": response.error.name(), "offsets": map })
}

fn markers(response: &WriteTxnMarkersResponse, names: &Names) -> Value {
    let all = response.results.iter().flat_map(|(_, partitions)| partitions.iter().copied());
    json!({ "results": per_partition(&all.collect(), names) })
}

fn fetch(response: &FetchResponse, names: &Names) -> Value {
    response.partitions.first().map_or_else(|| error(ErrorCode::None), |p| fetched(p, names))
}

/// One partition's answer to a fetch.
pub(crate) fn fetched(partition: &FetchPartitionResponse, names: &Names) -> Value {
    let aborted = partition.aborted_transactions.iter();
    let aborted =
        aborted.map(|a| json!({ "producer": raw(a.producer_id), "first_offset": a.first_offset }));
    json!({
        "error": partition.error.name(),
        "high_watermark": partition.high_watermark,
        "last_stable_offset": partition.last_stable_offset,
        "log_start_offset": partition.log_start_offset,
        "aborted": aborted.collect::<Vec<Value>>(),
        "batches": partition.batches.iter().map(|b| batch(b, names)).collect::<Vec<Value>>(),
    })
}

fn batch(batch: &RecordBatch, names: &Names) -> Value {
    let mut value = json!({
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset(),
        "records": batch.record_count(),
        "base_sequence": batch.base_sequence.0,
        "producer": raw(batch.producer_id),
        "epoch": batch.producer_epoch.0,
        "transactional": batch.is_transactional,
    });
    if let Payload::Control(marker) = batch.payload {
        value["control"] = marker.result.name().into();
        value["coordinator_epoch"] = marker.coordinator_epoch.0.into();
    } else {
        let values = batch.records().iter().map(|record| names.value_as_is(record.value));
        value["values"] = values.collect::<Vec<String>>().into();
    }
    value
}

fn transaction(response: &DescribeTransactionsResponse, names: &Names) -> Value {
    let Some(t) = &response.transaction else { return error(response.error) };
    let mut partitions: Vec<String> = t.partitions.iter().map(|tp| member(*tp, names)).collect();
    partitions.sort();
    partitions.dedup();
    json!({
        "error": response.error.name(),
        "state": t.state.name(),
        "producer": raw(t.producer_id),
        "epoch": t.producer_epoch.0,
        "timeout_ms": t.transaction_timeout_ms,
        "partitions": partitions,
    })
}

/// A partition of a transaction; of Kafka's own topics the recordings keep the name alone.
fn member(tp: TopicPartition, names: &Names) -> String {
    if tp.topic.is_internal() { names.topic(tp.topic).to_string() } else { names.partition(tp) }
}

/// An answer to DescribeProducers.
pub(crate) fn producers(response: &DescribeProducersResponse) -> Value {
    json!({ "error": response.error.name(), "producers": producer_list(&response.producers) })
}

fn producer_list(list: &[ProducerState]) -> Vec<Value> {
    let one = |p: &ProducerState| {
        json!({
            "producer": raw(p.producer_id),
            "epoch": p.producer_epoch.0,
            "last_sequence": p.last_sequence.0,
            "coordinator_epoch": p.coordinator_epoch.0,
            "current_txn_start_offset": p.current_txn_start_offset,
        })
    };
    list.iter().map(one).collect()
}
