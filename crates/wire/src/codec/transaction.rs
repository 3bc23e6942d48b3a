//! APIs of the transaction coordinator.

use eosim_types::message::{
    AddOffsetsToTxnRequest, AddOffsetsToTxnResponse, AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse, AddPartitionsToTxnTransaction, CoordinatorKey,
    DescribeTransactionsRequest, DescribeTransactionsResponse, EndTxnRequest, EndTxnResponse,
    FindCoordinatorRequest, FindCoordinatorResponse, InitProducerIdRequest, InitProducerIdResponse,
    ListTransactionsRequest, ListTransactionsResponse, PerPartition, TransactionDescription,
};
use eosim_types::record::TransactionState;
use eosim_types::{
    BrokerId, ErrorCode, Few, ProducerEpoch, ProducerId, TopicPartition, TransactionalId,
};
use kafka_protocol::messages as wire;
use kafka_protocol::protocol::StrBytes;

use super::{Api, by_topic, error, string};
use crate::{Dictionary, Malformed};

/// From this version on several coordinators may be asked for at once (KIP-699).
const FIND_BATCH: i16 = 4;
/// From this version on brokers ask for several transactions at once (C-ADD-1).
const ADD_BATCH: i16 = 4;

pub(super) struct FindCoordinator;

fn key_text(key: CoordinatorKey, names: &Dictionary) -> (StrBytes, i8) {
    match key {
        CoordinatorKey::Transaction(id) => (names.id_name(id).0, 1),
        CoordinatorKey::Group(group) => (names.group_name(group).0, 0),
    }
}

impl Api for FindCoordinator {
    type Request = FindCoordinatorRequest;
    type Response = FindCoordinatorResponse;
    type WireRequest = wire::FindCoordinatorRequest;
    type WireResponse = wire::FindCoordinatorResponse;

    fn read(
        wire: wire::FindCoordinatorRequest,
        version: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<FindCoordinatorRequest>, Malformed> {
        let keys = if version >= FIND_BATCH { wire.coordinator_keys } else { vec![wire.key] };
        let mut requests = Vec::new();
        for key in keys {
            let key = match wire.key_type {
                0 => CoordinatorKey::Group(names.group(&key)?),
                1 => CoordinatorKey::Transaction(names.transactional_id(&key)?),
                other => return Err(Malformed::new(format!("a coordinator of type {other}"))),
            };
            requests.push(FindCoordinatorRequest { key });
        }
        Ok(requests)
    }

    fn write(
        request: &FindCoordinatorRequest,
        version: i16,
        names: &Dictionary,
    ) -> wire::FindCoordinatorRequest {
        let (key, key_type) = key_text(request.key, names);
        let wire = wire::FindCoordinatorRequest::default().with_key_type(key_type);
        if version >= FIND_BATCH {
            return wire.with_coordinator_keys(vec![key]);
        }
        wire.with_key(key)
    }

    fn answer(
        requests: &[&FindCoordinatorRequest],
        responses: &[&FindCoordinatorResponse],
        version: i16,
        names: &Dictionary,
    ) -> wire::FindCoordinatorResponse {
        let one = |(request, r): (&&FindCoordinatorRequest, &&FindCoordinatorResponse)| {
            let (node, host, port) = names.endpoint(r.node);
            wire::find_coordinator_response::Coordinator::default()
                .with_key(key_text(request.key, names).0)
                .with_node_id(node.into())
                .with_host(host)
                .with_port(port)
                .with_error_code(r.error.code())
        };
        let mut all: Vec<_> = requests.iter().zip(responses).map(one).collect();
        let wire = wire::FindCoordinatorResponse::default();
        if version >= FIND_BATCH {
            return wire.with_coordinators(all);
        }
        let first = all.pop().unwrap_or_default();
        wire.with_error_code(first.error_code)
            .with_node_id(first.node_id)
            .with_host(first.host)
            .with_port(first.port)
    }

    fn read_answer(
        wire: wire::FindCoordinatorResponse,
        version: i16,
        _: &mut Dictionary,
    ) -> Result<FindCoordinatorResponse, Malformed> {
        let (code, node) = match wire.coordinators.first() {
            Some(first) if version >= FIND_BATCH => (first.error_code, first.node_id),
            _ => (wire.error_code, wire.node_id),
        };
        let node = (node.0 >= 0).then_some(BrokerId(node.0));
        Ok(FindCoordinatorResponse { error: error(code), node })
    }
}

pub(super) struct InitProducerId;

impl Api for InitProducerId {
    type Request = InitProducerIdRequest;
    type Response = InitProducerIdResponse;
    type WireRequest = wire::InitProducerIdRequest;
    type WireResponse = wire::InitProducerIdResponse;

