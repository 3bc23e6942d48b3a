//! `eosim report`: what a kept run or sweep came to.

use std::fs;
use std::path::{Path, PathBuf};

use eosim_report::sweep_report::{FORMS, ReportedFailure, SweepReport};
use eosim_report::{ScenarioSummary, SweepSummary, run_report};
use eosim_runner::InputError;
use eosim_runner::exit::ExitCode;
use serde_json::Value;

use super::Failure;
use super::replay::open;
use super::show::look;
use crate::args::ReportArgs;
use crate::coverage::Coverage;
use crate::{artefacts, output, pages};

pub(super) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    if let Some(form) = run_report::FORMS.iter().find(|form| form.name == args.form) {
        let path = artefacts::find_choices(&args.run)?;
        let recording = open(&path, false)?;
        let look = look(&recording, None, &path)?;
        output::print(&(form.render)(&pages::run_report(&recording, &look, None)))?;
        return Ok(ExitCode::Fine);
    }
    let report = read(&find(&args.run)?)?;
    let form = FORMS.iter().find(|form| form.name == args.form);
    let form = form.expect("clap knows the forms");
    output::print(&(form.render)(&report))?;
    Ok(ExitCode::Fine)
}

/// The folder that the user means by `run`.
fn find(run: &Path) -> Result<PathBuf, InputError> {
    artefacts::places(run)
        .into_iter()
        .find(|place| place.join(artefacts::SUMMARY).is_file())
        .ok_or_else(|| {
            let found = "no such folder, or one without summary.json";
            let expected = "the folder of a run or a sweep that has ended";
            InputError::new(run.display().to_string(), "", found, expected)
        })
}

fn read(folder: &Path) -> Result<SweepReport, InputError> {
    let manifest = json(&folder.join("manifest.json"))?;
    let summary = folder.join(artefacts::SUMMARY);
    let sums: SweepSummary = serde_json::from_value(json(&summary)?)
        .map_err(|error| wrong(&summary, error.to_string()))?;
    let coverage = Coverage::read(&folder.join(artefacts::COVERAGE))?;
    let own_name = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    let own_name = own_name.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(SweepReport {
        name: own_name.unwrap_or_default(),
        arguments: words(&manifest["arguments"]),
        scenarios: with_files(sums.scenarios, &manifest["scenarios"]),
        failures: failures(folder)?,
        coverage: coverage.totals(),
    })
}

fn wrong(path: &Path, found: String) -> InputError {
    InputError::new(path.display().to_string(), "", found, "a file that eosim has written")
}

fn json(path: &Path) -> Result<Value, InputError> {
    let text = fs::read_to_string(path).map_err(|error| wrong(path, error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| wrong(path, error.to_string()))
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
    let verdict = json(&place.join("verdict.json"))?;
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
