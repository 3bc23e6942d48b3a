//! EndTxn: cases 36 to 59.

use eosim_types::ErrorCode;
use eosim_types::message::EndTxnRequest;
use eosim_types::record::TransactionState::{self, *};
use eosim_types::version::{KafkaVersion, TransactionVersion::*};
use eosim_types::{ProducerEpoch, TransactionalId};

use crate::harness::*;

/// An id in `state` with nothing pending: a decision whose completion met NOT_COORDINATOR.
fn settled(kafka: KafkaVersion, given: Given, state: TransactionState) -> World {
    let mut world = World::new();
    world.kafka = kafka;
    let mut record = given;
    if matches!(state, PrepareCommit | PrepareAbort) {
        record = record.parts(&[]);
        world.append_errors.push_back(ErrorCode::NotLeaderOrFollower);
    }
    world.load(1, &[record.record()]);
    assert_eq!(world.known().pending_state, None);
    world
}

#[test]
fn the_whole_table_of_version_1_c_end_5_c_end_7() {
    let table = [
        (Empty, "INVALID_TXN_STATE", "INVALID_TXN_STATE"),
        (Ongoing, "NONE", "NONE"),
        (PrepareCommit, "CONCURRENT_TRANSACTIONS", "INVALID_TXN_STATE"),
        (PrepareAbort, "INVALID_TXN_STATE", "CONCURRENT_TRANSACTIONS"),
        (CompleteCommit, "NONE", "INVALID_TXN_STATE"),
        (CompleteAbort, "INVALID_TXN_STATE", "NONE"),
    ];
    for (state, commit, abort) in table {
        for (committed, answer) in [(COMMIT, commit), (ABORT, abort)] {
            // Cases 38, 40, 42, 43, 45, 46, 47, 53, C-SEQ-17.
            let mut world = settled(KafkaVersion::V4_4, given(state, 10, 1), state);
            assert_eq!(world.end(0, committed, 10, 1), answer, "{state:?} {committed}");
            let writes = if state == Ongoing { 2 } else { 0 };
            assert_eq!(world.new_records().len(), writes, "{state:?} {committed}");
            // Cases 37, 38, 40, 43, 54, C-END-3: every other epoch is fenced, whatever the state.
            for epoch in [0, 2] {
                let mut world = settled(KafkaVersion::V4_4, given(state, 10, 1), state);
                assert_eq!(world.end(0, committed, 10, epoch), "PRODUCER_FENCED");
            }
        }
    }
}

#[test]
fn the_whole_table_of_version_2_c_end_12_c_end_13() {
    const FENCED: &str = "PRODUCER_FENCED";
    const STATE: &str = "INVALID_TXN_STATE";
    const CONCURRENT: &str = "CONCURRENT_TRANSACTIONS";
    const BUMPED: &str = "NONE (10,2)";
    const DONE: &str = "NONE (10,1)";
    // State; ABORT current, ABORT retry, COMMIT current of 4.4 and of 4.5, COMMIT retry.
    let table = [
        (Empty, BUMPED, FENCED, STATE, BUMPED, FENCED), // 48, 49
        (Ongoing, BUMPED, FENCED, BUMPED, BUMPED, FENCED), // 37, 53
        (PrepareCommit, FENCED, STATE, FENCED, FENCED, CONCURRENT), // 45, 50
        (PrepareAbort, FENCED, CONCURRENT, FENCED, FENCED, STATE), // 46
        (CompleteCommit, BUMPED, STATE, STATE, BUMPED, DONE), // 39, 44, 50
        (CompleteAbort, BUMPED, DONE, STATE, BUMPED, STATE), // 41, 42
    ];
    for (state, abort, abort_retry, commit_4_4, commit_4_5, commit_retry) in table {
        let columns = [
            (KafkaVersion::V4_4, ABORT, 1, abort),
            (KafkaVersion::V4_5, ABORT, 1, abort),
            (KafkaVersion::V4_4, ABORT, 0, abort_retry),
            (KafkaVersion::V4_4, COMMIT, 1, commit_4_4),
            (KafkaVersion::V4_5, COMMIT, 1, commit_4_5),
            (KafkaVersion::V4_4, COMMIT, 0, commit_retry),
            (KafkaVersion::V4_4, ABORT, 2, FENCED),
            (KafkaVersion::V4_4, COMMIT, 2, FENCED), // 54
        ];
        for (kafka, committed, epoch, answer) in columns {
            let mut world = settled(kafka, given(state, 10, 1), state);
            assert_eq!(world.end(2, committed, 10, epoch), answer, "{state:?} {committed} {epoch}");
            let writes = if answer == BUMPED { 2 } else { 0 };
            assert_eq!(world.new_records().len(), writes, "{state:?} {committed} {epoch}");
        }
    }
}

