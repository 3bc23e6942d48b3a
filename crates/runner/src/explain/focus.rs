//! What a broken promise is about: the records, transactions, partitions and producers that its
//! sentence names, and those that belong to them.
//!
//! The vocabulary of sentences is closed: they are made of the names of the run.

use std::collections::BTreeSet;

use eosim_types::observation::{
    CoordinatorDump, Observed as Saw, ReplicaDump, TransactionDump, TransactionRef,
};
use eosim_types::record::{Payload, RecordBatch};
use eosim_types::{
    ActorId, BrokerId, GroupId, Names, ProducerEpoch, ProducerId, Topic, TopicPartition,
    TransactionalId, Value,
};

use crate::diff::outcome::{of_partition, of_record, of_transaction};
use crate::recording::Observed;

/// What lines are chosen by.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Focus {
    pub(crate) values: BTreeSet<Value>,
    pub(crate) partitions: BTreeSet<TopicPartition>,
    pub(crate) offsets: BTreeSet<(TopicPartition, i64)>,
    pub(crate) transactions: BTreeSet<TransactionRef>,
    pub(crate) producers: BTreeSet<(ProducerId, ProducerEpoch)>,
    pub(crate) ids: BTreeSet<TransactionalId>,
    pub(crate) groups: BTreeSet<GroupId>,
    pub(crate) actors: BTreeSet<ActorId>,
    pub(crate) brokers: BTreeSet<BrokerId>,
    /// The partitions whose leaders coordinate the ids and groups.
    pub(crate) coordinators: BTreeSet<TopicPartition>,
}

/// So many records are taken from a batch or a transaction that is named without them.
const RECORDS: usize = 4;

impl Focus {
    /// What `sentence` says of `run`.
    pub(crate) fn of(sentence: &str, run: &Observed) -> Self {
        let mut focus = Self::default();
        let words = words(sentence);
        let names = Vocabulary::of(run);
        for (at, word) in words.iter().enumerate() {
            focus.hear(&words, at, word, &names);
        }
        focus.complete(run);
        focus
    }

    fn hear(&mut self, words: &[&str], at: usize, word: &str, names: &Vocabulary<'_>) {
        let word_at = |by: usize| words.get(at + by).copied().unwrap_or_default();
        if let Some(partition) = names.partition(word) {
            self.partitions.insert(partition);
        }
        if let Some((value, offset)) = word.rsplit_once('@')
            && let Some(value) = names.value(value)
        {
            self.values.insert(value);
            if let (Ok(offset), Some(partition)) = (offset.parse(), names.partition(word_at(2))) {
                self.offsets.insert((partition, offset));
            }
        }
        if word_at(1) == "for" && names.partition(word_at(2)).is_some() {
            self.values.extend(names.value(word));
        }
        if word == "transaction" && word_at(2) == "of" {
            let session = word_at(5).parse().unwrap_or(0);
            if let (Ok(number), Some(producer)) = (word_at(1).parse(), names.actor(word_at(3))) {
                self.transactions.insert(TransactionRef { producer, session, number });
            }
        }
        if let ("producer", "id", Ok(id)) = (word, word_at(1), word_at(2).parse()) {
            let epoch = if word_at(3) == "epoch" { word_at(4).parse().ok() } else { None };
            self.producers.insert((ProducerId(id), ProducerEpoch(epoch.unwrap_or(-1))));
        }
        self.ids.extend(names.id(word));
        if matches!(word, "broker" | "leader" | "coordinator") {
            self.brokers.extend(word_at(1).parse().ok().map(BrokerId));
        }
        if word == "group" {
            self.groups.extend(names.group(word_at(1)));
        }
        self.actors.extend(names.actor(word));
    }

