//! Consume–transform–produce with a rebalance in every stage (K-CTP, K-COM-2).
//!
//! The old owner of `t-0` commits offset 10 in a transaction of producer 5; a second member takes
//! the partition over before, between, or after the steps of that commit.

use eosim_types::ErrorCode as E;
use eosim_types::message::GroupMember;
use eosim_types::record::TransactionResult::{Abort, Commit as Committed};

use super::bench::{Bench, Commit, beat, join, member, sync, t};

const UNSTABLE: Result<i64, E> = Err(E::UnstableOffsetCommit);

/// Which protocol the group speaks.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Protocol {
    Classic,
    Consumer,
}

struct Story {
    bench: Bench,
    protocol: Protocol,
    old_owner: u32,
    generation: i32,
}

impl Story {
    fn new(protocol: Protocol) -> Self {
        let mut bench = Bench::new();
        let old_owner = match protocol {
            Protocol::Classic => bench.one_classic_member(),
            Protocol::Consumer => {
                bench.beats(beat(1, 0, &[])).unwrap();
                1
            }
        };
        Self { bench, protocol, old_owner, generation: 1 }
    }

    fn commit(&mut self) -> E {
        self.commit_as(member(self.old_owner, self.generation))
    }

    fn commit_as(&mut self, member: GroupMember) -> E {
        let offsets = [(t(0), 10)];
        self.bench.commit(Commit { producer: Some(5), version: 5, member, offsets: &offsets })
    }

    /// The old owner falls silent, the second member gets both partitions.
    fn rebalance(&mut self) {
        match self.protocol {
            Protocol::Classic => {
                let second = self.bench.new_member();
                let joining = self.bench.send(join(Some(second)));
                for _ in 0..2 {
                    self.bench.pass(8_000);
                }
                assert_eq!(self.bench.joined(joining).generation, 2);
                let syncing = self.bench.send(sync(member(second, 2), &[(second, &[t(0), t(1)])]));
                assert_eq!(self.bench.synced(syncing).error, E::None);
            }
            Protocol::Consumer => {
                self.bench.pass(46_000);
                let joined = self.bench.beats(beat(2, 0, &[])).unwrap();
                assert_eq!(joined.1, Some([t(0), t(1)].to_vec()));
            }
        }
    }

    fn read(&mut self) -> Result<i64, E> {
        self.bench.fetch(&[t(0)], true)[0]
    }
}

fn in_both(story: impl Fn(Story)) {
    story(Story::new(Protocol::Classic));
    story(Story::new(Protocol::Consumer));
}

#[test]
fn before_the_commit_the_old_owner_is_refused_k_ctp_2() {
    in_both(|mut story| {
        story.rebalance();
        assert_eq!(story.commit(), E::UnknownMemberId, "{:?}", story.protocol);
        assert_eq!(story.read(), Ok(-1));
    });
}

#[test]
fn between_commit_and_marker_the_new_owner_waits_k_ctp_6_k_com_2() {
    for (result, read) in [(Committed, Ok(10)), (Abort, Ok(-1))] {
        in_both(|mut story| {
            assert_eq!(story.commit(), E::None);
            story.rebalance();
            assert_eq!(story.read(), UNSTABLE, "{:?}", story.protocol);
            story.bench.marker(5, 0, result);
            assert_eq!(story.read(), read, "{:?}", story.protocol);
        });
    }
}

#[test]
fn while_the_commit_waits_for_replicas() {
    in_both(|mut story| {
        story.bench.held = true;
        let offsets = [(t(0), 10)];
        let who = member(story.old_owner, 1);
        let commit = Commit { producer: Some(5), version: 5, member: who, offsets: &offsets };
        let waiting = story.bench.send(commit.request());
        assert_eq!(story.bench.answer(waiting), None);
        story.bench.held = false;
        story.rebalance();
        assert!(story.bench.answer(waiting).is_some());
        assert_eq!(story.read(), UNSTABLE, "{:?}", story.protocol);
        story.bench.marker(5, 0, Committed);
        assert_eq!(story.read(), Ok(10));
    });
}

#[test]
fn after_the_marker_the_new_owner_goes_on_behind() {
    in_both(|mut story| {
        assert_eq!(story.commit(), E::None);
        story.bench.marker(5, 0, Committed);
        story.rebalance();
        assert_eq!(story.read(), Ok(10), "{:?}", story.protocol);
    });
}

#[test]
fn the_coordinator_fails_over_in_the_midst_g_mark_5() {
    in_both(|mut story| {
        assert_eq!(story.commit(), E::None);
        story.bench.fail_over();
        assert_eq!(story.commit(), E::None, "{:?}: membership is in the log", story.protocol);
        story.rebalance();
        assert_eq!(story.commit(), E::UnknownMemberId);
        assert_eq!(story.read(), UNSTABLE);
        story.bench.fail_over();
        story.bench.marker(5, 0, Committed);
        assert_eq!(story.read(), Ok(10));
    });
}

#[test]
fn without_group_metadata_nobody_is_fenced_k_ctp_1() {
    in_both(|mut story| {
        story.rebalance();
        assert_eq!(story.commit_as(GroupMember::NONE), E::None, "{:?}", story.protocol);
    });
}

#[test]
fn phases_of_a_classic_rebalance_k_ctp_4() {
    let mut story = Story::new(Protocol::Classic);
    let second = story.bench.new_member();
    let joining = story.bench.send(join(Some(second)));
    assert_eq!(story.commit(), E::None, "PreparingRebalance: the old generation counts");
    story.bench.send(join(Some(story.old_owner)));
    assert_eq!(story.bench.joined(joining).generation, 2);
    assert_eq!(story.commit(), E::IllegalGeneration, "CompletingRebalance");
    story.generation = 2;
    assert_eq!(story.commit(), E::None, "K-CTP-3: the new generation passes");
    story.bench.send(sync(member(story.old_owner, 2), &[(second, &[t(0), t(1)])]));
    assert_eq!(story.commit(), E::None, "Stable: partitions are not compared");
}

#[test]
fn steps_of_a_reconciliation_g_off_3() {
    let mut story = Story::new(Protocol::Consumer);
    assert_eq!(story.bench.beats(beat(2, 0, &[])).unwrap().0, 2);
    assert_eq!(story.commit(), E::None, "epoch 1 is the member's, the group is at 2");
    story.bench.beats(beat(1, 1, &[t(0), t(1)])).unwrap();
    assert_eq!(story.commit(), E::None, "t-1 is being given up");
    story.bench.beats(beat(1, 1, &[t(0)])).unwrap();
    assert_eq!(story.commit(), E::None, "epoch 1 is old, but t-0 was assigned in it");
    story.generation = 2;
    assert_eq!(story.commit(), E::None);
}
