//! Worked cases of the idempotent producer.

mod harness;

use eosim_types::config::ProducerConfig;
use eosim_types::{DefectSet, Duration, ErrorCode as E};
use harness::{Harness, config};

/// A producer with `n` batches of one record in flight in partition 0.
fn in_flight(producer_epoch: i16, n: usize) -> (Harness, Vec<eosim_clients::producer::CallId>) {
    let mut h = Harness::idempotent(&config(), producer_epoch);
    let calls = (0..n).map(|_| h.send(0)).collect();
    (h, calls)
}

#[test]
fn id_is_asked_for_at_once_and_sequences_are_given_at_drain_p_seq_8_p_acc_5() {
    let mut h = Harness::new(&config(), None);
    assert_eq!(h.on_wire(), ["InitProducerId(-1, -1)"]);
    h.send_only(0);
    h.send_only(0);
    h.run();
    h.answer_init(0, E::None, 1000, 0);
    assert_eq!(h.on_wire(), ["t-0 e0 s0+2"]);
}

#[test]
fn at_most_five_requests_are_in_flight_p_acc_2() {
    let (h, _) = in_flight(0, 7);
    assert_eq!(h.on_wire().len(), 5);
    assert_eq!(h.on_wire()[4], "t-0 e0 s4+1");
}

#[test]
fn w_01_unknown_producer_id_bumps_without_a_request_and_renumbers_p_seq_3_p_seq_4() {
    let (mut h, _) = in_flight(1, 5);
    h.defects = DefectSet::as_released();
    h.answer_produce(0, E::None);
    h.next_offset = 501;
    h.answer_produce_with(0, E::UnknownProducerId, 500);
    assert_eq!(h.id_and_epoch(), (13131, 2));
    assert_eq!(h.numbering(0), (4, -1, 0, 4));
    assert!(!h.log.iter().skip(1).any(|line| line.contains("InitProducerId")));
    for _ in 0..3 {
        h.answer_produce(0, E::OutOfOrderSequenceNumber);
    }
    h.sleep(200);
    assert_eq!(h.on_wire(), ["t-0 e2 s0+1"], "one at a time, in order");
}

#[test]
fn w_05_expiry_in_retry_bumps_once_nothing_is_in_flight_p_seq_5_p_seq_6() {
    let (mut h, calls) = in_flight(1, 1);
    h.sleep(1_000);
    assert!(!h.is_complete(calls[0]), "the first attempt timed out, the second is to come");
    h.sleep(499);
    assert_eq!(h.on_wire(), ["t-0 e1 s0+1"]);
    h.sleep(1);
    assert_eq!(h.failure(calls[0]), Some(E::RequestTimedOut));
    h.send(0);
    assert_eq!((h.epoch(), h.on_wire().last().cloned()), (2, Some("t-0 e2 s0+1".into())));
}

#[test]
fn w_09_several_in_flight_are_retried_in_order_one_at_a_time_p_acc_4_p_acc_7() {
    let (mut h, calls) = in_flight(0, 3);
    h.answer_produce(0, E::LeaderNotAvailable);
    let fourth = h.send(0);
    h.answer_produce(0, E::OutOfOrderSequenceNumber);
    h.answer_produce(0, E::OutOfOrderSequenceNumber);
    for sequence in 0..2 {
        h.sleep(100);
        assert_eq!(h.on_wire(), [format!("t-0 e0 s{sequence}+1")]);
        h.answer_produce(0, E::None);
    }
    // The last one that is retried holds nothing back that has no sequence yet (P-ACC-6).
    assert_eq!(h.on_wire(), ["t-0 e0 s2+1", "t-0 e0 s3+1"]);
    h.answer_produce(0, E::None);
    h.answer_produce(0, E::None);
    assert!(calls.iter().chain([&fourth]).all(|call| h.failure(*call).is_none()));
    assert_eq!((h.epoch(), h.numbering(0)), (0, (4, 3, 3, 0)));
}

