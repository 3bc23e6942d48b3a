//! The oracle, proved: each historical bug is switched on and must be caught.

mod explained;

use std::sync::atomic::AtomicBool;

use eosim_checker::Verdict;
use eosim_scenario::ScenarioFile;
use eosim_scenario::plan::STUCK;
use eosim_types::defect::DefectClass;
use eosim_types::{Defect, DefectSet};

use crate::sweep::{Progress, SeedResult, Sweep, SweepSummary};

pub use explained::{Explained, TAKES, explained};

/// How a defect came out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caught {
    /// The defect.
    pub defect: Defect,
    /// In the scenarios that are aimed at it; `None` if it was not caught there, or there is none.
    pub aimed: Option<Hit>,
    /// In the scenarios whose faults strike by chance alone, once per start; `None` where it was not
    /// caught within the budget.
    pub random: Vec<Option<Hit>>,
}

/// An invariant that the defect's entry names has broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hit {
    /// Seeds until it did, over all scenarios in turn.
    pub seeds: u64,
    /// The invariant.
    pub invariant: &'static str,
    /// The scenario.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
}

impl Caught {
    /// Was it caught, by an invariant that its entry names?
    #[must_use]
    pub fn is_caught(&self) -> bool {
        self.example().is_some()
    }

    /// Where it was caught, rather than by chance where something is aimed at it.
    #[must_use]
    pub fn example(&self) -> Option<&Hit> {
        self.aimed.as_ref().or_else(|| self.random.iter().flatten().next())
    }

    /// Seeds in the middle of the starts; `None` if half of them or more did not catch it.
    #[must_use]
    pub fn median(&self) -> Option<u64> {
        let mut seeds = self.seeds();
        seeds.sort_unstable();
        seeds.get(seeds.len() / 2).copied().filter(|&seeds| seeds < u64::MAX)
    }

    /// Seeds of the worst start; `None` if that did not catch it.
    #[must_use]
    pub fn worst(&self) -> Option<u64> {
        self.seeds().into_iter().max().filter(|&seeds| seeds < u64::MAX)
    }

    /// Seeds of each start, without end where it was not caught.
    fn seeds(&self) -> Vec<u64> {
        self.random.iter().map(|hit| hit.as_ref().map_or(u64::MAX, |hit| hit.seeds)).collect()
    }
}

/// How hard a defect is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// After so many seeds the search is given up.
    pub seeds_max: u64,
    /// How often it is looked for by chance, each time from other seeds on.
    pub starts: u64,
    /// Workers.
    pub jobs: usize,
}

/// A start's first seed is so far from the one's before.
const BETWEEN_STARTS: u64 = 1_000_000;

/// Every defect that is to be caught: all but the upstream findings, and those of which the table in
/// `DEFECTS.md` says why no invariant breaks.
pub fn measured() -> impl Iterator<Item = Defect> {
    let is_measured = |defect: &Defect| {
        defect.class() != DefectClass::Upstream && !defect.invariants().is_empty()
    };
    Defect::ALL.iter().copied().filter(is_measured)
}

/// Switches `defect` on and counts the seeds until it is caught: in the scenarios of `library` that
/// are aimed at it, and in those whose faults strike by chance alone.
pub fn run(
    defect: Defect,
    library: &[ScenarioFile],
    effort: Effort,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Caught {
    let (aimed, random) = (aimed_at(defect, library), at_random(library));
    let mut search = |scenarios: &[ScenarioFile], first_seed| {
        let sweep = sweep(defect, scenarios, effort, first_seed);
        hit(defect, sweep?.run(stop, progress))
    };
    let aimed = search(&aimed, 0);
    let starts = (0..effort.starts).map(|start| start * BETWEEN_STARTS);
    let random = starts.map(|first_seed| search(&random, first_seed)).collect();
    Caught { defect, aimed, random }
}

/// The scenarios of `library` that name `defect`.
#[must_use]
pub fn aimed_at(defect: Defect, library: &[ScenarioFile]) -> Vec<ScenarioFile> {
    let names = |file: &&ScenarioFile| file.head().defects.iter().any(|d| d == defect.name());
    library.iter().filter(names).cloned().collect()
}

/// The scenarios of `library` whose faults strike by chance alone.
#[must_use]
pub fn at_random(library: &[ScenarioFile]) -> Vec<ScenarioFile> {
    let is_random = |file: &&ScenarioFile| file.head().aimed.is_empty() && !file.is_fixed();
    library.iter().filter(is_random).cloned().collect()
}

/// Where one of `scenarios` first breaks an invariant that the entry of `defect` names, within so
/// many seeds.
#[must_use]
pub fn first(defect: Defect, scenarios: &[ScenarioFile], seeds_max: u64) -> Option<Hit> {
    struct Silent;
    impl Progress for Silent {
        fn seed(&mut self, _: &SeedResult) {}
    }
    let effort = Effort { seeds_max, starts: 0, jobs: 1 };
    let sweep = sweep(defect, scenarios, effort, 0)?;
    hit(defect, sweep.run(&AtomicBool::new(false), &mut Silent))
}

fn hit(defect: Defect, summary: SweepSummary) -> Option<Hit> {
    let failure = summary.first_counted?;
    let invariant = invariant(defect, &failure.run.verdict)?;
    let scenario = summary.scenarios[failure.scenario].name.clone();
    Some(Hit { seeds: summary.seeds, invariant, scenario, seed: failure.seed })
}

/// The first of the invariants that broke which the defect's entry names.
fn invariant(defect: Defect, verdict: &Verdict) -> Option<&'static str> {
    let anomalies = match verdict {
        Verdict::Safety(anomalies) => anomalies,
        Verdict::Liveness(_) => return Some(STUCK),
        Verdict::Sound | Verdict::Inconclusive(_) => return None,
    };
    let broken = anomalies.iter().map(|anomaly| anomaly.invariant);
    broken.into_iter().find(|name| defect.invariants().contains(name))
}

/// A sweep that ends with the first seed in which the defect is caught; `None` without scenarios.
fn sweep(
    defect: Defect,
    scenarios: &[ScenarioFile],
    effort: Effort,
    first_seed: u64,
) -> Option<Sweep<'_>> {
    let count = effort.seeds_max.checked_div(scenarios.len() as u64)?.max(1);
    Some(Sweep {
        scenarios,
        first_seed,
        count: Some(count),
        time: None,
        jobs: effort.jobs,
        partition: (0, 1),
        max_fail: Some(1),
        looks_for: defect.invariants(),
        defects: DefectSet::NONE.with(defect),
        verify_every: 0,
    })
}
