//! Markers and completions: cases 85 to 98.

use eosim_transaction_coordinator::CoordinatorTimer::MarkerSender;
use eosim_transaction_coordinator::TransactionCoordinator;
use eosim_types::message::WriteTxnMarkersResponse;
use eosim_types::record::TransactionLogRecord;
use eosim_types::record::TransactionState::*;
use eosim_types::version::KafkaVersion;
use eosim_types::{CoordinatorEpoch, Duration, ErrorCode, TransactionalId};

use crate::harness::*;

const BOTH: [eosim_types::TopicPartition; 2] = [TOPIC1_0, TOPIC1_1];

/// [`KNOWN`] with both partitions of topic1 decided, markers open.
fn decided() -> World {
    let mut world = World::new();
    world.hold_markers = true;
    world.load(1, &[given(PrepareCommit, 10, 2).parts(&BOTH).record()]);
    world
}

/// A second id whose partition is loaded with one decided transaction on topic1-0.
fn decide_other(world: &mut World) -> (TransactionalId, i32) {
    let other = world.names.add_transactional_id("other");
    let partition = world.names.transaction_partition(other, 50);
    let record = given(PrepareAbort, 20, 5).record();
    let record = TransactionLogRecord { transactional_id: other, ..record };
    let epoch = CoordinatorEpoch(3);
    world.call(|c, cx| c.on_elected(cx, partition, epoch));
    world.call(|c, cx| c.on_loaded(cx, partition, epoch, [&record], 0, 0));
    (other, partition)
}

#[test]
fn one_request_per_broker_with_a_marker_per_transaction_case_85_c_mrk_2_c_mrk_6_c_mrk_7() {
    let mut world = decided();
    decide_other(&mut world);
    // Broker 1 has a request open already, so the second transaction waits for the next round.
    assert_eq!(world.marker_log.len(), 2);
    world.finish_markers(ErrorCode::NotEnoughReplicas);
    assert_eq!(world.marker_log.len(), 2, "a pause after a refusal");
    world.fire(MarkerSender);
    assert_eq!(
        world.marker_log[2..],
        [
            "b1 ABORT(20,5) coordinator epoch 3 tv2 topic1-0",
            "b1 COMMIT(10,2) coordinator epoch 1 tv2 topic1-0",
        ]
        .map(String::from)
    );
    assert_eq!(world.markers[1].2.markers.len(), 2, "two markers in one request");
}

#[test]
fn markers_carry_their_version_from_4_2_on_c_mrk_2() {
    for (kafka, version) in [(KafkaVersion::V4_1, 1), (KafkaVersion::V4_2, 2)] {
        let mut world = World::new();
        world.kafka = kafka;
        world.hold_markers = true;
        world.load(1, &[given(PrepareCommit, 10, 2).parts(&BOTH).record()]);
        assert_eq!(world.markers[0].2.version, version, "{kafka:?}");
    }
}

#[test]
fn a_deleted_partition_gets_no_marker_case_86_c_mrk_4() {
    let mut world = World::new();
    world.hold_markers = true;
    world.metadata.partitions.remove(&TOPIC1_0);
    world.load(1, &[given(PrepareCommit, 10, 2).parts(&BOTH).record()]);
    assert_eq!(world.known().partitions, [TOPIC1_1]);
    assert_eq!(world.marker_log, ["b2 COMMIT(10,2) coordinator epoch 1 tv2 topic1-1"]);
    world.finish_markers(ErrorCode::None);
    assert_eq!(world.describe(), "CompleteCommit(10,2)");
}

#[test]
fn an_unknown_leader_is_waited_for_case_87_c_mrk_3_c_mrk_6() {
    let mut world = World::new();
    world.hold_markers = true;
    world.metadata.brokers.remove(&B1);
    world.load(1, &[given(PrepareCommit, 10, 2).parts(&BOTH).record()]);
    world.call(TransactionCoordinator::on_metadata);
    assert_eq!(world.marker_log, ["b2 COMMIT(10,2) coordinator epoch 1 tv2 topic1-1"]);
    let registration = world.metadata.brokers[&B2].clone();
    world.metadata.brokers.insert(B1, registration);
    world.call(TransactionCoordinator::on_metadata);
    assert_eq!(world.marker_log[1..], ["b1 COMMIT(10,2) coordinator epoch 1 tv2 topic1-0"]);
}

