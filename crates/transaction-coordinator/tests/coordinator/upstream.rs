//! Upstream findings, as released and repaired, and the historical defects of this crate.

use eosim_transaction_coordinator::CoordinatorTimer::{AbortTimedOutTransactions, MarkerSender};
use eosim_transaction_coordinator::TransactionCoordinator;
use eosim_types::record::TransactionState::*;
use eosim_types::version::{KafkaVersion, TransactionVersion};
use eosim_types::{Defect, Duration, ErrorCode, TransactionalId};

use crate::harness::*;

fn repaired(defect: Defect, given: Given) -> World {
    let mut world = World::new().without(defect);
    world.load(1, &[given.record()]);
    world
}

#[test]
fn a_leaderless_partition_is_waited_for_or_skipped_c_mrk_5() {
    let defect = Defect::UpstreamCoordinatorMarkerSkippedWithoutLeader;
    let (skipped, waits) = ("CompleteCommit(10,2)", "PrepareCommit(10,2)");
    let cases = [
        (KafkaVersion::V4_4, true, skipped),
        (KafkaVersion::V4_4, false, waits),
        (KafkaVersion::V4_2, true, waits),
    ];
    for (kafka, as_released, state) in cases {
        let mut world = World::with(given(Ongoing, 10, 1));
        world.kafka = kafka;
        if !as_released {
            world = world.without(defect);
        }
        world.metadata.partitions.get_mut(&TOPIC1_0).expect("it exists").leader = None;
        assert_eq!(world.end(2, COMMIT, 10, 1), "NONE (10,2)");
        assert_eq!(world.describe(), state);
        world.metadata.partitions.get_mut(&TOPIC1_0).expect("it exists").leader = Some(B2);
        world.call(TransactionCoordinator::on_metadata);
        assert_eq!(world.describe(), "CompleteCommit(10,2)");
        assert_eq!(world.marker_log.len(), usize::from(state == waits));
    }
}

#[test]
fn an_abort_at_the_last_epoch_is_asked_for_again_c_end_9_c_end_16() {
    let defect = Defect::UpstreamCoordinatorAbortAtLastEpochForgotten;
    for (as_released, answers) in [
        (true, ["CONCURRENT_TRANSACTIONS", "INVALID_PRODUCER_ID_MAPPING"]),
        (false, ["CONCURRENT_TRANSACTIONS", "NONE (11,0)"]),
    ] {
        let mut world = World::with(given(Ongoing, 10, 32767));
        if !as_released {
            world = repaired(defect, given(Ongoing, 10, 32767));
        }
        world.hold_markers = true;
        assert_eq!(world.end(2, ABORT, 10, 32767), "NONE (11,0)");
        let while_aborting = world.end(2, ABORT, 10, 32767);
        world.finish_markers(ErrorCode::None);
        assert_eq!([while_aborting, world.end(2, ABORT, 10, 32767)], answers);
    }
}

#[test]
fn the_end_of_a_fenced_producer_is_no_retry_of_its_successors_c_end_9() {
    let defect = Defect::UpstreamCoordinatorFencedEndTakesEpoch;
    for (as_released, answer) in [(true, "NONE (10,1)"), (false, "PRODUCER_FENCED")] {
        for result in [COMMIT, ABORT] {
            let mut world = World::with(given(Ongoing, 10, 1));
            if !as_released {
                world = repaired(defect, given(Ongoing, 10, 1));
            }
            assert_eq!(world.end(1, result, 10, 1), "NONE");
            assert_eq!(world.end(2, result, 10, 0), answer);
        }
    }
}

#[test]
fn a_lowered_transaction_version_wedges_an_idle_id_as_released_only_c_rec_2() {
    let defect = Defect::UpstreamCoordinatorDowngradeWedgesId;
    for (as_released, answers) in [
        (true, ["UNSUPPORTED_VERSION (-1,-1)", "CONCURRENT_TRANSACTIONS (-1,-1)"]),
        (false, ["NONE (10,2)", "NONE (10,3)"]),
    ] {
        let mut world = World::with(given(CompleteCommit, 10, 1));
        if !as_released {
            world = repaired(defect, given(CompleteCommit, 10, 1));
        }
        world.metadata.transaction_version = TransactionVersion::Tv0;
        assert_eq!([world.init(None), world.init(None)], answers);
    }
}

