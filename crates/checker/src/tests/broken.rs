//! Each invariant breaks when its promise is broken, and names what broke.

use eosim_types::observation::{EndOutcome, Observed, SendOutcome};
use eosim_types::record::TransactionState;
use eosim_types::{
    ActorId, Duration, ErrorCode, Instant, LeaderEpoch, ProducerEpoch, Sequence, Value,
};

use crate::testing::{
    ABORT, COMMIT, COMMITTED, GROUP, History, ID, OFFSETS, P0, P1, UNCOMMITTED, UNKNOWN_END,
    UNKNOWN_SEND,
};

#[test]
fn duplicate_retry_was_appended_again() {
    let mut h = History::new();
    let mut p = h.producer(5, None);
    let value = h.write(&mut p, P0);
    h.append(&mut p, P0, &[value]);
    h.read(9, P0, COMMITTED);
    assert_eq!(h.breaks("duplicate"), [""; 0]);
    h.setup.without_idempotence.push(p.actor);
    h.is_sound();
}

#[test]
fn reordering_later_batch_came_first() {
    let mut h = History::new();
    let mut p = h.producer(5, None);
    let (first, second) = (h.send(&p, P0), h.send(&p, P0));
    h.append(&mut p, P0, &[second]);
    h.append(&mut p, P0, &[first]);
    h.breaks("reordering");
    h.setup.without_idempotence.push(p.actor);
    h.is_sound();
}

#[test]
fn reordering_poll_went_down() {
    let mut h = History::new();
    let mut p = h.producer(5, None);
    let (first, second) = (h.write(&mut p, P0), h.write(&mut p, P0));
    h.poll(9, (P0, UNCOMMITTED), (0, 2), &[(1, second), (0, first)]);
    h.breaks("reordering");
}

#[test]
fn acknowledged_lost_not_in_the_log() {
    let mut h = History::new();
    let mut p = h.producer(5, None);
    h.write(&mut p, P0);
    let value = h.send(&p, P0);
    h.acknowledge(&p, P0, value, 1);
    assert_eq!(h.breaks("acknowledged-lost"), [""; 0]);
}

#[test]
fn acknowledged_lost_taken_for_a_duplicate_of_another_record() {
    let mut h = History::new();
    let mut p = h.producer(5, None);
    h.write(&mut p, P0);
    let value = h.send(&p, P0);
    h.acknowledge(&p, P0, value, 0);
    let found = h.anomalies();
    assert_eq!(found[0].skeleton, ["acknowledged", "offset of another record"]);
}

#[test]
fn acknowledged_lost_record_that_was_read_is_gone() {
    let mut h = History::new();
    let p = h.producer(5, None);
    let value = h.send(&p, P0);
    h.answer(&p, P0, value, UNKNOWN_SEND);
    h.poll(9, (P0, UNCOMMITTED), (0, 1), &[(0, value)]);
    h.log(P0);
    h.breaks("acknowledged-lost");
}

#[test]
fn aborted_read_before_and_after_the_abort_was_reported() {
    for read_first in [true, false] {
        let mut h = History::new();
        let mut p = h.producer(5, Some(ID));
        h.begin(&mut p);
        let value = h.write(&mut p, P0);
        let take = |h: &mut History, now: bool| {
            if now {
                h.poll(9, (P0, COMMITTED), (0, 1), &[(0, value)]);
            }
        };
        take(&mut h, read_first);
        h.abort(&mut p, &[P0]);
        take(&mut h, !read_first);
        let found = h.anomalies();
        let by_answer = found.iter().any(|found| found.skeleton.contains(&"abort reported done"));
        let by_log = found.iter().any(|found| found.skeleton.contains(&"ABORT marker"));
        assert!(by_answer && by_log, "{found:#?}");
    }
}

#[test]
fn aborted_read_late_batch_joined_the_next_transaction() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    let late = h.send(&p, P0);
    h.answer(&p, P0, late, UNKNOWN_SEND);
    h.abort(&mut p, &[P0]);
    h.begin(&mut p);
    h.append(&mut p, P0, &[late]);
    h.write(&mut p, P0);
    h.commit(&mut p, &[P0]);
    h.read(9, P0, COMMITTED);
    assert_eq!(h.breaks("aborted-read"), ["outcome-contradicted"]);
}

