//! One run that may be smaller and fail in the same way.

use std::panic::{AssertUnwindSafe, catch_unwind};

use eosim_actor::Recorder;
use eosim_checker::Verdict;
use eosim_scenario::plan::Limits;
use eosim_scenario::{Plan, ScenarioFile};
use eosim_types::{DefectSet, Names};
use serde_json::Value;

use super::class::Class;
use super::guide::{Guided, Pick};
use crate::assemble::assemble;
use crate::run::{Machine, RunResult, Story};

/// The smallest run so far.
#[derive(Clone, Debug)]
pub(crate) struct Best {
    pub(crate) plan: Plan,
    /// The plan as JSON, to be changed.
    pub(crate) value: Value,
    pub(crate) picks: Vec<Pick>,
    /// Steps until the failure shows.
    pub(crate) steps: u64,
    pub(crate) story: Story,
    pub(crate) names: Names,
    /// Actors in the order of their numbers.
    pub(crate) actors: Vec<String>,
    /// When the successors of zombies begin, who come last among the actors, in milliseconds.
    pub(crate) successors_ms: Vec<i64>,
}

/// A change of the best run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Proposal {
    /// Another plan.
    Plan(Value),
    /// These picks are quiet.
    Quiet(Vec<usize>),
    /// This pick is that one.
    Pick(usize, u32),
    /// So much time is given to end and to recover.
    Patience(Limits),
}

/// What is the same in all trials of a search.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    pub(super) class: Class,
    pub(super) defects: DefectSet,
    /// No run may be longer.
    pub(super) steps_max: u64,
}

/// What came of a proposal.
pub(super) struct Tried {
    /// Steps taken to find out.
    pub(super) steps: u64,
    /// The run, if it fails in the same way.
    pub(super) found: Option<Best>,
}

/// The plan that `value` stands for, if it is one.
pub(crate) fn plan_of(value: &Value) -> Option<Plan> {
    let names: Vec<&str> = eosim_checker::invariants().iter().map(|one| one.name).collect();
    let file = ScenarioFile::parse("", &value.to_string(), &[], &names).ok()?;
    file.is_fixed().then(|| file.head().clone())
}

/// What other seeds of the scenario must not need.
const fn sooner(limits: Limits) -> Limits {
    let virtual_time_max_ms = limits.virtual_time_max_ms / 4 * 3;
    Limits { virtual_time_max_ms, recovery_max_ms: limits.recovery_max_ms / 4, ..limits }
}

/// A plan as JSON.
pub(crate) fn value_of(plan: &Plan) -> Value {
    serde_json::to_value(plan).expect("a plan is plain JSON")
}

impl Terms {
    /// Tries `proposal`; `None` if that is no plan at all, or nothing new.
    pub(super) fn attempt(&self, best: &Best, proposal: &Proposal) -> Option<Tried> {
        let twice = best.steps.saturating_mul(2).saturating_add(100);
        match proposal {
            Proposal::Plan(value) if *value == best.value => None,
            Proposal::Plan(value) => {
                let plan = plan_of(value)?;
                let unchanged = |_, picked| picked;
                Some(self.run_and_cut(&plan, &best.picks, &unchanged, twice))
            }
            Proposal::Quiet(quiet) => {
                let change =
                    |at: usize, picked| if quiet.binary_search(&at).is_ok() { 0 } else { picked };
                Some(self.run_and_cut(&best.plan, &best.picks, &change, best.steps))
            }
            Proposal::Pick(index, value) => {
                let change = |at, picked| if at == *index { *value } else { picked };
                Some(self.run_and_cut(&best.plan, &best.picks, &change, best.steps))
            }
            Proposal::Patience(limits) => self.attempt_sooner(best, *limits),
        }
    }