    fn read(
        wire: wire::InitProducerIdRequest,
        version: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<InitProducerIdRequest>, Malformed> {
        let id = wire.transactional_id;
        Ok(vec![InitProducerIdRequest {
            version,
            transactional_id: id.map(|id| names.transactional_id(&id.0)).transpose()?,
            transaction_timeout_ms: wire.transaction_timeout_ms,
            producer_id: ProducerId(wire.producer_id.0),
            producer_epoch: ProducerEpoch(wire.producer_epoch),
            enable_2pc: wire.enable_2_pc,
            keep_prepared_txn: wire.keep_prepared_txn,
        }])
    }

    fn write(
        request: &InitProducerIdRequest,
        version: i16,
        names: &Dictionary,
    ) -> wire::InitProducerIdRequest {
        let wire = wire::InitProducerIdRequest::default()
            .with_transactional_id(request.transactional_id.map(|id| names.id_name(id)))
            .with_transaction_timeout_ms(request.transaction_timeout_ms);
        if version < 3 {
            return wire;
        }
        wire.with_producer_id(request.producer_id.0.into())
            .with_producer_epoch(request.producer_epoch.0)
            .with_enable_2_pc(request.enable_2pc)
            .with_keep_prepared_txn(request.keep_prepared_txn)
    }

    fn answer(
        _: &[&InitProducerIdRequest],
        responses: &[&InitProducerIdResponse],
        _: i16,
        _: &Dictionary,
    ) -> wire::InitProducerIdResponse {
        let Some(r) = responses.first() else { return wire::InitProducerIdResponse::default() };
        wire::InitProducerIdResponse::default()
            .with_error_code(r.error.code())
            .with_producer_id(r.producer_id.0.into())
            .with_producer_epoch(r.producer_epoch.0)
            .with_ongoing_txn_producer_id(r.ongoing_txn_producer_id.0.into())
            .with_ongoing_txn_producer_epoch(r.ongoing_txn_producer_epoch.0)
    }

    fn read_answer(
        wire: wire::InitProducerIdResponse,
        _: i16,
        _: &mut Dictionary,
    ) -> Result<InitProducerIdResponse, Malformed> {
        Ok(InitProducerIdResponse {
            error: error(wire.error_code),
            producer_id: ProducerId(wire.producer_id.0),
            producer_epoch: ProducerEpoch(wire.producer_epoch),
            ongoing_txn_producer_id: ProducerId(wire.ongoing_txn_producer_id.0),
            ongoing_txn_producer_epoch: ProducerEpoch(wire.ongoing_txn_producer_epoch),
        })
    }
}

pub(super) struct AddPartitionsToTxn;

type AddTopic = wire::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
type AddResult = wire::add_partitions_to_txn_response::AddPartitionsToTxnTopicResult;

fn read_topics(
    topics: Vec<AddTopic>,
    names: &mut Dictionary,
) -> Result<Few<TopicPartition>, Malformed> {
    let mut partitions = Few::new();
    for topic in topics {
        let id = names.topic(&topic.name.0)?;
        partitions.extend(topic.partitions.iter().map(|&p| TopicPartition::new(id, p)));
    }
    Ok(partitions)
}

fn write_topics(partitions: &Few<TopicPartition>, names: &Dictionary) -> Vec<AddTopic> {
    let topics = by_topic(partitions.iter().map(|&tp| (tp, ())));
    let one = |(topic, partitions): (_, Vec<(i32, ())>)| {
        AddTopic::default()
            .with_name(names.topic_name(topic))
            .with_partitions(partitions.into_iter().map(|(p, ())| p).collect())
    };
    topics.into_iter().map(one).collect()
}

fn write_results(results: &PerPartition<ErrorCode>, names: &Dictionary) -> Vec<AddResult> {
    let one = |(partition, code): (i32, ErrorCode)| {
        wire::add_partitions_to_txn_response::AddPartitionsToTxnPartitionResult::default()
            .with_partition_index(partition)
            .with_partition_error_code(code.code())
    };
    let topics = by_topic(results.iter().copied()).into_iter();
    let topic = |(topic, partitions): (_, Vec<(i32, ErrorCode)>)| {
        AddResult::default()
            .with_name(names.topic_name(topic))
            .with_results_by_partition(partitions.into_iter().map(one).collect())
    };
    topics.map(topic).collect()
}

fn read_results(
    topics: Vec<AddResult>,
    names: &mut Dictionary,
) -> Result<PerPartition<ErrorCode>, Malformed> {
    let mut results = Few::new();
    for topic in topics {
        let id = names.topic(&topic.name.0)?;
        results.extend(
            topic.results_by_partition.iter().map(|p| {
                (TopicPartition::new(id, p.partition_index), error(p.partition_error_code))
            }),
        );
    }
    Ok(results)
}

impl Api for AddPartitionsToTxn {
    type Request = AddPartitionsToTxnRequest;
    type Response = AddPartitionsToTxnResponse;
    type WireRequest = wire::AddPartitionsToTxnRequest;
    type WireResponse = wire::AddPartitionsToTxnResponse;

