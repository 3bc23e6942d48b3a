//! Which error codes runs of the library produce, and where: a table that is measured.
//!
//! `cargo run --release -p eosim --example errors > crates/cli/src/names/produced.tsv` makes it anew.

use std::collections::BTreeSet;
use std::fmt;

use eosim_runner::recording::Observed;
use eosim_types::ErrorCode;

/// The table: code, scenario, seed.
pub const TABLE: &str = include_str!("produced.tsv");

/// A run in which a code is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Produced {
    /// The name of its scenario.
    pub scenario: &'static str,
    /// Its seed.
    pub seed: u64,
}

impl fmt::Display for Produced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, seed {}", self.scenario, self.seed)
    }
}

/// The run of the table in which `code` is answered.
#[must_use]
pub fn produced(code: ErrorCode) -> Option<Produced> {
    let row = |line: &'static str| {
        let mut cells = line.split('\t');
        let name = cells.next()?;
        let scenario = cells.next()?;
        let seed = cells.next()?.parse().ok()?;
        (name == code.name()).then_some(Produced { scenario, seed })
    };
    TABLE.lines().find_map(row)
}

/// The codes that answers carry in the transcript of a run.
#[must_use]
pub fn errors_in(run: &Observed) -> BTreeSet<ErrorCode> {
    let answers = run.lines.iter().filter(|line| line.text.trim_start().starts_with("<- #"));
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let words = answers.flat_map(|line| line.text.split(move |c| !is_name(c)));
    words.filter(|word| word.len() > 3).filter_map(ErrorCode::from_name).collect()
}
