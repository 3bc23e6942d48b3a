//! What messages say, and how they are refused.

use std::sync::Arc;

use eosim_types::message::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, AddPartitionsToTxnTransaction,
    ApiVersionsRequest, CommittableOffset, CoordinatorKey, EndTxnRequest, Facts,
    FindCoordinatorRequest, GroupMember, HeartbeatRequest, InitProducerIdRequest, Message,
    ProduceRequest, Request, Response, TxnOffsetCommitRequest, WritableTxnMarker,
    WriteTxnMarkersRequest,
};
use eosim_types::record::{Payload, RecordBatch, TransactionResult};
use eosim_types::version::TransactionVersion;
use eosim_types::{
    CoordinatorEpoch, ErrorCode, GroupId, LeaderEpoch, ProducerEpoch, ProducerId, Sequence, Topic,
    TopicPartition, TransactionalId,
};

const ID: TransactionalId = TransactionalId(1);
const GROUP: GroupId = GroupId(1);
const PRODUCER: (ProducerId, ProducerEpoch) = (ProducerId(7), ProducerEpoch(3));

fn tp(partition: i32) -> TopicPartition {
    TopicPartition { topic: Topic(2), partition }
}

fn batch(base_sequence: i32) -> RecordBatch {
    RecordBatch {
        base_offset: 0,
        last_offset_delta: 0,
        partition_leader_epoch: LeaderEpoch(0),
        is_transactional: true,
        max_timestamp: 0,
        producer_id: PRODUCER.0,
        producer_epoch: PRODUCER.1,
        base_sequence: Sequence(base_sequence),
        payload: Payload::Records(Arc::new([])),
    }
}

fn produce(acks: i16) -> Request {
    let partitions = vec![(tp(0), batch(0)), (tp(1), batch(5))];
    ProduceRequest { version: 12, transactional_id: Some(ID), acks, timeout_ms: 1, partitions }
        .into()
}

fn add_partitions() -> Request {
    let transaction = AddPartitionsToTxnTransaction {
        transactional_id: ID,
        producer_id: PRODUCER.0,
        producer_epoch: PRODUCER.1,
        verify_only: false,
        partitions: [tp(0), tp(1)].into_iter().collect(),
    };
    AddPartitionsToTxnRequest { version: 5, transactions: [transaction].into() }.into()
}

fn markers() -> Request {
    let marker = |epoch, transaction_result, partition| WritableTxnMarker {
        producer_id: PRODUCER.0,
        producer_epoch: ProducerEpoch(epoch),
        transaction_result,
        partitions: [tp(partition)].into(),
        coordinator_epoch: CoordinatorEpoch(0),
        transaction_version: TransactionVersion::Tv2,
    };
    let commit = marker(3, TransactionResult::Commit, 0);
    let abort = marker(4, TransactionResult::Abort, 1);
    WriteTxnMarkersRequest { version: 2, markers: [commit, abort].into_iter().collect() }.into()
}

fn end_txn() -> Request {
    EndTxnRequest {
        version: 5,
        transactional_id: ID,
        producer_id: PRODUCER.0,
        producer_epoch: PRODUCER.1,
        committed: true,
    }
    .into()
}

fn others() -> Vec<Request> {
    let (producer_id, producer_epoch) = PRODUCER;
    let offset = CommittableOffset { partition: tp(0), offset: 1, leader_epoch: LeaderEpoch(0) };
    vec![
        FindCoordinatorRequest { key: CoordinatorKey::Transaction(ID) }.into(),
        InitProducerIdRequest {
            version: 5,
            transactional_id: Some(ID),
            transaction_timeout_ms: 1,
            producer_id,
            producer_epoch,
            enable_2pc: false,
            keep_prepared_txn: false,
        }
        .into(),
        AddOffsetsToTxnRequest {
            version: 4,
            transactional_id: ID,
            producer_id,
            producer_epoch,
            group: GROUP,
        }
        .into(),
        TxnOffsetCommitRequest {
            version: 5,
            transactional_id: ID,
            group: GROUP,
            producer_id,
            producer_epoch,
            member: GroupMember::NONE,
            offsets: vec![offset],
        }
        .into(),
        HeartbeatRequest { group: GROUP, member: GroupMember::NONE }.into(),
    ]
}

