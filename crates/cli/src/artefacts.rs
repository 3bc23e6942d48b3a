//! What is kept of a run: which files, and what is in them.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Component, Path, PathBuf};

use eosim_report::run_report::{self, Filter, RunReport};
use eosim_runner::explain::Explain;
use eosim_runner::look;
use eosim_runner::recording::{MODEL_VERSION, Observed, Recording};
use eosim_runner::store::{self, Checkpoint, RunFolder, StoreError};
use eosim_runner::{InputError, RNG_VERSION, ScenarioFile};
use eosim_types::digest::Digest;
use serde_json::{Value, json};

use crate::coverage::Coverage;
use crate::{pages, render, results};

/// The file that a run can be replayed from.
pub const CHOICES: &str = "choices.json";

/// The resolved plan of a run.
pub const PLAN: &str = "plan.json";

/// The file that says why a run failed.
pub const EXPLANATION: &str = "explain.md";

/// The file that shows a failing run step by step.
pub const TIMELINE: &str = "timeline.html";

/// The file that says what was reached.
pub const COVERAGE: &str = "coverage.json";

/// The file that sums a run or a sweep up.
pub const SUMMARY: &str = store::SUMMARY;

/// The folder of failing seeds.
pub const FAILURES: &str = "failures";

/// Where runs are kept unless the user says otherwise.
pub const STORE: &str = "sim-runs";

/// A folder for `scenarios` in `store`, with its manifest.
///
/// # Errors
/// If it cannot be written.
pub fn folder(
    store: &Path,
    scenarios: &[ScenarioFile],
    verb: &str,
    more: Value,
) -> Result<RunFolder, StoreError> {
    let name = match scenarios {
        [only] => &only.head().name,
        _ => verb,
    };
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
    let folder = RunFolder::create(store, name, &arguments.join(" "))?;
    let mut manifest = json!({
        "format": 1,
        "tool": env!("CARGO_PKG_VERSION"),
        "model": MODEL_VERSION,
        "rng": RNG_VERSION,
        "arguments": arguments,
        "scenarios": scenarios.iter().map(scenario).collect::<Vec<_>>(),
    });
    if let (Value::Object(manifest), Value::Object(more)) = (&mut manifest, more) {
        manifest.extend(more);
    }
    folder.write(store::MANIFEST, &pretty(&manifest))?;
    Ok(folder)
}

/// What the manifest says of a scenario.
#[must_use]
pub fn scenario(file: &ScenarioFile) -> Value {
    let digest = results::digest(Digest::of(&file.canonical()));
    json!({"name": file.head().name, "file": file.file(), "digest": digest})
}

/// Where what the user calls `path` may lie: here, or in `sim-runs`; `latest` and unique prefixes are
/// completed.
#[must_use]
pub fn places(path: &Path) -> [PathBuf; 2] {
    [store::find(path), store::find(&Path::new(STORE).join(path))]
}

/// The folder that the user means by `path`: `latest` and unique prefixes are completed, in
/// `sim-runs` too.
///
/// # Errors
/// If there is none.
pub fn find_folder(path: &Path) -> Result<PathBuf, InputError> {
    places(path).into_iter().find(|place| place.is_dir()).ok_or_else(|| {
        let expected = "the folder of a sweep, or a store of them";
        let error = InputError::new(path.display().to_string(), "", "no such folder", expected);
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        let known: Vec<String> = [above.unwrap_or(Path::new(".")), Path::new(STORE)]
            .into_iter()
            .flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        error.with_nearest(&name, known.iter().map(String::as_str))
    })
}

/// A JSON value as it is stored: indented, a line feed at the end.
#[must_use]
pub fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// The place of a failing seed in a run's folder; `taken` are the places that others have.
#[must_use]
pub fn failure_place(seed: u64, scenario: &str, taken: &[String]) -> String {
    let place = format!("{FAILURES}/{seed}");
    if taken.contains(&place) { format!("{place}-{scenario}") } else { place }
}

/// Keeps everything of a run below `place` of `folder`, what it is replayed from first.
///
/// # Errors
/// If it cannot be written.
pub fn keep(
    folder: &RunFolder,
    place: &str,
    recording: &Recording,
    run: &Observed,
) -> Result<(), StoreError> {
    let write = |name: &str, text: &str| {
        let name = if place.is_empty() { name.to_string() } else { format!("{place}/{name}") };
        folder.write(&name, text)
    };
    write(CHOICES, &recording.to_json())?;
    write(PLAN, &recording.plan.to_json())?;
    write("transcript.txt", &render::transcript(run, None))?;
    write("history.jsonl", &run.history.to_jsonl())?;
    write("dump.txt", &render::dump(run))?;
    let verdict = results::verdict(&recording.plan.name, recording.seed, &run.result);
    write("verdict.json", &pretty(&verdict))
}

/// So many runs are made to explain a failure that nobody has asked about yet, if they are short.
const RUNS: u64 = 120;

/// They may take so many steps together, if each is as long as the run.
const STEPS: u64 = 8_000_000;