#[test]
fn early_read_above_the_bound_and_before_the_commit() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    let value = h.write(&mut p, P0);
    h.poll(9, (P0, COMMITTED), (0, 1), &[(0, value)]);
    h.commit(&mut p, &[P0]);
    assert_eq!(h.breaks("early-read"), [""; 0]);

    let mut h = History::new();
    let mut p = h.producer(5, None);
    let value = h.write(&mut p, P0);
    let what = Observed::Polled {
        partition: P0,
        isolation_level: UNCOMMITTED,
        from: 0,
        to: 1,
        records: vec![(0, value)],
        bound: 0,
    };
    h.see(ActorId(9), what);
    assert_eq!(h.breaks("early-read"), [""; 0]);
}

#[test]
fn end_offset_went_back() {
    for level in [COMMITTED, UNCOMMITTED] {
        let mut h = History::new();
        let mut p = h.producer(5, None);
        h.write(&mut p, P0);
        h.write(&mut p, P0);
        h.told_end(9, (P0, level), 2);
        h.told_end(9, (P0, level), 1);
        assert_eq!(h.breaks("end-offset"), [""; 0]);
        h.setup.unclean_elections.push(P0.topic);
        h.is_sound();
    }
}

#[test]
fn end_offset_above_what_is_undecided() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    h.write(&mut p, P0);
    h.told_end(9, (P0, COMMITTED), 1);
    h.commit(&mut p, &[P0]);
    assert_eq!(h.breaks("end-offset"), [""; 0]);

    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    h.write(&mut p, P0);
    h.told_end(9, (P0, COMMITTED), 1);
    let mut dump = h.dump();
    dump.healed = false;
    h.breaks_in(&dump, "end-offset");
}

#[test]
fn skipped_jump_step_back_and_missing_record() {
    for (from, to) in [(2, 3), (0, 3)] {
        let mut h = History::new();
        let mut p = h.producer(5, None);
        let values: Vec<Value> = (0..3).map(|_| h.write(&mut p, P0)).collect();
        h.poll(9, (P0, COMMITTED), (0, 1), &[(0, values[0])]);
        let all: Vec<(i64, Value)> = (0..).zip(values).collect();
        let first = usize::try_from(from).unwrap();
        h.poll(9, (P0, COMMITTED), (from, to), &all[first..]);
        assert_eq!(h.breaks("skipped"), [""; 0]);
    }
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    h.write(&mut p, P0);
    h.commit(&mut p, &[P0]);
    h.poll(9, (P0, COMMITTED), (0, 2), &[]);
    assert_eq!(h.breaks("skipped"), [""; 0]);
}

#[test]
fn offset_reuse_readers_logs_and_replicas_disagree() {
    let mut h = History::new();
    let mut p = h.producer(5, None);
    let lost = h.send(&p, P0);
    h.answer(&p, P0, lost, UNKNOWN_SEND);
    h.write(&mut p, P0);
    h.read(9, P0, UNCOMMITTED);
    h.poll(10, (P0, UNCOMMITTED), (0, 1), &[(0, lost)]);
    let found = h.anomalies();
    let shapes: Vec<_> = found
        .iter()
        .filter(|found| found.invariant == "offset-reuse")
        .map(|found| found.skeleton[1])
        .collect();
    assert_eq!(shapes, ["another record logged there"]);

    let mut h = History::new();
    let mut p = h.producer(5, None);
    h.write(&mut p, P0);
    let mut dump = h.dump();
    dump.replicas[1].batches[0].partition_leader_epoch = LeaderEpoch(7);
    h.breaks_in(&dump, "offset-reuse");
    dump.replicas[1].batches.clear();
    h.breaks_in(&dump, "offset-reuse");
}

#[test]
fn offset_reuse_two_readers_were_given_different_records() {
    let mut h = History::new();
    let p = h.producer(5, None);
    for reader in [9, 10] {
        let value = h.send(&p, P0);
        h.poll(reader, (P0, UNCOMMITTED), (0, 1), &[(0, value)]);
    }
    assert_eq!(h.anomalies()[0].skeleton, ["read", "another record read there"]);
}

