//! The sweeps that are merged: found, read, and compared with each other.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

use eosim_runner::InputError;
use eosim_runner::exit::ExitCode;
use eosim_runner::merge::Source;
use eosim_runner::store::{Checkpoint, LinesReader, MANIFEST, PROGRESS, SUMMARY_LINES, kept_runs};
use eosim_runner::sweep::SweepSummary;
use serde_json::Value;

use crate::artefacts;
use crate::commands::Failure;
use crate::settings::{self, Settings};

/// One sweep.
pub(super) struct Part {
    pub(super) path: PathBuf,
    pub(super) manifest: Value,
    pub(super) settings: Settings,
    pub(super) progress: Checkpoint,
    /// Another has come further with the same share.
    pub(super) is_repeat: bool,
}

/// All sweeps that `paths` mean, those that count first.
pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<Part>, Failure> {
    let mut known: Vec<PathBuf> = Vec::new();
    let mut parts: Vec<Part> = Vec::new();
    for path in paths {
        for folder in sweeps(path)? {
            let real = fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
            if !known.contains(&real) {
                known.push(real);
                parts.push(Part::read(folder)?);
            }
        }
    }
    check(&parts)?;
    // The longest of each share first, so that the others are its repeats.
    parts.sort_by_key(|part| Reverse(part.progress.state.seeds()));
    for at in 1..parts.len() {
        let (before, own) = parts.split_at_mut(at);
        let is_same = |part: &Part| part.has_share_of(&own[0]);
        own[0].is_repeat = before.iter().any(is_same);
    }
    Ok(parts)
}

/// The folder itself, or all sweeps of a store, or of a folder of stores.
fn sweeps(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let folder = artefacts::find_folder(path)?;
    if folder.join(MANIFEST).exists() {
        return Ok(vec![folder]);
    }
    let mut sweeps = sweeps_of(&folder)?;
    if sweeps.is_empty() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut stores: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        stores.sort();
        for store in stores.iter().filter(|store| store.is_dir()) {
            sweeps.extend(sweeps_of(store)?);
        }
    }
    if sweeps.is_empty() {
        let found = "a folder without a sweep in it";
        let expected = "the folder of a sweep, or a store of them";
        return Err(InputError::new(folder.display().to_string(), "", found, expected).into());
    }
    Ok(sweeps)
}

fn sweeps_of(store: &Path) -> Result<Vec<PathBuf>, Failure> {
    let runs = kept_runs(store)?.into_iter().map(|run| run.path);
    Ok(runs.filter(|path| path.join(PROGRESS).exists()).collect())
}

/// All must be of this build, and of the same scenarios and switches.
fn check(parts: &[Part]) -> Result<(), Failure> {
    let first = &parts[0];
    for part in parts {
        let name = part.path.join(MANIFEST).display().to_string();
        if let Some(difference) = part.settings.other_build() {
            let message = format!("{name}: {difference}, as this build has it");
            return Err(Failure { exit: ExitCode::NotReplayable, message });
        }
        if let Some(difference) = part.settings.difference(&first.settings, false) {
            let other = first.path.display();
            return Err(Failure::usage(format!("{name}: {difference}, as in {other}")));
        }
    }
    Ok(())
}

impl Part {
    fn read(path: PathBuf) -> Result<Self, Failure> {
        let (_, manifest) = settings::read_manifest(&path)?;
        let settings = Settings::read(&path)?;
        let progress = Checkpoint::read(&path)?;
        Ok(Self { path, manifest, settings, progress, is_repeat: false })
    }

    /// Are both attempts at one share? What was merged is no share.
    fn has_share_of(&self, other: &Self) -> bool {
        let is_merged = |part: &Self| !part.manifest["merged"].is_null();
        !is_merged(self) && !is_merged(other) && self.settings.is_same_share(&other.settings)
    }

    /// What it found.
    pub(super) fn summary(&self) -> Result<SweepSummary, InputError> {
        SweepSummary::restore(&self.progress.state).map_err(|found| {
            let name = self.path.join(PROGRESS).display().to_string();
            InputError::new(name, "found", found, "what this build knows")
        })
    }

    /// Its lines.
    pub(super) fn source(&self) -> Result<Source, InputError> {
        Ok(Source {
            name: self.path.display().to_string(),
            lines: LinesReader::open(&self.path.join(SUMMARY_LINES), self.progress.lines)?,
            is_repeat: self.is_repeat,
        })
    }
}
