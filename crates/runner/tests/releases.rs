//! Brokers of several releases in one cluster, what is ported back, and failures that a later release
//! has repaired.

use std::sync::atomic::AtomicBool;

use eosim_checker::Verdict;
use eosim_runner::ScenarioFile;
use eosim_runner::sweep::{Progress, SeedResult, Sweep, SweepSummary};
use eosim_types::{Defect, DefectSet};

/// Its coordinator is broker 2, and broker 1 leads what is written.
const LATE_MARKER: &str = include_str!("../../../scenarios/transactions/late-marker.json");
/// Breaks a promise on the newest release; older ones have nothing of what it is about.
const LATE_INIT: &str =
    include_str!("../../../scenarios/transactions/two-phase-commit-late-init.json");

struct Silent;

impl Progress for Silent {
    fn seed(&mut self, _: &SeedResult) {}
}

fn late_marker(sets: &[&str]) -> ScenarioFile {
    parse(LATE_MARKER, sets)
}

fn parse(text: &str, sets: &[&str]) -> ScenarioFile {
    let sets: Vec<_> = sets.iter().map(|set| set.parse().expect("a replacement")).collect();
    let known =
        ["early-read", "aborted-read", "torn-transaction", "committed-lost", "decision-lost"];
    ScenarioFile::parse("scenario.json", text, &sets, &known).expect("a scenario")
}

fn sweep(scenario: ScenarioFile) -> SweepSummary {
    let stop = AtomicBool::new(false);
    let mut summary = with(scenario, |sweep| sweep.run(&stop, &mut Silent));
    summary.conclude();
    summary
}

fn with<T>(scenario: ScenarioFile, run: impl FnOnce(&Sweep<'_>) -> T) -> T {
    run(&Sweep {
        scenarios: &[scenario],
        first_seed: 0,
        count: Some(1),
        time: None,
        jobs: 1,
        partition: (0, 1),
        max_fail: None,
        looks_for: &[],
        defects: DefectSet::NONE,
        verify_every: 0,
    })
}

fn verdict(sets: &[&str]) -> Verdict {
    with(late_marker(sets), |sweep| sweep.once(0, 0).run.verdict)
}

#[test]
fn a_leader_of_an_older_release_learns_no_version_of_a_marker_l_wtm_2() {
    for (sets, is_sound) in [
        (&[r#"cluster.kafka={"broker-1": "4.1"}"#], false),
        (&[r#"cluster.kafka={"broker-1": "4.2"}"#], true),
        (&[r#"cluster.kafka={"broker-2": "4.1"}"#], false),
        (&[r#"cluster.kafka={"broker-3": "4.1"}"#], true),
    ] {
        assert_eq!(verdict(sets) == Verdict::Sound, is_sound, "{sets:?}");
    }
}

#[test]
fn what_is_ported_back_is_as_in_the_release_that_has_it() {
    let old = r#"kafka="4.1""#;
    assert_ne!(verdict(&[old]), Verdict::Sound);
    assert_ne!(verdict(&[old, r#"backports=["KAFKA-20090"]"#]), Verdict::Sound);
    assert_eq!(verdict(&[old, r#"backports=["KAFKA-20090", "KIP-1228"]"#]), Verdict::Sound);
}

#[test]
fn a_failure_that_a_later_release_repairs_is_named_and_not_counted() {
    let summary = sweep(late_marker(&[r#"kafka="4.1""#]));
    let repaired: Vec<_> = summary.scenarios[0].repaired.iter().collect();
    assert_eq!(repaired, [(&"KIP-1228".to_string(), &(1, 0))]);
    assert_eq!((summary.failed, summary.failures.len()), (0, 0));
    let again = SweepSummary::restore(&summary.state()).expect("a state of this build");
    assert_eq!(again.scenarios[0].repaired, summary.scenarios[0].repaired);
}

#[test]
fn what_fails_in_another_way_than_expected_may_be_repaired_too() {
    let summary = sweep(parse(LATE_INIT, &[r#"kafka="4.4""#]));
    let repaired: Vec<_> = summary.scenarios[0].repaired.iter().collect();
    assert_eq!(repaired, [(&"KIP-939".to_string(), &(1, 0))]);
    let summary = sweep(parse(LATE_INIT, &[]));
    assert_eq!((summary.failed, summary.scenarios[0].repaired.len()), (0, 0));
}

#[test]
fn with_a_switch_on_no_failure_is_taken_for_one_of_the_release() {
    let scenario = late_marker(&[r#"kafka="4.1""#]);
    let stop = AtomicBool::new(false);
    let defects = DefectSet::NONE.with(Defect::LeaderDedupWindowFour);
    let summary = with(scenario, |sweep| Sweep { defects, ..*sweep }.run(&stop, &mut Silent));
    assert_eq!((summary.failed, summary.scenarios[0].repaired.len()), (1, 0));
}
