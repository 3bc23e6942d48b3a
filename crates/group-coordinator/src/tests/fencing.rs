//! Who may commit: W-76 and the rules G-OFF-1 to G-OFF-4.

use eosim_types::ErrorCode as E;
use eosim_types::message::{GroupMember, Request};

use super::bench::{Bench, Commit, beat, join, member, plain, sync, t, transactional};

const NONE: GroupMember = GroupMember::NONE;

fn static_member(instance: u32, who: GroupMember) -> GroupMember {
    GroupMember { instance: Some(instance), ..who }
}

/// (transactional, version, member, expected)
type Row = (bool, i16, GroupMember, E);

fn check(bench: &mut Bench, rows: &[Row]) {
    for &(is_transactional, version, member, expected) in rows {
        let producer = is_transactional.then_some(5);
        let offsets = [(t(0), 100)];
        let outcome = bench.commit(Commit { producer, version, member, offsets: &offsets });
        assert_eq!(outcome, expected, "transactional {is_transactional} v{version} {member:?}");
    }
}

#[test]
fn w_76_no_such_group_g_off_1() {
    let rows: [(bool, i16, E); 5] = [
        (true, 5, E::IllegalGeneration),
        (true, 6, E::GroupIdNotFound),
        (false, 7, E::IllegalGeneration),
        (false, 8, E::IllegalGeneration),
        (false, 9, E::GroupIdNotFound),
    ];
    for (is_transactional, version, expected) in rows {
        check(&mut Bench::new(), &[(is_transactional, version, member(1, 10), expected)]);
    }
}

#[test]
fn a_simple_group_is_made_by_the_first_commit_g_off_1() {
    let rows = [
        (true, 5, NONE, E::None),
        (true, 5, member(1, 10), E::UnknownMemberId),
        (false, 9, NONE, E::None),
    ];
    check(&mut Bench::new(), &rows);
}

#[test]
fn w_76_classic_group_in_generation_1_g_off_2() {
    let mut bench = Bench::new();
    let id = bench.one_classic_member();
    let rows: [Row; 11] = [
        (true, 5, member(id, 1), E::None),
        (true, 5, member(99, 1), E::UnknownMemberId),
        (true, 5, member(id, 10), E::IllegalGeneration),
        (true, 5, member(id, 0), E::IllegalGeneration),
        (true, 5, static_member(7, member(id, 1)), E::UnknownMemberId),
        (true, 5, NONE, E::None),
        (true, 2, NONE, E::None),
        (false, 9, member(id, 1), E::None),
        (false, 9, member(id, 0), E::IllegalGeneration),
        (false, 9, member(99, 1), E::UnknownMemberId),
        (false, 9, NONE, E::UnknownMemberId),
    ];
    let before = bench.log.len();
    check(&mut bench, &rows[..1]);
    assert_eq!(bench.log.len(), before + 1, "W-76: one offset record");
    check(&mut bench, &rows);
}

#[test]
fn a_static_member_that_was_replaced_is_fenced_g_off_2() {
    let mut bench = Bench::new();
    let mut first = join(None);
    first.instance = Some(7);
    let joining = bench.send(first.clone());
    bench.pass(3_000);
    let old = bench.joined(joining).member.unwrap();
    bench.send(sync(static_member(7, member(old, 1)), &[(old, &[t(0), t(1)])]));
    let again = bench.send(first);
    let joined = bench.joined(again);
    let new = joined.member.unwrap();
    assert_eq!((joined.error, joined.generation, new != old), (E::None, 1, true), "no rebalance");
    let rows = [
        (true, 5, static_member(7, member(old, 1)), E::FencedInstanceId),
        (false, 9, static_member(7, member(old, 1)), E::FencedInstanceId),
        (true, 5, static_member(7, member(new, 1)), E::None),
        (false, 9, static_member(7, member(new, 1)), E::None),
    ];
    check(&mut bench, &rows);
}

