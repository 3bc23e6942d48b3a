//! Worked cases 59 to 69: last stable offset, aborted-transaction index, what a fetch is told.

use eosim_storage::{LogConfig, TransactionIndex};
use eosim_types::record::{AbortedTxn, TransactionResult};
use eosim_types::version::KafkaVersion;
use eosim_types::{Defect, ErrorCode, ProducerId};

use crate::support::{Bench, at, marker_at, plain, txn};

const COMMIT: TransactionResult = TransactionResult::Commit;
const ABORT: TransactionResult = TransactionResult::Abort;

#[test]
fn undecided_and_unstable_part_until_the_marker_is_replicated_59_l_lso_1_l_lso_2() {
    let mut bench = Bench::default();
    let offsets = |bench: &Bench| {
        let undecided = bench.log.producer_state_manager().first_undecided_offset();
        (undecided, bench.log.first_unstable_offset())
    };
    bench.replicate(&[at(99, txn(1, 0, 0))]).unwrap();
    assert_eq!(offsets(&bench), (Some(99), Some(99)));
    bench.replicate(&[at(105, txn(2, 0, 0))]).unwrap();
    assert_eq!(offsets(&bench), (Some(99), Some(99)));
    bench.replicate(&[marker_at(109, (1, 0), 0, COMMIT)]).unwrap();
    bench.high_watermark(100);
    assert_eq!(offsets(&bench), (Some(105), Some(99)));
    bench.high_watermark(109);
    assert_eq!(offsets(&bench), (Some(105), Some(99)), "the marker must lie below");
    bench.high_watermark(110);
    assert_eq!(offsets(&bench), (Some(105), Some(105)));
    bench.replicate(&[marker_at(112, (2, 0), 0, ABORT)]).unwrap();
    bench.high_watermark(112);
    assert_eq!(offsets(&bench), (None, Some(105)));
    bench.high_watermark(113);
    assert_eq!(offsets(&bench), (None, None));
}

#[test]
fn an_index_entry_knows_the_oldest_other_open_transaction_60_l_idx_3() {
    let mut bench = Bench::default();
    for (producer, offset) in [(1, 1_000), (2, 1_025), (3, 1_057)] {
        bench.replicate(&[at(offset, txn(producer, 0, 0))]).unwrap();
    }
    let ends =
        [(1, 1_072, 1_025, Some(1_025)), (3, 1_092, 1_025, Some(1_025)), (2, 1_170, 1_171, None)];
    for (producer, offset, index_lso, first_unstable) in ends {
        bench.replicate(&[marker_at(offset, (producer, 0), 0, ABORT)]).unwrap();
        bench.replicate_all();
        assert_eq!(bench.index().last().unwrap().3, index_lso);
        assert_eq!(bench.log.first_unstable_offset(), first_unstable);
    }
}

#[test]
fn a_followers_entry_does_not_depend_on_what_was_fetched_along_l_idx_3() {
    let batches =
        [at(0, txn(1, 0, 0)), marker_at(1, (1, 0), 0, ABORT), at(2, plain(1)), at(3, txn(2, 0, 0))];
    let defect = Defect::UpstreamLeaderFollowerIndexLooksAhead;
    for (mut bench, together, index_lso) in [
        (Bench::default(), 1, 2),
        (Bench::default(), 4, 3),
        (Bench::without(defect), 1, 2),
        (Bench::without(defect), 4, 2),
    ] {
        for fetched in batches.chunks(together) {
            bench.replicate(fetched).unwrap();
        }
        assert_eq!(bench.index(), [(1, 0, 1, index_lso)]);
    }
}