#[test]
fn a_purge_takes_one_state_partition_alone_case_88_c_mrk_14() {
    let mut world = decided();
    let (_, partition) = decide_other(&mut world);
    world.resign(Some(2));
    world.call(|c, cx| c.on_resigned(cx, partition, None));
    world.finish_markers(ErrorCode::None);
    world.finish_markers(ErrorCode::None);
    assert_eq!(world.marker_log.len(), 2, "the queued marker is gone");
    assert_eq!(world.new_records(), [""; 0]);
}

#[test]
fn all_markers_written_completes_once_cases_89_and_93_c_mrk_1_c_mrk_10_c_sm_13() {
    for tv in [0, 2] {
        let mut world = World::new();
        world.hold_markers = true;
        world.load(1, &[given(PrepareCommit, 10, 2).tv(tv).parts(&BOTH).record()]);
        world.finish_markers(ErrorCode::None);
        assert_eq!(world.describe(), "PrepareCommit(10,2)");
        world.finish_markers(ErrorCode::None);
        assert_eq!(world.new_records(), [format!("CompleteCommit(10,2,-1) [] ctv {tv}")]);
        assert_eq!((world.known().state, world.known().pending_state), (CompleteCommit, None));
    }
}

#[test]
fn a_completion_is_dropped_or_retried_cases_90_and_91_c_mrk_11_c_mrk_12() {
    let mut world = World::with(given(Ongoing, 10, 1).parts(&[TOPIC1_0]));
    world.append_errors.extend([ErrorCode::None, ErrorCode::NotLeaderOrFollower]);
    assert_eq!(world.end(2, COMMIT, 10, 1), "NONE (10,2)");
    assert_eq!((world.known().state, world.known().pending_state), (PrepareCommit, None));
    assert!(!world.timers.contains_key(&MarkerSender));

    let mut world = World::with(given(Ongoing, 10, 1).parts(&[TOPIC1_0]));
    world.append_errors.extend([ErrorCode::None, ErrorCode::NotEnoughReplicas]);
    assert_eq!(world.end(2, COMMIT, 10, 1), "NONE (10,2)");
    assert_eq!(world.known().pending_state, Some(CompleteCommit));
    world.fire(MarkerSender);
    assert_eq!(world.describe(), "CompleteCommit(10,2)");
}

#[test]
fn a_retried_completion_of_a_lost_partition_is_dropped_c_mrk_14() {
    let mut world = World::with(given(Ongoing, 10, 1));
    world.append_errors.extend([ErrorCode::None, ErrorCode::NotEnoughReplicas]);
    world.end(2, COMMIT, 10, 1);
    world.resign(Some(2));
    world.fire(MarkerSender);
    assert_eq!(world.new_records().len(), 1, "the decision alone");
}

/// How the old marker ends while the new one is under way.
type OldMarker = fn(&mut World);

#[test]
fn a_marker_of_an_older_epoch_is_dropped_without_harm_case_92_c_mrk_8_c_mrk_9() {
    let endings: [OldMarker; 2] = [|w| w.finish_markers(ErrorCode::None), World::lose_markers];
    for ending in endings {
        let record = [given(PrepareCommit, 10, 2).record()];
        // The answer comes while the partition is lost.
        let mut world = World::new();
        world.hold_markers = true;
        world.load(1, &record);
        world.resign(Some(2));
        ending(&mut world);
        world.load(3, &record);
        if world.markers.is_empty() {
            world.fire(MarkerSender);
        }
        world.finish_markers(ErrorCode::None);
        assert_eq!(world.new_records(), ["CompleteCommit(10,2,-1) [] ctv 2"]);
        // The answer comes after the reload.
        let mut world = World::new();
        world.hold_markers = true;
        world.load(1, &record);
        world.load(3, &record);
        assert_eq!(world.marker_log.len(), 1, "one request per broker");
        ending(&mut world);
        if world.markers.is_empty() {
            world.fire(MarkerSender);
        }
        assert!(world.marker_log[1].contains("coordinator epoch 3"));
        world.finish_markers(ErrorCode::None);
        assert_eq!(world.new_records(), ["CompleteCommit(10,2,-1) [] ctv 2"]);
        assert_eq!(world.known().coordinator_epoch, CoordinatorEpoch(3));
    }
}

