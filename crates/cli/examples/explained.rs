//! The table of `crates/runner/EXPLAINED.md`: what each defect takes, and what the explanation of the
//! first run that catches it says.
//!
//! `cargo run --release -p eosim --example explained > crates/runner/EXPLAINED.md`

use std::path::Path;

use eosim::input::{Model, scenarios};
use eosim::render::DESCRIBE;
use eosim_runner::Expectation;
use eosim_runner::defects::{Explained, explained, measured};

/// A defect is looked for in so many seeds.
const SEEDS: u64 = 1_000;

const HEAD: &str = "\
# Defects, explained

Each switch of `crates/runner/DEFECTS.md` that is caught, with what it takes according to the catalogue of
historical defects, what of that the explanation of the first aimed run names (as a necessary fault, step
of the operator, or in a line of the story), and what it finds necessary in that run. Made by
`cargo run --release -p eosim --example explained`.

`NONE`: ordinary traffic suffices. `-`: what the catalogue names is not necessary in that run, mostly
because the state of a broker is judged before a fault makes it visible.

| defect | takes | named | necessary in the run | scenario and seed |
|---|---|---|---|---|
";

fn main() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut library = scenarios(&[library], &Model::default()).expect("the library");
    library.retain(|file| file.head().expect == Expectation::Sound);
    let row = |defect| explained(defect, &library, SEEDS, DESCRIBE);
    let rows: Vec<Explained> = measured().filter_map(row).collect();
    print!("{HEAD}");
    for row in &rows {
        println!("{}", row.row());
    }
    let named = rows.iter().filter(|row| row.is_named()).count();
    println!("\n{named} of {} are named.", rows.len());
}
