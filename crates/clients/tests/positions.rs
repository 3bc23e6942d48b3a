//! Positions after a change of the leader, and look-ups of starts and ends by leader.

mod harness;

use eosim_clients::consumer::{ConsumerOutcome, Returned};
use eosim_types::config::{AutoOffsetReset, ConsumerConfig};
use eosim_types::message::{
    EpochEndOffset, FetchPartitionResponse, ListOffsetsTimestamp, OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition, Request,
};
use eosim_types::record::RecordBatch;
use eosim_types::{ActorId, BrokerId, Duration, ErrorCode, Few, LeaderEpoch};
use harness::reader::{Reader, answer, listed, records};
use harness::t;

fn config(auto_offset_reset: AutoOffsetReset) -> ConsumerConfig {
    ConsumerConfig { auto_offset_reset, ..ConsumerConfig::default() }
}

/// Offsets 0 to 4, written in leader epoch 3.
fn batch() -> RecordBatch {
    RecordBatch { partition_leader_epoch: LeaderEpoch(3), ..records(-1, 0, 4) }
}

/// A reader at offset 5, behind [`batch`], whose Fetch to broker 1 was refused; broker 2 leads in
/// epoch 7.
fn after_a_change_of_the_leader(policy: AutoOffsetReset) -> Reader {
    let mut reader = Reader::of(&config(policy), 1);
    reader.elect(0, 1, 3);
    reader.exchange(None);
    if policy == AutoOffsetReset::None {
        reader.consumer.seek(t(0), 0).expect("assigned");
        reader.exchange(None);
    } else {
        reader.answer(listed(&[(0, 0)]));
    }
    reader.fetched(answer(vec![batch()], &[]));
    assert_eq!(reader.poll()[0].leader_epoch, LeaderEpoch(3));
    reader.exchange(None);
    reader.elect(0, 2, 7);
    let error = ErrorCode::NotLeaderOrFollower;
    reader.now += Duration::from_millis(100);
    reader.fetched(FetchPartitionResponse { error, ..answer(vec![], &[]) });
    while reader.consumer.pop_outcome().is_some() {}
    reader.now += Duration::from_millis(100);
    reader
}

fn end(error: ErrorCode, leader_epoch: i32, end_offset: i64) -> OffsetForLeaderEpochResponse {
    let leader_epoch = LeaderEpoch(leader_epoch);
    let end = EpochEndOffset { partition: t(0), error, leader_epoch, end_offset };
    OffsetForLeaderEpochResponse { partitions: Few::One(end) }
}

#[test]
fn a_new_leader_is_asked_where_the_epoch_read_last_ends_k_pos_6() {
    let mut reader = after_a_change_of_the_leader(AutoOffsetReset::Earliest);
    let [(to, _, Request::OffsetForLeaderEpoch(asked))] = &reader.wire[..] else {
        panic!("{:?}", reader.wire);
    };
    assert_eq!(*to, ActorId::of_broker(BrokerId(2)));
    let expected = OffsetForLeaderPartition {
        partition: t(0),
        current_leader_epoch: LeaderEpoch(7),
        leader_epoch: LeaderEpoch(3),
    };
    assert_eq!(asked.partitions[..], [expected]);
    reader.now += Duration::from_millis(500);
    assert!(reader.exchange(None).is_none(), "nothing is fetched meanwhile");
    let next = reader.answer(end(ErrorCode::None, 3, 5));
    let Some(Request::Fetch(fetch)) = next else { panic!("{next:?}") };
    assert_eq!(fetch.partitions[0].fetch_offset, 5);
    assert_eq!(fetch.partitions[0].current_leader_epoch, LeaderEpoch(7));
    assert_eq!(reader.consumer.pop_outcome(), None);
}

#[test]
fn a_truncated_log_moves_the_position_back_or_resets_it_k_pos_6() {
    let mut reader = after_a_change_of_the_leader(AutoOffsetReset::Earliest);
    let next = reader.answer(end(ErrorCode::None, 2, 2));
    let Some(Request::Fetch(fetch)) = next else { panic!("{next:?}") };
    assert_eq!(fetch.partitions[0].fetch_offset, 2, "where the logs part");
    let moved = ConsumerOutcome::PositionSet { partition: t(0), offset: 2 };
    assert_eq!(reader.consumer.pop_outcome(), Some(moved));

    let mut reader = after_a_change_of_the_leader(AutoOffsetReset::Latest);
    let next = reader.answer(end(ErrorCode::None, -1, -1));
    let Some(Request::ListOffsets(list)) = next else { panic!("{next:?}") };
    assert_eq!(list.partitions[0].timestamp, ListOffsetsTimestamp::Latest, "nobody knows where");
}

