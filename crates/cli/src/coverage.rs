//! How often rules, probes and cells were reached, and faults struck: `coverage.json`, and what
//! `eosim coverage` prints of one or more of them.
//!
//! A probe is a hazard of the coordinator (`H-…`) or a state of a state machine that was entered; a
//! cell is an event that was taken in a state.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use eosim_runner::sweep::SweepSummary;
use eosim_runner::{Count, InputError, json};
use eosim_types::Marks;
use eosim_types::machine::{CellName, StateName};
use eosim_types::rules::why_unreached;
use serde_json::{Map, Value, json};

use crate::results;

/// So many of those that were reached are shown, the rarest first, unless all are asked for.
const SHOWN: usize = 10;

/// Counts by name.
type Counts = BTreeMap<String, u64>;

/// What runs have reached.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    rules: Counts,
    probes: Counts,
    cells: Counts,
    faults: BTreeMap<String, Count>,
}

impl Coverage {
    /// What `marks` say of the model and `faults` of what disturbed it.
    #[must_use]
    pub fn of<'a>(marks: &Marks, faults: impl IntoIterator<Item = (&'a str, Count)>) -> Self {
        let is_hazard = |name: &str| name.starts_with("H-");
        let named = |(name, count): (&str, u64)| (name.to_string(), count);
        let rules = marks.counts().filter(|(name, _)| !is_hazard(name)).map(named);
        let hazards = marks.counts().filter(|(name, _)| is_hazard(name)).map(named);
        let states = marks.states().map(|(state, count)| (state.to_string(), count));
        let cells = marks.cells().map(|(cell, count)| (cell.to_string(), count));
        let mut coverage = Self {
            rules: rules.collect(),
            probes: hazards.chain(states).collect(),
            cells: cells.collect(),
            faults: BTreeMap::new(),
        };
        for (name, count) in faults {
            coverage.faults.entry(name.to_string()).or_default().merge(count);
        }
        coverage
    }

    /// What a sweep has reached.
    #[must_use]
    pub fn of_sweep(summary: &SweepSummary) -> Self {
        let faults = summary.scenarios.iter().flat_map(|scenario| &scenario.faults);
        Self::of(&summary.marks, faults.map(|(name, count)| (*name, *count)))
    }

    /// What is kept in the file `path`.
    ///
    /// # Errors
    /// If it cannot be read, or is no `coverage.json`.
    pub fn read(path: &Path) -> Result<Self, InputError> {
        let expected = "a coverage.json of format 1";
        let wrong =
            |found: String| InputError::new(path.display().to_string(), "", found, expected);
        let text = json::read_text(path, json::FILE_MAX, expected)?;
        let value: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if value["format"] != 1 {
            return Err(wrong(format!("format {}", value["format"])));
        }
        let counts = |key: &str| counts(&value[key]).ok_or_else(|| wrong(format!("no \"{key}\"")));
        Ok(Self {
            rules: counts("rules")?,
            probes: counts("probes")?,
            cells: counts("cells")?,
            faults: faults(&value["faults"]).ok_or_else(|| wrong("no \"faults\"".into()))?,
        })
    }

    /// Adds what other runs have reached.
    pub fn merge(&mut self, other: &Self) {
        add(&mut self.rules, &other.rules);
        add(&mut self.probes, &other.probes);
        add(&mut self.cells, &other.cells);
        for (name, count) in &other.faults {
            self.faults.entry(name.clone()).or_default().merge(*count);
        }
    }

    /// `{"format":1,"rules":{…},"probes":{…},"cells":{…},"faults":{…}}`.
    #[must_use]
    pub fn json(&self) -> Value {
        let faults = self.faults.iter().map(|(name, count)| (name.as_str(), *count));
        json!({
            "format": 1,
            "rules": self.rules,
            "probes": self.probes,
            "cells": self.cells,
            "faults": results::fault_counts(faults),
        })
    }

    /// Of each kind: how much was reached, how much never, and how much cannot be.
    #[must_use]
    pub fn totals(&self) -> Vec<(String, [u64; 3])> {
        let rules = total(&self.rules, why_unreached);
        let probes = total(&self.probes, why_no_probe);
        let cells = total(&self.cells, why_no_cell);
        [("rules", rules), ("probes", probes), ("cells", cells)]
            .map(|(name, counts)| (name.to_string(), counts))
            .into()
    }

    /// For a reader: what was never reached first, without that for which there is a reason, then
    /// the rarest; `all` of both if asked for.
    #[must_use]
    pub fn text(&self, all: bool) -> String {
        let mut text = String::new();
        section(&mut text, "rules", &self.rules, why_unreached, all);
        section(&mut text, "probes", &self.probes, why_no_probe, all);
        section(&mut text, "cells", &self.cells, why_no_cell, all);
        text
    }
}

/// How much of `counts` was reached, how much never, and how much cannot be.
fn total(counts: &Counts, why: impl Fn(&str) -> Option<&'static str>) -> [u64; 3] {
    let mut total = [0; 3];
    for (name, count) in counts {
        let kind = if *count > 0 { 0 } else { 1 + usize::from(why(name).is_some()) };
        total[kind] += 1;
    }
    total
}

fn why_no_probe(name: &str) -> Option<&'static str> {
    StateName::parse(name)?.why_unreached()
}

fn why_no_cell(name: &str) -> Option<&'static str> {
    CellName::parse(name)?.why_unreached()
}

/// One kind of thing that can be reached.
fn section(
    text: &mut String,
    title: &str,
    counts: &Counts,
    why: impl Fn(&str) -> Option<&'static str>,
    all: bool,
) {
    let (missed, mut reached): (Vec<_>, Vec<_>) = counts.iter().partition(|(_, n)| **n == 0);
    let ([hit, open, explained], all_of_it) = (total(counts, &why), counts.len());
    let _ = writeln!(
        text,
        "{title}: {hit} of {all_of_it} reached; {open} never, {explained} cannot be"
    );
    for (name, _) in missed {
        match why(name) {
            None => writeln!(text, "  never      {name}"),
            Some(why) if all => writeln!(text, "  cannot be  {name}: {why}"),
            Some(_) => Ok(()),
        }
        .expect("a string grows");
    }
    reached.sort_by_key(|(_, count)| **count);
    for (name, count) in reached.iter().take(if all { usize::MAX } else { SHOWN }) {
        let _ = writeln!(text, "  {count:>9}  {name}");
    }
}

fn counts(value: &Value) -> Option<Counts> {
    let entries = value.as_object()?.iter();
    entries.map(|(name, count)| Some((name.clone(), count.as_u64()?))).collect()
}

fn faults(value: &Value) -> Option<BTreeMap<String, Count>> {
    let count = |value: &Value| {
        let number = |key: &str| value[key].as_u64();
        Some(Count { applied: number("applied")?, effective: number("effective")? })
    };
    let entries = value.as_object().map(Map::iter)?;
    entries.map(|(name, value)| Some((name.clone(), count(value)?))).collect()
}

fn add(sums: &mut Counts, counts: &Counts) {
    for (name, count) in counts {
        let sum = sums.entry(name.clone()).or_default();
        *sum = sum.saturating_add(*count);
    }
}
