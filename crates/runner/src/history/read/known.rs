//! The names that the first line gives, and the numbers that the checker knows them by.

use std::collections::BTreeMap;

use eosim_checker::{CheckerSetup, GroupReader, Transform};
use eosim_types::{
    ActorId, Duration, GroupId, Instant, Topic, TopicPartition, TransactionalId, Value,
};

use eosim_types::visible::is_unseen;

use super::super::header::{Client, Group, Header, Legal, Reader, Settings, TransformEntry};
use super::super::word::{Length, Name, Partition};
use super::{Complaint, complaint, unknown};

/// Everything that has a name.
pub(super) struct Known {
    pub(super) about: Option<String>,
    pub(super) run: Option<(String, u64)>,
    setup: CheckerSetup,
    topics: BTreeMap<String, (Topic, u32)>,
    clients: BTreeMap<String, ActorId>,
    transactional_ids: BTreeMap<String, TransactionalId>,
    groups: BTreeMap<String, GroupId>,
    values: BTreeMap<String, Value>,
    /// In the order of the first line.
    listed: Vec<(Topic, u32)>,
}

impl Known {
    /// What `header` names.
    pub(super) fn new(header: Header) -> Result<Self, Complaint> {
        let mut known = Self {
            about: header.about.map(|about| about.0),
            run: None,
            setup: CheckerSetup::default(),
            topics: BTreeMap::new(),
            clients: BTreeMap::new(),
            // The empty string is an id and a group like any other.
            transactional_ids: BTreeMap::from([(String::new(), TransactionalId::default())]),
            groups: BTreeMap::from([(String::new(), GroupId::default())]),
            values: BTreeMap::new(),
            listed: Vec::new(),
        };
        let seed = header.seed.and_then(|seed| seed.0.parse().ok());
        known.run = header.scenario.map(|scenario| (scenario.0, seed.unwrap_or(0)));
        known.topics(&header.topics, &header.settings)?;
        known.clients(&header.clients)?;
        for id in header.transactional_ids {
            let number = known.setup.names.add_transactional_id(&id.0);
            once(
                "transactional_ids",
                known.transactional_ids.insert(id.0.clone(), number).is_some(),
                &id,
            )?;
        }
        known.groups(&header.groups)?;
        known.settings(&header.settings);
        known.legal(&header.legal)?;
        Ok(known)
    }

    fn topics(
        &mut self,
        topics: &[super::super::header::TopicEntry],
        settings: &Settings,
    ) -> Result<(), Complaint> {
        for (at, topic) in topics.iter().enumerate() {
            let number = self.setup.names.add_topic(&topic.name.0);
            let entry = (number, topic.partitions.0);
            let path = format!("topics[{at}].name");
            once(&path, self.topics.insert(topic.name.0.clone(), entry).is_some(), &topic.name)?;
            self.listed.push(entry);
            let setup = &mut self.setup;
            for (is_so, list) in [
                (topic.unclean_leader_election, &mut setup.unclean_elections),
                (topic.cleanup_delete, &mut setup.deletable),
                (topic.cleanup_compact, &mut setup.compacted),
            ] {
                if is_so {
                    list.push(number);
                }
            }
        }
        let offsets = settings.offsets_topic_num_partitions.0;
        for (topic, partitions) in
            [(Topic::TRANSACTION_STATE, 1000), (Topic::CONSUMER_OFFSETS, offsets)]
        {
            let name = self.setup.names.topic(topic).to_string();
            self.topics.entry(name).or_insert((topic, partitions));
        }
        let offsets = self.topics[self.setup.names.topic(Topic::CONSUMER_OFFSETS)].1;
        self.setup.offsets_partitions = i32::try_from(offsets).ok();
        Ok(())
    }

    fn clients(&mut self, clients: &[Client]) -> Result<(), Complaint> {
        for (at, client) in clients.iter().enumerate() {
            let actor = ActorId(u16::try_from(at).expect("at most 10,000 clients"));
            let (name, setup) = match client {
                Client::Plain(name) => (name, None),
                Client::Set(entry) => (&entry.name, Some(entry)),
            };
            let path = format!("clients[{at}]");
            once(&path, self.clients.insert(name.0.clone(), actor).is_some(), name)?;
            self.setup.actors.push(name.0.clone());
            if setup.is_some_and(|entry| entry.acks_below_all) {
                self.setup.acks_below_all.push(actor);
            }
            if setup.is_some_and(|entry| entry.without_idempotence) {
                self.setup.without_idempotence.push(actor);
            }
            if let Some(length) = setup.and_then(|entry| entry.delivery_timeout_ms.as_ref()) {
                self.setup.delivery_timeouts.push((actor, Duration::from_millis(length.0)));
            }
        }
        Ok(())
    }

    fn groups(&mut self, groups: &[Group]) -> Result<(), Complaint> {
        for (at, entry) in groups.iter().enumerate() {
            let (name, readers, transforms) = match entry {
                Group::Plain(name) => (name, [].as_slice(), [].as_slice()),
                Group::Set(entry) => {
                    (&entry.name, entry.readers.as_slice(), entry.transforms.as_slice())
                }
            };
            let group = self.setup.names.add_group(&name.0);
            let path = format!("groups[{at}]");
            once(&path, self.groups.insert(name.0.clone(), group).is_some(), name)?;
            for (at, Reader { client, topic }) in readers.iter().enumerate() {
                let path = format!("{path}.readers[{at}]");
                let actor = self.client(&format!("{path}.client"), client)?;
                let topic = self.topic(&format!("{path}.topic"), topic)?;
                self.setup.group_readers.push(GroupReader { group, actor, topic });
            }
            for (at, TransformEntry { input, output }) in transforms.iter().enumerate() {
                let path = format!("{path}.transforms[{at}]");
                let input = self.topic(&format!("{path}.input"), input)?;
                let output = self.topic(&format!("{path}.output"), output)?;
                self.setup.transforms.push(Transform { group, input, output });
            }
        }
        Ok(())
    }

