//! How everything stands after each step, as far as it stands otherwise than before: bounds, roles
//! and logs of replicas, transactions, offsets of groups, clients.
//!
//! Invariant: whoever applies the changes in order has what every running actor holds after each
//! step. What is known of producers, and the index of aborted transactions, is told of leaders of
//! topics of applications only; what a death takes is told once its process runs again.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use eosim_sim::cluster::{Broker, ClusterActor, ReplicaView};
use eosim_types::look::{ClientStanding, ReplicaStanding, Turn, Turned};
use eosim_types::message::ProducerState;
use eosim_types::observation::{ClusterDump, OffsetDump, TransactionDump};
use eosim_types::record::{AbortedTxn, RecordBatch};
use eosim_types::{ActorId, TopicPartition, TransactionalId};

/// What was seen of a replica last.
#[derive(Clone, Debug)]
struct Seen {
    standing: ReplicaStanding,
    batches: Vec<RecordBatch>,
    producers: Vec<ProducerState>,
    aborted: Vec<AbortedTxn>,
}

/// What was seen of a broker last.
#[derive(Clone, Debug, Default)]
struct SeenBroker {
    replicas: BTreeMap<TopicPartition, Seen>,
    transactions: BTreeMap<TransactionalId, TransactionDump>,
    offsets: Vec<OffsetDump>,
}

/// What was seen, and how it changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    brokers: BTreeMap<ActorId, SeenBroker>,
    clients: BTreeMap<ActorId, ClientStanding>,
    pub(crate) turns: Vec<Turn>,
}

impl Survey {
    /// Looks at `acted`, which has taken the step just now.
    pub(crate) fn look(&mut self, step: u64, actor: ActorId, acted: &ClusterActor) {
        match acted {
            ClusterActor::Broker(broker) => {
                let seen = self.brokers.entry(actor).or_default();
                let turned = &mut |what| self.turns.push(Turn { step, actor, what });
                seen.replicas(broker, turned);
                seen.coordinators(broker, turned);
            }
            ClusterActor::Client(client) => {
                let now = client.standing();
                if self.clients.get(&actor) != Some(&now) {
                    self.clients.insert(actor, now.clone());
                    self.turns.push(Turn { step, actor, what: Turned::Client(now) });
                }
            }
            ClusterActor::Controller(_) => {}
        }
    }
}

impl SeenBroker {
    fn replicas(&mut self, broker: &Broker, turned: &mut impl FnMut(Turned)) {
        let mut count = 0;
        for view in broker.replicas() {
            count += 1;
            let partition = view.partition;
            let seen = self.replicas.get(&partition);
            let is_as_before = seen.is_some_and(|seen| {
                is_same(&seen.standing, &view) && view.batches().eq(&seen.batches)
            });
            if !is_as_before {
                let seen = self.replicas.remove(&partition);
                self.replicas.insert(partition, look_at(&view, seen, turned));
            }
            self.producers(&view, turned);
        }
        if count < self.replicas.len() {
            let there: Vec<TopicPartition> = broker.replicas().map(|view| view.partition).collect();
            self.replicas.retain(|partition, _| {
                let is_there = there.contains(partition);
                if !is_there {
                    turned(Turned::Gone(*partition));
                }
                is_there
            });
        }
    }

    /// What the leader of a topic of applications knows of producers and aborted transactions.
    fn producers(&mut self, view: &ReplicaView<'_>, turned: &mut impl FnMut(Turned)) {
        let is_of_interest = view.is_leader && !view.partition.topic.is_internal();
        let Some(seen) = self.replicas.get_mut(&view.partition).filter(|_| is_of_interest) else {
            return;
        };
        let producers = view.producers();
        if producers != seen.producers {
            turned(Turned::Producers(view.partition, producers.clone()));
            seen.producers = producers;
        }
        let aborted = view.aborted_transactions();
        match aborted.strip_prefix(seen.aborted.as_slice()) {
            Some([]) => return,
            Some(new) => {
                new.iter().for_each(|entry| turned(Turned::Aborted(view.partition, *entry)));
            }
            None => turned(Turned::Index(view.partition, aborted.clone())),
        }
        seen.aborted = aborted;
    }

