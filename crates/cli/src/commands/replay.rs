//! `eosim replay`: a kept run again, by its choices, compared with what was recorded.

use std::path::Path;

use eosim_runner::exit::ExitCode;
use eosim_runner::recording::{MODEL_VERSION, Recording, Replayed, read, word};
use serde_json::json;

use super::Failure;
use super::run::{exit, verdict_text};
use crate::args::{Format, OutputArgs, ReplayArgs};
use crate::render::DESCRIBE;
use crate::results::digest;
use crate::{artefacts, input, output, results};

pub(super) fn run(args: &ReplayArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let path = artefacts::find_choices(&args.path)?;
    let recording = open(&path, args.force)?;
    let replayed = recording.replay(DESCRIBE);
    let run = &replayed.observed.result;
    let differences = differences(&recording, &replayed);
    let folder = path.parent().unwrap_or(Path::new(".")).display().to_string();
    let text = match how.format {
        Format::Text => verdict_text(&recording, run, &folder, None),
        Format::Json | Format::Jsonl => {
            let mut value = results::verdict(&recording.plan.name, recording.seed, run);
            value["as_recorded"] = json!(differences.is_empty());
            value["differences"] = json!(differences);
            value.to_string() + "\n"
        }
    };
    for difference in &differences {
        output::print_error(format!("not as recorded: {difference}"));
    }
    if replayed.left.is_some() && !args.force {
        return Ok(ExitCode::NotReplayable);
    }
    output::print(&text)?;
    if differences.is_empty() && how.format == Format::Text {
        output::talk(how, "replayed as recorded: the same choices, steps, digest and verdict");
    }
    if args.expect_recorded && !differences.is_empty() {
        return Ok(ExitCode::NotReplayable);
    }
    Ok(exit(&run.verdict, &recording.plan.expect))
}

/// Reads the recording at `path`; one of another model only by `force`.
pub(super) fn open(path: &Path, force: bool) -> Result<Recording, Failure> {
    let recording = read(path, &input::invariant_names())?;
    if recording.is_replayable() || force {
        return Ok(recording);
    }
    let message = format!(
        "{}: model: found {}, expected {MODEL_VERSION}: the recording is of another model; \
         --force replays it all the same",
        path.display(),
        recording.model
    );
    Err(Failure { exit: ExitCode::NotReplayable, message })
}

/// In what the run is not the one that was recorded.
pub(super) fn differences(recording: &Recording, replayed: &Replayed) -> Vec<String> {
    let run = &replayed.observed.result;
    let mut differences = Vec::new();
    if let Some(left) = &replayed.left {
        differences.push(left.to_string());
    } else if replayed.unused > 0 {
        differences.push(format!("{} recorded choices were not asked for", replayed.unused));
    }
    let pairs = [
        ("steps", recording.steps.to_string(), run.steps.to_string()),
        ("digest", digest(recording.digest), digest(run.digest)),
        ("verdict", recording.verdict.clone(), word(&run.verdict).to_string()),
    ];
    let unequal = pairs.into_iter().filter(|(_, recorded, now)| recorded != now);
    differences.extend(
        unequal.map(|(what, recorded, now)| format!("{what}: recorded {recorded}, now {now}")),
    );
    differences
}
