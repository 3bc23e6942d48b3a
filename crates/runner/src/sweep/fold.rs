//! What a sweep found, added up seed by seed.

use std::collections::BTreeMap;

use eosim_checker::Verdict;
use eosim_scenario::ScenarioFile;
use eosim_scenario::plan::{Expectation, Requirement, STUCK};
use eosim_sim::fault::Count;
use eosim_types::Marks;

use super::SeedResult;
use super::failure::{Failure, FailureClass};
use crate::exit::ExitCode;

/// Failures of one kind are kept up to this many; all are counted.
const KEPT: u64 = 16;

/// Failures of one scenario that are alike.
type Kind = (usize, FailureClass, u64);

/// One scenario's share.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScenarioSummary {
    /// The scenario's name.
    pub name: String,
    /// Seeds run.
    pub seeds: u64,
    /// Seeds in which nothing was broken.
    pub sound: u64,
    /// Seeds in which an expected invariant was broken.
    pub expected: u64,
    /// Seeds that broke a promise.
    pub safety: u64,
    /// Seeds that got stuck.
    pub liveness: u64,
    /// Seeds about which nothing can be said.
    pub inconclusive: u64,
    /// Seeds that failed and would not with what later releases changed, by the tickets: how many,
    /// and the first.
    pub repaired: BTreeMap<String, (u64, u64)>,
    /// Events taken by actors.
    pub steps: u64,
    /// Per fault: how often it was applied and effective.
    pub faults: BTreeMap<&'static str, Count>,
    /// Per rule of `aimed`: how often it was applied and effective.
    pub aimed: Vec<Count>,
    /// Seeds in which something that it requires did not happen.
    pub vacuous_runs: u64,
    /// Of each requirement that was missing, in how many seeds.
    pub missing: BTreeMap<String, u64>,
    /// What it requires and never happened.
    pub vacuous: Vec<String>,
    /// It expects a violation that never appeared.
    pub violation_missing: bool,
}

impl ScenarioSummary {
    pub(super) fn add_repaired(&mut self, tickets: &str, (seeds, first): (u64, u64)) {
        let sum = self.repaired.entry(tickets.to_string()).or_insert((0, first));
        *sum = (sum.0.saturating_add(seeds), sum.1.min(first));
    }

    pub(super) fn add_aimed(&mut self, counts: &[Count]) {
        self.aimed.resize(counts.len().max(self.aimed.len()), Count::default());
        for (sum, count) in self.aimed.iter_mut().zip(counts) {
            sum.merge(*count);
        }
    }
}

/// What a sweep found.
#[derive(Debug)]
pub struct SweepSummary {
    /// Per scenario.
    pub scenarios: Vec<ScenarioSummary>,
    /// Failures, in the order of their seeds; not all of those with the same fingerprint.
    pub failures: Vec<Failure>,
    /// How many seeds failed.
    pub failed: u64,
    /// How many of them count for the limit.
    pub counted: u64,
    /// The first that counts, if it was run here.
    pub first_counted: Option<Box<SeedResult>>,
    /// How many seeds were run.
    pub seeds: u64,
    /// Seeds whose second run differed from the first, as (scenario, seed).
    pub nondeterministic: Vec<(usize, u64)>,
    /// How often each rule was reached.
    pub marks: Marks,
    /// Every seed asked for was run.
    pub is_complete: bool,
    /// Stopped before its end: by the user, or after too many failures. A sweep that had its time has
    /// come to its end, though none of its seeds is the last.
    pub is_stopped: bool,
    /// The defects that the user put back, to see them found.
    pub sought: Vec<String>,
    pub(super) expectations: Vec<Expectation>,
    pub(super) requires: Vec<Vec<Requirement>>,
    kept: BTreeMap<Kind, u64>,
    looks_for: &'static [&'static str],
}

