//! Compaction (L-CMP; worked cases 80 and 81).

use eosim_storage::{AppendOrigin, UnifiedLog};
use eosim_types::record::RecordBatch;

use crate::support::{Bench, keyed, txn};

/// Appends a transactional batch, one record per key.
fn append(bench: &mut Bench, producer: i64, sequence: i32, keys: &[u32]) {
    let batch = keyed(txn(producer, 0, sequence), keys);
    bench.verified(batch, AppendOrigin::Client, false).unwrap();
}

/// Everything so far lies below the high watermark and in closed segments; then one pass.
fn clean(bench: &mut Bench) -> Vec<(i64, i32)> {
    bench.roll();
    bench.replicate_all();
    clean_again(bench)
}

fn clean_again(bench: &mut Bench) -> Vec<(i64, i32)> {
    bench.with_env(UnifiedLog::clean);
    let shape = |batch: &RecordBatch| (batch.base_offset, batch.record_count());
    bench.log.batches().map(shape).collect()
}

#[test]
fn a_commit_marker_outlives_its_transactions_records_80_l_cmp_2_l_cmp_3_l_cmp_5() {
    let mut bench = Bench::default();
    append(&mut bench, 1, 0, &[1]);
    append(&mut bench, 1, 1, &[2, 3]);
    bench.run("80", "C(0) ok@3");
    bench.roll();
    append(&mut bench, 2, 0, &[1, 2]);
    bench.run("80", "p2 C(0) ok@6");
    assert_eq!(clean(&mut bench), [(1, 2), (3, 1), (4, 2), (6, 1)], "key 3 is left of it");
    append(&mut bench, 1, 3, &[3]);
    bench.run("80", "C(0) ok@8");
    let with_horizon = [(3, 1), (4, 2), (6, 1), (7, 1), (8, 1)];
    assert_eq!(clean(&mut bench), with_horizon, "a horizon is set");
    assert_eq!(clean_again(&mut bench), with_horizon, "at the same clock it stays");
    bench.now_ms += 86_400_000;
    assert_eq!(clean_again(&mut bench), with_horizon[1..], "removed once the horizon has passed");
}

#[test]
fn the_last_sequence_survives_an_abort_81_l_cmp_2_l_cmp_4() {
    let mut bench = Bench::default();
    append(&mut bench, 1, 0, &[1]);
    append(&mut bench, 1, 1, &[2, 3]);
    bench.run("81", "A(0) ok@3");
    assert_eq!(clean(&mut bench), [(1, 0), (3, 1)]);
    let emptied = bench.log.batches().next().unwrap().clone();
    assert_eq!((emptied.last_offset(), emptied.last_sequence().0), (2, 2));
    bench.truncate(4);
    bench.kill_and_start();
    assert_eq!(bench.state(1), "epoch 0 [1-2]", "an emptied batch restores the sequence");
    append(&mut bench, 1, 3, &[1]);
    append(&mut bench, 1, 4, &[5]);
    bench.run("81", "C(0) ok@6");
    assert_eq!(clean(&mut bench), [(3, 1), (4, 1), (5, 1), (6, 1)], "after new data it goes");
    assert_eq!(bench.state(1), "epoch 0 [1-2] [3] [4]");
}

#[test]
fn index_entries_go_with_their_last_batch_l_cmp_3() {
    let mut bench = Bench::default();
    append(&mut bench, 1, 0, &[1]);
    bench.run("", "A(0) ok@1");
    append(&mut bench, 2, 0, &[1]);
    bench.run("", "p2 C(0) ok@3; C(1) ok@4");
    clean(&mut bench);
    assert_eq!(bench.index(), [(1, 0, 1, 2)], "its batch was still there in this pass");
    clean_again(&mut bench);
    assert_eq!(bench.index(), []);
}

#[test]
fn a_fencing_marker_stays_but_emptied_it_restores_nothing_l_cmp_4_l_mrk_1() {
    let mut bench = Bench::default();
    append(&mut bench, 1, 0, &[1]);
    bench.run("", "A(1) ok@1");
    append(&mut bench, 2, 0, &[1]);
    bench.run("", "p2 C(0) ok@3");
    clean(&mut bench);
    clean_again(&mut bench);
    bench.now_ms += 86_400_000;
    assert_eq!(clean_again(&mut bench)[0], (1, 0));
    bench.truncate(3);
    assert_eq!(bench.state(1), "epoch -1", "the fencing epoch is forgotten");
}

#[test]
fn open_transactions_and_the_active_segment_are_left_alone_l_cmp_1() {
    let mut bench = Bench::default();
    append(&mut bench, 1, 0, &[1]);
    bench.run("", "C(0) ok@1");
    bench.roll();
    append(&mut bench, 2, 0, &[1]);
    bench.roll();
    append(&mut bench, 3, 0, &[1]);
    bench.run("", "p3 C(0) ok@4");
    bench.replicate_all();
    assert_eq!(clean_again(&mut bench).len(), 5);
}

#[test]
fn an_abort_in_a_later_segment_counts_l_cmp_2() {
    let mut bench = Bench::default();
    append(&mut bench, 1, 0, &[1]);
    bench.run("", "C(0) ok@1");
    append(&mut bench, 2, 0, &[1]);
    append(&mut bench, 2, 1, &[2]);
    bench.roll();
    bench.run("", "p2 A(0) ok@4");
    bench.replicate_all();
    assert_eq!(clean_again(&mut bench), [(0, 1), (1, 1), (3, 0), (4, 1)]);
}
