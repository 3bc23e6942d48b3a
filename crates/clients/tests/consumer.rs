//! Worked cases of the consumer: what a read of a log delivers.

mod harness;

use std::sync::Arc;

use IsolationLevel::{ReadCommitted, ReadUncommitted};
use eosim_actor::{Effect, Out};
use eosim_clients::consumer::{ConsumerCall, Returned};
use eosim_types::config::{AutoOffsetReset, ConsumerConfig};
use eosim_types::message::{
    FetchPartitionResponse, FetchResponse, IsolationLevel, ListOffsetsTimestamp, Message,
    MetadataResponse, Request, Response,
};
use eosim_types::observation::Observed;
use eosim_types::record::{Payload, RecordBatch};
use eosim_types::version::TransactionVersion;
use eosim_types::{DefectSet, Duration, ErrorCode};
use harness::reader::{Reader, abort, answer, batch, commit, empty, listed, records};
use harness::{image, t};

/// Reads `batches` from offset 0: the offsets delivered and the position after.
fn read(
    isolation_level: IsolationLevel,
    batches: Vec<RecordBatch>,
    aborted: &[(i64, i64)],
) -> (Vec<i64>, i64) {
    let mut reader = Reader::new(isolation_level, 500);
    reader.start_at(0);
    reader.fetched(answer(batches, aborted));
    let polled = reader.poll();
    let offsets = polled.iter().flat_map(|p| p.records.iter().map(|(offset, _)| *offset));
    (offsets.collect(), reader.consumer.position(t(0)).expect("a position"))
}

/// Two producers in turns (W-65).
fn interleaved() -> Vec<RecordBatch> {
    vec![
        records(1, 0, 1),
        records(2, 2, 2),
        commit(1, 3),
        records(2, 4, 4),
        abort(2, 5),
        records(1, 6, 6),
        records(2, 7, 7),
        records(1, 8, 8),
        abort(1, 9),
        commit(2, 10),
    ]
}

/// Two aborted transactions, far apart.
fn one_after_the_other() -> Vec<RecordBatch> {
    vec![records(1, 0, 1), abort(1, 2), records(2, 20, 21), abort(2, 22)]
}

/// What compaction left of three producers (W-68).
fn compacted() -> Vec<RecordBatch> {
    vec![
        records(3, 3, 4),
        records(2, 15, 17),
        records(1, 22, 23),
        abort(2, 28),
        records(3, 30, 32),
        commit(3, 35),
        records(1, 39, 40),
    ]
}