#[test]
fn a_followers_entry_that_looks_ahead_hides_the_next_abort_l_idx_3_l_idx_5() {
    let batches = [
        at(0, txn(1, 0, 0)),
        marker_at(1, (1, 0), 0, ABORT),
        at(2, txn(1, 0, 1)),
        marker_at(3, (1, 0), 0, ABORT),
        at(4, txn(2, 0, 0)),
    ];
    let defect = Defect::UpstreamLeaderFollowerIndexLooksAhead;
    for (defects, listed) in
        [(Bench::default().defects, vec![0]), (Bench::without(defect).defects, vec![0, 2])]
    {
        let mut bench =
            Bench::with_config(LogConfig { index_interval_bytes: 0, ..LogConfig::default() });
        bench.defects = defects;
        bench.replicate(&batches).unwrap();
        let read = &batches[..3];
        let found = bench.with_env(|log, env| log.aborted_transactions(env, 0, read));
        assert_eq!(found.iter().map(|entry| entry.first_offset).collect::<Vec<_>>(), listed);
    }
}

const CASE_61: &str = "T(0,0-4) ok@0; N(3) ok@5; p2 T(0,0-1) ok@8; T(0,5-8) ok@10;
    p3 T(0,0-2) ok@14; N(2) ok@17; T(0,9-18) ok@19; A(0) ok@29; p2 T(0,2-7) ok@30;
    p4 T(0,0-2) ok@36; N(10) ok@39; p3 T(0,3-11) ok@49; p3 C(0) ok@58; p4 T(0,3-10) ok@59;
    p2 T(0,8-14) ok@67; p2 A(0) ok@74; N(10) ok@75; p4 T(0,11-14) ok@85; p4 C(0) ok@89";

#[test]
fn the_index_lists_aborts_alone_61_l_idx_1_l_idx_2() {
    let mut leader = Bench::default();
    leader.run("61", CASE_61);
    let mut follower = Bench::default();
    let batches: Vec<_> = leader.log.batches().cloned().collect();
    for batch in &batches {
        follower.replicate(std::slice::from_ref(batch)).unwrap();
    }
    for mut bench in [leader, follower] {
        assert_eq!(bench.index(), [(1, 0, 29, 8), (2, 8, 74, 36)]);
        for (high_watermark, first_unstable) in [(30, Some(8)), (75, Some(36)), (90, None)] {
            bench.high_watermark(high_watermark);
            assert_eq!(bench.log.first_unstable_offset(), first_unstable);
        }
    }
}

#[test]
fn a_reader_gets_what_is_stable_62_l_lso_3_l_lso_6_l_fet_1() {
    let mut bench = Bench::default();
    bench.run(
        "62",
        "T(0,0-4) ok@0; N(3) ok@5; p2 T(0,0-1) ok@8; T(0,5-8) ok@10; N(2) ok@14; T(0,9-18) ok@16",
    );
    let stable = |bench: &Bench| {
        let stable = bench.log.last_stable_offset();
        let read = bench.log.read(0, stable, i32::MAX);
        assert_eq!(read.is_empty(), stable == 0);
        assert!(bench.log.read(stable, stable, i32::MAX).is_empty());
        stable
    };
    assert_eq!(stable(&bench), 0, "high watermark 0");
    bench.high_watermark(26);
    assert_eq!(stable(&bench), 0);
    bench.run("62", "C(0) ok@26");
    assert_eq!(stable(&bench), 0, "the marker is not replicated");
    bench.high_watermark(27);
    assert_eq!(stable(&bench), 8);
    bench.run("62", "p2 A(0) ok@27");
    assert_eq!(stable(&bench), 8);
    bench.high_watermark(28);
    assert_eq!(stable(&bench), 28);
}

#[test]
fn the_first_unstable_offset_stands_at_the_transactions_begin_63_l_lso_4() {
    let mut bench = Bench::default();
    for (step, first_unstable) in
        [("T(5,0-2) ok@0", Some(0)), ("T(5,3) ok@3", Some(0)), ("C(5) ok@4", Some(0))]
    {
        bench.run("63", step);
        assert_eq!(bench.log.first_unstable_offset(), first_unstable);
    }
    bench.high_watermark(5);
    assert_eq!(bench.log.first_unstable_offset(), None);
}