    /// Adds what belongs to what was named.
    fn complete(&mut self, run: &Observed) {
        if self.values.is_empty() {
            self.records_at_offsets(run);
            self.records_of_open_transactions(run);
        }
        for observation in run.history.observations() {
            if let Saw::SendCalled { value, partition, transaction, .. } = &observation.what
                && self.values.contains(value)
            {
                self.partitions.insert(*partition);
                self.actors.insert(observation.actor);
                self.transactions.extend(*transaction);
            }
        }
        self.actors.extend(self.transactions.iter().map(|transaction| transaction.producer));
        for observation in run.history.observations() {
            if let Saw::ProducerOpened { transactional_id: Some(id), .. } = &observation.what
                && self.actors.contains(&observation.actor)
            {
                self.ids.insert(*id);
            }
        }
        self.producers_of_records(run);
        let held = run.dump.transactions.iter();
        let held = held.filter(|held| self.ids.contains(&held.transactional_id));
        let of_ids: Vec<_> = held.map(|held| (held.producer_id, ProducerEpoch(-1))).collect();
        if self.producers.is_empty() {
            self.producers.extend(of_ids);
        }
        self.coordinators_of_ids_and_groups(run);
    }

    fn coordinators_of_ids_and_groups(&mut self, run: &Observed) {
        for observation in run.history.observations() {
            if let Saw::OffsetsSent { transaction, group, .. } = &observation.what
                && self.transactions.contains(transaction)
            {
                self.groups.insert(*group);
            }
        }
        let ids = run.dump.transactions.iter();
        let ids = ids.filter(|held| self.ids.contains(&held.transactional_id));
        let of_id = |held: &TransactionDump| {
            TopicPartition::new(Topic::TRANSACTION_STATE, held.txn_topic_partition)
        };
        self.coordinators.extend(ids.map(of_id));
        let groups = run.dump.coordinators.iter();
        let holds = |held: &&CoordinatorDump| {
            held.offsets.iter().any(|offset| self.groups.contains(&offset.group))
        };
        self.coordinators.extend(groups.filter(holds).map(|held| held.partition));
    }

    fn records_at_offsets(&mut self, run: &Observed) {
        let mut found = BTreeSet::new();
        for replica in &run.dump.replicas {
            let named = self.offsets.iter().filter(|(tp, _)| *tp == replica.partition);
            for (_, offset) in named {
                let holds =
                    |b: &&RecordBatch| b.base_offset <= *offset && *offset <= b.last_offset();
                found.extend(replica.batches.iter().find(holds).into_iter().flat_map(values));
            }
        }
        self.values.extend(found.into_iter().take(RECORDS));
    }

    /// Of a partition that does not become stable, or of a producer that is named there: the
    /// records from the last stable offset on.
    fn records_of_open_transactions(&mut self, run: &Observed) {
        let (mut found, mut producers) = (BTreeSet::new(), BTreeSet::new());
        for replica in run.dump.replicas.iter().filter(|replica| self.concerns(replica)) {
            let open = replica.producers.iter().filter(|held| held.current_txn_start_offset >= 0);
            for held in open {
                let is_its = |batch: &&RecordBatch| {
                    batch.producer_id == held.producer_id
                        && batch.base_offset >= held.current_txn_start_offset
                };
                let first = replica.batches.iter().find(is_its);
                found.extend(first.into_iter().flat_map(values));
                producers.insert((held.producer_id, held.producer_epoch));
            }
        }
        self.producers.extend(producers);
        self.values.extend(found.into_iter().take(RECORDS));
    }

    fn concerns(&self, replica: &ReplicaDump) -> bool {
        replica.is_leader && self.partitions.contains(&replica.partition)
    }

    fn producers_of_records(&mut self, run: &Observed) {
        let mut found = BTreeSet::new();
        for replica in &run.dump.replicas {
            for batch in &replica.batches {
                let is_named = values(batch).any(|value| self.values.contains(&value));
                if is_named && batch.producer_id.0 >= 0 {
                    found.insert((batch.producer_id, batch.producer_epoch));
                }
            }
        }
        self.producers.extend(found);
    }

    /// The names of the records.
    pub(crate) fn records(&self, run: &Observed) -> Vec<String> {
        self.values.iter().map(|value| run.names.value(*value)).collect()
    }

