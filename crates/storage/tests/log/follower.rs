//! Following a leader and cutting what it does not have (L-RPL, L-TRC; worked cases 70 and 72).

use eosim_types::record::{RecordBatch, TransactionResult};
use eosim_types::{ErrorCode, LeaderEpoch};

use crate::support::{Bench, at, idempotent, marker_at, plain, txn};

fn of_epoch(epoch: i32, batch: RecordBatch) -> RecordBatch {
    RecordBatch { partition_leader_epoch: LeaderEpoch(epoch), ..batch }
}

#[test]
fn a_response_of_a_newer_leader_is_cut_short_l_rpl_2() {
    let mut bench = Bench::default();
    let batches = [at(0, plain(1)), of_epoch(3, at(1, plain(1))), at(2, plain(1))];
    let appended = bench.with_env(|log, env| log.append_as_follower(env, &batches, LeaderEpoch(2)));
    assert_eq!((appended, bench.log.log_end_offset()), (Ok(()), 1));
    assert_eq!(bench.log.latest_epoch(), Some(LeaderEpoch(0)));
}

#[test]
fn batches_must_continue_the_log_l_rpl_1() {
    let mut bench = Bench::default();
    bench.replicate(&[at(4, plain(2))]).unwrap();
    assert_eq!(bench.replicate(&[at(5, plain(1))]), Err(ErrorCode::OffsetOutOfRange));
    let overlapping = [at(6, plain(2)), at(7, plain(1))];
    assert_eq!(bench.replicate(&overlapping), Err(ErrorCode::OffsetOutOfRange));
    assert_eq!(bench.log.log_end_offset(), 6, "all or nothing");
}

#[test]
fn mixing_is_refused_from_everybody_l_txn_3_l_snp_4() {
    let mut bench = Bench::default();
    let mixed = [at(0, txn(1, 0, 0)), at(1, idempotent(1, 0, 1))];
    assert_eq!(bench.replicate(&mixed), Err(ErrorCode::InvalidTxnState));
    assert_eq!((bench.log.log_end_offset(), bench.state(1).as_str()), (0, "unknown"));
}

#[test]
fn a_follower_clears_verifications_as_a_leader_does_l_grd_5() {
    let mut bench = Bench::default();
    bench.start_verification(&txn(1, 0, 0), true).unwrap();
    bench.replicate(&[at(0, txn(1, 0, 0))]).unwrap();
    assert_eq!(bench.guard(1), None);
}

#[test]
fn a_cut_marker_opens_its_transaction_again_70_l_trc_1_l_snp_3() {
    let mut bench = Bench::default();
    bench.replicate(&[at(99, txn(1, 0, 0))]).unwrap();
    bench.roll();
    bench.replicate(&[marker_at(105, (1, 0), 0, TransactionResult::Commit)]).unwrap();
    bench.high_watermark(106);
    bench.roll();
    bench.replicate(&[at(106, idempotent(1, 0, 1))]).unwrap();
    bench.truncate(106);
    assert_eq!(bench.log.first_unstable_offset(), None);
    bench.truncate(100);
    assert_eq!(bench.log.first_unstable_offset(), Some(99));
    assert_eq!(bench.log.high_watermark(), 100);
    let snapshots: Vec<_> = bench.log.producer_state_manager().snapshot_offsets().collect();
    assert_eq!(snapshots, [100]);
}

#[test]
fn truncation_without_snapshots_replays_72_l_trc_1() {
    let mut bench = Bench::default();
    bench.run("72", "D(0,0) ok@0; D(0,1) ok@1");
    bench.truncate(1);
    assert_eq!(bench.state(1), "epoch 0 [0]");
}

#[test]
fn truncation_cuts_whole_batches_index_and_epochs_l_trc_1_l_idx_6() {
    let mut bench = Bench::default();
    bench.run("", "T(0,0) ok@0; A(0) ok@1; T(0,1) ok@2; A(0) ok@3");
    bench.replicate(&[of_epoch(4, at(4, plain(2)))]).unwrap();
    bench.high_watermark(2);
    bench.truncate(9);
    assert_eq!((bench.log.log_end_offset(), bench.log.latest_epoch()), (6, Some(LeaderEpoch(4))));
    bench.truncate(3);
    assert_eq!(bench.index(), [(1, 0, 1, 2)]);
    assert_eq!((bench.log.log_end_offset(), bench.log.high_watermark()), (3, 2));
    assert_eq!(bench.log.latest_epoch(), Some(LeaderEpoch(0)));
    assert_eq!(bench.state(1), "epoch 0 [0] [1] open@2");
}

#[test]
fn beyond_the_end_only_epochs_are_trimmed_l_trc_1() {
    let mut bench = Bench::default();
    bench.run("", "N(2) ok@0");
    bench.log.assign_epoch_start(LeaderEpoch(7), 2);
    bench.truncate(2);
    assert_eq!(bench.log.latest_epoch(), Some(LeaderEpoch(0)));
}

#[test]
fn below_the_first_segment_everything_goes_l_trc_2() {
    let mut bench = Bench::default();
    bench.with_env(|log, env| log.truncate_fully_and_start_at(env, 10));
    bench.run("", "D(0,0) ok@10");
    bench.stop_and_start();
    bench.truncate(4);
    let log = &bench.log;
    let offsets = (log.log_start_offset(), log.high_watermark(), log.log_end_offset());
    assert_eq!(offsets, (4, 4, 4));
    assert_eq!((bench.state(1).as_str(), bench.log.latest_epoch()), ("unknown", None));
    assert_eq!(bench.log.producer_state_manager().snapshot_offsets().count(), 0);
}

#[test]
fn a_replica_that_was_up_all_the_time_keeps_five_after_a_cut_l_snp_8() {
    let mut bench = Bench::default();
    bench.run("", "D(0,0) ok@0; D(0,1) ok@1; D(0,2) ok@2; D(0,3) ok@3");
    bench.truncate(3);
    assert_eq!(bench.state(1), "epoch 0 [0] [1] [2]");
}
