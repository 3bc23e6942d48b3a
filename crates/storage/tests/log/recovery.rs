//! Stop, crash and power loss (L-SNP, L-HW-5, L-FO-6; worked case 71).

use eosim_storage::LogConfig;
use eosim_types::record::RecordBatch;
use eosim_types::{Defect, LeaderEpoch};

use crate::support::{Bench, at, plain};

fn snapshots(bench: &Bench) -> Vec<i64> {
    bench.log.producer_state_manager().snapshot_offsets().collect()
}

#[test]
fn a_restart_keeps_one_batch_and_open_transactions_71_l_snp_1_l_snp_6_l_dup_7() {
    let restarts: [fn(&mut Bench); 2] = [Bench::stop_and_start, Bench::kill_and_start];
    for restart in restarts {
        let mut bench = Bench::default();
        bench.run("71", "T(0,0) ok@0; T(0,1) ok@1");
        restart(&mut bench);
        assert_eq!(bench.state(1), "epoch 0 [1] open@0");
        bench.run("71", "D(0,0) 45; T(0,1) dup@1; T(0,2) ok@2; A(0) ok@3");
        restart(&mut bench);
        assert_eq!(bench.state(1), "epoch 0 [2]");
        assert_eq!(bench.index(), [(1, 0, 3, 4)]);
        bench.run("71", "T(0,3) ok@4");
    }
}

#[test]
fn batches_since_the_restart_fill_the_window_again_l_dup_7() {
    let mut bench = Bench::default();
    bench.run("", "D(0,0) ok@0; D(0,1) ok@1");
    bench.kill_and_start();
    bench.run("", "R@2 D(0,2) stored; D(0,3) ok@3");
    assert_eq!(bench.state(1), "epoch 0 [1] [2] [3]");
}

#[test]
fn a_repaired_restart_keeps_all_five_l_dup_7() {
    let mut bench = Bench::without(Defect::UpstreamLeaderSnapshotKeepsOneBatch);
    bench.run("", "D(0,0) ok@0; D(0,1) ok@1; D(0,2-4) ok@2");
    for _ in 0..2 {
        bench.stop_and_start();
        assert_eq!(bench.state(1), "epoch 0 [0] [1] [2-4]");
        bench.kill_and_start();
        assert_eq!(bench.state(1), "epoch 0 [0] [1] [2-4]");
    }
}

#[test]
fn a_cut_below_the_start_up_snapshot_replays_l_snp_8() {
    let mut bench = Bench::default();
    bench.run("", "D(0,0) ok@0; D(0,1) ok@1; D(0,2) ok@2; D(0,3) ok@3; D(0,4) ok@4");
    bench.kill_and_start();
    assert_eq!(bench.state(1), "epoch 0 [4]");
    bench.truncate(4);
    assert_eq!(bench.state(1), "epoch 0 [0] [1] [2] [3]");
}

#[test]
fn what_a_reload_finds_below_the_high_watermark_is_replicated_l_trc_1_l_snp_4_l_lso_2() {
    let defect = Defect::UpstreamLeaderReloadIgnoresHighWatermark;
    for (mut bench, last_stable_offset) in [(Bench::default(), 0), (Bench::without(defect), 2)] {
        bench.run("", "T(0,0) ok@0; C(0) ok@1; p2 D(0,0) ok@2; p2 D(0,1) ok@3");
        bench.high_watermark(2);
        assert_eq!(bench.log.last_stable_offset(), 2);
        bench.truncate(3);
        bench.run("", "p2 D(0,1) ok@3");
        assert_eq!(bench.log.last_stable_offset(), last_stable_offset);
        bench.high_watermark(3);
        assert_eq!(bench.log.last_stable_offset(), 3, "the next advance heals");
    }
}

#[test]
fn a_snapshot_is_taken_on_roll_stop_and_recovery_l_snp_2_l_snp_5() {
    let mut bench = Bench::default();
    bench.run("", "D(0,0) ok@0");
    bench.roll();
    assert_eq!(snapshots(&bench), [1]);
    bench.roll();
    assert_eq!(snapshots(&bench), [1], "nothing new was applied");
    bench.run("", "D(0,1) ok@1");
    bench.stop_and_start();
    assert_eq!(snapshots(&bench), [1, 2]);
    bench.run("", "D(0,2) ok@2");
    bench.kill_and_start();
    assert_eq!(snapshots(&bench), [1, 3], "of those without a segment the newest stays");
}

#[test]
fn a_clean_stop_without_snapshot_begins_without_state_l_snp_3() {
    let mut bench = Bench::default();
    bench.run("", "N(3) ok@0");
    bench.stop_and_start();
    assert_eq!((bench.state(1).as_str(), snapshots(&bench)), ("unknown", vec![3]));
}

#[test]
fn a_log_without_records_forgets_its_producers_at_a_restart_l_snp_6() {
    let mut bench = Bench::default();
    bench.run("", "D(0,0) ok@0");
    bench.replicate_all();
    bench.delete_records(1);
    assert_eq!(bench.state(1), "epoch 0 [0]");
    bench.stop_and_start();
    assert_eq!((bench.log.log_start_offset(), bench.state(1).as_str()), (1, "unknown"));
}