#[test]
fn phases_of_a_rebalance_g_off_2() {
    let mut bench = Bench::new();
    let id = bench.one_classic_member();
    let second = bench.new_member();
    bench.send(join(Some(second)));
    let old_generation = [(true, 5, member(id, 1), E::None), (false, 9, member(id, 1), E::None)];
    check(&mut bench, &old_generation);
    bench.send(join(Some(id)));
    let completing = [
        (true, 5, member(id, 2), E::None),
        (true, 5, member(id, 1), E::IllegalGeneration),
        (false, 9, member(id, 2), E::RebalanceInProgress),
    ];
    check(&mut bench, &completing);
}

#[test]
fn w_76_consumer_group_g_off_3() {
    let mut bench = Bench::new();
    assert_eq!(bench.beats(beat(1, 0, &[])).unwrap().0, 1);
    assert_eq!(bench.beats(beat(2, 0, &[])).unwrap().0, 2);
    assert_eq!(bench.beats(beat(1, 1, &[t(0), t(1)])).unwrap().0, 1, "must give t-1 up");
    assert_eq!(bench.beats(beat(1, 1, &[t(0)])).unwrap().0, 2);
    let rows: [Row; 11] = [
        (true, 5, member(1, 2), E::None),
        (true, 5, member(1, 1), E::None),
        (true, 5, member(1, 0), E::IllegalGeneration),
        (true, 6, member(1, 0), E::StaleMemberEpoch),
        (true, 6, member(1, 3), E::StaleMemberEpoch),
        (true, 5, member(3, 2), E::UnknownMemberId),
        (true, 5, NONE, E::None),
        (false, 9, member(1, 2), E::None),
        (false, 9, member(1, 3), E::StaleMemberEpoch),
        (false, 8, member(1, 2), E::UnsupportedVersion),
        (false, 9, NONE, E::UnknownMemberId),
    ];
    check(&mut bench, &rows);
    let moved =
        Commit { offsets: &[(t(1), 7)], member: member(1, 1), version: 6, ..transactional(5, &[]) };
    assert_eq!(bench.commit(moved), E::StaleMemberEpoch, "t-1 belongs to somebody else now");
    bench.beats(beat(1, -1, &[])).unwrap();
    bench.beats(beat(2, -1, &[])).unwrap();
    check(&mut bench, &[(false, 9, NONE, E::None), (true, 5, NONE, E::None)]);
}

#[test]
fn only_a_plain_commit_keeps_the_session_g_off_4() {
    for (is_transactional, outcome) in [(false, E::None), (true, E::UnknownMemberId)] {
        let mut bench = Bench::new();
        let id = bench.one_classic_member();
        let producer = is_transactional.then_some(5);
        let offsets = [(t(0), 1)];
        let commit = Commit { producer, version: 9, member: member(id, 1), offsets: &offsets };
        bench.pass(6_000);
        assert_eq!(bench.commit(commit), E::None);
        bench.pass(6_000);
        assert_eq!(bench.commit(commit), outcome, "transactional {is_transactional}");
    }
}

#[test]
fn unknown_partitions_are_answered_each_for_itself_g_off_6() {
    let mut bench = Bench::new();
    let Request::OffsetCommit(request) = plain(&[(t(0), 1), (t(9), 1)]).request() else { panic!() };
    let eosim_types::message::Response::OffsetCommit(response) = bench.ask(request) else {
        panic!()
    };
    let outcomes: alloc::vec::Vec<_> = response.partitions.iter().map(|(_, e)| *e).collect();
    assert_eq!(outcomes, [E::None, E::UnknownTopicOrPartition]);
    bench.broken = Some(E::NotEnoughReplicas);
    assert_eq!(bench.commit(plain(&[(t(0), 2)])), E::CoordinatorNotAvailable);
    assert_eq!(bench.fetch(&[t(0)], false), [Ok(1)]);
}
