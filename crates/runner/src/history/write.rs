//! Writes a history, line by line.

mod client;
mod dump;
mod group;

use std::collections::BTreeMap;

use eosim_checker::CheckerSetup;
use eosim_types::record::RecordBatch;
use eosim_types::{ActorId, BrokerId, Duration, Instant, Names, Topic, TopicPartition};
use serde::Serialize;

use super::event::{Event, Stamp};
use super::header::{
    Client, ClientEntry, FORMAT, Group, GroupEntry, Header, Legal, Reader, Settings, TopicEntry,
    TransformEntry,
};
use super::word::{Count, Error, Length, Name, Partition, Text};
use super::{Entry, History};

/// A line, time first.
#[derive(Serialize)]
struct Line {
    #[serde(flatten)]
    stamp: Stamp,
    #[serde(flatten)]
    event: Event,
}

impl History {
    /// The text of the file.
    ///
    /// # Panics
    /// Never: every key is a string.
    #[must_use]
    pub fn to_jsonl(&self) -> String {
        let header = serde_json::to_string(&self.header()).expect("a header is plain JSON");
        let mut writer =
            Writer { setup: &self.setup, text: header + "\n", before: BTreeMap::new() };
        for entry in &self.entries {
            writer.entry(entry);
        }
        writer.text
    }

    fn header(&self) -> Header {
        let setup = &self.setup;
        let names = &setup.names;
        let name = |text: &str| Name(text.to_string());
        let transactional_ids = names.transactional_ids().skip(1).map(name).collect();
        let length = |length: Duration| Length(length.as_millis());
        let offsets = self.topics.iter().find(|(topic, _)| *topic == Topic::CONSUMER_OFFSETS);
        Header {
            format: FORMAT,
            about: self.about.clone().map(Text),
            scenario: self.run.as_ref().map(|(scenario, _)| name(scenario)),
            seed: self.run.as_ref().map(|(_, seed)| name(&seed.to_string())),
            topics: self.topics.iter().map(|of| topic(setup, *of)).collect(),
            clients: (0..).map(ActorId).zip(&setup.actors).map(|of| client(setup, of)).collect(),
            transactional_ids,
            groups: (0..).zip(names.groups()).skip(1).map(|of| group(setup, of)).collect(),
            settings: Settings {
                offsets_topic_num_partitions: Count(offsets.map_or(50, |(_, count)| *count)),
                transaction_timeout_min_ms: length(setup.shortest_transaction_timeout),
                transaction_timeout_max_ms: length(setup.longest_transaction_timeout),
                abort_grace_ms: length(setup.abort_grace),
                producer_id_expiration_ms: length(setup.producer_id_expiration),
                transactional_id_expiration_ms: length(setup.transactional_id_expiration),
                request_timeout_ms: length(setup.request_timeout),
                healed_after_ms: setup.healed_at.map(|at| length(at.since(Instant::START))),
                last_producer_epoch_is_written: setup.last_epoch_is_persisted,
            },
            legal: legal(setup),
        }
    }
}

fn topic(setup: &CheckerSetup, (topic, partitions): (Topic, u32)) -> TopicEntry {
    TopicEntry {
        name: Name(setup.names.topic(topic).to_string()),
        partitions: Count(partitions),
        unclean_leader_election: setup.unclean_elections.contains(&topic),
        cleanup_delete: setup.deletable.contains(&topic),
        cleanup_compact: setup.compacted.contains(&topic),
    }
}

fn client(setup: &CheckerSetup, (actor, name): (ActorId, &String)) -> Client {
    let entry = ClientEntry {
        name: Name(name.clone()),
        acks_below_all: setup.acks_below_all.contains(&actor),
        without_idempotence: setup.without_idempotence.contains(&actor),
        delivery_timeout_ms: delivery_timeout(setup, actor),
    };
    let is_plain =
        !entry.acks_below_all && !entry.without_idempotence && entry.delivery_timeout_ms.is_none();
    if is_plain { Client::Plain(entry.name) } else { Client::Set(entry) }
}

