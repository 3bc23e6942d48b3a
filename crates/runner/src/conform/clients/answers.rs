//! What the broker of a recording answers, and what its requests do to it.

use std::collections::BTreeMap;

use eosim_types::message::{
    AddOffsetsToTxnResponse, AddPartitionsToTxnResponse, CoordinatorKey, EndTxnRequest,
    EndTxnResponse, FetchPartition, FetchPartitionResponse, FetchResponse, FindCoordinatorResponse,
    InitProducerIdRequest, InitProducerIdResponse, IsolationLevel, ListOffsetsAsker,
    ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTimestamp,
    OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResult, PerPartition,
    ProducePartitionResponse, ProduceRequest, ProduceResponse, Request, Response,
    TxnOffsetCommitResponse,
};
use eosim_types::record::RecordBatch;
use eosim_types::{
    BrokerId, ErrorCode, Few, LeaderEpoch, ProducerEpoch, ProducerId, TopicPartition,
};
use serde_json::{Map, Value, json};

use super::batches;
use super::broker::{GROUP_COORDINATOR, TRANSACTION_COORDINATOR};
use super::case::{Bounds, ClientCase, ListOffsets, Rule};
use super::names::CaseNames;
use crate::conform::fields::Unsupported;

/// The id of every transactional producer, and one below that of the first idempotent one.
const TRANSACTIONAL_PRODUCER_ID: i64 = 2000;
const FIRST_IDEMPOTENT_PRODUCER_ID: i64 = 1000;

/// What makes a batch a duplicate: partition, producer id and epoch, base sequence, count.
type BatchKey = (TopicPartition, ProducerId, ProducerEpoch, i32, i32);

/// What the broker remembers.
#[derive(Clone, Debug)]
pub(super) struct Log {
    next_idempotent_id: i64,
    /// Id and epoch of the transactional producer, as told last.
    transactional: Option<(ProducerId, ProducerEpoch)>,
    ends: BTreeMap<TopicPartition, i64>,
    accepted: BTreeMap<BatchKey, i64>,
    idle_fetch: Bounds,
    list_offsets: ListOffsets,
    committed: BTreeMap<TopicPartition, i64>,
}

type Answered = Result<(Response, Value), Unsupported>;

fn answered(response: impl Into<Response>, rendered: Value) -> Answered {
    Ok((response.into(), rendered))
}

fn error_of(rule: Option<&Rule>) -> ErrorCode {
    rule.and_then(|rule| rule.error).unwrap_or_default()
}

fn partition_error(rule: Option<&Rule>, partition: &str) -> ErrorCode {
    let own = rule.and_then(|rule| rule.partition_errors.get(partition)).copied();
    own.unwrap_or_else(|| error_of(rule))
}

impl Log {
    pub(super) fn new(case: &ClientCase, names: &mut CaseNames) -> Result<Self, Unsupported> {
        let mut committed = BTreeMap::new();
        for (partition, &offset) in &case.committed {
            committed.insert(names.find_partition(partition)?, offset);
        }
        Ok(Self {
            next_idempotent_id: FIRST_IDEMPOTENT_PRODUCER_ID,
            transactional: None,
            ends: BTreeMap::new(),
            accepted: BTreeMap::new(),
            idle_fetch: case.idle_fetch.unwrap_or(Bounds { hw: 0, lso: 0 }),
            list_offsets: case.list_offsets.unwrap_or(ListOffsets { earliest: 0, lso: 0, hw: 0 }),
            committed,
        })
    }

    /// The answer to `request` under `rule`, and how it was recorded.
    pub(super) fn answer(
        &mut self,
        request: &Request,
        rule: Option<&Rule>,
        names: &mut CaseNames,
    ) -> Answered {
        let error = error_of(rule);
        let errors = |partitions: Few<TopicPartition>| -> (PerPartition<_>, Map<String, Value>) {
            let named = partitions.into_iter().map(|tp| (tp, names.partition(tp)));
            let each = named.map(|(tp, name)| (tp, partition_error(rule, &name), name));
            let each: Vec<_> = each.collect();
            let rendered = each.iter().map(|(_, error, name)| (name.clone(), json!(error.name())));
            let rendered = rendered.collect();
            (each.into_iter().map(|(tp, error, _)| (tp, error)).collect(), rendered)
        };
        match request {
            Request::FindCoordinator(request) => {
                let node = match request.key {
                    CoordinatorKey::Transaction(_) => TRANSACTION_COORDINATOR,
                    CoordinatorKey::Group(_) => GROUP_COORDINATOR,
                };
                let node = Some(node).filter(|_| error.is_none());
                answered(FindCoordinatorResponse { error, node }, json!({ "error": error.name() }))
            }
            Request::InitProducerId(request) => self.init_producer_id(request, rule),
            Request::Produce(request) => self.produce(request, rule, names),
            Request::AddPartitionsToTxn(request) => {
                let transaction = &request.transactions[0];
                let (results, rendered) = errors(transaction.partitions.clone());
                let results = [(transaction.transactional_id, results)].into();
                let response = AddPartitionsToTxnResponse { error: ErrorCode::None, results };
                answered(response, rendered.into())
            }
            Request::AddOffsetsToTxn(_) => {
                answered(AddOffsetsToTxnResponse { error }, json!({ "error": error.name() }))
            }
            Request::TxnOffsetCommit(request) => {
                let partitions = request.offsets.iter().map(|offset| offset.partition);
                let (partitions, rendered) = errors(partitions.collect());
                answered(TxnOffsetCommitResponse { partitions }, rendered.into())
            }
            Request::EndTxn(request) => self.end_txn(request, rule),
            Request::Fetch(request) => self.fetch(&request.partitions, rule, names),
            Request::ListOffsets(request) => self.list_offsets(request, rule, names),
            Request::OffsetFetch(request) => self.offset_fetch(request, rule, names),
            Request::OffsetCommit(request) => {
                let partitions = request.offsets.iter().map(|offset| offset.partition);
                let (partitions, _) = errors(partitions.collect());
                let response = OffsetCommitResponse { partitions };
                answered(response, json!({ "error": error.name() }))
            }
            other => Err(Unsupported(format!("the request {}", other.api().name()))),
        }
    }

