//! One transactional id by itself: cases 35, 58, 59, 73, 99 to 103.

use eosim_transaction_coordinator::TransactionMetadata;
use eosim_types::record::TransactionResult;
use eosim_types::record::TransactionState::{self, *};
use eosim_types::version::{KafkaVersion, TransactionVersion};
use eosim_types::{DefectSet, Env, ErrorCode, Instant, Marks, ProducerEpoch, ProducerId};

use crate::harness::*;

fn env(marks: &mut Marks, now_ms: u64) -> Env<'_> {
    Env {
        now: Instant(now_ms * 1000),
        clock_skew_ms: 0,
        kafka: KafkaVersion::V4_5,
        backports: eosim_types::CapabilitySet::NONE,
        defects: DefectSet::NONE,
        marks,
    }
}

fn metadata(state: TransactionState, epoch: i16, last: i16) -> TransactionMetadata {
    let mut metadata = TransactionMetadata::new(ProducerId(23423), 30_000, 0);
    metadata.state = state;
    metadata.producer_epoch = ProducerEpoch(epoch);
    metadata.last_producer_epoch = ProducerEpoch(last);
    metadata
}

#[test]
fn a_clock_that_goes_back_is_tolerated_case_35_c_sm_5() {
    let mut marks = Marks::new();
    let mut metadata = metadata(Empty, 1, -1);
    for (now, partition) in [(999, TOPIC1_1), (998, TOPIC1_0)] {
        let mut env = env(&mut marks, now);
        let added = [partition];
        let transit =
            metadata.prepare_add_partitions(&mut env, &added, TransactionVersion::Tv0).expect("ok");
        metadata.complete_transition(&mut env, transit);
    }
    assert_eq!(metadata.topic_partitions, [TOPIC1_0, TOPIC1_1]);
    assert_eq!(metadata.transaction_start_timestamp, 999);
    assert_eq!(metadata.transaction_last_update_timestamp, 998);
}

/// KAFKA-20090: until 4.2 a transaction at epoch 32767 could be neither fenced nor aborted.
#[test]
fn the_last_epoch_can_be_fenced_and_aborted_from_4_3_on_c_sm_2_c_sm_6() {
    let refused = Err(ErrorCode::UnknownServerError);
    let cases = [(KafkaVersion::V4_2, refused), (KafkaVersion::V4_3, Ok(32767))];
    for (kafka, expected) in cases {
        let mut marks = Marks::new();
        let mut env = Env { kafka, ..env(&mut marks, 0) };
        let fenced = metadata(Ongoing, 32767, -1).prepare_fence_producer_epoch(&mut env);
        assert_eq!(fenced.map(|epoch| epoch.0), expected, "{kafka:?}");
        let aborted = metadata(Ongoing, 32767, -1).prepare_abort_or_commit(
            &mut env,
            TransactionResult::Abort,
            TransactionVersion::Tv2,
            ProducerId(23424),
            false,
        );
        assert_eq!(aborted.map(|transit| transit.producer_epoch.0), expected, "{kafka:?}");
    }
}

#[test]
fn an_exhausted_epoch_is_not_bumped_case_99_c_sm_3() {
    let mut marks = Marks::new();
    let result = metadata(Empty, 32766, -1).prepare_increment_producer_epoch(
        &mut env(&mut marks, 0),
        30_000,
        None,
        ProducerEpoch(0),
    );
    assert_eq!(result.err(), Some(ErrorCode::UnknownServerError));
}

#[test]
fn bumps_with_an_expected_epoch_case_100_c_sm_3() {
    let cases = [
        (-1, -1, 735, Ok((0, -1))),
        (735, 734, 734, Ok((735, 734))),
        (735, 734, 733, Err(ErrorCode::ProducerFenced)),
        (735, 734, 735, Ok((736, 735))),
    ];
    let mut marks = Marks::new();
    for (epoch, last, expected, outcome) in cases {
        let result = metadata(Empty, epoch, last).prepare_increment_producer_epoch(
            &mut env(&mut marks, 0),
            30_000,
            Some(ProducerEpoch(expected)),
            ProducerEpoch(0),
        );
        let result = result.map(|t| (t.producer_epoch.0, t.last_producer_epoch.0));
        assert_eq!(result, outcome);
    }
}

#[test]
fn fences_at_the_last_epochs_and_after_a_failure_case_101_c_sm_2() {
    let mut marks = Marks::new();
    for (epoch, failed, fenced) in
        [(1, false, 2), (2, true, 2), (32766, false, 32767), (32767, false, 32767)]
    {
        let mut metadata = metadata(Ongoing, epoch, -1);
        metadata.has_failed_epoch_fence = failed;
        let result = metadata.prepare_fence_producer_epoch(&mut env(&mut marks, 0));
        assert_eq!(result, Ok(ProducerEpoch(fenced)));
        assert_eq!(metadata.pending_state, Some(PrepareEpochFence));
        assert_eq!(metadata.producer_epoch, ProducerEpoch(epoch));
    }
}

