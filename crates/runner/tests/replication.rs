//! What must hold of all replicas and coordinators after every single step of a run, whatever the
//! faults.

mod library;

use std::collections::BTreeMap;

use eosim_actor::{Choices, Site, Stream};
use eosim_checker::{Checker, CheckerSetup};
use eosim_runner::assemble::assemble;
use eosim_runner::sweep::plan_of;
use eosim_sim::cluster::{ClusterWorld, Populated, dump};
use eosim_sim::fault::Faults;
use eosim_sim::{Limits, Seeded};
use eosim_types::observation::{ClusterDump, ReplicaDump, TransactionDump};
use eosim_types::{
    ActorId, BrokerId, DefectSet, Duration, Instant, LeaderEpoch, ProducerEpoch, Topic,
    TopicPartition,
};

/// Steps that are looked at in one run; most of them while faults strike.
const STEPS: u64 = 2_500;

type World = ClusterWorld<Seeded, Faults, ()>;

fn world(scenario: &str, seed: u64) -> World {
    let file = library::scenario(scenario);
    let plan = plan_of(&file, seed);
    let mut choices = Seeded::new(seed);
    let site = |name| Site::new(name, Stream::Plan);
    let mut choose = |name, n| match n {
        0 | 1 => 0,
        _ => choices.choose(site(name), ActorId::CONTROLLER, n),
    };
    let assembly = assemble(&plan, DefectSet::NONE, &mut choose);
    let mut world = World::new(Seeded::new(seed), assembly.faults, ());
    Populated::default().begin(&mut world, &assembly.cluster, 0);
    world
}

/// Takes steps and shows every state that follows to `look`.
fn watch(scenario: &str, seed: u64, mut look: impl FnMut(&ClusterDump)) {
    let mut world = world(scenario, seed);
    let end = Instant::START + Duration::from_millis(40_000);
    for step in 1..=STEPS {
        world.run(Limits { until: end, steps: step });
        look(&ClusterDump { at: world.now(), ..dump(world.actors()) });
    }
}

fn by_partition(dump: &ClusterDump) -> BTreeMap<TopicPartition, Vec<&ReplicaDump>> {
    let mut partitions: BTreeMap<TopicPartition, Vec<&ReplicaDump>> = BTreeMap::new();
    for replica in &dump.replicas {
        partitions.entry(replica.partition).or_default().push(replica);
    }
    partitions
}

/// Two replicas hold the same batches as far as both know them to be committed. A broker without
/// power may remember a high watermark beyond what is left of its log.
fn agree(a: &ReplicaDump, b: &ReplicaDump) -> bool {
    let from = a.log_start_offset.max(b.log_start_offset);
    let known = |replica: &ReplicaDump| replica.high_watermark.min(replica.log_end_offset);
    let to = known(a).min(known(b));
    let committed = |replica: &ReplicaDump| -> Vec<_> {
        let inside = |start: i64, end: i64| start >= from && end < to;
        let batches = replica.batches.iter();
        batches.filter(|batch| inside(batch.base_offset, batch.last_offset())).cloned().collect()
    };
    committed(a) == committed(b)
}

#[test]
fn replicas_agree_below_their_high_watermarks_at_every_step_l_hw_1_l_fo_1() {
    for scenario in ["mixed", "leader-failover-stages", "power-loss", "reassignment"] {
        for seed in 0..4 {
            watch(scenario, seed, |dump| {
                for (tp, replicas) in by_partition(dump) {
                    for pair in replicas.windows(2) {
                        let (a, b) = (pair[0], pair[1]);
                        let (one, other) = (a.broker, b.broker);
                        assert!(
                            agree(a, b),
                            "{scenario} seed {seed} at {}: {tp:?} at {one} and {other}",
                            dump.at
                        );
                    }
                }
            });
        }
    }
}

#[test]
fn marks_are_in_order_at_every_step_l_hw_1_l_lso_3() {
    for scenario in ["mixed", "isr-shrinks-to-one", "delete-records"] {
        watch(scenario, 1, |dump| {
            for replica in &dump.replicas {
                let marks = [
                    replica.log_start_offset,
                    replica.last_stable_offset,
                    replica.high_watermark,
                    replica.log_end_offset,
                ];
                assert!(marks.is_sorted(), "{scenario} at {}: {replica:?}", dump.at);
            }
        });
    }
}

#[test]
fn a_leader_never_takes_back_what_is_stable_l_lso_5_l_hw_1() {
    type Leadership = (BrokerId, TopicPartition, LeaderEpoch);
    for scenario in ["mixed", "leader-crash", "isr-shrinks-to-one"] {
        let mut seen: BTreeMap<Leadership, (i64, i64)> = BTreeMap::new();
        watch(scenario, 2, |dump| {
            for replica in dump.replicas.iter().filter(|replica| replica.is_leader) {
                let key = (replica.broker, replica.partition, replica.leader_epoch);
                let now = (replica.high_watermark, replica.last_stable_offset);
                let before = seen.insert(key, now).unwrap_or(now);
                assert!(
                    before.0 <= now.0 && before.1 <= now.1,
                    "{scenario} at {}: {key:?} from {before:?} to {now:?}",
                    dump.at
                );
            }
        });
    }
}

/// Where an id stands of which a coordinator has written a record, writes none now, and loads none.
fn written(dump: &ClusterDump) -> Option<usize> {
    let is_loaded = |held: &TransactionDump| {
        let place = (held.broker, Topic::TRANSACTION_STATE, held.txn_topic_partition);
        let mut loaded = dump.coordinators.iter();
        loaded.any(|of| (of.broker, of.partition.topic, of.partition.partition) == place)
    };
    dump.transactions.iter().position(|held| {
        let is_settled = held.producer_epoch != ProducerEpoch::NONE && held.pending_state.is_none();
        is_settled && is_loaded(held)
    })
}

#[test]
fn memory_is_what_the_logs_say_at_every_step_l_snp_4_c_load_5_g_mark_5() {
    // Where no coordinator is away before it has written anything.
    let runs = [
        ("mixed", 3),
        ("coordinator-failover-stages", 0),
        ("coordinator-crash", 3),
        ("zombie-fencing", 3),
    ];
    for (scenario, seed) in runs {
        let mut checker = Checker::new(&CheckerSetup::default());
        let mut held = ClusterDump::default();
        watch(scenario, seed, |dump| {
            checker.look(dump);
            if written(dump).is_some() {
                held = dump.clone();
            }
        });
        assert_eq!(checker.anomalies(), [], "{scenario}");
        let at = written(&held).expect("an id that was written");
        held.transactions[at].transaction_timeout_ms += 1;
        checker.reset();
        checker.look(&held);
        let found: Vec<_> = checker.anomalies().iter().map(|found| found.invariant).collect();
        assert_eq!(found, ["transaction-state"], "{scenario}");
    }
}
