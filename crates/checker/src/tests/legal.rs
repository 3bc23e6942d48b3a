//! What must never be reported: the legal oddities N1 to N14, and the limits of each promise.

use eosim_types::observation::{EndOutcome, Observed, SendOutcome};
use eosim_types::record::{TransactionResult, TransactionState};
use eosim_types::{
    ActorId, CoordinatorEpoch, Duration, ErrorCode, Instant, ProducerEpoch, ProducerId, Sequence,
    TransactionalId,
};

use crate::testing::{
    ABORT, COMMIT, COMMITTED, GROUP, History, ID, OFFSETS, P0, P1, UNCOMMITTED, UNKNOWN_END,
    UNKNOWN_SEND,
};

#[test]
fn n1_a_commit_becomes_visible_partition_by_partition() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    h.write(&mut p, P0);
    h.write(&mut p, P1);
    h.end_called(&p, true);
    h.bump(&mut p);
    h.marker(p.id, p.epoch, P0, COMMIT);
    h.read(9, P0, COMMITTED);
    h.read(9, P1, COMMITTED);
    h.end_answered(&p, true, EndOutcome::Done);
    let mut halfway = h.dump();
    halfway.healed = false;
    assert_eq!(h.anomalies_in(&halfway), []);
    h.marker(p.id, p.epoch, P1, COMMIT);
    h.read(9, P1, COMMITTED);
    h.is_sound();
}

#[test]
fn what_is_deleted_holds_no_end_back_l_lso_5() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    h.write(&mut p, P0);
    h.write(&mut p, P0);
    h.told_end(9, (P0, COMMITTED), 1);
    h.commit(&mut p, &[P0]);
    h.setup.deletable.push(P0.topic);
    let mut dump = h.dump();
    dump.replicas[0].log_start_offset = 1;
    assert_eq!(h.anomalies_in(&dump), []);
    dump.replicas[0].log_start_offset = 0;
    h.breaks_in(&dump, "end-offset");
}

#[test]
fn ends_are_told_late_and_cross_between_readers() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    h.write(&mut p, P0);
    h.told_end(9, (P0, COMMITTED), 0);
    h.told_end(9, (P0, UNCOMMITTED), 1);
    h.end_called(&p, true);
    h.told_end(9, (P0, COMMITTED), 2);
    h.told_end(10, (P0, COMMITTED), 0);
    let mut before = h.dump();
    before.at = Instant(0);
    before.healed = false;
    h.bump(&mut p);
    h.marker(p.id, p.epoch, P0, COMMIT);
    h.end_answered(&p, true, EndOutcome::Done);
    h.is_sound();
    assert_eq!(h.anomalies_in(&before), []);
    h.begin(&mut p);
    h.write(&mut p, P0);
    h.told_end(9, (P0, COMMITTED), 3);
    h.abort(&mut p, &[P0]);
    h.is_sound();
}

#[test]
fn what_fails_after_another_or_for_good_is_not_given_up_early() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    h.setup.delivery_timeouts.push((p.actor, Duration::from_millis(3)));
    h.begin(&mut p);
    let (first, second) = (h.send(&p, P0), h.send(&p, P0));
    let passes = SendOutcome::Unknown { error: ErrorCode::NotEnoughReplicas };
    for _ in 0..3 {
        h.see(ActorId(9), Observed::PositionSet { partition: P1, offset: 0 });
    }
    h.answer(&p, P0, first, passes);
    let late = h.send(&p, P0);
    h.answer(&p, P0, second, passes);
    h.answer(&p, P0, late, passes);
    for error in [ErrorCode::RequestTimedOut, ErrorCode::MessageTooLarge] {
        let q = h.producer(6, None);
        h.setup.delivery_timeouts.push((q.actor, Duration::from_millis(20_000)));
        let value = h.send(&q, P1);
        h.answer(&q, P1, value, SendOutcome::Unknown { error });
    }
    h.is_sound();
}

