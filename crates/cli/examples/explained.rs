//! The table of `crates/runner/EXPLAINED.md`: what each defect takes, and what the explanation of the
//! first run that catches it says.
//!
//! `cargo run --release -p eosim --example explained > crates/runner/EXPLAINED.md`

use std::path::Path;

use eosim::input::{Model, scenarios};
use eosim::render::DESCRIBE;
use eosim_runner::defects::{Explained, aimed_at, at_random, explained, measured};
use eosim_runner::{Expectation, ScenarioFile};
use eosim_types::Defect;

/// A defect is looked for in so many seeds of scenarios that are aimed at it.
const AIMED: u64 = 1_000;

/// In so many seeds at random.
const RANDOM: u64 = 3_000;

const HEAD: &str = "\
# Defects, explained

Each switch of `crates/runner/DEFECTS.md` that is caught, with what it takes according to the catalogue of
historical defects, and what of that the explanation of the first run that catches it names: as a
necessary fault, a necessary step of the operator, or in a line of the story. Then what it finds
necessary in that run and, where the promise that breaks first is one between brokers, how clients come
to feel it and what is necessary for that. Made by `cargo run --release -p eosim --example explained`.

`NONE`: ordinary traffic suffices. `-`: what the catalogue names is not necessary in that run.
";

const TABLE: &str = "\
| defect | takes | named | necessary in the run | felt as | scenario and seed |
|---|---|---|---|---|---|";

fn main() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut library = scenarios(&[library], &Model::default()).expect("the library");
    library.retain(|file| file.head().expect == Expectation::Sound);
    let random = at_random(&library);
    print!("{HEAD}");
    table("Scenarios aimed at it", |defect| aimed_at(defect, &library), AIMED);
    table("Scenarios whose faults strike by chance alone", |_| random.clone(), RANDOM);
}

fn table(title: &str, scenarios: impl Fn(Defect) -> Vec<ScenarioFile>, seeds: u64) {
    println!("\n## {title}\n\n{TABLE}");
    let row = |defect| explained(defect, &scenarios(defect), seeds, DESCRIBE);
    let rows: Vec<Explained> = measured().filter_map(row).collect();
    for row in &rows {
        println!("{}", row.row());
    }
    let named = rows.iter().filter(|row| row.is_named()).count();
    println!("\n{named} of {} are named.", rows.len());
}
