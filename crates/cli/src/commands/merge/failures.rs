//! The failing seeds that the sweeps have kept, brought together.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use eosim_report::shell::quoted;
use eosim_runner::json;
use eosim_runner::store::RunFolder;
use eosim_runner::sweep::{Failure as Failing, FailureClass, SweepSummary};
use serde_json::Value;

use super::parts::Part;
use crate::artefacts::{CHOICES, FAILURES, failure_place};
use crate::commands::Failure;
use crate::commands::sweep::KEPT;

/// What is expected in the folder of a failing seed.
const KEPT_FILE: &str = "a file of a kept run";

/// So many failing seeds are shown.
const SHOWN: usize = 5;

/// Copies what the sweeps have kept of the failing seeds of the whole; a sweep that was killed has
/// kept none.
pub(super) fn copy(
    parts: &[Part],
    summary: &SweepSummary,
    folder: &RunFolder,
) -> Result<(), Failure> {
    for (failing, place) in places(summary) {
        if let Some(kept) = parts.iter().find_map(|part| kept_by(part, failing)) {
            copy_folder(&kept, folder, &place)?;
        }
    }
    Ok(())
}

/// The failing seeds that are kept, each with its place.
fn places(summary: &SweepSummary) -> Vec<(&Failing, String)> {
    let mut taken: Vec<String> = Vec::new();
    let failures = summary.failures.iter().take(KEPT);
    let placed = failures.map(|failing| {
        let place = failure_place(failing.seed, &failing.scenario_name, &taken);
        taken.push(place.clone());
        (failing, place)
    });
    placed.collect()
}

/// Where `part` has kept `failing`, if it has.
fn kept_by(part: &Part, failing: &Failing) -> Option<PathBuf> {
    let seed = failing.seed;
    let names = [seed.to_string(), format!("{seed}-{}", failing.scenario_name)];
    let mut places = names.into_iter().map(|name| part.path.join(FAILURES).join(name));
    places.find(|place| {
        let verdict = place.join("verdict.json");
        let text = json::read_text(&verdict, json::FILE_MAX, KEPT_FILE).unwrap_or_default();
        let verdict: Value = serde_json::from_str(&text).unwrap_or_default();
        verdict["scenario"] == failing.scenario_name.as_str() && place.join(CHOICES).is_file()
    })
}

/// Copies everything below `from` to `place` of `folder`.
fn copy_folder(from: &Path, folder: &RunFolder, place: &str) -> Result<(), Failure> {
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let place = format!("{place}/{name}");
        if path.is_dir() {
            copy_folder(&path, folder, &place)?;
            continue;
        }
        folder.write(&place, &json::read_text(&path, json::FILE_MAX, KEPT_FILE)?)?;
    }
    Ok(())
}

/// What is said of the first of them.
pub(in crate::commands) fn text(out: &Path, summary: &SweepSummary) -> String {
    let mut text = String::new();
    for (failing, place) in places(summary).into_iter().take(SHOWN) {
        let word = match failing.class {
            FailureClass::Safety => "VIOLATION",
            FailureClass::Liveness => "STUCK",
            FailureClass::Inconclusive => "INCONCLUSIVE",
        };
        let Failing { what, scenario_name, seed, steps, .. } = failing;
        let _ = writeln!(text, "{word} {what}   scenario={scenario_name} seed={seed} step={steps}");
        let choices = out.join(place).join(CHOICES);
        let _ = if choices.is_file() {
            writeln!(text, "  reproduce: eosim replay {}", quoted(&choices.display().to_string()))
        } else {
            writeln!(text, "  no sweep has kept it; eosim run with --seed {seed} shows it")
        };
    }
    text
}