#[test]
fn garbage_read_unsent_or_sent_elsewhere() {
    let mut h = History::new();
    let mut p = h.producer(5, None);
    h.append(&mut p, P0, &[Value::numbered(1, 99)]);
    h.breaks("garbage-read");
    h.setup.unobserved_sends = true;
    h.is_sound();
    let value = h.send(&p, P1);
    h.append(&mut p, P0, &[value]);
    h.read(9, P0, COMMITTED);
    h.breaks("garbage-read");
}

#[test]
fn committed_lost_missing_aborted_or_never_decided() {
    for fate in ["missing", "aborted", "open"] {
        let mut h = History::new();
        let mut p = h.producer(5, Some(ID));
        h.begin(&mut p);
        let value = h.send(&p, P0);
        h.answer(&p, P0, value, UNKNOWN_SEND);
        h.log(P0);
        if fate != "missing" {
            h.append(&mut p, P0, &[value]);
        }
        h.end_called(&p, true);
        h.bump(&mut p);
        if fate == "aborted" {
            h.marker(p.id, p.epoch, P0, ABORT);
        }
        h.end_answered(&p, true, EndOutcome::Done);
        assert_eq!(h.breaks("committed-lost"), [""; 0], "{fate}");
    }
}

#[test]
fn decision_lost_refused_aborted_missing_or_open() {
    for fate in ["refused", "aborted", "missing", "open"] {
        let mut h = History::new();
        let mut p = h.producer(5, Some(ID));
        h.begin(&mut p);
        let value = h.send(&p, P0);
        h.answer(&p, P0, value, UNKNOWN_SEND);
        h.log(P0);
        if fate != "missing" {
            h.append(&mut p, P0, &[value]);
        }
        h.see(p.actor, Observed::Decided { transaction: p.transaction() });
        h.end_called(&p, true);
        h.bump(&mut p);
        if matches!(fate, "refused" | "aborted") {
            h.marker(p.id, p.epoch, P0, ABORT);
        }
        if fate == "refused" {
            let error = ErrorCode::InvalidTxnState;
            h.end_answered(&p, true, EndOutcome::Refused { error });
        } else {
            h.end_answered(&p, true, UNKNOWN_END);
        }
        assert!(h.anomalies().iter().any(|a| a.invariant == "decision-lost"), "{fate}");
    }
}

#[test]
fn decision_lost_is_judged_by_the_log_if_a_life_before_asked_for_the_commit() {
    for (kind, is_lost) in [(COMMIT, false), (ABORT, true)] {
        let mut h = History::new();
        let mut p = h.producer(5, Some(ID));
        h.begin(&mut p);
        let value = h.write(&mut p, P0);
        let (transaction, commit) = (p.transaction(), true);
        h.see(p.actor, Observed::Decided { transaction });
        h.end_called(&p, commit);
        h.bump(&mut p);
        h.marker(p.id, p.epoch, P0, kind);
        h.see(p.actor, Observed::ProducerClosed { session: transaction.session });
        let _next = h.session(p.actor, transaction.session + 1, Some(ID), (p.id, p.epoch));
        h.see(p.actor, Observed::EndCalled { transaction, commit });
        let outcome = EndOutcome::Refused { error: ErrorCode::ProducerFenced };
        h.see(p.actor, Observed::EndAnswered { transaction, commit, outcome });
        let found: Vec<_> = h.anomalies().iter().map(|a| a.invariant).collect();
        assert_eq!(found.contains(&"decision-lost"), is_lost, "{value:?} {found:?}");
        assert!(!found.contains(&"outcome-contradicted"), "{found:?}");
    }
}

#[test]
fn committed_lost_offset_of_the_group_is_not_there() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    for staged in [true, false] {
        h.begin(&mut p);
        let transaction = p.transaction();
        let offsets = vec![(P1, if staged { 7 } else { 8 })];
        let error = ErrorCode::None;
        h.see(p.actor, Observed::OffsetsSent { transaction, group: GROUP, offsets, error });
        if staged {
            h.append_offset(&mut p, P1, 7);
        }
        h.commit(&mut p, &[OFFSETS]);
        if staged {
            h.is_sound();
        }
    }
    h.breaks("committed-lost");
}

