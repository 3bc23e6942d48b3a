//! What a client may send, sizes and timestamps (L-REC-3, L-PIPE-4 steps 6 to 8), and offsets.

use eosim_storage::{AppendOrigin, LogConfig, VerificationGuard};
use eosim_types::record::{Payload, RecordBatch};
use eosim_types::{ErrorCode, LeaderEpoch, Sequence};

use crate::support::{Bench, EPOCH, at, idempotent, marker_at, plain};

#[test]
fn what_a_client_may_send_l_rec_3() {
    let commit = eosim_types::record::TransactionResult::Commit;
    let empty = Payload::Records([].into());
    let cases = [
        ("a base offset", at(3, plain(1))),
        ("no record", RecordBatch { payload: empty, ..plain(1) }),
        ("a delta that does not fit", RecordBatch { last_offset_delta: 1, ..plain(1) }),
        ("a marker", marker_at(0, (1, 0), 0, commit)),
        ("no sequence", RecordBatch { base_sequence: Sequence::NONE, ..idempotent(1, 0, 0) }),
        ("a negative sequence", RecordBatch { base_sequence: Sequence(-7), ..idempotent(1, 0, 0) }),
    ];
    for (case, batch) in cases {
        let mut bench = Bench::default();
        assert_eq!(bench.client(batch), Err(ErrorCode::InvalidRecord), "{case}");
        assert_eq!((bench.log.log_end_offset(), bench.state(1).as_str()), (0, "unknown"), "{case}");
    }
}

#[test]
fn sizes_are_tested_before_producer_state_l_pipe_4() {
    let size = plain(5).size_in_bytes();
    let small_message = LogConfig { max_message_bytes: size - 1, ..LogConfig::default() };
    let small_segment = LogConfig { segment_bytes: size - 1, ..LogConfig::default() };
    let exact = LogConfig { max_message_bytes: size, segment_bytes: size, ..LogConfig::default() };
    let append = |config: LogConfig| {
        Bench::with_config(config).client(plain(5)).map(|info| info.last_offset)
    };
    assert_eq!(append(small_message), Err(ErrorCode::MessageTooLarge));
    assert_eq!(append(small_segment), Err(ErrorCode::RecordListTooLarge));
    assert_eq!(append(exact), Ok(4));
}

#[test]
fn timestamps_from_the_future_and_missing_keys_are_refused_l_pipe_4() {
    let mut bench = Bench::default();
    let ahead = |millis: i64| RecordBatch { max_timestamp: 1_000 + millis, ..plain(1) };
    assert_eq!(bench.client(ahead(3_600_001)), Err(ErrorCode::InvalidTimestamp));
    assert!(bench.client(ahead(3_600_000)).is_ok());
    let compacted = LogConfig { cleanup_compact: true, ..LogConfig::default() };
    let refused = Bench::with_config(compacted).client(plain(1));
    assert_eq!(refused, Err(ErrorCode::InvalidRecord));
}

#[test]
fn a_coordinators_batch_may_lack_a_sequence_l_rec_7() {
    let mut bench = Bench::default();
    let batch = RecordBatch { base_sequence: Sequence::NONE, ..idempotent(1, 0, 0) };
    let guard = VerificationGuard::SENTINEL;
    assert!(bench.append(batch, AppendOrigin::Coordinator, guard, None).is_ok());
}

#[test]
fn offsets_are_consecutive_and_refused_batches_take_none_l_rec_6_l_lep_4() {
    let mut bench = Bench::default();
    bench.run("L-REC-6", "N(2) ok@0; D(0,0-2) ok@2; D(0,0-2) dup@2; D(0,9) 45; N(1) ok@5");
    let batches: Vec<_> = bench.log.batches().collect();
    assert_eq!(batches.iter().map(|b| b.base_offset).collect::<Vec<_>>(), [0, 2, 5]);
    assert!(batches.iter().all(|batch| batch.partition_leader_epoch == EPOCH));
}

#[test]
fn leader_epochs_and_their_ends_l_lep_1_l_lep_2() {
    let mut bench = Bench::default();
    let append = |bench: &mut Bench, epoch| {
        bench.with_env(|log, env| {
            let guard = VerificationGuard::SENTINEL;
            let epoch = LeaderEpoch(epoch);
            log.append_as_leader(env, plain(2), epoch, AppendOrigin::Client, guard, None)
        })
    };
    append(&mut bench, 2).unwrap();
    append(&mut bench, 2).unwrap();
    bench.log.assign_epoch_start(LeaderEpoch(5), 4);
    append(&mut bench, 5).unwrap();
    let end = |epoch| bench.log.end_offset_for_epoch(LeaderEpoch(epoch)).map(|(e, o)| (e.0, o));
    assert_eq!(bench.log.latest_epoch(), Some(LeaderEpoch(5)));
    let cases =
        [(5, Some((5, 6))), (6, None), (4, Some((2, 4))), (2, Some((2, 4))), (1, Some((1, 0)))];
    for (epoch, expected) in cases {
        assert_eq!(end(epoch), expected, "{epoch}");
    }
    assert_eq!(Bench::default().log.end_offset_for_epoch(LeaderEpoch(0)), None);
    bench.log.assign_epoch_start(LeaderEpoch(6), 2);
    assert_eq!(bench.log.end_offset_for_epoch(LeaderEpoch(2)), Some((LeaderEpoch(2), 2)));
}
