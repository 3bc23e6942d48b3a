//! Deleting the beginning of a log (L-DEL; worked cases 15 and 82), and what is shown of producers
//! (L-DPR-1).

use eosim_storage::{LogConfig, UnifiedLog};
use eosim_types::message::ProducerState;
use eosim_types::{CoordinatorEpoch, LeaderEpoch, ProducerEpoch, ProducerId, Sequence};

use crate::support::{Bench, plain, txn};

#[test]
fn producers_outlive_their_records_15_l_del_2_l_del_3() {
    let size = i64::from(plain(1).size_in_bytes());
    let config = LogConfig { retention_bytes: 2 * size, ..LogConfig::default() };
    let mut bench = Bench::with_config(config);
    for step in ["D(0,0) ok@0", "p2 D(0,0) ok@1", "p2 D(0,1) ok@2"] {
        bench.run("15", step);
        bench.roll();
    }
    bench.with_env(UnifiedLog::delete_old_segments);
    assert_eq!(bench.log.log_start_offset(), 0, "not below the high watermark");
    bench.replicate_all();
    bench.with_env(UnifiedLog::delete_old_segments);
    assert_eq!(bench.log.log_start_offset(), 1);
    assert_eq!(bench.state(1), "epoch 0 [0]");
    assert_eq!(bench.state(2), "epoch 0 [0] [1]");
}

#[test]
fn segments_below_the_log_start_go_with_their_snapshots_82_l_del_2_l_del_4() {
    let mut bench = Bench::default();
    bench.run("82", "D(0,0) ok@0");
    bench.roll();
    bench.run("82", "p2 D(0,0) ok@1");
    bench.roll();
    bench.replicate_all();
    bench.delete_records(2);
    bench.with_env(UnifiedLog::delete_old_segments);
    assert_eq!((bench.state(1).as_str(), bench.state(2).as_str()), ("epoch 0 [0]", "epoch 0 [0]"));
    let snapshots: Vec<_> = bench.log.producer_state_manager().snapshot_offsets().collect();
    assert_eq!(snapshots, [2]);
}

#[test]
fn the_log_start_moves_forward_below_the_high_watermark_l_del_1_l_del_2() {
    let mut bench = Bench::default();
    bench.run("", "N(2) ok@0; N(2) ok@2");
    bench.log.assign_epoch_start(LeaderEpoch(5), 4);
    bench.high_watermark(3);
    assert!(bench.delete_records(4));
    assert_eq!(bench.log.log_start_offset(), 3);
    assert!(!bench.delete_records(2));
    assert_eq!(bench.log.batches().count(), 1, "the batch that holds the log start");
    assert_eq!(bench.log.end_offset_for_epoch(LeaderEpoch(0)), Some((LeaderEpoch(0), 4)));
}

#[test]
fn a_decided_transaction_before_the_log_start_is_not_waited_for_l_lso_2() {
    let mut bench = Bench::default();
    bench.run("", "T(0,0) ok@0; C(0) ok@1; N(1) ok@2");
    bench.high_watermark(2);
    bench.delete_records(2);
    assert_eq!(bench.log.first_unstable_offset(), None);
}

#[test]
fn describe_producers_shows_entries_not_verifications_l_dpr_1() {
    let mut bench = Bench::default();
    bench.run("", "p2 T(3,0-1) ok@0; A(4,7) ok@2");
    bench.start_verification(&txn(9, 0, 0), true).unwrap();
    let shown = |producer, epoch, sequence, coordinator_epoch, start| ProducerState {
        producer_id: ProducerId(producer),
        producer_epoch: ProducerEpoch(epoch),
        last_sequence: Sequence(sequence),
        last_timestamp: 1_000,
        coordinator_epoch: CoordinatorEpoch(coordinator_epoch),
        current_txn_start_offset: start,
    };
    assert_eq!(bench.log.producers(), [shown(1, 4, -1, 7, -1), shown(2, 3, 1, -1, 0)]);
}

#[test]
fn segments_go_when_their_newest_record_is_too_old_l_del_4() {
    let config = LogConfig { retention_ms: 500, ..LogConfig::default() };
    let mut bench = Bench::with_config(config);
    bench.run("", "D(0,0) ok@0");
    bench.roll();
    bench.now_ms += 400;
    bench.run("", "D(0,1) ok@1");
    bench.replicate_all();
    bench.now_ms += 101;
    bench.with_env(UnifiedLog::delete_old_segments);
    assert_eq!(bench.log.log_start_offset(), 1, "the first record is 501 ms old, the second 101");
    bench.now_ms += 500;
    bench.with_env(UnifiedLog::delete_old_segments);
    assert_eq!(bench.log.log_start_offset(), 2, "an active segment that is too old is rolled");
    assert_eq!(bench.state(1), "epoch 0 [0] [1]");
}

#[test]
fn open_transactions_do_not_hold_retention_back_l_del_4() {
    let config = LogConfig { retention_ms: 500, ..LogConfig::default() };
    let mut bench = Bench::with_config(config);
    bench.run("", "T(0,0) ok@0");
    bench.replicate_all();
    bench.now_ms += 501;
    bench.with_env(UnifiedLog::delete_old_segments);
    assert_eq!((bench.log.log_start_offset(), bench.log.last_stable_offset()), (1, 1));
    bench.run("", "C(1) ok@1");
}
