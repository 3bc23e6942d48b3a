//! Offsets in transactions and groups with members, through the whole broker.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use eosim_types::assignor::Assignor;
use eosim_types::message::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, CommittableOffset, GroupMember,
    JoinGroupRequest, OffsetFetchRequest, Request, Response, SyncGroupRequest,
    TxnOffsetCommitRequest,
};
use eosim_types::record::TransactionResult::{Abort, Commit};
use eosim_types::{
    Duration, ErrorCode as E, GroupId, LeaderEpoch, ProducerEpoch, ProducerId, Topic,
    TopicPartition,
};

use super::cluster::{Cluster, Setup, T, t};
use super::requests::{ID, marker, write_txn_markers};

const G: GroupId = GroupId(1);
const H: GroupId = GroupId(2);
const OFFSETS: TopicPartition = TopicPartition::new(Topic::CONSUMER_OFFSETS, 0);

/// The transaction coordinator answers `answer`.
fn cluster(answer: E) -> Cluster {
    let mut cluster = Setup { consumer_offsets: vec![1], ..Setup::default() }.build();
    cluster.script = Some(Box::new(move |_, request| {
        let Request::AddPartitionsToTxn(request) = request else { return None };
        let transaction = &request.transactions[0];
        let errors = transaction.partitions.iter().map(|tp| (*tp, answer)).collect();
        let results = [(transaction.transactional_id, errors)].into();
        Some(AddPartitionsToTxnResponse { error: E::None, results }.into())
    }));
    cluster.run_for(10);
    cluster
}

fn commit(version: i16, group: GroupId, epoch: i16, offset: i64) -> TxnOffsetCommitRequest {
    let partition = t(0);
    TxnOffsetCommitRequest {
        version,
        transactional_id: ID,
        group,
        producer_id: ProducerId(7),
        producer_epoch: ProducerEpoch(epoch),
        member: GroupMember::NONE,
        offsets: vec![CommittableOffset { partition, offset, leader_epoch: LeaderEpoch::NONE }],
    }
}

fn committed(cluster: &mut Cluster, request: TxnOffsetCommitRequest) -> E {
    let Response::TxnOffsetCommit(response) = cluster.ask(1, request) else { panic!() };
    response.partitions[0].1
}

/// The questions to the transaction coordinator.
fn questions(cluster: &Cluster) -> Vec<&AddPartitionsToTxnRequest> {
    let sent = cluster.sent.iter().map(|(_, request)| request);
    sent.filter_map(|request| match request {
        Request::AddPartitionsToTxn(request) => Some(request),
        _ => None,
    })
    .collect()
}

fn stable(cluster: &mut Cluster) -> Result<i64, E> {
    let partitions = Some(vec![t(0)]);
    let request = OffsetFetchRequest {
        version: 7,
        group: G,
        member: GroupMember::NONE,
        partitions,
        require_stable: true,
    };
    let Response::OffsetFetch(response) = cluster.ask(1, request) else { panic!() };
    let (_, result) = response.partitions[0];
    if result.error.is_none() { Ok(result.offset) } else { Err(result.error) }
}

fn write_marker(cluster: &mut Cluster, to: i32, epoch: i16, commits: bool) -> E {
    let result = if commits { Commit } else { Abort };
    let request = write_txn_markers(vec![marker(7, epoch, result, vec![OFFSETS])]);
    let Response::WriteTxnMarkers(response) = cluster.ask(to, request) else { panic!() };
    response.results[0].1[0].1
}

#[test]
fn the_version_says_whether_to_verify_or_to_add_g_tv_1_l_toc_1() {
    for (version, verify_only) in [(3, true), (4, true), (5, false)] {
        let mut cluster = cluster(E::None);
        assert_eq!(committed(&mut cluster, commit(version, G, 3, 10)), E::None);
        assert_eq!(committed(&mut cluster, commit(version, G, 3, 11)), E::None);
        let asked: Vec<_> =
            questions(&cluster).iter().map(|r| r.transactions[0].verify_only).collect();
        assert_eq!(asked, [verify_only], "v{version}: an open transaction needs no question");
        let older = committed(&mut cluster, commit(version, G, 2, 12));
        assert_eq!((older, questions(&cluster).len()), (E::InvalidProducerEpoch, 1));
    }
}