#[test]
fn a_question_is_answered_by_one_entry_alone() {
    let at = |partition| Facts { partition: Some(tp(partition)), ..Facts::default() };
    let sequence = |facts, base| Facts { base_sequence: Some(Sequence(base)), ..facts };
    let epoch = |facts, epoch| Facts { producer_epoch: Some(ProducerEpoch(epoch)), ..facts };
    let commits = |facts, committed| Facts { committed: Some(committed), ..facts };
    let version = |api_version| Facts { api_version: Some(api_version), ..Facts::default() };
    let cases = [
        (produce(-1), sequence(at(1), 5), true),
        (produce(-1), sequence(at(0), 5), false),
        (produce(-1), version(12), true),
        (produce(-1), version(11), false),
        (produce(-1), commits(at(0), true), false),
        (add_partitions(), epoch(at(1), 3), true),
        (add_partitions(), epoch(at(2), 3), false),
        (markers(), commits(at(0), true), true),
        (markers(), commits(at(0), false), false),
        (markers(), epoch(commits(at(1), false), 4), true),
        (end_txn(), commits(Facts::default(), true), true),
        (end_txn(), commits(Facts::default(), false), false),
        (ApiVersionsRequest {}.into(), Facts::default(), true),
    ];
    for (request, facts, expected) in cases {
        let message = Message::Request(request);
        assert_eq!(message.says(&facts), expected, "{message:?} {facts:?}");
    }
}

#[test]
fn what_belongs_to_a_transaction_or_a_group_says_so() {
    let id = Facts { transactional_id: Some(ID), ..Facts::default() };
    let group = Facts { group: Some(GROUP), ..Facts::default() };
    let said = |facts: &Facts| -> Vec<&'static str> {
        let requests = [produce(-1), add_partitions(), markers(), end_txn()];
        let requests = requests.into_iter().chain(others()).map(Message::Request);
        requests.filter(|message| message.says(facts)).map(|message| message.api().name()).collect()
    };
    let transactional = ["InitProducerId", "AddOffsetsToTxn", "TxnOffsetCommit"];
    assert_eq!(said(&id)[..3], ["Produce", "AddPartitionsToTxn", "EndTxn"]);
    assert_eq!(said(&id)[3..], transactional);
    assert_eq!(said(&group), ["AddOffsetsToTxn", "TxnOffsetCommit", "Heartbeat"]);
}

#[test]
fn a_refused_request_is_answered_with_the_error_everywhere() {
    let error = ErrorCode::NotEnoughReplicas;
    let requests = [produce(-1), add_partitions(), markers(), end_txn()];
    for request in requests.into_iter().chain(others()) {
        assert!(request.api().can_be_refused(), "{:?}", request.api());
        let refused = Message::Request(request.clone()).refused(error).expect("a response");
        assert_eq!(refused.api(), request.api());
        assert!(refused.has_error(error), "{refused:?}");
        assert!(!refused.has_error(ErrorCode::None), "{refused:?}");
    }
}

#[test]
fn what_is_not_answered_or_tells_of_no_error_cannot_be_refused() {
    for request in [produce(0), ApiVersionsRequest {}.into()] {
        assert_eq!(Message::Request(request).refused(ErrorCode::RequestTimedOut), None);
    }
}

#[test]
fn an_answer_turned_into_an_error_keeps_the_rest() {
    let answer = end_txn().error_response(ErrorCode::None).expect("an answer");
    let Some(Message::Response(Response::EndTxn(refused))) =
        Message::Response(answer).refused(ErrorCode::CoordinatorNotAvailable)
    else {
        panic!("an answer to EndTxn")
    };
    assert_eq!(refused.error, ErrorCode::CoordinatorNotAvailable);
    let markers = markers().error_response(ErrorCode::None).expect("an answer");
    assert!(Message::Response(markers).has_error(ErrorCode::None));
}