fn abcd() -> TransactionIndex {
    let mut index = TransactionIndex::default();
    let mut bench = Bench::default();
    for (producer, first_offset, last_offset, last_stable_offset) in
        [(0, 0, 10, 11), (1, 5, 15, 13), (2, 18, 35, 25), (3, 32, 50, 40)]
    {
        let producer_id = ProducerId(producer);
        let entry = AbortedTxn { producer_id, first_offset, last_offset, last_stable_offset };
        bench.with_env(|_, env| index.append(env, entry)).unwrap();
    }
    index
}

#[test]
fn a_search_stops_where_no_later_entry_can_matter_64_l_idx_5() {
    let cases: &[(i64, i64, &[i64], bool)] = &[
        (0, 100, &[0, 1, 2, 3], false),
        (0, 32, &[0, 1, 2], true),
        (0, 35, &[0, 1, 2, 3], true),
        (10, 35, &[0, 1, 2, 3], true),
        (11, 35, &[1, 2, 3], true),
        (20, 41, &[2, 3], false),
    ];
    let index = abcd();
    for (from, upper, producers, is_complete) in cases {
        let mut bench = Bench::default();
        let result = bench.with_env(|_, env| index.collect_aborted_txns(env, *from, *upper));
        let found: Vec<_> = result.aborted_transactions.iter().map(|a| a.producer_id.0).collect();
        assert_eq!((&found[..], result.is_complete), (*producers, *is_complete), "{from} {upper}");
    }
}

#[test]
fn markers_strictly_increase_and_truncation_is_by_marker_65_l_idx_4_l_idx_6() {
    let mut index = abcd();
    for last_offset in [50, 45] {
        let entry = AbortedTxn {
            producer_id: ProducerId(9),
            first_offset: 44,
            last_offset,
            last_stable_offset: 60,
        };
        let refused = Bench::default().with_env(|_, env| index.append(env, entry));
        assert_eq!(refused, Err(ErrorCode::KafkaStorageError));
    }
    index.truncate_to(51);
    assert_eq!(index.entries().len(), 4);
    index.truncate_to(50);
    assert_eq!(index.entries().len(), 3);
}

#[test]
fn a_search_walks_on_over_segments_66_l_idx_5_l_fet_3() {
    let mut bench = Bench::default();
    bench.run("66", "T(0,0-2) ok@0");
    bench.roll();
    bench.run("66", "T(0,3-5) ok@3");
    bench.roll();
    bench.run("66", "A(0) ok@6");
    bench.replicate_all();
    let batches = bench.log.read(0, bench.log.last_stable_offset(), i32::MAX);
    assert_eq!(batches.len(), 1, "a read ends with the segment");
    assert_eq!(bench.aborted(0, 7, i32::MAX), [(1, 0)]);
}

#[test]
fn the_upper_bound_is_the_next_index_entry_or_the_end_l_fet_3() {
    let mut bench = Bench::default();
    for sequence in 0..2 {
        let mut batch = plain(1);
        batch.payload = eosim_types::record::Payload::Records(
            [eosim_types::record::Record {
                value: eosim_types::Value(0),
                key: None,
                value_bytes: 5_000,
            }]
            .into(),
        );
        bench.client(batch).unwrap();
        bench.run("", &format!("p2 T(0,{sequence}) ok@{}", 1 + 2 * sequence));
    }
    bench.run("", "p2 A(0) ok@4; p3 T(0,0) ok@5; p3 A(0) ok@6");
    bench.replicate_all();
    assert_eq!(bench.aborted(0, 7, 1), [], "the batch at 1 has the first index entry");
    assert_eq!(bench.aborted(1, 7, 1), [(2, 1)], "the batch at 3 has the next");
    assert_eq!(bench.aborted(3, 7, 1), [(2, 1), (3, 5)], "then the log end");
    assert_eq!(bench.aborted(7, 7, 1), [], "an empty read carries no list");
}

