//! Consume–transform–produce from end to end: what sound applications leave, and every way in which
//! an effect can be lost, doubled or out of order, however it came about.

use eosim_types::{Topic, TopicPartition, TransactionalId, Value};

use crate::Transform;
use crate::testing::{ABORT, GROUP, History, ID, OFFSETS, P0, P1, Producer};

const OUTPUT: Topic = Topic(3);
const OUT0: TopicPartition = TopicPartition::new(OUTPUT, 0);
const OUT1: TopicPartition = TopicPartition::new(OUTPUT, 1);

/// An input of three records in each partition, and two members.
struct Story {
    history: History,
    members: [Producer; 2],
}

impl Story {
    fn new() -> Self {
        let mut history = History::new();
        history.setup.names.add_topic("u");
        history.setup.names.add_transactional_id("other");
        let transform = Transform { group: GROUP, input: P0.topic, output: OUTPUT };
        history.setup.transforms.push(transform);
        let mut source = history.producer(4, None);
        for _ in 0..3 {
            history.write(&mut source, P0);
            history.write(&mut source, P1);
        }
        let members =
            [history.producer(5, Some(ID)), history.producer(6, Some(TransactionalId(2)))];
        Self { history, members }
    }

    fn begin(&mut self, member: usize) {
        self.history.begin(&mut self.members[member]);
    }

    /// A result of one input record.
    fn result(&mut self, member: usize, input: TopicPartition, offset: i64) {
        let (history, member) = (&mut self.history, &mut self.members[member]);
        let number = history.observations.len() as u64;
        let value = Value::numbered(40, number);
        let output = TopicPartition::new(OUTPUT, input.partition);
        history.send_value(member, output, value, Some((input, offset)));
        let at = history.append(member, output, &[value]);
        history.acknowledge(member, output, value, at);
    }

    fn offset(&mut self, member: usize, input: TopicPartition, offset: i64) {
        self.history.append_offset(&mut self.members[member], input, offset);
    }

    fn end(&mut self, member: usize, outputs: &[TopicPartition], commit: bool) {
        let partitions: Vec<_> = [OFFSETS].iter().chain(outputs).copied().collect();
        self.history.end(&mut self.members[member], &partitions, commit);
    }

    /// One transaction over the input `offsets` of `P0`.
    fn transform(&mut self, member: usize, offsets: core::ops::Range<i64>, commit: bool) {
        self.begin(member);
        for offset in offsets.clone() {
            self.result(member, P0, offset);
        }
        self.offset(member, P0, offsets.end);
        self.end(member, &[OUT0], commit);
    }

    #[track_caller]
    fn is_sound(&self) {
        self.history.is_sound();
    }

    /// Exactly these invariants are reported.
    #[track_caller]
    fn breaks(&self, expected: &[&str]) {
        let found = self.history.anomalies();
        let mut names: Vec<_> = found.iter().map(|found| found.invariant).collect();
        names.dedup();
        assert_eq!(names, expected, "{found:#?}");
    }
}

#[test]
fn an_owner_after_the_other_is_sound() {
    let mut story = Story::new();
    story.is_sound();
    story.transform(0, 0..2, true);
    story.transform(1, 2..3, true);
    story.is_sound();
}

#[test]
fn what_nobody_has_come_to_is_not_lost() {
    let mut story = Story::new();
    story.transform(0, 0..1, true);
    story.is_sound();
}

#[test]
fn attempts_that_were_aborted_do_not_count() {
    let mut story = Story::new();
    story.transform(0, 0..3, false);
    story.transform(1, 0..1, true);
    story.transform(1, 1..2, false);
    story.transform(0, 1..3, true);
    story.is_sound();
}

/// One transaction with these results, which takes two records of one partition and one of another.
fn of_two_partitions(results: &[(TopicPartition, i64)]) -> Story {
    let mut story = Story::new();
    story.begin(0);
    for &(input, offset) in results {
        story.result(0, input, offset);
    }
    story.offset(0, P0, 2);
    story.offset(0, P1, 1);
    story.end(0, &[OUT0, OUT1], true);
    story
}

