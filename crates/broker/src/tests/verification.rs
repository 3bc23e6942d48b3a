//! Worked cases 46 to 54 of the leader: the verification stage.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use eosim_types::config::BrokerConfig;
use eosim_types::message::{AddPartitionsToTxnResponse, ProduceRequest, Request, Response};
use eosim_types::{ErrorCode, TopicPartition};

use super::cluster::{Cluster, Setup, t};
use super::requests::{batch, produce, produce_to, produced, produced_one, transactional};

use ErrorCode as E;

/// The coordinator answers `answers`, one per request, then NONE.
fn scripted(setup: Setup, answers: &[ErrorCode]) -> Cluster {
    let mut cluster = setup.build();
    let mut answers: VecDeque<_> = answers.iter().copied().collect();
    cluster.script = Some(Box::new(move |_, request| {
        let Request::AddPartitionsToTxn(request) = request else { return None };
        let error = answers.pop_front().unwrap_or_default();
        let answer = |tp: &TopicPartition| (*tp, error);
        let result = |transaction: &eosim_types::message::AddPartitionsToTxnTransaction| {
            let partitions = transaction.partitions.iter().map(answer).collect();
            (transaction.transactional_id, partitions)
        };
        let results = request.transactions.iter().map(result).collect();
        Some(Response::AddPartitionsToTxn(AddPartitionsToTxnResponse { error: E::None, results }))
    }));
    cluster.run_for(10);
    cluster
}

/// The partitions that the coordinator was asked about, call by call.
fn calls(cluster: &Cluster) -> Vec<Vec<TopicPartition>> {
    let partitions = |request: &Request| match request {
        Request::AddPartitionsToTxn(request) => Some(request.transactions[0].partitions.to_vec()),
        _ => None,
    };
    cluster.sent.iter().filter_map(|(_, request)| partitions(request)).collect()
}

fn version(version: i16, request: ProduceRequest) -> ProduceRequest {
    ProduceRequest { version, ..request }
}

#[test]
fn row_46_verification_flow_l_ver_3_l_ver_5_l_ver_6() {
    let mut cluster = scripted(Setup::default(), &[E::InvalidTxnState]);
    let data = produce_to(t(0), transactional(7, 0, 0, 1));
    assert_eq!(produced_one(cluster.ask(1, data.clone())), (E::InvalidTxnState, -1));
    assert_eq!(cluster.replica(1, t(0)).log.log_end_offset(), 0);
    assert_eq!(produced_one(cluster.ask(1, data)), (E::None, 0));
    assert_eq!(calls(&cluster).len(), 2);
    let more = produce_to(t(0), transactional(7, 0, 1, 1));
    assert_eq!(produced_one(cluster.ask(1, more)), (E::None, 1));
    assert_eq!(calls(&cluster).len(), 2, "open already: nobody is asked (L-VER-4)");
}

#[test]
fn row_47_a_refused_sequence_holds_later_ones_back_l_grd_7() {
    let mut cluster = scripted(Setup::default(), &[E::InvalidProducerIdMapping]);
    let first = version(11, produce_to(t(0), transactional(7, 0, 3, 1)));
    assert_eq!(produced_one(cluster.ask(1, first)), (E::InvalidProducerIdMapping, -1));
    let second = version(11, produce_to(t(0), transactional(7, 0, 4, 1)));
    assert_eq!(produced_one(cluster.ask(1, second)).0, E::OutOfOrderSequenceNumber);
}

#[test]
fn row_48_a_lower_epoch_asks_nobody_l_ver_3() {
    let mut cluster = scripted(Setup::default(), &[]);
    assert_eq!(
        produced_one(cluster.ask(1, produce_to(t(0), transactional(7, 5, 0, 1)))).0,
        E::None
    );
    let zombie = produce_to(t(0), transactional(7, 4, 0, 1));
    assert_eq!(produced_one(cluster.ask(1, zombie)), (E::InvalidProducerEpoch, -1));
    assert_eq!(calls(&cluster).len(), 1);
}

#[test]
fn row_49_errors_by_request_version_l_map_2_l_ver_7() {
    let coordinator = [
        E::NotCoordinator,
        E::ConcurrentTransactions,
        E::NetworkException,
        E::CoordinatorLoadInProgress,
        E::CoordinatorNotAvailable,
    ];
    let retriable = coordinator.map(|error| (error, E::NotEnoughReplicas));
    let unchanged = [E::InvalidTxnState, E::InvalidProducerEpoch, E::InvalidProducerIdMapping];
    let table = retriable.into_iter().chain(unchanged.map(|error| (error, error)));
    for (answered, expected) in table {
        for (class, expected) in [(10, expected), (11, expected)] {
            let mut cluster = scripted(Setup::default(), &[answered]);
            let data = version(class, produce_to(t(0), transactional(7, 0, 0, 1)));
            assert_eq!(produced_one(cluster.ask(1, data)), (expected, -1), "{answered} v{class}");
            assert_eq!(calls(&cluster).len(), 1, "no retry below version 12");
        }
    }
    for (class, expected) in
        [(10, E::InvalidTxnState), (11, E::TransactionAbortable), (12, E::TransactionAbortable)]
    {
        let mut cluster = scripted(Setup::default(), &[E::TransactionAbortable]);
        let data = version(class, produce_to(t(0), transactional(7, 0, 0, 1)));
        assert_eq!(produced_one(cluster.ask(1, data)).0, expected, "v{class}");
    }
}

