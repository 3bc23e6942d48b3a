//! What stands otherwise after a step, in words.

use std::collections::BTreeMap;

use eosim_types::look::{Change, ReplicaStanding, Turn, Turned};
use eosim_types::message::ProducerState;
use eosim_types::observation::{OffsetDump, TransactionDump};
use eosim_types::record::{AbortedTxn, Payload};
use eosim_types::{ActorId, Names, TopicPartition, TransactionalId};

use crate::run::differences::{Found, moved, of_offsets, of_producers, of_transaction, words};

/// What was told last.
struct Tale<'a> {
    names: &'a Names,
    replicas: BTreeMap<(ActorId, TopicPartition), ReplicaStanding>,
    producers: BTreeMap<(ActorId, TopicPartition), Vec<ProducerState>>,
    aborted: BTreeMap<(ActorId, TopicPartition), Vec<AbortedTxn>>,
    transactions: BTreeMap<(ActorId, TransactionalId), TransactionDump>,
    offsets: BTreeMap<ActorId, Vec<OffsetDump>>,
}

/// All of `turns` that is worth telling.
pub(super) fn changes(turns: &[Turn], names: &Names) -> Vec<Change> {
    let mut tale = Tale {
        names,
        replicas: BTreeMap::new(),
        producers: BTreeMap::new(),
        aborted: BTreeMap::new(),
        transactions: BTreeMap::new(),
        offsets: BTreeMap::new(),
    };
    let mut changes = Vec::new();
    for turn in turns {
        let mut found = Found::new();
        tale.tell(turn, &mut found);
        changes.extend(found.into_iter().map(|(_, text)| Change { step: turn.step, text }));
    }
    changes
}

impl Tale<'_> {
    fn tell(&mut self, turn: &Turn, found: &mut Found) {
        let actor = turn.actor;
        match &turn.what {
            Turned::Replica(partition, now) => self.replica(actor, *partition, now, found),
            Turned::Gone(partition) => {
                self.replicas.remove(&(actor, *partition));
                self.producers.remove(&(actor, *partition));
                self.aborted.remove(&(actor, *partition));
            }
            Turned::Cut(partition, end) => {
                let name = self.names.partition(*partition);
                found.push((5, format!("{name}: log cut back to {end}")));
            }
            Turned::Dropped(partition, bases) => {
                let name = self.names.partition(*partition);
                found.push((4, format!("{name}: compacted, {} batches fewer", bases.len())));
            }
            Turned::Appended(partition, batch) => {
                // What internal topics hold is told by what their coordinators do with it.
                let is_told = match &batch.payload {
                    Payload::Records(_) | Payload::Control(_) => self.leads(actor, *partition),
                    _ => false,
                };
                if is_told {
                    let name = self.names.partition(*partition);
                    found.push((4, format!("{name}: + {}", words(batch, self.names))));
                }
            }
            Turned::Producers(partition, now) => {
                let before = self.producers.insert((actor, *partition), now.clone());
                let name = self.names.partition(*partition);
                of_producers(&name, &before.unwrap_or_default(), now, found);
            }
            Turned::Aborted(partition, entry) => {
                self.aborted.entry((actor, *partition)).or_default().push(*entry);
                found.push((4, self.indexed(*partition, '+', entry)));
            }
            Turned::Index(partition, now) => {
                let before = self.aborted.insert((actor, *partition), now.clone());
                let before = before.unwrap_or_default();
                let (gone, new) = (missing(&before, now), missing(now, &before));
                found.extend(gone.map(|entry| (5, self.indexed(*partition, '-', entry))));
                found.extend(new.map(|entry| (4, self.indexed(*partition, '+', entry))));
            }
            Turned::Transaction(id, now) => {
                let before = match now {
                    Some(now) => self.transactions.insert((actor, *id), now.clone()),
                    None => self.transactions.remove(&(actor, *id)),
                };
                of_transaction(before.as_ref(), now.as_ref(), self.names, found);
            }
            Turned::Offsets(now) => {
                let before = self.offsets.insert(actor, now.clone()).unwrap_or_default();
                of_offsets(&before, now, self.names, found);
            }
            // The log start tells the one; the other leaves what any reader sees.
            Turned::Trimmed(..) | Turned::Replaced(..) | Turned::Client(_) => {}
        }
    }

    /// An entry of the index of aborted transactions that comes or goes.
    fn indexed(&self, partition: TopicPartition, sign: char, entry: &AbortedTxn) -> String {
        let (id, first, last) = (entry.producer_id, entry.first_offset, entry.last_offset);
        let name = self.names.partition(partition);
        format!("{name}: index {sign} aborted {first}..{last} of producer id {id}")
    }

    fn leads(&self, actor: ActorId, partition: TopicPartition) -> bool {
        self.replicas.get(&(actor, partition)).is_some_and(|seen| seen.is_leader)
    }

    /// Of followers only what they lose is told, and of internal topics that their leader changes.
    fn replica(
        &mut self,
        actor: ActorId,
        partition: TopicPartition,
        now: &ReplicaStanding,
        found: &mut Found,
    ) {
        let name = self.names.partition(partition);
        let before = self.replicas.insert((actor, partition), now.clone());
        let was_leader = before.as_ref().is_some_and(|before| before.is_leader);
        let is_empty = now.offsets[3] == 0 && partition.topic.is_internal();
        if was_leader != now.is_leader && !is_empty {
            let role = if now.is_leader { "leads" } else { "no longer leads" };
            found.push((4, format!("{role} {name}, leader epoch {}", now.leader_epoch)));
        }
        let Some(before) = before.filter(|_| now.is_leader) else { return };
        if was_leader && before.isr != now.isr && !is_empty {
            found.push((4, format!("{name}: ISR {} → {}", isr(&before), isr(now))));
        }
        if partition.topic.is_internal() {
            return;
        }
        let [old_start, old_watermark, old_stable, _] = before.offsets;
        let [start, watermark, stable, _] = now.offsets;
        moved(&name, "log start", old_start, start, 4, found);
        moved(&name, "high watermark", old_watermark, watermark, 1, found);
        moved(&name, "last stable offset", old_stable, stable, 2, found);
    }
}