#[test]
fn torn_transaction_markers_disagree() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    h.write(&mut p, P0);
    h.write(&mut p, P1);
    h.end_called(&p, true);
    h.end_answered(&p, true, UNKNOWN_END);
    h.bump(&mut p);
    h.marker(p.id, p.epoch, P0, COMMIT);
    h.marker(p.id, p.epoch, P1, ABORT);
    assert_eq!(h.breaks("torn-transaction"), [""; 0]);
}

#[test]
fn torn_transaction_offsets_and_records_part() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    h.write(&mut p, P0);
    h.append_offset(&mut p, P1, 7);
    h.end_called(&p, true);
    h.bump(&mut p);
    h.marker(p.id, p.epoch, P0, ABORT);
    h.marker(p.id, p.epoch, OFFSETS, COMMIT);
    h.breaks("torn-transaction");
}

#[test]
fn torn_transaction_one_part_never_reached_the_log() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    h.write(&mut p, P0);
    let lost = h.send(&p, P1);
    h.answer(&p, P1, lost, UNKNOWN_SEND);
    h.log(P1);
    h.end_called(&p, true);
    h.bump(&mut p);
    h.marker(p.id, p.epoch, P0, COMMIT);
    h.breaks("torn-transaction");
}

#[test]
fn outcome_contradicted_by_the_log() {
    let error = ErrorCode::InvalidTxnState;
    for told in [Some((false, EndOutcome::Done)), Some((true, EndOutcome::Refused { error })), None]
    {
        let mut h = History::new();
        let mut p = h.producer(5, Some(ID));
        h.begin(&mut p);
        h.write(&mut p, P0);
        if let Some((commit, outcome)) = told {
            h.end_called(&p, commit);
            h.end_answered(&p, commit, outcome);
        }
        h.bump(&mut p);
        h.marker(p.id, p.epoch, P0, COMMIT);
        assert_eq!(h.breaks("outcome-contradicted"), [""; 0]);
    }
    let mut h = History::new();
    let mut p = h.producer(5, None);
    let value = h.send(&p, P0);
    h.append(&mut p, P0, &[value]);
    let error = ErrorCode::NotEnoughReplicas;
    h.answer(&p, P0, value, SendOutcome::Refused { error });
    assert_eq!(h.breaks("outcome-contradicted"), [""; 0]);
}

#[test]
fn open_transaction_after_the_coordinator_has_finished_or_nobody_owns_it() {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    h.write(&mut p, P0);
    h.coordinator(&p, TransactionState::CompleteAbort, &[]);
    assert_eq!(h.breaks("open-transaction"), [""; 0]);
    h.transactions.clear();
    h.is_sound();
    h.now = Instant(h.now.0 + 600_000_000);
    assert_eq!(h.breaks("open-transaction"), [""; 0]);
    let mut dump = h.dump();
    dump.healed = false;
    assert_eq!(h.anomalies_in(&dump), []);
}

#[test]
fn fenced_effect_of_a_late_send_and_of_a_late_commit() {
    for late_send in [true, false] {
        let mut h = History::new();
        let mut old = h.producer(5, Some(ID));
        h.begin(&mut old);
        h.write(&mut old, P0);
        h.session(ActorId(6), 0, Some(ID), (old.id, ProducerEpoch(2)));
        if late_send {
            h.write(&mut old, P0);
        }
        h.commit(&mut old, &[P0]);
        h.breaks("fenced-effect");
    }
}

#[test]
fn producer_identity_shared_by_two_sessions() {
    let mut h = History::new();
    let mut p = h.producer(5, None);
    h.write(&mut p, P0);
    let mut q = h.session(ActorId(6), 0, None, (p.id, p.epoch));
    h.write(&mut q, P1);
    assert_eq!(h.breaks("producer-identity-shared"), [""; 0]);
}