/// Both were in one batch that was too large, and its parts have its age (P-ACC-8).
#[test]
fn a_part_of_a_batch_is_as_old_as_the_whole_for_given_up_early() {
    let mut h = History::new();
    let q = h.producer(6, None);
    h.setup.delivery_timeouts.push((q.actor, Duration::from_millis(3)));
    let first = h.send(&q, P1);
    h.see(ActorId(9), Observed::PositionSet { partition: P0, offset: 0 });
    let second = h.send(&q, P1);
    h.answer(&q, P1, first, SendOutcome::Unknown { error: ErrorCode::RequestTimedOut });
    h.answer(&q, P1, second, SendOutcome::Unknown { error: ErrorCode::NotEnoughReplicas });
    h.is_sound();
}

#[test]
fn n2_transactions_interleave_in_any_order() {
    let mut h = History::new();
    let (mut p, mut q) = (h.producer(5, Some(ID)), h.producer(6, None));
    q.in_transaction = false;
    h.begin(&mut p);
    h.begin(&mut q);
    h.write(&mut p, P0);
    h.write(&mut q, P0);
    h.write(&mut q, P1);
    h.write(&mut p, P1);
    h.commit(&mut q, &[P0, P1]);
    h.commit(&mut p, &[P1, P0]);
    h.read(9, P0, COMMITTED);
    h.read(9, P1, COMMITTED);
    h.is_sound();
}

#[test]
fn n2_committed_transactions_may_each_read_what_the_other_wrote() {
    let mut h = History::new();
    let (mut p, mut q) = (h.producer(5, Some(ID)), h.producer(6, Some(TransactionalId(2))));
    h.begin(&mut p);
    h.begin(&mut q);
    h.write(&mut p, P0);
    h.write(&mut q, P1);
    for producer in [&mut p, &mut q] {
        h.end_called(producer, true);
        h.bump(producer);
    }
    h.marker(p.id, p.epoch, P0, COMMIT);
    h.marker(q.id, q.epoch, P1, COMMIT);
    h.read(p.actor.0, P1, COMMITTED);
    h.read(q.actor.0, P0, COMMITTED);
    h.end_answered(&p, true, EndOutcome::Done);
    h.end_answered(&q, true, EndOutcome::Done);
    h.is_sound();
}

#[test]
fn n3_a_read_right_after_commit_returns_nothing_new() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    h.write(&mut p, P0);
    h.end_called(&p, true);
    h.end_answered(&p, true, EndOutcome::Done);
    h.read(9, P0, COMMITTED);
    h.bump(&mut p);
    h.marker(p.id, p.epoch, P0, COMMIT);
    h.is_sound();
}

#[test]
fn n4_offsets_have_gaps_at_markers_and_aborted_batches() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    for commit in [true, false, true] {
        h.begin(&mut p);
        h.write(&mut p, P0);
        h.write(&mut p, P0);
        h.end(&mut p, &[P0], commit);
    }
    h.read(9, P0, COMMITTED);
    h.is_sound();
}

#[test]
fn n5_read_uncommitted_shows_aborted_records() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    h.write(&mut p, P0);
    h.read(9, P0, UNCOMMITTED);
    h.abort(&mut p, &[P0]);
    h.read(10, P0, UNCOMMITTED);
    h.is_sound();
}

#[test]
fn n6_unknown_outcomes_may_be_durable_or_not() {
    for (commit, answered) in [(true, true), (false, true), (true, false), (false, false)] {
        let mut h = History::new();
        let mut p = h.producer(5, Some(ID));
        h.begin(&mut p);
        h.write(&mut p, P0);
        h.end_called(&p, true);
        if answered {
            h.end_answered(&p, true, UNKNOWN_END);
        }
        h.bump(&mut p);
        h.marker(p.id, p.epoch, P0, TransactionResult::from_committed(commit));
        h.read(9, P0, COMMITTED);
        let mut q = h.producer(6, None);
        let kept = h.send(&q, P1);
        h.append(&mut q, P1, &[kept]);
        h.answer(&q, P1, kept, UNKNOWN_SEND);
        let lost = h.send(&q, P1);
        h.answer(&q, P1, lost, UNKNOWN_SEND);
        h.send(&q, P1);
        h.is_sound();
    }
}

