//! `eosim run`: one seed, watched; everything about it is kept.

use eosim_report::{RunName, footer_with};
use eosim_runner::exit::ExitCode;
use eosim_runner::recording::{Recording, record};
use eosim_runner::run::RunResult;
use eosim_runner::sweep::{Outcome, judge};
use eosim_runner::{Expectation, Verdict};
use serde_json::json;

use super::Failure;
use crate::args::{Format, OutputArgs, RunArgs};
use crate::coverage::Coverage;
use crate::input::{self, Model};
use crate::render::DESCRIBE;
use crate::{artefacts, output, results};

pub(super) fn run(args: &RunArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let model = Model::of(&args.model)?;
    let scenario = [input::scenario(&args.scenario, &model)?];
    let folder = artefacts::folder(&args.out, &scenario, "run", json!({"seed": args.seed.0}));
    let folder = folder.map_err(|error| Failure::unwritable(&error))?;
    let (recording, observed) = record(&scenario[0], args.seed.0, model.defects, DESCRIBE);
    let run = &observed.result;
    artefacts::keep(&folder, "", &recording, &observed)?;
    let plan = &recording.plan;
    folder.write("summary.jsonl", &results::seed_line(&plan.name, recording.seed, run, None))?;
    let coverage = Coverage::of(&observed.marks, run.faults.iter().copied());
    artefacts::keep_coverage(&folder, &coverage)?;
    folder.write(artefacts::SUMMARY, &results::single(plan, recording.seed, run).json())?;
    let is_failure = judge(&run.verdict, &plan.expect) == Outcome::Failed;
    let mut shown = folder.path().to_path_buf();
    let mut needed = None;
    if is_failure {
        let place = artefacts::failure_place(recording.seed, &plan.name, &[]);
        artefacts::keep(&folder, &place, &recording, &observed)?;
        artefacts::keep_timeline(&folder, &place, &recording, &observed)?;
        needed = artefacts::explain(&folder, &place, &recording, &observed)?;
        shown = shown.join(place);
    }
    folder.make_latest()?;
    let shown = shown.display().to_string();
    let text = match how.format {
        Format::Text => {
            let plan = if args.print_plan { plan.to_json() } else { String::new() };
            plan + &verdict_text(&recording, run, &shown, needed.as_deref())
        }
        Format::Json | Format::Jsonl => {
            let mut value = results::verdict(&plan.name, recording.seed, run);
            value["folder"] = json!(shown);
            if args.print_plan {
                value["plan"] = json!(plan);
            }
            value.to_string() + "\n"
        }
    };
    output::print(&text)?;
    Ok(exit(&run.verdict, &plan.expect))
}

/// What a user reads about one run whose artefacts are in `folder`; `needed` is what its explanation
/// says in short, if it has one.
pub(super) fn verdict_text(
    recording: &Recording,
    run: &RunResult,
    folder: &str,
    needed: Option<&str>,
) -> String {
    let Recording { plan, seed, .. } = recording;
    let RunResult { verdict, steps, ended_at, .. } = run;
    let name = RunName {
        scenario: &plan.name,
        seed: *seed,
        steps: *steps,
        ended: *ended_at,
        folder: Some(folder),
        is_explained: needed.is_some(),
    };
    let notes: Vec<String> = needed.into_iter().map(String::from).collect();
    let expected = match (judge(verdict, &plan.expect), &plan.expect) {
        (Outcome::Expected, _) => "the scenario expects this violation\n".to_string(),
        (Outcome::Sound, Expectation::Violation(names)) => {
            format!("NO VIOLATION   the scenario expects one: {}\n", names.join(", "))
        }
        (Outcome::Failed, Expectation::Violation(names)) => {
            format!("NOT AS EXPECTED   the scenario expects {} alone\n", names.join(", "))
        }
        _ => String::new(),
    };
    let vacuous = match run.missing.as_slice() {
        [] => String::new(),
        missing => format!("vacuous    required, but it did not happen: {}\n", missing.join(", ")),
    };
    format!("artefacts  {folder}\n{expected}{vacuous}{}", footer_with(verdict, name, &notes))
}

/// How a single run ends that came out with `verdict`.
pub(super) fn exit(verdict: &Verdict, expectation: &Expectation) -> ExitCode {
    match (judge(verdict, expectation), expectation) {
        (Outcome::Sound, Expectation::Violation(_)) => ExitCode::Survived,
        (outcome, _) => outcome.exit(verdict),
    }
}
