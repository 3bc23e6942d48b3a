//! Worked cases 17 to 35: markers, coordinator epochs, transactions.

use eosim_types::record::{Payload, RecordBatch, TransactionResult};
use eosim_types::version::TransactionVersion;
use eosim_types::{CoordinatorEpoch, Defect, ProducerEpoch};

use crate::support::{Bench, at, marker_at, txn};

/// Case, steps, what is known of producer 1 in the end.
const CASES: &[(&str, &str, &str)] = &[
    ("17 L-MRK-7 L-MRK-8", "C(2) ok@0; D(0,0) 47; D(2,17) 45; D(2,0) ok@1", "epoch 2 [0]"),
    ("18 L-MRK-7", "D(0,0) ok@0; A(1) ok@1; D(1,0) ok@2", "epoch 1 [0]"),
    (
        "19 L-MRK-7 L-SEQ-3 L-SEQ-4",
        "T(0,0) ok@0; T(0,1) ok@1; A(1) ok@2; T(1,2) 45; T(2,2) 45; T(1,0) ok@3",
        "epoch 1 [0] open@3",
    ),
    ("21 L-TXN-3", "T(0,0) ok@0; D(0,1) 48", "epoch 0 [0] open@0"),
    ("22 L-MRK-3 L-TXN-1", "T(5,0) ok@0; C(3) 47", "epoch 5 [0] open@0"),
    ("23 L-MRK-8 L-MRK-3", "A(5,1) ok@0; A(4,1) 47", "epoch 5"),
    (
        "24 L-MRK-4 L-MRK-6 L-MRK-9",
        "T(5,0) ok@0; C(5,1) ok@1; C(5,1) ok@2; C(5,2) ok@3; C(5,1) 52",
        "epoch 5 [0]",
    ),
    ("28 L-MRK-5", "T(0,0) ok@0; A(1) ok@1", "epoch 1"),
    ("29 L-REC-7 L-TOC-3", "G(0,-1) ok@0; G(0,-1) ok@1", "epoch 0 [-1] [-1] open@0"),
    (
        "31 L-MRK-3",
        "U(4,0) ok@0; A(4)/2 47; A(4) ok@1; A(4)/2 ok@2; A(5)/2 ok@3; A(4) 47",
        "epoch 5",
    ),
    (
        "33 L-VER-3 L-TXN-1",
        "U(0,0) ok@0; A(1)/2 ok@1; U(0,1) 47; U(2,0) ok@2; C(3)/2 ok@3",
        "epoch 3",
    ),
    ("34 L-TXN-1", "T(6,0) ok@0; C(6) ok@1; T(5,0) 47", "epoch 6 [0]"),
    ("35 L-TXN-1", "U(3,0) ok@0; A(4)/2 ok@1; U(3,0) 47", "epoch 4"),
    ("L-MRK-10", "T(0,0) ok@0; A(9) ok@1; T(8,0) 47", "epoch 9"),
    (
        "L-MRK-3 at the last epoch an equal marker ends an open transaction",
        "U(32767,0) ok@0; A(32767)/2 ok@1",
        "epoch 32767 [0]",
    ),
    (
        "L-MRK-6 duplicates of a finished transaction stay known, sequences go on",
        "T(0,0) ok@0; C(0) ok@1; D(0,0) dup@0; T(0,1) ok@2",
        "epoch 0 [0] [1] open@2",
    ),
    (
        "L-ENT-5 a higher epoch continues the open transaction, L-FO-7",
        "T(0,0) ok@0; T(1,0) ok@1",
        "epoch 1 [0] open@0",
    ),
    ("L-REC-4 transactional without producer id opens nothing", "p-1 T(0,7) ok@0", "unknown"),
];

#[test]
fn markers_and_transactions_l_mrk_l_txn() {
    for (case, steps, state) in CASES {
        let mut bench = Bench::default();
        bench.run(case, steps);
        assert_eq!(bench.state(1), *state, "{case}");
    }
}

#[test]
fn a_transaction_begins_with_its_first_batch_l_txn_2_l_ent_5() {
    let mut bench = Bench::default();
    bench.run("", "N(3) ok@0; T(0,0-1) ok@3; T(0,2) ok@5");
    assert_eq!(bench.state(1), "epoch 0 [0-1] [2] open@3");
    bench.run("", "C(0) ok@6; T(0,3) ok@7");
    assert_eq!(bench.entry(1).unwrap().current_txn_first_offset, Some(7));
}

#[test]
fn several_batches_of_one_append_see_one_draft_20_l_ent_3() {
    let mut bench = Bench::default();
    let batch = |base_offset, from, count: i32| {
        let to = eosim_types::Sequence(from + count - 1);
        at(base_offset, crate::support::data(1, 0, eosim_types::Sequence(from), to, true, 1))
    };
    let commit = marker_at(40, (1, 0), 15, TransactionResult::Commit);
    bench.run("20", "R@9 D(0,0) stored");
    bench.replicate(&[batch(16, 1, 5), batch(26, 6, 5), commit]).unwrap();
    assert_eq!(bench.state(1), "epoch 0 [0] [1-5] [6-10]");
    assert_eq!(bench.entry(1).unwrap().coordinator_epoch, CoordinatorEpoch(15));
    assert_eq!(bench.log.first_unstable_offset(), Some(16));
    bench.high_watermark(41);
    assert_eq!(bench.log.first_unstable_offset(), None);
}