    fn read(
        wire: wire::AddPartitionsToTxnRequest,
        version: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<AddPartitionsToTxnRequest>, Malformed> {
        let mut transactions = Few::new();
        if version < ADD_BATCH {
            transactions.push(AddPartitionsToTxnTransaction {
                transactional_id: names.transactional_id(&wire.v3_and_below_transactional_id.0)?,
                producer_id: ProducerId(wire.v3_and_below_producer_id.0),
                producer_epoch: ProducerEpoch(wire.v3_and_below_producer_epoch),
                verify_only: false,
                partitions: read_topics(wire.v3_and_below_topics, names)?,
            });
        }
        for transaction in wire.transactions {
            transactions.push(AddPartitionsToTxnTransaction {
                transactional_id: names.transactional_id(&transaction.transactional_id.0)?,
                producer_id: ProducerId(transaction.producer_id.0),
                producer_epoch: ProducerEpoch(transaction.producer_epoch),
                verify_only: transaction.verify_only,
                partitions: read_topics(transaction.topics, names)?,
            });
        }
        Ok(vec![AddPartitionsToTxnRequest { version, transactions }])
    }

    fn write(
        request: &AddPartitionsToTxnRequest,
        version: i16,
        names: &Dictionary,
    ) -> wire::AddPartitionsToTxnRequest {
        let wire = wire::AddPartitionsToTxnRequest::default();
        let one = |t: &AddPartitionsToTxnTransaction| {
            wire::add_partitions_to_txn_request::AddPartitionsToTxnTransaction::default()
                .with_transactional_id(names.id_name(t.transactional_id))
                .with_producer_id(t.producer_id.0.into())
                .with_producer_epoch(t.producer_epoch.0)
                .with_verify_only(t.verify_only)
                .with_topics(write_topics(&t.partitions, names))
        };
        match request.transactions.first().filter(|_| version < ADD_BATCH) {
            Some(t) => wire
                .with_v3_and_below_transactional_id(names.id_name(t.transactional_id))
                .with_v3_and_below_producer_id(t.producer_id.0.into())
                .with_v3_and_below_producer_epoch(t.producer_epoch.0)
                .with_v3_and_below_topics(write_topics(&t.partitions, names)),
            None => wire.with_transactions(request.transactions.iter().map(one).collect()),
        }
    }

    fn answer(
        requests: &[&AddPartitionsToTxnRequest],
        responses: &[&AddPartitionsToTxnResponse],
        version: i16,
        names: &Dictionary,
    ) -> wire::AddPartitionsToTxnResponse {
        let wire = wire::AddPartitionsToTxnResponse::default();
        let Some(r) = responses.first() else { return wire };
        if version >= ADD_BATCH {
            let one = |(id, results): &(TransactionalId, PerPartition<ErrorCode>)| {
                wire::add_partitions_to_txn_response::AddPartitionsToTxnResult::default()
                    .with_transactional_id(names.id_name(*id))
                    .with_topic_results(write_results(results, names))
            };
            let results = r.results.iter().map(one).collect();
            return wire.with_error_code(r.error.code()).with_results_by_transaction(results);
        }
        let refused = || {
            let asked = requests.first().and_then(|request| request.transactions.first());
            let partitions = asked.into_iter().flat_map(|t| t.partitions.iter());
            partitions.map(|&tp| (tp, r.error)).collect()
        };
        let results = r.results.first().filter(|_| r.error.is_none());
        let results = results.map_or_else(refused, |(_, results)| results.clone());
        wire.with_results_by_topic_v3_and_below(write_results(&results, names))
    }

    fn read_answer(
        wire: wire::AddPartitionsToTxnResponse,
        version: i16,
        names: &mut Dictionary,
    ) -> Result<AddPartitionsToTxnResponse, Malformed> {
        let mut results = Few::new();
        if version < ADD_BATCH {
            let all = read_results(wire.results_by_topic_v3_and_below, names)?;
            results.push((TransactionalId::EMPTY, all));
        }
        for result in wire.results_by_transaction {
            let id = names.transactional_id(&result.transactional_id.0)?;
            results.push((id, read_results(result.topic_results, names)?));
        }
        Ok(AddPartitionsToTxnResponse { error: error(wire.error_code), results })
    }
}

pub(super) struct AddOffsetsToTxn;

impl Api for AddOffsetsToTxn {
    type Request = AddOffsetsToTxnRequest;
    type Response = AddOffsetsToTxnResponse;
    type WireRequest = wire::AddOffsetsToTxnRequest;
    type WireResponse = wire::AddOffsetsToTxnResponse;