    fn coordinators(&mut self, broker: &Broker, turned: &mut impl FnMut(Turned)) {
        let mut now = ClusterDump::default();
        broker.dump_where(&|_| false, &mut now);
        let transactions = now.transactions.into_iter();
        let transactions: BTreeMap<TransactionalId, TransactionDump> =
            transactions.map(|held| (held.transactional_id, held)).collect();
        for (id, held) in &transactions {
            if self.transactions.get(id) != Some(held) {
                turned(Turned::Transaction(*id, Some(held.clone())));
            }
        }
        for id in self.transactions.keys().filter(|id| !transactions.contains_key(id)) {
            turned(Turned::Transaction(*id, None));
        }
        self.transactions = transactions;
        let offsets: Vec<OffsetDump> =
            now.coordinators.into_iter().flat_map(|held| held.offsets).collect();
        if offsets != self.offsets {
            turned(Turned::Offsets(offsets.clone()));
            self.offsets = offsets;
        }
    }
}

/// Tells what is new of a replica that stands otherwise than it did.
fn look_at(view: &ReplicaView<'_>, seen: Option<Seen>, turned: &mut impl FnMut(Turned)) -> Seen {
    let standing = standing(view);
    let Seen { batches: mut known, producers, aborted, .. } = seen.unwrap_or_else(|| Seen {
        standing: standing.clone(),
        batches: Vec::new(),
        producers: Vec::new(),
        aborted: Vec::new(),
    });
    log(view, &mut known, turned);
    for batch in view.batches().skip(known.len()) {
        known.push(batch.clone());
        turned(Turned::Appended(view.partition, batch.clone()));
    }
    turned(Turned::Replica(view.partition, standing.clone()));
    Seen { standing, batches: known, producers, aborted }
}

/// Tells what of `known` is there no more or holds something else, and leaves of it what the log
/// begins with.
fn log(view: &ReplicaView<'_>, known: &mut Vec<RecordBatch>, turned: &mut impl FnMut(Turned)) {
    let [start, _, _, end] = view.offsets();
    let mut now = view.batches().peekable();
    let (mut kept, mut replaced) = (Vec::new(), Vec::new());
    let (mut before, mut compacted, mut cut) = (None, Vec::new(), None);
    for old in known.iter() {
        let next = now.peek().map_or(i64::MAX, |batch| batch.base_offset);
        match old.base_offset.cmp(&next) {
            Ordering::Equal if is_heir(now.peek(), old) => {
                let new = now.next().expect("it was peeked at");
                if new != old {
                    replaced.push(new.clone());
                }
                kept.push(new.clone());
            }
            Ordering::Less if old.last_offset() < start => before = Some(old.base_offset + 1),
            Ordering::Less if old.base_offset < end => compacted.push(old.base_offset),
            _ => {
                cut = Some(old.base_offset.min(next));
                break;
            }
        }
    }
    if let Some(from) = before {
        turned(Turned::Trimmed(view.partition, from));
    }
    if let Some(from) = cut {
        turned(Turned::Cut(view.partition, from));
    }
    if !compacted.is_empty() {
        turned(Turned::Dropped(view.partition, compacted));
    }
    for batch in replaced {
        turned(Turned::Replaced(view.partition, batch));
    }
    *known = kept;
}

/// Is `new` what is left of `old`, where both have the same base offset?
fn is_heir(new: Option<&&RecordBatch>, old: &RecordBatch) -> bool {
    let key = |batch: &RecordBatch| {
        let appended = (batch.last_offset_delta, batch.partition_leader_epoch, batch.base_sequence);
        (appended, batch.producer_id, batch.producer_epoch)
    };
    new.is_some_and(|new| key(new) == key(old))
}

fn standing(view: &ReplicaView<'_>) -> ReplicaStanding {
    ReplicaStanding {
        is_leader: view.is_leader,
        is_hosted: view.is_hosted,
        leader_epoch: view.leader_epoch,
        isr: view.isr.to_vec(),
        offsets: view.offsets(),
    }
}

/// Does the replica stand as it did?
fn is_same(seen: &ReplicaStanding, view: &ReplicaView<'_>) -> bool {
    seen.offsets == view.offsets()
        && (seen.is_leader, seen.is_hosted) == (view.is_leader, view.is_hosted)
        && seen.leader_epoch == view.leader_epoch
        && seen.isr == view.isr
}
