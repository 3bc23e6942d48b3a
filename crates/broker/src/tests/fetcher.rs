//! Followers fetch: positions, truncation, pauses; and what a fetch tells the leader.

use alloc::vec;
use alloc::vec::Vec;

use eosim_actor::RequestToken;
use eosim_types::message::{
    FetchMetadata, FetchPartition, FetchPartitionResponse, FetchRequest, FetchResponse,
    IsolationLevel, ListOffsetsPartitionResponse, ProduceRequest, Request, Response,
};
use eosim_types::{BrokerId, ErrorCode as E, LeaderEpoch};

use super::fixture::{Fixture, TP, partition};
use super::requests::{batch, produce_to};
use crate::network::LeaderOffset;

const LEADER: BrokerId = BrokerId(2);

/// A follower of broker 2 under leader epoch 1 whose log holds three records of epoch 0.
fn follower() -> Fixture {
    let mut fixture = Fixture::new(1);
    fixture.change_metadata(|image| {
        image.partitions.insert(TP, partition(1, 0, &[1]));
    });
    for sequence in 0..3 {
        let data = ProduceRequest { acks: 1, ..produce_to(TP, batch(7, 0, sequence, 1)) };
        fixture.handle(|io, replicas| replicas.handle_produce(io, RequestToken(1), data));
    }
    fixture.change_metadata(|image| {
        image.partitions.insert(TP, partition(2, 1, &[2]));
    });
    fixture
}

fn sent(fixture: &mut Fixture) -> Option<FetchPartition> {
    fixture.requests().into_iter().find_map(|(_, request)| match request {
        Request::Fetch(FetchRequest { partitions, .. }) => Some(partitions[0]),
        _ => None,
    })
}

fn nothing_new() -> FetchPartitionResponse {
    FetchPartitionResponse {
        partition: TP,
        error: E::None,
        high_watermark: 3,
        last_stable_offset: 3,
        log_start_offset: 0,
        aborted_transactions: [].to_vec(),
        diverging_epoch: None,
        batches: [].into(),
    }
}

/// The answer of a leader that keeps no session, so that every fetch is full.
fn answer(fixture: &mut Fixture, f: impl FnOnce(&mut FetchPartitionResponse)) {
    let mut partition = nothing_new();
    f(&mut partition);
    let partitions = [partition].to_vec();
    let response = FetchResponse { partitions, ..FetchResponse::default() };
    fixture.with(|io, replicas, _| replicas.on_fetch_response(io, LEADER, &response));
}

fn end(fixture: &Fixture) -> i64 {
    fixture.replicas.partitions.get(TP).unwrap().log.log_end_offset()
}

#[test]
fn a_new_follower_asks_from_its_log_end_l_flt_1() {
    let mut fixture = follower();
    let asked = sent(&mut fixture).unwrap();
    let position = (asked.fetch_offset, asked.last_fetched_epoch, asked.current_leader_epoch);
    assert_eq!(position, (3, LeaderEpoch(0), LeaderEpoch(1)));
}

#[test]
fn truncation_on_a_diverging_answer_l_flt_3() {
    // Own epochs: 0 from 0. The leader's answer (epoch, end); the log end that follows.
    let table = [((0, 2), 2), ((0, 5), 3), ((-1, 1), 0)];
    for ((epoch, end_offset), expected) in table {
        let mut fixture = follower();
        sent(&mut fixture);
        answer(&mut fixture, |partition| {
            partition.diverging_epoch = Some((LeaderEpoch(epoch), end_offset));
        });
        assert_eq!(end(&fixture), expected, "epoch {epoch} ends at {end_offset}");
        assert!(sent(&mut fixture).is_some(), "it asks again at once");
    }
}

#[test]
fn a_session_that_failed_is_followed_by_a_full_fetch() {
    for error in [E::FetchSessionIdNotFound, E::InvalidFetchSessionEpoch] {
        let mut fixture = follower();
        let mut fetched = |session_id, error| {
            let response = FetchResponse { error, session_id, partitions: [].to_vec() };
            fixture.with(|io, replicas, _| replicas.on_fetch_response(io, LEADER, &response));
            let request = fixture.requests().pop().map(|(_, request)| request);
            let Some(Request::Fetch(request)) = request else { panic!("no fetch") };
            (request.metadata.is_full(), request.partitions.len())
        };
        assert_eq!(fetched(7, E::None), (false, 0), "nothing is asked otherwise");
        assert_eq!(fetched(0, error), (true, 1), "{error}");
    }
}

