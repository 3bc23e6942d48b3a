//! The oracle, proved: each historical bug is switched on and must be caught.

use std::sync::atomic::AtomicBool;

use eosim_checker::Verdict;
use eosim_scenario::ScenarioFile;
use eosim_scenario::plan::STUCK;
use eosim_types::defect::DefectClass;
use eosim_types::{Defect, DefectSet};

use crate::sweep::{Failure, Progress, Sweep, SweepSummary};

/// How a defect came out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caught {
    /// The defect.
    pub defect: Defect,
    /// The invariant that caught it at random, or in an aimed scenario.
    pub invariant: Option<&'static str>,
    /// Seeds of the scenarios that are aimed at it until it was caught; `None` if it was not, or
    /// there is no such scenario.
    pub aimed_seeds: Option<u64>,
    /// Seeds of the whole library until it was caught.
    pub random_seeds: Option<u64>,
    /// Where it was caught: scenario and seed.
    pub example: Option<(String, u64)>,
    /// Seeds before it in which only invariants broke that its entry does not name.
    pub other_failures: u64,
}

impl Caught {
    /// Was it caught, by an invariant that its entry names?
    #[must_use]
    pub const fn is_caught(&self) -> bool {
        self.random_seeds.is_some()
    }
}

/// Every defect that is to be caught: all but the upstream findings, and those of which the table in
/// `DEFECTS.md` says why no invariant breaks.
pub fn measured() -> impl Iterator<Item = Defect> {
    let is_measured = |defect: &Defect| {
        defect.class() != DefectClass::Upstream && !defect.invariants().is_empty()
    };
    Defect::ALL.iter().copied().filter(is_measured)
}

/// Switches `defect` on and counts the seeds, over all scenarios in turn, until it is caught.
pub fn run(
    defect: Defect,
    library: &[ScenarioFile],
    seeds_max: u64,
    jobs: usize,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Caught {
    let named = |file: &&ScenarioFile| file.head().defects.iter().any(|d| d == defect.name());
    let aimed: Vec<ScenarioFile> = library.iter().filter(named).cloned().collect();
    let mut search = |scenarios: &[ScenarioFile]| {
        if scenarios.is_empty() {
            return None;
        }
        let summary = sweep(defect, scenarios, seeds_max, jobs, stop, progress);
        let others = summary.failed - summary.counted;
        summary.first_counted.map(|failure| (summary.seeds, failure, others))
    };
    let aimed_hit = search(&aimed);
    let random_hit = search(library);
    let hit = random_hit.as_ref().or(aimed_hit.as_ref());
    Caught {
        defect,
        invariant: hit.and_then(|(_, failure, _)| invariant(defect, failure)),
        aimed_seeds: aimed_hit.as_ref().map(|(seeds, ..)| *seeds),
        random_seeds: random_hit.as_ref().map(|(seeds, ..)| *seeds),
        example: hit.map(|(_, failure, _)| (failure.scenario_name.clone(), failure.seed)),
        other_failures: hit.map_or(0, |(.., others)| *others),
    }
}

/// The first of the invariants that broke which the defect's entry names.
fn invariant(defect: Defect, failure: &Failure) -> Option<&'static str> {
    let anomalies = match &failure.verdict {
        Verdict::Safety(anomalies) => anomalies,
        Verdict::Liveness(_) => return Some(STUCK),
        Verdict::Sound | Verdict::Inconclusive(_) => return None,
    };
    let broken = anomalies.iter().map(|anomaly| anomaly.invariant);
    broken.into_iter().find(|name| defect.invariants().contains(name))
}

fn sweep(
    defect: Defect,
    scenarios: &[ScenarioFile],
    seeds_max: u64,
    jobs: usize,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> SweepSummary {
    let count = seeds_max.div_ceil(scenarios.len() as u64);
    let sweep = Sweep {
        scenarios,
        first_seed: 0,
        count: Some(count),
        time: None,
        jobs,
        partition: (0, 1),
        max_fail: Some(1),
        looks_for: defect.invariants(),
        defects: DefectSet::NONE.with(defect),
        verify_every: 0,
    };
    sweep.run(stop, progress)
}