#[test]
fn deleted_records_return_after_a_crash_as_released_only_l_snp_7() {
    let repaired = Bench::without(Defect::UpstreamLeaderDeletedRecordsReturn);
    for (mut bench, after_crash) in [(Bench::default(), 1), (repaired, 2)] {
        bench.run("", "N(1) ok@0; N(1) ok@1; N(1) ok@2");
        bench.replicate_all();
        bench.delete_records(1);
        bench.log.checkpoint_log_start_offset();
        bench.delete_records(2);
        bench.kill_and_start();
        assert_eq!(bench.log.log_start_offset(), after_crash);
        bench.replicate_all();
        bench.delete_records(2);
        bench.stop_and_start();
        assert_eq!(bench.log.log_start_offset(), 2, "a clean stop keeps it");
    }
}

#[test]
fn the_high_watermark_comes_back_from_its_checkpoint_l_hw_5() {
    let mut bench = Bench::default();
    bench.run("", "N(5) ok@0");
    bench.high_watermark(3);
    bench.log.checkpoint_high_watermark();
    bench.high_watermark(5);
    bench.kill_and_start();
    assert_eq!(bench.log.high_watermark(), 3);
    bench.high_watermark(5);
    bench.stop_and_start();
    assert_eq!(bench.log.high_watermark(), 5);
}

#[test]
fn a_power_loss_keeps_what_was_flushed_l_fo_6() {
    let mut bench = Bench::default();
    bench.run("", "T(0,0) ok@0; p2 D(0,0) ok@1");
    bench.log.flush();
    bench.run("", "A(0) ok@2; p3 D(0,0) ok@3");
    bench.replicate_all();
    bench.log.checkpoint_high_watermark();
    let mut killed = bench.clone();
    killed.kill_and_start();
    assert_eq!((killed.log.log_end_offset(), killed.state(1).as_str()), (4, "epoch 0 [0]"));
    bench.log.crash(true);
    bench.recover();
    assert_eq!((bench.log.log_end_offset(), bench.log.high_watermark()), (2, 2));
    assert_eq!(
        (bench.state(1).as_str(), bench.state(3).as_str()),
        ("epoch 0 [0] open@0", "unknown")
    );
    assert_eq!((bench.index(), bench.log.last_stable_offset()), (vec![], 0));
}

#[test]
fn a_power_loss_below_the_log_start_leaves_an_empty_log_l_snp_7() {
    let mut bench = Bench::without(Defect::UpstreamLeaderDeletedRecordsReturn);
    bench.run("", "D(0,0-4) ok@0");
    bench.replicate_all();
    bench.delete_records(5);
    bench.log.crash(true);
    bench.recover();
    assert_eq!((bench.log.log_start_offset(), bench.log.log_end_offset()), (5, 5));
}

#[test]
fn several_segments_are_recovered_one_by_one_l_snp_5() {
    let segment_bytes = plain(1).size_in_bytes() * 2;
    let config = LogConfig { segment_bytes, ..LogConfig::default() };
    let mut bench = Bench::with_config(config);
    bench.run("", "T(0,0) ok@0; T(0,1) ok@1; T(0,2) ok@2; A(0) ok@3; T(0,3) ok@4");
    let before = bench.index();
    bench.log.crash(false);
    bench.recover();
    assert_eq!((bench.index(), bench.state(1).as_str()), (before, "epoch 0 [3] open@4"));
}

#[test]
fn an_epoch_without_a_batch_is_not_remembered_l_lep_1() {
    let mut bench = Bench::default();
    bench.run("", "N(1) ok@0");
    bench.log.assign_epoch_start(LeaderEpoch(3), 1);
    bench.kill_and_start();
    assert_eq!(bench.log.latest_epoch(), Some(LeaderEpoch(0)));
}

#[test]
fn an_epoch_that_began_in_a_flushed_segment_keeps_its_start_l_lep_2_l_snp_5() {
    let mut bench = Bench::default();
    let of_epoch = |base_offset, epoch| {
        let batch = at(base_offset, plain(1));
        RecordBatch { partition_leader_epoch: LeaderEpoch(epoch), ..batch }
    };
    bench.replicate(&[of_epoch(0, 0), of_epoch(1, 1)]).expect("follows");
    bench.roll();
    bench.replicate(&[of_epoch(2, 1)]).expect("follows");
    // It leads, and dies before it has written anything.
    bench.log.assign_epoch_start(LeaderEpoch(2), 3);
    bench.kill_and_start();
    let end = |epoch| bench.log.end_offset_for_epoch(LeaderEpoch(epoch)).map(|(e, o)| (e.0, o));
    assert_eq!((end(0), end(1)), (Some((0, 1)), Some((1, 3))));
}

#[test]
fn a_reset_log_equals_a_new_one() {
    let mut bench = Bench::default();
    bench.run("", "T(0,0) ok@0; A(0) ok@1; p2 D(0,0) ok@2");
    bench.roll();
    bench.stop_and_start();
    bench.log.reset();
    assert_eq!(bench.log, Bench::default().log);
}