#[test]
fn row_50_only_concurrent_transactions_is_retried_l_ver_8() {
    let data = || produce_to(t(0), transactional(7, 0, 0, 1));
    let mut cluster = scripted(Setup::default(), &[E::NotCoordinator]);
    assert_eq!(produced_one(cluster.ask(1, data())).0, E::NotEnoughReplicas);
    assert_eq!(calls(&cluster).len(), 1);
    let mut cluster = scripted(Setup::default(), &[E::ConcurrentTransactions]);
    let start = cluster.now();
    assert_eq!(produced_one(cluster.ask(1, data())), (E::None, 0));
    assert_eq!(calls(&cluster).len(), 2);
    let took = cluster.now().since(start).as_millis();
    assert!((20..=26).contains(&took), "one pause of 20 ms: {took}");
}

#[test]
fn row_50_retries_end_after_100_ms_l_ver_8_c_atm_5() {
    let mut cluster = scripted(Setup::default(), &[E::ConcurrentTransactions; 50]);
    let data = produce_to(t(0), transactional(7, 0, 0, 1));
    assert_eq!(produced_one(cluster.ask(1, data)).0, E::ConcurrentTransactions);
    assert_eq!(calls(&cluster).len(), 6);
}

#[test]
fn row_51_only_transactional_partitions_are_verified_l_ver_1_l_pipe_3() {
    let mut cluster = scripted(Setup::default(), &[]);
    cluster.ask(1, produce_to(t(0), batch(7, 0, 0, 1)));
    assert!(calls(&cluster).is_empty());
    let mixed = produce(vec![(t(0), transactional(8, 0, 0, 1)), (t(1), batch(9, 0, 0, 1))]);
    assert_eq!(produced(cluster.ask(1, mixed)), [(E::None, 1), (E::None, 0)]);
    assert_eq!(calls(&cluster), [vec![t(0)]]);
}

#[test]
fn row_52_verification_switched_off_l_ver_2() {
    let config = BrokerConfig {
        transaction_partition_verification_enable: false,
        ..BrokerConfig::default()
    };
    let off = || Setup { config: config.clone(), ..Setup::default() };
    let mut cluster = scripted(off(), &[]);
    let old = version(11, produce_to(t(0), transactional(7, 0, 0, 1)));
    assert_eq!(produced_one(cluster.ask(1, old)), (E::None, 0));
    assert!(calls(&cluster).is_empty());
    let mut cluster = scripted(off(), &[]);
    cluster.ask(1, produce_to(t(0), transactional(7, 0, 0, 1)));
    assert_eq!(calls(&cluster).len(), 1, "version 12 still adds");
}

#[test]
fn row_53_not_the_leader_asks_nobody_l_ver_3() {
    let setup = Setup { brokers: 2, t: vec![vec![2, 1]], ..Setup::default() };
    let mut cluster = scripted(setup, &[]);
    let data = produce_to(t(0), transactional(7, 0, 0, 1));
    assert_eq!(produced_one(cluster.ask(1, data)), (E::NotLeaderOrFollower, -1));
    assert!(calls(&cluster).is_empty());
}

#[test]
fn row_54_two_producers_in_one_request_l_pipe_2() {
    let mut cluster = scripted(Setup::default(), &[]);
    let data = vec![(t(0), transactional(24, 0, 0, 1)), (t(1), transactional(25, 0, 0, 1))];
    let refused = (E::InvalidProducerIdMapping, -1);
    assert_eq!(produced(cluster.ask(1, produce(data))), [refused, refused]);
}

#[test]
fn a_marker_between_verification_and_append_l_sim_1_l_ver_6() {
    use super::requests::{marker, write_txn_markers};
    use eosim_types::record::TransactionResult::Abort;
    let mut cluster = Setup::three(1).build();
    cluster.run_for(10);
    cluster.pause(2);
    let data = cluster.send(1, produce_to(t(0), transactional(7, 0, 0, 1)));
    cluster.run_for(10);
    let abort = marker(7, 1, Abort, vec![t(0)]);
    cluster.send(1, write_txn_markers(vec![abort]));
    cluster.run_for(10);
    assert_eq!(cluster.replica(1, t(0)).log.log_end_offset(), 1, "the marker is in the log");
    cluster.kill(2, eosim_actor::CrashKind::Process);
    cluster.run_for(20);
    let (error, _) = produced_one(cluster.answer(data).unwrap());
    assert_eq!(error, E::NotEnoughReplicas, "the call broke: L-A2T-6, L-A2T-9");
}
