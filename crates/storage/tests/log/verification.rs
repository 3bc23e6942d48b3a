//! Worked cases 36 to 45, and the log's part of 46 and 47: verification guards.

use eosim_storage::{AppendOrigin, LogConfig, VerificationGuard};
use eosim_types::record::TransactionResult;
use eosim_types::version::TransactionVersion;
use eosim_types::{Defect, ErrorCode, ProducerEpoch, ProducerId, Sequence};

use crate::support::{Bench, data, idempotent, txn};

const COMMIT: TransactionResult = TransactionResult::Commit;

fn refused(bench: &mut Bench, batch: eosim_types::record::RecordBatch, guard: VerificationGuard) {
    assert_eq!(bench.guarded(batch, guard), Err(ErrorCode::InvalidTxnState));
}

#[test]
fn a_transaction_begins_with_the_guard_of_its_verification_36_l_txn_1_l_grd_4() {
    let mut bench = Bench::default();
    bench.run("36", "D(0,0-2) ok@0");
    let batch = data(1, 0, Sequence(3), Sequence(5), true, 1_000);
    refused(&mut bench, batch.clone(), VerificationGuard::SENTINEL);
    let guard = bench.start_verification(&batch, false).unwrap();
    let foreign = Bench::default().start_verification(&txn(9, 0, 0), false).unwrap();
    assert_eq!(foreign, guard, "guards are counted per process");
    let other = bench.start_verification(&txn(2, 0, 0), false).unwrap();
    refused(&mut bench, batch.clone(), other);
    assert_eq!(bench.start_verification(&batch, false), Ok(guard));
    assert!(bench.guarded(batch.clone(), guard).is_ok());
    let (id, epoch) = (ProducerId(1), ProducerEpoch(0));
    assert!(bench.log.has_ongoing_transaction(id, epoch));
    assert_eq!(bench.start_verification(&batch, false), Ok(VerificationGuard::SENTINEL));
    assert!(bench.client(batch).unwrap().is_duplicate);
}

#[test]
fn plain_data_leaves_the_guard_and_the_next_transaction_gets_another_37_l_txn_4_l_grd_5() {
    let mut bench = Bench::default();
    let transactional = data(1, 1, Sequence(5), Sequence(6), true, 1_000);
    let guard = bench.start_verification(&transactional, false).unwrap();
    bench.client(data(1, 1, Sequence(3), Sequence(4), false, 1_000)).unwrap();
    assert_eq!(bench.guard(1), Some(guard));
    bench.guarded(transactional.clone(), guard).unwrap();
    assert_eq!(bench.guard(1), None);
    let again = bench.start_verification(&transactional, false);
    assert_eq!(again, Ok(VerificationGuard::SENTINEL));
    bench.marker((1, 1), 0, COMMIT, TransactionVersion::Tv1).unwrap();
    let next = bench.start_verification(&transactional, false).unwrap();
    assert_ne!(next, guard);
}

#[test]
fn the_marker_of_an_empty_transaction_clears_the_guard_38_l_grd_5_l_grd_6() {
    for (epoch, version, bumps) in
        [(1, TransactionVersion::Tv1, false), (2, TransactionVersion::Tv2, true)]
    {
        let mut bench = Bench::default();
        let batch = txn(1, 1, 0);
        let guard = bench.start_verification(&batch, bumps).unwrap();
        bench.marker((1, epoch), 0, COMMIT, version).unwrap();
        assert_eq!(bench.guard(1), None);
        let late =
            if epoch == 1 { ErrorCode::InvalidTxnState } else { ErrorCode::InvalidProducerEpoch };
        assert_eq!(bench.guarded(batch, guard), Err(late), "verified, then decided");
    }
}

