//! Whoever applies what is told of a run step by step has what its brokers hold: over compaction,
//! truncation and the deaths of processes.

mod library;

use std::collections::BTreeMap;

use eosim_runner::recording::record;
use eosim_runner::run::Describe;
use eosim_types::look::{ReplicaStanding, Turn, Turned};
use eosim_types::message::ProducerState;
use eosim_types::observation::{ClusterDump, OffsetDump, TransactionDump};
use eosim_types::record::{AbortedTxn, RecordBatch};
use eosim_types::{ActorId, DefectSet, TopicPartition, TransactionalId};
use library::scenario;

/// So many times within a run what was told is compared with what is held.
const LOOKS: u64 = 40;

const SILENT: Describe = Describe { message: |_, _| String::new(), observed: |_, _| String::new() };

/// A replica, by what was told of it.
#[derive(Default)]
struct Replica {
    standing: Option<ReplicaStanding>,
    log: Vec<RecordBatch>,
    producers: Vec<ProducerState>,
    aborted: Vec<AbortedTxn>,
}

const fn partition_of(what: &Turned) -> Option<TopicPartition> {
    match what {
        Turned::Replica(tp, _)
        | Turned::Cut(tp, _)
        | Turned::Trimmed(tp, _)
        | Turned::Dropped(tp, _)
        | Turned::Replaced(tp, _)
        | Turned::Appended(tp, _)
        | Turned::Producers(tp, _)
        | Turned::Aborted(tp, _)
        | Turned::Index(tp, _) => Some(*tp),
        _ => None,
    }
}

/// Everything, by what was told of it.
#[derive(Default)]
struct Told {
    replicas: BTreeMap<(ActorId, TopicPartition), Replica>,
    transactions: BTreeMap<(ActorId, TransactionalId), TransactionDump>,
    offsets: BTreeMap<ActorId, Vec<OffsetDump>>,
}

impl Told {
    fn apply(&mut self, turn: &Turn) {
        let actor = turn.actor;
        let mut none = Replica::default();
        let replica = match partition_of(&turn.what) {
            Some(tp) => self.replicas.entry((actor, tp)).or_default(),
            None => &mut none,
        };
        match &turn.what {
            Turned::Replica(_, now) => replica.standing = Some(now.clone()),
            Turned::Gone(tp) => {
                self.replicas.remove(&(actor, *tp)).expect("it was there");
            }
            Turned::Cut(_, end) => replica.log.retain(|batch| batch.base_offset < *end),
            Turned::Trimmed(_, start) => {
                replica.log.retain(|batch| batch.base_offset >= *start);
            }
            Turned::Dropped(_, bases) => {
                replica.log.retain(|batch| !bases.contains(&batch.base_offset));
            }
            Turned::Replaced(_, new) => {
                let mut log = replica.log.iter_mut();
                *log.find(|old| old.base_offset == new.base_offset).expect("it was there") =
                    new.clone();
            }
            Turned::Appended(_, batch) => replica.log.push(batch.clone()),
            Turned::Producers(_, now) => replica.producers.clone_from(now),
            Turned::Aborted(_, entry) => replica.aborted.push(*entry),
            Turned::Index(_, all) => replica.aborted.clone_from(all),
            Turned::Transaction(id, Some(now)) => {
                self.transactions.insert((actor, *id), now.clone());
            }
            Turned::Transaction(id, None) => {
                self.transactions.remove(&(actor, *id)).expect("it was held");
            }
            Turned::Offsets(now) => {
                self.offsets.insert(actor, now.clone());
            }
            Turned::Client(_) => {}
        }
    }