#[test]
fn one_id_at_the_last_epoch_ends_the_pass_of_time_outs_as_released_only_c_tmo_2() {
    let defect = Defect::UpstreamCoordinatorTimeoutsStopAtLastEpoch;
    for (as_released, state) in [(true, "Ongoing"), (false, "CompleteAbort")] {
        let mut world = World::new();
        world.kafka = KafkaVersion::V4_2;
        if !as_released {
            world = world.without(defect);
        }
        let names = &mut world.names;
        let ids: Vec<_> =
            (0..500).map(|n| names.add_transactional_id(&format!("other-{n}"))).collect();
        let beside = |id: &TransactionalId| {
            names.transaction_partition(*id, 50) == names.transaction_partition(KNOWN, 50)
        };
        let other = ids.into_iter().find(beside).expect("one in fifty is");
        let exhausted = given(Ongoing, 10, 32767).timeout(1).record();
        let record = given(Ongoing, 20, 1).timeout(1).record();
        let after = eosim_types::record::TransactionLogRecord { transactional_id: other, ..record };
        world.load(1, &[exhausted, after]);
        world.fire(AbortTimedOutTransactions);
        assert_eq!(world.describe(), "Ongoing(10,32767)");
        let held = world.coordinator.dump().into_iter().find(|held| held.transactional_id == other);
        assert_eq!(held.map(|held| held.state.name()), Some(state));
    }
}

#[test]
fn a_refused_completion_waits_for_a_wake_up_or_a_pause_c_mrk_12() {
    let defect = Defect::UpstreamCoordinatorCompletionWaitsForWakeUp;
    for (as_released, wait) in [(true, 30_000), (false, 5)] {
        let mut world = World::with(given(Ongoing, 10, 1));
        if !as_released {
            world = world.without(defect);
        }
        world.hold_markers = true;
        world.append_errors.extend([ErrorCode::None, ErrorCode::NotEnoughReplicas]);
        world.end(2, COMMIT, 10, 1);
        world.finish_markers(ErrorCode::None);
        assert_eq!(world.timers[&MarkerSender], world.now + Duration::from_millis(wait));
        world.fire(MarkerSender);
        assert_eq!(world.describe(), "CompleteCommit(10,2)");
    }
    // Any wake-up will do: here the decision of another transaction of the same coordinator.
    let mut world = World::with(given(Ongoing, 10, 1));
    world.append_errors.extend([ErrorCode::None, ErrorCode::NotEnoughReplicas]);
    world.end(2, COMMIT, 10, 1);
    let other = world.names.add_transactional_id("other");
    let record = eosim_types::record::TransactionLogRecord {
        transactional_id: other,
        ..given(PrepareCommit, 20, 1).record()
    };
    let partition = world.names.transaction_partition(other, 50);
    let epoch = eosim_types::CoordinatorEpoch(0);
    world.call(|c, cx| c.on_elected(cx, partition, epoch));
    world.call(|c, cx| c.on_loaded(cx, partition, epoch, [&record], 0, 0));
    assert_eq!(world.describe(), "CompleteCommit(10,2)");
}

#[test]
fn a_refused_marker_is_sent_again_after_a_pause_c_mrk_7() {
    let defect = Defect::UpstreamCoordinatorMarkerRetryWithoutBackoff;
    for (as_released, pause) in [(true, 1), (false, 5)] {
        let mut world = World::with(given(Ongoing, 10, 1));
        if !as_released {
            world = world.without(defect);
        }
        world.hold_markers = true;
        world.end(2, COMMIT, 10, 1);
        world.finish_markers(ErrorCode::NotEnoughReplicas);
        assert_eq!(world.timers[&MarkerSender], world.now + Duration::from_millis(pause));
    }
}