#[test]
fn answers_of_the_transaction_coordinator_g_tv_2() {
    let rows = [
        (E::ProducerFenced, 5, E::InvalidProducerEpoch),
        (E::TransactionAbortable, 3, E::InvalidTxnState),
        (E::TransactionAbortable, 4, E::TransactionAbortable),
        (E::TransactionAbortable, 5, E::TransactionAbortable),
        (E::ConcurrentTransactions, 3, E::ConcurrentTransactions),
        (E::ConcurrentTransactions, 4, E::ConcurrentTransactions),
        (E::ConcurrentTransactions, 5, E::ConcurrentTransactions),
        (E::InvalidTxnState, 4, E::InvalidTxnState),
        (E::NetworkException, 5, E::CoordinatorLoadInProgress),
    ];
    for (answer, version, expected) in rows {
        let mut cluster = cluster(answer);
        let outcome = committed(&mut cluster, commit(version, G, 0, 10));
        assert_eq!(outcome, expected, "{answer} v{version}");
        assert_eq!(questions(&cluster).len(), 1, "no retry");
        assert_eq!(stable(&mut cluster), Ok(-1), "nothing is pending");
    }
}

#[test]
fn sequences_are_not_compared_epochs_are_g_tv_4() {
    let mut cluster = cluster(E::None);
    for offset in [10, 11, 12] {
        assert_eq!(committed(&mut cluster, commit(5, G, 0, offset)), E::None);
    }
    let log = &cluster.replica(1, OFFSETS).log;
    let sequences: Vec<_> = log.batches().map(|batch| batch.base_sequence.0).collect();
    assert_eq!(sequences, [0, 0, 0], "L-TOC-3");
}

#[test]
fn an_open_transaction_is_one_of_the_partition_not_of_the_group_g_tv_5() {
    let mut cluster = cluster(E::None);
    assert_eq!(committed(&mut cluster, commit(5, G, 0, 10)), E::None);
    for version in [3, 4, 5] {
        assert_eq!(committed(&mut cluster, commit(version, H, 0, 10)), E::None);
    }
    assert_eq!(questions(&cluster).len(), 1);
}

#[test]
fn the_log_judges_the_marker_the_state_follows_g_mark_2_g_mark_4() {
    let mut cluster = cluster(E::None);
    assert_eq!(committed(&mut cluster, commit(5, G, 3, 10)), E::None);
    assert_eq!(write_marker(&mut cluster, 1, 2, true), E::InvalidProducerEpoch);
    assert_eq!(stable(&mut cluster), Err(E::UnstableOffsetCommit));
    assert_eq!(write_marker(&mut cluster, 1, 4, true), E::None);
    assert_eq!(stable(&mut cluster), Ok(10));
}

#[test]
fn a_marker_at_a_broker_that_does_not_coordinate_g_mark_1() {
    let mut cluster = Setup { consumer_offsets: vec![1, 2, 3], ..Setup::three(1) }.build();
    cluster.run_for(100);
    assert_eq!(write_marker(&mut cluster, 2, 0, true), E::NotLeaderOrFollower);
    assert_eq!(write_marker(&mut cluster, 1, 0, true), E::None);
}

#[test]
fn members_meet_at_a_broker() {
    let mut cluster = cluster(E::None);
    let join = |member| JoinGroupRequest {
        version: 9,
        group: G,
        session_timeout: Duration::from_millis(10_000),
        rebalance_timeout: Duration::from_millis(60_000),
        member,
        instance: None,
        protocols: vec![Assignor::Range],
        subscription: vec![T],
    };
    let Response::JoinGroup(first) = cluster.ask(1, join(None)) else { panic!() };
    let start = cluster.now();
    let Response::JoinGroup(joined) = cluster.ask(1, join(first.member)) else { panic!() };
    assert_eq!((joined.error, joined.generation), (E::None, 1));
    assert!(cluster.now().since(start).as_millis() >= 3_000, "the delay of the first rebalance");
    let id = joined.member.unwrap();
    let who = GroupMember { generation_or_epoch: 1, member: Some(id), instance: None };
    let assignments = vec![(id, vec![t(0), t(1)])];
    let sync = SyncGroupRequest { group: G, member: who, assignments };
    let Response::SyncGroup(synced) = cluster.ask(1, sync) else { panic!() };
    assert_eq!((synced.error, synced.assignment), (E::None, vec![t(0), t(1)]));
    let fenced = TxnOffsetCommitRequest {
        member: GroupMember { generation_or_epoch: 0, ..who },
        ..commit(5, G, 0, 10)
    };
    assert_eq!(committed(&mut cluster, fenced), E::IllegalGeneration);
    let current = TxnOffsetCommitRequest { member: who, ..commit(5, G, 0, 10) };
    assert_eq!(committed(&mut cluster, current), E::None);
    cluster.run_for(20_000);
    let silent = TxnOffsetCommitRequest { member: who, ..commit(5, G, 0, 10) };
    assert_eq!(committed(&mut cluster, silent), E::UnknownMemberId, "no heartbeat for 10 s");
}