#[test]
fn n6_an_abort_that_timed_out_may_find_the_transaction_committed() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    h.write(&mut p, P0);
    for commit in [true, false] {
        h.end_called(&p, commit);
        h.end_answered(&p, commit, UNKNOWN_END);
    }
    h.bump(&mut p);
    h.marker(p.id, p.epoch, P0, COMMIT);
    h.read(9, P0, COMMITTED);
    h.is_sound();
}

#[test]
fn n7_epoch_jump_by_two_is_legal() {
    let mut h = History::new();
    let mut old = h.producer(5, Some(ID));
    h.begin(&mut old);
    h.write(&mut old, P0);
    h.marker(old.id, ProducerEpoch(1), P0, ABORT);
    let mut new = h.session(ActorId(6), 0, Some(ID), (old.id, ProducerEpoch(2)));
    h.begin(&mut new);
    h.write(&mut new, P0);
    h.commit(&mut new, &[P0]);
    h.read(9, P0, COMMITTED);
    h.is_sound();
}

#[test]
fn n8_a_fenced_producer_sees_either_error() {
    for error in [ErrorCode::InvalidProducerEpoch, ErrorCode::ProducerFenced] {
        let mut h = History::new();
        let mut old = h.producer(5, Some(ID));
        h.begin(&mut old);
        h.write(&mut old, P0);
        h.marker(old.id, ProducerEpoch(1), P0, ABORT);
        h.session(ActorId(6), 0, Some(ID), (old.id, ProducerEpoch(2)));
        let refused = h.send(&old, P0);
        h.answer(&old, P0, refused, SendOutcome::Refused { error });
        h.end_called(&old, true);
        h.end_answered(&old, true, EndOutcome::Refused { error });
        h.see(old.actor, Observed::ProducerFailed { session: 0, error });
        h.is_sound();
    }
}

#[test]
fn overlapping_inits_leave_open_who_is_newer() {
    let mut h = History::new();
    let (opened, returned) = (
        |id| Observed::ProducerOpened { session: 0, transactional_id: Some(id) },
        Observed::TransactionsInitialized { session: 0 },
    );
    h.see(ActorId(6), opened(ID));
    let mut last = h.producer(5, Some(ID));
    h.see(ActorId(6), returned);
    h.begin(&mut last);
    h.write(&mut last, P0);
    h.commit(&mut last, &[P0]);
    h.is_sound();
}

#[test]
fn n9_an_old_duplicate_is_refused_without_effect() {
    let mut h = History::new();
    let mut p = h.producer(5, None);
    for _ in 0..6 {
        h.write(&mut p, P0);
    }
    let error = ErrorCode::OutOfOrderSequenceNumber;
    h.is_sound();
    // It is a violation only if it reaches a producer with at most five requests in flight.
    h.see(p.actor, Observed::ProducerFailed { session: 0, error });
    h.breaks("healthy-producer-failed");
    h.setup.legal_fatal_errors.push(error);
    h.is_sound();
}

#[test]
fn n10_a_second_identical_marker_has_no_effect() {
    for result in [COMMIT, ABORT] {
        let mut h = History::new();
        let mut p = h.producer(5, Some(ID));
        h.begin(&mut p);
        h.write(&mut p, P0);
        h.end(&mut p, &[P0], result == COMMIT);
        h.marker(p.id, p.epoch, P0, result);
        h.begin(&mut p);
        h.write(&mut p, P0);
        h.commit(&mut p, &[P0]);
        h.read(9, P0, COMMITTED);
        h.is_sound();
    }
}