#[test]
fn w_10_refused_first_batch_bumps_and_the_second_is_renumbered_p_seq_7() {
    let (mut h, calls) = in_flight(0, 2);
    h.defects = DefectSet::as_released();
    h.answer_produce(0, E::MessageTooLarge);
    assert_eq!(h.failure(calls[0]), Some(E::MessageTooLarge));
    assert!(h.records[&calls[0]].definitely_refused, "P-MOD-4");
    assert_eq!((h.epoch(), h.numbering(0)), (1, (1, -1, -1, 1)));
    h.answer_produce(0, E::OutOfOrderSequenceNumber);
    h.sleep(100);
    assert_eq!(h.on_wire(), ["t-0 e1 s0+1"]);
    h.answer_produce(0, E::None);
    assert_eq!((h.failure(calls[1]), h.numbering(0).1), (None, 0));
}

/// A new leader that knew nothing of the producer took the second batch, whose answer did not say
/// so, and refuses the first.
fn refused_ahead_of_a_batch_that_may_be_written(defects: DefectSet) -> Harness {
    let (mut h, _) = in_flight(0, 2);
    h.defects = defects;
    h.answer_produce(0, E::NotLeaderOrFollower);
    h.answer_produce(0, E::RequestTimedOut);
    h.sleep(100);
    h.answer_produce(0, E::OutOfOrderSequenceNumber);
    h.sleep(100);
    h
}

#[test]
fn a_batch_that_may_be_written_is_renumbered_only_as_released_p_seq_3_p_seq_4() {
    let released = refused_ahead_of_a_batch_that_may_be_written(DefectSet::as_released());
    assert_eq!((released.on_wire(), released.numbering(0).0), (vec!["t-0 e1 s0+1".into()], 2));
    let mut repaired = refused_ahead_of_a_batch_that_may_be_written(DefectSet::NONE);
    assert_eq!(repaired.on_wire(), ["t-0 e0 s0+1"]);
    repaired.sleep(1_500);
    let third = repaired.send(0);
    assert_eq!(repaired.on_wire().last().unwrap(), "t-0 e1 s0+1", "the bump comes with the expiry");
    assert!(!repaired.is_complete(third));
}

/// The leader knew nothing of the producer and took its third batch for the first (L-SEQ-4).
fn overtaken_by_the_third_batch(defects: DefectSet) -> (Harness, eosim_clients::producer::CallId) {
    let mut h = Harness::idempotent(&config(), 0);
    h.defects = defects;
    h.send(0);
    h.sleep(500);
    let second = h.send(0);
    h.send(0);
    for error in [E::NotLeaderOrFollower, E::NotLeaderOrFollower, E::None] {
        h.answer_produce(0, error);
    }
    while h.on_wire() != ["t-0 e1 s0+1"] && !h.is_complete(second) {
        h.sleep(50);
        if h.on_wire().first().is_some_and(|first| first.starts_with("t-0 e0")) {
            h.answer_produce(0, E::OutOfOrderSequenceNumber);
        }
    }
    (h, second)
}

#[test]
fn an_overtaken_batch_is_renumbered_only_as_released_p_seq_3_p_seq_4() {
    let (released, second) = overtaken_by_the_third_batch(DefectSet::as_released());
    assert_eq!(released.on_wire(), ["t-0 e1 s0+1"], "it will land behind the third");
    assert!(!released.is_complete(second));
    let (mut repaired, second) = overtaken_by_the_third_batch(DefectSet::NONE);
    assert!(repaired.failure(second) == Some(E::RequestTimedOut), "it expired");
    let fourth = repaired.send(0);
    assert_eq!(repaired.on_wire(), ["t-0 e0 s3+1"], "it follows on the third");
    repaired.answer_produce(0, E::None);
    assert!(repaired.is_complete(fourth) && repaired.failure(fourth).is_none());
}

/// The sixth batch waits for its turn, leaves late, and expires before its only request does.
fn expired_in_its_first_attempt(defects: DefectSet) -> Harness {
    let (mut h, calls) = in_flight(0, 6);
    h.defects = defects;
    h.sleep(600);
    for _ in 0..5 {
        h.answer_produce(0, E::None);
    }
    assert_eq!(h.on_wire(), ["t-0 e0 s5+1"]);
    h.sleep(900);
    assert_eq!(h.failure(calls[5]), Some(E::RequestTimedOut));
    h.sleep(60_000);
    h
}

