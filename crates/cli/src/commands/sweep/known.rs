//! Failures that earlier runs have met, to be told from new ones.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use eosim_runner::InputError;
use eosim_runner::store::{Checkpoint, kept_runs};
use eosim_runner::sweep::SweepSummary;
use eosim_types::Capability;
use eosim_types::version::KafkaVersion;

use crate::args::SweepArgs;
use crate::artefacts;

/// Kinds of failures, each with the first run that met it.
#[derive(Default)]
pub(super) struct Known {
    kinds: BTreeMap<String, String>,
    /// There are runs to compare with.
    has_runs: bool,
}

impl Known {
    /// What the runs that the user names have met, or those of the store.
    pub(super) fn read(args: &SweepArgs, own: Option<&Path>) -> Result<Self, InputError> {
        let mut known = Self::default();
        if args.known.is_empty() {
            known.store(&args.out, own);
        }
        for folder in &args.known {
            let folder = artefacts::find_folder(folder)?;
            match Checkpoint::read(&folder) {
                Ok(run) => known.run(&folder.display().to_string(), &run),
                Err(_) if known.store(&folder, own) > 0 => {}
                Err(error) => return Err(error),
            }
        }
        Ok(known)
    }

    /// Takes all runs of the store but one, and says how many there are.
    fn store(&mut self, store: &Path, except: Option<&Path>) -> usize {
        let own = |path: &PathBuf| except.is_some_and(|own| path.file_name() == own.file_name());
        let runs = kept_runs(store).unwrap_or_default();
        let runs = runs.into_iter().filter(|run| !own(&run.path));
        runs.map(|run| {
            self.has_runs = true;
            if let Some(progress) = &run.progress {
                self.run(&run.name, progress);
            }
        })
        .count()
    }

    fn run(&mut self, name: &str, run: &Checkpoint) {
        self.has_runs = true;
        for kind in run.state.kinds() {
            self.kinds.entry(kind).or_insert_with(|| name.to_string());
        }
    }

    /// A line for each kind of failure that was met now; nothing without runs to compare with.
    pub(super) fn tell(&self, summary: &SweepSummary) -> String {
        let mut text = repaired(summary);
        let mut told: Vec<String> = Vec::new();
        for failure in summary.failures.iter().filter(|_| self.has_runs) {
            let kind = failure.kind();
            if told.contains(&kind) {
                continue;
            }
            let _ = match self.kinds.get(&kind) {
                Some(run) => writeln!(text, "known      {kind}   since {run}"),
                None => writeln!(text, "NEW        {kind}   first with seed {}", failure.seed),
            };
            told.push(kind);
        }
        text
    }
}

/// What fails on this release alone: the tickets under which a later one repaired it.
fn repaired(summary: &SweepSummary) -> String {
    let mut all: BTreeMap<&str, (u64, u64, &str)> = BTreeMap::new();
    for own in &summary.scenarios {
        for (tickets, &(seeds, first)) in &own.repaired {
            let sum = all.entry(tickets).or_insert((0, first, &own.name));
            sum.0 += seeds;
        }
    }
    let mut text = String::new();
    for (tickets, (seeds, first, scenario)) in all {
        let since = since(tickets);
        let _ = writeln!(
            text,
            "known      {tickets}, repaired in {since}: {seeds} seeds, such as {scenario} {first}"
        );
    }
    text
}

/// The release that has everything of `tickets`.
fn since(tickets: &str) -> &'static str {
    let is_its = |one: &&Capability| tickets.split('+').any(|ticket| ticket == one.ticket());
    let since = Capability::ALL.iter().filter(is_its).map(|one| one.since()).max();
    since.map_or("a later release", KafkaVersion::name)
}
