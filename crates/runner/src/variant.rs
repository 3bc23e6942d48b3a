//! Runs that are like a recorded one but for what is taken away from it or set otherwise.
//!
//! Whoever is not concerned goes on with his own picks, in their order, so that such a run stays as
//! close to the recorded one as it can.

mod part;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use eosim_actor::{CrashKind, Recorder};
use eosim_scenario::Plan;
use eosim_scenario::plan::{Aimed, FAULTS};
use eosim_sim::Seeded;
use eosim_sim::fault::{Cause, Command, rule_of};
use eosim_types::{DefectSet, Names};
use serde_json::Value;

use crate::assemble::{Assembly, assemble};
use crate::recording::{Observed, Recording, watch};
use crate::run::{Change, Describe, Glance, Machine, RunResult, Trail, What};
use crate::shrink::guide::{Guided, Pick};
use crate::shrink::pass::rules;
use crate::shrink::trial::{Best, value_of};

pub use part::{NoSuchPart, Part};

/// What a run is made of, besides its picks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variant {
    /// What is run.
    pub plan: Plan,
    /// The switches that are on besides those of the plan.
    pub defects: DefectSet,
}

impl Variant {
    /// The recorded run itself.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        let (plan, defects) = (recording.plan.clone(), recording.defects);
        Self { plan, defects }
    }

    /// The same, but no longer than so many steps.
    fn cut(&self, steps_max: u64) -> Self {
        let mut cut = self.clone();
        cut.plan.limits.steps_max = cut.plan.limits.steps_max.min(steps_max.max(1));
        cut
    }
}

/// A recorded run, as a guide for others.
#[derive(Clone, Debug)]
pub struct Guide {
    picks: Vec<Pick>,
    seed: u64,
    /// Of each fault that struck at random, a rule for each strike, if rules can do what it does.
    strikes: BTreeMap<&'static str, Vec<Aimed>>,
}

/// A run with what led to what in it.
pub(crate) struct Linked {
    pub(crate) observed: Observed,
    pub(crate) trail: Trail,
}

impl Linked {
    /// The step of a line; of what the world does, the last before it; 0 if there is none.
    pub(crate) fn step_of(&self, line: usize) -> u64 {
        let before = self.observed.lines[..=line].iter().rev();
        before.map(|line| line.step).find(|step| *step > 0).unwrap_or(0)
    }

    /// The lines in which the rule of `aimed` at this place acts.
    pub(crate) fn acts(&self, rule: usize) -> impl Iterator<Item = usize> {
        let links = self.trail.links.iter().enumerate();
        links.filter_map(move |(at, link)| match &link.what {
            What::Befalls { cause, .. } | What::Commanded { cause, .. } => {
                (rule_of(*cause) == Some(rule)).then_some(at)
            }
            _ => None,
        })
    }

    /// The lines in which faults called `kind` strike, as [`Guide::strikes`] counts them.
    pub(crate) fn strikes(&self, kind: &'static str) -> impl Iterator<Item = usize> {
        let is_of_kind = move |cause: Cause| FAULTS.get(usize::from(cause.0)) == Some(&kind);
        let links = self.trail.links.iter().enumerate();
        links.filter_map(move |(at, link)| match &link.what {
            What::Befalls { cause, .. } => is_of_kind(*cause).then_some(at),
            What::Commanded { cause, command } => {
                let begins = match command {
                    Command::Crash { kind, .. } => *kind != CrashKind::Stopped,
                    Command::Pause { .. } | Command::Reset { .. } => true,
                    _ => false,
                };
                (begins && is_of_kind(*cause)).then_some(at)
            }
            _ => None,
        })
    }
}

/// Does `value` hold one of these names?
fn names(value: &Value, actors: &[String]) -> bool {
    match value {
        Value::String(text) => actors.contains(text),
        Value::Array(list) => list.iter().any(|one| names(one, actors)),
        Value::Object(fields) => fields.values().any(|one| names(one, actors)),
        _ => false,
    }
}