#[test]
fn a_first_attempt_that_expires_leaves_a_mark_except_as_released_p_seq_5_p_snd_9() {
    let mut released = expired_in_its_first_attempt(DefectSet::as_released());
    let next = released.send(0);
    assert_eq!(released.on_wire(), ["t-0 e0 s6+1"], "nobody has noticed the gap");
    while !released.is_complete(next) {
        released.answer_produce(0, E::OutOfOrderSequenceNumber);
        released.sleep(100);
    }
    released.send(0);
    assert_eq!(released.on_wire().last().unwrap(), "t-0 e1 s0+1", "the bump comes with its expiry");
    let mut repaired = expired_in_its_first_attempt(DefectSet::NONE);
    repaired.send(0);
    assert_eq!(repaired.on_wire(), ["t-0 e1 s0+1"]);
}

#[test]
fn w_11_out_of_order_of_the_batch_next_in_line_bumps_p_seq_2_p_seq_4() {
    let (mut h, _) = in_flight(0, 3);
    h.answer_produce(0, E::None);
    h.answer_produce(0, E::None);
    h.answer_produce(0, E::OutOfOrderSequenceNumber);
    h.sleep(100);
    assert_eq!((h.epoch(), h.on_wire()), (1, vec!["t-0 e1 s0+1".into()]));
    assert_eq!(h.numbering(0).0, 1);
}

#[test]
fn w_12_another_partition_goes_on_with_its_old_epoch_until_its_next_drain_p_seq_9() {
    let mut h = Harness::idempotent(&config(), 0);
    for partition in [0, 1] {
        h.send(partition);
        h.answer_produce(0, E::None);
    }
    h.send(0);
    h.answer_produce(0, E::OutOfOrderSequenceNumber);
    assert_eq!((h.numbering(0).0, h.numbering(1).0), (1, 1));
    h.sleep(100);
    h.answer_produce(0, E::None);
    h.send(1);
    assert_eq!(h.on_wire(), ["t-1 e1 s0+1"]);
}

#[test]
fn w_08_a_healthy_partition_finishes_its_old_epoch_first_p_acc_4() {
    let mut h = Harness::idempotent(&config(), 1);
    for partition in [0, 1] {
        h.send(partition);
        h.answer_produce(0, E::None);
    }
    h.send(0);
    h.send(1);
    h.answer_produce_with(0, E::UnknownProducerId, 10);
    assert_eq!(h.epoch(), 2);
    let waiting = h.send(1);
    h.answer_produce(0, E::NotLeaderOrFollower);
    h.sleep(100);
    h.sleep(100);
    let wire = h.on_wire().join(", ");
    assert!(wire.contains("t-1 e1 s1+1") && wire.contains("t-0 e2 s0+1"), "{wire}");
    while !h.wire.is_empty() {
        h.answer_produce(0, E::None);
    }
    assert!(h.log.last().is_some_and(|line| line.contains("t-1 e2 s0+1")), "{:?}", h.log);
    assert_eq!(h.failure(waiting), None);
}

#[test]
fn w_13_answers_out_of_order_leave_the_queue_in_order_p_acc_7() {
    let (mut h, _) = in_flight(0, 2);
    h.answer_produce(1, E::OutOfOrderSequenceNumber);
    h.answer_produce(0, E::NotLeaderOrFollower);
    for sequence in 0..2 {
        h.sleep(100);
        assert_eq!(h.on_wire(), [format!("t-0 e0 s{sequence}+1")]);
        h.answer_produce(0, E::None);
    }
}

#[test]
fn w_14_w_15_a_late_first_batch_leaves_the_last_acknowledged_alone_p_seq_1() {
    for (error, offset) in [(E::RequestTimedOut, Some(1)), (E::DuplicateSequenceNumber, None)] {
        let (mut h, calls) = in_flight(0, 2);
        h.answer_produce(1, E::None);
        h.answer_produce(0, error);
        if error == E::RequestTimedOut {
            h.sleep(100);
            h.answer_produce(0, E::None);
        }
        assert_eq!(h.records[&calls[0]].result, Ok(offset), "{error}");
        assert_eq!(h.numbering(0).1, 1, "{error}");
    }
}