/// The follower's next fetch: epoch, offsets asked for, how many partitions are forgotten.
fn next(fixture: &mut Fixture) -> Option<(i32, Vec<i64>, usize)> {
    let request = fixture.requests().pop().map(|(_, request)| request);
    let Some(Request::Fetch(request)) = request else { return None };
    let offsets = request.partitions.iter().map(|read| read.fetch_offset).collect();
    Some((request.metadata.epoch, offsets, request.forgotten.len()))
}

#[test]
fn a_session_is_told_what_is_asked_otherwise() {
    let mut fixture = follower();
    assert_eq!(next(&mut fixture), Some((0, vec![3], 0)));
    let answer = |fixture: &mut Fixture, partitions: Vec<FetchPartitionResponse>| {
        let response = FetchResponse { error: E::None, session_id: 7, partitions };
        fixture.with(|io, replicas, _| replicas.on_fetch_response(io, LEADER, &response));
    };
    answer(&mut fixture, vec![nothing_new()]);
    assert_eq!(next(&mut fixture), Some((1, vec![], 0)), "everything as before");
    let diverging_epoch = Some((LeaderEpoch(0), 2));
    answer(&mut fixture, vec![FetchPartitionResponse { diverging_epoch, ..nothing_new() }]);
    assert_eq!(next(&mut fixture), Some((2, vec![2], 0)));
    let refused = FetchPartitionResponse { error: E::NotLeaderOrFollower, ..nothing_new() };
    answer(&mut fixture, vec![refused]);
    assert_eq!(next(&mut fixture), Some((3, vec![], 1)), "it pauses");
    answer(&mut fixture, vec![]);
    assert_eq!(next(&mut fixture), None);
    fixture.pass(1_000);
    fixture.with(|io, replicas, _| replicas.send_fetches(io));
    assert_eq!(next(&mut fixture), Some((4, vec![2], 0)));
    fixture.with(|io, replicas, _| replicas.on_fetch_disconnected(io, LEADER));
    fixture.pass(1_000);
    fixture.with(|io, replicas, _| replicas.send_fetches(io));
    assert_eq!(next(&mut fixture), Some((0, vec![2], 0)), "nobody knows whether there is one");
}

#[test]
fn refusals_stop_or_pause_l_flt_4() {
    let mut fixture = follower();
    sent(&mut fixture);
    answer(&mut fixture, |partition| partition.error = E::FencedLeaderEpoch);
    fixture.pass(60_000);
    fixture.with(|io, replicas, _| replicas.send_fetches(io));
    assert_eq!(sent(&mut fixture), None, "until the metadata change");
    fixture.change_metadata(|image| {
        image.partitions.insert(TP, partition(2, 2, &[2]));
    });
    assert!(sent(&mut fixture).is_some());
    for error in [E::NotLeaderOrFollower, E::UnknownLeaderEpoch] {
        let mut fixture = follower();
        sent(&mut fixture);
        answer(&mut fixture, |partition| partition.error = error);
        assert_eq!(sent(&mut fixture), None);
        fixture.pass(1_000);
        fixture.with(|io, replicas, _| replicas.send_fetches(io));
        assert!(sent(&mut fixture).is_some(), "after replica.fetch.backoff.ms");
    }
    let mut fixture = follower();
    sent(&mut fixture);
    fixture.with(|io, replicas, _| replicas.on_fetch_disconnected(io, LEADER));
    fixture.with(|io, replicas, _| replicas.send_fetches(io));
    assert_eq!(sent(&mut fixture), None);
    fixture.pass(1_000);
    fixture.with(|io, replicas, _| replicas.send_fetches(io));
    assert!(sent(&mut fixture).is_some());
}

#[test]
fn out_of_range_asks_the_leader_for_its_ends_l_trc_2() {
    // (leader's end, leader's start, own end afterwards)
    for (leader_end, leader_start, expected) in [(0, 0, 0), (9, 5, 5), (9, 0, 3)] {
        let mut fixture = follower();
        sent(&mut fixture);
        answer(&mut fixture, |partition| partition.error = E::OffsetOutOfRange);
        for (which, offset) in
            [(LeaderOffset::End, leader_end), (LeaderOffset::Start, leader_start)]
        {
            let response = ListOffsetsPartitionResponse {
                partition: TP,
                error: E::None,
                timestamp: -1,
                offset,
            };
            fixture.with(|io, replicas, _| replicas.on_leader_offset(io, LEADER, which, response));
        }
        assert_eq!(end(&fixture), expected, "leader has [{leader_start}, {leader_end})");
        assert_eq!(sent(&mut fixture).map(|asked| asked.fetch_offset), Some(expected));
    }
}

