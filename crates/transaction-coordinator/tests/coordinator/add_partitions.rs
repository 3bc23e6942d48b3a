//! AddPartitionsToTxn and AddOffsetsToTxn: cases 26 to 34.

use eosim_types::ErrorCode;
use eosim_types::message::{AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, Response};
use eosim_types::record::TransactionState::*;
use eosim_types::{GroupId, ProducerEpoch, ProducerId, Topic, TopicPartition, TransactionalId};

use crate::harness::*;

#[test]
fn an_unknown_id_is_refused_case_26_c_add_9() {
    let mut world = World::new();
    assert_eq!(world.add(2, 10, 1, &[TOPIC1_0]), "INVALID_PRODUCER_ID_MAPPING");
    assert_eq!(world.verify(10, 1, &[TOPIC1_0]), "INVALID_PRODUCER_ID_MAPPING");
}

#[test]
fn an_empty_id_is_refused_case_27_c_add_7_c_ver_1() {
    for verify_only in [false, true] {
        let mut world = World::cold();
        let mut request = add_request(2, 10, 1, &[TOPIC1_0]);
        request.transactions[0].transactional_id = TransactionalId::EMPTY;
        request.transactions[0].verify_only = verify_only;
        let token = world.send(request);
        assert_eq!(world.answer(token), "INVALID_REQUEST");
    }
}

#[test]
fn lookup_errors_are_answered_c_add_8() {
    let mut world = World::cold();
    assert_eq!(world.add(2, 10, 1, &[TOPIC1_0]), "NOT_COORDINATOR");
    world.elect(0);
    assert_eq!(world.add(2, 10, 1, &[TOPIC1_0]), "COORDINATOR_LOAD_IN_PROGRESS");
    assert_eq!(world.verify(10, 1, &[TOPIC1_0]), "COORDINATOR_LOAD_IN_PROGRESS");
}

#[test]
fn a_decision_is_waited_for_case_28_c_add_10() {
    for state in [PrepareCommit, PrepareAbort] {
        let mut world = World::new();
        world.hold_markers = true;
        world.load(1, &[given(state, 10, 0).record()]);
        assert_eq!(world.add(2, 10, 0, &[TOPIC1_0]), "CONCURRENT_TRANSACTIONS");
        assert_eq!(world.add(2, 99, 7, &[TOPIC1_0]), "CONCURRENT_TRANSACTIONS", "pending first");
    }
}

#[test]
fn id_before_epoch_before_state_case_29_c_add_11_c_add_12_c_add_13() {
    let mut world = World::new();
    world.append_errors.push_back(ErrorCode::NotLeaderOrFollower);
    world.load(1, &[given(PrepareCommit, 10, 10).last(9).parts(&[]).record()]);
    assert_eq!(world.add(2, 11, 0, &[TOPIC1_0]), "INVALID_PRODUCER_ID_MAPPING");
    assert_eq!(world.add(2, 10, 0, &[TOPIC1_0]), "PRODUCER_FENCED");
    assert_eq!(world.add(2, 10, 11, &[TOPIC1_0]), "PRODUCER_FENCED");
    assert_eq!(world.add(2, 10, 10, &[TOPIC1_0]), "CONCURRENT_TRANSACTIONS");
}

#[test]
fn a_partition_is_added_after_the_append_case_30_c_add_15_c_add_16() {
    for state in [Empty, Ongoing, CompleteCommit, CompleteAbort] {
        for (tv, ctv) in [(0, 0), (2, 2)] {
            let mut before = given(state, 10, 1);
            if state == Ongoing {
                before = before.parts(&[]);
            }
            let mut world = World::with(before);
            world.hold_appends = true;
            let token = world.send(add_request(tv, 10, 1, &[TOPIC1_0]));
            assert_eq!(world.answer(token), "-");
            world.finish_append(ErrorCode::None);
            assert_eq!(world.answer(token), "NONE");
            let value = world.log[0].1.value.clone().expect("a value");
            assert_eq!(value.start_timestamp_ms, if state == Ongoing { 0 } else { 1000 });
            let records = world.new_records();
            assert_eq!(records, [format!("Ongoing(10,1,-1) [topic1-0] ctv {ctv}")]);
        }
    }
}

#[test]
fn nothing_new_is_not_written_c_add_14() {
    let mut world = World::with(given(Ongoing, 10, 1).parts(&[TOPIC1_0, TOPIC2_0]));
    assert_eq!(world.add(2, 10, 1, &[TOPIC2_0]), "NONE");
    assert_eq!(world.new_records(), [""; 0]);
    assert_eq!(world.add(2, 10, 1, &[TOPIC2_0, TOPIC1_1]), "NONE NONE");
    assert_eq!(world.new_records(), ["Ongoing(10,1,-1) [topic1-0 topic1-1 topic2-0] ctv 2"]);
}

#[test]
fn the_next_producer_id_waits_for_the_completion_case_31_c_add_10() {
    let mut world = World::new();
    world.hold_markers = true;
    world.load(1, &[given(PrepareCommit, 10, 32767).last(32766).next(11).record()]);
    assert_eq!(world.add(2, 11, 0, &[TOPIC1_0]), "CONCURRENT_TRANSACTIONS");
    world.finish_markers(ErrorCode::None);
    assert_eq!(world.add(2, 11, 0, &[TOPIC1_0]), "NONE");
    assert_eq!(
        world.new_records(),
        ["CompleteCommit(11,0,32766) [] prev 10 ctv 2", "Ongoing(11,0,32766) [topic1-0] ctv 2"]
    );
}

