//! InitProducerId: cases 1 to 25.

use eosim_transaction_coordinator::CoordinatorTimer::AbortTimedOutTransactions;
use eosim_types::ErrorCode::{self, NotEnoughReplicas};
use eosim_types::Instant;
use eosim_types::TransactionalId;
use eosim_types::message::{InitProducerIdRequest, Response};
use eosim_types::record::TransactionState::*;
use eosim_types::version::{KafkaVersion, TransactionVersion::*};
use eosim_types::{Defect, ProducerEpoch, ProducerId};

use crate::harness::*;

/// One id, some requests: expected pair, answer, records.
type Step = (Option<(i64, i16)>, &'static str, &'static [&'static str]);

/// The requests of each row, one after the other.
fn check(cases: &[(&str, Given, &[Step])]) {
    for (row, given, steps) in cases {
        let mut world = World::with(given.clone());
        for (expected, answer, records) in *steps {
            assert_eq!(world.init(*expected), *answer, "{row}");
            assert_eq!(world.new_records(), *records, "{row}");
        }
    }
}

#[test]
fn worked_cases_of_a_bump_c_sm_3() {
    check(&[
        (
            "7, C-INIT-12",
            given(Empty, 11, 1).prev(10),
            &[(Some((10, 1)), "PRODUCER_FENCED (-1,-1)", &[])],
        ),
        ("8, C-SM-3 (d)", given(Empty, 10, 2), &[(Some((10, 1)), "PRODUCER_FENCED (-1,-1)", &[])]),
        (
            "9, C-SM-3 (b), C-SM-3 (c), C-INIT-19",
            given(Empty, 10, 10).last(9),
            &[
                (Some((10, 10)), "NONE (10,11)", &["Empty(10,11,10) null ctv 2"]),
                (Some((10, 10)), "NONE (10,11)", &["Empty(10,11,10) null ctv 2"]),
            ],
        ),
        (
            "10, C-SM-3 (a), C-SEQ-9",
            given(Empty, 10, 10).last(9),
            &[
                (None, "NONE (10,11)", &["Empty(10,11,-1) null ctv 2"]),
                (Some((10, 10)), "PRODUCER_FENCED (-1,-1)", &[]),
            ],
        ),
        (
            "24: a continuing producer, then a new one",
            given(Empty, 10, 5),
            &[
                (Some((10, 5)), "NONE (10,6)", &["Empty(10,6,5) null ctv 2"]),
                (None, "NONE (10,7)", &["Empty(10,7,-1) null ctv 2"]),
            ],
        ),
    ]);
}

#[test]
fn worked_cases_of_a_rotation_c_sm_4() {
    check(&[
        (
            "5, C-SM-4, C-SEQ-10",
            given(Empty, 10, 32766).last(32765),
            &[(None, "NONE (11,0)", &["Empty(11,0,-1) null prev 10 ctv 2"])],
        ),
        (
            "11, C-INIT-20: one retry over a rotation is answered, a second is not",
            given(Empty, 10, 32766).last(32765),
            &[
                (Some((10, 32766)), "NONE (11,0)", &["Empty(11,0,32766) null prev 10 ctv 2"]),
                (Some((10, 32766)), "NONE (11,0)", &["Empty(11,0,32766) null ctv 2"]),
                (Some((10, 32766)), "PRODUCER_FENCED (-1,-1)", &[]),
            ],
        ),
        (
            "12, C-INIT-12",
            given(Empty, 11, 0).last(32766).prev(10),
            &[(Some((10, 32765)), "PRODUCER_FENCED (-1,-1)", &[])],
        ),
        (
            "23, C-INIT-12, C-INIT-18",
            given(CompleteAbort, 11, 0).last(32766).prev(10),
            &[(Some((10, 32766)), "NONE (11,0)", &["Empty(11,0,32766) null ctv 2"])],
        ),
        (
            "C-INIT-14: an exhausted epoch throws before the last one is looked at",
            given(Empty, 10, 32766).last(32765),
            &[(Some((10, 32765)), "UNKNOWN_SERVER_ERROR (-1,-1)", &[])],
        ),
        (
            "25: a retry over a rotation, then a new one",
            given(Empty, 11, 0).last(32766).prev(10),
            &[
                (Some((10, 32766)), "NONE (11,0)", &["Empty(11,0,32766) null ctv 2"]),
                (None, "NONE (11,1)", &["Empty(11,1,-1) null ctv 2"]),
            ],
        ),
    ]);
}

#[test]
fn every_idle_state_is_bumped_case_15_c_init_14() {
    for state in [Empty, CompleteAbort, CompleteCommit] {
        for server in [Tv0, Tv2] {
            let ctv = if server == Tv0 { 0 } else { 2 };
            let mut world = World::with_server(given(state, 10, 1).tv(ctv), server);
            assert_eq!(world.init(None), "NONE (10,2)");
            let prev = if server == Tv0 { " prev -1" } else { "" };
            assert_eq!(world.new_records(), [format!("Empty(10,2,-1) null{prev} ctv {ctv}")]);
        }
    }
}

#[test]
fn bad_requests_are_refused_before_any_lookup_case_1_c_init_5_c_init_8_case_65() {
    let mut world = World::cold();
    let cases = [
        (Some(TransactionalId::EMPTY), 60_000, "INVALID_REQUEST"),
        (Some(TransactionalId::EMPTY), 0, "INVALID_REQUEST"),
        (Some(KNOWN), 0, "INVALID_TRANSACTION_TIMEOUT"),
        (Some(KNOWN), -1, "INVALID_TRANSACTION_TIMEOUT"),
        (Some(KNOWN), 900_001, "INVALID_TRANSACTION_TIMEOUT"),
        (Some(KNOWN), 900_000, "NOT_COORDINATOR"),
        (Some(KNOWN), 1, "NOT_COORDINATOR"),
    ];
    for (transactional_id, transaction_timeout_ms, error) in cases {
        let request = InitProducerIdRequest {
            transactional_id,
            transaction_timeout_ms,
            ..init_request(None)
        };
        let token = world.send(request);
        assert_eq!(world.answer(token), format!("{error} (-1,-1)"));
    }
}

#[test]
fn half_a_pair_is_invalid_c_init_2() {
    let mut world = World::new();
    for (id, epoch) in [(10, -1), (-1, 3)] {
        assert_eq!(world.init(Some((id, epoch))), "INVALID_REQUEST (-1,-1)");
        let request =
            InitProducerIdRequest { transactional_id: None, ..init_request(Some((id, epoch))) };
        let token = world.send(request);
        assert_eq!(world.answer(token), "INVALID_REQUEST (-1,-1)");
    }
}

#[test]
fn an_idempotent_producer_needs_no_coordinator_case_2_c_init_4_c_seq_19() {
    let mut world = World::cold();
    assert_eq!(world.init_idempotent(), "COORDINATOR_LOAD_IN_PROGRESS (-1,-1)");
    assert_eq!(world.init_idempotent(), "NONE (11,0)");
    assert_eq!(world.init_idempotent(), "NONE (12,0)");
    assert_eq!(world.new_records(), [""; 0]);
}

#[test]
fn a_new_id_starts_at_epoch_zero_cases_3_and_4_c_init_10_c_lk_2_c_seq_1() {
    for expected in [None, Some((10, 1))] {
        let mut world = World::new();
        assert_eq!(world.init(expected), "NONE (11,0)");
        assert_eq!(world.new_records(), ["Empty(11,0,-1) null ctv 0"]);
        let value = world.log[0].1.value.clone().expect("a value");
        let ids = (value.previous_producer_id, value.start_timestamp_ms);
        assert_eq!(ids, (ProducerId(11), -1), "case {expected:?}");
    }
}

#[test]
fn the_first_record_of_an_expected_pair_has_no_last_epoch_c_sm_3() {
    let mut world = World::new();
    world.init(Some((10, 1)));
    assert_eq!(world.init(Some((11, 0))), "NONE (11,1)");
    assert_eq!(world.new_records()[1], "Empty(11,1,0) null ctv 0");
}

#[test]
fn lookup_errors_are_answered_case_6_c_init_9_c_lk_1() {
    let mut world = World::cold();
    assert_eq!(world.init(None), "NOT_COORDINATOR (-1,-1)");
    world.elect(3);
    assert_eq!(world.init(None), "COORDINATOR_LOAD_IN_PROGRESS (-1,-1)");
}

#[test]
fn a_pending_transition_blocks_case_13_c_init_11() {
    let mut world = World::with(given(Ongoing, 10, 10));
    world.hold_appends = true;
    assert_eq!(world.end(2, COMMIT, 10, 10), "-");
    assert_eq!(world.known().pending_state, Some(PrepareCommit));
    assert_eq!(world.init(Some((10, 10))), "CONCURRENT_TRANSACTIONS (-1,-1)");
}

#[test]
fn a_decision_is_waited_for_case_14_c_init_13() {
    for state in [PrepareCommit, PrepareAbort] {
        let mut world = World::new();
        world.append_errors.push_back(ErrorCode::NotLeaderOrFollower);
        world.load(1, &[given(state, 10, 1).parts(&[]).record()]);
        assert_eq!(world.known().pending_state, None);
        assert_eq!(world.init(None), "CONCURRENT_TRANSACTIONS (-1,-1)");
    }
}

#[test]
fn an_open_transaction_is_aborted_first_case_16_c_init_16_c_end_6() {
    let mut world = World::with_server(given(Ongoing, 10, 1).last(0), Tv1);
    world.hold_markers = true;
    assert_eq!(world.init(None), "CONCURRENT_TRANSACTIONS (-1,-1)");
    assert_eq!(world.new_records(), ["PrepareAbort(10,2,-1) [topic1-0] ctv 0"]);
}

#[test]
fn a_failed_fence_of_version_1_bumps_once_case_18_c_end_19_c_sm_2() {
    let mut world = World::with_server(given(Ongoing, 10, 1).tv(0), Tv0);
    world.append_errors.extend([NotEnoughReplicas, NotEnoughReplicas]);
    for _ in 0..2 {
        assert_eq!(world.init(None), "COORDINATOR_NOT_AVAILABLE (-1,-1)");
        assert_eq!(world.known().producer_epoch, ProducerEpoch(2));
    }
    world.hold_markers = true;
    assert_eq!(world.init(None), "CONCURRENT_TRANSACTIONS (-1,-1)");
    assert_eq!(world.new_records(), ["PrepareAbort(10,2,-1) [topic1-0] prev -1 ctv 0"]);
    world.finish_markers(ErrorCode::None);
    assert_eq!(world.init(None), "NONE (10,3)");
}

#[test]
fn the_last_epoch_fences_case_19_c_seq_11_case_101() {
    let mut world = World::with_server(given(Ongoing, 10, 32766).tv(0), Tv1);
    assert_eq!(world.init(None), "CONCURRENT_TRANSACTIONS (-1,-1)");
    assert_eq!(world.init(None), "NONE (11,0)");
    assert_eq!(
        world.new_records(),
        [
            "PrepareAbort(10,32767,-1) [topic1-0] ctv 0",
            "CompleteAbort(10,32767,-1) [] ctv 0",
            "Empty(11,0,-1) null prev 10 ctv 0",
        ]
    );
}

#[test]
fn a_version_2_fence_at_the_last_epoch_rotates_cases_20_and_21_c_end_15_c_seq_14() {
    let mut world = World::with(given(Ongoing, 10, 32766));
    assert_eq!(world.init(None), "CONCURRENT_TRANSACTIONS (-1,-1)");
    assert_eq!(world.end(2, ABORT, 10, 32766), "NONE (11,0)");
    assert_eq!(world.init(None), "NONE (11,1)");
    assert_eq!(
        world.new_records(),
        [
            "PrepareAbort(10,32767,32766) [topic1-0] next 11 ctv 2",
            "CompleteAbort(11,0,32766) [] prev 10 ctv 2",
            "Empty(11,1,-1) null ctv 2",
        ]
    );
    assert_eq!(world.marker_log, ["b1 ABORT(10,32767) coordinator epoch 1 tv2 topic1-0"]);
}

#[test]
fn a_failed_fence_of_version_2_bumps_from_the_same_epoch_case_22() {
    let mut world = World::with(given(Ongoing, 10, 1));
    world.append_errors.push_back(NotEnoughReplicas);
    assert_eq!(world.init(None), "COORDINATOR_NOT_AVAILABLE (-1,-1)");
    assert_eq!(world.known().producer_epoch, ProducerEpoch(1));
    assert_eq!(world.init(None), "CONCURRENT_TRANSACTIONS (-1,-1)");
    assert_eq!(world.init(None), "NONE (10,3)");
    assert_eq!(
        world.new_records(),
        [
            "PrepareAbort(10,2,1) [topic1-0] ctv 2",
            "CompleteAbort(10,2,1) [] ctv 2",
            "Empty(10,3,-1) null ctv 2",
        ]
    );
}

#[test]
fn the_own_pair_aborts_and_then_resumes_c_init_17_c_init_18() {
    let mut world = World::with(given(Ongoing, 10, 1));
    assert_eq!(world.init(Some((10, 1))), "CONCURRENT_TRANSACTIONS (-1,-1)");
    assert_eq!(world.init(Some((10, 1))), "NONE (10,2)");
    assert_eq!(world.new_records()[2], "Empty(10,2,1) null ctv 2");
    let mut world = World::with_server(given(Ongoing, 10, 1), Tv1);
    assert_eq!(world.init(Some((10, 1))), "CONCURRENT_TRANSACTIONS (-1,-1)");
    assert_eq!(world.init(Some((10, 1))), "PRODUCER_FENCED (-1,-1)");
}

#[test]
fn a_failed_first_record_keeps_the_id_c_app_7() {
    let mut world = World::new();
    world.append_errors.push_back(NotEnoughReplicas);
    assert_eq!(world.init(None), "COORDINATOR_NOT_AVAILABLE (-1,-1)");
    assert_eq!(world.known().producer_id, ProducerId(11));
    assert_eq!(world.known().producer_epoch, ProducerEpoch::NONE);
    assert_eq!(world.init(None), "NONE (11,0)");
}

#[test]
fn without_a_last_epoch_in_the_log_a_failover_fences_the_retry_c_init_21() {
    let repaired = World::new().without(Defect::UpstreamCoordinatorLastEpochForgotten);
    for (mut world, kafka, answer) in [
        (World::new(), KafkaVersion::V4_4, "PRODUCER_FENCED (-1,-1)"),
        (World::new(), KafkaVersion::V4_5, "NONE (10,2)"),
        (repaired, KafkaVersion::V4_4, "NONE (10,2)"),
    ] {
        world.kafka = kafka;
        world.load(1, &[given(Empty, 10, 1).record()]);
        assert_eq!(world.init(Some((10, 1))), "NONE (10,2)");
        let records: Vec<_> = world.log.iter().map(|(_, record)| record.clone()).collect();
        world.load(2, &records);
        assert_eq!(world.init(Some((10, 1))), answer);
    }
}

#[test]
fn old_clients_hear_invalid_producer_epoch_c_init_3() {
    let mut world = World::with(given(Empty, 10, 5));
    for (version, error) in [(3, ErrorCode::InvalidProducerEpoch), (4, ErrorCode::ProducerFenced)] {
        let request = InitProducerIdRequest { version, ..init_request(Some((10, 1))) };
        let Some(Response::InitProducerId(response)) = world.request(request) else { panic!() };
        assert_eq!((response.error, response.producer_id), (error, ProducerId::NONE));
    }
}

#[test]
fn an_append_error_is_answered_c_init_15() {
    let mut world = World::with(given(Empty, 10, 5));
    world.append_errors.push_back(ErrorCode::NotLeaderOrFollower);
    assert_eq!(world.init(None), "NOT_COORDINATOR (-1,-1)");
    assert_eq!(world.known().producer_epoch, ProducerEpoch(5));
}

fn two_phase(enable_2pc: bool, keep_prepared_txn: bool) -> InitProducerIdRequest {
    InitProducerIdRequest { version: 6, enable_2pc, keep_prepared_txn, ..init_request(None) }
}

#[test]
fn two_phase_commit_needs_the_brokers_switch_and_no_timeout_c_init_6_c_init_7_c_init_22() {
    let refused = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED (-1,-1)";
    let rows = [
        // The switch, the request, the answer.
        (false, two_phase(true, false), refused),
        (false, two_phase(true, true), refused),
        (false, two_phase(false, true), "UNSUPPORTED_VERSION (-1,-1)"),
        (true, two_phase(false, true), "UNSUPPORTED_VERSION (-1,-1)"),
        (true, two_phase(true, true), "UNSUPPORTED_VERSION (-1,-1)"),
        (true, two_phase(true, false), "NONE (11,0)"),
    ];
    for (is_on, request, answer) in rows {
        for transaction_timeout_ms in [-1, 10, 900_001] {
            let mut world = World::new();
            world.config.transaction_two_phase_commit_enable = is_on;
            let token = world.send(InitProducerIdRequest { transaction_timeout_ms, ..request });
            assert_eq!(world.answer(token), answer, "{request:?}");
        }
    }
    let empty = InitProducerIdRequest {
        transactional_id: Some(TransactionalId::EMPTY),
        ..two_phase(true, true)
    };
    let mut world = World::new();
    let token = world.send(empty);
    assert_eq!(world.answer(token), "INVALID_REQUEST (-1,-1)", "before any of it");
}

#[test]
fn a_transaction_of_two_phase_commit_never_times_out_c_init_22_c_tmo_1() {
    let mut world = World::new();
    world.config.transaction_two_phase_commit_enable = true;
    let token = world.send(two_phase(true, false));
    assert_eq!(world.answer(token), "NONE (11,0)");
    world.add(2, 11, 0, &[TOPIC1_0]);
    world.now = Instant(u64::MAX / 2);
    world.fire(AbortTimedOutTransactions);
    assert_eq!(world.describe(), "Ongoing(11,0)");
    assert_eq!(world.known().transaction_timeout_ms, i32::MAX);
    // The next plain InitProducerId gives it a timeout again, but fences it first.
    assert_eq!(world.init(None), "CONCURRENT_TRANSACTIONS (-1,-1)");
    assert_eq!(world.init(None), "NONE (11,2)");
    assert_eq!(world.known().transaction_timeout_ms, 60_000);
}
