//! What comes out of a sweep does not depend on how many workers there are.

mod library;

use std::sync::atomic::AtomicBool;

use eosim_runner::ScenarioFile;
use eosim_runner::sweep::{Progress, SeedResult, Sweep, SweepSummary};
use eosim_types::{Defect, DefectSet};
use library::scenario;

struct Silent;

impl Progress for Silent {
    fn seed(&mut self, _: &SeedResult) {}
}

/// Seeds of each scenario.
const COUNT: u64 = 24;

fn sweep(
    scenarios: &[ScenarioFile],
    jobs: usize,
    defects: DefectSet,
    max_fail: Option<u64>,
) -> SweepSummary {
    let sweep = Sweep {
        scenarios,
        first_seed: 0,
        count: Some(COUNT),
        time: None,
        jobs,
        partition: (0, 1),
        max_fail,
        looks_for: &[],
        defects,
        verify_every: 10,
    };
    sweep.run(&AtomicBool::new(false), &mut Silent)
}

/// A worker that has run other seeds before begins each as if it were the first: with a
/// reassignment, that replicas of the run before are gone.
#[test]
fn rules_are_counted_alike_by_any_number_of_workers() {
    let scenarios = ["reassignment", "mixed"].map(scenario);
    let one = sweep(&scenarios, 1, DefectSet::NONE, None);
    for jobs in [2, 5] {
        let more = sweep(&scenarios, jobs, DefectSet::NONE, None);
        assert_eq!((&one.marks, one.seeds), (&more.marks, more.seeds), "{jobs} workers");
    }
}

/// Seeds that were run beyond the last failure are not counted.
#[test]
fn rules_are_counted_alike_up_to_the_last_failure() {
    let scenarios = [scenario("lost-responses")];
    let bug = DefectSet::NONE.with(Defect::LeaderIndexDropAbortEntry);
    let one = sweep(&scenarios, 1, bug, Some(2));
    let more = sweep(&scenarios, 3, bug, Some(2));
    assert!(one.seeds < COUNT);
    assert_eq!((one.marks, one.seeds), (more.marks, more.seeds));
}
