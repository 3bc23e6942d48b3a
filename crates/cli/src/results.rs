//! Results as JSON and as rows of the summary: nothing here depends on the wall clock or on how
//! many workers there were.

use eosim_report::{FailedSeed, FaultCount, Missed, ScenarioSummary, SweepSummary};
use eosim_runner::history::Judged;
use eosim_runner::recording::word;
use eosim_runner::run::RunResult;
use eosim_runner::sweep;
use eosim_runner::sweep::{Outcome, judge};
use eosim_runner::{Anomaly, Count, Expectation, Lacking, Plan, Stuck, Verdict};
use serde_json::{Map, Value, json};

/// So many failing seeds of a scenario are named in its summary.
const NAMED: usize = 5;

/// A digest as it is written.
#[must_use]
pub fn digest(digest: u64) -> String {
    format!("{digest:016x}")
}

/// Faults that struck, with how often they did and had an effect.
pub(crate) fn fault_counts<'a>(counts: impl IntoIterator<Item = (&'a str, Count)>) -> Value {
    let applied = counts.into_iter().filter(|(_, count)| count.applied > 0);
    let one = |(name, count): (&str, Count)| {
        let Count { applied, effective } = count;
        (name.to_string(), json!({"applied": applied, "effective": effective}))
    };
    Value::Object(applied.map(one).collect::<Map<_, _>>())
}

/// The line of one seed in `summary.jsonl`; `repaired_by` are tickets of later releases.
#[must_use]
pub fn seed_line(scenario: &str, seed: u64, run: &RunResult, repaired_by: Option<&str>) -> String {
    let mut line = json!({
        "scenario": scenario,
        "seed": seed,
        "verdict": word(&run.verdict),
        "steps": run.steps,
        "virtual_ms": run.ended_at.as_millis(),
        "digest": digest(run.digest),
        "faults": fault_counts(run.faults.iter().copied()),
    });
    if !run.aimed.is_empty() {
        line["aimed"] = aimed_counts(&run.aimed);
    }
    if !run.missing.is_empty() {
        line["missing"] = json!(run.missing);
    }
    if let Some(tickets) = repaired_by {
        line["repaired_by"] = json!(tickets);
    }
    line.to_string() + "\n"
}

/// A verdict with everything that is known about it.
#[must_use]
pub fn verdict(scenario: &str, seed: u64, run: &RunResult) -> Value {
    let mut value = json!({
        "format": 1,
        "scenario": scenario,
        "seed": seed,
        "verdict": word(&run.verdict),
        "steps": run.steps,
        "virtual_ms": run.ended_at.as_millis(),
        "digest": digest(run.digest),
        "faults": fault_counts(run.faults.iter().copied()),
        "missing": run.missing,
    });
    if !run.aimed.is_empty() {
        value["aimed"] = aimed_counts(&run.aimed);
    }
    reasons(&mut value, &run.verdict);
    value
}

/// How often each rule of `aimed` struck, in the order of the scenario.
fn aimed_counts(rules: &[Count]) -> Value {
    let one = |count: &Count| json!({"applied": count.applied, "effective": count.effective});
    rules.iter().map(one).collect()
}

/// What a verdict rests on.
fn reasons(value: &mut Value, verdict: &Verdict) {
    match verdict {
        Verdict::Sound => {}
        Verdict::Safety(anomalies) => value["anomalies"] = anomalies.iter().map(anomaly).collect(),
        Verdict::Liveness(list) => value["stuck"] = list.iter().map(stuck).collect(),
        Verdict::Inconclusive(why) => value["why"] = json!(why),
    }
}

/// The verdict over the history in `file`, and the invariants for which it lacks something.
#[must_use]
pub fn checked(file: &str, judged: &Judged) -> Value {
    let mut value = json!({
        "format": 1,
        "history": file,
        "verdict": word(&judged.verdict),
        "observations": judged.observations,
        "ended_ms": judged.ended_at.as_millis(),
        "not_judged": lacking(judged, false),
        "judged_in_part": lacking(judged, true),
    });
    reasons(&mut value, &judged.verdict);
    value
}

fn lacking(judged: &Judged, in_part: bool) -> Value {
    let one = |lacking: &Lacking| {
        let missing: Vec<&str> = lacking.missing.iter().map(|need| need.about()).collect();
        json!({"invariant": lacking.invariant.name, "missing": missing})
    };
    judged.lacking.iter().filter(|lacking| lacking.in_part == in_part).map(one).collect()
}