/// What of `these` is not among `those`.
fn missing<'a>(
    these: &'a [AbortedTxn],
    those: &'a [AbortedTxn],
) -> impl Iterator<Item = &'a AbortedTxn> {
    these.iter().filter(|entry| !those.contains(entry))
}

fn isr(standing: &ReplicaStanding) -> String {
    let brokers: Vec<String> = standing.isr.iter().map(ToString::to_string).collect();
    format!("[{}]", brokers.join(" "))
}

#[cfg(test)]
mod tests {
    use eosim_types::{LeaderEpoch, ProducerId};

    use super::*;

    #[test]
    fn what_compaction_takes_is_told_and_what_the_index_loses() {
        let mut names = Names::default();
        let orders = TopicPartition::new(names.add_topic("orders"), 0);
        let entry = |last_offset| AbortedTxn {
            producer_id: ProducerId(0),
            first_offset: 0,
            last_offset,
            last_stable_offset: last_offset + 1,
        };
        let standing = ReplicaStanding {
            is_leader: true,
            is_hosted: true,
            leader_epoch: LeaderEpoch(0),
            isr: Vec::new(),
            offsets: [0, 9, 9, 9],
        };
        let turns = [
            Turned::Replica(orders, standing.clone()),
            Turned::Aborted(orders, entry(2)),
            Turned::Aborted(orders, entry(4)),
            Turned::Dropped(orders, vec![0, 1]),
            Turned::Replica(orders, standing),
            Turned::Index(orders, vec![entry(4), entry(8)]),
        ];
        let turns = turns.map(|what| Turn { step: 1, actor: ActorId(1), what });
        let told: Vec<String> =
            changes(&turns, &names).into_iter().map(|change| change.text).collect();
        let expected = [
            "leads orders-0, leader epoch 0",
            "orders-0: index + aborted 0..2 of producer id 0",
            "orders-0: index + aborted 0..4 of producer id 0",
            "orders-0: compacted, 2 batches fewer",
            "orders-0: index - aborted 0..2 of producer id 0",
            "orders-0: index + aborted 0..8 of producer id 0",
        ];
        assert_eq!(told, expected);
    }
}
