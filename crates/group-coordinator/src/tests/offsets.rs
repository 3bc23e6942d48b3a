//! Committed and pending offsets: W-77 to W-79, W-82 and the rules G-MARK and G-INT-1 to 3, 8.

use eosim_types::ErrorCode as E;
use eosim_types::TopicPartition;
use eosim_types::message::{OffsetFetchRequest, Response};
use eosim_types::record::TransactionResult::{Abort, Commit as Committed};

use super::bench::{Bench, GROUP, U, fetch, plain, t, transactional};

const UNSTABLE: Result<i64, E> = Err(E::UnstableOffsetCommit);

#[test]
fn w_77_commit_stores_abort_drops_g_mark_3() {
    let mut bench = Bench::new();
    bench.commit(plain(&[(t(0), 99)]));
    bench.commit(transactional(5, &[(t(0), 100)]));
    bench.commit(transactional(6, &[(t(1), 200)]));
    for (producer, result) in [(1, Committed), (5, Committed), (6, Abort)] {
        bench.marker(producer, 0, result);
    }
    assert_eq!(bench.fetch(&[t(0), t(1)], true), [Ok(100), Ok(-1)]);
}

#[test]
fn w_78_the_later_record_wins_also_after_a_reload_g_mark_3_g_int_1() {
    let mut bench = Bench::new();
    bench.commit(transactional(5, &[(t(0), 100)]));
    assert_eq!(bench.commit(plain(&[(t(0), 101)])), E::None, "pending offsets block nobody");
    bench.marker(5, 0, Committed);
    assert_eq!(bench.fetch(&[t(0)], true), [Ok(101)]);
    bench.fail_over();
    assert_eq!(bench.fetch(&[t(0)], true), [Ok(101)]);
}

#[test]
fn w_79_stable_and_other_reads_g_int_2() {
    let (foo0, foo1) = (t(0), t(1));
    let bar = |partition| TopicPartition::new(U, partition);
    let all = [foo0, foo1, bar(0), bar(1)];
    let mut bench = Bench::new();
    let same = bench.metadata.partitions[&foo0].clone();
    bench.metadata.partitions.insert(bar(1), same);
    bench.commit(plain(&[(foo0, 100), (foo1, 110), (bar(0), 200)]));
    bench.commit(transactional(10, &[(foo1, 111), (bar(0), 201), (bar(1), 211)]));
    assert_eq!(bench.fetch(&all, true), [Ok(100), UNSTABLE, UNSTABLE, UNSTABLE]);
    assert_eq!(bench.fetch(&all, false), [Ok(100), Ok(110), Ok(200), Ok(-1)]);
    bench.marker(10, 0, Committed);
    assert_eq!(bench.fetch(&all, true), [Ok(100), Ok(111), Ok(201), Ok(211)]);
}

#[test]
fn fetch_all_lists_committed_offsets_only_g_int_2() {
    let mut bench = Bench::new();
    let all = OffsetFetchRequest { partitions: None, ..fetch(&[], false) };
    let Response::OffsetFetch(response) = bench.ask(all.clone()) else { panic!() };
    assert_eq!((response.error, response.partitions.len()), (E::None, 0), "no such group");
    bench.commit(plain(&[(t(1), 1)]));
    bench.commit(transactional(5, &[(t(0), 2)]));
    let Response::OffsetFetch(response) = bench.ask(all) else { panic!() };
    let listed: alloc::vec::Vec<_> =
        response.partitions.iter().map(|(tp, r)| (*tp, r.offset)).collect();
    assert_eq!(listed, [(t(1), 1)]);
    assert_eq!(GROUP, bench.rebuilt().groups.keys().copied().next().unwrap());
}

#[test]
fn the_epoch_of_a_marker_is_not_compared_here_g_mark_4() {
    let mut bench = Bench::new();
    bench.commit(transactional(5, &[(t(0), 1)]));
    bench.marker(5, 3, Committed);
    assert_eq!(bench.fetch(&[t(0)], true), [Ok(1)]);
}

#[test]
fn a_marker_counts_from_its_append_and_is_seen_when_committed_g_mark_2() {
    let mut bench = Bench::new();
    bench.commit(transactional(5, &[(t(0), 1)]));
    bench.held = true;
    bench.marker(5, 0, Committed);
    let waiting = bench.send(fetch(&[t(0)], true));
    assert_eq!(bench.answer(waiting), None, "behind a marker that is not replicated");
    assert_eq!(bench.fetch(&[t(0)], false), [Ok(-1)]);
    bench.replicate();
    assert!(bench.answer(waiting).is_some());
    assert_eq!(bench.fetch(&[t(0)], true), [Ok(1)]);
}

#[test]
fn pending_offsets_survive_a_failover_g_mark_5() {
    for (result, after) in [(Committed, Ok(2)), (Abort, Ok(1))] {
        let mut bench = Bench::new();
        bench.commit(plain(&[(t(0), 1)]));
        bench.commit(transactional(5, &[(t(0), 2)]));
        bench.fail_over();
        assert_eq!(bench.fetch(&[t(0)], true), [UNSTABLE]);
        bench.marker(5, 0, result);
        bench.fail_over();
        assert_eq!(bench.fetch(&[t(0)], true), [after]);
    }
}

#[test]
fn a_deposed_coordinator_reads_from_memory_g_int_8() {
    let mut bench = Bench::new();
    bench.commit(plain(&[(t(0), 1)]));
    bench.commit(transactional(4, &[(t(1), 1)]));
    bench.held = true;
    assert_eq!(bench.fetch(&[t(0)], false), [Ok(1)]);
    assert_eq!(bench.fetch(&[t(1)], true), [UNSTABLE], "nothing waits");
    let commit = bench.send(transactional(5, &[(t(0), 2)]).request());
    let stable = bench.send(fetch(&[t(0)], true));
    assert_eq!((bench.answer(commit), bench.answer(stable)), (None, None));
    bench.resign();
    let Some(Response::TxnOffsetCommit(refused)) = bench.answer(commit) else { panic!() };
    assert_eq!(refused.partitions, [(t(0), E::NotCoordinator)]);
    let Some(Response::OffsetFetch(refused)) = bench.answer(stable) else { panic!() };
    assert_eq!(refused.error, E::NotCoordinator);
    let Response::OffsetFetch(refused) = bench.ask(fetch(&[t(0)], false)) else { panic!() };
    assert_eq!(refused.error, E::NotCoordinator);
}

#[test]
fn a_commit_that_is_not_replicated_in_time_is_pending_all_the_same_l_toc_3_g_off_6() {
    let mut bench = Bench::new();
    bench.held = true;
    let commit = bench.send(transactional(5, &[(t(0), 2)]).request());
    bench.pass(5_000);
    let Some(Response::TxnOffsetCommit(late)) = bench.answer(commit) else { panic!() };
    assert_eq!(late.partitions, [(t(0), E::CoordinatorNotAvailable)]);
    bench.replicate();
    bench.held = false;
    bench.marker(5, 0, Committed);
    assert_eq!(bench.fetch(&[t(0)], true), [Ok(2)]);
}
