//! `eosim sweep`: many seeds over many scenarios; ends with a verdict over all of them.

mod failures;
mod known;
mod resume;
mod watcher;

use std::path::Path;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use eosim_runner::exit::ExitCode;
use eosim_runner::store::RunFolder;
use eosim_runner::sweep::{Sweep, SweepSummary};
use eosim_runner::{InputError, ScenarioFile};
use serde_json::Value;

use super::merge::failures_text;
use super::{Failure, jobs};
use crate::args::{Cli, Command, Format, OutputArgs, Profile, SweepArgs};
use crate::coverage::Coverage;
use crate::input::{self, Model};
use crate::settings::{self, Settings};
use crate::share::share;
use crate::{artefacts, interrupt, output, results};

pub(super) use failures::KEPT;
use known::Known;
use resume::{Begun, Kept};
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
            Profile::Ci => Some(3),
            Profile::Nightly => Some(400),
            Profile::Soak => None,
        };
        let share = |times: u64| (times * QUICK).div_ceil(scenarios.max(1) as u64);
        seeds(0, args.count.or(times_quick.map(share)))
    }
}

pub(super) fn run(args: &SweepArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let resumed = resumed(args)?;
    let args = resumed.as_ref().unwrap_or(args);
    let model = model(args)?;
    let scenarios = selected(args, input::scenarios(&args.scenarios, &model)?)?;
    let extent = Extent::of(args, scenarios.len());
    let variable = |name: &str| std::env::var(name).ok();
    let partition = share(args.partition, args.partitions, &variable)?;
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
    let settings = Settings::of(&sweep);
    let kept = kept(args, &settings, how)?;
    // What cannot be read is found before anything is begun.
    let known = Known::read(args, kept.as_ref().map(|kept| kept.path.as_path()))?;
    if let Some(Kept { path, has_ended: true }) = &kept {
        return tell_again(path, args, &sweep, &known, how);
    }
    let begun = begin(args, &sweep, &settings, kept.as_ref(), how)?;
    let folder = begun.folder.clone();
    let stop = interrupt::watch();
    let interval = args.checkpoint_interval.0;
    let (mut watcher, found) = Watcher::new(&sweep, begun, interval, how, stop);
    let mut summary = sweep.go_on(found, stop, &mut watcher);
    let (is_interrupted, claim) = watcher.finish(&summary)?;
    summary.sought.clone_from(&args.model.defects);
    summary.conclude();
    finish(&folder, &sweep, &summary, &known, how)?;
    claim.give_back();
    Ok(if is_interrupted { ExitCode::Interrupted } else { summary.exit_code() })
}

