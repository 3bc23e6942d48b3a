//! What a coordinator makes of the log's answer: cases 66 to 73.

use eosim_types::ErrorCode::{
    self, CorruptMessage, KafkaStorageError, MessageTooLarge, NotEnoughReplicas,
    NotEnoughReplicasAfterAppend, NotLeaderOrFollower, RecordListTooLarge, RequestTimedOut,
    UnknownTopicOrPartition,
};
use eosim_types::record::TransactionState::*;
use eosim_types::{CoordinatorEpoch, Duration};

use crate::harness::*;

#[test]
fn success_changes_memory_and_then_answers_case_66_c_app_6_c_app_8_c_sm_12() {
    let mut world = World::with(given(Empty, 10, 1));
    world.hold_appends = true;
    let token = world.send(add_request(2, 10, 1, &[TOPIC1_0, TOPIC1_1]));
    assert_eq!((world.known().state, world.known().pending_state), (Empty, Some(Ongoing)));
    world.finish_append(ErrorCode::None);
    assert_eq!((world.known().state, world.known().pending_state), (Ongoing, None));
    assert_eq!(world.answer(token), "NONE NONE");
}

#[test]
fn errors_are_mapped_cases_67_68_70_c_app_5_c_app_7() {
    let table = [
        (UnknownTopicOrPartition, "COORDINATOR_NOT_AVAILABLE"),
        (NotEnoughReplicas, "COORDINATOR_NOT_AVAILABLE"),
        (NotEnoughReplicasAfterAppend, "COORDINATOR_NOT_AVAILABLE"),
        (RequestTimedOut, "COORDINATOR_NOT_AVAILABLE"),
        (NotLeaderOrFollower, "NOT_COORDINATOR"),
        (KafkaStorageError, "NOT_COORDINATOR"),
        (MessageTooLarge, "UNKNOWN_SERVER_ERROR"),
        (RecordListTooLarge, "UNKNOWN_SERVER_ERROR"),
        (CorruptMessage, "CORRUPT_MESSAGE"),
    ];
    for (error, answer) in table {
        let mut world = World::with(given(Empty, 10, 1));
        world.append_errors.push_back(error);
        assert_eq!(world.add(2, 10, 1, &[TOPIC1_0]), answer);
        assert_eq!((world.known().state, world.known().pending_state), (Empty, None));
    }
}

/// What happens to the partition while the append is under way.
type Meanwhile = fn(&mut World);

#[test]
fn a_change_of_ownership_wins_over_the_logs_answer_cases_68_69_c_app_6() {
    let table: [(Meanwhile, &str); 4] = [
        (|world| world.resign(Some(9)), "NOT_COORDINATOR"),
        (|world| world.load(9, &[given(Empty, 10, 1).record()]), "NOT_COORDINATOR"),
        (|world| world.load(9, &[]), "NOT_COORDINATOR"),
        (|world| world.elect(9), "COORDINATOR_LOAD_IN_PROGRESS"),
    ];
    for (meanwhile, answer) in table {
        let mut world = World::with(given(Empty, 10, 1));
        world.hold_appends = true;
        let token = world.send(add_request(2, 10, 1, &[TOPIC1_0]));
        meanwhile(&mut world);
        world.finish_append(ErrorCode::None);
        assert_eq!(world.answer(token), answer);
    }
}

#[test]
fn a_late_failure_touches_nothing_of_a_new_owner_case_72_c_app_2_c_app_7() {
    let mut world = World::with(given(Empty, 10, 1));
    world.hold_appends = true;
    let token = world.send(add_request(2, 10, 1, &[TOPIC1_0]));
    world.load(2, &[given(Empty, 10, 1).record()]);
    world.send(add_request(2, 10, 1, &[TOPIC1_0]));
    world.finish_append(ErrorCode::RequestTimedOut);
    assert_eq!(world.answer(token), "COORDINATOR_NOT_AVAILABLE");
    assert_eq!(world.known().pending_state, Some(Ongoing));
    assert_eq!(world.known().coordinator_epoch, CoordinatorEpoch(2));
}

#[test]
fn the_log_may_take_as_long_as_the_transaction_c_app_3() {
    let mut world = World::with(given(Ongoing, 10, 1).timeout(1_234));
    world.hold_appends = true;
    world.send(end_request(2, COMMIT, 10, 1));
    assert_eq!(world.held_appends[0].timeout, Duration::from_millis(1_234));
}

#[test]
fn one_append_per_id_and_any_number_of_ids_c_app_4() {
    let mut world = World::new();
    world.hold_appends = true;
    world.send(init_request(None));
    assert_eq!(world.init(None), "CONCURRENT_TRANSACTIONS (-1,-1)");
    let other = world.names.add_transactional_id("other");
    let partition = world.names.transaction_partition(other, 50);
    world.call(|c, cx| c.on_elected(cx, partition, CoordinatorEpoch(0)));
    world.call(|c, cx| c.on_loaded(cx, partition, CoordinatorEpoch(0), [], 0, 0));
    let mut request = init_request(None);
    request.transactional_id = Some(other);
    world.send(request);
    assert_eq!(world.held_appends.len(), 2);
}

#[test]
fn a_refused_completion_keeps_its_pending_state_case_71_c_app_7_c_mrk_12() {
    let mut world = World::new();
    world.append_errors.push_back(UnknownTopicOrPartition);
    world.load(1, &[given(PrepareCommit, 10, 1).parts(&[]).record()]);
    assert_eq!(world.known().pending_state, Some(CompleteCommit));
}
