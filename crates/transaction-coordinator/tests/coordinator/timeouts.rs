//! Transactions that time out: cases 56, 57, 60 to 64.

use eosim_transaction_coordinator::CoordinatorTimer::AbortTimedOutTransactions;
use eosim_types::record::TransactionState::*;
use eosim_types::version::TransactionVersion::*;
use eosim_types::{Defect, ErrorCode, Instant};

use crate::harness::*;

#[test]
fn a_timed_out_transaction_is_fenced_and_aborted_case_60_c_tmo_2_c_seq_8_c_end_22() {
    let cases = [
        (Tv0, "PrepareAbort(10,2,-1) [topic1-0] prev -1 ctv 0", 0),
        (Tv1, "PrepareAbort(10,2,-1) [topic1-0] ctv 0", 0),
        (Tv2, "PrepareAbort(10,2,1) [topic1-0] ctv 2", 2),
    ];
    for (server, record, tv) in cases {
        let mut world = World::with_server(given(Ongoing, 10, 1).timeout(1), server);
        world.fire(AbortTimedOutTransactions);
        assert_eq!(world.new_records()[0], record);
        let value = world.log[0].1.value.clone().expect("a value");
        assert_eq!((value.start_timestamp_ms, value.last_update_timestamp_ms), (0, 11_000));
        let marker = format!("b1 ABORT(10,2) coordinator epoch 1 tv{tv} topic1-0");
        assert_eq!(world.marker_log, [marker]);
        assert_eq!(world.describe(), "CompleteAbort(10,2)");
    }
}

#[test]
fn the_task_runs_every_ten_seconds_c_tmo_3() {
    let mut world = World::with(given(Ongoing, 10, 1).timeout(10_999));
    assert_eq!(world.timers[&AbortTimedOutTransactions], Instant(11_000_000));
    // At 11 s the transaction is 11 s old, and the deadline is strict (C-TMO-1).
    world.fire(AbortTimedOutTransactions);
    assert_eq!(world.describe(), "CompleteAbort(10,2)");
    let mut world = World::with(given(Ongoing, 10, 1).timeout(11_000));
    world.fire(AbortTimedOutTransactions);
    assert_eq!(world.describe(), "Ongoing(10,1)");
    world.fire(AbortTimedOutTransactions);
    assert_eq!(world.now, Instant(21_000_000));
    assert_eq!(world.describe(), "CompleteAbort(10,2)");
}

#[test]
fn only_ongoing_with_nothing_pending_times_out_cases_62_and_64_c_tmo_1() {
    for state in [Empty, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort] {
        let mut world = World::new();
        world.hold_markers = true;
        world.load(1, &[given(state, 10, 1).timeout(1).record()]);
        world.fire(AbortTimedOutTransactions);
        assert_eq!(world.new_records(), [""; 0], "{state:?}");
    }
    let mut world = World::with(given(Ongoing, 10, 1).timeout(1));
    world.hold_appends = true;
    world.send(end_request(2, COMMIT, 10, 1));
    world.fire(AbortTimedOutTransactions);
    assert_eq!(world.held_appends.len(), 1);
    let mut world = World::with(given(Ongoing, 10, 1).timeout(i32::MAX));
    world.now = Instant(u64::MAX / 2);
    world.fire(AbortTimedOutTransactions);
    assert_eq!(world.describe(), "Ongoing(10,1)", "two-phase commit never times out");
}

#[test]
fn a_failed_abort_is_tried_again_case_63_c_end_19() {
    for (server, epoch) in [(Tv0, 2), (Tv2, 1)] {
        let ctv = if server == Tv0 { 0 } else { 2 };
        let mut world = World::with_server(given(Ongoing, 10, 1).timeout(1).tv(ctv), server);
        world.append_errors.push_back(ErrorCode::NotEnoughReplicas);
        world.fire(AbortTimedOutTransactions);
        assert_eq!(world.describe(), format!("Ongoing(10,{epoch})"));
        world.fire(AbortTimedOutTransactions);
        assert_eq!(world.describe(), "CompleteAbort(10,2)", "bumped once in all");
    }
}

#[test]
fn a_timeout_at_the_last_epoch_rotates_cases_56_and_57_c_seq_14() {
    let mut world = World::with(given(Ongoing, 10, 32766).timeout(1));
    world.hold_markers = true;
    world.fire(AbortTimedOutTransactions);
    assert_eq!(world.describe(), "PrepareAbort(10,32767)");
    world.finish_markers(ErrorCode::None);
    assert_eq!(world.describe(), "CompleteAbort(11,0)");
    assert_eq!(world.end(2, ABORT, 10, 32766), "NONE (11,0)");
    assert_eq!(
        world.new_records(),
        [
            "PrepareAbort(10,32767,32766) [topic1-0] next 11 ctv 2",
            "CompleteAbort(11,0,32766) [] prev 10 ctv 2",
        ]
    );
}

#[test]
fn the_timeout_runs_on_across_a_failover_c_load_7() {
    let mut world = World::with(given(Ongoing, 10, 1).timeout(5_000));
    world.resign(Some(2));
    world.load(3, &[given(Ongoing, 10, 1).timeout(5_000).record()]);
    world.fire(AbortTimedOutTransactions);
    assert_eq!(world.describe(), "CompleteAbort(10,2)");
}

#[test]
fn a_partition_that_is_loading_is_left_alone_c_tmo_2() {
    let mut world = World::with(given(Ongoing, 10, 1).timeout(1));
    world.elect(2);
    world.fire(AbortTimedOutTransactions);
    assert_eq!(world.new_records(), [""; 0]);
}

#[test]
fn without_the_bump_the_producer_is_not_fenced_defect_b13() {
    let mut world = World::with(given(Ongoing, 10, 1).timeout(1));
    world.defects = world.defects.with(Defect::CoordinatorTimeoutNoEpochBump);
    world.fire(AbortTimedOutTransactions);
    assert_eq!(world.describe(), "CompleteAbort(10,1)");
    assert_eq!(world.marker_log, ["b1 ABORT(10,1) coordinator epoch 1 tv0 topic1-0"]);
    assert_eq!(world.add(2, 10, 1, &[TOPIC1_0]), "NONE");
}
