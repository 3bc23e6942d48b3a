//! Election, loading, resignation: cases 74 to 79.

use eosim_transaction_coordinator::TransactionCoordinator;
use eosim_types::message::Request;
use eosim_types::record::TransactionLogRecord;
use eosim_types::record::TransactionState::*;
use eosim_types::{CoordinatorEpoch, Defect, ErrorCode, Topic, TopicPartition};

use crate::harness::*;

#[test]
fn the_last_record_of_an_id_wins_case_74_c_load_3_c_load_5_c_load_9_c_load_6_c_res_1() {
    let mut world = World::cold();
    assert_eq!(world.describe(), "NOT_COORDINATOR");
    world.hold_markers = true;
    let records = [
        given(Ongoing, 10, 1).parts(&[]).record(),
        given(Ongoing, 10, 1).record(),
        given(PrepareCommit, 10, 2).last(1).record(),
    ];
    world.load(0, &records);
    assert_eq!(world.describe(), "PrepareCommit(10,2)");
    assert_eq!(world.known().pending_state, Some(CompleteCommit));
    world.resign(Some(1));
    assert_eq!(world.describe(), "NOT_COORDINATOR");
    world.load(2, &records[..2]);
    assert_eq!(world.describe(), "Ongoing(10,1)");
}

#[test]
fn a_tombstone_removes_the_id_c_load_3() {
    let tombstone = TransactionLogRecord { transactional_id: KNOWN, value: None };
    let mut world = World::new();
    world.load(1, &[given(Empty, 10, 1).record(), tombstone]);
    assert_eq!(world.describe(), "TRANSACTIONAL_ID_NOT_FOUND");
}

#[test]
fn a_decision_is_taken_up_case_75_c_load_6_c_mrk_13_c_part_4() {
    for (state, marker) in [(PrepareCommit, "COMMIT"), (PrepareAbort, "ABORT")] {
        let mut world = World::new();
        world.load(7, &[given(state, 10, 2).parts(&[TOPIC1_0, TOPIC1_1]).record()]);
        assert_eq!(
            world.marker_log,
            [
                format!("b1 {marker}(10,2) coordinator epoch 7 tv2 topic1-0"),
                format!("b2 {marker}(10,2) coordinator epoch 7 tv2 topic1-1"),
            ]
        );
        assert_eq!(world.new_records().len(), 1);
    }
}

#[test]
fn a_load_that_ends_after_the_resignation_is_discarded_case_76_c_load_6_c_res_1() {
    for resigned in [None, Some(1)] {
        let mut world = World::cold();
        world.elect(0);
        world.resign(resigned);
        world.finish_load(0, &[given(Empty, 10, 1).record()], 1, 1);
        assert_eq!(world.describe(), "NOT_COORDINATOR");
    }
    let mut world = World::cold();
    world.elect(2);
    world.resign(Some(1));
    assert_eq!(world.describe(), "COORDINATOR_LOAD_IN_PROGRESS", "a later load goes on");
}

#[test]
fn an_election_without_a_resignation_replaces_the_cache_case_77_c_load_1_c_load_2_c_lk_1() {
    let mut world = World::with(given(Empty, 10, 1));
    world.elect(2);
    assert_eq!(world.describe(), "COORDINATOR_LOAD_IN_PROGRESS", "the old cache is hidden");
    world.finish_load(2, &[given(Empty, 10, 5).record()], 1, 1);
    assert_eq!(world.describe(), "Empty(10,5)");
    assert_eq!(world.known().coordinator_epoch, CoordinatorEpoch(2));
}

#[test]
fn an_unreadable_log_ends_the_load_case_78_c_load_4() {
    let mut world = World::cold();
    world.elect(0);
    world.finish_load(0, &[], 5, 5);
    assert_eq!(world.describe(), "TRANSACTIONAL_ID_NOT_FOUND");
    assert!(!world.coordinator.awaits_confirmation());
}

#[test]
fn two_loads_at_once_c_load_8_c_mrk_9() {
    let mut world = World::cold();
    world.hold_markers = true;
    world.elect(0);
    world.elect(2);
    assert_eq!(world.loads.len(), 2);
    world.finish_load(0, &[given(PrepareCommit, 10, 2).record()], 1, 1);
    assert_eq!(world.describe(), "COORDINATOR_LOAD_IN_PROGRESS");
    world.finish_markers(ErrorCode::None);
    assert_eq!(world.new_records(), [""; 0], "the first load's markers are dropped");
    world.finish_load(2, &[given(PrepareCommit, 10, 2).record()], 1, 1);
    world.finish_markers(ErrorCode::None);
    assert_eq!(world.new_records(), ["CompleteCommit(10,2,-1) [] ctv 2"]);
    assert!(world.marker_log[1].contains("coordinator epoch 2"));
}