/// Two batches, the first of which expired in retry while the second is on the wire again, and a
/// third one behind them.
fn first_expired_in_retry() -> (Harness, [eosim_clients::producer::CallId; 3]) {
    let mut h = Harness::idempotent(&config(), 0);
    let first = h.send(0);
    h.sleep(200);
    let second = h.send(0);
    h.answer_produce(0, E::RequestTimedOut);
    h.sleep(1_200);
    let third = h.send(0);
    h.sleep(101);
    assert_eq!(h.failure(first), Some(E::RequestTimedOut));
    assert_eq!(h.manager().unresolved, [(harness::t(0), 1)]);
    assert_eq!(h.on_wire(), ["t-0 e0 s0+1", "t-0 e0 s1+1"]);
    (h, [first, second, third])
}

#[test]
fn w_16_the_success_of_the_batch_behind_resolves_the_partition_p_seq_6() {
    let (mut h, [_, second, _]) = first_expired_in_retry();
    h.answer_produce(1, E::None);
    assert_eq!(h.failure(second), None);
    assert!(h.manager().unresolved.is_empty());
    assert_eq!((h.epoch(), h.on_wire()[1].as_str()), (0, "t-0 e0 s2+1"));
}

#[test]
fn w_17_the_failure_of_the_batch_behind_bumps_the_epoch_p_seq_4() {
    let (mut h, _) = first_expired_in_retry();
    h.answer_produce(1, E::OutOfOrderSequenceNumber);
    assert!(h.manager().unresolved.is_empty());
    assert_eq!((h.epoch(), h.numbering(0).0), (1, 1));
    h.sleep(100);
    assert_eq!(h.on_wire()[1..], ["t-0 e1 s0+1", "t-0 e1 s1+1"]);
}

#[test]
fn w_18_a_batch_that_expires_without_having_been_sent_leaves_no_mark_p_seq_5() {
    let mut h = Harness::new(&config(), None);
    h.defects = DefectSet::as_released();
    let call = h.send(0);
    h.answer_init(0, E::CoordinatorLoadInProgress, -1, -1);
    h.sleep(1_700);
    assert!(h.manager().unresolved.is_empty());
    h.answer_init(0, E::None, 13131, 0);
    h.sleep(1);
    assert_eq!(h.failure(call), Some(E::RequestTimedOut), "P-SND-1: expiry waits for the answer");
    assert_eq!(h.epoch(), 0);
}

#[test]
fn w_19_w_20_unknown_producer_id_by_log_start_p_seq_4() {
    for (log_start, expected) in [(1010, "t-0 e1 s0+2"), (-1, "t-0 e0 s1+2")] {
        let mut h = Harness::idempotent(&config(), 0);
        h.next_offset = 1000;
        h.send(0);
        h.answer_produce(0, E::None);
        h.send_only(0);
        h.send_only(0);
        h.run();
        h.answer_produce_with(0, E::UnknownProducerId, log_start);
        h.sleep(100);
        assert_eq!(h.on_wire(), [expected]);
    }
}

#[test]
fn w_21_init_producer_id_is_retried_one_constant_backoff_later_p_snd_6() {
    let mut h = Harness::new(&config(), None);
    for _ in 0..2 {
        assert_eq!(h.on_wire().len(), 1);
        h.answer_init(0, E::CoordinatorLoadInProgress, -1, -1);
        h.sleep(99);
        assert!(h.on_wire().is_empty());
        h.sleep(1);
    }
    assert_eq!(h.on_wire(), ["InitProducerId(-1, -1)"]);
}

