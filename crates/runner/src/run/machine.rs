//! The machine that runs one seed after the other in the same memory.

#[cfg(test)]
mod every_step;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use eosim_actor::{Choices, Site, Stream};
use eosim_checker::{Anomaly, Checker, CheckerSetup, Stuck, Verdict};
use eosim_scenario::Plan;
use eosim_sim::cluster::{Broker, ClusterActor, ClusterPlan, ClusterWorld, Populated, dump};
use eosim_sim::fault::Faults;
use eosim_sim::{Limits, Seeded, Stop};
use eosim_types::look::Turn;
use eosim_types::observation::ClusterDump;
use eosim_types::{ActorId, Duration, Instant, Marks};

use super::RunResult;
use super::glance::{Change, Glance};
use super::listener::{Describe, Watch};
use super::recovery::Scene;
use super::requirements;
use super::survey::Survey;
use super::waits::Waits;
use crate::assemble::{Assembly, actors};
use crate::history::{Entry, broken_off};

/// How often, in virtual time, the machine looks whether a run is over.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How often, while faults strike, it looks whether anything was rebuilt from logs.
const INSPECT_EVERY: Duration = Duration::from_millis(1_000);

/// Runs plans whose choices come from `C`.
pub struct Machine<C> {
    world: ClusterWorld<C, Faults, Watch>,
    populated: Populated,
    setup: Arc<CheckerSetup>,
    cluster: Option<ClusterPlan>,
    waits: Waits,
    /// Of each broker, what it had rebuilt from logs when that was judged last.
    rebuilt: Vec<u64>,
    /// What is looked at after every step, if anything.
    glance: Option<Box<Glance>>,
    /// How everything stands after every step, if anybody wants to know.
    survey: Option<Box<Survey>>,
}

/// A machine for sweeps.
pub type SeededMachine = Machine<Seeded>;

impl<C: Choices> Machine<C> {
    /// A machine with `choices` for its first run.
    #[must_use]
    pub fn new(choices: C) -> Self {
        let setup = Arc::<CheckerSetup>::default();
        let watch = Watch::new(Checker::new(&setup));
        let world = ClusterWorld::new(choices, Faults::default(), watch);
        Self {
            world,
            populated: Populated::default(),
            setup,
            cluster: None,
            waits: Waits::default(),
            rebuilt: Vec::new(),
            glance: None,
            survey: None,
        }
    }

    /// Looks at what `glance` names after every step of the next run.
    pub(crate) fn glance(&mut self, glance: Glance) {
        self.glance = Some(Box::new(glance));
    }

    /// What was seen to change.
    pub(crate) fn take_changes(&mut self) -> Vec<Change> {
        self.glance.take().map_or_else(Vec::new, |glance| glance.into_changes())
    }

    /// Looks at everything after every step of the next run.
    pub(crate) fn survey(&mut self) {
        self.survey = Some(Box::default());
    }

    /// What was seen to stand otherwise.
    pub(crate) fn take_turns(&mut self) -> Vec<Turn> {
        self.survey.take().map_or_else(Vec::new, |survey| survey.turns)
    }

    /// The actors, as the last run has left them.
    pub(crate) fn actors(&self) -> &[ClusterActor] {
        self.world.actors()
    }

    /// Of each actor, whether its process runs.
    pub(crate) fn up(&self) -> Vec<bool> {
        let ids = (0..).map(ActorId).take(self.world.actors().len());
        ids.map(|id| self.world.is_up(id)).collect()
    }

    /// The source of choices, to be set before [`Self::run`].
    pub fn choices(&mut self) -> &mut C {
        &mut self.world.choices
    }

    /// How often each rule was reached since this was last asked.
    pub fn take_marks(&mut self) -> Marks {
        std::mem::take(&mut self.world.marks)
    }

    /// A choice that the seed makes before the run.
    pub fn choose_for_plan(&mut self, name: &'static str, n: u32) -> u32 {
        let site = Site::new(name, Stream::Plan);
        if n <= 1 { 0 } else { self.world.choices.choose(site, ActorId::CONTROLLER, n) }
    }

    /// Runs `plan` as assembled. A panic of an actor is a verdict; one of the checker goes on to
    /// the caller.
    pub fn run(&mut self, plan: &Plan, assembly: Assembly, keep: Option<Describe>) -> RunResult {
        self.prepare(assembly, keep);
        let before = requirements::reached(plan, &self.world.marks);
        let outcome = catch_unwind(AssertUnwindSafe(|| self.drive(plan)));
        let verdict = match outcome {
            Ok(verdict) => verdict,
            Err(panic) if self.world.listener.in_checker => std::panic::resume_unwind(panic),
            Err(panic) => {
                self.populated = Populated::default();
                Verdict::Safety(vec![self.broken_assumption(&*panic)])
            }
        };
        let after = requirements::reached(plan, &self.world.marks);
        let faults = self.world.faults.random.counts();
        let aimed: Vec<_> = self.world.faults.aimed.rules.iter().map(|rule| rule.count).collect();
        let missing = requirements::missing(plan, (&before, &after), &faults, &aimed);
        RunResult {
            verdict,
            steps: self.world.steps(),
            delivered: self.world.delivered(),
            ended_at: self.world.now(),
            digest: self.world.digest(),
            faults,
            aimed,
            missing,
        }
    }

    /// What the brokers hold after a run.
    #[must_use]
    pub fn dump(&self) -> ClusterDump {
        ClusterDump { at: self.world.now(), ..dump(self.world.actors()) }
    }