    /// Compares what was told of processes that are `up` with what they hold.
    fn check(&self, dump: &ClusterDump, up: &[bool], of: &str) {
        let is_up = |actor: ActorId| up[usize::from(actor.0)];
        let held = dump.replicas.iter().map(|held| (ActorId::of_broker(held.broker), held));
        let mut count = 0;
        for (actor, held) in held.filter(|(actor, _)| is_up(*actor)) {
            count += 1;
            let of = format!("{of}: {:?} at actor {actor}", held.partition);
            let told = self.replicas.get(&(actor, held.partition)).expect(&of);
            let standing = told.standing.as_ref().expect(&of);
            let bounds = [held.log_start_offset, held.high_watermark, held.last_stable_offset];
            assert_eq!(standing.offsets[..3], bounds, "{of}");
            assert_eq!(standing.offsets[3], held.log_end_offset, "{of}");
            assert_eq!(standing.is_leader, held.is_leader, "{of}");
            assert_eq!(standing.leader_epoch, held.leader_epoch, "{of}");
            assert_eq!(told.log, held.batches, "{of}");
            if held.is_leader && !held.partition.topic.is_internal() {
                assert_eq!(told.producers, held.producers, "{of}");
                assert_eq!(told.aborted, held.aborted_transactions, "{of}");
            }
        }
        let told = self.replicas.keys().filter(|(actor, _)| is_up(*actor)).count();
        assert_eq!(told, count, "{of}");
        let held = dump
            .transactions
            .iter()
            .map(|held| ((ActorId::of_broker(held.broker), held.transactional_id), held));
        let held: BTreeMap<_, _> = held.filter(|((actor, _), _)| is_up(*actor)).collect();
        let told = self.transactions.iter().map(|(key, told)| (*key, told));
        let told: BTreeMap<_, _> = told.filter(|((actor, _), _)| is_up(*actor)).collect();
        assert_eq!(told, held, "{of}");
        let mut held: BTreeMap<ActorId, Vec<OffsetDump>> = BTreeMap::new();
        for one in &dump.coordinators {
            held.entry(ActorId::of_broker(one.broker)).or_default().extend(&one.offsets);
        }
        for (actor, told) in self.offsets.iter().filter(|(actor, _)| is_up(**actor)) {
            assert_eq!(told, held.get(actor).unwrap_or(&Vec::new()), "{of}");
        }
    }
}

/// Follows the run of `name`, and returns of which kind of change how many were told.
fn follow(name: &str, seed: u64) -> BTreeMap<&'static str, usize> {
    let (recording, run) = record(&scenario(name), seed, DefectSet::NONE, SILENT);
    let whole = recording.look(None, SILENT);
    let mut turns = whole.turns.iter().peekable();
    let mut told = Told::default();
    let mut kinds = BTreeMap::new();
    let steps = run.result.steps;
    for at in 1..=LOOKS {
        let step = steps * at / LOOKS;
        while let Some(turn) = turns.next_if(|turn| turn.step <= step) {
            told.apply(turn);
            let kind = match turn.what {
                Turned::Cut(..) => "cut",
                Turned::Trimmed(..) => "trimmed",
                Turned::Dropped(..) => "dropped",
                Turned::Replaced(..) => "replaced",
                Turned::Index(..) => "index",
                _ => "other",
            };
            *kinds.entry(kind).or_insert(0) += 1;
        }
        let look = recording.look(Some(step), SILENT);
        told.check(&look.observed.dump, &look.end.up, &format!("{name} after step {step}"));
    }
    kinds
}

#[test]
fn compaction_is_told_and_is_no_truncation() {
    for name in ["coordinator-logs-compacted", "compaction-meets-pending-offsets"] {
        let kinds = follow(name, 0);
        assert!(kinds.contains_key("dropped") && !kinds.contains_key("cut"), "{name}: {kinds:?}");
    }
}

#[test]
fn truncation_is_told() {
    for (name, seed) in [("unclean-election", 2), ("eligible-but-unclean", 0), ("power-loss", 2)] {
        let kinds = follow(name, seed);
        assert!(kinds.contains_key("cut"), "{name}: {kinds:?}");
    }
}

#[test]
fn the_beginning_of_a_log_is_told_to_be_gone() {
    let kinds = follow("delete-records", 0);
    assert!(kinds.contains_key("trimmed"), "{kinds:?}");
}