#[test]
fn healthy_producer_failed_only_if_nothing_excuses_it() {
    let failed = |error: ErrorCode, pause: u64, id, change: &dyn Fn(&mut History)| {
        let mut h = History::new();
        let mut p = h.producer(5, id);
        if id.is_some() {
            h.begin(&mut p);
        }
        change(&mut h);
        h.now = Instant(h.now.0 + pause);
        h.see(p.actor, Observed::ProducerFailed { session: 0, error });
        h.anomalies().len()
    };
    let nothing: &dyn Fn(&mut History) = &|_| ();
    assert_eq!(failed(ErrorCode::InvalidTxnState, 0, Some(ID), nothing), 1);
    assert_eq!(failed(ErrorCode::OutOfOrderSequenceNumber, 0, None, nothing), 1);
    assert_eq!(failed(ErrorCode::InvalidTxnState, 60_000_000, Some(ID), nothing), 0);
    assert_eq!(failed(ErrorCode::TransactionalIdAuthorizationFailed, 0, Some(ID), nothing), 0);
    let late = |h: &mut History| h.setup.late_requests = true;
    assert_eq!(failed(ErrorCode::ProducerFenced, 0, Some(ID), &late), 0);
    assert_eq!(failed(ErrorCode::InvalidTxnState, 0, Some(ID), &late), 0, "C-END-18");
    assert_eq!(failed(ErrorCode::InvalidProducerIdMapping, 0, Some(ID), nothing), 1);
    assert_eq!(failed(ErrorCode::InvalidProducerIdMapping, 0, Some(ID), &late), 0, "C-SEQ-14");
    assert_eq!(failed(ErrorCode::OutOfOrderSequenceNumber, 0, Some(ID), &late), 1);
    let shared = |h: &mut History| h.setup.shared_transactional_ids.push(ID);
    assert_eq!(failed(ErrorCode::ProducerFenced, 0, Some(ID), &shared), 0);
    let other = |h: &mut History| {
        h.producer(6, Some(ID));
    };
    assert_eq!(failed(ErrorCode::ProducerFenced, 0, Some(ID), &other), 0);
    let jumps = |h: &mut History| h.setup.clock_jumps = true;
    assert_eq!(failed(ErrorCode::ProducerFenced, 0, Some(ID), &jumps), 0);
}

#[test]
fn given_up_early_though_the_error_passes() {
    for (error, id) in [
        (ErrorCode::NotLeaderOrFollower, None),
        (ErrorCode::OutOfOrderSequenceNumber, None),
        (ErrorCode::NetworkException, Some(ID)),
    ] {
        let mut h = History::new();
        let mut p = h.producer(5, id);
        h.setup.delivery_timeouts.push((p.actor, Duration::from_millis(20_000)));
        if id.is_some() {
            h.begin(&mut p);
        }
        let value = h.send(&p, P0);
        h.answer(&p, P0, value, SendOutcome::Unknown { error });
        assert_eq!(h.breaks("given-up-early"), [""; 0]);
        h.setup.delivery_timeouts.clear();
        h.is_sound();
    }
}

#[test]
fn an_id_that_is_used_does_not_expire_c_exp_1() {
    let failed = |idle_ms: u64| {
        let mut h = History::new();
        h.setup.transactional_id_expiration = Duration::from_millis(2_000);
        let mut p = h.producer(5, Some(ID));
        for _ in 0..3 {
            h.now += Duration::from_millis(1_000);
            h.begin(&mut p);
            h.write(&mut p, P0);
            h.commit(&mut p, &[P0]);
        }
        h.now += Duration::from_millis(idle_ms);
        let error = ErrorCode::InvalidProducerIdMapping;
        h.see(p.actor, Observed::ProducerFailed { session: 0, error });
        h.anomalies().len()
    };
    assert_eq!((failed(1_000), failed(2_000)), (1, 0));
}

#[test]
fn healed_send_failed_long_after_the_last_fault() {
    for (after_ms, error, breaks) in [
        (45_000, ErrorCode::RequestTimedOut, true),
        (45_000, ErrorCode::OutOfOrderSequenceNumber, true),
        (45_000, ErrorCode::MessageTooLarge, false),
        (30_000, ErrorCode::RequestTimedOut, false),
    ] {
        let mut h = History::new();
        let p = h.producer(5, None);
        h.setup.delivery_timeouts.push((p.actor, Duration::from_millis(3_000)));
        h.setup.healed_at = Some(h.now);
        h.now += Duration::from_millis(after_ms);
        let value = h.send(&p, P0);
        h.now += Duration::from_millis(3_000);
        h.answer(&p, P0, value, SendOutcome::Unknown { error });
        let found = h.anomalies();
        assert_eq!(found.iter().any(|a| a.invariant == "healed-send-failed"), breaks, "{error}");
        assert_eq!(found.len(), usize::from(breaks), "{error}");
    }
}

