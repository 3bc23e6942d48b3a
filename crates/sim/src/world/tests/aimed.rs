//! Rules that are aimed: what they wait for, what they do, and what ends it.

use eosim_types::marks::Mark;
use eosim_types::{ErrorCode, Sequence};

use super::*;

/// A rule for small requests that leave.
fn when_small(which: Which, then: Action) -> AimedFault {
    AimedFault::new(on(Moment::Sent, Some("Small"), which), then)
}

fn own_key() -> HoldKey {
    Aimed::own_key(0)
}

fn played(rule: AimedFault) -> Kit {
    kit(Scripted::default(), rules(&[rule]), Server::default())
}

fn count(kit: &Kit) -> Count {
    kit.faults.aimed.rules[0].count
}

#[test]
fn a_late_request_arrives_when_the_next_of_its_kind_is_sent() {
    let until = on(Moment::Sent, Some("Small"), Which::Next);
    let mut kit = played(when_small(Which::Nth(1), Action::Late(None)).until(until));
    kit.ask(ALICE, LANE, 1);
    kit.settle_all();
    assert_eq!(kit.heard(), heard(&[(1, "!1")]), "the connection broke");
    kit.ask(ALICE, LANE, 100);
    kit.settle_all();
    assert_eq!(kit.seen(), [100]);
    kit.ask(ALICE, LANE, 2);
    kit.settle_all();
    assert_eq!(kit.seen().len(), 3);
    assert!(kit.seen().contains(&1));
    assert_eq!(count(&kit), ONCE);
}

#[test]
fn what_is_held_until_the_nth_of_the_run_counts_itself() {
    let until = on(Moment::Sent, Some("Small"), Which::Nth(2));
    let mut kit = played(when_small(Which::Nth(1), Action::Hold(own_key())).until(until));
    kit.ask(ALICE, LANE, 1);
    kit.settle_all();
    assert_eq!(kit.seen(), [0u32; 0]);
    kit.ask(BOB, LANE, 2);
    kit.settle_all();
    assert_eq!(kit.seen().len(), 2);
}

#[test]
fn an_end_that_is_past_comes_at_once() {
    let until = on(Moment::Sent, Some("Large"), Which::Nth(1));
    let mut kit = played(when_small(Which::Nth(1), Action::Hold(own_key())).until(until));
    kit.ask(ALICE, LANE, 100);
    kit.ask(BOB, LANE, 1);
    kit.settle_all();
    assert_eq!(kit.seen(), [100, 1]);
}

#[test]
fn a_stall_lasts_until_its_end_and_every_second_message_begins_one() {
    let then = Action::Pause { who: Whom::Receiver, lasts: None };
    let until = on(Moment::Sent, Some("Large"), Which::Next);
    let mut kit = played(when_small(Which::Every(2), then).until(until));
    for id in 1..=4 {
        kit.ask(ALICE, Lane(id), u32::from(id));
        kit.advance(MILLI);
        let stalled = id % 2 == 0;
        assert_eq!(kit.seen().contains(&u32::from(id)), !stalled, "{id}");
        kit.ask(BOB, LANE, 100);
        kit.settle_all();
        assert!(kit.seen().contains(&u32::from(id)), "{id}");
    }
    assert_eq!(count(&kit), Count { applied: 2, effective: 2 });
}

#[test]
fn a_time_sets_a_rule_off_and_another_ends_it() {
    let at = |millis: u64| {
        let cue = Cue::At(Instant(millis * 1_000));
        Trigger { cue, which: Which::Nth(1), after: None }
    };
    let then = Action::Pause { who: Whom::Actor(SERVER), lasts: None };
    let mut kit = played(AimedFault::new(at(10), then).until(at(30)));
    kit.advance(Duration(20_000));
    kit.ask(ALICE, LANE, 1);
    kit.advance(Duration(20_000));
    assert_eq!(kit.actors[0].seen, [(30, 1)]);
    assert_eq!(count(&kit), ONCE);
}