/// Keeps beside a failing run why it failed, and says in a line what is necessary for it; nothing if
/// it cannot be explained.
///
/// # Errors
/// If it cannot be written.
pub fn explain(
    folder: &RunFolder,
    place: &str,
    recording: &Recording,
    run: &Observed,
) -> Result<Option<String>, StoreError> {
    // Faults act between steps, too.
    let length = recording.steps.max(run.lines.len() as u64);
    let runs = RUNS.min(STEPS / length.max(1));
    let explain = Explain { recording, runs, describe: render::DESCRIBE };
    // An explanation that goes wrong must not take the verdict with it.
    let Ok(Ok(found)) = catch_unwind(AssertUnwindSafe(|| explain.run())) else { return Ok(None) };
    let page = pages::explanation(&found, recording, &run.actors, (".", Some(PLAN)));
    folder.write(&format!("{place}/{EXPLANATION}"), &page.markdown())?;
    Ok(Some(pages::needed(&found, recording)))
}

/// A run is looked at no further than so many steps, or than it takes to see what is broken.
const LOOKED_AT: u64 = 60_000;

/// So many steps behind the one in which the promise is broken are looked at all the same.
const BEHIND: u64 = 1_000;

/// Keeps beside a failing run its timeline.
///
/// # Errors
/// If it cannot be written.
pub fn keep_timeline(
    folder: &RunFolder,
    place: &str,
    recording: &Recording,
    run: &Observed,
) -> Result<(), StoreError> {
    let broken = look::broken(run);
    let seen = broken.first().map_or(0, |(step, _)| step + BEHIND);
    let until = seen.max(LOOKED_AT).min(recording.steps);
    // A timeline that goes wrong must not take the verdict with it.
    let drawn = catch_unwind(AssertUnwindSafe(|| {
        let look = recording.look(Some(until), render::DESCRIBE);
        let report = RunReport { broken, ..pages::run_report(recording, &look, None) };
        run_report::timeline(&report, &Filter::default())
    }));
    drawn.map_or(Ok(()), |page| folder.write(&format!("{place}/{TIMELINE}"), &page))
}

/// Keeps what a run or a sweep has reached.
///
/// # Errors
/// If it cannot be written.
pub fn keep_coverage(folder: &RunFolder, coverage: &Coverage) -> Result<(), StoreError> {
    folder.write(COVERAGE, &pretty(&coverage.json()))
}

/// The file or folder `path` itself, or of that name in `sim-runs`, where it may begin with `latest`.
#[must_use]
pub fn exact(path: &Path) -> Option<PathBuf> {
    let places = [path.to_path_buf(), Path::new(STORE).join(path)];
    places.into_iter().find(|place| place.exists()).map(|place| store::find(&place))
}

/// The file or folder that the user means by `path`, if there is one: itself, `latest`, or what a
/// part of a name stands for in `sim-runs`. Of the current folder nothing is completed.
#[must_use]
pub fn place(path: &Path) -> Option<PathBuf> {
    let completed = || {
        let begin = path.components().find(|part| matches!(part, Component::Normal(_)));
        let is_inside = begin.is_none_or(|begin| Path::new(begin.as_os_str()).exists());
        let whole = is_inside.then(|| store::find(path));
        let places = [whole, Some(store::find(&Path::new(STORE).join(path)))];
        places.into_iter().flatten().find(|place| place.exists())
    };
    exact(path).or_else(completed)
}

/// How many runs a sweep has, if that is what the user means by `path` and none of them failed.
#[must_use]
pub fn without_failures(path: &Path) -> Option<u64> {
    let state = Checkpoint::read(&place(path)?).ok()?.state;
    (state.failed() == 0).then(|| state.seeds())
}

/// The `choices.json` that the user means by `path`: the file itself, the folder that holds it, or
/// a run with one failing seed; `latest` and unique prefixes are completed, in `sim-runs` too.
///
/// # Errors
/// If there is none, or more than one.
pub fn find_choices(path: &Path) -> Result<PathBuf, InputError> {
    let name = || path.display().to_string();
    let expected = "a choices.json, or the folder of a run";
    let Some(found) = place(path) else {
        return Err(InputError::new(name(), "", "no such file or folder", expected));
    };
    if found.is_file() {
        return Ok(found);
    }
    if found.join(CHOICES).is_file() {
        return Ok(found.join(CHOICES));
    }
    let failures = std::fs::read_dir(found.join(FAILURES)).into_iter().flatten().flatten();
    let mut failures: Vec<PathBuf> = failures
        .map(|entry| entry.path().join(CHOICES))
        .filter(|choices| choices.is_file())
        .collect();
    failures.sort();
    match failures.as_slice() {
        [] => {
            let found = match without_failures(path) {
                Some(seeds) => format!("a sweep in which none of {seeds} runs failed"),
                None => "a folder without choices.json".to_string(),
            };
            let expected = format!("{expected}; eosim run SCENARIO --seed N keeps any run");
            Err(InputError::new(name(), "", found, expected))
        }
        [only] => Ok(only.clone()),
        [first, ..] => {
            let found = format!("a sweep with {} failing seeds", failures.len());
            let expected = format!("one of them, such as {}", first.display());
            Err(InputError::new(name(), "", found, expected))
        }
    }
}