#[test]
fn two_loads_that_await_one_high_watermark_both_end_c_load_8_h_2() {
    let mut world = World::cold().without(Defect::UpstreamCoordinatorLoadActsAboveHighWatermark);
    let partition = world.partition();
    world.elect(1);
    world.elect(2);
    for epoch in [1, 2] {
        world.finish_load(epoch, &[given(Ongoing, 10, 2).record()], 3, 1);
    }
    world.call(|c, cx| c.on_confirmed(cx, partition, 2));
    assert_eq!(world.describe(), "COORDINATOR_LOAD_IN_PROGRESS");
    world.call(|c, cx| c.on_confirmed(cx, partition, 3));
    assert_eq!(world.describe(), "Ongoing(10,2)");
    assert_eq!(world.known().coordinator_epoch, CoordinatorEpoch(2));
    assert!(!world.coordinator.awaits_confirmation());
}

#[test]
fn another_number_of_partitions_stops_the_load_for_good_c_part_3() {
    let mut world = World::cold();
    let extra = TopicPartition::new(Topic::TRANSACTION_STATE, 50);
    let registration = world.metadata.partitions[&TOPIC1_0].clone();
    world.metadata.partitions.insert(extra, registration);
    world.load(0, &[]);
    assert_eq!(world.describe(), "COORDINATOR_LOAD_IN_PROGRESS");
}

#[test]
fn without_the_topic_fifty_partitions_are_assumed_c_part_3() {
    let mut world = World::cold();
    let partitions = world.metadata.partitions.clone();
    world.metadata.partitions.clear();
    world.call(TransactionCoordinator::start);
    world.metadata.partitions = partitions;
    world.load(0, &[]);
    assert_eq!(world.describe(), "TRANSACTIONAL_ID_NOT_FOUND");
}

#[test]
fn version_0_values_forget_what_is_tagged_c_load_5_c_rec_4_case_84() {
    use eosim_types::version::TransactionVersion::Tv0;
    let mut world = World::with_server(given(Ongoing, 10, 1).tv(0).prev(9), Tv0);
    assert_eq!(world.end(0, COMMIT, 10, 1), "NONE");
    let value = world.log[0].1.value.clone().expect("a value");
    assert_eq!((value.version, value.previous_producer_id.0), (0, -1));
    world.metadata.transaction_version = eosim_types::version::TransactionVersion::Tv2;
    world.init(None);
    let value = world.log[2].1.value.clone().expect("a value");
    assert_eq!((value.version, value.previous_producer_id.0), (1, 10), "C-TV-1: re-read");
}

#[test]
fn a_deposed_coordinator_answers_from_memory_c_res_2() {
    let mut world = World::with(given(Ongoing, 10, 1));
    world.hold_appends = true;
    let end = world.send(Request::from(end_request(2, COMMIT, 10, 1)));
    assert_eq!(world.verify(10, 1, &[TOPIC1_0]), "NONE");
    assert_eq!(world.end(2, COMMIT, 10, 1), "CONCURRENT_TRANSACTIONS");
    world.finish_append(ErrorCode::NotLeaderOrFollower);
    assert_eq!(world.answer(end), "NOT_COORDINATOR");
}

#[test]
fn a_load_waits_for_the_high_watermark_hazard_h_2_repaired() {
    let defect = Defect::UpstreamCoordinatorLoadActsAboveHighWatermark;
    let mut world = World::cold().without(defect);
    world.elect(0);
    world.finish_load(0, &[given(PrepareCommit, 10, 2).record()], 8, 7);
    world.now.0 += 1;
    let partition = world.partition();
    world.call(|c, cx| c.on_confirmed(cx, partition, 7));
    world.call(|c, cx| c.on_confirmed(cx, partition + 1, 8));
    assert_eq!(world.describe(), "COORDINATOR_LOAD_IN_PROGRESS");
    assert_eq!(world.marker_log, [""; 0]);
    world.call(|c, cx| c.on_confirmed(cx, partition, 8));
    assert_eq!(world.describe(), "CompleteCommit(10,2)");
    // As released, what lies above it is acted on.
    let mut world = World::cold();
    world.elect(0);
    world.finish_load(0, &[given(PrepareCommit, 10, 2).record()], 8, 7);
    assert_eq!(world.describe(), "CompleteCommit(10,2)");
}
