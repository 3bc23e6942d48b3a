//! Record sequences of `__transaction_state` (coordinator 9), and those of two recorded runs.

use eosim_transaction_coordinator::CoordinatorTimer::AbortTimedOutTransactions;
use eosim_types::record::TransactionState::*;
use eosim_types::version::KafkaVersion;
use eosim_types::version::TransactionVersion::*;
use expect_test::{Expect, expect};

use crate::harness::*;

fn check(world: &mut World, expect: &Expect) {
    let mut lines = world.new_records();
    lines.push(String::new());
    expect.assert_eq(&lines.join("\n"));
}

#[test]
fn version_1_commit_and_abort_c_seq_2_c_seq_3() {
    let mut world = World::new();
    world.init(None);
    world.add(0, 11, 0, &[TOPIC1_0]);
    world.add(0, 11, 0, &[TOPIC1_0]);
    world.add(0, 11, 0, &[TOPIC1_1]);
    world.end(0, COMMIT, 11, 0);
    world.add(0, 11, 0, &[TOPIC1_0]);
    world.end(0, ABORT, 11, 0);
    check(
        &mut world,
        &expect![[r#"
            Empty(11,0,-1) null ctv 0
            Ongoing(11,0,-1) [topic1-0] ctv 0
            Ongoing(11,0,-1) [topic1-0 topic1-1] ctv 0
            PrepareCommit(11,0,-1) [topic1-0 topic1-1] ctv 0
            CompleteCommit(11,0,-1) [] ctv 0
            Ongoing(11,0,-1) [topic1-0] ctv 0
            PrepareAbort(11,0,-1) [topic1-0] ctv 0
            CompleteAbort(11,0,-1) [] ctv 0
        "#]],
    );
}

#[test]
fn version_2_commit_and_abort_c_seq_4_c_seq_5() {
    let mut world = World::new();
    world.init(None);
    world.add(2, 11, 0, &[TOPIC1_0]);
    world.end(2, COMMIT, 11, 0);
    world.add(2, 11, 1, &[TOPIC1_0]);
    world.end(2, ABORT, 11, 1);
    world.add(2, 11, 2, &[TOPIC1_0]);
    check(
        &mut world,
        &expect![[r#"
            Empty(11,0,-1) null ctv 0
            Ongoing(11,0,-1) [topic1-0] ctv 2
            PrepareCommit(11,1,0) [topic1-0] ctv 2
            CompleteCommit(11,1,0) [] ctv 2
            Ongoing(11,1,0) [topic1-0] ctv 2
            PrepareAbort(11,2,1) [topic1-0] ctv 2
            CompleteAbort(11,2,1) [] ctv 2
            Ongoing(11,2,1) [topic1-0] ctv 2
        "#]],
    );
}

#[test]
fn fencing_by_init_producer_id_c_seq_6_c_seq_7() {
    let mut world = World::with_server(given(Ongoing, 10, 0), Tv1);
    world.init(None);
    world.init(None);
    check(
        &mut world,
        &expect![[r#"
            PrepareAbort(10,1,-1) [topic1-0] ctv 0
            CompleteAbort(10,1,-1) [] ctv 0
            Empty(10,2,-1) null ctv 0
        "#]],
    );
    let mut world = World::with(given(Ongoing, 10, 0));
    world.init(None);
    world.init(None);
    check(
        &mut world,
        &expect![[r#"
            PrepareAbort(10,1,0) [topic1-0] ctv 2
            CompleteAbort(10,1,0) [] ctv 2
            Empty(10,2,-1) null ctv 2
        "#]],
    );
}

#[test]
fn a_timeout_c_seq_8() {
    let mut world = World::with(given(Ongoing, 10, 0).timeout(1));
    world.fire(AbortTimedOutTransactions);
    check(
        &mut world,
        &expect![[r#"
            PrepareAbort(10,1,0) [topic1-0] ctv 2
            CompleteAbort(10,1,0) [] ctv 2
        "#]],
    );
}

#[test]
fn resuming_when_idle_and_rotating_c_seq_9_c_seq_10() {
    let mut world = World::with(given(Empty, 10, 4));
    world.init(Some((10, 4)));
    world.init(Some((10, 4)));
    world.init(None);
    check(
        &mut world,
        &expect![[r#"
            Empty(10,5,4) null ctv 2
            Empty(10,5,4) null ctv 2
            Empty(10,6,-1) null ctv 2
        "#]],
    );
    for expected in [None, Some((10, 32766))] {
        let mut world = World::with(given(Empty, 10, 32766));
        world.init(expected);
        let last = if expected.is_some() { 32766 } else { -1 };
        assert_eq!(world.new_records(), [format!("Empty(11,0,{last}) null prev 10 ctv 2")]);
    }
}

#[test]
fn the_last_epochs_c_seq_12_c_seq_13() {
    let mut world = World::with(given(Ongoing, 10, 32765));
    assert_eq!(world.end(2, COMMIT, 10, 32765), "NONE (10,32766)");
    world.add(2, 10, 32766, &[TOPIC1_0]);
    assert_eq!(world.end(2, ABORT, 10, 32766), "NONE (11,0)");
    world.add(2, 11, 0, &[TOPIC1_0]);
    check(
        &mut world,
        &expect![[r#"
            PrepareCommit(10,32766,32765) [topic1-0] ctv 2
            CompleteCommit(10,32766,32765) [] ctv 2
            Ongoing(10,32766,32765) [topic1-0] ctv 2
            PrepareAbort(10,32767,32766) [topic1-0] next 11 ctv 2
            CompleteAbort(11,0,32766) [] prev 10 ctv 2
            Ongoing(11,0,32766) [topic1-0] ctv 2
        "#]],
    );
    assert_eq!(
        world.marker_log,
        [
            "b1 COMMIT(10,32766) coordinator epoch 1 tv2 topic1-0",
            "b1 ABORT(10,32767) coordinator epoch 1 tv2 topic1-0",
        ]
    );
}

#[test]
fn empty_transactions_c_rec_3_c_seq_15_c_seq_16_c_seq_17() {
    let mut world = World::with(given(Empty, 10, 0));
    world.end(2, ABORT, 10, 0);
    world.end(2, COMMIT, 10, 1);
    check(
        &mut world,
        &expect![[r#"
            PrepareAbort(10,1,0) [] ctv 2
            CompleteAbort(10,1,0) [] ctv 2
            PrepareCommit(10,2,1) [] ctv 2
            CompleteCommit(10,2,1) [] ctv 2
        "#]],
    );
    assert_eq!(world.marker_log, [""; 0]);
    let mut world = World::with(given(Empty, 10, 0));
    world.kafka = KafkaVersion::V4_4;
    assert_eq!(world.end(2, COMMIT, 10, 0), "INVALID_TXN_STATE");
    assert_eq!(world.end(0, ABORT, 10, 0), "INVALID_TXN_STATE");
    check(&mut world, &expect![""]);
    for (state, commits) in [(CompleteCommit, COMMIT), (CompleteAbort, ABORT)] {
        let mut world = World::with(given(state, 10, 0).tv(0));
        assert_eq!(world.end(0, commits, 10, 0), "NONE");
        assert_eq!(world.end(0, !commits, 10, 0), "INVALID_TXN_STATE");
        check(&mut world, &expect![""]);
    }
}

/// Example 1: commit, abort, commit.
#[test]
fn example_1_c_seq_4_c_seq_5_c_app_1_c_rec_1() {
    let mut world = World::new();
    assert_eq!(world.init(None), "NONE (11,0)");
    for (epoch, committed) in [(0, COMMIT), (1, ABORT), (2, COMMIT)] {
        assert_eq!(world.add(2, 11, epoch, &[TOPIC1_0]), "NONE");
        assert_eq!(world.end(2, committed, 11, epoch), format!("NONE (11,{})", epoch + 1));
    }
    check(
        &mut world,
        &expect![[r#"
            Empty(11,0,-1) null ctv 0
            Ongoing(11,0,-1) [topic1-0] ctv 2
            PrepareCommit(11,1,0) [topic1-0] ctv 2
            CompleteCommit(11,1,0) [] ctv 2
            Ongoing(11,1,0) [topic1-0] ctv 2
            PrepareAbort(11,2,1) [topic1-0] ctv 2
            CompleteAbort(11,2,1) [] ctv 2
            Ongoing(11,2,1) [topic1-0] ctv 2
            PrepareCommit(11,3,2) [topic1-0] ctv 2
            CompleteCommit(11,3,2) [] ctv 2
        "#]],
    );
    assert_eq!(
        world.marker_log,
        [
            "b1 COMMIT(11,1) coordinator epoch 0 tv2 topic1-0",
            "b1 ABORT(11,2) coordinator epoch 0 tv2 topic1-0",
            "b1 COMMIT(11,3) coordinator epoch 0 tv2 topic1-0",
        ]
    );
}

/// Example 3: two producers, one transactional id.
#[test]
fn example_3_c_seq_7() {
    let mut world = World::new();
    world.init(None);
    world.add(2, 11, 0, &[TOPIC1_0]);
    assert_eq!(world.init(None), "CONCURRENT_TRANSACTIONS (-1,-1)");
    assert_eq!(world.init(None), "NONE (11,2)");
    assert_eq!(world.end(2, COMMIT, 11, 0), "PRODUCER_FENCED");
    world.add(2, 11, 2, &[TOPIC1_0]);
    assert_eq!(world.end(2, COMMIT, 11, 2), "NONE (11,3)");
    check(
        &mut world,
        &expect![[r#"
            Empty(11,0,-1) null ctv 0
            Ongoing(11,0,-1) [topic1-0] ctv 2
            PrepareAbort(11,1,0) [topic1-0] ctv 2
            CompleteAbort(11,1,0) [] ctv 2
            Empty(11,2,-1) null ctv 2
            Ongoing(11,2,-1) [topic1-0] ctv 2
            PrepareCommit(11,3,2) [topic1-0] ctv 2
            CompleteCommit(11,3,2) [] ctv 2
        "#]],
    );
}

/// What 4.4 writes: no last epoch.
#[test]
fn version_4_4_does_not_persist_the_last_epoch_c_rec_2() {
    let mut world = World::new();
    world.kafka = KafkaVersion::V4_4;
    world.init(None);
    world.add(2, 11, 0, &[TOPIC1_0]);
    world.end(2, COMMIT, 11, 0);
    assert_eq!(world.new_records()[2], "PrepareCommit(11,1,-1) [topic1-0] ctv 2");
    assert_eq!(world.end(2, COMMIT, 11, 0), "NONE (11,1)", "memory has it");
}
