//! Runs without an end: what somebody deleted is not asked for, and what is long judged is forgotten
//! without a change of what is judged later.

use eosim_types::message::IsolationLevel::ReadCommitted;
use eosim_types::{Duration, Topic};

use crate::testing::{History, ID, P0};
use crate::{Checker, Transform};

#[test]
fn what_was_deleted_by_order_is_not_lost_and_what_is_gone_beyond_that_is_l_del_2() {
    for (ordered, found) in [(2, 0), (1, 1), (0, 1)] {
        let mut h = History::new();
        let mut p = h.producer(1, None);
        (0..3).for_each(|_| _ = h.write(&mut p, P0));
        let mut dump = h.dump();
        for replica in dump.replicas.iter_mut().filter(|replica| replica.partition == P0) {
            replica.log_start_offset = 2;
            replica.batches.retain(|batch| batch.base_offset >= 2);
        }
        h.setup.deleted_to.extend((ordered > 0).then_some((P0, ordered)));
        let lost = h.anomalies_in(&dump);
        let moved = lost.iter().filter(|one| one.skeleton == ["log start moved"]);
        assert_eq!(moved.count(), found, "{lost:?}");
    }
}

#[test]
fn facts_below_the_beginning_of_a_log_go_and_the_others_are_judged_as_before() {
    let mut h = History::new();
    let mut p = h.producer(1, Some(ID));
    for commit in [true, false, true] {
        h.begin(&mut p);
        h.write(&mut p, P0);
        h.end(&mut p, &[P0], commit);
    }
    h.read(7, P0, ReadCommitted);
    let mut checker = Checker::new(&h.setup);
    h.observations.iter().for_each(|one| checker.observe(one));
    let mut dump = h.dump();
    dump.at += Duration::from_millis(3_600_000);
    checker.settle(&dump, Duration::from_millis(1_000));
    assert_eq!(checker.size(), [3, 3, 0, 3], "all but the polls: the records are there");
    for replica in dump.replicas.iter_mut().filter(|replica| replica.partition == P0) {
        replica.log_start_offset = 4;
        replica.batches.retain(|batch| batch.base_offset >= 4);
    }
    checker.deleted(P0, 4);
    checker.settle(&dump, Duration::from_millis(1_000));
    assert_eq!(checker.size(), [1, 1, 0, 1]);
    assert_eq!(checker.anomalies(), []);
    // What is kept is still asked for.
    for replica in dump.replicas.iter_mut().filter(|replica| replica.partition == P0) {
        replica.batches.retain(eosim_types::record::RecordBatch::is_control);
    }
    checker.finish(&dump);
    let found: Vec<_> = checker.anomalies().iter().map(|one| one.invariant).collect();
    assert!(found.contains(&"acknowledged-lost") && found.contains(&"committed-lost"), "{found:?}");
}

#[test]
fn a_transformation_can_be_said_while_the_run_goes_on() {
    let h = History::new();
    let mut checker = Checker::new(&h.setup);
    let transform = Transform { group: crate::testing::GROUP, input: P0.topic, output: Topic(9) };
    checker.expect(transform);
    checker.expect(transform);
    assert_eq!(checker.expected(), [transform]);
}