    fn init_producer_id(
        &mut self,
        request: &InitProducerIdRequest,
        rule: Option<&Rule>,
    ) -> Answered {
        let error = error_of(rule);
        if !error.is_none() {
            let none = (ProducerId::NONE, ProducerEpoch::NONE);
            let response = InitProducerIdResponse::new(error, none.0, none.1);
            return answered(response, json!({ "error": error.name() }));
        }
        let (id, producer_epoch) = match (request.transactional_id, self.transactional) {
            (None, _) => {
                self.next_idempotent_id += 1;
                (ProducerId(self.next_idempotent_id - 1), ProducerEpoch(0))
            }
            (Some(_), None) => (ProducerId(TRANSACTIONAL_PRODUCER_ID), ProducerEpoch(0)),
            (Some(_), Some((_, last))) => {
                (ProducerId(TRANSACTIONAL_PRODUCER_ID), ProducerEpoch(last.0.wrapping_add(1)))
            }
        };
        let next = overridden(rule, (id, producer_epoch));
        if request.transactional_id.is_some() {
            self.transactional = Some(next);
        }
        let (producer_id, producer_epoch) = next;
        answered(
            InitProducerIdResponse::new(error, producer_id, producer_epoch),
            json!({ "error": "NONE", "producer_id": producer_id, "producer_epoch": producer_epoch }),
        )
    }

    fn end_txn(&mut self, request: &EndTxnRequest, rule: Option<&Rule>) -> Answered {
        let error = error_of(rule);
        if !error.is_none() || request.version < 5 {
            let (producer_id, producer_epoch) = (ProducerId::NONE, ProducerEpoch::NONE);
            let response = EndTxnResponse { error, producer_id, producer_epoch };
            return answered(response, json!({ "error": error.name() }));
        }
        let bumped = ProducerEpoch(request.producer_epoch.0.wrapping_add(1));
        let next = overridden(rule, (request.producer_id, bumped));
        self.transactional = Some(next);
        let (producer_id, producer_epoch) = next;
        answered(
            EndTxnResponse { error, producer_id, producer_epoch },
            json!({ "error": "NONE", "producer_id": producer_id, "producer_epoch": producer_epoch }),
        )
    }

    fn produce(
        &mut self,
        request: &ProduceRequest,
        rule: Option<&Rule>,
        names: &CaseNames,
    ) -> Answered {
        let mut rendered = Map::new();
        let mut partitions = Vec::new();
        for (partition, batch) in &request.partitions {
            let name = names.partition(*partition);
            let error = partition_error(rule, &name);
            let base_offset =
                if error.is_none() { self.append(*partition, batch, rule) } else { -1 };
            let told = rule.and_then(|rule| rule.log_start_offset);
            let log_start_offset = told.unwrap_or(if error.is_none() { 0 } else { -1 });
            let mut entry = json!({ "error": error.name() });
            if error.is_none() {
                entry["base_offset"] = base_offset.into();
            }
            if let Some(told) = told {
                entry["log_start_offset"] = told.into();
            }
            rendered.insert(name, entry);
            let leader = rule.filter(|rule| rule.tell).and_then(|rule| rule.new_leader);
            partitions.push(ProducePartitionResponse {
                partition: *partition,
                error,
                base_offset,
                log_append_time: -1,
                log_start_offset,
                record_errors: rule.map_or(Vec::new(), |rule| rule.record_errors.clone()),
                current_leader: leader.map(|leader| (BrokerId(leader), LeaderEpoch(1))),
            });
        }
        answered(ProduceResponse { partitions }, rendered.into())
    }