    fn settings(&mut self, settings: &Settings) {
        let length = |length: &Length| Duration::from_millis(length.0);
        let setup = &mut self.setup;
        setup.shortest_transaction_timeout = length(&settings.transaction_timeout_min_ms);
        setup.longest_transaction_timeout = length(&settings.transaction_timeout_max_ms);
        setup.abort_grace = length(&settings.abort_grace_ms);
        setup.producer_id_expiration = length(&settings.producer_id_expiration_ms);
        setup.transactional_id_expiration = length(&settings.transactional_id_expiration_ms);
        setup.request_timeout = length(&settings.request_timeout_ms);
        let healed_after = settings.healed_after_ms.as_ref();
        setup.healed_at = healed_after.map(|after| Instant::START + length(after));
        setup.last_epoch_is_persisted = settings.last_producer_epoch_is_written;
    }

    fn legal(&mut self, legal: &Legal) -> Result<(), Complaint> {
        for (at, id) in legal.shared_transactional_ids.iter().enumerate() {
            let path = format!("legal.shared_transactional_ids[{at}]");
            let id = self.transactional_id(&path, id)?;
            self.setup.shared_transactional_ids.push(id);
        }
        let setup = &mut self.setup;
        setup.unobserved_sends = legal.unobserved_sends;
        setup.late_requests = legal.late_requests;
        setup.clock_jumps = legal.clock_jumps;
        setup.exactly_once_inputs = !legal.inputs_processed_twice;
        setup.legal_fatal_errors = legal.fatal_errors.iter().map(|error| error.0).collect();
        Ok(())
    }

    pub(super) fn client(&self, path: &str, name: &Name) -> Result<ActorId, Complaint> {
        let known = self.clients.keys().map(String::as_str);
        let found = self.clients.get(&name.0).copied();
        found.ok_or_else(|| unknown(path, &name.0, "one of the clients", known))
    }

    fn topic(&self, path: &str, name: &Name) -> Result<Topic, Complaint> {
        let known = self.topics.keys().map(String::as_str);
        let found = self.topics.get(&name.0).map(|(topic, _)| *topic);
        found.ok_or_else(|| unknown(path, &name.0, "one of the topics", known))
    }

    pub(super) fn group(&self, path: &str, name: &Name) -> Result<GroupId, Complaint> {
        let known = self.groups.keys().map(String::as_str);
        let found = self.groups.get(&name.0).copied();
        found.ok_or_else(|| unknown(path, &name.0, "one of the groups", known))
    }

    pub(super) fn transactional_id(
        &self,
        path: &str,
        name: &Name,
    ) -> Result<TransactionalId, Complaint> {
        let known = self.transactional_ids.keys().map(String::as_str);
        let found = self.transactional_ids.get(&name.0).copied();
        found.ok_or_else(|| unknown(path, &name.0, "one of the transactional_ids", known))
    }

    pub(super) fn partition(
        &self,
        path: &str,
        name: &Partition,
    ) -> Result<TopicPartition, Complaint> {
        let split = name
            .0
            .rsplit_once('-')
            .and_then(|(topic, number)| Some((topic, number.parse::<u32>().ok()?)));
        let found = split.and_then(|(topic, number)| Some((self.topics.get(topic)?, number)));
        match found {
            Some(((topic, partitions), number)) if number < *partitions => {
                let number = i32::try_from(number).expect("below 10⁹");
                Ok(TopicPartition::new(*topic, number))
            }
            Some(((_, partitions), _)) => {
                let expected = format!("a partition below {partitions}");
                Err(complaint(path, format!("\"{}\"", name.0), expected))
            }
            None => {
                let topic = split.map_or("", |(topic, _)| topic);
                let known = self.topics.keys().map(String::as_str);
                Err(unknown(path, topic, "one of the topics", known))
            }
        }
    }

    /// What a record says; a text that was not met before is a new value.
    pub(super) fn value(&mut self, text: &Name) -> Value {
        if let Some(known) = self.values.get(&text.0) {
            return *known;
        }
        let value = self.setup.names.push_value(&text.0);
        self.values.insert(text.0.clone(), value);
        value
    }

    /// Nothing is said of what lies before the first batch of a log of `topic`.
    pub(super) fn head_is_unknown(&mut self, topic: Topic) {
        if !self.setup.deletable.contains(&topic) {
            self.setup.deletable.push(topic);
        }
    }

    /// What the checker must know, and the topics.
    pub(super) fn finish(&mut self) -> (CheckerSetup, Vec<(Topic, u32)>) {
        (std::mem::take(&mut self.setup), std::mem::take(&mut self.listed))
    }
}

/// A name that is there twice, or that nobody could read.
fn once(path: &str, is_known: bool, name: &Name) -> Result<(), Complaint> {
    if name.0.chars().any(is_unseen) {
        return Err(complaint(path, format!("{:?}", name.0), "a name that can be seen"));
    }
    if !is_known {
        return Ok(());
    }
    Err(complaint(path, format!("\"{}\" twice", name.0), "every name once"))
}
