//! Blocks of producer ids: cases 104 to 107.

use eosim_transaction_coordinator::TransactionCoordinator;
use eosim_types::message::AllocateProducerIdsResponse;
use eosim_types::{Duration, ErrorCode, ProducerId};

use crate::harness::*;

const FULL: &str = "COORDINATOR_LOAD_IN_PROGRESS (-1,-1)";

fn block(first: i64, len: i32) -> AllocateProducerIdsResponse {
    AllocateProducerIdsResponse {
        error: ErrorCode::None,
        producer_id_start: ProducerId(first),
        producer_id_len: len,
    }
}

/// A broker whose controller answers only by hand.
fn silent() -> World {
    let mut world = World::cold();
    world.gives_ids = false;
    world
}

fn answer(world: &mut World, response: &AllocateProducerIdsResponse) {
    world.call(|c, cx| c.on_producer_ids(cx, Some(response)));
}

#[test]
fn ids_are_distinct_over_blocks_of_any_length_case_104_c_pid_1_c_pid_5() {
    for len in [1, 2, 10, 100] {
        let mut world = silent();
        let mut next_block = 0;
        let mut ids = Vec::new();
        while ids.len() < 3 * usize::try_from(len).expect("a length") {
            match world.init_idempotent().as_str() {
                FULL => {}
                given => ids.push(given.to_string()),
            }
            if world.asked_for_ids > next_block {
                answer(&mut world, &block(i64::from(next_block) * i64::from(len), len));
                next_block += 1;
            }
        }
        let expected: Vec<_> = (0..3 * len).map(|id| format!("NONE ({id},0)")).collect();
        assert_eq!(ids, expected);
    }
}

#[test]
fn a_block_is_asked_for_once_and_ahead_c_pid_2_c_pid_3() {
    let mut world = silent();
    for _ in 0..3 {
        assert_eq!(world.init_idempotent(), FULL);
    }
    assert_eq!(world.asked_for_ids, 1);
    answer(&mut world, &block(0, 1000));
    for _ in 0..900 {
        world.init_idempotent();
    }
    assert_eq!(world.asked_for_ids, 1);
    assert_eq!(world.init_idempotent(), "NONE (900,0)");
    assert_eq!(world.asked_for_ids, 2, "the 901st id of 1000 asks for the next block");
    answer(&mut world, &block(1000, 1000));
    for _ in 901..1000 {
        world.init_idempotent();
    }
    assert_eq!(world.init_idempotent(), "NONE (1000,0)");
    assert_eq!(world.asked_for_ids, 2);
}

#[test]
fn an_error_pauses_requests_for_50_ms_case_105_c_pid_4() {
    for error in [
        ErrorCode::StaleBrokerEpoch,
        ErrorCode::BrokerIdNotRegistered,
        ErrorCode::ClusterAuthorizationFailed,
        ErrorCode::UnsupportedVersion,
    ] {
        let mut world = silent();
        assert_eq!(world.init_idempotent(), FULL);
        answer(&mut world, &AllocateProducerIdsResponse { error, ..block(0, 1000) });
        assert_eq!((world.init_idempotent().as_str(), world.asked_for_ids), (FULL, 1));
        world.now += Duration::from_millis(50);
        assert_eq!((world.init_idempotent().as_str(), world.asked_for_ids), (FULL, 2));
        answer(&mut world, &block(0, 1000));
        assert_eq!(world.init_idempotent(), "NONE (0,0)");
    }
}

#[test]
fn a_channel_that_gave_up_is_used_again_at_once_c_pid_4_c_pid_6() {
    let mut world = silent();
    world.init_idempotent();
    world.call(|c, cx| c.on_producer_ids(cx, None));
    world.init_idempotent();
    assert_eq!(world.asked_for_ids, 2);
}

#[test]
fn impossible_blocks_are_rejected_cases_106_and_107_c_pid_3() {
    for bad in [block(-1, 10), block(200, -1), block(i64::MAX - 1, 10), block(199, 10)] {
        let mut world = silent();
        world.init_idempotent();
        answer(&mut world, &block(100, 100));
        for _ in 0..100 {
            world.init_idempotent();
        }
        answer(&mut world, &bad);
        assert_eq!(world.init_idempotent(), FULL, "{bad:?}");
    }
}

#[test]
fn a_crash_loses_both_blocks_c_pid_7() {
    let mut world = silent();
    world.init_idempotent();
    answer(&mut world, &block(0, 1000));
    assert_eq!(world.init_idempotent(), "NONE (0,0)");
    world.call(|c, _| c.reset());
    world.call(TransactionCoordinator::start);
    assert_eq!((world.init_idempotent().as_str(), world.asked_for_ids), (FULL, 2));
}

#[test]
fn a_failed_rotation_wastes_its_id_c_pid_8() {
    use eosim_types::record::TransactionState::Empty;
    let mut world = World::with(given(Empty, 10, 32766));
    world.append_errors.push_back(ErrorCode::NotEnoughReplicas);
    assert_eq!(world.init(None), "COORDINATOR_NOT_AVAILABLE (-1,-1)");
    assert_eq!(world.init(None), "NONE (12,0)");
}