#[test]
fn an_empty_transaction_begins_when_it_ends_cases_41_44_48_59_c_sm_6_c_sm_11() {
    for state in [Empty, CompleteCommit, CompleteAbort] {
        for committed in [ABORT, COMMIT] {
            let mut world = World::with(given(state, 10, 734));
            world.end(2, committed, 10, 734);
            let value = world.log[0].1.value.clone().expect("a value");
            assert_eq!(
                (value.producer_epoch, value.start_timestamp_ms),
                (ProducerEpoch(735), 1000)
            );
            assert_eq!(world.marker_log, [""; 0]);
        }
    }
}

#[test]
fn unknown_ids_and_other_producers_case_36_c_end_1_c_end_2_c_end_8_c_end_11() {
    for tv in [0, 2] {
        let mut world = World::new();
        assert_eq!(world.end(tv, COMMIT, 0, 0), "INVALID_PRODUCER_ID_MAPPING");
        let mut world = World::with(given(Ongoing, 10, 0));
        assert_eq!(world.end(tv, COMMIT, 0, 0), "INVALID_PRODUCER_ID_MAPPING");
    }
}

#[test]
fn lookup_errors_case_55_c_end_1_c_end_8() {
    for tv in [0, 2] {
        let mut world = World::cold();
        let empty = EndTxnRequest {
            transactional_id: TransactionalId::EMPTY,
            ..end_request(tv, COMMIT, 0, 0)
        };
        let token = world.send(empty);
        assert_eq!(world.answer(token), "INVALID_REQUEST");
        assert_eq!(world.end(tv, COMMIT, 0, 0), "NOT_COORDINATOR");
        world.elect(0);
        assert_eq!(world.end(tv, COMMIT, 0, 0), "COORDINATOR_LOAD_IN_PROGRESS");
    }
}

#[test]
fn pending_comes_first_in_version_2_and_last_in_version_1_c_end_4_c_end_10_c_end_14() {
    let mut world = World::new();
    world.hold_markers = true;
    world.load(1, &[given(PrepareCommit, 10, 1).record()]);
    assert_eq!(world.end(2, COMMIT, 99, 7), "CONCURRENT_TRANSACTIONS");
    assert_eq!(world.end(0, COMMIT, 99, 1), "INVALID_PRODUCER_ID_MAPPING");
    assert_eq!(world.end(0, COMMIT, 10, 0), "PRODUCER_FENCED");
    assert_eq!(world.end(0, ABORT, 10, 1), "CONCURRENT_TRANSACTIONS");
}

#[test]
fn a_retry_over_a_rotation_case_51_c_end_9_c_end_17() {
    let overflow = given(PrepareCommit, 10, 32767).last(32766).next(11);
    let mut world = settled(KafkaVersion::V4_5, overflow, PrepareCommit);
    assert_eq!(world.end(2, COMMIT, 10, 32766), "CONCURRENT_TRANSACTIONS");
    let mut world = World::with(given(CompleteCommit, 11, 0).last(32766).prev(10));
    assert_eq!(world.end(2, COMMIT, 10, 32766), "NONE (11,0)");
    assert_eq!(world.new_records(), [""; 0]);
}

#[test]
fn a_decision_at_the_last_epoch_rotates_case_52_case_58_c_sm_7_c_seq_13() {
    let mut world = World::with(given(Ongoing, 10, 32766));
    assert_eq!(world.end(2, COMMIT, 10, 32766), "NONE (11,0)");
    assert_eq!(world.marker_log, ["b1 COMMIT(10,32767) coordinator epoch 1 tv2 topic1-0"]);
    assert_eq!(world.add(2, 11, 0, &[TOPIC1_0]), "NONE");
    assert_eq!(
        world.new_records(),
        [
            "PrepareCommit(10,32767,32766) [topic1-0] next 11 ctv 2",
            "CompleteCommit(11,0,32766) [] prev 10 ctv 2",
            "Ongoing(11,0,32766) [topic1-0] ctv 2",
        ]
    );
}