/// The arguments of the sweep that is to go on, if no others are given; how it is run may change.
fn resumed(args: &SweepArgs) -> Result<Option<SweepArgs>, Failure> {
    resume::refuse_spaced(args)?;
    let Some(Some(run)) = args.resume.as_ref().filter(|_| args.scenarios.is_empty()) else {
        if args.scenarios.is_empty() {
            let found = "neither a run nor scenarios";
            let expected = "--resume=RUN, or the scenarios of the sweep";
            return Err(InputError::new("--resume", "", found, expected).into());
        }
        return Ok(None);
    };
    let (name, manifest) = settings::read_manifest(&resume::named(run, &args.out)?)?;
    let words = manifest["arguments"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let parsed = Cli::command().try_get_matches_from(std::iter::once("eosim").chain(words)).ok();
    let cli = parsed.as_ref().and_then(|parsed| Cli::from_arg_matches(parsed).ok());
    let (Some(parsed), Some(Cli { command: Command::Sweep(kept), .. })) = (parsed, cli) else {
        let found = manifest["arguments"].to_string();
        return Err(InputError::new(name, "arguments", found, "those of a sweep").into());
    };
    if let Ok(given) = Cli::command().try_get_matches_from(std::env::args_os()) {
        refuse_others(&given, &parsed)?;
    }
    Ok(Some(SweepArgs {
        resume: args.resume.clone(),
        jobs: args.jobs.or(kept.jobs),
        // The sweep may have been stopped by it, and is to go on.
        max_fail: args.max_fail,
        known: if args.known.is_empty() { kept.known.clone() } else { args.known.clone() },
        checkpoint_interval: args.checkpoint_interval,
        ..kept
    }))
}

/// Flags that say how a sweep is run, and may be others when it goes on.
const FREE: [&str; 5] = ["resume", "jobs", "max_fail", "known", "checkpoint_interval"];

/// Refuses what is `given` with a run that goes on, and is not what the run was begun with.
fn refuse_others(given: &ArgMatches, begun: &ArgMatches) -> Result<(), InputError> {
    let cli = Cli::command();
    let all = cli.find_subcommand("sweep").into_iter().flat_map(clap::Command::get_arguments);
    let (Some(given), Some(begun)) =
        (given.subcommand_matches("sweep"), begun.subcommand_matches("sweep"))
    else {
        return Ok(());
    };
    let text = |matches: &ArgMatches, id: &str| {
        let words = matches.get_raw(id).into_iter().flatten().map(|word| word.to_string_lossy());
        words.collect::<Vec<_>>().join(" ")
    };
    for arg in all.filter(|arg| !FREE.contains(&arg.get_id().as_str())) {
        let id = arg.get_id().as_str();
        let is_given = given.value_source(id) == Some(ValueSource::CommandLine);
        let (found, expected) = (text(given, id), text(begun, id));
        if is_given && found != expected {
            let flag = format!("--{}", arg.get_long().unwrap_or(id));
            let expected = match expected.as_str() {
                "" => "none beside --resume=RUN, whose sweep has none".to_string(),
                expected => format!("{expected}, as the sweep has it, or none beside --resume=RUN"),
            };
            return Err(InputError::new(flag, "", found, expected));
        }
    }
    Ok(())
}

/// What is simulated, within the limits that the user sets.
fn model(args: &SweepArgs) -> Result<Model, InputError> {
    let mut model = Model::of(&args.model)?;
    let steps = args.steps_max.map(|steps| ("--steps-max", format!("limits.steps_max={steps}")));
    let time = args.virtual_time_max.map(|time| {
        let set = format!("limits.virtual_time_max_ms={}", time.0.as_millis());
        ("--virtual-time-max", set)
    });
    for (argument, set) in steps.into_iter().chain(time) {
        model.overrides.push(input::replacement(argument, &set)?);
    }
    Ok(model)
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

/// What the user wants to resume. A run that is named goes on even at its end, and is checked so.
fn kept(
    args: &SweepArgs,
    settings: &Settings,
    how: &OutputArgs,
) -> Result<Option<Kept>, InputError> {
    match &args.resume {
        Some(Some(run)) => {
            let path = resume::named(run, &args.out)?;
            Ok(Some(Kept { path, has_ended: false }))
        }
        Some(None) => Ok(resume::last(&args.out, settings, how)),
        None => Ok(None),
    }
}

/// Begins, or goes on with what was `kept`.
fn begin(
    args: &SweepArgs,
    sweep: &Sweep<'_>,
    settings: &Settings,
    kept: Option<&Kept>,
    how: &OutputArgs,
) -> Result<Begun, Failure> {
    if let Some(kept) = kept {
        return resume::go_on(&kept.path, sweep, settings, how);
    }
    let profile = format!("{:?}", args.profile).to_lowercase();
    let named = args.seeds.is_none() && args.count.is_none() && args.time.is_none();
    let mut more = settings.manifest();
    more["sought"] = Value::from(args.model.defects.clone());
    more["profile"] = if named { Value::from(profile) } else { Value::Null };
    resume::begin(&args.out, sweep, more).map_err(|error| Failure::unwritable(&error))
}

/// Keeps what was found, and prints it.
fn finish(
    folder: &RunFolder,
    sweep: &Sweep<'_>,
    summary: &SweepSummary,
    known: &Known,
    how: &OutputArgs,
) -> Result<(), Failure> {
    artefacts::keep_coverage(folder, &Coverage::of_sweep(summary))?;
    let footers = failures::keep(folder, sweep, summary)?;
    folder.write(artefacts::SUMMARY, &results::summary(summary).json())?;
    folder.make_latest()?;
    tell(folder, &footers, summary, known, how)
}

/// Tells again what came of a sweep that has ended, and ends as it did.
fn tell_again(
    path: &Path,
    args: &SweepArgs,
    sweep: &Sweep<'_>,
    known: &Known,
    how: &OutputArgs,
) -> Result<ExitCode, Failure> {
    let mut summary = resume::ended(path, sweep, how)?;
    summary.sought.clone_from(&args.model.defects);
    let folder = RunFolder::at(path)?;
    folder.make_latest()?;
    let differed = failures::nondeterministic(sweep, &summary);
    let footers = failures_text(path, &summary) + &differed;
    tell(&folder, &footers, &summary, known, how)?;
    Ok(summary.exit_code())
}

/// A line for each defect that was put back and is seen by no run.
pub(super) fn survived(summary: &SweepSummary) -> String {
    let line = |name: &String| format!("survived   {name}: no run shows it\n");
    summary.survivors().iter().map(line).collect()
}

/// Prints what was found.
fn tell(
    folder: &RunFolder,
    footers: &str,
    summary: &SweepSummary,
    known: &Known,
    how: &OutputArgs,
) -> Result<(), Failure> {
    let table = results::summary(summary);
    match how.format {
        Format::Text => {
            let (seeds, failed) = (summary.seeds, summary.failed);
            let incomplete = if summary.is_stopped { " (stopped before the end)" } else { "" };
            let others = table.others();
            let place = folder.path().display();
            output::print(&format!(
                "{footers}{}{}{}{seeds} seeds{incomplete}, {failed} failed{others}; artefacts  {place}\n",
                known.tell(summary),
                table.text(),
                survived(summary)
            ))?;
        }
        Format::Json => output::print(&table.json())?,
        Format::Jsonl => {}
    }
    Ok(())
}
