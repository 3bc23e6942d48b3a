//! The table of `crates/runner/SHRUNK.md`: what is left of the first run at random that catches each
//! defect, and how long it takes.
//!
//! `cargo run --release -p eosim --example shrunk > crates/runner/SHRUNK.md`

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use eosim::input::{Model, scenarios};
use eosim::render::DESCRIBE;
use eosim_runner::defects::{aimed_at, at_random, first, measured};
use eosim_runner::recording::{Observed, record};
use eosim_runner::shrink::{Budget, SEEDS, Shrink, Shrunk};
use eosim_runner::{Expectation, ScenarioFile, Verdict};
use eosim_types::{Defect, DefectSet};

/// A defect is looked for in so many seeds at random; where it is not found, in those that are aimed
/// at it.
const RANDOM: u64 = 3_000;

/// No run is shrunk for longer.
const TIME: Duration = Duration::from_secs(60);

/// What clients ask again and again, whatever happens.
const ROUTINE: &[&str] =
    &["ApiVersions", "FindCoordinator", "Metadata", "Fetch", "ConsumerGroupHeartbeat", "Heartbeat"];

const HEAD: &str = "\
# Defects, shrunk

Of the first run at random that catches each switch of `crates/runner/DEFECTS.md` (of an aimed one where
none does within 3,000 seeds) what `eosim shrink` leaves. Made by
`cargo run --release -p eosim --example shrunk`.

*Requests* are those of clients and operators, without Fetch, heartbeats and the discovery of brokers,
whose number stands behind the plus sign; *protocol steps* are requests, markers sent and faults
applied. *Seeds*: at how many of 10 seeds the scenario that is left breaks the same promise.
*Without*: how it ends with the defect off.

| defect | scenario and seed | steps | requests | markers | faults | protocol steps | seeds | without | time, s |
|---|---|---|---|---|---|---|---|---|---|";

struct Row {
    defect: Defect,
    run: (String, u64),
    shrunk: Shrunk,
    without: &'static str,
    time: Duration,
}

fn main() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut library = scenarios(&[library], &Model::default()).expect("the library");
    library.retain(|file| file.head().expect == Expectation::Sound);
    println!("{HEAD}");
    let mut rows = Vec::new();
    for defect in measured() {
        let Some(row) = shrunk(defect, &library) else { continue };
        println!("{}", row.line());
        rows.push(row);
    }
    print_medians(&rows);
}

fn shrunk(defect: Defect, library: &[ScenarioFile]) -> Option<Row> {
    let hit = first(defect, &at_random(library), RANDOM);
    let hit = hit.or_else(|| first(defect, &aimed_at(defect, library), RANDOM))?;
    let scenario = library.iter().find(|file| file.head().name == hit.scenario)?;
    let (recording, _) = record(scenario, hit.seed, DefectSet::NONE.with(defect), DESCRIBE);
    let begun = Instant::now();
    let stop = AtomicBool::new(false);
    let budget = Budget { steps: None, deadline: begun.checked_add(TIME) };
    let shrink = Shrink { recording: &recording, jobs: 2, budget, stop: &stop, describe: DESCRIBE };
    let shrunk = shrink.run(&mut || {}).ok()?;
    let time = begun.elapsed();
    let run = (hit.scenario, hit.seed);
    Some(Row { defect, run, without: without(&shrunk), shrunk, time })
}

/// How the scenario that is left ends with the defect off.
fn without(shrunk: &Shrunk) -> &'static str {
    let text = shrunk.scenario.to_json();
    let scenario = ScenarioFile::parse("shrunk", &text, &[], &[]).expect("a scenario");
    let verdict = |seed| record(&scenario, seed, DefectSet::NONE, DESCRIBE).1.result.verdict;
    let is_sound = (0..SEEDS).all(|seed| matches!(verdict(seed), Verdict::Sound));
    if is_sound { "sound" } else { "not sound" }
}

/// Requests of clients that matter, others of theirs, and markers.
fn requests(run: &Observed) -> (usize, usize, usize) {
    let (mut asked, mut routine, mut markers) = (0, 0, 0);
    let told = run.lines.iter().map(|line| (run.actor(line.actor), line.text.trim_start()));
    for (who, text) in told.filter(|(_, text)| text.starts_with("-> ")) {
        let api = text.split(' ').skip_while(|word| !word.starts_with('#')).nth(1);
        let api = api.unwrap_or_default();
        match (who.starts_with("broker-"), api) {
            (true, "WriteTxnMarkers") => markers += 1,
            (true, _) => {}
            (false, _) if who == "controller" => {}
            (false, api) if ROUTINE.contains(&api) => routine += 1,
            (false, _) => asked += 1,
        }
    }
    (asked, routine, markers)
}

impl Row {
    fn protocol_steps(&self) -> usize {
        let (asked, _, markers) = requests(&self.shrunk.observed);
        asked + markers + self.faults()
    }

    fn faults(&self) -> usize {
        usize::try_from(self.shrunk.after.faults).unwrap_or(usize::MAX)
    }

    fn line(&self) -> String {
        let Self { defect, run: (scenario, seed), shrunk, without, time } = self;
        let (before, after) = (shrunk.before, shrunk.after);
        let (asked, routine, markers) = requests(&shrunk.observed);
        let steps = format!("{} → {}", before.steps, after.steps);
        let faults = format!("{} → {}", before.faults, after.faults);
        let (all, seeds) = (self.protocol_steps(), shrunk.failing_seeds);
        let end = if shrunk.is_smallest { "" } else { ", not finished" };
        let time = format!("{:.1}{end}", time.as_secs_f64());
        format!(
            "| `{}` | `{scenario}` {seed} | {steps} | {asked} + {routine} | {markers} | {faults} | \
             {all} | {seeds} | {without} | {time} |",
            defect.name()
        )
    }
}

fn print_medians(rows: &[Row]) {
    let sorted = |of: &dyn Fn(&Row) -> usize| {
        let mut all: Vec<usize> = rows.iter().map(of).collect();
        all.sort_unstable();
        (all.get(all.len() / 2).copied().unwrap_or(0), all.last().copied().unwrap_or(0))
    };
    let steps = sorted(&Row::protocol_steps);
    let faults = sorted(&Row::faults);
    let millis = sorted(&|row| usize::try_from(row.time.as_millis()).unwrap_or(usize::MAX));
    println!();
    println!("Protocol steps: median {}, worst {}.", steps.0, steps.1);
    println!("Faults: median {}, worst {}.", faults.0, faults.1);
    println!("Time: median {} ms, worst {} ms.", millis.0, millis.1);
    let smallest = rows.iter().filter(|row| row.shrunk.is_smallest).count();
    println!("{} runs, {smallest} of them shrunk to the end.", rows.len());
}
