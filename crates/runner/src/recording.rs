//! A run as the list of its choices: what is kept of a failure, and what `replay` follows.
//!
//! A seed is how a run was found; the list survives changes that shift the draws. The resolved plan
//! is part of it, so that nothing beside the file is needed.

mod file;

use eosim_actor::{Picked, Recorded, Recorder, ReplayError};
use eosim_checker::Verdict;
use eosim_scenario::{Plan, ScenarioFile};
use eosim_sim::cluster::ClusterShape;
use eosim_sim::{RNG_VERSION, Seeded};
use eosim_types::observation::ClusterDump;
use eosim_types::{ActorId, DefectSet, Marks, Names, Topic};

use crate::assemble::{Assembly, assemble};
use crate::history::History;
use crate::run::{Describe, Line, Machine, RunResult};
use crate::sweep::plan_of;

pub use file::{FORMAT, read};

/// Raised by hand whenever the model changes so that a recorded run may go another way.
pub const MODEL_VERSION: u32 = 12;

/// A recorded run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recording {
    /// The model that made it.
    pub model: u32,
    /// The version of the random streams.
    pub rng: u32,
    /// The seed that it was found with.
    pub seed: u64,
    /// The switches that were on besides those of the plan.
    pub defects: DefectSet,
    /// What was run.
    pub plan: Plan,
    /// Every choice, in order.
    pub choices: Vec<Picked<String>>,
    /// Steps taken.
    pub steps: u64,
    /// Fingerprint of every step.
    pub digest: u64,
    /// One word: how it ended.
    pub verdict: String,
}

/// A run with everything that can be looked at.
pub struct Observed {
    /// How it ended.
    pub result: RunResult,
    /// The transcript.
    pub lines: Vec<Line>,
    /// What applications saw and brokers held.
    pub history: History,
    /// What brokers hold in the end.
    pub dump: ClusterDump,
    /// The strings behind the numbers.
    pub names: Names,
    /// The names of the actors, in the order of their numbers.
    pub actors: Vec<String>,
    /// What it reached.
    pub marks: Marks,
}

impl Observed {
    /// What the actor is called; nothing if there is none of that number.
    #[must_use]
    pub fn actor(&self, id: ActorId) -> &str {
        self.actors.get(usize::from(id.0)).map_or("", String::as_str)
    }
}

/// A replay: the run, and where it left the recording.
pub struct Replayed {
    /// The run.
    pub observed: Observed,
    /// Where it left the list of choices.
    pub left: Option<ReplayError>,
    /// Choices of the list that were not asked for.
    pub unused: usize,
}

/// One word for a verdict; of a broken promise the invariant.
#[must_use]
pub fn word(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Sound => "sound",
        Verdict::Safety(anomalies) => anomalies.first().map_or("safety", |a| a.invariant),
        Verdict::Liveness(_) => "stuck",
        Verdict::Inconclusive(_) => "inconclusive",
    }
}

/// Runs `seed` of a scenario and records it.
#[must_use]
pub fn record(
    scenario: &ScenarioFile,
    seed: u64,
    defects: DefectSet,
    describe: Describe,
) -> (Recording, Observed) {
    let plan = plan_of(scenario, seed);
    let mut machine = Machine::new(Recorder::new(Seeded::new(seed)));
    let observed = run(&mut machine, (&plan, seed), defects, describe);
    (Recording::of(&mut machine, (plan, seed), defects, &observed.result), observed)
}

impl Recording {
    /// Of the run of `plan` that `machine` has made last.
    pub(crate) fn of<C: eosim_actor::Choices>(
        machine: &mut Machine<Recorder<C>>,
        (plan, seed): (Plan, u64),
        defects: DefectSet,
        result: &RunResult,
    ) -> Self {
        Self {
            model: MODEL_VERSION,
            rng: RNG_VERSION,
            seed,
            defects,
            choices: machine.choices().list().iter().map(Picked::owned).collect(),
            steps: result.steps,
            digest: result.digest,
            verdict: word(&result.verdict).to_string(),
            plan,
        }
    }

    /// Was it made by this model?
    #[must_use]
    pub const fn is_replayable(&self) -> bool {
        self.model == MODEL_VERSION
    }

    /// The same run again, by its choices.
    #[must_use]
    pub fn replay(&self, describe: Describe) -> Replayed {
        self.follow(&self.plan, describe)
    }

    /// The same run again, but no further than `step`.
    #[must_use]
    pub fn replay_to(&self, step: u64, describe: Describe) -> Replayed {
        let mut plan = self.plan.clone();
        plan.limits.steps_max = plan.limits.steps_max.min(step);
        self.follow(&plan, describe)
    }

    fn follow(&self, plan: &Plan, describe: Describe) -> Replayed {
        let mut machine = Machine::new(Recorded::new(self.choices.clone()));
        let observed = run(&mut machine, (plan, self.seed), self.defects, describe);
        let choices = machine.choices();
        Replayed { observed, left: choices.left().cloned(), unused: choices.unused() }
    }
}

fn run<C: eosim_actor::Choices>(
    machine: &mut Machine<C>,
    (plan, seed): (&Plan, u64),
    defects: DefectSet,
    describe: Describe,
) -> Observed {
    let mut choose = |site, n| machine.choose_for_plan(site, n);
    let assembly = assemble(plan, defects, &mut choose);
    watch(machine, (plan, seed), assembly, describe)
}

/// Runs `plan` as assembled, and keeps everything that can be looked at.
pub(crate) fn watch<C: eosim_actor::Choices>(
    machine: &mut Machine<C>,
    (plan, seed): (&Plan, u64),
    assembly: Assembly,
    describe: Describe,
) -> Observed {
    let names = assembly.cluster.shape.names.as_ref().clone();
    let actors = assembly.actors(plan);
    let topics = topics(&assembly.cluster.shape);
    let result = machine.run(plan, assembly, Some(describe));
    let (lines, entries) = machine.watch().take_kept();
    let history = History {
        about: Some(plan.about.clone()),
        run: Some((plan.name.clone(), seed)),
        setup: machine.setup().clone(),
        topics,
        entries,
    };
    let marks = machine.take_marks();
    Observed { result, lines, history, dump: machine.dump(), names, actors, marks }
}

/// Every topic with its number of partitions. An application's own list of inputs, which is none of
/// Kafka's, has one.
fn topics(shape: &ClusterShape) -> Vec<(Topic, u32)> {
    let specs = &shape.controller.topics;
    let partitions = |topic: Topic| {
        let spec = specs.iter().find(|spec| spec.topic == topic);
        spec.map_or(1, |spec| u32::try_from(spec.replicas.len()).expect("few partitions"))
    };
    let topics = (0..).map(Topic).zip(shape.names.topics());
    topics.map(|(topic, _)| (topic, partitions(topic))).collect()
}