#[test]
fn what_a_read_delivers_k_filt_2_to_8_k_iso_4() {
    let twice = || vec![records(1, 0, 1), abort(1, 2), abort(1, 3), records(1, 4, 5), commit(1, 6)];
    let empty_control = || batch(1, 0, 0, true, Payload::EmptyControl);
    type Case = (&'static str, IsolationLevel, Vec<RecordBatch>, Vec<(i64, i64)>, Vec<i64>, i64);
    let cases: Vec<Case> = vec![
        ("W-64", ReadCommitted, vec![records(1, 0, 1), abort(1, 2)], vec![(1, 0)], vec![], 3),
        (
            "W-64 uncommitted",
            ReadUncommitted,
            vec![records(1, 0, 1), abort(1, 2)],
            vec![],
            vec![0, 1],
            3,
        ),
        ("W-65", ReadCommitted, interleaved(), vec![(2, 2), (1, 6)], vec![0, 1, 7], 11),
        ("W-66 K-FILT-8", ReadCommitted, twice(), vec![(1, 0)], vec![4, 5], 7),
        (
            "W-67",
            ReadCommitted,
            vec![abort(1, 5), records(1, 6, 8), commit(1, 9)],
            vec![(1, 0)],
            vec![6, 7, 8],
            10,
        ),
        ("W-68", ReadCommitted, compacted(), vec![(2, 6), (1, 0)], vec![3, 4, 30, 31, 32], 41),
        ("W-69", ReadCommitted, vec![empty(37, 54)], vec![], vec![], 55),
        ("W-70", ReadUncommitted, vec![records(1, 0, 0), abort(1, 1)], vec![], vec![0], 2),
        (
            "W-71",
            ReadCommitted,
            vec![empty_control(), records(1, 1, 2), commit(1, 3)],
            vec![],
            vec![1, 2],
            4,
        ),
        ("W-74", ReadCommitted, vec![records(1, 0, 9), abort(1, 10)], vec![(1, 0)], vec![], 11),
        ("K-ISO-3", ReadCommitted, one_after_the_other(), vec![(2, 20), (1, 0)], vec![], 23),
        ("K-ISO-3 sorted", ReadCommitted, one_after_the_other(), vec![(1, 0), (2, 20)], vec![], 23),
        (
            "K-FILT-4",
            ReadCommitted,
            vec![batch(1, 0, 0, false, records(1, 0, 0).payload)],
            vec![(1, 0)],
            vec![0],
            1,
        ),
        ("K-FILT-6", ReadCommitted, vec![], vec![], vec![], 0),
    ];
    for (name, isolation_level, batches, aborted, delivered, position) in cases {
        assert_eq!(read(isolation_level, batches, &aborted), (delivered, position), "{name}");
    }
}

#[test]
fn a_corrupt_batch_is_thrown_until_a_seek_k_filt_1() {
    let mut reader = Reader::new(ReadUncommitted, 500);
    reader.start_at(0);
    let corrupt = batch(-1, 2, 3, false, Payload::Corrupt);
    reader.fetched(answer(vec![records(1, 0, 1), corrupt], &[]));
    let polled = reader.poll();
    assert_eq!((polled[0].records.len(), polled[0].to), (2, 2));
    for _ in 0..3 {
        let mut polled = Vec::new();
        let thrown = reader.with_cx(|consumer, cx| consumer.poll(cx, &mut polled));
        assert_eq!(thrown.map_err(|e| e.class.name()), Err("KafkaException".to_string()));
        assert!(reader.exchange(None).is_none(), "the partition is not fetched");
    }
    reader.consumer.seek(t(0), 4).expect("assigned");
    assert!(matches!(reader.exchange(None), Some(Request::Fetch(_))));
}

#[test]
fn w_72_a_poll_without_records_still_moves_the_position_k_pos_2() {
    let mut reader = Reader::new(ReadCommitted, 500);
    reader.start_at(0);
    reader.fetched(answer(vec![records(1, 0, 19), abort(1, 20)], &[(1, 0)]));
    let polled = reader.poll();
    assert_eq!((polled[0].records.len(), polled[0].to, polled[0].bound), (0, 21, 150));
    reader.exchange(None);
    reader.fetched(answer(vec![records(1, 21, 40), commit(1, 41)], &[]));
    let polled = reader.poll();
    assert_eq!((polled[0].records.len(), polled[0].to), (20, 42));
}

#[test]
fn delivery_is_cut_and_goes_on_without_a_fetch_k_filt_9() {
    let mut reader = Reader::new(ReadCommitted, 2);
    reader.start_at(0);
    let next = reader.fetched(answer(vec![records(1, 0, 3), commit(1, 4)], &[]));
    assert!(next.is_none(), "a partition with a remainder is not fetched");
    let steps: Vec<_> = (0..3).map(|_| reader.poll()).collect();
    let moves: Vec<_> = steps.iter().map(|p| (p[0].records.len(), p[0].to)).collect();
    assert_eq!(moves, [(2, 2), (2, 4), (0, 5)]);
    assert!(matches!(reader.exchange(None), Some(Request::Fetch(_))));
}

#[test]
fn a_fetch_into_the_middle_of_a_batch_skips_its_head_k_filt_5() {
    let mut reader = Reader::new(ReadUncommitted, 500);
    reader.start_at(2);
    reader.fetched(answer(vec![records(1, 0, 3)], &[]));
    let polled = reader.poll();
    let offsets: Vec<_> = polled[0].records.iter().map(|(offset, _)| *offset).collect();
    assert_eq!((polled[0].from, offsets), (2, vec![2, 3]));
}

#[test]
fn w_73_lag_is_the_bound_less_the_position_k_off_3() {
    let mut reader = Reader::new(ReadCommitted, 500);
    reader.start_at(0);
    let idle = FetchPartitionResponse { last_stable_offset: 50, ..answer(vec![], &[]) };
    reader.fetched(idle);
    assert_eq!(reader.consumer.current_lag(t(0)), Some(50));
    reader.fetched(answer(vec![records(1, 0, 2)], &[]));
    reader.poll();
    assert_eq!(reader.consumer.current_lag(t(0)), Some(147));
}

#[test]
fn a_full_poll_ends_before_what_compaction_left_of_the_batch_k_filt_9() {
    let mut reader = Reader::new(ReadCommitted, 3);
    reader.start_at(0);
    let batch = RecordBatch { last_offset_delta: 3, ..records(-1, 0, 2) };
    reader.fetched(answer(vec![batch], &[]));
    let moves: Vec<_> =
        (0..2).map(|_| reader.poll()).map(|p| (p[0].records.len(), p[0].to)).collect();
    assert_eq!(moves, [(3, 3), (0, 4)]);
}

#[test]
fn a_reset_by_duration_asks_for_that_time_ago_k_off_4() {
    let config = ConsumerConfig {
        auto_offset_reset: AutoOffsetReset::ByDuration(Duration::from_millis(1_000)),
        ..ConsumerConfig::default()
    };
    let mut reader = Reader::of(&config, 1);
    reader.now += Duration::from_millis(5_000);
    let Some(Request::ListOffsets(list)) = reader.exchange(None) else { panic!() };
    let ListOffsetsTimestamp::At(asked) = list.partitions[0].timestamp else { panic!() };
    reader.now += Duration::from_millis(1_000);
    let mut later = Reader::of(&config, 1);
    later.now = reader.now;
    let Some(Request::ListOffsets(list)) = later.exchange(None) else { panic!() };
    assert_eq!(list.partitions[0].timestamp, ListOffsetsTimestamp::At(asked + 1_000));
    let mut now = Reader::of(
        &ConsumerConfig {
            auto_offset_reset: AutoOffsetReset::ByDuration(Duration::ZERO),
            ..config
        },
        1,
    );
    now.now = later.now;
    let Some(Request::ListOffsets(list)) = now.exchange(None) else { panic!() };
    assert_eq!(list.partitions[0].timestamp, ListOffsetsTimestamp::At(asked + 2_000));
}

#[test]
fn what_an_answer_does_not_tell_is_kept_k_pos_4() {
    let mut reader = Reader::new(ReadCommitted, 500);
    reader.start_at(0);
    reader.fetched(answer(vec![], &[]));
    reader.fetched(FetchPartitionResponse { last_stable_offset: -1, ..answer(vec![], &[]) });
    assert_eq!(reader.consumer.current_lag(t(0)), Some(150));
}

#[test]
fn beginning_offsets_take_the_place_of_the_bound_as_released_only_k_off_2() {
    let partition = t(0);
    let beginning = ConsumerCall::BeginningOffsets { partition };
    let end = ConsumerCall::EndOffsets { partition };
    for (as_released, call, lag) in
        [(true, &beginning, 3), (false, &beginning, 150), (false, &end, 3)]
    {
        let mut reader = Reader::new(ReadCommitted, 500);
        if as_released {
            reader.defects = DefectSet::as_released();
        }
        reader.start_at(0);
        reader.fetched(answer(vec![], &[]));
        assert_eq!(reader.consumer.current_lag(t(0)), Some(150));
        reader.consumer.call(call.clone(), reader.now);
        assert_eq!(reader.turn(), None);
        let (_, correlation, _) = reader.wire.pop().expect("a question");
        reader.consumer.arrived(correlation, Some(listed(&[(0, 3)]).into()));
        assert_eq!(reader.turn(), Some(Ok(Returned::Offset(3))));
        assert_eq!(reader.consumer.current_lag(t(0)), Some(lag), "{call:?}");
    }
}

#[test]
fn an_unknown_lag_is_asked_for_once_k_off_3() {
    let mut reader = Reader::new(ReadCommitted, 500);
    reader.start_at(0);
    reader.wire.clear();
    for _ in 0..2 {
        assert_eq!(reader.lag(), Ok(None));
    }
    assert_eq!(reader.wire.len(), 1, "{:?}", reader.wire);
    reader.answer(listed(&[(0, 7)]));
    assert_eq!(reader.lag(), Ok(Some(7)));
    assert!(!reader.wire.iter().any(|(_, _, r)| matches!(r, Request::ListOffsets(_))));
}

#[test]
fn a_late_answer_does_not_move_a_partition_that_was_sought_k_pos_7() {
    let mut reader = Reader::new(ReadCommitted, 500);
    reader.consumer.seek(t(0), 9).expect("assigned");
    reader.exchange(Some(listed(&[(0, 0)]).into()));
    assert_eq!(reader.consumer.position(t(0)), Some(9));
}

#[test]
fn an_error_that_nobody_expects_is_thrown_before_any_record_k_pos_5() {
    for (error, thrown) in [
        (ErrorCode::TopicAuthorizationFailed, None),
        (ErrorCode::InvalidTxnState, Some("IllegalStateException")),
    ] {
        let config = ConsumerConfig {
            auto_offset_reset: AutoOffsetReset::Earliest,
            ..ConsumerConfig::default()
        };
        let mut reader = Reader::of(&config, 2);
        reader.exchange(None);
        reader.answer(listed(&[(0, 0), (1, 0)]));
        let failed = FetchPartitionResponse { partition: t(1), error, ..answer(vec![], &[]) };
        let partitions = vec![answer(vec![records(1, 0, 1)], &[]), failed];
        reader.answer(FetchResponse { partitions, ..FetchResponse::default() });
        let returned = reader.call_poll().map_err(|thrown| thrown.class.name());
        match thrown {
            Some(thrown) => assert_eq!(returned, Err(thrown.into())),
            None => {
                assert!(matches!(returned, Ok(Returned::Polled(polled)) if polled.len() == 1));
                let thrown = reader.call_poll().map_err(|thrown| thrown.class.name());
                assert_eq!(thrown, Err("TopicAuthorizationException".into()));
            }
        }
    }
}

#[test]
fn w_75_an_answer_for_another_position_is_dropped_k_pos_1() {
    let mut reader = Reader::new(ReadCommitted, 500);
    let fetch = reader.start_at(0);
    assert!(matches!(fetch, Some(Request::Fetch(_))));
    reader.consumer.seek(t(0), 1).expect("assigned");
    let refused =
        FetchPartitionResponse { error: ErrorCode::OffsetOutOfRange, ..answer(vec![], &[]) };
    reader.fetched(refused);
    assert_eq!(reader.consumer.position(t(0)), Some(1));
}

#[test]
fn a_leader_is_looked_up_however_late_the_consumer_goes_on_k_pos_5() {
    let mut reader = Reader::new(ReadCommitted, 500);
    reader.start_at(3);
    let mut image = (*image(1, 1, TransactionVersion::Tv2)).clone();
    image.partitions.get_mut(&t(0)).unwrap().leader = None;
    let error = ErrorCode::NotLeaderOrFollower;
    let refused = FetchPartitionResponse { error, ..answer(vec![], &[]) };
    let mut arrives: Response =
        FetchResponse { partitions: vec![refused], ..FetchResponse::default() }.into();
    for sleep in [99, 5_000, 60_000] {
        let mut out: Out<Message, Observed> = Out::new();
        reader.now += Duration::from_millis(1);
        reader.consumer.arrived(reader.last, Some(arrives));
        reader.with_cx(|consumer, cx| consumer.advance(cx, &mut out));
        reader.now += Duration::from_millis(sleep);
        reader.with_cx(|consumer, cx| consumer.advance(cx, &mut out));
        let asked = out.drain().find_map(|effect| match effect {
            Effect::Send {
                correlation, message: Message::Request(Request::Metadata(_)), ..
            } => Some(correlation),
            _ => None,
        });
        reader.last = asked.unwrap_or_else(|| panic!("nobody is asked after {sleep} ms"));
        arrives = MetadataResponse { image: Arc::new(image.clone()) }.into();
    }
}

#[test]
fn errors_are_retried_and_out_of_range_resets_k_pos_5_k_off_4() {
    for (error, lost) in [
        (ErrorCode::NotLeaderOrFollower, false),
        (ErrorCode::UnknownLeaderEpoch, false),
        (ErrorCode::UnknownServerError, false),
        (ErrorCode::OffsetOutOfRange, true),
    ] {
        let mut reader = Reader::new(ReadCommitted, 500);
        reader.start_at(3);
        let next = reader.fetched(FetchPartitionResponse { error, ..answer(vec![], &[]) });
        if lost {
            assert!(matches!(next, Some(Request::ListOffsets(_))), "{error}");
            continue;
        }
        assert!(next.is_none(), "{error}: nothing before the backoff is over");
        reader.now += Duration::from_millis(100);
        assert!(matches!(reader.exchange(None), Some(Request::Fetch(_))), "{error}");
        assert_eq!(reader.consumer.position(t(0)), Some(3));
    }
}
