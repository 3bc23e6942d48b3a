//! Deletion and expiry: W-80 to W-82, G-INT-3 to G-INT-7.

use alloc::vec::Vec;

use eosim_types::ErrorCode as E;
use eosim_types::TopicPartition;
use eosim_types::group_log::GroupLogRecord;
use eosim_types::message::{DeleteGroupsRequest, LeaveGroupRequest, OffsetDeleteRequest, Response};
use eosim_types::record::Payload;
use eosim_types::record::TransactionResult::Commit as Committed;

use super::bench::{Bench, GROUP, U, beat, join, plain, t, transactional};

const RETENTION_MS: u64 = 604_800_000;

fn u(partition: i32) -> TopicPartition {
    TopicPartition::new(U, partition)
}

fn delete_group(bench: &mut Bench) -> E {
    let Response::DeleteGroups(r) = bench.ask(DeleteGroupsRequest { group: GROUP }) else {
        panic!()
    };
    r.error
}

fn delete_offsets(bench: &mut Bench, partitions: &[TopicPartition]) -> Result<Vec<E>, E> {
    let request = OffsetDeleteRequest { group: GROUP, partitions: partitions.to_vec() };
    let Response::OffsetDelete(r) = bench.ask(request) else { panic!() };
    let outcomes = r.partitions.iter().map(|(_, outcome)| *outcome).collect();
    if r.error.is_none() { Ok(outcomes) } else { Err(r.error) }
}

/// Offset tombstones in the last batch.
fn tombstones(bench: &Bench) -> Vec<TopicPartition> {
    let Payload::GroupLog(records) = &bench.log[bench.log.len() - 1].payload else { panic!() };
    let offset = |record: &GroupLogRecord| match record {
        GroupLogRecord::OffsetCommit(record) => Some(record.partition),
        _ => None,
    };
    records.iter().filter_map(offset).collect()
}

#[test]
fn w_80_a_group_goes_with_one_tombstone_per_key_g_int_4() {
    let mut bench = Bench::new();
    let same = bench.metadata.partitions[&t(0)].clone();
    let baz = TopicPartition::new(eosim_types::Topic(4), 0);
    bench.metadata.partitions.insert(baz, same);
    bench.commit(plain(&[(t(0), 1), (t(1), 1), (u(0), 1)]));
    bench.commit(transactional(5, &[(u(0), 2), (baz, 2)]));
    assert_eq!(delete_group(&mut bench), E::None, "open transactions do not prevent it");
    assert_eq!(tombstones(&bench), [t(0), t(1), u(0), baz]);
    bench.marker(5, 0, Committed);
    assert_eq!(bench.rebuilt(), crate::GroupState::default(), "G-INT-3");
    assert_eq!(delete_group(&mut bench), E::GroupIdNotFound);
}

#[test]
fn only_empty_groups_can_be_deleted_g_int_4() {
    let mut classic = Bench::new();
    let id = classic.one_classic_member();
    assert_eq!(delete_group(&mut classic), E::NonEmptyGroup);
    classic.ask(LeaveGroupRequest { group: GROUP, members: [(Some(id), None)].to_vec() });
    assert_eq!(delete_group(&mut classic), E::None);
    let mut consumer = Bench::new();
    consumer.beats(beat(1, 0, &[])).unwrap();
    assert_eq!(delete_group(&mut consumer), E::NonEmptyGroup);
    consumer.beats(beat(1, -1, &[])).unwrap();
    assert_eq!(delete_group(&mut consumer), E::None);
    assert_eq!(consumer.rebuilt(), crate::GroupState::default());
}

#[test]
fn offsets_of_topics_that_are_read_stay_g_int_4() {
    let mut bench = Bench::new();
    assert_eq!(delete_offsets(&mut bench, &[t(0)]), Err(E::GroupIdNotFound));
    bench.commit(plain(&[(t(0), 1), (u(0), 1)]));
    bench.commit(transactional(5, &[(u(0), 2)]));
    bench.one_classic_member();
    let outcomes = delete_offsets(&mut bench, &[t(0), u(0)]);
    assert_eq!(outcomes, Ok([E::GroupSubscribedToTopic, E::None].to_vec()));
    assert_eq!(bench.fetch(&[t(0), u(0)], true), [Ok(1), Ok(-1)], "committed or pending: gone");
    bench.marker(5, 0, Committed);
    assert_eq!(bench.fetch(&[u(0)], true), [Ok(-1)]);
    let before = bench.log.len();
    assert_eq!(delete_offsets(&mut bench, &[u(0)]), Ok([E::None].to_vec()));
    assert_eq!(bench.log.len(), before, "nothing to delete");
}

