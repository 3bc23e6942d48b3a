//! Lives of a broker: crash, restart, stop in good order, reset.

use eosim_actor::CrashKind;
use eosim_types::message::{DeleteRecordsRequest, DescribeProducersRequest, Response};
use eosim_types::observation::ClusterDump;
use eosim_types::{BrokerId, ErrorCode as E};

use super::cluster::{Setup, TRANSACTION_STATE, t};
use super::requests::{batch, produce_to, produced_one};

#[test]
fn a_killed_broker_keeps_its_log_and_one_batch_per_producer_l_fo_6_l_dup_7_c_part_6() {
    let mut cluster = Setup::default().build();
    cluster.run_for(10);
    for sequence in 0..3 {
        cluster.ask(1, produce_to(t(0), batch(7, 0, sequence, 1)));
    }
    cluster.kill(1, CrashKind::Process);
    cluster.run_for(1_000);
    cluster.restart(1);
    cluster.run_for(5_000);
    let replica = cluster.replica(1, t(0));
    assert!(replica.is_leader());
    assert_eq!((replica.leader_epoch.0, replica.log.log_end_offset()), (2, 3));
    let newest = produce_to(t(0), batch(7, 0, 2, 1));
    assert_eq!(produced_one(cluster.ask(1, newest)), (E::None, 2));
    let older = produce_to(t(0), batch(7, 0, 1, 1));
    assert_eq!(produced_one(cluster.ask(1, older)).0, E::OutOfOrderSequenceNumber);
}

#[test]
fn a_power_loss_takes_what_was_not_flushed_l_fo_6() {
    let mut cluster = Setup::default().build();
    cluster.run_for(10);
    cluster.ask(1, produce_to(t(0), batch(7, 0, 0, 1)));
    cluster.kill(1, CrashKind::PowerLoss);
    cluster.restart(1);
    cluster.run_for(5_000);
    assert_eq!(cluster.replica(1, t(0)).log.log_end_offset(), 0);
}

#[test]
fn a_stop_in_good_order_hands_leadership_over_first() {
    let mut cluster = Setup::three(2).build();
    cluster.run_for(100);
    cluster.ask(1, produce_to(t(0), batch(7, 0, 0, 1)));
    cluster.stop(1);
    cluster.run_for(5_000);
    let image = cluster.image(2);
    assert_eq!(image.leader(t(0)), Some(BrokerId(2)));
    assert!(!image.is_alive(BrokerId(1)) || image.brokers[&BrokerId(1)].in_controlled_shutdown);
    assert!(
        cluster.broker(1).replica_manager().partitions.iter().next().is_none(),
        "its process has ended"
    );
    cluster.restart(1);
    cluster.run_for(5_000);
    assert_eq!(cluster.image(2).partitions[&t(0)].isr.len(), 3);
}

#[test]
fn what_vanished_on_the_way_to_the_controller_is_asked_again() {
    let mut cluster = Setup::three(2).build();
    cluster.run_for(100);
    cluster.swallow_to_controller(2);
    cluster.run_for(1_000);
    cluster.heal();
    cluster.kill(1, CrashKind::Process);
    cluster.run_for(35_000);
    assert!(!cluster.image(2).is_alive(BrokerId(1)));
    assert_eq!(cluster.image(2).version, cluster.image(3).version);
}

#[test]
fn a_new_life_takes_up_no_old_role() {
    let mut cluster = Setup::three(1).build();
    cluster.run_for(100);
    cluster.kill(1, CrashKind::Process);
    cluster.restart(1);
    cluster.run_for(5_000);
    let epochs = [1, 2, 3].map(|id| cluster.replica(id, t(0)).leader_epoch);
    assert_eq!(epochs[0], epochs[1]);
    let leaders = [1, 2, 3].map(|id| cluster.replica(id, t(0)).is_leader());
    assert_eq!(leaders.into_iter().filter(|&leads| leads).count(), 1);
    assert!(cluster.replica(2, TRANSACTION_STATE).is_leader());
}

#[test]
fn deleted_records_wait_for_every_replica_l_del_1() {
    let mut cluster = Setup::three(2).build();
    cluster.run_for(100);
    cluster.ask(1, produce_to(t(0), batch(7, 0, 0, 4)));
    let delete = |offset| DeleteRecordsRequest { partition: t(0), offset, timeout_ms: 5_000 };
    let table = [(9, E::OffsetOutOfRange, -1), (-2, E::OffsetOutOfRange, -1), (-1, E::None, 4)];
    for (offset, error, low_watermark) in table {
        let Response::DeleteRecords(answer) = cluster.ask(1, delete(offset)) else { panic!() };
        assert_eq!((answer.error, answer.low_watermark), (error, low_watermark), "{offset}");
    }
    cluster.pause(3);
    cluster.ask(1, produce_to(t(0), batch(7, 0, 4, 1)));
    let internal = DeleteRecordsRequest { partition: TRANSACTION_STATE, ..delete(0) };
    let Response::DeleteRecords(answer) = cluster.ask(2, internal) else { panic!() };
    assert_eq!(answer.error, E::InvalidTopicException);
}

#[test]
fn producers_are_described_by_leader_and_follower_l_dpr_1() {
    let mut cluster = Setup::three(2).build();
    cluster.run_for(100);
    cluster.ask(1, produce_to(t(0), batch(7, 2, 0, 4)));
    for (broker, partition, error, producers) in
        [(1, t(0), E::None, 1), (3, t(0), E::None, 1), (1, t(5), E::UnknownTopicOrPartition, 0)]
    {
        let request = DescribeProducersRequest { partition };
        let Response::DescribeProducers(answer) = cluster.ask(broker, request) else { panic!() };
        assert_eq!((answer.error, answer.producers.len()), (error, producers));
    }
}

#[test]
fn a_reset_broker_is_a_new_one() {
    let mut cluster = Setup::three(2).build();
    let mut fresh = cluster.broker(1).clone();
    fresh.reset();
    cluster.run_for(100);
    cluster.ask(1, produce_to(t(0), batch(7, 0, 0, 4)));
    let mut used = cluster.broker(1).clone();
    used.reset();
    let dump = |broker: &crate::Broker| {
        let mut dump = ClusterDump::default();
        broker.dump(&mut dump);
        dump.replicas.iter().map(|replica| replica.log_end_offset).sum::<i64>()
    };
    assert_eq!((dump(&used), dump(&fresh)), (0, 0));
}

#[test]
fn an_idle_cluster_is_quiet() {
    let mut cluster = Setup::three(2).build();
    cluster.run_for(10_000);
    let fetches = cluster.sent.len();
    assert!(fetches <= 6 * 21, "two fetches a second from each of two leaders: {fetches}");
}