#[test]
fn fence_and_rotation_are_refused_elsewhere_case_102_c_sm_1_c_sm_4() {
    let mut marks = Marks::new();
    for state in [Empty, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort] {
        let fenced = metadata(state, 1, -1).prepare_fence_producer_epoch(&mut env(&mut marks, 0));
        assert_eq!(fenced, Err(ErrorCode::UnknownServerError), "{state:?}");
    }
    for state in [Ongoing, PrepareCommit, PrepareAbort] {
        let rotated = metadata(state, 32766, -1).prepare_producer_id_rotation(
            &mut env(&mut marks, 0),
            ProducerId(9893),
            30_000,
            true,
        );
        assert_eq!(rotated.err(), Some(ErrorCode::UnknownServerError), "{state:?}");
    }
}

#[test]
fn a_rotation_records_the_last_epoch_case_103_c_sm_4() {
    let mut marks = Marks::new();
    let mut metadata = metadata(Empty, 32766, -1);
    let mut env = env(&mut marks, 0);
    let transit = metadata
        .prepare_producer_id_rotation(&mut env, ProducerId(9893), 30_000, true)
        .expect("an idle id");
    metadata.complete_transition(&mut env, transit);
    assert_eq!((metadata.producer_id.0, metadata.producer_epoch.0), (9893, 0));
    assert_eq!((metadata.previous_producer_id.0, metadata.last_producer_epoch.0), (23423, 32766));
}

#[test]
fn a_decision_bumps_or_rotates_case_58_c_sm_6_c_sm_7_c_sm_10() {
    let mut marks = Marks::new();
    for (epoch, next, prepared, completed) in
        [(10, -1, 11, (23423, 11, 10)), (32766, 9893, 32767, (9893, 0, 32766))]
    {
        let mut metadata = metadata(Ongoing, epoch, -1);
        metadata.transaction_start_timestamp = 0;
        let mut env = env(&mut marks, 0);
        let (commit, tv2) = (TransactionResult::Commit, TransactionVersion::Tv2);
        let transit = metadata
            .prepare_abort_or_commit(&mut env, commit, tv2, ProducerId(next), false)
            .expect("an open transaction");
        metadata.complete_transition(&mut env, transit);
        assert_eq!((metadata.producer_id.0, metadata.producer_epoch.0), (23423, prepared));
        let transit = metadata.prepare_complete(&mut env).expect("a decision");
        metadata.complete_transition(&mut env, transit);
        let TransactionMetadata { producer_id, producer_epoch, last_producer_epoch, .. } = metadata;
        assert_eq!((producer_id.0, producer_epoch.0, last_producer_epoch.0), completed);
        assert_eq!(metadata.next_producer_id, ProducerId::NONE);
    }
}

#[test]
#[should_panic(expected = "the pending state changed")]
fn a_pending_state_cleared_behind_the_append_throws_case_73_c_sm_9() {
    let mut marks = Marks::new();
    let mut env = env(&mut marks, 0);
    let mut metadata = metadata(Empty, 1, -1);
    let transit = metadata
        .prepare_increment_producer_epoch(&mut env, 1, None, ProducerEpoch(0))
        .expect("idle");
    metadata.pending_state = None;
    metadata.complete_transition(&mut env, transit);
}

#[test]
#[should_panic(expected = "does not follow from")]
fn a_transition_that_does_not_follow_throws_c_sm_11() {
    let mut marks = Marks::new();
    let mut env = env(&mut marks, 0);
    let mut metadata = metadata(Empty, 1, -1);
    let transit = metadata
        .prepare_increment_producer_epoch(&mut env, 1, None, ProducerEpoch(0))
        .expect("idle");
    metadata.producer_epoch = ProducerEpoch(7);
    metadata.complete_transition(&mut env, transit);
}

#[test]
#[should_panic(expected = "partition removed in state Ongoing")]
fn a_partition_is_removed_in_prepare_alone_c_sm_13() {
    let mut marks = Marks::new();
    metadata(Ongoing, 1, -1).remove_partition(&mut env(&mut marks, 0), TOPIC1_0);
}

#[test]
fn dead_is_pending_only_and_allowed_without_an_epoch_c_sm_8() {
    let mut marks = Marks::new();
    let mut metadata = metadata(Empty, -1, -1);
    let transit = metadata.prepare_dead(&mut env(&mut marks, 0)).expect("idle");
    assert_eq!((transit.state, metadata.pending_state), (Dead, Some(Dead)));
}
