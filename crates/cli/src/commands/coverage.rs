//! `eosim coverage`: what kept runs have reached, and above all what not.

use std::path::{Path, PathBuf};

use eosim_runner::InputError;
use eosim_runner::exit::ExitCode;
use serde_json::{Value, json};

use super::Failure;
use crate::args::{CoverageArgs, Format, OutputArgs};
use crate::coverage::Coverage;
use crate::{artefacts, output};

pub(super) fn run(args: &CoverageArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let mut sum = Coverage::default();
    for run in &args.runs {
        sum.merge(&Coverage::read(&find(run)?)?);
    }
    let text = match how.format {
        Format::Text => sum.text(how.verbose),
        Format::Json => sum.json().to_string() + "\n",
        Format::Jsonl => lines(&sum.json()),
    };
    output::print(&text)?;
    Ok(ExitCode::Fine)
}

/// A line for each thing that can be reached.
fn lines(coverage: &Value) -> String {
    let kinds = ["rules", "probes", "cells"].into_iter();
    let each = kinds.flat_map(|kind| {
        let counts = coverage[kind].as_object().into_iter().flatten();
        counts.map(move |(name, count)| json!({"kind": kind, "name": name, "count": count}))
    });
    each.map(|line| line.to_string() + "\n").collect()
}

/// The `coverage.json` that the user means by `run`.
fn find(run: &Path) -> Result<PathBuf, InputError> {
    let files = artefacts::places(run)
        .map(|place| if place.is_dir() { place.join(artefacts::COVERAGE) } else { place });
    files.into_iter().find(|file| file.is_file()).ok_or_else(|| {
        let found = "no such file, or a folder without coverage.json";
        let expected = "the folder of a run or a sweep, or its coverage.json";
        InputError::new(run.display().to_string(), "", found, expected)
    })
}