#[test]
fn the_guard_of_the_next_transaction_outlives_the_marker_39_l_grd_5_l_ver_9() {
    let mut bench = Bench::default();
    let guard = bench.start_verification(&txn(1, 1, 0), true).unwrap();
    bench.marker((1, 1), 0, COMMIT, TransactionVersion::Tv0).unwrap();
    assert_eq!(bench.guard(1), Some(guard));
    assert!(bench.guarded(txn(1, 1, 0), guard).is_ok());
}

#[test]
fn an_old_marker_that_comes_again_leaves_a_later_guard_alone_l_grd_5() {
    let defect = Defect::UpstreamLeaderOldMarkerClearsGuard;
    let as_released = (Bench::default(), Err(ErrorCode::InvalidTxnState));
    for (mut bench, outcome) in [as_released, (Bench::without(defect), Ok(()))] {
        bench.marker((1, 2), 0, COMMIT, TransactionVersion::Tv2).unwrap();
        // The transaction of epoch 2 was elsewhere; this is the one of epoch 3.
        let guard = bench.start_verification(&txn(1, 3, 0), true).unwrap();
        bench.marker((1, 2), 0, COMMIT, TransactionVersion::Tv2).unwrap();
        assert_eq!(bench.guarded(txn(1, 3, 0), guard).map(|_| ()), outcome);
    }
}

#[test]
fn an_old_marker_clears_the_guard_of_a_client_that_keeps_its_epoch_l_grd_5() {
    let mut bench = Bench::without(Defect::UpstreamLeaderOldMarkerClearsGuard);
    bench.start_verification(&txn(1, 3, 0), false).unwrap();
    bench.marker((1, 2), 0, COMMIT, TransactionVersion::Tv1).unwrap();
    assert_eq!(bench.guard(1), None);
}

#[test]
fn verification_switched_off_clears_the_guard_40_l_ver_2() {
    let mut bench = Bench::default();
    bench.start_verification(&txn(1, 1, 0), false).unwrap();
    bench.log.update_config(LogConfig { verification_enabled: false, ..LogConfig::default() });
    bench.client(txn(1, 1, 0)).unwrap();
    assert_eq!((bench.state(1).as_str(), bench.guard(1)), ("epoch 1 [0] open@0", None));
}

#[test]
fn verification_switched_on_asks_for_a_guard_41_l_txn_1() {
    let off = LogConfig { verification_enabled: false, ..LogConfig::default() };
    let mut bench = Bench::with_config(off);
    bench.log.update_config(LogConfig::default());
    refused(&mut bench, txn(1, 0, 0), VerificationGuard::SENTINEL);
    bench.run("41", "T(0,0) ok@0");
}

#[test]
fn a_version_2_transaction_begins_with_sequence_0_42_l_seq_1() {
    let mut bench = Bench::default();
    bench.run("42 ADD class", "U(1,3) 45; U(1,0) ok@0");
    let mut bench = Bench::default();
    bench.run("42 old class", "T(1,3) ok@0");
}

#[test]
fn the_class_of_an_entry_never_changes_l_grd_2() {
    let mut bench = Bench::default();
    bench.start_verification(&txn(1, 0, 4), false).unwrap();
    bench.run("behind an old client's entry", "U(0,3) ok@0");
    let mut bench = Bench::default();
    bench.start_verification(&txn(1, 0, 4), true).unwrap();
    bench.run("behind a new client's entry", "T(0,3) 45");
}

#[test]
fn lowest_sequence_and_epoch_of_an_entry_43_l_grd_2_l_grd_3_l_grd_7() {
    let mut bench = Bench::default();
    let starts = [(1, 0, 1, 0), (0, 0, 0, 0), (2, 1, 2, 1), (0, 0, 2, 1)];
    for (sequence, epoch, lowest, entry_epoch) in starts {
        bench.start_verification(&txn(1, epoch, sequence), false).unwrap();
        let manager = bench.log.producer_state_manager();
        let entry = manager.verification_state_entry(ProducerId(1)).unwrap();
        assert_eq!(entry.lowest_sequence, Sequence(lowest));
        assert_eq!(entry.producer_epoch, ProducerEpoch(entry_epoch));
    }
    bench.start_verification(&txn(2, 0, 0), false).unwrap();
    assert_ne!(bench.guard(1), bench.guard(2), "L-GRD-1");
}

