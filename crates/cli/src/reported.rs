//! What a kept run or sweep came to, read from its folder.

use std::fs;
use std::path::{Path, PathBuf};

use eosim_report::sweep_report::{ReportedFailure, SweepReport};
use eosim_report::{ScenarioSummary, SweepSummary};
use eosim_runner::store::Checkpoint;
use eosim_runner::{InputError, json};
use serde_json::Value;

use crate::artefacts;
use crate::coverage::Coverage;
use crate::settings::Settings;

/// Reads what is kept in `folder`.
///
/// # Errors
/// If it is no kept run, or one of its files is none that was written there.
pub fn read(folder: &Path) -> Result<SweepReport, InputError> {
    let manifest = value_in(&folder.join("manifest.json"))?;
    let summary = folder.join(artefacts::SUMMARY);
    let sums: SweepSummary = serde_json::from_value(value_in(&summary)?)
        .map_err(|error| wrong(&summary, error.to_string()))?;
    let coverage = Coverage::read(&folder.join(artefacts::COVERAGE))?;
    let own_name = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    let own_name = own_name.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(SweepReport {
        name: own_name.unwrap_or_default(),
        arguments: words(&manifest["arguments"]),
        missing: missing(folder),
        scenarios: with_files(sums.scenarios, &manifest["scenarios"]),
        failures: failures(folder)?,
        coverage: coverage.totals(),
    })
}

/// What is expected of the files in a kept run's folder.
const WRITTEN: &str = "a file that eosim has written";

fn wrong(path: &Path, found: String) -> InputError {
    InputError::new(path.display().to_string(), "", found, WRITTEN)
}

fn value_in(path: &Path) -> Result<Value, InputError> {
    let text = json::read_text(path, json::FILE_MAX, WRITTEN)?;
    serde_json::from_str(&text).map_err(|error| wrong(path, error.to_string()))
}

/// How many runs of the sweep in `folder` were not made, if it is one with an end.
fn missing(folder: &Path) -> u64 {
    let settings = Settings::read(folder).ok();
    let all = settings.and_then(|settings| settings.runs());
    let made = Checkpoint::read(folder).map_or(0, |progress| progress.state.seeds());
    all.map_or(0, |all| all.saturating_sub(made))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

fn words(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

/// Each scenario with its file, as the manifest has it.
fn with_files(scenarios: Vec<ScenarioSummary>, manifest: &Value) -> Vec<(ScenarioSummary, String)> {
    let files = manifest.as_array().map(Vec::as_slice).unwrap_or_default();
    let files = files.iter().map(|one| text(&one["file"])).chain(std::iter::repeat(String::new()));
    scenarios.into_iter().zip(files).collect()
}

/// The failing seeds that were kept, in the order of their names.
fn failures(folder: &Path) -> Result<Vec<ReportedFailure>, InputError> {
    let entries = fs::read_dir(folder.join(artefacts::FAILURES)).into_iter().flatten().flatten();
    let mut places: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    places.sort();
    places.iter().map(|place| failure(place)).collect()
}

fn failure(place: &Path) -> Result<ReportedFailure, InputError> {
    let verdict = value_in(&place.join("verdict.json"))?;
    let (anomaly, stuck) = (&verdict["anomalies"][0], &verdict["stuck"][0]);
    let told = match (anomaly.is_null(), stuck.is_null()) {
        (false, _) => text(&anomaly["summary"]),
        (_, false) => format!("{} waits for {}", text(&stuck["what"]), text(&stuck["waiting_for"])),
        _ => text(&verdict["why"]),
    };
    let rule = if anomaly.is_null() { &stuck["rule"] } else { &anomaly["rule"] };
    Ok(ReportedFailure {
        scenario: text(&verdict["scenario"]),
        seed: verdict["seed"].as_u64().unwrap_or_default(),
        what: text(&verdict["verdict"]),
        summary: told,
        rule: text(rule),
        fingerprint: text(&anomaly["fingerprint"]),
        folder: place.display().to_string(),
    })
}
