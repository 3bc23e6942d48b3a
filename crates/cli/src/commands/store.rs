//! `eosim store`: what is kept, what may go, and one run as one file.

use std::time::{SystemTime, UNIX_EPOCH};

use eosim_runner::InputError;
use eosim_runner::exit::ExitCode;
use eosim_runner::store::{
    KeptRun, MANIFEST, Retention, StoreError, doomed, export, kept_runs, remove, remove_left,
};
use eosim_runner::sweep::SweepState;
use serde_json::{Value, json};

use super::Failure;
use crate::args::{ExportArgs, Format, OutputArgs, PruneArgs, StoreArgs, StoreListArgs, StoreVerb};
use crate::list::Table;
use crate::{artefacts, output};

pub(super) fn run(args: &StoreArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    match &args.verb {
        StoreVerb::List(args) => list(args, how),
        StoreVerb::Prune(args) => prune(args, how),
        StoreVerb::Export(args) => archive(args, how),
    }
}

fn unreadable(error: &StoreError) -> Failure {
    Failure::usage(format!("--store: {error}; expected a folder of kept runs"))
}

fn list(args: &StoreListArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let runs = kept_runs(&args.store).map_err(|error| unreadable(&error))?;
    let table = table(&runs.iter().collect::<Vec<_>>(), how.format);
    output::print(&table.print(how.format, true))?;
    Ok(ExitCode::Fine)
}

/// A row for each run, in words or in numbers.
fn table(runs: &[&KeptRun], format: Format) -> Table {
    let row = if format == Format::Text { words } else { numbers };
    let columns = vec!["run", "state", "seeds", "failed", "bytes", "latest"];
    let shown = columns.len();
    Table { name: "runs", columns, rows: runs.iter().map(|run| row(run)).collect(), shown }
}

fn words(run: &KeptRun) -> Vec<Value> {
    let state = run.progress.as_ref().map(|progress| &progress.state);
    let one = if run.path.join(MANIFEST).is_file() { "one run" } else { "not begun" };
    let seeds = state.map_or(one.to_string(), |state| format!("{} seeds", state.seeds()));
    let failed = state.map_or(String::new(), |state| format!("{} failed", state.failed()));
    let latest = if run.is_latest { "latest" } else { "" };
    let size = mebibytes(run.bytes);
    [&run.name, run.ending.word(), &seeds, &failed, &size, latest].map(|cell| json!(cell)).into()
}

fn numbers(run: &KeptRun) -> Vec<Value> {
    let state = run.progress.as_ref().map(|progress| &progress.state);
    let (seeds, failed) = (state.map(SweepState::seeds), state.map(SweepState::failed));
    let ending = run.ending.word();
    [
        json!(run.name),
        json!(ending),
        json!(seeds),
        json!(failed),
        json!(run.bytes),
        json!(run.is_latest),
    ]
    .into()
}

/// `12.3 MiB`.
fn mebibytes(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10) / (1 << 20);
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

fn prune(args: &PruneArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let runs = kept_runs(&args.store).map_err(|error| unreadable(&error))?;
    let retention = Retention {
        count: args.keep,
        bytes: args.size_max.map(|size| size.0),
        age: args.age_max.map(|age| age.0.as_secs()),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut gone = doomed(&runs, retention, now);
    gone.retain(|run| !run.may_run(now));
    if !args.dry_run {
        remove_left(&args.store)?;
    }
    for run in gone.iter().filter(|_| !args.dry_run) {
        remove(run)?;
    }
    output::print(&table(&gone, how.format).print(how.format, true))?;
    let freed = mebibytes(gone.iter().map(|run| run.bytes).sum());
    let word = if args.dry_run { "would go" } else { "removed" };
    let (count, kept) = (gone.len(), runs.len() - gone.len());
    output::talk(how, &format!("{count} {word}, {freed}; {kept} kept"));
    Ok(ExitCode::Fine)
}

fn archive(args: &ExportArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let run = artefacts::find_folder(&args.run)?;
    if !run.join(MANIFEST).is_file() {
        let found = "a folder without manifest.json";
        let name = run.display().to_string();
        return Err(InputError::new(name, "", found, "the folder of a run").into());
    }
    export(&run, &args.out).map_err(|error| Failure::usage(format!("--out: {error}")))?;
    output::talk(how, &format!("{} holds {}", args.out.display(), run.display()));
    Ok(ExitCode::Fine)
}