#[test]
fn a_deleted_first_offset_holds_the_lso_67_l_lso_4_l_lso_5() {
    let older = Bench { kafka: KafkaVersion::V3_9, ..Bench::default() };
    let repaired = Bench::without(Defect::UpstreamLeaderLsoBelowLogStart);
    for (bench, expected) in [(Bench::default(), 0), (older, 3), (repaired, 3)] {
        let mut bench = bench;
        bench.run("67", "T(0,0-4) ok@0; N(3) ok@5; T(0,5-9) ok@8");
        bench.high_watermark(13);
        assert!(bench.delete_records(3));
        assert_eq!(bench.log.first_unstable_offset(), Some(expected), "in the batch's middle");
        assert!(bench.delete_records(5));
        assert_eq!(bench.log.first_unstable_offset(), Some(5), "at a boundary");
        bench.run("67", "C(0) ok@13");
        bench.replicate_all();
        assert_eq!(bench.log.last_stable_offset(), 14);
    }
}

#[test]
fn aborted_transactions_are_listed_in_the_order_of_their_markers_69_l_fet_3() {
    let mut bench = Bench::default();
    bench.run("69", "T(0,0-2) ok@0; p2 T(0,0) ok@3; p2 A(0) ok@4; A(0) ok@5");
    bench.replicate_all();
    assert_eq!(bench.log.last_stable_offset(), 6);
    assert_eq!(bench.aborted(0, 6, i32::MAX), [(2, 3), (1, 0)]);
}

#[test]
fn the_defect_drops_the_index_entry_l_idx_1() {
    let mut bench = Bench::default();
    bench.defects = bench.defects.with(Defect::LeaderIndexDropAbortEntry);
    bench.run("defect", "T(0,0) ok@0; A(0) ok@1");
    assert_eq!(bench.index(), []);
}

#[test]
fn reads_are_whole_batches_and_the_first_is_always_given_l_fet_2() {
    let mut bench = Bench::with_config(LogConfig::default());
    bench.run("", "N(3) ok@0; N(1) ok@3; N(1) ok@4");
    let read = |from, upper, max_bytes| -> Vec<i64> {
        let batches = bench.log.read(from, upper, max_bytes);
        batches.iter().map(|batch| batch.base_offset).collect()
    };
    assert_eq!(read(0, 5, i32::MAX), [0, 3, 4]);
    assert_eq!(read(2, 5, 1), [0], "the batch that holds the offset");
    assert_eq!(read(0, 4, i32::MAX), [0, 3]);
    assert_eq!(read(0, 2, i32::MAX), [0; 0]);
    assert_eq!(read(3, 5, 69), [3]);
    assert_eq!(read(3, 5, 69 + 69), [3, 4]);
}

#[test]
fn a_look_up_by_time_finds_the_first_late_enough_record_l_lst_2() {
    let mut bench = Bench::default();
    bench.run("", "N(2) ok@0");
    bench.now_ms = 2_000;
    bench.run("", "T(0,0) ok@2");
    assert_eq!(bench.log.offset_for_timestamp(0), Some((1_000, 0)));
    assert_eq!(bench.log.offset_for_timestamp(1_001), Some((2_000, 2)));
    assert_eq!(bench.log.offset_for_timestamp(2_001), None);
    bench.replicate_all();
    bench.delete_records(1);
    assert_eq!(bench.log.offset_for_timestamp(0), Some((1_000, 1)));
}

#[test]
fn the_high_watermark_stays_within_the_log_l_hw_1_l_hw_4() {
    let mut bench = Bench::default();
    bench.run("", "N(4) ok@0");
    let set = |bench: &mut Bench, offset| {
        let changed = bench.with_env(|log, env| log.update_high_watermark(env, offset));
        (changed, bench.log.high_watermark())
    };
    assert_eq!(set(&mut bench, 9), (true, 4));
    assert_eq!(set(&mut bench, 4), (false, 4));
    bench.delete_records(2);
    assert_eq!(set(&mut bench, 0), (true, 2));
}
