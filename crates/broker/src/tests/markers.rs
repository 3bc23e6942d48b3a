//! Worked cases 77 and 78 of the leader: WriteTxnMarkers; and 69, a reader that waits meanwhile.

use alloc::vec;
use alloc::vec::Vec;

use eosim_types::message::{FetchRequest, IsolationLevel, Response, WriteTxnMarkersRequest};
use eosim_types::record::TransactionResult::{Abort, Commit};
use eosim_types::version::TransactionVersion;
use eosim_types::{ErrorCode as E, ProducerId, TopicPartition};

use super::cluster::{Cluster, Setup, t};
use super::requests::{
    fetch, fetched, marker, produce, produced_one, transactional, write_txn_markers,
};

/// One broker; whatever is produced is verified by nobody.
fn cluster() -> Cluster {
    let config = eosim_types::config::BrokerConfig {
        transaction_partition_verification_enable: false,
        ..Default::default()
    };
    let mut cluster = Setup { config, ..Setup::default() }.build();
    cluster.run_for(10);
    cluster
}

fn old(
    partitions: Vec<(TopicPartition, eosim_types::record::RecordBatch)>,
) -> eosim_types::message::ProduceRequest {
    eosim_types::message::ProduceRequest { version: 11, ..produce(partitions) }
}

fn results(response: Response) -> Vec<(ProducerId, Vec<(TopicPartition, E)>)> {
    let Response::WriteTxnMarkers(response) = response else { panic!("{response:?}") };
    let results = response.results.into_iter();
    results.map(|(id, errors)| (id, errors.into_iter().collect())).collect()
}

#[test]
fn row_69_a_parked_fetch_lists_what_was_aborted_meanwhile_l_fet_5_l_fet_3() {
    let mut cluster = cluster();
    let data = old(vec![(t(0), transactional(7, 0, 0, 3))]);
    assert_eq!(produced_one(cluster.ask(1, data)), (E::None, 0));
    let waits = FetchRequest {
        max_wait_ms: 500,
        min_bytes: 1_000,
        ..fetch(t(0), 0, IsolationLevel::ReadCommitted)
    };
    let parked = cluster.send(1, waits);
    cluster.run_for(100);
    let abort = marker(7, 1, Abort, vec![t(0)]);
    assert_eq!(
        results(cluster.ask(1, write_txn_markers(vec![abort]))),
        [(ProducerId(7), vec![(t(0), E::None)])]
    );
    cluster.run_for(500);
    let answer = fetched(cluster.answer(parked).unwrap());
    assert_eq!((answer.last_stable_offset, answer.batches.len()), (4, 2));
    let aborted: Vec<_> = answer.aborted_transactions.iter().map(|a| a.first_offset).collect();
    assert_eq!(aborted, [0]);
}

#[test]
fn row_77_a_partition_that_is_not_hosted_l_wtm_3() {
    let mut cluster = cluster();
    let commit = marker(7, 0, Commit, vec![t(0), t(9)]);
    let mut answer = results(cluster.ask(1, write_txn_markers(vec![commit])));
    answer[0].1.sort_unstable();
    let expected = vec![(t(0), E::None), (t(9), E::UnknownTopicOrPartition)];
    assert_eq!(answer, [(ProducerId(7), expected)]);
}

#[test]
fn row_78_two_markers_of_one_producer_share_an_answer_l_wtm_4_l_wtm_1() {
    let mut cluster = cluster();
    let markers = vec![
        marker(7, 0, Commit, vec![t(0)]),
        marker(8, 0, Abort, vec![t(0)]),
        marker(7, 0, Commit, vec![t(1)]),
    ];
    let answer = results(cluster.ask(1, write_txn_markers(markers)));
    assert_eq!(
        answer,
        [
            (ProducerId(7), vec![(t(0), E::None), (t(1), E::None)]),
            (ProducerId(8), vec![(t(0), E::None)]),
        ]
    );
    assert!(results(cluster.ask(1, write_txn_markers(vec![]))).is_empty());
}

#[test]
fn version_1_requests_use_the_old_epoch_test_l_wtm_2_l_wtm_9_l_wtm_7() {
    let mut cluster = cluster();
    let data = old(vec![(t(0), transactional(7, 3, 0, 1))]);
    assert_eq!(produced_one(cluster.ask(1, data)), (E::None, 0));
    let ask = |cluster: &mut Cluster, version, tv| {
        let mut commit = marker(7, 3, Abort, vec![t(0)]);
        commit.transaction_version = tv;
        let request = WriteTxnMarkersRequest { version, markers: [commit].into() };
        results(cluster.ask(1, request))[0].1[0].1
    };
    assert_eq!(ask(&mut cluster, 2, TransactionVersion::Tv2), E::InvalidProducerEpoch);
    assert_eq!(ask(&mut cluster, 1, TransactionVersion::Tv2), E::None);
    assert_eq!(ask(&mut cluster, 2, TransactionVersion::Tv2), E::None, "a retry: L-WTM-8");
}

#[test]
fn a_marker_that_cannot_be_built_fails_the_request_l_wtm_10() {
    let mut cluster = cluster();
    let bad = marker(7, -1, Commit, vec![t(0), t(9)]);
    let answer = results(cluster.ask(1, write_txn_markers(vec![bad])));
    let failed = E::UnknownServerError;
    assert_eq!(answer, [(ProducerId(7), vec![(t(0), failed), (t(9), failed)])]);
}

#[test]
fn a_marker_waits_for_all_replicas_l_wtm_6() {
    let mut cluster = Setup::three(2).build();
    cluster.run_for(100);
    cluster.pause(3);
    let sent = cluster.send(1, write_txn_markers(vec![marker(7, 0, Commit, vec![t(0)])]));
    cluster.run_for(1_000);
    assert_eq!(cluster.answer(sent), None);
    cluster.resume(3);
    cluster.run_for(1_000);
    assert_eq!(results(cluster.answer(sent).unwrap())[0].1, [(t(0), E::None)]);
    let follower = write_txn_markers(vec![marker(7, 0, Commit, vec![t(0)])]);
    assert_eq!(results(cluster.ask(2, follower))[0].1, [(t(0), E::NotLeaderOrFollower)]);
}