#[test]
fn w_82_tombstones_leave_nothing_g_int_3_g_int_7() {
    let mut bench = Bench::new();
    bench.commit(plain(&[(t(0), 1)]));
    bench.commit(transactional(5, &[(t(0), 2), (t(1), 2)]));
    assert_eq!(delete_offsets(&mut bench, &[t(0), t(1)]), Ok([E::None; 2].to_vec()));
    let state = bench.rebuilt().offsets;
    assert_eq!(state, crate::OffsetMetadataManager::default());
    assert!(!state.has_open_transactions(GROUP), "the group may expire");
}

#[test]
fn a_deleted_topic_takes_its_offsets_along_g_int_6() {
    let mut bench = Bench::new();
    bench.commit(plain(&[(t(0), 1), (u(0), 1)]));
    bench.commit(transactional(5, &[(u(0), 2)]));
    bench.delete_partitions(&[u(0)]);
    bench.marker(5, 0, Committed);
    assert_eq!(bench.fetch(&[t(0), u(0)], true), [Ok(1), Ok(-1)]);
    let before = bench.log.len();
    bench.delete_partitions(&[t(1)]);
    assert_eq!(bench.log.len(), before);
}

#[test]
fn w_81_a_pending_offset_keeps_the_group_g_int_5() {
    let mut bench = Bench::new();
    bench.commit(plain(&[(t(0), 1)]));
    bench.commit(transactional(5, &[(t(0), 2)]));
    bench.pass(RETENTION_MS + 1_200_000);
    assert_eq!(bench.fetch(&[t(0)], false), [Ok(1)]);
    bench.marker(5, 0, Committed);
    assert_eq!(bench.fetch(&[t(0)], true), [Ok(2)]);
    bench.pass(600_000);
    assert_eq!(bench.fetch(&[t(0)], true), [Ok(-1)], "committed longer ago than the retention");
    assert!(bench.rebuilt().groups.is_empty());
}

#[test]
fn a_group_with_pending_offsets_only_is_kept_g_int_5() {
    let mut bench = Bench::new();
    bench.commit(transactional(5, &[(t(0), 2)]));
    bench.pass(RETENTION_MS + 1_200_000);
    assert!(bench.rebuilt().groups.contains_key(&GROUP));
}

#[test]
fn what_counts_is_when_the_group_became_empty_g_int_5() {
    let mut bench = Bench::new();
    let id = bench.one_classic_member();
    bench.commit(super::bench::Commit {
        member: super::bench::member(id, 1),
        ..plain(&[(t(0), 1)])
    });
    for _ in 0..3 {
        bench.pass(5_000);
        let who = super::bench::member(id, 1);
        bench.ask(eosim_types::message::HeartbeatRequest { group: GROUP, member: who });
    }
    bench.ask(LeaveGroupRequest { group: GROUP, members: [(Some(id), None)].to_vec() });
    bench.pass(RETENTION_MS - 30_000);
    assert_eq!(bench.fetch(&[t(0)], true), [Ok(1)]);
    bench.pass(1_300_000);
    assert_eq!(bench.fetch(&[t(0)], true), [Ok(-1)]);
    assert!(bench.rebuilt().groups.is_empty());
}

#[test]
fn topics_that_are_read_and_groups_that_rebalance_lose_nothing_g_int_5() {
    let mut bench = Bench::new();
    bench.config.offsets_retention = eosim_types::Duration::from_millis(1_000);
    bench.config.offsets_retention_check_interval = eosim_types::Duration::from_millis(2_000);
    bench.commit(plain(&[(t(0), 1), (u(0), 1)]));
    bench.elect();
    bench.one_classic_member();
    bench.pass(4_000);
    assert_eq!(bench.fetch(&[t(0), u(0)], true), [Ok(1), Ok(-1)]);
    let mut bench = Bench::new();
    bench.config.offsets_retention = eosim_types::Duration::from_millis(1_000);
    bench.config.offsets_retention_check_interval = eosim_types::Duration::from_millis(2_000);
    bench.config.group_initial_rebalance_delay = eosim_types::Duration::from_millis(8_000);
    bench.commit(plain(&[(u(0), 1)]));
    let id = bench.new_member();
    bench.send(join(Some(id)));
    bench.pass(4_000);
    assert_eq!(bench.fetch(&[u(0)], true), [Ok(1)], "in PreparingRebalance");
}
