//! What a sweep found so far, as it is kept in a file: a sweep goes on from it, and several sweeps
//! are joined by it.

use std::collections::BTreeMap;

use eosim_scenario::plan::{Expectation, FAULTS, Requirement};
use eosim_sim::fault::Count;
use eosim_types::Marks;
use eosim_types::marks::Mark;
use serde::{Deserialize, Serialize};

use super::failure::{Failure, FailureClass, kind};
use super::{ScenarioSummary, SweepSummary};

/// What a sweep found so far.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepState {
    seeds: u64,
    failed: u64,
    counted: u64,
    scenarios: Vec<ScenarioState>,
    failures: Vec<FailureState>,
    nondeterministic: Vec<(String, u64)>,
    rules: BTreeMap<String, u64>,
    states: BTreeMap<String, u64>,
    cells: BTreeMap<String, u64>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioState {
    name: String,
    expect: Expectation,
    requires: Vec<Requirement>,
    seeds: u64,
    sound: u64,
    expected: u64,
    safety: u64,
    liveness: u64,
    inconclusive: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    repaired: BTreeMap<String, (u64, u64)>,
    steps: u64,
    /// How often applied, how often effective.
    faults: BTreeMap<String, (u64, u64)>,
    aimed: Vec<(u64, u64)>,
    vacuous_runs: u64,
    missing: BTreeMap<String, u64>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FailureState {
    scenario: String,
    seed: u64,
    class: FailureClass,
    what: String,
    fingerprint: String,
    steps: u64,
    digest: String,
}

impl SweepSummary {
    /// What is needed to go on from here.
    #[must_use]
    pub fn state(&self) -> SweepState {
        let own = self.scenarios.iter().zip(&self.expectations).zip(&self.requires);
        let twice = self.nondeterministic.iter();
        SweepState {
            seeds: self.seeds,
            failed: self.failed,
            counted: self.counted,
            scenarios: own
                .map(|((own, expect), requires)| scenario(own, expect, requires))
                .collect(),
            failures: self.failures.iter().map(failure).collect(),
            nondeterministic: twice
                .map(|(at, seed)| (self.scenarios[*at].name.clone(), *seed))
                .collect(),
            rules: reached(self.marks.counts()),
            states: reached(self.marks.states()),
            cells: reached(self.marks.cells()),
        }
    }

    /// As it was when `state` was taken.
    ///
    /// # Errors
    /// What in it this build does not know.
    pub fn restore(state: &SweepState) -> Result<Self, String> {
        let scenarios = state.scenarios.iter().map(ScenarioState::summary);
        let mut summary = Self::of(scenarios.collect::<Result<_, _>>()?, &[]);
        summary.expectations = state.scenarios.iter().map(|own| own.expect.clone()).collect();
        summary.requires = state.scenarios.iter().map(|own| own.requires.clone()).collect();
        summary.seeds = state.seeds;
        summary.failed = state.failed;
        summary.counted = state.counted;
        summary.marks = state.marks()?;
        for failure in &state.failures {
            let scenario = state.place_of(&failure.scenario)?;
            summary.keep_failure(failure.restore(scenario)?);
        }
        for (scenario, seed) in &state.nondeterministic {
            summary.nondeterministic.push((state.place_of(scenario)?, *seed));
        }
        Ok(summary)
    }

    /// Adds what another sweep found in other seeds of the same scenarios, in the same order.
    pub fn join(&mut self, other: &Self) {
        self.seeds = self.seeds.saturating_add(other.seeds);
        self.failed = self.failed.saturating_add(other.failed);
        self.counted = self.counted.saturating_add(other.counted);
        self.marks.merge(&other.marks);
        for (own, other) in self.scenarios.iter_mut().zip(&other.scenarios) {
            own.join(other);
        }
        self.nondeterministic.extend(&other.nondeterministic);
        self.nondeterministic.sort_by_key(|(scenario, seed)| (*seed, *scenario));
        let mut failures = std::mem::take(&mut self.failures);
        failures.extend(other.failures.iter().cloned());
        failures.sort_by_key(Failure::place);
        self.forget_kept();
        failures.into_iter().for_each(|failure| self.keep_failure(failure));
    }
}

impl ScenarioSummary {
    fn join(&mut self, other: &Self) {
        self.seeds = self.seeds.saturating_add(other.seeds);
        self.sound = self.sound.saturating_add(other.sound);
        self.expected = self.expected.saturating_add(other.expected);
        self.safety = self.safety.saturating_add(other.safety);
        self.liveness = self.liveness.saturating_add(other.liveness);
        self.inconclusive = self.inconclusive.saturating_add(other.inconclusive);
        self.steps = self.steps.saturating_add(other.steps);
        self.vacuous_runs = self.vacuous_runs.saturating_add(other.vacuous_runs);
        for (tickets, seeds) in &other.repaired {
            self.add_repaired(tickets, *seeds);
        }
        for (name, count) in &other.faults {
            self.faults.entry(name).or_default().merge(*count);
        }
        self.add_aimed(&other.aimed);
        for (what, runs) in &other.missing {
            let sum = self.missing.entry(what.clone()).or_default();
            *sum = sum.saturating_add(*runs);
        }
    }
}

/// Those that were reached at all.
fn reached<T: ToString>(counts: impl Iterator<Item = (T, u64)>) -> BTreeMap<String, u64> {
    counts.filter(|(_, count)| *count > 0).map(|(name, n)| (name.to_string(), n)).collect()
}

fn scenario(
    own: &ScenarioSummary,
    expect: &Expectation,
    requires: &[Requirement],
) -> ScenarioState {
    let pair = |count: &Count| (count.applied, count.effective);
    ScenarioState {
        name: own.name.clone(),
        expect: expect.clone(),
        requires: requires.to_vec(),
        seeds: own.seeds,
        sound: own.sound,
        expected: own.expected,
        safety: own.safety,
        liveness: own.liveness,
        inconclusive: own.inconclusive,
        repaired: own.repaired.clone(),
        steps: own.steps,
        faults: own.faults.iter().map(|(name, count)| (name.to_string(), pair(count))).collect(),
        aimed: own.aimed.iter().map(pair).collect(),
        vacuous_runs: own.vacuous_runs,
        missing: own.missing.clone(),
    }
}

fn failure(failure: &Failure) -> FailureState {
    FailureState {
        scenario: failure.scenario_name.clone(),
        seed: failure.seed,
        class: failure.class,
        what: failure.what.clone(),
        fingerprint: format!("{:016x}", failure.fingerprint),
        steps: failure.steps,
        digest: format!("{:016x}", failure.digest),
    }
}

impl SweepState {
    /// The kinds of its failures, as [`Failure::kind`] names them.
    pub fn kinds(&self) -> impl Iterator<Item = String> {
        let kind = |one: &FailureState| kind(one.class, &one.what, &one.fingerprint, &one.scenario);
        self.failures.iter().map(kind)
    }

    /// How many seeds were run.
    #[must_use]
    pub const fn seeds(&self) -> u64 {
        self.seeds
    }

    /// How many of them failed.
    #[must_use]
    pub const fn failed(&self) -> u64 {
        self.failed
    }

    fn place_of(&self, scenario: &str) -> Result<usize, String> {
        let place = self.scenarios.iter().position(|own| own.name == scenario);
        place.ok_or_else(|| format!("the scenario \"{scenario}\", which is not in the list"))
    }

    fn marks(&self) -> Result<Marks, String> {
        let mut marks = Marks::new();
        let rules = self.rules.iter().map(|(name, count)| (name, Mark::rule(name), count));
        let states = self.states.iter().map(|(name, count)| (name, Mark::state(name), count));
        let cells = self.cells.iter().map(|(name, count)| (name, Mark::cell(name), count));
        for (name, mark, count) in rules.chain(states).chain(cells) {
            let mark = mark.ok_or_else(|| format!("\"{name}\", which is unknown"))?;
            marks.add(mark, *count);
        }
        Ok(marks)
    }
}

impl ScenarioState {
    fn summary(&self) -> Result<ScenarioSummary, String> {
        let count = |&(applied, effective): &(u64, u64)| Count { applied, effective };
        let fault = |(name, pair): (&String, &(u64, u64))| {
            let known = FAULTS.iter().find(|known| **known == name.as_str());
            let known = known.ok_or_else(|| format!("the fault \"{name}\", which is unknown"))?;
            Ok::<_, String>((*known, count(pair)))
        };
        Ok(ScenarioSummary {
            name: self.name.clone(),
            seeds: self.seeds,
            sound: self.sound,
            expected: self.expected,
            safety: self.safety,
            liveness: self.liveness,
            inconclusive: self.inconclusive,
            repaired: self.repaired.clone(),
            steps: self.steps,
            faults: self.faults.iter().map(fault).collect::<Result<_, _>>()?,
            aimed: self.aimed.iter().map(count).collect(),
            vacuous_runs: self.vacuous_runs,
            missing: self.missing.clone(),
            ..ScenarioSummary::default()
        })
    }
}

impl FailureState {
    fn restore(&self, scenario: usize) -> Result<Failure, String> {
        let number = |digits: &String| {
            let number = u64::from_str_radix(digits, 16);
            number.map_err(|_| format!("\"{digits}\" in place of 16 hexadecimal digits"))
        };
        Ok(Failure {
            scenario,
            scenario_name: self.scenario.clone(),
            seed: self.seed,
            class: self.class,
            what: self.what.clone(),
            fingerprint: number(&self.fingerprint)?,
            steps: self.steps,
            digest: number(&self.digest)?,
        })
    }
}
