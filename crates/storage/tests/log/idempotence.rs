//! Worked cases 1 to 16: duplicates, sequences, epochs, expiry.

use eosim_storage::{AppendOrigin, LogConfig};
use eosim_types::version::KafkaVersion;
use eosim_types::{Defect, Duration, ErrorCode, ProducerId, Sequence};

use crate::support::{Bench, at, data, idempotent};

/// Case, steps, what is known of producer 1 in the end, log end.
const CASES: &[(&str, &str, &str, i64)] = &[
    (
        "1 L-DUP-1 L-DUP-2 L-DUP-5 L-PIPE-5",
        "D(0,0-2) ok@0; D(0,0-2) dup@0; D(0,5) 45; D(0,3-5) ok@3; D(0,6-8) ok@6; D(0,9-11) ok@9;
         D(0,12-14) ok@12; D(0,15-17) ok@15; D(0,0-2) 45",
        "epoch 0 [3-5] [6-8] [9-11] [12-14] [15-17]",
        18,
    ),
    (
        "2 L-ENT-2 L-DUP-1",
        "D(0,0) ok@0; D(0,1) ok@1; D(0,2) ok@2; D(0,3) ok@3; D(0,4) ok@4; D(0,5) ok@5;
         D(0,6-8) ok@6; D(0,6-8) dup@6; D(0,7-8) 45; D(0,2) dup@2; D(0,1) 45; D(0,9) ok@9;
         D(0,9) dup@9",
        "epoch 0 [3] [4] [5] [6-8] [9]",
        10,
    ),
    (
        "3 L-SEQ-4 L-EPO-1 L-EPO-3",
        "D(0,0) ok@0; D(0,1) ok@1; D(0,5) 45; D(1,0) ok@2; D(0,0) 47",
        "epoch 1 [0]",
        3,
    ),
    ("4 L-EPO-1", "D(1,0) ok@0; D(0,0) 47", "epoch 1 [0]", 1),
    (
        "5 L-SEQ-3",
        "D(0,0) ok@0; D(0,1) ok@1; D(0,2) ok@2; D(1,5) 45; D(1,0) ok@3",
        "epoch 1 [0]",
        4,
    ),
    (
        "6 L-SEQ-5 L-SEQ-6",
        "R@735 D(15,MAX) stored; D(15,0) ok@736",
        "epoch 15 [2147483647] [0]",
        737,
    ),
    (
        "7 L-SEQ-6 L-REC-2",
        "R@2000 D(15,2147483637-9) stored; D(15,10) ok@2021",
        "epoch 15 [2147483637-9] [10]",
        2022,
    ),
    ("8 L-SEQ-5", "R@735 D(15,MAX) stored; D(15,1) 45", "epoch 15 [2147483647]", 736),
    ("9 L-REC-7 L-SNP-4", "R@735 D(5,16) stored", "epoch 5 [16]", 736),
    ("10 L-RPL-1", "D(0,0) ok@0; D(0,3) 45; R@1 D(0,3) stored", "epoch 0 [0] [3]", 2),
    ("11 L-RPL-1 L-REC-7", "R@0 D(0,0-1) stored; R@2 D(0,0-1) stored", "epoch 0 [0-1] [0-1]", 4),
    ("L-SEQ-7 L-EPO-2 an unknown producer may begin anywhere", "D(7,12) ok@0", "epoch 7 [12]", 1),
    (
        "L-SEQ-7 a marker alone: 0 must follow",
        "C(2) ok@0; D(2,3) 45; D(2,0) ok@1",
        "epoch 2 [0]",
        2,
    ),
    (
        "L-EPO-4 an entry of epoch -1 is no state",
        "D(-1,5) ok@0; D(-1,9) ok@1; D(3,7) ok@2; D(-1,10) 47",
        "epoch 3 [7]",
        3,
    ),
    ("L-REC-4 without producer id nothing is tested", "N(2) ok@0; N(2) ok@2", "unknown", 4),
    (
        "L-REC-7 a lower epoch is adopted, L-EPO-1 L-ENT-2",
        "R@0 D(4,0) stored; R@1 D(3,8) stored",
        "epoch 3 [8]",
        2,
    ),
];

#[test]
fn an_unknown_producer_gets_an_entry_l_ent_1_l_epo_2() {
    let mut bench = Bench::default();
    bench.run("", "D(3,7-9) ok@0");
    let entry = bench.entry(1).unwrap();
    assert_eq!((entry.producer_epoch.0, entry.coordinator_epoch.0), (3, -1));
    assert_eq!((entry.last_timestamp, entry.current_txn_first_offset), (1_000, None));
    let batch = entry.batches()[0];
    assert_eq!((batch.first_sequence(), batch.last_sequence), (Sequence(7), Sequence(9)));
    assert_eq!((batch.first_offset(), batch.last_offset, batch.timestamp), (0, 2, 1_000));
}

#[test]
fn sequences_epochs_and_duplicates_l_dup_l_seq_l_epo() {
    for (case, steps, state, log_end_offset) in CASES {
        let mut bench = Bench::default();
        bench.run(case, steps);
        assert_eq!(bench.state(1), *state, "{case}");
        assert_eq!(bench.log.log_end_offset(), *log_end_offset, "{case}");
    }
}