    /// Is `outcome`, as a difference names it, of something that it is about?
    pub(crate) fn names(&self, outcome: &str, run: &Observed) -> bool {
        let record = self.values.iter().any(|value| outcome.starts_with(&of_record(run, *value)));
        let partition = self.partitions.iter().any(|tp| outcome == of_partition(run, *tp));
        let transaction = self.transactions.iter().any(|at| outcome == of_transaction(run, *at));
        record || partition || transaction || outcome == "verdict"
    }

    /// How `line`, without names of actors, speaks of it: how strongly, from 0.
    pub(crate) fn touches(&self, line: &str, names: &Names) -> u32 {
        let words: BTreeSet<&str> = words(line).into_iter().collect();
        let has = |word: String| words.contains(word.as_str());
        let any = |found: bool, worth: u32| if found { worth } else { 0 };
        let values = self.values.iter().any(|value| has(names.value(*value)));
        let ids = self.ids.iter().any(|id| has(names.transactional_id(*id).to_string()));
        let groups = self.groups.iter().any(|group| has(names.group(*group).to_string()));
        let of_epoch = |(id, epoch): &(ProducerId, ProducerEpoch)| has(format!("{id}/{epoch}"));
        let of_id = |(id, _): &(ProducerId, ProducerEpoch)| {
            words
                .iter()
                .any(|word| word.split_once('/').is_some_and(|(of, _)| of == id.to_string()))
        };
        let partition = self.partitions.iter().any(|tp| {
            let name = names.partition(*tp);
            words.iter().any(|word| word.split('@').next() == Some(name.as_str()))
        });
        any(values, 4)
            + any(ids, 2)
            + any(groups, 2)
            + any(self.producers.iter().any(of_epoch), 2)
            + any(self.producers.iter().any(of_id), 1)
            + any(partition, 1)
    }
}

fn values(batch: &RecordBatch) -> impl Iterator<Item = Value> + '_ {
    let records = match &batch.payload {
        Payload::Records(records) => Some(records),
        _ => None,
    };
    records.into_iter().flat_map(|records| records.iter().map(|record| record.value))
}

/// The words of a sentence, without what surrounds them.
pub(crate) fn words(sentence: &str) -> Vec<&str> {
    let is_around = |c: char| matches!(c, ',' | ';' | ':' | '(' | ')' | '[' | ']' | '"' | '.');
    let words = sentence.split_whitespace().map(|word| word.trim_matches(is_around));
    words.filter(|word| !word.is_empty()).collect()
}

/// The names of a run.
struct Vocabulary<'a> {
    run: &'a Observed,
    values: BTreeSet<(String, Value)>,
}

impl<'a> Vocabulary<'a> {
    fn of(run: &'a Observed) -> Self {
        let sent = run.history.observations().filter_map(|observation| match &observation.what {
            Saw::SendCalled { value, .. } => Some((run.names.value(*value), *value)),
            _ => None,
        });
        Self { run, values: sent.collect() }
    }

    fn value(&self, word: &str) -> Option<Value> {
        self.values.iter().find(|(name, _)| name == word).map(|(_, value)| *value)
    }

    fn partition(&self, word: &str) -> Option<TopicPartition> {
        let (topic, number) = word.rsplit_once('-')?;
        let (topic, number) = (self.run.names.find_topic(topic)?, number.parse().ok()?);
        let known = self.run.history.topics.iter().find(|(known, _)| *known == topic)?;
        (number < i32::try_from(known.1).ok()?).then(|| TopicPartition::new(topic, number))
    }

    fn id(&self, word: &str) -> Option<TransactionalId> {
        let at = self.run.names.transactional_ids().position(|name| name == word)?;
        u16::try_from(at).ok().map(TransactionalId)
    }

    fn group(&self, word: &str) -> Option<GroupId> {
        let at = self.run.names.groups().position(|name| name == word)?;
        u16::try_from(at).ok().map(GroupId)
    }

    fn actor(&self, word: &str) -> Option<ActorId> {
        let at = self.run.actors.iter().position(|name| name == word)?;
        u16::try_from(at).ok().map(ActorId)
    }
}
