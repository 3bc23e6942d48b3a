//! KIP-848 groups: epochs, reconciliation, fencing, failover.

use eosim_types::DefectSet;
use eosim_types::ErrorCode as E;
use eosim_types::message::ConsumerGroupHeartbeatRequest as Beat;
use eosim_types::message::{GroupMember, OffsetFetchRequest, Response};

use super::bench::{Bench, beat, fetch, join, member, plain, t};

fn owns(partitions: &[i32]) -> Option<alloc::vec::Vec<eosim_types::TopicPartition>> {
    Some(partitions.iter().map(|&partition| t(partition)).collect())
}

#[test]
fn a_partition_moves_only_after_it_was_given_up() {
    let mut bench = Bench::new();
    assert_eq!(bench.beats(beat(1, 0, &[])), Ok((1, owns(&[0, 1]))));
    assert_eq!(bench.beats(beat(2, 0, &[])), Ok((2, owns(&[]))), "t-1 is not free yet");
    assert_eq!(bench.beats(beat(1, 1, &[t(0), t(1)])), Ok((1, owns(&[0]))));
    assert_eq!(bench.beats(beat(2, 2, &[])), Ok((2, None)));
    assert_eq!(bench.beats(beat(1, 1, &[t(0), t(1)])), Ok((1, None)), "still owns it");
    assert_eq!(bench.beats(beat(1, 1, &[t(0)])), Ok((2, None)));
    assert_eq!(bench.beats(beat(2, 2, &[])), Ok((2, owns(&[1]))));
}

#[test]
fn who_reads_committed_offsets_as_a_member_is_checked_g_int_2() {
    let mut bench = Bench::new();
    bench.beats(beat(1, 0, &[])).unwrap();
    for (who, expected) in [
        (GroupMember::NONE, E::None),
        (member(1, 1), E::None),
        (member(1, 0), E::StaleMemberEpoch),
        (member(1, 2), E::StaleMemberEpoch),
        (member(2, 1), E::UnknownMemberId),
    ] {
        for require_stable in [false, true] {
            let asked = OffsetFetchRequest { member: who, ..fetch(&[t(0)], require_stable) };
            let Response::OffsetFetch(response) = bench.ask(asked) else { panic!() };
            assert_eq!(response.error, expected, "{who:?}");
        }
    }
}

#[test]
fn a_lost_answer_may_be_asked_for_again() {
    let mut bench = Bench::new();
    assert_eq!(bench.beats(beat(1, 0, &[])), Ok((1, owns(&[0, 1]))));
    assert_eq!(bench.beats(beat(1, 0, &[])), Ok((1, owns(&[0, 1]))));
    assert_eq!(bench.beats(beat(1, 2, &[])), Err(E::FencedMemberEpoch));
    assert_eq!(bench.beats(beat(2, 1, &[])), Err(E::UnknownMemberId));
    bench.beats(beat(2, 0, &[])).unwrap();
    assert_eq!(bench.beats(beat(1, 1, &[t(0)])), Ok((2, owns(&[0]))), "gives up in one step");
    assert_eq!(bench.beats(beat(1, 1, &[t(0)])), Ok((2, None)), "previous epoch, owns no more");
    assert_eq!(bench.beats(beat(1, 1, &[t(0), t(1)])), Err(E::FencedMemberEpoch));
}

/// A heartbeat that its member gave up is handled after the one that the member sent instead, and
/// takes the new assignment with it (`upstream.group.assignment_told_once`).
#[test]
fn an_assignment_that_went_with_a_late_heartbeat_is_told_again() {
    for (defects, told) in [(DefectSet::as_released(), None), (DefectSet::NONE, owns(&[1]))] {
        let mut bench = Bench::new();
        bench.defects = defects;
        bench.beats(beat(1, 0, &[])).unwrap();
        bench.beats(beat(2, 0, &[])).unwrap();
        bench.beats(beat(1, 1, &[t(0)])).unwrap();
        let late = bench.beats(beat(2, 2, &[]));
        assert_eq!(late, Ok((2, owns(&[1]))), "nobody hears this");
        assert_eq!(bench.beats(beat(2, 2, &[])), Ok((2, told)));
    }
}