#[test]
fn a_log_that_begins_amid_a_batch_takes_the_batch_whole_l_trc_2_l_rpl_1() {
    let mut fixture = Fixture::new(1);
    fixture.change_metadata(|image| {
        image.partitions.insert(TP, partition(2, 1, &[2]));
    });
    sent(&mut fixture);
    answer(&mut fixture, |partition| partition.error = E::OffsetOutOfRange);
    for (which, offset) in [(LeaderOffset::End, 8), (LeaderOffset::Start, 5)] {
        let response =
            ListOffsetsPartitionResponse { partition: TP, error: E::None, timestamp: -1, offset };
        fixture.with(|io, replicas, _| replicas.on_leader_offset(io, LEADER, which, response));
    }
    assert_eq!(sent(&mut fixture).map(|asked| asked.fetch_offset), Some(5));
    answer(&mut fixture, |partition| {
        let mut whole = batch(7, 0, 0, 5);
        (whole.base_offset, whole.partition_leader_epoch) = (3, LeaderEpoch(0));
        partition.batches.push(whole);
        (partition.high_watermark, partition.log_start_offset) = (8, 5);
    });
    let log = &fixture.replicas.partitions.get(TP).unwrap().log;
    assert_eq!((log.log_start_offset(), log.log_end_offset()), (5, 8));
}

#[test]
fn an_answer_to_an_old_question_is_dropped_l_rpl_1() {
    let mut fixture = follower();
    sent(&mut fixture);
    fixture.change_metadata(|image| {
        image.partitions.insert(TP, partition(2, 2, &[2]));
    });
    answer(&mut fixture, |partition| {
        partition.diverging_epoch = Some((LeaderEpoch(0), 0));
    });
    assert_eq!(end(&fixture), 3, "asked under leader epoch 1, known is 2");
}

#[test]
fn a_fetch_moves_the_high_watermark_for_the_next_one_l_hw_3_l_fet_4() {
    let mut fixture = Fixture::new(1);
    fixture.change_metadata(|image| {
        image.partitions.insert(TP, partition(1, 0, &[1, 2]));
    });
    let produce = |fixture: &mut Fixture, sequence, records| {
        let data = ProduceRequest { acks: 1, ..produce_to(TP, batch(7, 0, sequence, records)) };
        fixture.handle(|io, replicas| replicas.handle_produce(io, RequestToken(1), data));
    };
    let fetch = |fixture: &mut Fixture, fetch_offset| {
        let request = FetchRequest {
            version: 17,
            replica: Some((LEADER, 2)),
            isolation_level: IsolationLevel::ReadUncommitted,
            max_wait_ms: 500,
            min_bytes: 1,
            partition_max_bytes: 1 << 20,
            metadata: FetchMetadata::LEGACY,
            forgotten: [].into(),
            partitions: [FetchPartition {
                partition: TP,
                fetch_offset,
                current_leader_epoch: LeaderEpoch(0),
                last_fetched_epoch: LeaderEpoch(0),
                log_start_offset: 0,
            }]
            .to_vec(),
        };
        let mut answers =
            fixture.handle(|io, replicas| replicas.handle_fetch(io, RequestToken(2), &request));
        let Some((_, Response::Fetch(response))) = answers.pop() else { panic!() };
        (response.partitions[0].high_watermark, response.partitions[0].batches.len())
    };
    produce(&mut fixture, 0, 2);
    assert_eq!(fetch(&mut fixture, 0), (0, 1));
    produce(&mut fixture, 2, 1);
    assert_eq!(fetch(&mut fixture, 2), (0, 1), "this fetch tells that the first two are there");
    assert_eq!(fixture.replicas.partitions.get(TP).unwrap().log.high_watermark(), 2);
    produce(&mut fixture, 3, 1);
    assert_eq!(fetch(&mut fixture, 3).0, 2, "the follower learns it one answer later");
}
