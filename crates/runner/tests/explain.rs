//! Explanations name what it takes to break a promise, of runs that fail at a planned moment and at
//! random.

mod library;

use eosim_runner::Verdict;
use eosim_runner::defects::{TAKES, explained};
use eosim_runner::explain::{Explain, Explanation, Inexplicable, Need, RUNS};
use eosim_runner::recording::record;
use eosim_runner::run::Describe;
use eosim_runner::variant::{Guide, Part, Variant};
use eosim_types::{Defect, DefectSet};
use library::scenario;

/// Words by which lines are chosen are those of debug forms here.
const DESCRIBE: Describe = Describe {
    message: |message, _| format!("{message:?}"),
    observed: |seen, _| format!("{seen:?}"),
};

fn explain(name: &str, seed: u64, defect: Defect) -> Explanation {
    let (recording, _) = record(&scenario(name), seed, DefectSet::NONE.with(defect), DESCRIBE);
    let explain = Explain { recording: &recording, runs: RUNS, describe: DESCRIBE };
    explain.run().unwrap_or_else(|why| panic!("{name}: {why:?}"))
}

fn needs(found: &Explanation, need: Need) -> Vec<String> {
    let parts = found.parts.iter().filter(|one| one.need == need);
    parts.map(|one| one.part.to_string()).collect()
}

#[test]
fn the_necessary_rule_the_step_of_the_operator_and_the_switch_are_told_from_others() {
    let rows = [
        ("late-end-txn", Defect::CoordinatorEndTxnNoTxnIdentity, vec!["aimed.0"]),
        ("prepared-commit-is-carried-out", Defect::CoordinatorLoadSkipsPrepared, vec!["aimed.0"]),
        ("empty-transactions", Defect::ClientSendsEndTxnWhenEmpty, vec![]),
    ];
    for (name, defect, faults) in rows {
        let found = explain(name, 0, defect);
        let expected: Vec<String> =
            faults.into_iter().chain([defect.name()]).map(String::from).collect();
        assert_eq!(needs(&found, Need::Needed), expected, "{name}");
        assert!(found.is_complete, "{name}");
    }
}

#[test]
fn a_strike_at_random_is_told_from_others_of_its_kind() {
    let found = explain("lost-responses", 0, Defect::ClientNewSequenceOnRetry);
    let strikes = found.struck.iter().filter(|(part, ..)| matches!(part, Part::Strike(..)));
    let strikes: Vec<&String> = strikes.map(|(_, _, text)| text).collect();
    assert!(!strikes.is_empty());
    // A lost answer breaks the connection on which the batch waits for its own.
    assert!(strikes.iter().all(|text| text.contains("response to idempotent-1")), "{strikes:?}");
}

#[test]
fn the_story_is_short_in_order_and_ends_where_the_promise_is_broken() {
    let found = explain("late-end-txn", 0, Defect::CoordinatorEndTxnNoTxnIdentity);
    let story = &found.story;
    assert!((5..=16).contains(&story.len()), "{}", story.len());
    assert!(story.is_sorted_by_key(|moment| moment.at), "{story:?}");
    assert!(story.last().is_some_and(|moment| moment.is_broken));
    assert!(story.iter().any(|moment| moment.part == Some(Part::Rule(0))));
    let late = story.iter().find(|moment| moment.text.contains("EndTxn") && moment.from.is_some());
    assert!(late.is_some(), "the late request arrives, and it is said when it was sent: {story:?}");
    let without = found.without.expect("a run without the fault");
    assert_eq!((without.parts, without.verdict.as_str()), (vec![Part::Rule(0)], "sound"));
}

#[test]
fn a_sound_run_cannot_be_explained() {
    let (recording, _) = record(&scenario("late-end-txn"), 0, DefectSet::NONE, DESCRIBE);
    let explain = Explain { recording: &recording, runs: RUNS, describe: DESCRIBE };
    assert_eq!(explain.run(), Err(Inexplicable::NothingBroken("sound".to_string())));
    let of_another = eosim_runner::recording::Recording { digest: 1, ..recording };
    let explain = Explain { recording: &of_another, runs: RUNS, describe: DESCRIBE };
    assert_eq!(explain.run(), Err(Inexplicable::NotAsRecorded));
}

#[test]
fn a_run_like_a_recorded_one_is_that_run_if_nothing_is_taken_away() {
    for (name, seed) in [("mixed", 3), ("gc-stall", 1), ("zombie-fencing", 5)] {
        let (recording, _) = record(&scenario(name), seed, DefectSet::NONE, DESCRIBE);
        let guide = Guide::of(&recording);
        let (again, _) =
            guide.record(&Variant::of(&recording), DESCRIBE).expect("it was possible before");
        assert_eq!(again, recording, "{name}");
    }
}

#[test]
fn what_a_defect_takes_is_named_if_it_is_necessary_and_not_otherwise() {
    let rows: [(_, _, &[&str]); 3] = [
        ("late-end-txn", Defect::CoordinatorEndTxnNoTxnIdentity, &["DELAYREQ"]),
        ("prepared-commit-is-carried-out", Defect::CoordinatorLoadSkipsPrepared, &["TCFAIL"]),
        ("example-2-window-of-five", Defect::LeaderDedupWindowFour, &[]),
    ];
    for (name, defect, named) in rows {
        let found = explained(defect, &[scenario(name)], 10, DESCRIBE).expect(name);
        assert_eq!(found.named, named, "{name}");
        assert_eq!(found.is_named(), !named.is_empty(), "{name}");
    }
}

#[test]
fn what_it_takes_is_said_of_every_defect_that_is_caught() {
    let said: Vec<&str> = TAKES.iter().map(|(name, _)| *name).collect();
    let known: Vec<&str> = Defect::ALL.iter().map(|defect| defect.name()).collect();
    assert!(said.iter().all(|name| known.contains(name)), "{said:?}");
    let silent: Vec<&str> = eosim_runner::defects::measured()
        .map(Defect::name)
        .filter(|name| !said.contains(name))
        .collect();
    assert_eq!(silent, [""; 0]);
}

#[test]
fn what_only_brokers_see_is_followed_to_where_clients_feel_it() {
    let found = explain("sequences-wrap", 2, Defect::SeqWrapNegative);
    assert_eq!(found.broken.what, "producer-state");
    let felt = found.leads_to.expect("clients feel it at another seed");
    assert_eq!(felt.broken.what, "duplicate");
    let again = felt.recording.replay(DESCRIBE);
    assert_eq!((again.left, again.unused), (None, 0));
    let Verdict::Safety(anomalies) = &again.observed.result.verdict else { panic!("it is sound") };
    assert!(anomalies.iter().any(|anomaly| anomaly.invariant == felt.broken.what));
    assert!(!felt.necessary().is_empty(), "a copy takes a retry, and that a lost answer");

    let found = explain("example-2-window-of-five", 0, Defect::LeaderDedupWindowFour);
    assert_eq!(found.leads_to, None, "a script of single requests asks for nothing again");
    let found = explain("lost-responses", 0, Defect::LeaderDedupWindowZero);
    assert_eq!((found.broken.what, found.leads_to), ("duplicate", None), "clients feel that");
}