#[test]
fn w_22_a_fatal_error_fails_everything_and_late_success_is_ignored_p_acc_12() {
    let (mut h, calls) = in_flight(0, 2);
    h.answer_produce(0, E::ClusterAuthorizationFailed);
    assert_eq!(h.state(), "FATAL_ERROR");
    assert_eq!(h.failure(calls[1]), Some(E::ClusterAuthorizationFailed));
    h.answer_produce(0, E::None);
    assert!(h.completed_twice.is_empty());
    assert!(!h.records[&calls[1]].definitely_refused, "it was on the wire (P-MOD-4)");
}

#[test]
fn a_lost_request_is_sent_again_bit_for_bit_p_snd_8() {
    let (mut h, calls) = in_flight(0, 2);
    h.disconnect(1);
    h.sleep(100);
    assert_eq!(h.on_wire(), ["t-0 e0 s0+1"]);
    h.answer_produce(0, E::None);
    h.answer_produce(0, E::None);
    assert!(calls.iter().all(|call| h.failure(*call).is_none()));
}

#[test]
fn a_retried_batch_gets_new_numbers_only_with_the_switch_on() {
    let (mut h, _) = in_flight(0, 1);
    h.defects = eosim_types::DefectSet::NONE.with(eosim_types::Defect::ClientNewSequenceOnRetry);
    h.disconnect(1);
    h.sleep(100);
    assert_eq!(h.on_wire(), ["t-0 e0 s1+1"]);
}

#[test]
fn a_batch_that_is_too_large_is_split_and_keeps_its_numbers_p_acc_8() {
    let mut h = Harness::idempotent(&config(), 0);
    let calls = [h.send_only(0), h.send_only(0)];
    h.run();
    h.answer_produce(0, E::MessageTooLarge);
    assert_eq!(h.on_wire(), ["t-0 e0 s0+2"], "one part: it was no larger than batch.size");
    h.answer_produce(0, E::MessageTooLarge);
    for sequence in 0..2 {
        assert_eq!(h.on_wire(), [format!("t-0 e0 s{sequence}+1")]);
        h.answer_produce(0, E::None);
    }
    assert!(calls.iter().all(|call| h.failure(*call).is_none()));
    assert_eq!(h.numbering(0), (2, 1, 1, 0));
}

#[test]
fn one_blocked_partition_blocks_its_leader_p_acc_3() {
    let (mut h, _) = in_flight(0, 2);
    h.answer_produce(0, E::CorruptMessage);
    h.answer_produce(0, E::OutOfOrderSequenceNumber);
    h.sleep(100);
    assert_eq!(h.on_wire(), ["t-0 e0 s0+1"]);
    h.sleep(50);
    h.send(1);
    assert_eq!(h.on_wire(), ["t-0 e0 s0+1"], "t-1 waits behind the retries of t-0");
    h.answer_produce(0, E::None);
    h.sleep(1);
    assert!(h.on_wire().join(" ").contains("t-1 e0 s0+1"));
}

#[test]
fn linger_holds_a_batch_back_until_it_is_over_or_the_batch_is_full_p_acc_1() {
    let config = ProducerConfig { linger: Duration::from_millis(50), ..config() };
    let mut h = Harness::idempotent(&config, 0);
    h.send(0);
    h.sleep(49);
    assert!(h.on_wire().is_empty());
    h.sleep(1);
    assert_eq!(h.on_wire(), ["t-0 e0 s0+1"]);
    h.send(0);
    h.call(eosim_clients::producer::Call::Flush);
    assert_eq!(h.on_wire().len(), 2);
}

#[test]
fn w_02_an_exhausted_epoch_gets_a_new_id_and_batches_are_not_sent_without_one_p_seq_10() {
    let released = eosim_types::DefectSet::as_released();
    for (defects, resent) in [(released, "t-0 e-1 s0+1"), (Default::default(), "")] {
        let mut h = Harness::idempotent(&config(), i16::MAX);
        h.defects = defects;
        h.send(0);
        h.answer_produce(0, E::OutOfOrderSequenceNumber);
        assert_eq!(h.on_wire(), ["InitProducerId(-1, -1)"]);
        h.answer_init(0, E::None, 13132, 0);
        h.sleep(100);
        let expected = if resent.is_empty() { "t-0 e0 s0+1" } else { resent };
        assert_eq!(h.on_wire(), [expected]);
    }
}