fn anomaly(anomaly: &Anomaly) -> Value {
    json!({
        "invariant": anomaly.invariant,
        "at_ms": anomaly.at.as_millis(),
        "step": anomaly.step,
        "summary": anomaly.summary,
        "rule": anomaly.rule,
        "skeleton": anomaly.skeleton,
        "fingerprint": digest(anomaly.fingerprint),
    })
}

fn stuck(stuck: &Stuck) -> Value {
    let Stuck { what, waiting_for, since, rule } = stuck;
    let since_ms = since.as_millis();
    json!({"what": what, "waiting_for": waiting_for, "since_ms": since_ms, "rule": rule})
}

fn failed_seed(failure: &sweep::Failure) -> FailedSeed {
    FailedSeed { seed: failure.seed, what: failure.what.clone() }
}

/// The table over one run.
#[must_use]
pub fn single(plan: &Plan, seed: u64, run: &RunResult) -> SweepSummary {
    let outcome = judge(&run.verdict, &plan.expect);
    let faults = run.faults.iter().filter(|(_, count)| count.applied > 0);
    let mut own = ScenarioSummary {
        name: plan.name.clone(),
        vacuous: u64::from(!run.missing.is_empty()),
        missing: run.missing.iter().map(|what| missed(what, 1)).collect(),
        steps: run.steps,
        faults: faults.map(|(name, count)| fault(name, *count)).chain(aimed(&run.aimed)).collect(),
        never_effective: run.missing.clone(),
        violation_missing: outcome == Outcome::Sound && plan.expect != Expectation::Sound,
        ..ScenarioSummary::default()
    };
    let count = match (outcome, &run.verdict) {
        (Outcome::Sound, _) => &mut own.sound,
        (Outcome::Expected, _) => &mut own.expected,
        (Outcome::Failed, Verdict::Liveness(_)) => &mut own.liveness,
        (Outcome::Failed, Verdict::Inconclusive(_)) => &mut own.inconclusive,
        (Outcome::Failed, _) => &mut own.safety,
    };
    *count = 1;
    if outcome == Outcome::Failed {
        own.failures = vec![FailedSeed { seed, what: word(&run.verdict).to_string() }];
    }
    SweepSummary { scenarios: vec![own] }
}

fn missed(what: &str, runs: u64) -> Missed {
    Missed { what: what.to_string(), runs }
}

fn fault(name: &str, count: Count) -> FaultCount {
    let Count { applied, effective } = count;
    FaultCount { name: name.to_string(), applied, effective }
}

/// The rules of `aimed` beside the faults that strike by chance.
fn aimed(rules: &[Count]) -> impl Iterator<Item = FaultCount> {
    rules.iter().enumerate().map(|(at, count)| fault(&format!("aimed[{at}]"), *count))
}

/// The table over all scenarios.
#[must_use]
pub fn summary(found: &sweep::SweepSummary) -> SweepSummary {
    let scenarios = found.scenarios.iter().enumerate();
    SweepSummary { scenarios: scenarios.map(|(at, own)| scenario(found, at, own)).collect() }
}

fn scenario(
    found: &sweep::SweepSummary,
    at: usize,
    own: &sweep::ScenarioSummary,
) -> ScenarioSummary {
    let failures = found.failures.iter().filter(|failure| failure.scenario == at).take(NAMED);
    let faults = own.faults.iter().filter(|(_, count)| count.applied > 0);
    let twice = found.nondeterministic.iter().filter(|(scenario, _)| *scenario == at);
    let known = own.repaired.values().map(|(seeds, _)| seeds).sum();
    ScenarioSummary {
        name: own.name.clone(),
        sound: own.sound,
        expected: own.expected + known,
        known,
        safety: own.safety,
        liveness: own.liveness,
        inconclusive: own.inconclusive,
        vacuous: own.vacuous_runs,
        missing: own.missing.iter().map(|(what, runs)| missed(what, *runs)).collect(),
        steps: own.steps,
        faults: faults.map(|(name, count)| fault(name, *count)).chain(aimed(&own.aimed)).collect(),
        never_effective: own.vacuous.clone(),
        violation_missing: own.violation_missing,
        nondeterministic: twice.map(|(_, seed)| *seed).collect(),
        failures: failures.map(failed_seed).collect(),
    }
}
