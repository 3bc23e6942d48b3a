//! Where a sweep begins: in a folder of its own, or where one that was killed or stopped has ended.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use eosim_runner::InputError;
use eosim_runner::exit::ExitCode;
use eosim_runner::store::{
    Checkpoint, Claim, Ending, Extent, KeptRun, LATEST, Lines, LinesReader, PROGRESS, RunFolder,
    SUMMARY, SUMMARY_LINES, kept_runs,
};
use eosim_runner::sweep::{Sweep, SweepSummary};
use serde_json::Value;

use crate::args::{Format, OutputArgs, SweepArgs};
use crate::artefacts::STORE;
use crate::commands::Failure;
use crate::settings::{self, Settings};
use crate::{artefacts, output, results};

/// A sweep that can go on.
pub(super) struct Begun {
    pub(super) folder: RunFolder,
    pub(super) lines: Lines,
    /// What was found before.
    pub(super) found: SweepSummary,
    pub(super) claim: Claim,
}

/// Begins in a new folder of `store`: what cannot be written is found before the start.
pub(super) fn begin(
    store: &Path,
    sweep: &Sweep<'_>,
    more: Value,
) -> Result<Begun, eosim_runner::store::StoreError> {
    let folder = artefacts::folder(store, sweep.scenarios, "sweep", more)?;
    let claim = Claim::take(&folder)?;
    let lines = folder.begin(SUMMARY_LINES)?;
    Ok(Begun { folder, lines, found: sweep.nothing_found(), claim })
}

/// A sweep that was begun before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Kept {
    pub(super) path: PathBuf,
    /// It has come to its end.
    pub(super) has_ended: bool,
}

/// The last sweep of `store` with these `settings`; if there are others alone that have not come to
/// their end, says in what the last of them differs.
pub(super) fn last(store: &Path, settings: &Settings, how: &OutputArgs) -> Option<Kept> {
    let runs = kept_runs(store).unwrap_or_default();
    let mut other = None;
    for run in runs.into_iter().rev() {
        let Ok(kept) = Settings::read(&run.path) else { continue };
        let has_ended = run.ending == Ending::Ended && run.progress.is_some();
        match kept.difference(settings, true) {
            None if !is_merged(&run.path) => return Some(Kept { path: run.path, has_ended }),
            None => {}
            Some(_) if has_ended => {}
            Some(difference) => {
                other.get_or_insert((run.name, difference));
            }
        }
    }
    if let Some((name, difference)) = other {
        let text = format!("nothing to resume; {name} is another sweep: {difference}");
        output::talk(how, &text);
    }
    None
}

/// The sweep that the user means by `run`, which is kept in `out` if not here: `latest` is one that was
/// begun after the last that has come to its end, and can go on; if there is none, the last.
pub(super) fn named(run: &Path, out: &Path) -> Result<PathBuf, InputError> {
    let anywhere = || {
        artefacts::find_folder(run)
            .or_else(|why| artefacts::find_folder(&out.join(run)).map_err(|_| why))
    };
    let is_real = run.is_dir() && !run.is_symlink();
    if is_real || run.file_name().is_none_or(|name| name != LATEST) {
        return anywhere();
    }
    let above = run.parent().unwrap_or(Path::new(""));
    let here = if above.as_os_str().is_empty() { Path::new(".") } else { above };
    let stores = [here.to_path_buf(), out.join(above), Path::new(STORE).join(above)];
    let found = stores.iter().find_map(|store| last_begun(&kept_runs(store).ok()?));
    found.map_or_else(anywhere, Ok)
}

/// Refuses `--resume RUN`, which is read as `--resume` and a scenario RUN.
pub(super) fn refuse_spaced(args: &SweepArgs) -> Result<(), InputError> {
    let ([one], Some(None)) = (&args.scenarios[..], &args.resume) else { return Ok(()) };
    let is_run = one.as_os_str() == LATEST || one.join(eosim_runner::store::MANIFEST).is_file();
    if !is_run {
        return Ok(());
    }
    let run = one.display();
    let found = format!("\"{run}\" behind a space, which is where scenarios stand");
    Err(InputError::new("--resume", "", found, format!("--resume={run}")))
}

fn last_begun(runs: &[KeptRun]) -> Option<PathBuf> {
    let is_sweep = |run: &&KeptRun| Settings::read(&run.path).is_ok() && !is_merged(&run.path);
    let latest = runs.iter().find(|run| run.is_latest);
    let ended = latest.map_or(0, |latest| latest.began);
    let can_go_on = |run: &&KeptRun| run.ending != Ending::Ended && run.began >= ended;
    let mut sweeps = runs.iter().rev().filter(is_sweep);
    let unfinished = sweeps.clone().find(can_go_on);
    let found = unfinished.or_else(|| latest.filter(is_sweep)).or_else(|| sweeps.next());
    found.map(|run| run.path.clone())
}