#[test]
fn replica_behind_its_leader_in_a_healed_cluster() {
    let mut h = History::new();
    let mut p = h.producer(5, None);
    h.write(&mut p, P0);
    h.setup.healed_at = Some(h.now);
    let mut dump = h.dump();
    let other = dump.replicas.iter_mut().find(|r| r.partition == P0 && !r.is_leader);
    let other = other.expect("there are two replicas of everything");
    (other.batches, other.log_end_offset, other.high_watermark) = (Vec::new(), 0, 0);
    (other.last_stable_offset, other.producers, other.remembered) = (0, Vec::new(), Vec::new());
    assert_eq!(h.anomalies_in(&dump), [], "it may still be fetching");
    dump.at += Duration::from_millis(31_000);
    h.breaks_in(&dump, "replica-behind");
    dump.healed = false;
    assert_eq!(h.anomalies_in(&dump), []);
}

#[test]
fn processed_twice_in_two_committed_transactions() {
    let mut h = History::new();
    let (mut p, mut q) = (h.producer(5, Some(ID)), h.producer(6, None));
    for (p, number) in [(&mut p, 1), (&mut q, 2)] {
        h.begin(p);
        let value = Value::numbered(40, number);
        h.send_value(p, P0, value, Some((P1, 3)));
        let offset = h.append(p, P0, &[value]);
        h.acknowledge(p, P0, value, offset);
        h.commit(p, &[P0]);
    }
    assert_eq!(h.breaks("processed-twice"), [""; 0]);
    h.setup.exactly_once_inputs = false;
    h.is_sound();
}

/// One transaction aborted, one open, of two producers.
fn half_open() -> History {
    let mut h = History::new();
    let (mut p, mut q) = (h.producer(5, Some(ID)), h.producer(6, None));
    h.begin(&mut p);
    h.begin(&mut q);
    h.write(&mut p, P0);
    h.write(&mut q, P0);
    h.abort(&mut p, &[P0]);
    h.is_sound();
    h
}

#[test]
fn producer_state_differs_from_the_log_in_any_field() {
    let h = half_open();
    let changes: [fn(&mut eosim_types::message::ProducerState); 5] = [
        |state| state.producer_epoch = ProducerEpoch(9),
        |state| state.last_sequence = Sequence(9),
        |state| state.last_timestamp += 1,
        |state| state.coordinator_epoch.0 += 1,
        |state| state.current_txn_start_offset = 2,
    ];
    for change in changes {
        let mut dump = h.dump();
        change(&mut dump.replicas[1].producers[1]);
        h.breaks_in(&dump, "producer-state");
    }
    let mut dump = h.dump();
    let forgotten = dump.replicas[0].producers.remove(0);
    h.breaks_in(&dump, "producer-state");
    let mut dump = h.dump();
    dump.replicas[0].producers.push(eosim_types::message::ProducerState {
        producer_id: eosim_types::ProducerId(99),
        ..forgotten
    });
    h.breaks_in(&dump, "producer-state");
}

#[test]
fn aborted_index_entry_missing_wrong_or_too_many() {
    let h = half_open();
    let mut dump = h.dump();
    dump.replicas[0].aborted_transactions[0].last_stable_offset = 3;
    h.breaks_in(&dump, "aborted-index");
    let extra = dump.replicas[0].aborted_transactions.remove(0);
    h.breaks_in(&dump, "aborted-index");
    let mut dump = h.dump();
    dump.replicas[1].aborted_transactions.push(extra);
    h.breaks_in(&dump, "aborted-index");
}

#[test]
fn last_stable_offset_ignores_or_invents_an_open_transaction() {
    let h = half_open();
    for wrong in [0, 2, 3] {
        let mut dump = h.dump();
        dump.replicas[0].last_stable_offset = wrong;
        h.breaks_in(&dump, "last-stable-offset");
    }
}

#[test]
fn assertion_of_an_actor_is_reported() {
    let mut h = History::new();
    h.see(ActorId(1), Observed::AssertionFailed { assertion: "a ≤ b".into() });
    assert_eq!(h.breaks("assertion"), [""; 0]);
}