impl Guide {
    /// By `recording`.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        let actors = actors(recording);
        let picks = recording.choices.iter().map(|one| Pick::of(one.clone(), &actors));
        let seed = recording.seed;
        let mut guide = Self { picks: picks.collect(), seed, strikes: BTreeMap::new() };
        guide.strikes = guide.strikes_of(recording, actors);
        guide
    }

    /// A rule for each strike, by the name of the fault. Rules name their messages, so that one can
    /// go and the others still strike where they did.
    fn strikes_of(
        &self,
        recording: &Recording,
        actors: Vec<String>,
    ) -> BTreeMap<&'static str, Vec<Aimed>> {
        let plan = &recording.plan;
        let on: Vec<&'static str> =
            FAULTS.iter().copied().filter(|kind| plan.faults.has(kind)).collect();
        let story = self.run(&Variant::of(recording), |machine, assembly| {
            machine.watch().follow();
            machine.run(plan, assembly, None);
            machine.watch().take_story()
        });
        let Some(story) = story.filter(|_| !on.is_empty()) else { return BTreeMap::new() };
        // A rule cannot name them: they are there only when their zombie strikes.
        let successors = actors.get(plan.actors().len()..).unwrap_or_default().to_vec();
        let best = Best {
            plan: plan.clone(),
            value: value_of(plan),
            picks: Vec::new(),
            steps: recording.steps,
            story,
            names: Names::default(),
            actors,
            successors_ms: Vec::new(),
        };
        // A successor is no strike; it comes and goes with its zombie.
        let aimable = on.into_iter().filter(|kind| *kind != "zombie");
        let rules = aimable.map(|kind| {
            let rules = rules(&best, kind).into_iter();
            (kind, rules.filter_map(|rule| serde_json::from_value(rule).ok()).collect::<Vec<_>>())
        });
        let is_whole = |rules: &Vec<Aimed>| {
            let named =
                |rule: &Aimed| serde_json::to_value(rule).is_ok_and(|r| names(&r, &successors));
            !rules.is_empty() && !rules.iter().any(named)
        };
        rules.filter(|(_, rules)| is_whole(rules)).collect()
    }

    /// The rules that stand for the strikes of a fault.
    #[must_use]
    pub fn strikes(&self, kind: &str) -> &[Aimed] {
        self.strikes.get(kind).map_or(&[], Vec::as_slice)
    }

    /// How `variant` comes out at another seed within so many steps.
    #[must_use]
    pub fn at_seed(&self, variant: &Variant, seed: u64, steps_max: u64) -> Option<RunResult> {
        let plan = variant.cut(steps_max).plan;
        let mut machine = Machine::new(Seeded::new(seed));
        let mut choose = |site, n| machine.choose_for_plan(site, n);
        let assembly = assemble(&plan, variant.defects, &mut choose);
        catch_unwind(AssertUnwindSafe(|| machine.run(&plan, assembly, None))).ok()
    }

    /// How `variant` comes out within so many steps; `None` if the checker itself takes it for
    /// impossible, as it may if something was taken away that nobody would.
    #[must_use]
    pub fn result(&self, variant: &Variant, steps_max: u64) -> Option<RunResult> {
        let variant = variant.cut(steps_max);
        self.run(&variant, |machine, assembly| machine.run(&variant.plan, assembly, None))
    }

    /// `variant`, as it can be looked at and replayed.
    #[must_use]
    pub fn record(&self, variant: &Variant, describe: Describe) -> Option<(Recording, Observed)> {
        let plan = &variant.plan;
        self.run(variant, |machine, assembly| {
            let observed = watch(machine, (plan, self.seed), assembly, describe);
            let run = (plan.clone(), self.seed);
            (Recording::of(machine, run, variant.defects, &observed.result), observed)
        })
    }

    /// `variant`, with what led to what.
    pub(crate) fn linked(&self, variant: &Variant, describe: Describe) -> Option<Linked> {
        self.run(variant, |machine, assembly| {
            machine.watch().link();
            let observed = watch(machine, (&variant.plan, self.seed), assembly, describe);
            Linked { observed, trail: machine.watch().take_trail() }
        })
    }

    /// What changes in `variant` of what `glance` names, step by step.
    pub(crate) fn changes(&self, variant: &Variant, glance: Glance) -> Vec<Change> {
        let changes = self.run(variant, |machine, assembly| {
            machine.glance(glance);
            machine.run(&variant.plan, assembly, None);
            machine.take_changes()
        });
        changes.unwrap_or_default()
    }

    fn run<T>(
        &self,
        variant: &Variant,
        run: impl FnOnce(&mut Machine<Recorder<Guided<'_>>>, Assembly) -> T,
    ) -> Option<T> {
        let unchanged = |_, picked| picked;
        let mut machine = Machine::new(Recorder::new(Guided::new(&self.picks, &unchanged)));
        let mut choose = |site, n| machine.choose_for_plan(site, n);
        let assembly = assemble(&variant.plan, variant.defects, &mut choose);
        machine.choices().inner_mut().call(assembly.actors(&variant.plan));
        catch_unwind(AssertUnwindSafe(|| run(&mut machine, assembly))).ok()
    }
}

/// The names of the actors of a recorded run, in the order of their numbers.
fn actors(recording: &Recording) -> Vec<String> {
    let mut machine = Machine::new(eosim_actor::Recorded::new(recording.choices.clone()));
    let mut choose = |site, n| machine.choose_for_plan(site, n);
    assemble(&recording.plan, recording.defects, &mut choose).actors(&recording.plan)
}