#[test]
fn a_later_batch_waits_for_the_lowest_sequence_44_46_47_l_seq_2_l_grd_7() {
    for verification_enabled in [true, false] {
        let mut bench = Bench::default();
        let guard = bench.start_verification(&txn(1, 0, 0), false).unwrap();
        bench.log.update_config(LogConfig { verification_enabled, ..LogConfig::default() });
        let refused = bench.guarded(txn(1, 0, 4), guard);
        assert_eq!(refused, Err(ErrorCode::OutOfOrderSequenceNumber));
        assert_eq!(bench.guard(1), Some(guard), "a failed append leaves the entry");
        assert!(bench.guarded(txn(1, 0, 0), guard).is_ok());
    }
}

#[test]
fn a_verification_expires_by_its_age_45_l_exp_3() {
    let mut bench = Bench::default();
    bench.start_verification(&txn(1, 0, 0), false).unwrap();
    bench.now_ms += 43_200_000;
    bench.start_verification(&txn(1, 0, 0), false).unwrap();
    bench.sweep();
    assert!(bench.guard(1).is_some());
    bench.now_ms += 43_200_001;
    bench.sweep();
    assert_eq!(bench.guard(1), None, "later use does not refresh it");
}

#[test]
fn a_lower_epoch_is_refused_before_the_coordinator_is_asked_48_l_ver_3() {
    let mut bench = Bench::default();
    bench.run("48", "U(5,0) ok@0");
    let refused = bench.start_verification(&txn(1, 4, 0), true);
    assert_eq!(refused, Err(ErrorCode::InvalidProducerEpoch));
    assert_eq!(bench.guard(1), None);
}

#[test]
fn a_duplicate_is_found_before_the_guard_is_asked_for_l_dup_3() {
    let mut bench = Bench::default();
    bench.run("L-DUP-3", "T(0,0) ok@0; C(0) ok@1");
    assert!(bench.client(txn(1, 0, 0)).unwrap().is_duplicate);
    refused(&mut bench, txn(1, 0, 1), VerificationGuard::SENTINEL);
}

#[test]
fn the_sentinel_matches_nothing_l_grd_1() {
    let sentinel = VerificationGuard::SENTINEL;
    assert!(!sentinel.verify(sentinel));
    let mut bench = Bench::default();
    let guard = bench.start_verification(&txn(1, 0, 0), true).unwrap();
    assert!(guard.verify(guard) && !sentinel.verify(guard));
}

#[test]
fn a_group_coordinators_batch_needs_the_guard_too_l_rec_7_l_toc_3() {
    let mut bench = Bench::default();
    let append = |bench: &mut Bench, guard| {
        bench.append(txn(1, 0, 0), AppendOrigin::Coordinator, guard, None)
    };
    let refused = append(&mut bench, VerificationGuard::SENTINEL);
    assert_eq!(refused, Err(ErrorCode::InvalidTxnState));
    let guard = bench.start_verification(&txn(1, 0, 0), true).unwrap();
    assert!(append(&mut bench, guard).is_ok());
    assert!(append(&mut bench, VerificationGuard::SENTINEL).is_ok(), "no duplicate search");
}

#[test]
fn verifications_outlive_truncation_but_not_the_process_l_trc_3() {
    let mut bench = Bench::default();
    bench.client(idempotent(2, 0, 0)).unwrap();
    let guard = bench.start_verification(&txn(1, 0, 0), true).unwrap();
    bench.truncate(0);
    assert_eq!(bench.guard(1), Some(guard));
    bench.kill_and_start();
    assert_eq!(bench.guard(1), None);
}
