//! acks, the minimum of in-sync replicas, and what a producer is told.

use alloc::vec;

use eosim_actor::CrashKind;
use eosim_types::message::{IsolationLevel, ProduceRequest, Response};
use eosim_types::{Defect, ErrorCode as E};

use super::cluster::{Cluster, Setup, TRANSACTION_STATE, t};
use super::requests::{
    batch, fetch, fetched, produce, produce_to, produced, produced_one, transactional,
};

fn acks(acks: i16, request: ProduceRequest) -> ProduceRequest {
    ProduceRequest { acks, ..request }
}

/// Three brokers of which `dead` have been fenced.
fn cluster(min_insync_replicas: i32, dead: &[i32]) -> Cluster {
    let mut cluster = Setup::three(min_insync_replicas).build();
    cluster.run_for(100);
    for &broker in dead {
        cluster.kill(broker, CrashKind::Process);
    }
    cluster.run_for(15_000);
    cluster
}

#[test]
fn acks_against_isr_l_ack_2_l_ack_5_l_ack_1() {
    let table = [
        (-1, 2, vec![], E::None),
        (-1, 2, vec![3], E::None),
        (-1, 2, vec![2, 3], E::NotEnoughReplicas),
        (1, 2, vec![2, 3], E::None),
        (-1, 1, vec![2, 3], E::None),
        (-1, 3, vec![3], E::NotEnoughReplicas),
        (-1, 5, vec![], E::None),
    ];
    for (level, min_isr, dead, expected) in table {
        let mut cluster = cluster(min_isr, &dead);
        let data = acks(level, produce_to(t(0), batch(7, 0, 0, 1)));
        let (error, _) = produced_one(cluster.ask(1, data));
        assert_eq!(error, expected, "acks {level}, min {min_isr}, dead {dead:?}");
        let written = i64::from(expected == E::None);
        assert_eq!(cluster.replica(1, t(0)).log.log_end_offset(), written);
    }
}

#[test]
fn a_duplicate_is_refused_too_while_replicas_are_missing_l_pipe_4_l_ack_2() {
    let mut cluster = cluster(2, &[]);
    let data = || produce_to(t(0), batch(7, 0, 0, 1));
    assert_eq!(produced_one(cluster.ask(1, data())), (E::None, 0));
    cluster.kill(2, CrashKind::Process);
    cluster.kill(3, CrashKind::Process);
    cluster.run_for(15_000);
    assert_eq!(produced_one(cluster.ask(1, data())), (E::NotEnoughReplicas, -1));
}

#[test]
fn under_the_minimum_nothing_becomes_visible_l_hw_2_l_ack_5() {
    let mut cluster = cluster(2, &[2, 3]);
    cluster.ask(1, acks(1, produce_to(t(0), batch(7, 0, 0, 1))));
    let seen = fetched(cluster.ask(1, fetch(t(0), 0, IsolationLevel::ReadUncommitted)));
    assert_eq!((seen.high_watermark, seen.batches.len()), (0, 0));
    cluster.restart(3);
    cluster.run_for(10_000);
    let seen = fetched(cluster.ask(1, fetch(t(0), 0, IsolationLevel::ReadUncommitted)));
    assert_eq!((seen.high_watermark, seen.batches.len()), (1, 1));
}

#[test]
fn an_isr_that_shrinks_meanwhile_ends_in_a_timeout_l_ack_3_l_ack_4_l_pipe_5() {
    let mut cluster = cluster(3, &[]);
    cluster.pause(3);
    let data = || produce_to(t(0), batch(7, 0, 0, 1));
    assert_eq!(produced_one(cluster.ask(1, data())), (E::RequestTimedOut, 0));
    cluster.run_for(15_000);
    assert_eq!(produced_one(cluster.ask(1, data())), (E::NotEnoughReplicas, -1));
    cluster.resume(3);
    cluster.run_for(10_000);
    let Response::Produce(retried) = cluster.ask(1, data()) else { panic!() };
    assert_eq!((retried.partitions[0].error, retried.partitions[0].base_offset), (E::None, 0));
}