fn is_merged(folder: &Path) -> bool {
    settings::read_manifest(folder).is_ok_and(|(_, manifest)| !manifest["merged"].is_null())
}

/// Goes on in the folder at `path`.
pub(super) fn go_on(
    path: &Path,
    sweep: &Sweep<'_>,
    settings: &Settings,
    how: &OutputArgs,
) -> Result<Begun, Failure> {
    check(path, settings)?;
    if Claim::is_taken(path) {
        let found = "a sweep that is still running";
        let expected = "one that was killed or stopped";
        return Err(InputError::new(path.display().to_string(), "", found, expected).into());
    }
    let folder = RunFolder::at(path)?;
    let claim = Claim::take(&folder)?;
    let (found, extent) = if path.join(PROGRESS).exists() {
        let checkpoint = Checkpoint::read(path)?;
        (found(path, sweep, &checkpoint, how)?, checkpoint.lines)
    } else {
        (sweep.nothing_found(), Extent::default())
    };
    folder.remove(SUMMARY)?;
    let lines = folder.go_on(SUMMARY_LINES, extent)?;
    output::talk(how, &format!("goes on after {} seeds in {}", found.seeds, path.display()));
    Ok(Begun { folder, lines, found, claim })
}

/// Refuses another sweep.
fn check(path: &Path, settings: &Settings) -> Result<(), Failure> {
    let manifest = path.join(eosim_runner::store::MANIFEST).display().to_string();
    let kept = Settings::read(path)?;
    if is_merged(path) {
        let error = InputError::new(manifest, "merged", "a merged sweep", "one that was run");
        return Err(error.into());
    }
    let Some(difference) = kept.difference(settings, true) else { return Ok(()) };
    let message = format!("{manifest}: {difference}, as this sweep has it");
    let exit = if difference.is_build { ExitCode::NotReplayable } else { ExitCode::Usage };
    Err(Failure { exit, message })
}

/// What was found before, if the lines are those that were written, and this build writes the last
/// of them again.
fn found(
    path: &Path,
    sweep: &Sweep<'_>,
    checkpoint: &Checkpoint,
    how: &OutputArgs,
) -> Result<SweepSummary, Failure> {
    let file = path.join(PROGRESS).display().to_string();
    let wrong = |found: String| InputError::new(&file, "found", found, "what this build knows");
    let found = SweepSummary::restore(&checkpoint.state).map_err(wrong)?;
    let mut reader = LinesReader::open(&path.join(SUMMARY_LINES), checkpoint.lines)?;
    let mut last = VecDeque::new();
    while let Some(line) = reader.next_line()? {
        if how.format == Format::Jsonl {
            output::print(line)?;
        }
        last.push_back(line.to_string());
        if last.len() > sweep.scenarios.len() {
            last.pop_front();
        }
    }
    let lines = reader.number() - 1;
    if lines != found.seeds {
        let expected = format!("{} of them, as progress.json has it", found.seeds);
        return Err(InputError::new(reader.name(), "", format!("{lines} lines"), expected).into());
    }
    last.iter().try_for_each(|line| again(sweep, reader.name(), line))?;
    Ok(found)
}

/// What was found by the sweep at `path`, which has come to its end.
pub(super) fn ended(
    path: &Path,
    sweep: &Sweep<'_>,
    how: &OutputArgs,
) -> Result<SweepSummary, Failure> {
    let mut summary = found(path, sweep, &Checkpoint::read(path)?, how)?;
    summary.is_complete = true;
    summary.conclude();
    output::talk(how, &format!("has come to its end already: {}", path.display()));
    Ok(summary)
}

/// Runs the seed of `line` again: it must come out as it did.
fn again(sweep: &Sweep<'_>, file: &str, line: &str) -> Result<(), Failure> {
    let value: Value = serde_json::from_str(line)
        .map_err(|error| InputError::new(file, "", error.to_string(), "the line of a seed"))?;
    let (name, seed) = (value["scenario"].as_str().unwrap_or_default(), value["seed"].as_u64());
    let scenario = sweep.scenarios.iter().position(|file| file.head().name == name);
    let (Some(scenario), Some(seed)) = (scenario, seed) else {
        let found = line.trim_end().to_string();
        return Err(InputError::new(file, "", found, "a seed of one of the scenarios").into());
    };
    let result = sweep.once(scenario, seed);
    let now = results::seed_line(name, seed, &result.run, result.repaired_by.as_deref());
    if now == line {
        return Ok(());
    }
    let (then, now) = (&value["digest"], results::digest(result.run.digest));
    let message = format!(
        "{file}: seed {seed} of {name}: found digest {then}, expected \"{now}\", as this build \
         has it: the sweep is of another build"
    );
    Err(Failure { exit: ExitCode::NotReplayable, message })
}