#[test]
fn an_old_coordinator_is_fenced_even_for_an_empty_transaction_25_l_mrk_4() {
    let mut bench = Bench::default();
    let batches: Vec<_> = (0..10).map(|n| at(i64::from(n), txn(1, 0, n))).collect();
    bench.replicate(&batches).unwrap();
    bench.replicate(&[marker_at(10, (1, 0), 0, TransactionResult::Commit)]).unwrap();
    bench.run("25", "A(0,2) ok@11; A(0,2) ok@12; A(0,1) 52");
    assert!(bench.log.aborted_index().is_empty());
}

#[test]
fn the_coordinator_epoch_survives_a_reload_26_l_snp_1() {
    let mut bench = Bench::default();
    bench.run("26", "T(5,0) ok@0; C(5,1) ok@1");
    bench.stop_and_start();
    bench.run("26", "C(5,0) 52");
}

#[test]
fn empty_transactions_are_skipped_27_l_mrk_9_l_idx_1() {
    let mut bench = Bench::default();
    let commit = |offset| marker_at(offset, (1, 0), 0, TransactionResult::Commit);
    let abort = |offset| marker_at(offset, (1, 0), 0, TransactionResult::Abort);
    let batches = [
        at(16, txn(1, 0, 0)),
        commit(21),
        commit(22),
        abort(23),
        at(24, txn(1, 0, 1)),
        abort(28),
        abort(29),
        at(30, txn(1, 0, 2)),
    ];
    bench.replicate(&batches).unwrap();
    assert_eq!(bench.index(), [(1, 24, 28, 29)]);
    bench.high_watermark(32);
    assert_eq!(bench.log.first_unstable_offset(), Some(30));
}

#[test]
fn a_fencing_marker_keeps_the_entry_alive_28_l_exp_2() {
    let mut bench = Bench::default();
    bench.run("28", "T(0,0) ok@0");
    bench.now_ms += 90_000_000;
    bench.run("28", "A(1) ok@1");
    bench.sweep();
    assert_eq!(bench.state(1), "epoch 1");
    assert_eq!(bench.entry(1).unwrap().last_data_offset(), None);
}

#[test]
fn an_emptied_marker_makes_an_empty_entry_30_l_mrk_1() {
    let mut bench = Bench::default();
    let emptied = RecordBatch { payload: Payload::EmptyControl, ..at(0, txn(1, 4, 0)) };
    bench.replicate(&[emptied]).unwrap();
    assert_eq!(bench.state(1), "epoch -1");
}

#[test]
fn a_replicated_marker_knows_no_version_and_is_not_refused_l_mrk_2() {
    let mut bench = Bench::default();
    bench.run("L-MRK-2", "R@0 T(4,0) stored");
    bench.replicate(&[marker_at(1, (1, 3), 0, TransactionResult::Abort)]).unwrap();
    assert_eq!(bench.state(1), "epoch 3");
    assert_eq!(bench.index(), [(1, 0, 1, 2)]);
}

#[test]
fn example_1_leaves_one_index_entry_32_l_mrk_3_l_mrk_5() {
    let mut bench = Bench::default();
    bench.run("32", "U(0,0) ok@0; U(0,1-2) ok@1; C(1)/2 ok@3; U(1,0-2) ok@4");
    bench.replicate_all();
    assert_eq!((bench.log.high_watermark(), bench.log.last_stable_offset()), (7, 4));
    bench.run("32", "A(2)/2 ok@7; U(2,0-1) ok@8; C(3)/2 ok@10");
    bench.replicate_all();
    assert_eq!(bench.index(), [(1, 4, 7, 8)]);
    assert_eq!((bench.log.log_end_offset(), bench.log.last_stable_offset()), (11, 11));
    assert_eq!(bench.state(1), "epoch 3");
}

#[test]
fn an_equal_epoch_marker_with_another_result_passes_as_released_only_l_mrk_3() {
    let steps = "U(0,0) ok@0; C(1)/2 ok@1; C(1)/2 ok@2";
    let mut bench = Bench::default();
    bench.run("as released", steps);
    bench.run("as released", "A(1)/2 ok@3");
    let mut bench = Bench::without(Defect::UpstreamLeaderMarkerRetryIgnoresResult);
    bench.run("repaired", steps);
    bench.run("repaired", "A(1)/2 47; C(1)/2 ok@3");
}

#[test]
fn the_defect_lets_an_equal_epoch_marker_end_an_open_transaction_l_mrk_3() {
    let mut bench = Bench::default();
    bench.run("correct", "U(0,0) ok@0; C(1)/2 ok@1; U(1,0) ok@2; C(1)/2 47");
    bench.defects = bench.defects.with(Defect::LeaderMarkerAcceptEqualEpoch);
    bench.run("defect", "C(1)/2 ok@3");
}

#[test]
#[should_panic(expected = "carries a version")]
fn a_leaders_marker_without_a_version_is_a_broken_assumption_l_mrk_2() {
    let marker = marker_at(0, (1, 0), 0, TransactionResult::Commit);
    let guard = eosim_storage::VerificationGuard::SENTINEL;
    let _ = Bench::default().append(marker, eosim_storage::AppendOrigin::Coordinator, guard, None);
}

#[test]
fn a_marker_is_one_record_without_sequence_l_rec_5() {
    let mut bench = Bench::default();
    let version = TransactionVersion::Tv2;
    bench.marker((9, 3), 7, TransactionResult::Commit, version).unwrap();
    let batch = bench.log.batches().next().unwrap().clone();
    assert!(batch.is_transactional && batch.is_control());
    assert_eq!((batch.record_count(), batch.base_sequence.0), (1, -1));
    assert_eq!((batch.producer_epoch, batch.max_timestamp), (ProducerEpoch(3), 1_000));
}