#[test]
fn only_what_comes_after_something_counts() {
    let after = Some(Box::new(on(Moment::Sent, Some("Large"), Which::Nth(1))));
    let when = Trigger { after, ..on(Moment::Answered, None, Which::Nth(1)) };
    let mut kit = played(AimedFault::new(when, Action::Drop));
    for (lane, id) in [(LANE, 1), (Lane(1), 100), (Lane(2), 2)] {
        kit.ask(ALICE, lane, id);
        kit.settle_all();
    }
    assert_eq!(kit.seen(), [1, 100, 2]);
    let heard: Vec<_> = kit.heard().into_iter().map(|(_, what)| what).collect();
    assert_eq!(heard, ["+1", "!100", "+2"]);
}

#[test]
fn an_answer_is_known_by_what_its_request_said() {
    let facts = Facts { base_sequence: Some(Sequence(2)), ..Facts::default() };
    let cue = |moment| MessageCue { moment, api: None, from: None, to: None, facts, error: None };
    let lost = |moment| {
        let cue = Cue::Message(cue(moment));
        let when = Trigger { cue, which: Which::Nth(1), after: None };
        let mut kit = played(AimedFault::new(when, Action::Drop));
        (1..=3).for_each(|id| kit.ask(ALICE, Lane(id), u32::from(id)));
        kit.settle_all();
        (kit.seen(), kit.heard().iter().filter(|(_, what)| what == "!2").count())
    };
    assert_eq!(lost(Moment::Answered), (vec![1, 2, 3], 1));
    assert_eq!(lost(Moment::Sent), (vec![1, 3], 1));
}

#[test]
fn a_refused_request_has_no_effect_and_a_refused_answer_has() {
    let refused = |moment| {
        let then = Action::Refuse(ErrorCode::NotCoordinator);
        let mut kit = played(AimedFault::new(on(moment, None, Which::Nth(1)), then));
        kit.ask(ALICE, LANE, 1);
        kit.ask(ALICE, LANE, 2);
        kit.settle_all();
        assert_eq!(count(&kit), ONCE);
        let answers = kit.take_mail().filter_map(|(_, event)| match event {
            Event::Response { message, .. } => Some(message),
            _ => None,
        });
        (answers.collect::<Vec<_>>(), kit.seen())
    };
    let answers = vec![Id(1_016), Id(2)];
    assert_eq!(refused(Moment::Sent), (answers.clone(), vec![2]));
    assert_eq!(refused(Moment::Answered), (answers, vec![1, 2]));
}

#[test]
fn a_state_that_is_entered_sets_a_rule_off_for_whoever_entered_it() {
    let state = Mark::state("entry/open").expect("a state");
    let cue = Cue::Reached(state, None);
    let when = Trigger { cue, which: Which::Nth(2), after: None };
    let then = Action::Pause { who: Whom::It, lasts: Some(Duration(5_000)) };
    let mut kit = played(AimedFault::new(when, then));
    for id in [200, 201, 1, 202] {
        kit.ask(ALICE, LANE, id);
        kit.advance(Duration(2_000));
    }
    kit.advance(Duration(9_000));
    assert_eq!(kit.actors[0].seen, [(1, 200), (3, 201), (8, 1), (8, 202)]);
    assert_eq!(count(&kit), ONCE);
}

#[test]
fn no_rule_acts_once_the_world_is_to_heal() {
    let mut faults = rules(&[when_small(Which::Every(1), Action::Drop)]);
    faults.aimed.end = Instant(5_000);
    let mut kit = kit(Scripted::default(), faults, Server::default());
    for id in [1, 2] {
        kit.ask(ALICE, LANE, id);
        kit.advance(Duration(5_000));
    }
    assert_eq!(kit.seen(), [2]);
    assert_eq!(count(&kit), ONCE);
}
