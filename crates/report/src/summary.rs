//! The summary of a sweep, as text and as JSON.
//!
//! No Kafka counterpart. Holds nothing that depends on wall clock or on the number of workers.

use serde::Deserialize;

use crate::dump_log::line;
use crate::json::{Object, list, string};

/// How often a fault struck.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct FaultCount {
    /// Its name.
    pub name: String,
    /// How often it was done.
    pub applied: u64,
    /// How often it made a difference.
    pub effective: u64,
}

/// A failing seed.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct FailedSeed {
    /// The seed.
    pub seed: u64,
    /// The invariant that broke, or `stuck`.
    pub what: String,
}

/// Something that a scenario requires and that did not happen in every run.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Missed {
    /// What.
    pub what: String,
    /// In how many runs it did not happen.
    pub runs: u64,
}

/// What came out of one scenario.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
pub struct ScenarioSummary {
    /// Its name.
    #[serde(rename = "scenario")]
    pub name: String,
    /// Runs without a finding.
    pub sound: u64,
    /// Runs that broke what the scenario expects to be broken, or what is known of the release.
    pub expected: u64,
    /// Of these, runs that broke a promise which a later release keeps.
    #[serde(default)]
    pub known: u64,
    /// Runs that broke a promise.
    pub safety: u64,
    /// Runs that got stuck.
    pub liveness: u64,
    /// Runs about which nothing can be said.
    pub inconclusive: u64,
    /// Runs in which something that the scenario requires did not happen, among the others.
    pub vacuous: u64,
    /// What was missing in them.
    #[serde(default)]
    pub missing: Vec<Missed>,
    /// Steps of all runs.
    pub steps: u64,
    /// The faults, in the order of the scenario format.
    pub faults: Vec<FaultCount>,
    /// What is required and never happened: the scenario is vacuous.
    pub never_effective: Vec<String>,
    /// It expects a violation, and there was none.
    pub violation_missing: bool,
    /// Seeds that gave two different runs.
    pub nondeterministic: Vec<u64>,
    /// The first failing seeds.
    pub failures: Vec<FailedSeed>,
}

impl ScenarioSummary {
    /// How many runs there were.
    #[must_use]
    pub const fn runs(&self) -> u64 {
        let sound = self.sound.saturating_add(self.expected);
        self.failed().saturating_add(sound).saturating_add(self.inconclusive)
    }

    /// How many runs broke a promise or got stuck.
    #[must_use]
    pub const fn failed(&self) -> u64 {
        self.safety.saturating_add(self.liveness)
    }

    /// In a word or two; in capitals if something is wrong.
    #[must_use]
    pub const fn verdict(&self) -> &'static str {
        if !self.nondeterministic.is_empty() {
            "NONDETERMINISTIC"
        } else if self.safety > 0 {
            "VIOLATION"
        } else if self.liveness > 0 {
            "STUCK"
        } else if self.violation_missing {
            "NO VIOLATION"
        } else if !self.never_effective.is_empty() {
            "VACUOUS"
        } else if self.inconclusive > 0 {
            "INCONCLUSIVE"
        } else if self.known > 0 {
            "known of the release"
        } else if self.expected > 0 {
            "violation, as expected"
        } else {
            "sound"
        }
    }

    /// Is there nothing wrong with it?
    #[must_use]
    pub fn passed(&self) -> bool {
        !self.verdict().starts_with(|c: char| c.is_ascii_uppercase())
    }
}

/// Names are aligned that have at most so many characters, as those of scenarios do.
const NAME: usize = 100;

/// So many scenarios without a pass are named in a line.
const TOLD: usize = 3;

/// What came out of a sweep.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
pub struct SweepSummary {
    /// In the order in which the scenarios were given.
    pub scenarios: Vec<ScenarioSummary>,
}

impl SweepSummary {
    /// A table of the scenarios, the effective faults, and the failures.
    #[must_use]
    pub fn text(&self) -> String {
        let names = self.scenarios.iter().map(|scenario| scenario.name.chars().count());
        let width = names.max().unwrap_or(0).clamp("scenario".len(), NAME);
        let mut text = String::new();
        line(
            &mut text,
            format_args!(
                "{:<width$} {:>9} {:>9} {:>8} {:>6} {:>5} {:>6} {:>9} {:>11}  verdict",
                "scenario",
                "runs",
                "sound",
                "expected",
                "safety",
                "stuck",
                "other",
                "vacuous",
                "steps"
            ),
        );
        for scenario in &self.scenarios {
            row(&mut text, scenario, width);
        }
        for scenario in &self.scenarios {
            details(&mut text, scenario);
        }
        text
    }