    fn read(
        wire: wire::AddOffsetsToTxnRequest,
        version: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<AddOffsetsToTxnRequest>, Malformed> {
        Ok(vec![AddOffsetsToTxnRequest {
            version,
            transactional_id: names.transactional_id(&wire.transactional_id.0)?,
            producer_id: ProducerId(wire.producer_id.0),
            producer_epoch: ProducerEpoch(wire.producer_epoch),
            group: names.group(&wire.group_id.0)?,
        }])
    }

    fn write(
        request: &AddOffsetsToTxnRequest,
        _: i16,
        names: &Dictionary,
    ) -> wire::AddOffsetsToTxnRequest {
        wire::AddOffsetsToTxnRequest::default()
            .with_transactional_id(names.id_name(request.transactional_id))
            .with_producer_id(request.producer_id.0.into())
            .with_producer_epoch(request.producer_epoch.0)
            .with_group_id(names.group_name(request.group))
    }

    fn answer(
        _: &[&AddOffsetsToTxnRequest],
        responses: &[&AddOffsetsToTxnResponse],
        _: i16,
        _: &Dictionary,
    ) -> wire::AddOffsetsToTxnResponse {
        let code = responses.first().map_or(0, |r| r.error.code());
        wire::AddOffsetsToTxnResponse::default().with_error_code(code)
    }

    fn read_answer(
        wire: wire::AddOffsetsToTxnResponse,
        _: i16,
        _: &mut Dictionary,
    ) -> Result<AddOffsetsToTxnResponse, Malformed> {
        Ok(AddOffsetsToTxnResponse { error: error(wire.error_code) })
    }
}

pub(super) struct EndTxn;

impl Api for EndTxn {
    type Request = EndTxnRequest;
    type Response = EndTxnResponse;
    type WireRequest = wire::EndTxnRequest;
    type WireResponse = wire::EndTxnResponse;

