//! A scenario file that was read, checked, and found good.
//!
//! Invariant: it has a plan for the calmest and for the wildest of its values.

use std::path::Path;

use serde_json::Value;

use crate::draw::{self, Draw};
use crate::error::InputError;
use crate::overrides::Override;
use crate::plan::Plan;
use crate::{Chooser, check, cross, json, schema};

/// A checked scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioFile {
    file: String,
    scenario: Value,
    draws: Vec<Draw>,
    calmest: Plan,
}

impl ScenarioFile {
    /// Reads the file at `path`, with `overrides` applied. `invariants` are the names that
    /// `expect.violation` may use.
    ///
    /// # Errors
    /// If it cannot be read, or as [`Self::parse`].
    pub fn read(
        path: &Path,
        overrides: &[Override],
        invariants: &[&str],
    ) -> Result<Self, InputError> {
        let text = json::read_file(path)?;
        Self::parse(&path.display().to_string(), &text, overrides, invariants)
    }

    /// Checks `text`, the contents of `file`, with `overrides` applied.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn parse(
        file: &str,
        text: &str,
        overrides: &[Override],
        invariants: &[&str],
    ) -> Result<Self, InputError> {
        let mut scenario = json::parse(file, text)?;
        for set in overrides {
            set.apply(&mut scenario)?;
        }
        let draws = check::check(file, schema(), &scenario)?;
        cross::check_latencies(file, &scenario)?;
        let mut calmest = scenario.clone();
        draw::resolve(&mut calmest, &draws, &mut |_, _| 0);
        let calmest = plan(file, calmest)?;
        let checked = Self { file: file.to_string(), scenario, draws, calmest };
        let wildest = checked.plan(&mut |_, n| n - 1)?;
        cross::check_ticks(file, [&checked.calmest, &wildest])?;
        cross::check_invariants(file, &checked.calmest, invariants)?;
        Ok(checked)
    }

    /// The file's path, as given.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// What does not depend on the seed (name, about, rules, defects, expectation, requirements)
    /// beside the calmest value of everything that does; all faults are on.
    #[must_use]
    pub const fn head(&self) -> &Plan {
        &self.calmest
    }

    /// Nothing is left to the seed: every plan is the same.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        let faults = &self.calmest.faults;
        self.draws.is_empty() && !faults.swarm && faults.intensity.is_none()
    }

    /// The scenario with its draws, without white space, keys in order: what a digest is made of.
    #[must_use]
    pub fn canonical(&self) -> String {
        self.scenario.to_string()
    }

    /// The plan of one seed, whose choices are made by `choose`.
    ///
    /// # Errors
    /// If values that were drawn do not go together, such as more replicas than brokers.
    pub fn plan(&self, choose: &mut Chooser<'_>) -> Result<Plan, InputError> {
        if self.is_fixed() {
            return Ok(self.calmest.clone());
        }
        let mut scenario = self.scenario.clone();
        draw::resolve(&mut scenario, &self.draws, choose);
        draw::intensity(&mut scenario, choose);
        draw::swarm(&mut scenario, choose);
        plan(&self.file, scenario)
    }
}

/// Makes a plan of a scenario without draws. That it has the form of one is checked already.
fn plan(file: &str, scenario: Value) -> Result<Plan, InputError> {
    let plan = serde_json::from_value::<Plan>(scenario)
        .map_err(|error| InputError::new(file, "", error.to_string(), "a scenario"))?;
    cross::check(file, &plan)?;
    Ok(plan)
}