    fn append(
        &mut self,
        partition: TopicPartition,
        batch: &RecordBatch,
        rule: Option<&Rule>,
    ) -> i64 {
        let count = batch.record_count();
        let key =
            (partition, batch.producer_id, batch.producer_epoch, batch.base_sequence.0, count);
        if let Some(told) = rule.and_then(|rule| rule.base_offset) {
            self.ends.insert(partition, told + i64::from(count));
            self.accepted.insert(key, told);
            return told;
        }
        if let Some(&known) = self.accepted.get(&key).filter(|_| batch.has_producer_id()) {
            return known;
        }
        let end = self.ends.entry(partition).or_default();
        let base_offset = *end;
        *end += i64::from(count);
        self.accepted.insert(key, base_offset);
        base_offset
    }

    fn fetch(
        &self,
        fetched: &[FetchPartition],
        rule: Option<&Rule>,
        names: &mut CaseNames,
    ) -> Answered {
        let mut count = 0;
        let mut partitions = Vec::new();
        for asked in fetched {
            let error = partition_error(rule, &names.partition(asked.partition));
            let scripted = rule.filter(|_| error.is_none());
            let batches = scripted.map_or(&[][..], |rule| &rule.batches);
            count += batches.len();
            let aborted = scripted.map_or(&[][..], |rule| &rule.aborted);
            let mut built = Vec::new();
            for batch in batches {
                built.extend(batches::build(batch, names)?);
            }
            partitions.push(FetchPartitionResponse {
                partition: asked.partition,
                error,
                high_watermark: rule.and_then(|rule| rule.hw).unwrap_or(self.idle_fetch.hw),
                last_stable_offset: rule.and_then(|rule| rule.lso).unwrap_or(self.idle_fetch.lso),
                log_start_offset: 0,
                aborted_transactions: batches::list_of_aborted(aborted, batches),
                diverging_epoch: None,
                batches: built.into(),
            });
        }
        let mut rendered = json!({ "error": error_of(rule).name(), "scripted": rule.is_some() });
        if rule.is_some() {
            rendered["batches"] = count.into();
        }
        answered(FetchResponse { partitions, ..FetchResponse::default() }, rendered)
    }

    fn list_offsets(
        &self,
        request: &ListOffsetsRequest,
        rule: Option<&Rule>,
        names: &CaseNames,
    ) -> Answered {
        use ListOffsetsAsker::Consumer;
        let mut rendered = Value::Null;
        let partitions = request.partitions.iter().map(|asked| {
            let partition = asked.partition;
            let error = partition_error(rule, &names.partition(partition));
            let offset = match (asked.timestamp, request.asker) {
                _ if !error.is_none() => -1,
                (ListOffsetsTimestamp::Earliest, _) => self.list_offsets.earliest,
                (_, Consumer(IsolationLevel::ReadCommitted)) => self.list_offsets.lso,
                _ => self.list_offsets.hw,
            };
            rendered = match error {
                ErrorCode::None => json!({ "error": "NONE", "offset": offset }),
                error => json!({ "error": error.name() }),
            };
            ListOffsetsPartitionResponse { partition, error, timestamp: -1, offset }
        });
        let response = ListOffsetsResponse { partitions: partitions.collect() };
        answered(response, rendered)
    }

    fn offset_fetch(
        &self,
        request: &OffsetFetchRequest,
        rule: Option<&Rule>,
        names: &CaseNames,
    ) -> Answered {
        let error = error_of(rule);
        let mut rendered = Map::new();
        rendered.insert("error".to_string(), json!(error.name()));
        if rule.is_some_and(|rule| rule.group_level) {
            let response = OffsetFetchResponse { error, partitions: PerPartition::new() };
            return answered(response, rendered.into());
        }
        let mut partitions = PerPartition::new();
        for &partition in request.partitions.iter().flatten() {
            let name = names.partition(partition);
            let error = partition_error(rule, &name);
            let known = self.committed.get(&partition).copied().unwrap_or(-1);
            let offset = if error.is_none() { known } else { -1 };
            let text = if error.is_none() { offset.to_string() } else { error.name().to_string() };
            rendered.insert(name, text.into());
            let leader_epoch = LeaderEpoch::NONE;
            partitions.push((partition, OffsetFetchResult { error, offset, leader_epoch }));
        }
        let error = ErrorCode::None;
        answered(OffsetFetchResponse { error, partitions }, rendered.into())
    }
}

/// Id and epoch as the rule has them, else as they are.
fn overridden(
    rule: Option<&Rule>,
    (id, producer_epoch): (ProducerId, ProducerEpoch),
) -> (ProducerId, ProducerEpoch) {
    (
        rule.and_then(|rule| rule.producer_id).map_or(id, ProducerId),
        rule.and_then(|rule| rule.producer_epoch).map_or(producer_epoch, ProducerEpoch),
    )
}
