//! Stories recorded on three brokers of Kafka 4.4.0, as far as the broker's part goes.

use eosim_actor::CrashKind;
use eosim_types::message::{
    IsolationLevel, ListOffsetsAsker, ListOffsetsPartition, ListOffsetsRequest,
    ListOffsetsTimestamp, ProduceRequest, Response,
};
use eosim_types::{ErrorCode as E, Few, LeaderEpoch};

use super::cluster::{Cluster, Setup, t};
use super::requests::{batch, produce_to, produced_one};

fn cluster(min_insync_replicas: i32) -> Cluster {
    let mut cluster = Setup::three(min_insync_replicas).build();
    cluster.run_for(100);
    cluster
}

fn produce(cluster: &mut Cluster, to: i32, sequence: i32, acks: i16) -> (E, i64) {
    let data = produce_to(t(0), batch(7, 0, sequence, 1));
    produced_one(cluster.ask(to, ProduceRequest { acks, ..data }))
}

fn latest(cluster: &mut Cluster, asker: ListOffsetsAsker) -> i64 {
    let request = ListOffsetsRequest {
        version: 10,
        asker,
        partitions: Few::One(ListOffsetsPartition {
            partition: t(0),
            current_leader_epoch: LeaderEpoch::NONE,
            timestamp: ListOffsetsTimestamp::Latest,
        }),
    };
    let Response::ListOffsets(response) = cluster.ask(1, request) else { panic!() };
    response.partitions[0].offset
}

#[test]
fn isr_not_enough_l_ack_2_l_pipe_4_l_ack_5_l_isr_5() {
    const UNCOMMITTED: ListOffsetsAsker =
        ListOffsetsAsker::Consumer(IsolationLevel::ReadUncommitted);
    let mut cluster = cluster(2);
    assert_eq!(produce(&mut cluster, 1, 0, -1), (E::None, 0));
    for follower in [2, 3] {
        cluster.pause(follower);
        cluster.run_for(20_000);
    }
    assert_eq!(produce(&mut cluster, 1, 1, -1), (E::NotEnoughReplicas, -1));
    assert_eq!(produce(&mut cluster, 1, 0, -1), (E::NotEnoughReplicas, -1));
    assert_eq!(produce(&mut cluster, 1, 1, 1), (E::None, 1));
    assert_eq!(produce(&mut cluster, 1, 1, 1), (E::None, 1));
    let ends = (latest(&mut cluster, ListOffsetsAsker::Debug), latest(&mut cluster, UNCOMMITTED));
    assert_eq!(ends, (2, 1));
    cluster.resume(2);
    cluster.resume(3);
    cluster.run_for(20_000);
    assert_eq!(latest(&mut cluster, UNCOMMITTED), 2);
    assert_eq!(produce(&mut cluster, 1, 1, -1), (E::None, 1));
    assert_eq!(cluster.replica(1, t(0)).leader_epoch, LeaderEpoch(0), "L-ISR-4");
}

#[test]
fn window_follower_restarted_then_two_more_l_dup_7_l_fo_2() {
    let mut cluster = cluster(1);
    for sequence in 0..3 {
        assert_eq!(produce(&mut cluster, 1, sequence, -1).0, E::None);
    }
    cluster.run_for(600);
    for follower in [2, 3] {
        cluster.kill(follower, CrashKind::Process);
    }
    cluster.run_for(15_000);
    for follower in [2, 3] {
        cluster.restart(follower);
    }
    cluster.run_for(15_000);
    for sequence in 3..5 {
        assert_eq!(produce(&mut cluster, 1, sequence, -1).0, E::None);
    }
    cluster.run_for(600);
    cluster.kill(1, CrashKind::Process);
    cluster.run_for(15_000);
    let leader = cluster.image(2).leader(t(0)).expect("a leader").0;
    for sequence in [4, 3, 2] {
        let expected = (E::None, i64::from(sequence));
        assert_eq!(produce(&mut cluster, leader, sequence, -1), expected);
    }
    for sequence in [1, 0] {
        let (error, _) = produce(&mut cluster, leader, sequence, -1);
        assert_eq!(error, E::OutOfOrderSequenceNumber, "one from before the restart, two after");
    }
}

#[test]
fn acks_1_lost_l_fo_2_l_seq_4() {
    let mut cluster = cluster(1);
    assert_eq!(produce(&mut cluster, 1, 0, -1), (E::None, 0));
    cluster.run_for(600);
    cluster.cut(2, 1);
    cluster.cut(3, 1);
    cluster.run_for(600);
    assert_eq!(produce(&mut cluster, 1, 1, 1), (E::None, 1));
    cluster.kill(1, CrashKind::Process);
    cluster.run_for(15_000);
    let leader = cluster.image(2).leader(t(0)).expect("a leader").0;
    assert_eq!(produce(&mut cluster, leader, 2, -1).0, E::OutOfOrderSequenceNumber);
    assert_eq!(produce(&mut cluster, leader, 1, -1), (E::None, 1));
}