#[test]
fn without_a_policy_a_truncated_log_throws_k_pos_6() {
    for (epoch, offset) in [(2, 2), (-1, -1)] {
        let mut reader = after_a_change_of_the_leader(AutoOffsetReset::None);
        reader.arrive(end(ErrorCode::None, epoch, offset));
        let thrown = reader.call_poll().map_err(|thrown| thrown.class.name());
        assert_eq!(thrown, Err("LogTruncationException".into()));
        assert_eq!(reader.call_poll(), Ok(Returned::Polled(vec![])), "thrown once");
        assert_eq!(reader.consumer.position(t(0)), Some(5));
        reader.now += Duration::from_millis(30_000);
        reader.exchange(None);
        let asked =
            reader.wire.iter().any(|(_, _, r)| matches!(r, Request::OffsetForLeaderEpoch(_)));
        assert!(asked, "it stays unvalidated");
    }
}

#[test]
fn a_refused_validation_is_repeated_after_the_backoff_k_pos_6() {
    for error in [ErrorCode::FencedLeaderEpoch, ErrorCode::UnknownServerError] {
        let mut reader = after_a_change_of_the_leader(AutoOffsetReset::Earliest);
        assert!(reader.answer(end(error, -1, -1)).is_none(), "{error}");
        reader.now += Duration::from_millis(100);
        let next = reader.exchange(None);
        assert!(matches!(next, Some(Request::OffsetForLeaderEpoch(_))), "{error}: {next:?}");
    }
    let mut reader = after_a_change_of_the_leader(AutoOffsetReset::Earliest);
    reader.arrive(end(ErrorCode::TopicAuthorizationFailed, -1, -1));
    let thrown = reader.call_poll().map_err(|thrown| thrown.class.name());
    assert_eq!(thrown, Err("TopicAuthorizationException".into()));
}

#[test]
fn an_answer_about_an_older_position_is_ignored_k_pos_6() {
    let mut reader = after_a_change_of_the_leader(AutoOffsetReset::Earliest);
    reader.consumer.seek(t(0), 4).expect("assigned");
    reader.answer(end(ErrorCode::None, 2, 2));
    assert_eq!(
        reader.consumer.position(t(0)),
        Some(4),
        "a seek without an epoch needs no question"
    );
    assert!(matches!(reader.wire.last(), Some((_, _, Request::Fetch(_)))));
}

#[test]
fn what_was_buffered_before_the_change_is_dropped_k_pos_6() {
    let config = ConsumerConfig { max_poll_records: 5, ..config(AutoOffsetReset::Earliest) };
    let mut reader = Reader::of(&config, 1);
    reader.elect(0, 1, 3);
    reader.exchange(None);
    reader.answer(listed(&[(0, 0)]));
    let behind = RecordBatch { base_offset: 5, ..batch() };
    reader.fetched(answer(vec![batch(), behind], &[]));
    assert_eq!(reader.poll()[0].to, 5);
    reader.elect(0, 2, 7);
    reader.consumer.disconnected(BrokerId(1));
    reader.now += Duration::from_millis(100);
    let next = reader.exchange(None);
    assert!(matches!(next, Some(Request::OffsetForLeaderEpoch(_))), "{next:?}");
    assert_eq!(reader.poll(), []);
    let next = reader.answer(end(ErrorCode::None, 3, 5));
    assert!(matches!(next, Some(Request::Fetch(_))), "{next:?}");
}

#[test]
fn one_request_asks_a_leader_about_all_its_partitions_k_off_1() {
    let mut reader = Reader::of(&config(AutoOffsetReset::Latest), 3);
    reader.elect(1, 2, 0);
    reader.exchange(None);
    let asked = reader.wire.iter().map(|(to, _, request)| match request {
        Request::ListOffsets(list) => {
            (to.0, list.partitions.iter().map(|p| p.partition.partition).collect::<Vec<_>>())
        }
        other => panic!("{other:?}"),
    });
    let asked: Vec<_> = asked.collect();
    assert_eq!(asked, [(1, vec![0, 2]), (2, vec![1])]);
    // One of two is refused: that one alone is asked for again.
    let mut some = listed(&[(0, 9), (2, -1)]);
    some.partitions[1].error = ErrorCode::OffsetNotAvailable;
    reader.answer(some);
    assert_eq!(reader.consumer.position(t(0)), Some(9));
    assert_eq!(reader.consumer.position(t(2)), None);
    reader.now += Duration::from_millis(100);
    let next = reader.exchange(None);
    let Some(Request::ListOffsets(again)) = next else { panic!("{next:?}") };
    assert_eq!(again.partitions.iter().map(|p| p.partition).collect::<Vec<_>>(), [t(2)]);
}

#[test]
fn one_forbidden_topic_ends_the_whole_look_up_k_off_1() {
    let mut reader = Reader::of(&config(AutoOffsetReset::Latest), 2);
    reader.exchange(None);
    let mut some = listed(&[(0, 9), (1, -1)]);
    some.partitions[1].error = ErrorCode::TopicAuthorizationFailed;
    reader.arrive(some);
    let thrown = reader.call_poll().map_err(|thrown| thrown.class.name());
    assert_eq!(thrown, Err("TopicAuthorizationException".into()));
    assert_eq!(reader.consumer.position(t(0)), None);
}