#[test]
fn a_commit_at_32767_throws_and_an_abort_rotates_c_end_16() {
    let mut world = World::with(given(Ongoing, 10, 32767));
    assert_eq!(world.end(2, COMMIT, 10, 32767), "UNKNOWN_SERVER_ERROR");
    // The failed COMMIT has used up an id (C-PID-8).
    assert_eq!(world.end(2, ABORT, 10, 32767), "NONE (12,0)");
    assert_eq!(world.new_records()[0], "PrepareAbort(10,32767,32767) [topic1-0] next 12 ctv 2");
}

#[test]
fn without_an_id_at_hand_a_rotation_is_refused_c_end_15_c_pid_5() {
    let mut world = World::cold();
    world.load(0, &[given(Ongoing, 10, 32766).record()]);
    assert_eq!(world.end(2, COMMIT, 10, 32766), "COORDINATOR_LOAD_IN_PROGRESS");
    assert_eq!(world.known().pending_state, None);
    assert_eq!(world.end(2, COMMIT, 10, 32766), "NONE (11,0)");
}

#[test]
fn the_client_is_answered_when_the_decision_is_replicated_case_53_c_end_21() {
    let mut world = World::with(given(Ongoing, 10, 1));
    world.hold_appends = true;
    world.hold_markers = true;
    let token = world.send(end_request(2, COMMIT, 10, 1));
    assert_eq!((world.answer(token).as_str(), world.markers.len()), ("-", 0));
    world.finish_append(ErrorCode::None);
    assert_eq!((world.answer(token).as_str(), world.markers.len()), ("NONE (10,2)", 1));
    assert!(world.hit("C-END-20") && world.hit("C-END-21"));
}

#[test]
fn a_failed_decision_leaves_the_transaction_open_c_end_19() {
    for tv in [0, 2] {
        let mut world = World::with(given(Ongoing, 10, 1));
        world.append_errors.push_back(ErrorCode::RequestTimedOut);
        assert_eq!(world.end(tv, COMMIT, 10, 1), "COORDINATOR_NOT_AVAILABLE");
        assert_eq!(world.describe(), "Ongoing(10,1)");
    }
}

#[test]
fn the_path_follows_the_request_c_end_23_c_tv_2_c_tv_4() {
    let mut world = World::with(given(Ongoing, 10, 1).tv(2));
    assert_eq!(world.end(0, COMMIT, 10, 1), "NONE");
    assert_eq!(world.new_records()[0], "PrepareCommit(10,1,-1) [topic1-0] ctv 0");
    assert_eq!(world.marker_log, ["b1 COMMIT(10,1) coordinator epoch 1 tv0 topic1-0"]);
    let mut world = World::with(given(Ongoing, 10, 1).tv(0));
    assert_eq!(world.end(2, COMMIT, 10, 1), "NONE (10,2)");
    assert_eq!(world.marker_log, ["b1 COMMIT(10,2) coordinator epoch 1 tv2 topic1-0"]);
}

#[test]
fn a_zombies_late_end_meets_an_abort_by_the_coordinator_c_end_18_c_init_23() {
    let mut world = World::with(given(Ongoing, 10, 1));
    assert_eq!(world.init(Some((10, 0))), "CONCURRENT_TRANSACTIONS (-1,-1)");
    assert_eq!(world.init(Some((10, 0))), "PRODUCER_FENCED (-1,-1)");
    assert_eq!(world.end(2, COMMIT, 10, 1), "INVALID_TXN_STATE");
    assert_eq!(world.end(2, ABORT, 10, 1), "NONE (10,2)");
}

#[test]
fn old_clients_hear_invalid_producer_epoch() {
    let mut world = World::with(given(Ongoing, 10, 1));
    let request = EndTxnRequest { version: 1, ..end_request(0, COMMIT, 10, 0) };
    let token = world.send(request);
    assert_eq!(world.answer(token), "INVALID_PRODUCER_EPOCH");
}

#[test]
fn a_version_2_request_wedges_an_id_at_a_version_0_server_c_rec_2_c_tv_3() {
    let mut world = World::with_server(given(Empty, 10, 1).tv(0), Tv0);
    assert_eq!(world.end(2, ABORT, 10, 1), "UNSUPPORTED_VERSION");
    assert_eq!(world.init(None), "CONCURRENT_TRANSACTIONS (-1,-1)");
    world.load(2, &[given(Empty, 10, 1).tv(0).record()]);
    assert_eq!(world.init(None), "NONE (10,2)");
}