#[test]
fn a_lost_connection_sends_everything_again_case_94_c_mrk_8() {
    let mut world = decided();
    world.lose_markers();
    assert_eq!(world.marker_log.len(), 2);
    let before = world.now;
    world.fire(MarkerSender);
    assert_eq!(world.now, before + Duration::from_millis(50), "the reconnect back-off");
    assert_eq!(world.marker_log[2], world.marker_log[0]);
}

#[test]
fn a_new_leader_is_found_after_a_lost_connection_c_mrk_8() {
    let mut world = decided();
    world.metadata.partitions.get_mut(&TOPIC1_0).expect("it exists").leader = Some(B2);
    world.lose_markers();
    world.finish_markers(ErrorCode::None);
    assert_eq!(world.marker_log[2], "b2 COMMIT(10,2) coordinator epoch 1 tv2 topic1-0");
}

#[test]
fn some_errors_are_retried_case_95_c_mrk_9() {
    for error in [
        ErrorCode::UnknownTopicOrPartition,
        ErrorCode::NotLeaderOrFollower,
        ErrorCode::NotEnoughReplicas,
        ErrorCode::NotEnoughReplicasAfterAppend,
        ErrorCode::RequestTimedOut,
        ErrorCode::KafkaStorageError,
    ] {
        let mut world = decided();
        world.finish_markers(error);
        assert_eq!(world.known().partitions, BOTH);
        world.fire(MarkerSender);
        assert_eq!(world.marker_log.len(), 3, "{error}");
    }
}

#[test]
fn fencing_errors_and_unknown_ones_leave_it_stuck_cases_96_and_98_c_mrk_9() {
    for error in [
        ErrorCode::InvalidProducerEpoch,
        ErrorCode::TransactionCoordinatorFenced,
        ErrorCode::UnknownServerError,
        ErrorCode::CorruptMessage,
        ErrorCode::MessageTooLarge,
        ErrorCode::RecordListTooLarge,
        ErrorCode::InvalidRequiredAcks,
    ] {
        let mut world = decided();
        world.finish_markers(error);
        world.finish_markers(ErrorCode::None);
        assert_eq!(world.known().partitions, [TOPIC1_0], "the other one is written");
        assert_eq!(world.end(2, COMMIT, 10, 1), "CONCURRENT_TRANSACTIONS", "{error}");
        assert!(!world.timers.contains_key(&MarkerSender));
    }
    let mut world = decided();
    let (broker, correlation, _) = world.markers.pop_front().expect("markers are open");
    let nothing = WriteTxnMarkersResponse::default();
    world.call(|c, cx| c.on_marker_response(cx, broker, correlation, Some(&nothing)));
    assert_eq!(world.known().partitions, BOTH, "the producer id is missing");
}

#[test]
fn an_old_message_format_counts_as_written_case_97_c_mrk_9() {
    for error in
        [ErrorCode::None, ErrorCode::UnsupportedForMessageFormat, ErrorCode::UnsupportedVersion]
    {
        let mut world = decided();
        world.finish_markers(error);
        assert_eq!(world.known().partitions, [TOPIC1_1]);
    }
}

#[test]
fn a_failover_sends_all_markers_again_c_mrk_13() {
    let mut world = decided();
    world.finish_markers(ErrorCode::None);
    world.load(2, &[given(PrepareCommit, 10, 2).parts(&BOTH).record()]);
    assert_eq!(world.marker_log[2], "b1 COMMIT(10,2) coordinator epoch 2 tv2 topic1-0");
}