impl SweepSummary {
    pub(super) fn new(scenarios: &[ScenarioFile], looks_for: &'static [&'static str]) -> Self {
        let heads = || scenarios.iter().map(ScenarioFile::head);
        let named = |name: &String| ScenarioSummary { name: name.clone(), ..Default::default() };
        Self {
            expectations: heads().map(|head| head.expect.clone()).collect(),
            requires: heads().map(|head| head.requires.clone()).collect(),
            ..Self::of(heads().map(|head| named(&head.name)).collect(), looks_for)
        }
    }

    /// Nothing found in `scenarios` yet.
    pub(super) fn of(scenarios: Vec<ScenarioSummary>, looks_for: &'static [&'static str]) -> Self {
        Self {
            scenarios,
            failures: Vec::new(),
            failed: 0,
            counted: 0,
            first_counted: None,
            looks_for,
            seeds: 0,
            nondeterministic: Vec::new(),
            marks: Marks::new(),
            is_complete: false,
            is_stopped: false,
            sought: Vec::new(),
            expectations: Vec::new(),
            requires: Vec::new(),
            kept: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, result: &SeedResult) {
        let own = &mut self.scenarios[result.scenario];
        self.seeds += 1;
        self.marks.merge(&result.marks);
        own.seeds += 1;
        own.steps += result.run.steps;
        for (name, count) in &result.run.faults {
            own.faults.entry(name).or_default().merge(*count);
        }
        own.add_aimed(&result.run.aimed);
        own.vacuous_runs += u64::from(!result.run.missing.is_empty());
        for missing in &result.run.missing {
            *own.missing.entry(missing.clone()).or_default() += 1;
        }
        if result.second_digest.is_some() {
            self.nondeterministic.push((result.scenario, result.seed));
        }
        if let Some(tickets) = &result.repaired_by {
            return own.add_repaired(tickets, (1, result.seed));
        }
        match judge(&result.run.verdict, &self.expectations[result.scenario]) {
            Outcome::Sound => own.sound += 1,
            Outcome::Expected => own.expected += 1,
            Outcome::Failed => {
                match result.run.verdict {
                    Verdict::Safety(_) => own.safety += 1,
                    Verdict::Liveness(_) => own.liveness += 1,
                    Verdict::Sound | Verdict::Inconclusive(_) => own.inconclusive += 1,
                }
                self.failed += 1;
                self.count(result);
                self.keep(result);
            }
        }
    }

    fn count(&mut self, result: &SeedResult) {
        let counts = match &result.run.verdict {
            _ if self.looks_for.is_empty() => true,
            Verdict::Safety(all) => all.iter().any(|a| self.looks_for.contains(&a.invariant)),
            Verdict::Liveness(_) => self.looks_for.contains(&STUCK),
            Verdict::Sound | Verdict::Inconclusive(_) => false,
        };
        if counts {
            self.counted += 1;
            if self.first_counted.is_none() {
                self.first_counted = Some(Box::new(result.clone()));
            }
        }
    }

    fn keep(&mut self, result: &SeedResult) {
        self.keep_failure(Failure::of(result, &self.scenarios[result.scenario].name));
    }

    /// Keeps `failure`, which comes after those that are kept, unless there are many like it.
    pub(super) fn keep_failure(&mut self, failure: Failure) {
        let kind = (failure.scenario, failure.class, failure.fingerprint);
        let kept = self.kept.entry(kind).or_default();
        *kept += 1;
        if *kept <= KEPT {
            self.failures.push(failure);
        }
    }

    /// The failures are to be kept again.
    pub(super) fn forget_kept(&mut self) {
        self.kept.clear();
    }

    /// What can be said only of the whole: requirements never met, violations never seen.
    pub fn conclude(&mut self) {
        if self.is_stopped {
            return;
        }
        for (at, own) in self.scenarios.iter_mut().enumerate() {
            own.vacuous =
                self.requires[at].iter().flat_map(|required| never_met(own, required)).collect();
            let expects = matches!(self.expectations[at], Expectation::Violation(_));
            own.violation_missing = expects && own.expected == 0 && own.seeds > 0;
        }
    }

    /// The defects that were put back, if no run shows any of them.
    #[must_use]
    pub fn survivors(&self) -> &[String] {
        let is_found = self.failed > 0 || self.scenarios.iter().any(|own| own.expected > 0);
        if is_found || self.is_stopped { &[] } else { &self.sought }
    }

    /// The exit code of the whole sweep.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        let mut codes = vec![ExitCode::Fine];
        if !self.nondeterministic.is_empty() {
            codes.push(ExitCode::Nondeterminism);
        }
        codes.extend(self.failures.iter().map(|failure| failure.class.exit()));
        let is_missing = self.scenarios.iter().any(|own| own.violation_missing);
        if is_missing || !self.survivors().is_empty() {
            codes.push(ExitCode::Survived);
        }
        if self.scenarios.iter().any(|own| !own.vacuous.is_empty()) {
            codes.push(ExitCode::Inconclusive);
        }
        ExitCode::worst(codes)
    }
}

/// A verdict measured by what its scenario expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Nothing was broken.
    Sound,
    /// What was to be broken was broken, and nothing else.
    Expected,
    /// It should not have come out so.
    Failed,
}

impl Outcome {
    /// The exit code of one run that came out so, with `verdict`.
    #[must_use]
    pub fn exit(self, verdict: &Verdict) -> ExitCode {
        match (self, verdict) {
            (Self::Sound | Self::Expected, _) => ExitCode::Fine,
            (Self::Failed, verdict) => FailureClass::of(verdict).exit(),
        }
    }
}

/// Measures `verdict` by `expectation`.
#[must_use]
pub fn judge(verdict: &Verdict, expectation: &Expectation) -> Outcome {
    match (verdict, expectation) {
        (Verdict::Sound, _) => Outcome::Sound,
        (Verdict::Safety(anomalies), Expectation::Violation(expected))
            if anomalies.iter().all(|a| expected.iter().any(|name| name == a.invariant)) =>
        {
            Outcome::Expected
        }
        (Verdict::Liveness(_), Expectation::Violation(expected))
            if expected.iter().any(|name| name == STUCK) =>
        {
            Outcome::Expected
        }
        _ => Outcome::Failed,
    }
}

/// What of `required` never happened: the fault had no effect, or each rule of `aimed` had none, or
/// no seed reached it.
fn never_met(own: &ScenarioSummary, required: &Requirement) -> Vec<String> {
    let Requirement::Fault(name) = required else {
        let name = required.to_string();
        let never = own.missing.get(&name).is_some_and(|missing| *missing == own.seeds);
        return if never { vec![name] } else { Vec::new() };
    };
    if name == "aimed" {
        let idle = own.aimed.iter().enumerate().filter(|(_, count)| count.effective == 0);
        return idle.map(|(at, _)| format!("aimed[{at}]")).collect();
    }
    let struck = own.faults.get(name.as_str()).is_some_and(|count| count.effective > 0);
    if struck { Vec::new() } else { vec![name.to_string()] }
}
