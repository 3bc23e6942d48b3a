//! One worker: its own world, one machine for each scenario.

use std::panic::{AssertUnwindSafe, catch_unwind};

use eosim_actor::{Choices, Site, Stream};
use eosim_checker::Verdict;
use eosim_scenario::{Plan, ScenarioFile};
use eosim_sim::Seeded;
use eosim_types::{ActorId, DefectSet};

use super::{Outcome, SeedResult, Sweep, judge, repair};
use crate::assemble::{Assembly, assemble};
use crate::run::{RunResult, SeededMachine, said};

/// Everything of a scenario that the seed decides before its world exists.
const PLAN: Site = Site::new("plan", Stream::Plan);

/// The plan of `seed`.
#[must_use]
pub fn plan_of(scenario: &ScenarioFile, seed: u64) -> Plan {
    let mut choices = Seeded::new(seed);
    let mut choose = |_: &str, n: u32| match n {
        0 | 1 => 0,
        _ => choices.choose(PLAN, ActorId(u16::MAX), n),
    };
    scenario.plan(&mut choose).expect("a checked scenario has a plan for every seed")
}

/// A worker.
pub(super) struct Worker<'a> {
    sweep: &'a Sweep<'a>,
    machines: Vec<ScenarioMachine>,
}

/// Runs seeds of one scenario.
pub(crate) struct ScenarioMachine {
    machine: SeededMachine,
    /// The last plan and what was assembled from it; a scenario without draws has only one.
    last: Option<(Plan, Assembly)>,
}

impl ScenarioMachine {
    pub(crate) fn new() -> Self {
        Self { machine: SeededMachine::new(Seeded::new(0)), last: None }
    }

    /// Runs one seed.
    pub(crate) fn run(
        &mut self,
        scenario: &ScenarioFile,
        seed: u64,
        defects: DefectSet,
    ) -> RunResult {
        self.run_plan(plan_of(scenario, seed), seed, defects)
    }

    /// Runs `plan` as that of a seed.
    pub(crate) fn run_plan(&mut self, plan: Plan, seed: u64, defects: DefectSet) -> RunResult {
        self.machine.choices().reset(seed);
        let assembly = self.assembly(&plan, defects);
        let result = self.machine.run(&plan, assembly.clone(), None);
        self.last = Some((plan, assembly));
        result
    }

    /// What `plan` amounts to; what it has in common with the plan before is taken from there.
    /// Zombies alone differ between seeds of the same plan.
    fn assembly(&mut self, plan: &Plan, defects: DefectSet) -> Assembly {
        let last = self.last.take();
        if let Some((last, former)) = &last
            && plan.faults.zombie.is_none()
            && former.cluster.defects == plan.switched_on().union(defects)
            && last == plan
        {
            return former.clone();
        }
        let machine = &mut self.machine;
        let mut assembly = assemble(plan, defects, &mut |site, n| machine.choose_for_plan(site, n));
        if let Some((last, former)) = &last
            && last.cluster == plan.cluster
            && former.cluster.shape == assembly.cluster.shape
        {
            assembly.cluster.shape = former.cluster.shape.clone();
        }
        assembly
    }
}

impl<'a> Worker<'a> {
    pub(super) fn new(sweep: &'a Sweep<'a>) -> Self {
        let machines = sweep.scenarios.iter().map(|_| ScenarioMachine::new()).collect();
        Self { sweep, machines }
    }

    pub(super) fn run(&mut self, scenario: usize, seed: u64) -> SeedResult {
        let file = &self.sweep.scenarios[scenario];
        let machine = &mut self.machines[scenario];
        let mut once = || {
            let run = AssertUnwindSafe(|| machine.run(file, seed, self.sweep.defects));
            catch_unwind(run).unwrap_or_else(|panic| {
                let name = &file.head().name;
                panic!("the checker failed at seed {seed} of {name}: {}", said(&*panic))
            })
        };
        let run = once();
        let every = self.sweep.verify_every;
        let verifies = every > 0 && seed.is_multiple_of(every);
        let second = verifies.then(|| once().digest);
        let second_digest = second.filter(|digest| *digest != run.digest);
        let marks = machine.machine.take_marks();
        let repaired_by = self.repaired_by(scenario, seed, &run);
        SeedResult { scenario, seed, run, second_digest, marks, repaired_by }
    }

    /// If the seed fails and would not with what later releases changed: the tickets. What a scenario
    /// expects is no failure, and with a switch on it is the switch that is sought.
    fn repaired_by(&mut self, scenario: usize, seed: u64, run: &RunResult) -> Option<String> {
        let Sweep { scenarios, defects, .. } = *self.sweep;
        let file = &scenarios[scenario];
        let expect = &file.head().expect;
        let fails = |verdict: &Verdict| judge(verdict, expect) == Outcome::Failed;
        let decided = !matches!(run.verdict, Verdict::Inconclusive(_));
        if !fails(&run.verdict) || !decided {
            return None;
        }
        let plan = plan_of(file, seed);
        if plan.switched_on().union(defects) != DefectSet::NONE {
            return None;
        }
        // A machine of its own, so that what was reached is not counted.
        let mut machine = ScenarioMachine::new();
        repair::repaired_by(&plan, |plan| fails(&machine.run_plan(plan, seed, defects).verdict))
    }
}
