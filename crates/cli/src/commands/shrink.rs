//! `eosim shrink`: the smallest run that fails in the same way, as a scenario and a choice list.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use eosim_report::shell::quoted;
use eosim_report::{RunName, footer_with};
use eosim_runner::exit::ExitCode;
use eosim_runner::shrink::{Budget, SEEDS, Shrink, Shrunk, Size, Unshrinkable};
use eosim_runner::store::RunFolder;
use serde_json::{Value, json};

use super::replay::open;
use super::run::exit;
use super::{Failure, jobs};
use crate::args::{Format, OutputArgs, ProgressMode, ShrinkArgs};
use crate::progress::Progress;
use crate::render::DESCRIBE;
use crate::{artefacts, interrupt, output, results};

/// How long it takes at most if nothing is said.
const TIME: Duration = Duration::from_secs(60);

/// The scenario that is left.
const SCENARIO: &str = "scenario.json";

pub(super) fn run(args: &ShrinkArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let path = artefacts::find_choices(&args.path)?;
    let recording = open(&path, false)?;
    let stop = interrupt::watch();
    let mode = if how.quiet { ProgressMode::None } else { how.progress };
    let mut progress = Progress::new(mode, None);
    let shrink = Shrink {
        recording: &recording,
        jobs: jobs(args.jobs),
        budget: budget(args),
        stop,
        describe: DESCRIBE,
    };
    let shrunk = shrink.run(&mut || progress.advance(false));
    progress.finish();
    let shrunk = match shrunk {
        Ok(shrunk) => shrunk,
        Err(why) => return Ok(refuse(&path, &why)),
    };
    let folder = keep(&place(args, &path), &shrunk)?;
    let text = match how.format {
        Format::Text => text(&shrunk, &folder),
        Format::Json | Format::Jsonl => value(&shrunk, &folder).to_string() + "\n",
    };
    output::print(&text)?;
    if stop.load(Ordering::Relaxed) {
        return Ok(ExitCode::Interrupted);
    }
    Ok(exit(shrunk.verdict(), &recording.plan.expect))
}

fn budget(args: &ShrinkArgs) -> Budget {
    let time = args.time.map(|time| time.0);
    let time = time.or_else(|| args.steps.is_none().then_some(TIME));
    Budget { steps: args.steps, deadline: time.and_then(|time| Instant::now().checked_add(time)) }
}

fn refuse(path: &Path, why: &Unshrinkable) -> ExitCode {
    let path = path.display().to_string();
    match why {
        Unshrinkable::NotAsRecorded => {
            output::print_error(format!(
                "{path}: not as recorded; see: eosim replay {}",
                quoted(&path)
            ));
            ExitCode::NotReplayable
        }
        Unshrinkable::NothingBroken(verdict) => {
            output::print_error(format!("{path}: nothing is broken in this run: {verdict}"));
            ExitCode::Inconclusive
        }
    }
}

fn place(args: &ShrinkArgs, choices: &Path) -> PathBuf {
    let beside = || choices.parent().unwrap_or(Path::new(".")).join("shrunk");
    args.out.clone().unwrap_or_else(beside)
}

/// Keeps what is left at `place`, and says where.
fn keep(place: &Path, shrunk: &Shrunk) -> Result<String, Failure> {
    let folder = RunFolder::at(place).map_err(|error| Failure::unwritable(&error))?;
    artefacts::keep(&folder, "", &shrunk.recording, &shrunk.observed)?;
    folder.write(SCENARIO, &shrunk.scenario.to_json())?;
    Ok(place.display().to_string())
}

fn text(shrunk: &Shrunk, folder: &str) -> String {
    let Shrunk { recording, observed, .. } = shrunk;
    let name = RunName {
        scenario: &recording.plan.name,
        seed: recording.seed,
        steps: recording.steps,
        ended: observed.result.ended_at,
        folder: Some(folder),
        is_explained: false,
    };
    footer_with(shrunk.verdict(), name, &[sizes(shrunk), seeds(shrunk, folder)])
}

/// `shrunk: 3 faults → 1, 212 operations → 4, 4127 steps → 96`.
fn sizes(shrunk: &Shrunk) -> String {
    let Shrunk { before, after, runs, .. } = shrunk;
    let end = if shrunk.is_smallest { "" } else { ", then the budget was used up" };
    format!(
        "shrunk: {} faults → {}, {} operations → {}, {} steps → {}   ({runs} runs{end})",
        before.faults, after.faults, before.operations, after.operations, before.steps, after.steps
    )
}

/// Whether the scenario needs its choices.
fn seeds(shrunk: &Shrunk, folder: &str) -> String {
    let failing = shrunk.failing_seeds;
    let defects = shrunk.recording.defects.iter();
    let defects: String = defects.map(|defect| format!(" --defect {}", defect.name())).collect();
    let scenario = quoted(&format!("{folder}/{SCENARIO}"));
    let command = format!("eosim run {scenario}{defects}");
    match failing {
        SEEDS => format!("fails at each of {SEEDS} seeds: {command}"),
        _ => format!("needs its choices: fails at {failing} of {SEEDS} seeds: {command}"),
    }
}

fn value(shrunk: &Shrunk, folder: &str) -> Value {
    let Shrunk { recording, observed, .. } = shrunk;
    let mut value = results::verdict(&recording.plan.name, recording.seed, &observed.result);
    value["before"] = size(shrunk.before);
    value["after"] = size(shrunk.after);
    value["runs"] = json!(shrunk.runs);
    value["steps_spent"] = json!(shrunk.steps);
    value["is_smallest"] = json!(shrunk.is_smallest);
    value["seeds"] = json!(SEEDS);
    value["failing_seeds"] = json!(shrunk.failing_seeds);
    value["folder"] = json!(folder);
    value
}

fn size(size: Size) -> Value {
    let Size { faults, operations, steps } = size;
    json!({"faults": faults, "operations": operations, "steps": steps})
}