#[test]
fn a_duplicate_answers_with_the_original_l_pipe_5_l_dup_2_l_dup_4() {
    let mut bench = Bench::default();
    bench.run("", "N(3) ok@0; D(0,0-1) ok@3");
    bench.now_ms += 50;
    let copy = data(1, 0, Sequence(0), Sequence(1), false, 9_999);
    let info = bench.client(copy).expect("a duplicate is a success");
    assert!(info.is_duplicate);
    assert_eq!((info.first_offset, info.last_offset, info.log_append_time), (3, 4, 1_000));
}

#[test]
fn a_draft_changes_nothing_until_it_is_merged_12_l_ent_3_l_ent_4() {
    let mut bench = Bench::default();
    bench.replicate(&[at(15, data(1, 0, Sequence(0), Sequence(5), false, 1))]).unwrap();
    let next = at(26, data(1, 0, Sequence(6), Sequence(10), false, 2));
    let mut manager = bench.log.producer_state_manager().clone();
    let mut draft = manager.prepare_update(ProducerId(1), AppendOrigin::Client);
    bench.with_env(|_, env| draft.append(env, &next, None)).expect("in sequence");
    assert_eq!(manager.last_entry(ProducerId(1)).unwrap().last_sequence(), Sequence(5));
    bench.with_env(|_, env| manager.update(env, &draft));
    let entry = manager.last_entry(ProducerId(1)).unwrap();
    assert_eq!(entry.batches()[0].first_sequence(), Sequence(0));
    assert_eq!((entry.last_sequence(), entry.last_data_offset()), (Sequence(10), Some(30)));
    assert_eq!(entry.last_timestamp, 2);
}

#[test]
fn a_silent_producer_is_forgotten_13_l_exp_1_l_exp_4() {
    let mut bench = Bench::default();
    bench.run("13", "N(1) ok@0; D(5,0) ok@1");
    bench.now_ms += 86_400_001;
    bench.sweep();
    bench.run("13", "D(5,1) ok@2");
    assert_eq!(bench.state(1), "epoch 5 [1]");
    assert_eq!(bench.log.producer_state_manager().map_end_offset(), 3);
}

#[test]
fn expiry_counts_from_the_records_timestamp_14_l_exp_2() {
    let config =
        LogConfig { producer_id_expiration: Duration::from_millis(200), ..LogConfig::default() };
    let mut bench = Bench::with_config(config);
    bench.run("14", "D(0,0) ok@0; p2 T(0,0) ok@1");
    bench.client(data(3, 0, Sequence(0), Sequence(0), false, -1)).unwrap();
    bench.now_ms += 100;
    bench.sweep();
    assert_eq!((bench.state(1).as_str(), bench.state(3).as_str()), ("epoch 0 [0]", "unknown"));
    bench.now_ms += 100;
    bench.sweep();
    assert_eq!(bench.state(1), "unknown");
    assert_eq!(bench.state(2), "epoch 0 [0] open@1", "open transactions never expire");
}

#[test]
fn an_open_transaction_is_late_after_the_timeout_and_five_minutes_l_exp_6() {
    let mut bench = Bench::default();
    bench.run("", "T(0,0) ok@0");
    let is_late = |bench: &mut Bench| {
        bench.with_env(|log, env| log.has_late_transaction(env, Duration::from_millis(900_000)))
    };
    bench.now_ms += 1_200_000;
    assert!(!is_late(&mut bench));
    bench.now_ms += 1;
    assert!(is_late(&mut bench));
}

#[test]
fn a_reload_drops_expired_producers_and_snapshots_beyond_the_end_16_l_exp_5_l_snp_3() {
    let mut bench = Bench::default();
    bench.client(data(2, 0, Sequence(0), Sequence(0), false, 1)).unwrap();
    bench.stop_and_start();
    bench.now_ms = 86_400_500;
    bench.run("16", "D(0,0) ok@1; D(0,1) ok@2");
    bench.stop_and_start();
    assert_eq!(bench.state(2), "unknown");
    bench.truncate(2);
    bench.run("16", "D(0,1) ok@2");
    assert_eq!(bench.state(1), "epoch 0 [0] [1]");
}

#[test]
fn from_4_5_on_an_empty_log_begins_with_sequence_0_l_seq_4() {
    let mut bench = Bench { kafka: KafkaVersion::V4_5, ..Bench::default() };
    bench.run("KAFKA-15591", "D(0,3) 45; D(0,0) ok@0; p2 D(0,3) ok@1");
    bench.replicate_all();
    bench.delete_records(2);
    bench.stop_and_start();
    bench.run("deleted state is another case, L-DEL-3", "D(0,7) ok@2");
}

#[test]
fn a_window_of_four_forgets_one_batch_more_l_ent_2() {
    let mut bench = Bench::default();
    bench.defects = bench.defects.with(Defect::LeaderDedupWindowFour);
    for sequence in 0..5 {
        bench.client(idempotent(1, 0, sequence)).unwrap();
    }
    bench.run("defect", "D(0,0) 45; D(0,1) dup@1");
}

#[test]
fn codes_of_old_brokers_are_never_answered_l_dup_6() {
    for (epoch, sequence) in (0..3).flat_map(|epoch| (0..4).map(move |s| (epoch, s))) {
        let mut bench = Bench::default();
        bench.run("", "D(1,0) ok@0; D(1,1) ok@1");
        for _ in 0..2 {
            let refused = bench.client(idempotent(1, epoch, sequence)).err();
            let old = [ErrorCode::DuplicateSequenceNumber, ErrorCode::UnknownProducerId];
            assert!(refused.is_none_or(|error| !old.contains(&error)), "{epoch} {sequence}");
        }
    }
}