#[test]
fn a_duplicate_waits_like_its_original_l_dup_4() {
    let mut cluster = cluster(2, &[]);
    cluster.pause(2);
    cluster.pause(3);
    let data = || produce_to(t(0), batch(7, 0, 0, 1));
    assert_eq!(produced_one(cluster.ask(1, data())), (E::RequestTimedOut, 0));
    let retry = cluster.send(1, data());
    cluster.run_for(100);
    assert_eq!(cluster.answer(retry), None);
    cluster.resume(2);
    cluster.resume(3);
    cluster.run_for(2_000);
    assert_eq!(produced_one(cluster.answer(retry).unwrap()), (E::None, 0));
}

#[test]
fn refusals_before_the_append_l_pipe_1_l_pipe_4_l_pipe_5_l_rec_8() {
    let mut cluster = cluster(1, &[]);
    let missing = produce(vec![(t(9), batch(7, 0, 0, 1)), (t(0), batch(7, 0, 0, 1))]);
    assert_eq!(produced(cluster.ask(1, missing)), [(E::UnknownTopicOrPartition, -1), (E::None, 0)]);
    let illegal = acks(2, produce_to(t(0), batch(7, 0, 1, 1)));
    assert_eq!(produced_one(cluster.ask(1, illegal)), (E::InvalidRequiredAcks, -1));
    let internal = produce_to(TRANSACTION_STATE, batch(7, 0, 0, 1));
    assert_eq!(produced_one(cluster.ask(2, internal)), (E::InvalidTopicException, -1));
    let anonymous =
        ProduceRequest { transactional_id: None, ..produce_to(t(0), transactional(7, 0, 0, 1)) };
    let refused = (E::TransactionalIdAuthorizationFailed, -1);
    assert_eq!(produced_one(cluster.ask(1, anonymous)), refused);
    assert_eq!(
        produced_one(cluster.ask(2, produce_to(t(0), batch(7, 0, 1, 1)))).0,
        E::NotLeaderOrFollower
    );
    let Response::Produce(gap) = cluster.ask(1, produce_to(t(0), batch(7, 0, 5, 1))) else {
        panic!()
    };
    let gap = &gap.partitions[0];
    assert_eq!((gap.error, gap.log_start_offset), (E::OutOfOrderSequenceNumber, 0));
}

#[test]
fn acks_1_answers_at_once_and_acks_0_never_l_pipe_6() {
    let mut cluster = cluster(1, &[]);
    cluster.pause(2);
    cluster.pause(3);
    assert_eq!(
        produced_one(cluster.ask(1, acks(1, produce_to(t(0), batch(7, 0, 0, 1))))),
        (E::None, 0)
    );
    let silent = cluster.send(1, acks(0, produce_to(t(0), batch(7, 0, 1, 1))));
    cluster.run_for(3_000);
    assert_eq!(cluster.answer(silent), None);
    assert_eq!(cluster.replica(1, t(0)).log.log_end_offset(), 2);
}

#[test]
fn acks_1_transactional_as_released_and_repaired_l_rec_8() {
    let data = || acks(1, produce_to(t(0), transactional(7, 0, 0, 1)));
    let repaired = Setup::default().without(Defect::UpstreamLeaderAcks1TransactionalAccepted);
    for (setup, expected) in
        [(Setup::default(), E::NotEnoughReplicas), (repaired, E::InvalidRequiredAcks)]
    {
        let mut cluster = setup.build();
        cluster.run_for(10);
        // The coordinator does not know the id: as released it is asked, repaired it is not.
        let asked_before = cluster.sent.len();
        let (error, _) = produced_one(cluster.ask(1, data()));
        let asked = cluster.sent.len() > asked_before;
        assert_eq!(asked, expected != E::InvalidRequiredAcks);
        assert!(error == E::InvalidRequiredAcks || error == E::InvalidProducerIdMapping, "{error}");
    }
}

#[test]
fn a_refused_sequence_joins_its_transaction_as_released_only_l_rec_3() {
    let data = || produce_to(t(0), transactional(7, 0, -1, 1));
    let repaired = Setup::default().without(Defect::UpstreamLeaderRefusedProduceRegisters);
    for (setup, asks) in [(Setup::default(), true), (repaired, false)] {
        let mut cluster = setup.build();
        cluster.run_for(10);
        let (error, offset) = produced_one(cluster.ask(1, data()));
        assert_eq!(!cluster.sent.is_empty(), asks);
        let expected = if asks { E::InvalidProducerIdMapping } else { E::InvalidRecord };
        assert_eq!((error, offset), (expected, -1));
    }
}