    /// What gets stuck counts as stuck sooner, if without the defect all is well much sooner still.
    fn attempt_sooner(&self, best: &Best, limits: Limits) -> Option<Tried> {
        if self.class.can_be_cut() || self.defects == DefectSet::NONE {
            return None;
        }
        let plan = Plan { limits, ..best.plan.clone() };
        let unchanged = |_, picked| picked;
        let mut tried = self.run_and_cut(&plan, &best.picks, &unchanged, best.steps);
        if tried.found.is_some() {
            let healthy = Self { defects: DefectSet::NONE, ..self.clone() };
            let plan = Plan { limits: sooner(limits), ..plan };
            let ended = healthy.play(&plan, &best.picks, &unchanged, best.steps);
            let steps = ended.as_ref().map(|(result, _)| result.steps);
            tried.steps += steps.unwrap_or(best.steps);
            let is_sound = ended.is_some_and(|(result, _)| result.verdict == Verdict::Sound);
            tried.found.take_if(|_| !is_sound);
        }
        Some(tried)
    }

    /// Runs, and once more to the step at which the failure shows and no further.
    pub(super) fn run_and_cut(
        &self,
        plan: &Plan,
        picks: &[Pick],
        change: &dyn Fn(usize, u32) -> u32,
        steps_max: u64,
    ) -> Tried {
        let (whole, shown) = self.run(plan, picks, change, steps_max.min(self.steps_max));
        let Some(best) = shown else { return Tried { steps: whole, found: None } };
        if whole == best.steps || !self.class.can_be_cut() {
            return Tried { steps: whole, found: Some(best) };
        }
        let (again, cut) = self.run(plan, picks, change, best.steps);
        Tried { steps: whole + again, found: cut }
    }

    /// Steps taken, and the run if it fails in the same way.
    fn run(
        &self,
        plan: &Plan,
        picks: &[Pick],
        change: &dyn Fn(usize, u32) -> u32,
        steps_max: u64,
    ) -> (u64, Option<Best>) {
        let played = self.play(plan, picks, change, steps_max);
        played.map_or((steps_max, None), |(result, shown)| (result.steps, shown))
    }

    /// The run, however it ends, and all of it if it fails in the same way; `None` if the checker takes
    /// for impossible what a plan that nobody would write leads to.
    fn play(
        &self,
        plan: &Plan,
        picks: &[Pick],
        change: &dyn Fn(usize, u32) -> u32,
        steps_max: u64,
    ) -> Option<(RunResult, Option<Best>)> {
        let mut machine = Machine::new(Recorder::new(Guided::new(picks, change)));
        let cut = self.cut(plan, steps_max);
        let mut choose = |site, n| machine.choose_for_plan(site, n);
        let assembly = assemble(&cut, self.defects, &mut choose);
        let actors = assembly.actors(plan);
        let names = assembly.cluster.shape.names.as_ref().clone();
        let first = assembly.cluster.clients.len() - (actors.len() - plan.actors().len());
        let successors = assembly.cluster.clients[first..].iter();
        let successors_ms = successors.map(|one| one.start_at().as_millis()).collect();
        machine.choices().inner_mut().call(actors.clone());
        machine.watch().follow();
        let run = AssertUnwindSafe(|| machine.run(&cut, assembly, None));
        let result = catch_unwind(run).ok()?;
        let shown = self.class.shows(&result).map(|steps| Best {
            plan: plan.clone(),
            value: value_of(plan),
            picks: machine
                .choices()
                .list()
                .iter()
                .map(|choice| Pick::of(choice.owned(), &actors))
                .collect(),
            steps,
            story: machine.watch().take_story(),
            names,
            actors,
            successors_ms,
        });
        Some((result, shown))
    }

    /// `plan` as it is run: no further than `steps`, if the failure shows at once.
    pub(super) fn cut(&self, plan: &Plan, steps: u64) -> Plan {
        let mut cut = plan.clone();
        if self.class.can_be_cut() {
            cut.limits.steps_max = cut.limits.steps_max.min(steps.max(1));
        }
        cut
    }

    /// `plan`, with the choices of `seed`.
    pub(super) fn run_seed(&self, plan: &Plan, seed: u64) -> RunResult {
        let mut machine = Machine::new(eosim_sim::Seeded::new(seed));
        let mut choose = |site, n| machine.choose_for_plan(site, n);
        let assembly = assemble(plan, self.defects, &mut choose);
        machine.run(plan, assembly, None)
    }
}