#[test]
fn several_results_and_partitions_in_one_transaction_are_sound() {
    of_two_partitions(&[(P0, 0), (P0, 0), (P1, 0), (P0, 1)]).is_sound();
}

#[test]
fn input_that_was_aborted_has_no_effect_to_lose() {
    let mut story = Story::new();
    let mut source = story.history.producer(7, Some(TransactionalId(3)));
    story.history.begin(&mut source);
    story.history.write(&mut source, P0);
    story.history.abort(&mut source, &[P0]);
    story.transform(0, 0..3, true);
    story.begin(0);
    story.offset(0, P0, 5);
    story.end(0, &[], true);
    story.is_sound();
}

#[test]
fn an_input_passed_without_a_result_is_lost_k_ctp_5() {
    let mut story = Story::new();
    story.transform(0, 0..2, false);
    story.transform(0, 2..3, true);
    story.breaks(&["effect-lost"]);
    assert_eq!(story.history.anomalies().len(), 2, "offsets 0 and 1");
    story.history.setup.transforms.clear();
    story.is_sound();
}

#[test]
fn a_result_whose_marker_aborts_it_is_lost() {
    let mut story = Story::new();
    story.begin(0);
    story.result(0, P0, 0);
    story.offset(0, P0, 1);
    let mut torn = story.members[0].clone();
    story.history.bump(&mut torn);
    story.history.marker(torn.id, torn.epoch, OFFSETS, crate::testing::COMMIT);
    story.history.marker(torn.id, torn.epoch, OUT0, ABORT);
    let found = story.history.anomalies();
    assert!(found.iter().any(|found| found.invariant == "effect-lost"), "{found:#?}");
}

#[test]
fn offsets_committed_alone_lose_what_is_aborted() {
    let mut story = Story::new();
    let mut alone = story.history.producer(8, None);
    story.history.append_offset(&mut alone, P0, 1);
    story.begin(0);
    story.result(0, P0, 0);
    story.history.abort(&mut story.members[0], &[OUT0]);
    story.breaks(&["effect-lost"]);
}

#[test]
fn two_owners_of_one_input_have_two_effects_k_ctp_2() {
    let mut story = Story::new();
    story.transform(0, 0..2, true);
    story.transform(1, 1..3, true);
    story.breaks(&["processed-twice"]);
}

#[test]
fn an_old_owner_that_commits_late_is_out_of_order_and_takes_the_offset_back() {
    let mut story = Story::new();
    story.transform(1, 0..3, true);
    story.transform(0, 0..1, true);
    story.breaks(&["processed-twice", "effect-reordered", "offset-regressed"]);
}

#[test]
fn results_that_overtake_each_other_are_out_of_order() {
    let mut story = Story::new();
    story.transform(0, 1..2, true);
    story.begin(1);
    story.result(1, P0, 0);
    story.offset(1, P0, 2);
    story.end(1, &[OUT0], true);
    story.breaks(&["effect-reordered"]);
}

#[test]
fn partitions_have_no_order_among_each_other() {
    of_two_partitions(&[(P0, 0), (P0, 1), (P1, 0)]).is_sound();
}

#[test]
fn an_offset_that_was_aborted_takes_nothing_back() {
    let mut story = Story::new();
    story.transform(0, 0..3, true);
    story.begin(1);
    story.offset(1, P0, 1);
    story.end(1, &[], false);
    story.is_sound();
}

#[test]
fn nothing_is_judged_before_the_cluster_is_healed() {
    let mut story = Story::new();
    story.transform(0, 0..2, false);
    story.transform(0, 2..3, true);
    let mut dump = story.history.dump();
    dump.healed = false;
    assert_eq!(story.history.anomalies_in(&dump), []);
}

#[test]
fn a_visible_result_of_an_aborted_record_is_reported_and_an_aborted_one_is_not() {
    for (commit, expected) in [(true, &["aborted-processed"][..]), (false, &[])] {
        let mut story = Story::new();
        let mut feed = story.history.producer(7, Some(TransactionalId(3)));
        story.history.begin(&mut feed);
        story.history.write(&mut feed, P0);
        story.transform(0, 0..4, commit);
        story.history.abort(&mut feed, &[P0]);
        story.breaks(expected);
    }
}
