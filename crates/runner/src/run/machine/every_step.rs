//! At every step of a world: what a replica knows to be committed is what its leader has, batch for
//! batch (L-HW-1), elections that may lose something apart.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use eosim_checker::invariants;
use eosim_scenario::ScenarioFile;
use eosim_scenario::plan::Expectation;
use eosim_sim::{Limits, Seeded, Stop};
use eosim_types::observation::{ClusterDump, ReplicaDump};
use eosim_types::record::RecordBatch;
use eosim_types::{DefectSet, Duration, Instant, TopicPartition};

use super::SeededMachine;
use crate::assemble::assemble;
use crate::sweep::plan_of;

/// The replicas of each partition, whoever leads under the newest leader epoch first.
fn by_partition(dump: &ClusterDump) -> BTreeMap<TopicPartition, Vec<&ReplicaDump>> {
    let mut replicas: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for one in &dump.replicas {
        replicas.entry(one.partition).or_default().push(one);
    }
    for all in replicas.values_mut() {
        all.sort_by_key(|one| (!one.is_leader, -one.leader_epoch.0));
    }
    replicas
}

/// The batches of `replica` from `start` on that end below `bound`.
fn committed(replica: &ReplicaDump, start: i64, bound: i64) -> Vec<&RecordBatch> {
    let is_within = |batch: &&RecordBatch| {
        let last = batch.base_offset + i64::from(batch.last_offset_delta);
        batch.base_offset >= start && last < bound
    };
    replica.batches.iter().filter(is_within).collect()
}

/// How many batches were compared.
fn compare(dump: &ClusterDump) -> usize {
    let mut compared = 0;
    for (partition, replicas) in by_partition(dump) {
        let [leader, followers @ ..] = replicas.as_slice() else { continue };
        if !leader.is_leader || partition.topic.is_internal() {
            continue; // what is compacted is compared where it is read
        }
        for follower in followers {
            // Power may have taken the end of what a replica knows to be committed.
            let known = follower.high_watermark.min(follower.log_end_offset);
            let bound = known.min(leader.high_watermark);
            let start = follower.log_start_offset.max(leader.log_start_offset);
            let batches = committed(follower, start, bound);
            assert!(
                batches == committed(leader, start, bound),
                "{partition:?} at broker {} and its leader {} at {}",
                follower.broker.0,
                leader.broker.0,
                dump.at,
            );
            compared += batches.len();
        }
    }
    compared
}

/// Runs one seed step by step; how many batches were compared.
fn walk(scenario: &ScenarioFile, seed: u64, steps: u64) -> usize {
    let plan = plan_of(scenario, seed);
    let mut machine = SeededMachine::new(Seeded::new(seed));
    let assembly =
        assemble(&plan, DefectSet::NONE, &mut |site, n| machine.choose_for_plan(site, n));
    machine.prepare(assembly, None);
    let until = Instant::START + Duration::from_millis(plan.faults.until_ms);
    let mut compared = 0;
    for step in 1..=steps {
        let stop = machine.world.run(Limits { until, steps: step });
        compared += compare(&machine.dump());
        if stop != Stop::StepLimit {
            break;
        }
    }
    compared
}

/// Every scenario of the library.
fn library() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let below = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("a folder of the library");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    };
    let folders = below(&root).into_iter().filter(|path| path.is_dir());
    let mut files: Vec<_> = folders.flat_map(|folder| below(&folder)).collect();
    files.sort();
    files
}

#[test]
fn a_replica_is_a_prefix_of_its_leader_up_to_the_high_watermark_at_every_step_l_hw_1() {
    let invariants: Vec<_> = invariants().iter().map(|one| one.name).collect();
    let mut compared = 0;
    for path in library() {
        let scenario = ScenarioFile::read(&path, &[], &invariants).expect("a good scenario");
        let loses_nothing = scenario.head().expect == Expectation::Sound;
        for seed in (0..2).filter(|_| loses_nothing) {
            compared += walk(&scenario, seed, 1_200);
        }
    }
    assert!(compared > 1_000_000, "only {compared} batches were compared");
}