    /// What the checker of the last run knew besides.
    #[must_use]
    pub fn setup(&self) -> &CheckerSetup {
        &self.setup
    }

    /// What was kept of the last run, if it was kept.
    pub fn watch(&mut self) -> &mut Watch {
        &mut self.world.listener
    }

    fn prepare(&mut self, assembly: Assembly, keep: Option<Describe>) {
        if Arc::ptr_eq(&assembly.setup, &self.setup) || assembly.setup == self.setup {
            self.world.listener.checker.reset();
        } else {
            self.world.listener.checker = Checker::new(&assembly.setup);
            self.setup = assembly.setup;
        }
        self.world.listener.in_checker = false;
        if let Some(describe) = keep {
            let names = assembly.cluster.shape.names.as_ref().clone();
            self.world.listener.keep(describe, names);
        }
        self.world.faults = assembly.faults;
        self.populated.begin(&mut self.world, &assembly.cluster, 0);
        self.cluster = Some(assembly.cluster);
        self.rebuilt.clear();
        self.waits.clear();
    }

    fn scene(&self) -> Scene<'_> {
        let cluster = self.cluster.as_ref().expect("a run was prepared");
        Scene {
            actors: self.world.actors(),
            clients: &cluster.clients,
            names: &cluster.shape.names,
        }
    }

    /// Every broker is up, a dead one's memory cannot be judged, and nothing is left to wait for.
    fn is_over(&self) -> bool {
        let scene = self.scene();
        let mut brokers = scene.brokers().map(|broker| ActorId::of_broker(broker.spec().id));
        brokers.all(|broker| self.world.is_up(broker)) && scene.is_over()
    }

    /// Both phases, and the verdict.
    fn drive(&mut self, plan: &Plan) -> Verdict {
        let limit = Instant::START + Duration::from_millis(plan.limits.virtual_time_max_ms);
        let healed = Instant::START + Duration::from_millis(plan.faults.until_ms);
        let steps = plan.limits.steps_max;
        let mut stop = self.strike(healed, steps);
        let mut finished_at = healed;
        while stop != Stop::StepLimit && !self.is_over() {
            let recovery = Duration::from_millis(plan.limits.recovery_max_ms);
            if !self.scene().clients_are_finished() {
                finished_at = self.world.now();
            }
            if self.world.now() >= limit.min(finished_at + recovery) {
                break;
            }
            let until = self.world.now() + LOOK_EVERY;
            stop = self.go(Limits { until, steps });
            if stop != Stop::StepLimit {
                self.world.advance(until.since(self.world.now()));
            }
            self.inspect();
            if self.waits.is_due(self.world.now()) {
                self.stuck(plan);
            }
        }
        let inconclusive =
            (stop == Stop::StepLimit).then(|| format!("{steps} steps were not enough"));
        self.judge(plan, inconclusive)
    }

    /// The phase of faults.
    fn strike(&mut self, healed: Instant, steps: u64) -> Stop {
        let mut until = Instant::START;
        loop {
            until = healed.min(until + INSPECT_EVERY);
            let stop = self.go(Limits { until, steps });
            if until == healed || stop != Stop::TimeLimit {
                return stop;
            }
            self.inspect();
        }
    }

    /// Lets the world run, step by step if somebody looks.
    fn go(&mut self, limits: Limits) -> Stop {
        if self.glance.is_some() || self.survey.is_some() {
            while self.world.steps() < limits.steps {
                let Some(step) = self.world.step_until(limits.until) else { break };
                let names = &self.cluster.as_ref().expect("a run was prepared").shape.names;
                let acted = &self.world.actors()[usize::from(step.actor.0)];
                if let Some(glance) = &mut self.glance {
                    glance.look(self.world.steps(), acted, names);
                }
                if let Some(survey) = &mut self.survey {
                    survey.look(self.world.steps(), step.actor, acted);
                }
            }
        }
        self.world.run(limits)
    }

    /// Shows the checker what brokers hold, if one has started or loaded anything since.
    fn inspect(&mut self) {
        let rebuilt: Vec<u64> = self.scene().brokers().map(Broker::rebuilt).collect();
        if rebuilt == self.rebuilt {
            return;
        }
        self.rebuilt = rebuilt;
        let dump = self.dump();
        self.world.listener.dumped(dump, false);
    }

    fn judge(&mut self, plan: &Plan, inconclusive: Option<String>) -> Verdict {
        let over = self.is_over();
        let dump = ClusterDump { healed: over, ..self.dump() };
        self.world.listener.dumped(dump, true);
        let stuck = if over || inconclusive.is_some() { Vec::new() } else { self.stuck(plan) };
        let watch = &mut self.world.listener;
        for one in &stuck {
            watch.note(|| Entry::Stuck(one.clone()));
        }
        if let Some(why) = &inconclusive {
            watch.note(|| Entry::GaveUp(why.clone()));
        }
        Verdict::of(watch.checker.anomalies(), stuck, inconclusive)
    }

    /// What does not move, each with since when.
    fn stuck(&mut self, plan: &Plan) -> Vec<Stuck> {
        let now = self.world.now();
        let called = actors(plan, &self.world.faults);
        let stuck = self.scene().stuck(&called, now);
        self.waits.look(now, stuck).to_vec()
    }

    fn broken_assumption(&mut self, panic: &(dyn std::any::Any + Send)) -> Anomaly {
        let how = said(panic);
        let (at, step) = (self.world.now(), self.world.steps());
        self.world.listener.note(|| Entry::BrokeOff { at, step, how: how.clone() });
        broken_off(how, at, step)
    }
}

/// What a panic said.
pub(crate) fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without words".into())
}