    fn read(
        wire: wire::EndTxnRequest,
        version: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<EndTxnRequest>, Malformed> {
        Ok(vec![EndTxnRequest {
            version,
            transactional_id: names.transactional_id(&wire.transactional_id.0)?,
            producer_id: ProducerId(wire.producer_id.0),
            producer_epoch: ProducerEpoch(wire.producer_epoch),
            committed: wire.committed,
        }])
    }

    fn write(request: &EndTxnRequest, _: i16, names: &Dictionary) -> wire::EndTxnRequest {
        wire::EndTxnRequest::default()
            .with_transactional_id(names.id_name(request.transactional_id))
            .with_producer_id(request.producer_id.0.into())
            .with_producer_epoch(request.producer_epoch.0)
            .with_committed(request.committed)
    }

    fn answer(
        _: &[&EndTxnRequest],
        responses: &[&EndTxnResponse],
        version: i16,
        _: &Dictionary,
    ) -> wire::EndTxnResponse {
        let wire = wire::EndTxnResponse::default();
        let Some(r) = responses.first() else { return wire };
        let wire = wire.with_error_code(r.error.code());
        if version < 5 {
            return wire;
        }
        wire.with_producer_id(r.producer_id.0.into()).with_producer_epoch(r.producer_epoch.0)
    }

    fn read_answer(
        wire: wire::EndTxnResponse,
        _: i16,
        _: &mut Dictionary,
    ) -> Result<EndTxnResponse, Malformed> {
        Ok(EndTxnResponse {
            error: error(wire.error_code),
            producer_id: ProducerId(wire.producer_id.0),
            producer_epoch: ProducerEpoch(wire.producer_epoch),
        })
    }
}

pub(super) struct DescribeTransactions;

fn state(text: &str) -> Result<TransactionState, Malformed> {
    let known = TransactionState::ALL.into_iter().find(|state| state.name() == text);
    known.ok_or_else(|| Malformed::new(format!("the state {text}")))
}

impl Api for DescribeTransactions {
    type Request = DescribeTransactionsRequest;
    type Response = DescribeTransactionsResponse;
    type WireRequest = wire::DescribeTransactionsRequest;
    type WireResponse = wire::DescribeTransactionsResponse;

