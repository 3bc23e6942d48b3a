//! The table of `crates/cli/src/names/produced.tsv`: for each error code that some run of the library
//! answers, a scenario and a seed: the shortest such run, of a sound scenario if there is one.
//!
//! `cargo run --release -p eosim --example errors > crates/cli/src/names/produced.tsv`

use std::collections::BTreeMap;
use std::path::Path;

use eosim::input::{Model, scenarios};
use eosim::names::errors_in;
use eosim::render::DESCRIBE;
use eosim_runner::Expectation;
use eosim_runner::recording::record;
use eosim_types::{DefectSet, ErrorCode};

/// So many seeds of each scenario are looked at.
const SEEDS: u64 = 40;

fn main() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let library = scenarios(&[library], &Model::default()).expect("the library");
    let mut best: BTreeMap<ErrorCode, (bool, u64, String, u64)> = BTreeMap::new();
    for file in &library {
        let breaks = file.head().expect != Expectation::Sound;
        for seed in 0..if file.is_fixed() { 1 } else { SEEDS } {
            let (recording, run) = record(file, seed, DefectSet::NONE, DESCRIBE);
            for code in errors_in(&run) {
                let found = (breaks, recording.steps, file.head().name.clone(), seed);
                let known = best.entry(code).or_insert_with(|| found.clone());
                if found < *known {
                    *known = found;
                }
            }
        }
    }
    for code in ErrorCode::ALL {
        if let Some((.., scenario, seed)) = best.get(code) {
            println!("{code}\t{scenario}\t{seed}");
        }
    }
}