#[test]
fn verification_checks_in_order_case_32_c_ver_1_c_ver_2() {
    let mut world = World::new();
    world.hold_markers = true;
    world.load(1, &[given(PrepareCommit, 10, 0).record()]);
    assert_eq!(world.verify(0, 0, &[TOPIC1_0]), "INVALID_PRODUCER_ID_MAPPING");
    assert_eq!(world.verify(10, 1, &[TOPIC1_0]), "PRODUCER_FENCED");
    assert_eq!(world.verify(10, 0, &[TOPIC1_0]), "CONCURRENT_TRANSACTIONS");
    let mut world = World::with(given(Ongoing, 10, 0).parts(&[]));
    world.hold_appends = true;
    world.send(add_request(2, 10, 0, &[TOPIC1_0]));
    assert_eq!(world.verify(10, 0, &[TOPIC1_0]), "TRANSACTION_ABORTABLE");
    assert_eq!(world.held_appends.len(), 1, "verification writes nothing");
}

#[test]
fn verification_answers_by_partition_cases_33_and_34_c_ver_2() {
    let mut world = World::with(given(Ongoing, 10, 0));
    assert_eq!(world.verify(10, 0, &[TOPIC1_0, TOPIC2_0]), "NONE TRANSACTION_ABORTABLE");
    assert_eq!(world.verify(10, 0, &[TOPIC1_0]), "NONE");
    assert_eq!(world.new_records(), [""; 0]);
}

#[test]
fn one_bad_partition_stops_all_others_c_add_2_c_add_3_c_add_4() {
    let gone = TopicPartition::new(TOPIC1_0.topic, 9);
    let internal = TopicPartition::new(Topic::CONSUMER_OFFSETS, 0);
    let cases = [
        (2, gone, "OPERATION_NOT_ATTEMPTED UNKNOWN_TOPIC_OR_PARTITION"),
        (0, gone, "OPERATION_NOT_ATTEMPTED UNKNOWN_TOPIC_OR_PARTITION"),
        (0, internal, "OPERATION_NOT_ATTEMPTED TOPIC_AUTHORIZATION_FAILED"),
        (2, internal, "NONE NONE"),
    ];
    for (tv, other, answer) in cases {
        let mut world = World::with(given(Ongoing, 10, 0));
        assert_eq!(world.add(tv, 10, 0, &[TOPIC1_0, other]), answer);
    }
    let mut world = World::cold();
    let answer = world.verify(10, 0, &[TOPIC1_0, gone]);
    assert_eq!(answer, "OPERATION_NOT_ATTEMPTED UNKNOWN_TOPIC_OR_PARTITION", "before any lookup");
}

#[test]
fn a_batch_is_answered_when_all_are_c_add_1_c_add_5() {
    let mut world = World::with(given(Ongoing, 10, 1));
    let unknown = world.names.add_transactional_id("unknown");
    let mut request = add_request(2, 10, 1, &[TOPIC1_1]);
    let mut other = request.transactions[0].clone();
    other.transactional_id = unknown;
    request.transactions.push(other);
    world.hold_appends = true;
    let token = world.send(request);
    assert_eq!(world.answer(token), "-");
    world.finish_append(ErrorCode::None);
    assert_eq!(world.answer(token), "NONE NOT_COORDINATOR");
    let nothing = AddPartitionsToTxnRequest { version: 5, transactions: [].into() };
    let token = world.send(nothing);
    assert_eq!(world.answer(token), "");
}

#[test]
fn old_clients_hear_invalid_producer_epoch_c_add_6() {
    let mut world = World::with(given(Ongoing, 10, 1));
    for (version, error) in [(1, "INVALID_PRODUCER_EPOCH"), (2, "PRODUCER_FENCED")] {
        let mut request = add_request(0, 10, 0, &[TOPIC1_0]);
        request.version = version;
        let token = world.send(request);
        assert_eq!(world.answer(token), error);
    }
}

#[test]
fn a_groups_partition_is_added_as_version_0_c_off_1() {
    let mut world = World::with(given(Empty, 10, 1));
    let group = world.names.add_group("u12-group");
    let request = |version, epoch, group: GroupId| AddOffsetsToTxnRequest {
        version,
        transactional_id: KNOWN,
        producer_id: ProducerId(10),
        producer_epoch: ProducerEpoch(epoch),
        group,
    };
    for (version, error) in [(1, ErrorCode::InvalidProducerEpoch), (3, ErrorCode::ProducerFenced)] {
        let Some(Response::AddOffsetsToTxn(response)) = world.request(request(version, 0, group))
        else {
            panic!("answered at once")
        };
        assert_eq!(response.error, error);
    }
    let token = world.send(request(3, 1, group));
    assert_eq!(world.answer(token), "NONE");
    let partition = world.names.group_partition(group, 50);
    let line = format!("Ongoing(10,1,-1) [__consumer_offsets-{partition}] ctv 0");
    assert_eq!(world.new_records(), [line]);
}
