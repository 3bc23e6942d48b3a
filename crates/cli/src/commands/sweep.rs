//! `eosim sweep`: many seeds over many scenarios; ends with a verdict over all of them.

mod failures;
mod watcher;

use std::time::Duration;

use eosim_runner::exit::ExitCode;
use eosim_runner::store::{Growing, RunFolder};
use eosim_runner::sweep::{Sweep, SweepSummary};
use eosim_runner::{InputError, ScenarioFile};
use serde_json::{Value, json};

use super::{Failure, jobs};
use crate::args::{Format, OutputArgs, Partition, Profile, SweepArgs};
use crate::coverage::Coverage;
use crate::input::{self, Model};
use crate::{artefacts, interrupt, output, results};

use watcher::Watcher;

/// Seeds of the `quick` profile, shared among the scenarios.
const QUICK: u64 = 54_000;

/// Which seeds, how long.
struct Extent {
    first_seed: u64,
    count: Option<u64>,
    time: Option<Duration>,
}

impl Extent {
    fn of(args: &SweepArgs, scenarios: usize) -> Self {
        let seeds = |first_seed, count| Self { first_seed, count, time: None };
        if let Some(range) = args.seeds {
            return seeds(range.first, Some(range.end - range.first));
        }
        if let Some(time) = args.time {
            return Self { time: Some(time.0), ..seeds(0, None) };
        }
        let times_quick = match args.profile {
            Profile::Quick => Some(1),
            Profile::Ci => Some(5),
            Profile::Nightly => Some(400),
            Profile::Soak => None,
        };
        let share = |times: u64| (times * QUICK).div_ceil(scenarios.max(1) as u64);
        seeds(0, args.count.or(times_quick.map(share)))
    }
}

pub(super) fn run(args: &SweepArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let model = Model::of(&args.model)?;
    let scenarios = selected(args, input::scenarios(&args.scenarios, &model)?)?;
    let extent = Extent::of(args, scenarios.len());
    let partition = args.partition.unwrap_or(Partition::WHOLE);
    let sweep = Sweep {
        scenarios: &scenarios,
        first_seed: extent.first_seed,
        count: extent.count,
        time: extent.time,
        jobs: jobs(args.jobs),
        partition: (partition.part - 1, partition.of),
        max_fail: args.max_fail,
        looks_for: &[],
        defects: model.defects,
        verify_every: args.verify_every,
    };
    if scenarios.is_empty() || sweep.total() == Some(0) {
        output::print_error("nothing selected: no scenario, or no seed of any");
        return Ok(ExitCode::Nothing);
    }
    let (folder, lines) =
        begin(args, &scenarios, partition).map_err(|error| Failure::unwritable(&error))?;
    let stop = interrupt::watch();
    let mut watcher = Watcher::new(&sweep, lines, how, stop);
    let mut summary = sweep.run(stop, &mut watcher);
    let is_interrupted = watcher.finish()?;
    summary.conclude();
    finish(&folder, &sweep, &summary, how)?;
    Ok(if is_interrupted { ExitCode::Interrupted } else { summary.exit_code() })
}

/// Those with one of the tags that the user wants, if any are named.
fn selected(args: &SweepArgs, all: Vec<ScenarioFile>) -> Result<Vec<ScenarioFile>, InputError> {
    if args.tags.is_empty() {
        return Ok(all);
    }
    let known: Vec<&str> =
        all.iter().flat_map(|file| &file.head().tags).map(String::as_str).collect();
    if let Some(tag) = args.tags.iter().find(|tag| !known.contains(&tag.as_str()))
        && !known.is_empty()
    {
        let found = format!("\"{tag}\"");
        let error = InputError::new("--tag", "", found, "a tag of one of the scenarios");
        output::print_error(error.with_nearest(tag, known.iter().copied()));
    }
    let is_wanted = |file: &ScenarioFile| file.head().tags.iter().any(|t| args.tags.contains(t));
    Ok(all.into_iter().filter(is_wanted).collect())
}

/// The folder of the sweep and its first file: what cannot be written is found before the start.
fn begin(
    args: &SweepArgs,
    scenarios: &[ScenarioFile],
    partition: Partition,
) -> Result<(RunFolder, Growing), eosim_runner::store::StoreError> {
    let profile = format!("{:?}", args.profile).to_lowercase();
    let named = args.seeds.is_none() && args.count.is_none() && args.time.is_none();
    let more = json!({
        "profile": if named { Value::from(profile) } else { Value::Null },
        "partition": format!("{}/{}", partition.part, partition.of),
    });
    let folder = artefacts::folder(&args.out, scenarios, "sweep", more)?;
    let lines = folder.begin("summary.jsonl")?;
    Ok((folder, lines))
}

/// Keeps and prints what was found.
fn finish(
    folder: &RunFolder,
    sweep: &Sweep<'_>,
    summary: &SweepSummary,
    how: &OutputArgs,
) -> Result<(), Failure> {
    let faults = summary.scenarios.iter().flat_map(|scenario| &scenario.faults);
    let faults = faults.map(|(name, count)| (*name, *count));
    artefacts::keep_coverage(folder, &Coverage::of(&summary.marks, faults))?;
    let footers = failures::keep(folder, sweep, summary)?;
    let table = results::summary(summary);
    folder.write(artefacts::SUMMARY, &table.json())?;
    folder.make_latest()?;
    match how.format {
        Format::Text => {
            let (seeds, failed) = (summary.seeds, summary.failed);
            let incomplete = if summary.is_complete { "" } else { " (stopped before the end)" };
            let place = folder.path().display();
            output::print(&format!(
                "{footers}{}{seeds} seeds{incomplete}, {failed} failed; artefacts  {place}\n",
                table.text()
            ))?;
        }
        Format::Json => output::print(&table.json())?,
        Format::Jsonl => {}
    }
    Ok(())
}