#[test]
fn silence_and_slow_revocation_are_fenced() {
    let mut bench = Bench::new();
    bench.beats(beat(1, 0, &[])).unwrap();
    bench.beats(beat(2, 0, &[])).unwrap();
    bench.pass(30_000);
    assert_eq!(bench.beats(beat(1, 1, &[t(0), t(1)])), Ok((1, owns(&[0]))));
    bench.pass(30_000);
    assert_eq!(bench.beats(beat(2, 2, &[])), Err(E::UnknownMemberId), "silent for 45 s");
    assert_eq!(bench.beats(beat(1, 1, &[t(0), t(1)])), Ok((1, None)));
    bench.pass(31_000);
    assert_eq!(bench.beats(beat(1, 1, &[t(0), t(1)])), Err(E::UnknownMemberId), "60 s to give up");
}

#[test]
fn members_survive_a_failover() {
    let mut bench = Bench::new();
    bench.beats(beat(1, 0, &[])).unwrap();
    bench.beats(beat(2, 0, &[])).unwrap();
    bench.fail_over();
    assert_eq!(bench.beats(beat(1, 1, &[t(0)])), Ok((2, owns(&[0]))));
    bench.fail_over();
    assert_eq!(bench.beats(beat(2, 2, &[])), Ok((2, owns(&[1]))));
    bench.pass(46_000);
    assert_eq!(bench.beats(beat(1, 2, &[t(0)])), Err(E::UnknownMemberId));
}

#[test]
fn a_static_member_keeps_its_place_for_a_session() {
    let instance = Some(7);
    let mut bench = Bench::new();
    let with = |request: Beat| Beat { instance, ..request };
    assert_eq!(bench.beats(with(beat(1, 0, &[]))), Ok((1, owns(&[0, 1]))));
    assert_eq!(bench.beats(with(beat(2, 0, &[]))), Err(E::UnreleasedInstanceId));
    assert_eq!(bench.beats(with(beat(1, -2, &[]))), Ok((-2, None)));
    assert_eq!(bench.beats(with(beat(2, 0, &[]))), Ok((1, owns(&[0, 1]))), "no new group epoch");
    assert_eq!(bench.beats(with(beat(1, 1, &[]))), Err(E::FencedInstanceId));
    assert_eq!(bench.beats(with(beat(1, -1, &[]))), Err(E::FencedInstanceId));
}

#[test]
fn partitions_that_are_added_are_shared_out() {
    let mut bench = Bench::new();
    bench.beats(beat(1, 0, &[])).unwrap();
    let same = bench.metadata.partitions[&t(0)].clone();
    bench.metadata.partitions.insert(t(2), same);
    assert_eq!(bench.beats(beat(1, 1, &[t(0), t(1)])), Ok((2, owns(&[0, 1, 2]))));
}

#[test]
fn a_group_keeps_to_its_protocol_while_it_has_members() {
    let mut bench = Bench::new();
    bench.commit(plain(&[(t(0), 1)]));
    assert_eq!(bench.beats(beat(1, 1, &[])), Err(E::GroupIdNotFound));
    assert_eq!(bench.beats(beat(1, 0, &[])), Ok((1, owns(&[0, 1]))), "a simple group makes room");
    let refused = bench.send(join(None));
    assert_eq!(bench.joined(refused).error, E::InconsistentGroupProtocol);
    bench.beats(beat(1, -1, &[])).unwrap();
    bench.one_classic_member();
    assert_eq!(bench.beats(beat(1, 0, &[])), Err(E::GroupIdNotFound));
    assert_eq!(bench.fetch(&[t(0)], true), [Ok(1)], "offsets stay");
}

#[test]
fn joins_must_say_everything() {
    let mut bench = Bench::new();
    let silent = Beat { rebalance_timeout: None, ..beat(1, 0, &[]) };
    assert_eq!(bench.beats(silent), Err(E::InvalidRequest));
    assert_eq!(bench.beats(beat(1, 0, &[t(0)])), Err(E::InvalidRequest));
    assert_eq!(bench.beats(beat(1, -3, &[])), Err(E::InvalidRequest));
    assert_eq!(bench.beats(beat(1, -2, &[])), Err(E::InvalidRequest));
}
