//! Failures that are shrunk: what is left breaks the same promise, with less.

mod library;

use std::sync::atomic::AtomicBool;

use eosim_runner::recording::{Recording, record, word};
use eosim_runner::run::Describe;
use eosim_runner::shrink::{Budget, Shrink, Shrunk, Unshrinkable};
use eosim_runner::{Plan, ScenarioFile, Verdict, invariants};
use eosim_types::{Defect, DefectSet};
use library::scenario;

const SILENT: Describe = Describe { message: |_, _| String::new(), observed: |_, _| String::new() };

/// Steps that are enough for a good deal of shrinking.
const STEPS: u64 = 1_500_000;

/// The first seed of the scenario that breaks `invariant` with the defect on.
fn failure(name: &str, defect: Defect, invariant: &str) -> Recording {
    let (file, defects) = (scenario(name), DefectSet::NONE.with(defect));
    let recordings = (0..1000).map(|seed| record(&file, seed, defects, SILENT).0);
    let mut failing = recordings.filter(|recording| recording.verdict == invariant);
    failing.next().unwrap_or_else(|| panic!("{name} never breaks {invariant}"))
}

fn shrink(recording: &Recording, jobs: usize) -> Result<Shrunk, Unshrinkable> {
    let budget = Budget { steps: Some(STEPS), deadline: None };
    let stop = &AtomicBool::new(false);
    Shrink { recording, jobs, budget, stop, describe: SILENT }.run(&mut || {})
}

/// The plan as a scenario file, as it is written.
fn reread(plan: &Plan) -> ScenarioFile {
    let names: Vec<&str> = invariants().iter().map(|invariant| invariant.name).collect();
    ScenarioFile::parse("shrunk", &plan.to_json(), &[], &names).expect("a scenario file")
}

/// Shrinks a failure, which must break the same promise with fewer operations and steps, as a run and as
/// a scenario, and none once the defect is off.
fn shrinks(name: &str, defect: Defect, invariant: &str) -> Shrunk {
    let recording = failure(name, defect, invariant);
    let shrunk = shrink(&recording, 2).unwrap_or_else(|why| panic!("{name}: {why:?}"));
    assert_eq!(word(shrunk.verdict()), invariant);
    let (before, after) = (shrunk.before, shrunk.after);
    assert!(after.faults <= before.faults, "{before:?} {after:?}");
    assert!(after.operations < before.operations, "{before:?} {after:?}");
    assert!(after.steps < before.steps, "{before:?} {after:?}");
    let replayed = shrunk.recording.replay(SILENT);
    assert!(replayed.left.is_none() && replayed.unused == 0);
    assert_eq!(replayed.observed.result, shrunk.observed.result);
    let file = reread(&shrunk.scenario);
    assert_eq!(file.head().name, format!("{name}-shrunk"));
    for seed in 0..20 {
        let (sound, _) = record(&file, seed, DefectSet::NONE, SILENT);
        assert_eq!(sound.verdict, "sound", "seed {seed}");
    }
    shrunk
}

#[test]
fn what_is_left_of_an_aborted_read_reads_an_aborted_record() {
    let shrunk = shrinks("mixed", Defect::LeaderIndexDropAbortEntry, "aborted-read");
    assert!(shrunk.after.faults < shrunk.before.faults);
}

#[test]
fn what_is_left_of_a_late_request_does_not_depend_on_workers() {
    let bug = Defect::CoordinatorEndTxnNoTxnIdentity;
    let two = shrinks("late-end-txn", bug, "early-read");
    let recording = failure("late-end-txn", bug, "early-read");
    let one = shrink(&recording, 1).unwrap_or_else(|why| panic!("{why:?}"));
    assert_eq!((one.runs, one.steps, one.after), (two.runs, two.steps, two.after));
    assert_eq!((one.scenario, one.recording), (two.scenario, two.recording));
}

#[test]
fn what_is_left_of_a_duplicate_is_aimed_and_needs_no_seed() {
    let shrunk = shrinks("lost-responses", Defect::ClientNewSequenceOnRetry, "duplicate");
    assert!(shrunk.scenario.faults.is_quiet(), "{:?}", shrunk.scenario.faults);
    assert!(!shrunk.scenario.aimed.is_empty());
    assert_eq!(shrunk.failing_seeds, eosim_runner::shrink::SEEDS);
}

#[test]
fn what_is_left_of_a_stuck_transaction_waits_no_longer_than_it_must() {
    let bug = Defect::CoordinatorExpiryKeepsPendingDead;
    let shrunk = shrinks("expiry-is-refused", bug, "stuck");
    let limits = shrunk.scenario.limits;
    assert!(limits.recovery_max_ms < scenario("expiry-is-refused").head().limits.recovery_max_ms);
    let (before, after) = (shrunk.before.steps, shrunk.after.steps);
    assert!(
        after * 5 < before,
        "{before} {after} {limits:?} {} {}",
        shrunk.runs,
        shrunk.scenario.to_json()
    );
}

#[test]
fn a_run_in_which_nothing_is_broken_is_not_shrunk() {
    let (recording, observed) = record(&scenario("lost-responses"), 0, DefectSet::NONE, SILENT);
    assert_eq!(observed.result.verdict, Verdict::Sound);
    let why = shrink(&recording, 1).err();
    assert_eq!(why, Some(Unshrinkable::NothingBroken("sound".to_string())));
}
