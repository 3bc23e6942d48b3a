//! `eosim defects`: the historical bugs; each switched on must be caught, and what caught it must
//! replay.

use std::sync::atomic::Ordering;

use eosim_report::shell::quoted;
use eosim_runner::defects::{Caught, Effort, measured, run as search};
use eosim_runner::exit::ExitCode;
use eosim_runner::recording::{read, record, word};
use eosim_runner::store::RunFolder;
use eosim_runner::sweep::{Progress, SeedResult};
use eosim_runner::{Expectation, InputError, ScenarioFile, Verdict};
use eosim_types::{Defect, DefectSet};
use serde_json::{Value, json};

use super::replay::differences;
use super::{Failure, jobs};
use crate::args::{DefectsArgs, Format, OutputArgs, ProgressMode};
use crate::input::{self, Model};
use crate::render::DESCRIBE;
use crate::{artefacts, interrupt, list, output, progress};

/// A defect, how it was caught, and whether that replays.
struct Measured {
    caught: Caught,
    /// The folder of the run that caught it, if it replays as it was recorded.
    replays_from: Option<String>,
}

impl Measured {
    fn is_caught(&self) -> bool {
        self.caught.is_caught() && self.replays_from.is_some()
    }
}

pub(super) fn run(args: &DefectsArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let named = args.names.iter().map(|name| input::defect("NAME", name));
    let named = named.collect::<Result<Vec<Defect>, InputError>>()?;
    if !args.run {
        output::print(&list::defects_of(&named).print(how.format, how.verbose))?;
        return Ok(ExitCode::Fine);
    }
    let library = input::scenarios(std::slice::from_ref(&args.scenarios), &Model::default())?;
    let library: Vec<ScenarioFile> = library.into_iter().filter(is_sound).collect();
    if library.is_empty() {
        output::print_error("nothing selected: no scenario that expects nothing to break");
        return Ok(ExitCode::Nothing);
    }
    let folder = artefacts::folder(&args.out, &library, "defects", Value::Null);
    let folder = folder.map_err(|error| Failure::unwritable(&error))?;
    let all = if named.is_empty() { measured().collect() } else { named };
    let stop = interrupt::watch();
    let (seeds_max, starts) = (args.seeds_max, args.starts);
    let effort = Effort { seeds_max, starts, jobs: jobs(args.jobs) };
    let mut rows = Vec::new();
    for defect in all {
        let mode = if how.quiet { ProgressMode::None } else { how.progress };
        let mut bar = Bar(progress::Progress::new(mode, None));
        let caught = search(defect, &library, effort, stop, &mut bar);
        bar.0.finish();
        if stop.load(Ordering::Relaxed) {
            return Ok(ExitCode::Interrupted);
        }
        let replays_from = replays(&caught, &library, &folder)?;
        rows.push(Measured { caught, replays_from });
        if how.format == Format::Text {
            output::print(&row_text(&rows[rows.len() - 1], rows.len() == 1))?;
        }
    }
    folder.make_latest()?;
    print_all(&rows, how)?;
    let all_caught = rows.iter().all(Measured::is_caught);
    Ok(if all_caught { ExitCode::Fine } else { ExitCode::Survived })
}

/// Defects are measured where nothing is wrong without them.
fn is_sound(file: &ScenarioFile) -> bool {
    file.head().expect == Expectation::Sound
}

/// Records the run that caught a defect, reads it back, and replays it. Where it is kept, if it
/// came out the same.
fn replays(
    caught: &Caught,
    library: &[ScenarioFile],
    folder: &RunFolder,
) -> Result<Option<String>, Failure> {
    let Some(hit) = caught.example() else { return Ok(None) };
    let scenario = library.iter().find(|file| file.head().name == hit.scenario);
    let scenario = scenario.expect("a defect is caught in a scenario of the library");
    let defects = DefectSet::NONE.with(caught.defect);
    let (recording, observed) = record(scenario, hit.seed, defects, DESCRIBE);
    let place = format!("failures/{}", caught.defect.name());
    artefacts::keep(folder, &place, &recording, &observed)?;
    let place = folder.path().join(place);
    let kept = read(&place.join(artefacts::CHOICES), &input::invariant_names())?;
    let replayed = kept.replay(DESCRIBE);
    let broken = match &observed.result.verdict {
        Verdict::Safety(anomalies) => anomalies.iter().map(|anomaly| anomaly.invariant).collect(),
        other => vec![word(other)],
    };
    let is_same = differences(&kept, &replayed).is_empty() && broken.contains(&hit.invariant);
    Ok(is_same.then(|| place.display().to_string()))
}

/// Shows how far the search is.
struct Bar(progress::Progress);

impl Progress for Bar {
    fn seed(&mut self, result: &SeedResult) {
        self.0.advance(result.run.verdict != Verdict::Sound);
    }

    fn tick(&mut self) {
        self.0.tick();
    }
}

const COLUMNS: [&str; 6] = ["defect", "invariant", "aimed", "random", "worst", "example"];

/// One defect as a line, below the names of the columns if it is the first.
fn row_text(row: &Measured, is_first: bool) -> String {
    let head = if is_first { line(COLUMNS) } else { String::new() };
    let seeds = |seeds: Option<u64>| seeds.map_or_else(|| "-".to_string(), |n| n.to_string());
    let caught = &row.caught;
    let (invariant, example) = match (caught.example(), &row.replays_from) {
        (Some(hit), replays) => {
            let replays = if replays.is_some() { "replays" } else { "DOES NOT REPLAY" };
            (hit.invariant, format!("{} seed {}, {replays}", hit.scenario, hit.seed))
        }
        (None, _) => ("SURVIVED", "-".to_string()),
    };
    let aimed = seeds(caught.aimed.as_ref().map(|hit| hit.seeds));
    let (median, worst) = (seeds(caught.median()), seeds(caught.worst()));
    head + &line([caught.defect.name(), invariant, &aimed, &median, &worst, &example])
}

fn line([defect, invariant, aimed, random, worst, example]: [&str; 6]) -> String {
    format!("{defect:<42} {invariant:<24} {aimed:>6} {random:>7} {worst:>7}  {example}\n")
}

/// What is printed when all are done.
fn print_all(rows: &[Measured], how: &OutputArgs) -> Result<(), Failure> {
    let text = match how.format {
        Format::Text => {
            let caught = rows.iter().filter(|row| row.is_caught()).count();
            let first = rows.iter().find_map(|row| row.replays_from.as_ref());
            let replay =
                first.map(|place| format!("  replay one: eosim replay {}\n", quoted(place)));
            let replay = replay.unwrap_or_default();
            format!("{caught} of {} caught and replayed\n{replay}", rows.len())
        }
        Format::Json => {
            let rows: Vec<Value> = rows.iter().map(json).collect();
            json!({"format": 1, "defects": rows}).to_string() + "\n"
        }
        Format::Jsonl => rows.iter().map(|row| json(row).to_string() + "\n").collect(),
    };
    Ok(output::print(&text)?)
}

fn json(row: &Measured) -> Value {
    let caught = &row.caught;
    let example = caught.example();
    json!({
        "name": caught.defect.name(),
        "caught": row.is_caught(),
        "invariant": example.map(|hit| hit.invariant),
        "aimed_seeds": caught.aimed.as_ref().map(|hit| hit.seeds),
        "random_seeds": caught.median(),
        "random_seeds_worst": caught.worst(),
        "scenario": example.map(|hit| &hit.scenario),
        "seed": example.map(|hit| hit.seed),
        "replays": row.replays_from.is_some(),
    })
}
