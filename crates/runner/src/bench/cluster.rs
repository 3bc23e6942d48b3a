//! The full protocol: three brokers with replication factor 3, transactions, checker and digest
//! on, transcript off.

use eosim_actor::Quiet;
use eosim_scenario::ScenarioFile;
use eosim_sim::NoFaults;
use eosim_sim::Seeded;
use eosim_sim::cluster::{ClusterWorld, Populated};
use eosim_types::DefectSet;

use super::timing::{float, median, nanoseconds};
use crate::assemble::assemble;
use crate::run::SeededMachine;
use crate::sweep::plan_of;

/// Three brokers, two producers, one consumer.
const SCENARIO: &str = include_str!("scenario.json");

/// Seeds of one measurement.
const SEEDS: u64 = 100;
/// Starts of one measurement.
const STARTS: u64 = 2_000;

/// What the full protocol costs.
pub(super) struct FullProtocol {
    pub(super) ns_per_message: f64,
    pub(super) virtual_over_wall: f64,
    pub(super) seeds_per_second: f64,
}

fn scenario() -> ScenarioFile {
    ScenarioFile::parse("bench", SCENARIO, &[], &[]).expect("the scenario of the benchmark is good")
}

/// Microseconds to begin a seed in a world that has run one.
pub(super) fn seed_start(rounds: u16) -> f64 {
    let plan = plan_of(&scenario(), 0);
    let assembly = assemble(&plan, DefectSet::NONE, &mut |_, _| 0);
    let mut world = ClusterWorld::new(Quiet, NoFaults, ());
    let mut populated = Populated::default();
    let mut round = || {
        nanoseconds(|| {
            for _ in 0..STARTS {
                populated.begin(&mut world, &assembly.cluster, 0);
            }
        }) / float(STARTS)
            / 1000.0
    };
    median((0..rounds).map(|_| round()).collect())
}

/// Runs seeds and takes the time.
pub(super) fn full_protocol(rounds: u16) -> FullProtocol {
    let scenario = scenario();
    let plan = plan_of(&scenario, 0);
    let mut machine = SeededMachine::new(Seeded::new(0));
    let assembly = assemble(&plan, DefectSet::NONE, &mut |_, _| 0);
    let mut figures = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (mut delivered, mut virtual_ns) = (0, 0);
        let time = nanoseconds(|| {
            for seed in 0..SEEDS {
                machine.choices().reset(seed);
                let result = machine.run(&plan, assembly.clone(), None);
                delivered += result.delivered;
                virtual_ns += result.ended_at.0 * 1000;
            }
        });
        figures.0.push(time / float(delivered));
        figures.1.push(float(virtual_ns) / time);
        figures.2.push(float(SEEDS) * 1e9 / time);
    }
    FullProtocol {
        ns_per_message: median(figures.0),
        virtual_over_wall: median(figures.1),
        seeds_per_second: median(figures.2),
    }
}