#[test]
fn n11_what_the_application_sent_twice_may_lie_there_twice() {
    let mut h = History::new();
    let mut p = h.producer(5, None);
    let value = h.write(&mut p, P0);
    h.send_value(&p, P0, value, None);
    let offset = h.append(&mut p, P0, &[value]);
    h.acknowledge(&p, P0, value, offset);
    h.see(p.actor, Observed::ProducerClosed { session: 0 });
    let mut next = h.session(p.actor, 1, None, (ProducerId(77), ProducerEpoch(0)));
    h.send_value(&next, P0, value, None);
    let offset = h.append(&mut next, P0, &[value]);
    h.acknowledge(&next, P0, value, offset);
    h.read(9, P0, COMMITTED);
    h.is_sound();
}

#[test]
fn n12_a_live_unexpired_transaction_may_hold_the_last_stable_offset() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    h.write(&mut p, P0);
    h.coordinator(&p, TransactionState::Ongoing, &[P0]);
    let mut other = h.producer(6, None);
    h.write(&mut other, P0);
    h.read(9, P0, COMMITTED);
    h.is_sound();
    let begun = h.now;
    h.now = Instant(begun.0 + 70_000_000);
    h.is_sound();
    h.now = Instant(begun.0 + 80_000_000);
    h.breaks("open-transaction");
}

#[test]
fn n13_inputs_are_read_again_after_an_abort() {
    let mut h = History::new();
    let mut feeder = h.producer(4, None);
    h.write(&mut feeder, P1);
    let mut p = h.producer(5, Some(ID));
    for commit in [false, true] {
        h.begin(&mut p);
        h.see(p.actor, Observed::PositionSet { partition: P1, offset: 0 });
        h.read(p.actor.0, P1, COMMITTED);
        let value = eosim_types::Value::numbered(50, u64::from(commit));
        h.send_value(&p, P0, value, Some((P1, 0)));
        let offset = h.append(&mut p, P0, &[value]);
        h.acknowledge(&p, P0, value, offset);
        let transaction = p.transaction();
        let offsets = vec![(P1, 1)];
        let what =
            Observed::OffsetsSent { transaction, group: GROUP, offsets, error: ErrorCode::None };
        h.see(p.actor, what);
        h.append_offset(&mut p, P1, 1);
        h.end(&mut p, &[P0, OFFSETS], commit);
        h.see(p.actor, Observed::PositionSet { partition: P1, offset: 0 });
        h.poll(p.actor.0, (P1, COMMITTED), (0, 0), &[]);
    }
    h.is_sound();
}

#[test]
fn n14_records_are_delivered_only_after_their_marker() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    let mut q = h.producer(6, None);
    h.begin(&mut p);
    h.write(&mut q, P0);
    h.write(&mut p, P0);
    h.write(&mut q, P0);
    h.read(9, P0, COMMITTED);
    h.read(9, P0, COMMITTED);
    h.commit(&mut p, &[P0]);
    h.read(9, P0, COMMITTED);
    h.is_sound();
}

#[test]
fn nothing_is_promised_below_full_acks_or_under_unclean_elections() {
    let mut h = History::new();
    let p = h.producer(5, None);
    let value = h.send(&p, P0);
    h.acknowledge(&p, P0, value, 0);
    h.log(P0);
    h.breaks("acknowledged-lost");
    h.setup.acks_below_all.push(p.actor);
    h.is_sound();
    h.setup.acks_below_all.clear();
    h.setup.unclean_elections.push(P0.topic);
    h.is_sound();
}

