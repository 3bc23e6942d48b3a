//! A run that was looked at, as reports and pages take it.

use eosim_report::RunReport;
use eosim_runner::look::Look;
use eosim_runner::recording::Recording;

/// What there is to tell of the run; `at` is the step that is asked for, if one is.
#[must_use]
pub fn run_report(recording: &Recording, look: &Look, at: Option<u64>) -> RunReport {
    let run = &look.observed;
    RunReport {
        scenario: recording.plan.name.clone(),
        seed: recording.seed,
        verdict: recording.verdict.clone(),
        broken: look.broken.clone(),
        steps: recording.steps,
        at,
        actors: run.actors.clone(),
        names: run.names.clone(),
        moments: look.moments.clone(),
        turns: look.turns.clone(),
        changes: look.changes.clone(),
    }
}