fn delivery_timeout(setup: &CheckerSetup, actor: ActorId) -> Option<Length> {
    let known = setup.delivery_timeouts.iter().find(|(of, _)| *of == actor);
    known.map(|(_, timeout)| Length(timeout.as_millis()))
}

fn group(setup: &CheckerSetup, (number, name): (u16, &str)) -> Group {
    let names = &setup.names;
    let topic = |topic: Topic| Name(names.topic(topic).to_string());
    let readers = setup.group_readers.iter().filter(|reader| reader.group.0 == number);
    let transforms = setup.transforms.iter().filter(|transform| transform.group.0 == number);
    let entry = GroupEntry {
        name: Name(name.to_string()),
        readers: readers
            .map(|reader| Reader { client: named(setup, reader.actor), topic: topic(reader.topic) })
            .collect(),
        transforms: transforms
            .map(|of| TransformEntry { input: topic(of.input), output: topic(of.output) })
            .collect(),
    };
    let is_plain = entry.readers.is_empty() && entry.transforms.is_empty();
    if is_plain { Group::Plain(entry.name) } else { Group::Set(entry) }
}

fn legal(setup: &CheckerSetup) -> Legal {
    let ids = setup.shared_transactional_ids.iter();
    Legal {
        unobserved_sends: setup.unobserved_sends,
        late_requests: setup.late_requests,
        clock_jumps: setup.clock_jumps,
        inputs_processed_twice: !setup.exactly_once_inputs,
        shared_transactional_ids: ids
            .map(|id| Name(setup.names.transactional_id(*id).to_string()))
            .collect(),
        fatal_errors: setup.legal_fatal_errors.iter().map(|error| Error(*error)).collect(),
    }
}

/// What `actor` is called.
fn named(setup: &CheckerSetup, actor: ActorId) -> Name {
    let known = setup.actors.get(usize::from(actor.0));
    Name(known.map_or_else(|| format!("client-{actor}"), String::clone))
}

fn partition(names: &Names, partition: TopicPartition) -> Partition {
    Partition(names.partition(partition))
}

fn micros(at: Instant) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}

struct Writer<'a> {
    setup: &'a CheckerSetup,
    text: String,
    /// The newest batches of each replica.
    before: BTreeMap<(BrokerId, TopicPartition), &'a [RecordBatch]>,
}

impl<'a> Writer<'a> {
    fn entry(&mut self, entry: &'a Entry) {
        match entry {
            Entry::Observed(observation) => {
                let step = i64::try_from(observation.step).ok();
                let stamp = Stamp { at_us: Some(micros(observation.at)), at_ms: None, step };
                let event = client::event(self.setup, observation);
                self.line(stamp, event);
            }
            Entry::Dump(dump) => self.dump(dump),
            Entry::Stuck(stuck) => self.now(Event::Stuck {
                what: Text(stuck.what.clone()),
                waiting_for: Text(stuck.waiting_for.clone()),
                since_us: micros(stuck.since),
                rule: (!stuck.rule.is_empty()).then(|| Text(stuck.rule.to_string())),
            }),
            Entry::GaveUp(why) => self.now(Event::GaveUp { why: Text(why.clone()) }),
            Entry::BrokeOff { at, step, how } => {
                let step = i64::try_from(*step).ok();
                let stamp = Stamp { at_us: Some(micros(*at)), at_ms: None, step };
                self.line(stamp, Event::BrokeOff { how: Text(how.clone()) });
            }
        }
    }

    /// Without a time of its own.
    fn now(&mut self, event: Event) {
        self.line(Stamp::default(), event);
    }

    fn line(&mut self, stamp: Stamp, event: Event) {
        let line = Line { stamp, event };
        self.text += &serde_json::to_string(&line).expect("a line is plain JSON");
        self.text.push('\n');
    }
}