#[test]
fn deleted_records_are_not_lost() {
    let mut h = History::new();
    let mut p = h.producer(5, None);
    h.write(&mut p, P0);
    h.write(&mut p, P0);
    let mut dump = h.dump();
    for replica in &mut dump.replicas {
        replica.log_start_offset = 1;
        replica.batches.remove(0);
    }
    h.breaks_in(&dump, "acknowledged-lost");
    h.setup.deletable.push(P0.topic);
    assert_eq!(h.anomalies_in(&dump), []);
}

#[test]
fn replicas_may_differ_above_the_high_watermark() {
    let mut h = History::new();
    let mut p = h.producer(5, None);
    h.write(&mut p, P0);
    let unacknowledged = h.send(&p, P0);
    h.append(&mut p, P0, &[unacknowledged]);
    let mut dump = h.dump();
    for replica in &mut dump.replicas {
        replica.high_watermark = 1;
        replica.last_stable_offset = 1;
    }
    dump.replicas[1].batches.pop();
    dump.replicas[1].remembered.pop();
    dump.replicas[1].producers[0].last_sequence = eosim_types::Sequence(0);
    dump.replicas[1].producers[0].last_timestamp = dump.replicas[1].batches[0].max_timestamp;
    assert_eq!(h.anomalies_in(&dump), []);
}

#[test]
fn a_leader_that_others_know_to_be_deposed_has_no_say() {
    let mut h = History::new();
    let p = h.producer(5, None);
    let value = h.send(&p, P0);
    h.acknowledge(&p, P0, value, 0);
    h.log(P0);
    let mut dump = h.dump();
    dump.replicas[1].leader_epoch = eosim_types::LeaderEpoch(1);
    assert_eq!(h.anomalies_in(&dump), []);
}

#[test]
fn what_no_store_decided_may_be_aborted_and_done_again() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    for commit in [false, true] {
        h.begin(&mut p);
        let value = eosim_types::Value::numbered(60, u64::from(commit));
        h.send_value(&p, P0, value, Some((P1, 0)));
        let offset = h.append(&mut p, P0, &[value]);
        h.acknowledge(&p, P0, value, offset);
        if commit {
            h.see(p.actor, Observed::Decided { transaction: p.transaction() });
        }
        h.end(&mut p, &[P0], commit);
    }
    h.is_sound();
}

/// A producer that keeps its epoch: a transaction with data, a pause, then an empty one.
fn empty_transaction_after_a_pause() -> History {
    let mut h = History::new();
    h.setup.producer_id_expiration = Duration::from_millis(1_000);
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    h.write(&mut p, P0);
    h.marker(p.id, p.epoch, P0, COMMIT);
    h.now = Instant(h.now.0 + 2_000_000);
    h.marker(p.id, p.epoch, P0, ABORT);
    h
}

#[test]
fn an_entry_that_expired_comes_back_with_what_came_after_l_exp_4() {
    let h = empty_transaction_after_a_pause();
    let mut dump = h.dump();
    dump.replicas[0].producers[0].last_sequence = Sequence::NONE;
    dump.replicas[0].remembered.clear();
    assert_eq!(h.seen_in(&[dump.clone()]), []);
    // Nothing says so before it can have expired.
    dump.at = Instant(900_000);
    h.breaks_in(&dump, "producer-state");
}

#[test]
fn an_entry_comes_back_with_all_that_came_after_and_never_within_a_transaction_l_exp_1_l_exp_4() {
    let h = empty_transaction_after_a_pause();
    let mut without_coordinator = h.dump();
    without_coordinator.replicas[0].producers[0].coordinator_epoch = CoordinatorEpoch::NONE;
    h.breaks_in(&without_coordinator, "producer-state");
    let mut h = History::new();
    h.setup.producer_id_expiration = Duration::from_millis(1_000);
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    h.write(&mut p, P0);
    h.now = Instant(h.now.0 + 2_000_000);
    h.marker(p.id, p.epoch, P0, ABORT);
    let mut within = h.dump();
    within.replicas[0].producers[0].last_sequence = Sequence::NONE;
    h.breaks_in(&within, "producer-state");
}
