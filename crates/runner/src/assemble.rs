//! From a resolved scenario to actors and faults of the world.
//!
//! Nothing is decided here but what a scenario leaves to its seed outside the run itself: which
//! producers become zombies, and when.

mod aimed;
mod by_chance;
mod checker_setup;
mod clients;
mod faults;
mod roles;
mod topology;

use std::sync::Arc;

use eosim_checker::CheckerSetup;
use eosim_scenario::Plan;
use eosim_sim::Latency;
use eosim_sim::cluster::{ClusterPlan, ClusterShape};
use eosim_sim::fault::{Aimed, Faults};
use eosim_types::{DefectSet, Duration};

/// Everything that a run needs.
#[derive(Clone, Debug)]
pub struct Assembly {
    /// Actors and network.
    pub cluster: ClusterPlan,
    /// Faults, random and aimed.
    pub faults: Faults,
    /// What the checker must know.
    pub(crate) setup: Arc<CheckerSetup>,
}

impl Assembly {
    /// The names of all actors, in the order of their numbers; zombies' successors come last.
    #[must_use]
    pub fn actors(&self, plan: &Plan) -> Vec<String> {
        actors(plan, &self.faults)
    }
}

/// The names of all actors of `plan` under `faults`.
pub(crate) fn actors(plan: &Plan, faults: &Faults) -> Vec<String> {
    let mut actors = plan.actors();
    for stall in &faults.random.zombie.fault.stalls {
        actors.push(format!("{}-successor", actors[usize::from(stall.actor.0)]));
    }
    actors
}

/// The rules of `plan` that are aimed.
pub(crate) fn aimed_rules(plan: &Plan, names: &mut eosim_types::Names) -> Aimed {
    aimed::aimed(plan, &roles::Actors::new(plan), names)
}

/// Builds what `plan` describes, with `defects` put back besides those that it turns on itself.
/// `choose` decides what the seed decides before the run begins; 0 is always the quiet choice.
pub fn assemble(
    plan: &Plan,
    defects: DefectSet,
    choose: &mut dyn FnMut(&'static str, u32) -> u32,
) -> Assembly {
    let mut names = eosim_types::Names::default();
    let controller = topology::controller_config(plan, &mut names);
    let mut clients = clients::specs(plan, &mut names);
    let brokers = controller.brokers.len();
    let actors = roles::Actors::new(plan);
    let zombies = faults::zombies(plan, &mut clients, brokers, choose);
    let faults = faults::faults(plan, &actors, zombies, &mut names);
    let latency = Latency {
        min: Duration::from_micros(plan.network.latency_min_us),
        max: Duration::from_micros(plan.network.latency_max_us),
    };
    let shape = Arc::new(ClusterShape {
        names: Arc::new(names),
        controller,
        upgrade: topology::upgrade(plan),
    });
    let defects = plan.switched_on().union(defects);
    let cluster = ClusterPlan { shape, clients, latency, defects, backports: plan.backports() };
    let called = self::actors(plan, &faults);
    let setup = Arc::new(checker_setup::of(plan, &cluster, called));
    Assembly { cluster, faults, setup }
}
