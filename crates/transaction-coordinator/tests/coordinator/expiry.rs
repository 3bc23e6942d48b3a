//! Transactional ids that expire: cases 80 to 83.

use eosim_transaction_coordinator::CoordinatorTimer::RemoveExpiredTransactionalIds;
use eosim_types::record::TransactionState::*;
use eosim_types::{CoordinatorEpoch, ErrorCode, Instant};

use crate::harness::*;

/// Seven days after the epoch in which the tests' records were written.
const EXPIRED: Instant = Instant(604_800_000_000);

fn tick(world: &mut World, now: Instant) {
    world.now = now;
    world.fire(RemoveExpiredTransactionalIds);
}

#[test]
fn idle_ids_expire_after_seven_days_case_80_c_exp_1_c_seq_18() {
    for (state, expires) in [
        (Empty, true),
        (CompleteCommit, true),
        (CompleteAbort, true),
        (Ongoing, false),
        (PrepareCommit, false),
        (PrepareAbort, false),
    ] {
        let mut world = World::new();
        world.hold_markers = true;
        world.load(1, &[given(state, 10, 1).record()]);
        tick(&mut world, Instant(EXPIRED.0 - 1_000));
        assert_eq!(world.new_records(), [""; 0], "a millisecond early");
        tick(&mut world, EXPIRED);
        assert_eq!(world.coordinator.dump().is_empty(), expires, "{state:?}");
        let records: &[&str] = if expires { &["tombstone"] } else { &[] };
        assert_eq!(world.new_records(), records);
    }
}

#[test]
fn a_failed_tombstone_keeps_the_id_cases_81_and_83_c_exp_3_c_exp_5() {
    for error in [ErrorCode::NotEnoughReplicas, ErrorCode::MessageTooLarge] {
        let mut world = World::with(given(CompleteAbort, 10, 1));
        world.append_errors.push_back(error);
        tick(&mut world, EXPIRED);
        assert_eq!(world.known().pending_state, None);
        tick(&mut world, EXPIRED);
        assert!(world.coordinator.dump().is_empty());
    }
}

#[test]
fn an_id_that_was_never_written_expires_case_82_c_exp_2_c_sm_8() {
    let mut world = World::new();
    world.append_errors.push_back(ErrorCode::NotEnoughReplicas);
    world.init(None);
    assert_eq!(world.known().producer_epoch.0, -1);
    tick(&mut world, Instant(EXPIRED.0 + 1_000_000));
    assert_eq!(world.new_records(), ["tombstone"]);
    assert!(world.coordinator.dump().is_empty());
}

#[test]
fn while_a_tombstone_is_written_all_wait_c_exp_4() {
    let mut world = World::with(given(CompleteCommit, 10, 1));
    world.hold_appends = true;
    tick(&mut world, EXPIRED);
    assert_eq!(world.held_appends[0].timeout, world.config.request_timeout);
    assert_eq!(world.init(None), "CONCURRENT_TRANSACTIONS (-1,-1)");
    assert_eq!(world.add(2, 10, 1, &[TOPIC1_0]), "CONCURRENT_TRANSACTIONS");
    assert_eq!(world.end(2, COMMIT, 99, 1), "CONCURRENT_TRANSACTIONS");
    assert_eq!(world.end(0, COMMIT, 10, 0), "PRODUCER_FENCED");
    assert_eq!(world.end(0, COMMIT, 10, 1), "CONCURRENT_TRANSACTIONS");
    world.finish_append(ErrorCode::None);
    world.hold_appends = false;
    assert_eq!(world.add(2, 10, 1, &[TOPIC1_0]), "INVALID_PRODUCER_ID_MAPPING");
    assert_eq!(world.init(Some((10, 1))), "NONE (11,0)");
}

#[test]
fn a_tombstone_of_an_older_coordinator_removes_nothing_c_exp_3() {
    let mut world = World::with(given(CompleteCommit, 10, 1));
    world.hold_appends = true;
    tick(&mut world, EXPIRED);
    world.load(2, &[given(CompleteCommit, 10, 1).record()]);
    world.finish_append(ErrorCode::None);
    assert_eq!(world.known().coordinator_epoch, CoordinatorEpoch(2));
}

#[test]
fn a_partition_that_is_loading_is_left_alone_c_exp_1() {
    let mut world = World::with(given(CompleteCommit, 10, 1));
    world.elect(2);
    tick(&mut world, EXPIRED);
    assert_eq!(world.new_records(), [""; 0]);
}