    /// The scenarios that did not pass though no run failed, behind the number of those that did:
    /// `, but no pass: mixed VACUOUS`; nothing if there is none.
    #[must_use]
    pub fn others(&self) -> String {
        let is_other = |one: &&ScenarioSummary| !one.passed() && one.failed() == 0;
        let others = self.scenarios.iter().filter(is_other);
        let told: Vec<_> = others.map(|one| format!("{} {}", one.name, one.verdict())).collect();
        match told.len().saturating_sub(TOLD) {
            _ if told.is_empty() => String::new(),
            0 => format!(", but no pass: {}", told.join(", ")),
            more => format!(", but no pass: {} and {more} more", told[..TOLD].join(", ")),
        }
    }

    /// `{"format":1,"scenarios":[…]}`, on one line.
    #[must_use]
    pub fn json(&self) -> String {
        let scenarios = list(self.scenarios.iter().map(scenario_json));
        let mut text = Object::new().raw("format", 1).raw("scenarios", scenarios).end();
        text.push('\n');
        text
    }
}

fn row(text: &mut String, scenario: &ScenarioSummary, width: usize) {
    let ScenarioSummary { name, sound, expected, safety, liveness, inconclusive, .. } = scenario;
    let ScenarioSummary { vacuous, steps, .. } = scenario;
    let (runs, verdict) = (scenario.runs(), scenario.verdict());
    line(
        text,
        format_args!(
            "{name:<width$} {runs:>9} {sound:>9} {expected:>8} {safety:>6} {liveness:>5} \
             {inconclusive:>6} {vacuous:>9} {steps:>11}  {verdict}"
        ),
    );
}

fn details(text: &mut String, scenario: &ScenarioSummary) {
    let name = &scenario.name;
    if !scenario.faults.is_empty() {
        let count =
            |fault: &FaultCount| format!("{} {}/{}", fault.name, fault.effective, fault.applied);
        let counts: Vec<String> = scenario.faults.iter().map(count).collect();
        line(text, format_args!("  {name}: effective/applied: {}", counts.join(", ")));
    }
    for fault in &scenario.never_effective {
        line(text, format_args!("  {name}: required, but it never happened: {fault}"));
    }
    if scenario.never_effective.is_empty() && scenario.vacuous == scenario.runs() {
        let one = |Missed { what, runs }: &Missed| format!("{what} ({runs})");
        let missing: Vec<String> = scenario.missing.iter().map(one).collect();
        let missing = missing.join(", ");
        line(text, format_args!("  {name}: each run lacks something required: {missing}"));
    }
    if scenario.violation_missing {
        let kind = if scenario.failed() > 0 { " of that kind" } else { "" };
        line(text, format_args!("  {name}: expects a violation, and there was none{kind}"));
    }
    for seed in &scenario.nondeterministic {
        line(text, format_args!("  {name}: seed {seed}: two different runs"));
    }
    for FailedSeed { seed, what } in &scenario.failures {
        line(text, format_args!("  {name}: seed {seed}: {what}"));
    }
}

/// A scenario's share as one JSON object.
pub(crate) fn scenario_json(scenario: &ScenarioSummary) -> String {
    let faults = scenario.faults.iter().map(|fault| {
        Object::new()
            .string("name", &fault.name)
            .raw("applied", fault.applied)
            .raw("effective", fault.effective)
            .end()
    });
    let failures = scenario
        .failures
        .iter()
        .map(|one| Object::new().raw("seed", one.seed).string("what", &one.what).end());
    let missing = scenario
        .missing
        .iter()
        .map(|one| Object::new().string("what", &one.what).raw("runs", one.runs).end());
    Object::new()
        .string("scenario", &scenario.name)
        .string("verdict", scenario.verdict())
        .raw("runs", scenario.runs())
        .raw("sound", scenario.sound)
        .raw("expected", scenario.expected)
        .raw("safety", scenario.safety)
        .raw("liveness", scenario.liveness)
        .raw("inconclusive", scenario.inconclusive)
        .raw("vacuous", scenario.vacuous)
        .raw("missing", list(missing))
        .raw("steps", scenario.steps)
        .raw("faults", list(faults))
        .raw("never_effective", list(scenario.never_effective.iter().map(|name| string(name))))
        .raw("violation_missing", scenario.violation_missing)
        .raw("nondeterministic", list(scenario.nondeterministic.iter().map(u64::to_string)))
        .raw("failures", list(failures))
        .end()
}
