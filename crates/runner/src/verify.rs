//! Determinism: one run twice, compared step by step.

use eosim_scenario::ScenarioFile;
use eosim_sim::Seeded;
use eosim_types::DefectSet;

use crate::assemble::assemble;
use crate::run::{Machine, RunResult, Step};
use crate::sweep::plan_of;

/// Two runs of one seed.
pub struct Verified {
    /// The first run.
    pub first: RunResult,
    /// Digest of the second run.
    pub second_digest: u64,
    /// The first step that differs, with what either run did there.
    pub parted: Option<(u64, Option<Step>, Option<Step>)>,
}

impl Verified {
    /// Were both runs the same?
    #[must_use]
    pub fn is_deterministic(&self) -> bool {
        self.first.digest == self.second_digest && self.parted.is_none()
    }
}

/// Runs `seed` twice: in a new world, and in one that has run another seed before.
#[must_use]
pub fn verify(scenario: &ScenarioFile, seed: u64, defects: DefectSet) -> Verified {
    let mut machine = Machine::new(Seeded::new(seed));
    let (first, trace) = traced(&mut machine, scenario, seed, defects);
    traced(&mut machine, scenario, seed.wrapping_add(1), defects);
    let (second, again) = traced(&mut machine, scenario, seed, defects);
    let longest = trace.len().max(again.len());
    let parted = (0..longest).find(|&at| trace.get(at) != again.get(at));
    let parted = parted.map(|at| (at as u64 + 1, trace.get(at).copied(), again.get(at).copied()));
    Verified { first, second_digest: second.digest, parted }
}

fn traced(
    machine: &mut Machine<Seeded>,
    scenario: &ScenarioFile,
    seed: u64,
    defects: DefectSet,
) -> (RunResult, Vec<Step>) {
    let plan = plan_of(scenario, seed);
    machine.choices().reset(seed);
    let mut choose = |site, n| machine.choose_for_plan(site, n);
    let assembly = assemble(&plan, defects, &mut choose);
    machine.watch().trace();
    let result = machine.run(&plan, assembly, None);
    (result, machine.watch().take_trace())
}
