//! So many seeds of the full protocol, for a profiler: delivered messages, steps and a digest of
//! all runs. The second argument is a scenario to run in place of the benchmark's.

use eosim_runner::ScenarioFile;
use eosim_runner::assemble::assemble;
use eosim_runner::run::SeededMachine;
use eosim_runner::sweep::plan_of;
use eosim_sim::Seeded;
use eosim_types::DefectSet;

const BENCH: &str = include_str!("../src/bench/scenario.json");

fn main() {
    let mut args = std::env::args().skip(1);
    let seeds: u64 = args.next().map_or(100, |count| count.parse().expect("a number of seeds"));
    let text = args.next().map(|path| std::fs::read_to_string(path).expect("a readable scenario"));
    let text = text.as_deref().unwrap_or(BENCH);
    let scenario = ScenarioFile::parse("scenario", text, &[], &[]).expect("a good scenario");
    let plan = plan_of(&scenario, 0);
    let assembly = assemble(&plan, DefectSet::NONE, &mut |_, _| 0);
    let mut machine = SeededMachine::new(Seeded::new(0));
    let (mut delivered, mut steps, mut digest) = (0, 0, 0u64);
    for seed in 0..seeds {
        machine.choices().reset(seed);
        let result = machine.run(&plan, assembly.clone(), None);
        delivered += result.delivered;
        steps += result.steps;
        digest = digest.rotate_left(7) ^ result.digest;
    }
    println!("{seeds} seeds, {delivered} messages, {steps} steps, digest {digest:016x}");
}