#[test]
fn a_fatal_answer_waits_for_its_barrier_hazard_h_5_c_res_2() {
    let defect = Defect::UpstreamCoordinatorStaleAnswerFences;
    // The producer has gone on at a new coordinator: this one's memory is old.
    for (log, end, add) in [
        (ErrorCode::NotLeaderOrFollower, "NOT_COORDINATOR", "NOT_COORDINATOR"),
        (ErrorCode::RequestTimedOut, "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_NOT_AVAILABLE"),
        (ErrorCode::None, "PRODUCER_FENCED", "PRODUCER_FENCED"),
    ] {
        let mut world = repaired(defect, given(Ongoing, 10, 1));
        world.append_errors.extend([log, log, log]);
        assert_eq!(world.end(2, COMMIT, 10, 2), end);
        assert_eq!(world.add(2, 10, 2, &[TOPIC1_0]), add);
        assert_eq!(world.verify(10, 2, &[TOPIC1_0]), add);
        assert_eq!(world.describe(), "Ongoing(10,1)");
    }
    let mut world = repaired(defect, given(Ongoing, 10, 1));
    world.hold_appends = true;
    let token = world.send(end_request(2, COMMIT, 10, 2));
    world.load(2, &[given(CompleteCommit, 10, 2).record()]);
    world.finish_append(ErrorCode::None);
    assert_eq!(world.answer(token), "NOT_COORDINATOR", "taken over anew meanwhile");
    // Retriable answers need no barrier.
    let mut world = repaired(defect, given(Ongoing, 10, 1));
    world.hold_appends = true;
    world.send(end_request(2, COMMIT, 10, 1));
    assert_eq!(world.end(2, COMMIT, 10, 1), "CONCURRENT_TRANSACTIONS");
}

#[test]
fn the_barrier_leaves_no_trace_in_a_load_hazard_h_5() {
    let mut world =
        repaired(Defect::UpstreamCoordinatorStaleAnswerFences, given(CompleteCommit, 10, 2));
    assert_eq!(world.add(2, 10, 1, &[TOPIC1_0]), "PRODUCER_FENCED");
    let mut records = vec![given(CompleteCommit, 10, 2).record()];
    records.extend(world.log.iter().map(|(_, record)| record.clone()));
    assert_eq!(records.len(), 2);
    world.load(2, &records);
    assert_eq!(world.describe(), "CompleteCommit(10,2)");
}

#[test]
fn init_of_an_old_epoch_aborts_or_is_fenced_c_init_23_c_init_16() {
    let defect = Defect::UpstreamCoordinatorInitAbortsWithAnyEpoch;
    for epoch in [1, 7] {
        let mut world = World::with(given(Ongoing, 10, 5).last(4));
        assert_eq!(world.init(Some((10, epoch))), "CONCURRENT_TRANSACTIONS (-1,-1)");
        let mut world = repaired(defect, given(Ongoing, 10, 5).last(4));
        assert_eq!(world.init(Some((10, epoch))), "PRODUCER_FENCED (-1,-1)");
        assert_eq!(world.describe(), "Ongoing(10,5)");
    }
    for epoch in [4, 5] {
        let mut world = repaired(defect, given(Ongoing, 10, 5).last(4));
        assert_eq!(world.init(Some((10, epoch))), "CONCURRENT_TRANSACTIONS (-1,-1)");
    }
}

#[test]
fn end_txn_before_replicated_answers_at_once() {
    for (tv, epoch, answer) in [(0, 1, "NONE"), (2, 1, "NONE (10,2)"), (2, 32766, "NONE (11,0)")] {
        let mut world = World::with(given(Ongoing, 10, epoch));
        world.defects = world.defects.with(Defect::CoordinatorEndTxnBeforeReplicated);
        world.hold_appends = true;
        let token = world.send(end_request(tv, COMMIT, 10, epoch));
        assert_eq!(world.answer(token), answer);
        world.finish_append(ErrorCode::RequestTimedOut);
        assert_eq!(world.answer(token), answer, "answered once");
        assert_eq!(world.known().state, Ongoing);
    }
}