    fn read(
        wire: wire::DescribeTransactionsRequest,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<Vec<DescribeTransactionsRequest>, Malformed> {
        let one = |id: wire::TransactionalId| {
            let transactional_id = names.transactional_id(&id.0)?;
            Ok(DescribeTransactionsRequest { transactional_id })
        };
        wire.transactional_ids.into_iter().map(one).collect()
    }

    fn write(
        request: &DescribeTransactionsRequest,
        _: i16,
        names: &Dictionary,
    ) -> wire::DescribeTransactionsRequest {
        let ids = vec![names.id_name(request.transactional_id)];
        wire::DescribeTransactionsRequest::default().with_transactional_ids(ids)
    }

    fn answer(
        requests: &[&DescribeTransactionsRequest],
        responses: &[&DescribeTransactionsResponse],
        _: i16,
        names: &Dictionary,
    ) -> wire::DescribeTransactionsResponse {
        let topic = |(topic, partitions): (_, Vec<(i32, ())>)| {
            wire::describe_transactions_response::TopicData::default()
                .with_topic(names.topic_name(topic))
                .with_partitions(partitions.into_iter().map(|(p, ())| p).collect())
        };
        let one = |(asked, r): (&&DescribeTransactionsRequest, &&DescribeTransactionsResponse)| {
            let wire = wire::describe_transactions_response::TransactionState::default()
                .with_error_code(r.error.code())
                .with_transactional_id(names.id_name(asked.transactional_id));
            let Some(t) = &r.transaction else { return wire };
            let topics = by_topic(t.partitions.iter().map(|&tp| (tp, ())));
            wire.with_transaction_state(string(t.state.name()))
                .with_transaction_timeout_ms(t.transaction_timeout_ms)
                .with_transaction_start_time_ms(names.wall_ms(t.transaction_start_time_ms))
                .with_producer_id(t.producer_id.0.into())
                .with_producer_epoch(t.producer_epoch.0)
                .with_topics(topics.into_iter().map(topic).collect())
        };
        let states = requests.iter().zip(responses).map(one).collect();
        wire::DescribeTransactionsResponse::default().with_transaction_states(states)
    }

    fn read_answer(
        wire: wire::DescribeTransactionsResponse,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<DescribeTransactionsResponse, Malformed> {
        let first = wire.transaction_states.into_iter().next();
        let t = first.ok_or_else(|| Malformed::new("no transaction"))?;
        let error = error(t.error_code);
        if !error.is_none() {
            return Ok(DescribeTransactionsResponse { error, transaction: None });
        }
        let mut partitions = Vec::new();
        for topic in t.topics {
            let id = names.topic(&topic.topic.0)?;
            partitions.extend(topic.partitions.iter().map(|&p| TopicPartition::new(id, p)));
        }
        partitions.sort_unstable();
        let transaction = Some(TransactionDescription {
            transactional_id: names.transactional_id(&t.transactional_id.0)?,
            state: state(&t.transaction_state)?,
            producer_id: ProducerId(t.producer_id.0),
            producer_epoch: ProducerEpoch(t.producer_epoch),
            transaction_timeout_ms: t.transaction_timeout_ms,
            transaction_start_time_ms: names.virtual_ms(t.transaction_start_time_ms),
            partitions,
        });
        Ok(DescribeTransactionsResponse { error, transaction })
    }
}

pub(super) struct ListTransactions;

impl Api for ListTransactions {
    type Request = ListTransactionsRequest;
    type Response = ListTransactionsResponse;
    type WireRequest = wire::ListTransactionsRequest;
    type WireResponse = wire::ListTransactionsResponse;

    fn read(
        wire: wire::ListTransactionsRequest,
        version: i16,
        _: &mut Dictionary,
    ) -> Result<Vec<ListTransactionsRequest>, Malformed> {
        let ids = wire.producer_id_filters.iter().map(|id| ProducerId(id.0)).collect();
        let states = wire.state_filters.iter().filter_map(|text| state(text).ok()).collect();
        let duration_ms = if version >= 1 { wire.duration_filter } else { -1 };
        Ok(vec![ListTransactionsRequest { producer_ids: ids, states, duration_ms }])
    }

    fn write(
        request: &ListTransactionsRequest,
        version: i16,
        _: &Dictionary,
    ) -> wire::ListTransactionsRequest {
        let ids = request.producer_ids.iter().map(|id| id.0.into()).collect();
        let states = request.states.iter().map(|state| string(state.name())).collect();
        wire::ListTransactionsRequest::default()
            .with_producer_id_filters(ids)
            .with_state_filters(states)
            .with_duration_filter(if version >= 1 { request.duration_ms } else { -1 })
    }

    fn answer(
        _: &[&ListTransactionsRequest],
        responses: &[&ListTransactionsResponse],
        _: i16,
        names: &Dictionary,
    ) -> wire::ListTransactionsResponse {
        let wire = wire::ListTransactionsResponse::default();
        let Some(r) = responses.first() else { return wire };
        let one = |&(id, producer_id, state): &(TransactionalId, ProducerId, TransactionState)| {
            wire::list_transactions_response::TransactionState::default()
                .with_transactional_id(names.id_name(id))
                .with_producer_id(producer_id.0.into())
                .with_transaction_state(string(state.name()))
        };
        wire.with_error_code(r.error.code())
            .with_transaction_states(r.transactions.iter().map(one).collect())
    }

    fn read_answer(
        wire: wire::ListTransactionsResponse,
        _: i16,
        names: &mut Dictionary,
    ) -> Result<ListTransactionsResponse, Malformed> {
        let mut transactions = Vec::new();
        for t in wire.transaction_states {
            let id = names.transactional_id(&t.transactional_id.0)?;
            let state = state(&t.transaction_state)?;
            transactions.push((id, ProducerId(t.producer_id.0), state));
        }
        Ok(ListTransactionsResponse { error: error(wire.error_code), transactions })
    }
}
