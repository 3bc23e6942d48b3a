//! Classic groups: phases, sessions, generations, failover.

use alloc::vec;

use eosim_types::ErrorCode as E;
use eosim_types::message::{HeartbeatRequest, LeaveGroupRequest, Response};

use super::bench::{Bench, GROUP, join, member, sync, t};

fn heartbeat(bench: &mut Bench, id: u32, generation: i32) -> E {
    let request = HeartbeatRequest { group: GROUP, member: member(id, generation) };
    let Response::Heartbeat(r) = bench.ask(request) else { panic!() };
    r.error
}

/// Two members in generation 2, the first is the leader.
fn two_members(bench: &mut Bench) -> (u32, u32) {
    let first = bench.one_classic_member();
    let second = bench.new_member();
    let joining = bench.send(join(Some(second)));
    assert_eq!(heartbeat(bench, first, 1), E::RebalanceInProgress);
    let again = bench.send(join(Some(first)));
    let (leads, follows) = (bench.joined(again), bench.joined(joining));
    assert_eq!((leads.generation, leads.leader, leads.members.len()), (2, Some(first), 2));
    assert_eq!((follows.generation, follows.members.len()), (2, 0));
    let waiting = bench.send(sync(member(second, 2), &[]));
    assert_eq!(bench.answer(waiting), None, "the leader has not shared out");
    let leader = bench.send(sync(member(first, 2), &[(first, &[t(0)]), (second, &[t(1)])]));
    assert_eq!(bench.synced(leader).assignment, [t(0)]);
    assert_eq!(bench.synced(waiting).assignment, [t(1)]);
    (first, second)
}

#[test]
fn two_members_share_out() {
    let mut bench = Bench::new();
    let (first, second) = two_members(&mut bench);
    assert_eq!(heartbeat(&mut bench, first, 2), E::None);
    assert_eq!(heartbeat(&mut bench, second, 1), E::IllegalGeneration);
    assert_eq!(heartbeat(&mut bench, 77, 2), E::UnknownMemberId);
}

#[test]
fn a_group_that_was_empty_waits_for_more_members() {
    let mut bench = Bench::new();
    let (first, second) = (bench.new_member(), bench.new_member());
    let one = bench.send(join(Some(first)));
    bench.pass(2_000);
    let two = bench.send(join(Some(second)));
    bench.pass(1_500);
    assert_eq!(bench.answer(one), None, "the second came in the meantime: once more the delay");
    bench.pass(2_500);
    assert_eq!(bench.joined(one).generation, 1);
    assert_eq!(bench.joined(two).generation, 1);
}

#[test]
fn a_silent_member_is_put_out() {
    let mut bench = Bench::new();
    let (first, second) = two_members(&mut bench);
    bench.pass(6_000);
    assert_eq!(heartbeat(&mut bench, first, 2), E::None);
    bench.pass(6_000);
    assert_eq!(heartbeat(&mut bench, first, 2), E::RebalanceInProgress);
    assert_eq!(heartbeat(&mut bench, second, 2), E::UnknownMemberId);
    let again = bench.send(join(Some(first)));
    assert_eq!(bench.joined(again).generation, 3);
}

#[test]
fn the_last_member_leaves_an_empty_group_with_its_generation() {
    let mut bench = Bench::new();
    let id = bench.one_classic_member();
    let request =
        LeaveGroupRequest { group: GROUP, members: vec![(Some(id), None), (Some(9), None)] };
    let Response::LeaveGroup(left) = bench.ask(request) else { panic!() };
    assert_eq!(left.members, [E::None, E::UnknownMemberId]);
    bench.fail_over();
    let id = bench.new_member();
    let joining = bench.send(join(Some(id)));
    bench.pass(3_000);
    assert_eq!(bench.joined(joining).generation, 3, "1 with the member, 2 empty");
}

#[test]
fn members_of_a_complete_generation_survive_a_failover() {
    let mut bench = Bench::new();
    let (first, second) = two_members(&mut bench);
    bench.fail_over();
    assert_eq!(heartbeat(&mut bench, first, 2), E::None);
    bench.pass(9_000);
    assert_eq!(heartbeat(&mut bench, first, 2), E::None);
    bench.pass(2_000);
    assert_eq!(heartbeat(&mut bench, second, 2), E::UnknownMemberId, "sessions began at the load");
}

#[test]
fn a_rebalance_under_way_is_lost_with_its_coordinator() {
    let mut bench = Bench::new();
    let first = bench.one_classic_member();
    let second = bench.new_member();
    let joining = bench.send(join(Some(second)));
    bench.resign();
    assert_eq!(bench.joined(joining).error, E::NotCoordinator);
    bench.fail_over();
    assert_eq!(heartbeat(&mut bench, first, 1), E::None);
    let unknown = bench.send(join(Some(second)));
    assert_eq!(bench.joined(unknown).error, E::UnknownMemberId);
}

#[test]
fn an_assignment_that_cannot_be_written_begins_a_new_rebalance() {
    let mut bench = Bench::new();
    let id = bench.new_member();
    let joining = bench.send(join(Some(id)));
    bench.pass(3_000);
    assert_eq!(bench.joined(joining).generation, 1);
    bench.broken = Some(E::NotEnoughReplicas);
    let syncing = bench.send(sync(member(id, 1), &[(id, &[t(0)])]));
    assert_eq!(bench.synced(syncing).error, E::CoordinatorNotAvailable);
    bench.broken = None;
    assert_eq!(heartbeat(&mut bench, id, 1), E::RebalanceInProgress);
    let again = bench.send(join(Some(id)));
    assert_eq!(bench.joined(again).generation, 2);
}

#[test]
fn whoever_does_not_join_or_sync_in_time_is_put_out() {
    let mut bench = Bench::new();
    let first = bench.one_classic_member();
    let second = bench.new_member();
    let joining = bench.send(join(Some(second)));
    for _ in 0..10 {
        bench.pass(6_000);
        let beats = heartbeat(&mut bench, first, 1);
        assert!(matches!(beats, E::RebalanceInProgress | E::UnknownMemberId));
    }
    assert_eq!(bench.joined(joining).generation, 2);
    assert_eq!(heartbeat(&mut bench, first, 1), E::UnknownMemberId);
    for _ in 0..10 {
        bench.pass(6_000);
        heartbeat(&mut bench, second, 2);
    }
    assert_eq!(heartbeat(&mut bench, second, 2), E::UnknownMemberId, "never synced");
}

#[test]
fn sessions_and_protocols_must_fit() {
    let mut bench = Bench::new();
    let short = eosim_types::message::JoinGroupRequest {
        session_timeout: eosim_types::Duration::from_millis(5_999),
        ..join(None)
    };
    let refused = bench.send(short);
    assert_eq!(bench.joined(refused).error, E::InvalidSessionTimeout);
    bench.one_classic_member();
    let other = eosim_types::message::JoinGroupRequest {
        protocols: vec![eosim_types::assignor::Assignor::Uniform],
        ..join(None)
    };
    let refused = bench.send(other);
    assert_eq!(bench.joined(refused).error, E::InconsistentGroupProtocol);
}
