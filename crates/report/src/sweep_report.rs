//! What a kept run or sweep came to, for people and for other tools.
//!
//! A form is one file and one line of [`FORMS`]. Nothing depends on the wall clock or on a machine;
//! each form is bounded, however many seeds failed.

mod github;
mod junit;
mod page;

use crate::json::{Object, list, string};
use crate::summary::{ScenarioSummary, scenario_json};

/// What is known of a sweep.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SweepReport {
    /// What the folder of the run is called.
    pub name: String,
    /// The arguments that the tool was called with.
    pub arguments: Vec<String>,
    /// How many runs belong to the sweep and were not made: it was stopped, or shares of it were not
    /// there to be merged.
    pub missing: u64,
    /// In the order of the sweep, each with its file.
    pub scenarios: Vec<(ScenarioSummary, String)>,
    /// The failing seeds that were kept.
    pub failures: Vec<ReportedFailure>,
    /// Of the rules, the hazards and states, and the cells: how many were reached, how many never,
    /// and how many cannot be.
    pub coverage: Vec<(String, [u64; 3])>,
}

/// A failing seed that was kept.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReportedFailure {
    /// Its scenario.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// The invariant that broke first, or `stuck`.
    pub what: String,
    /// In one sentence.
    pub summary: String,
    /// The rule behind it.
    pub rule: String,
    /// Failures of one kind have one fingerprint.
    pub fingerprint: String,
    /// Its folder, as the user would name it.
    pub folder: String,
}

/// Failures of one kind.
struct Kind<'a> {
    first: &'a ReportedFailure,
    seeds: Vec<(&'a str, u64)>,
}

/// A form of the report.
#[derive(Clone, Copy)]
pub struct ReportForm {
    /// What it is called.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Renders it.
    pub render: fn(&SweepReport) -> String,
}

const fn form(
    name: &'static str,
    about: &'static str,
    render: fn(&SweepReport) -> String,
) -> ReportForm {
    ReportForm { name, about, render }
}

/// All forms.
pub const FORMS: &[ReportForm] = &[
    form("text", "For people, on a terminal", |report| page::page(report).text()),
    form("markdown", "To paste, or as the summary of a CI job", |report| {
        page::page(report).markdown()
    }),
    form("html", "One file that opens anywhere", |report| page::page(report).html()),
    form("json", "One JSON value", json),
    form("junit", "JUnit's XML: a test case for each scenario", junit::junit),
    form("github", "Annotations of a GitHub workflow", github::github),
];

fn json(report: &SweepReport) -> String {
    let failure = |one: &ReportedFailure| {
        Object::new()
            .string("scenario", &one.scenario)
            .raw("seed", one.seed)
            .string("what", &one.what)
            .string("summary", &one.summary)
            .string("rule", &one.rule)
            .string("fingerprint", &one.fingerprint)
            .string("folder", &one.folder)
            .end()
    };
    let coverage = |(name, [reached, never, cannot]): &(String, [u64; 3])| {
        let counts = Object::new().raw("reached", reached).raw("never", never);
        Object::new().string("of", name).raw("counts", counts.raw("cannot_be", cannot).end()).end()
    };
    let text = Object::new()
        .raw("format", 1)
        .string("run", &report.name)
        .raw("missing", report.missing)
        .raw("arguments", list(report.arguments.iter().map(|word| string(word))))
        .raw("scenarios", list(report.scenarios.iter().map(|(one, _)| scenario_json(one))))
        .raw("failures", list(report.failures.iter().map(failure)))
        .raw("coverage", list(report.coverage.iter().map(coverage)));
    text.end() + "\n"
}

/// Why a scenario did not pass, in one line.
fn reason(scenario: &ScenarioSummary) -> String {
    let seeds = scenario.failures.iter().map(|one| format!("seed {}: {}", one.seed, one.what));
    let missing = scenario.never_effective.iter().map(|one| format!("it never happened: {one}"));
    let twice = scenario.nondeterministic.iter().map(|seed| format!("seed {seed}: two runs"));
    let all: Vec<String> = seeds.chain(missing).chain(twice).collect();
    let all = if all.is_empty() { "see the summary".to_string() } else { all.join("; ") };
    format!("{}: {all}", scenario.verdict())
}

impl SweepReport {
    fn runs(&self) -> u64 {
        self.scenarios.iter().fold(0, |sum: u64, (one, _)| sum.saturating_add(one.runs()))
    }

    /// What it lacks of a whole sweep, if anything.
    fn lacks(&self) -> Option<String> {
        let (runs, missing) = (self.runs(), self.missing);
        let all = runs.saturating_add(missing);
        (missing > 0).then(|| format!("{missing} of {all} runs: this is no verdict over the whole"))
    }

    fn failed(&self) -> u64 {
        self.scenarios.iter().fold(0, |sum: u64, (one, _)| sum.saturating_add(one.failed()))
    }

    /// The kept failures by kind, in the order in which each was met first.
    fn kinds(&self) -> Vec<Kind<'_>> {
        let mut kinds: Vec<Kind<'_>> = Vec::new();
        for failure in &self.failures {
            let seed = (failure.scenario.as_str(), failure.seed);
            let is_same = |kind: &&mut Kind<'_>| {
                (&kind.first.what, &kind.first.fingerprint) == (&failure.what, &failure.fingerprint)
            };
            match kinds.iter_mut().find(is_same) {
                Some(kind) => kind.seeds.push(seed),
                None => kinds.push(Kind { first: failure, seeds: vec![seed] }),
            }
        }
        kinds
    }
}
