//! What stands on the wire for the model's small numbers: names, member ids, topic ids, addresses.

use std::collections::BTreeMap;

use bytes::Bytes;
use eosim_types::assignor::Assignor;
use eosim_types::{BrokerId, GroupId, Names, Topic, TopicPartition, TransactionalId, Value};
use kafka_protocol::messages::{self as wire, TopicName};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use crate::{Malformed, batch};

/// The header in which a record says what it was made from, as in `orders-0@17`.
pub const INPUT: &str = "eosim-input";
/// Between the name of a topic and the number of its life, if others had it before: no topic's name
/// has it.
const LIFE: char = '#';

/// The name of a topic without its life.
fn plain(name: &str) -> &str {
    name.split_once(LIFE).map_or(name, |(name, _)| name)
}

/// How many names of a kind are taken: the model's numbers have 16 bits.
const NAMES_MAX: usize = 60_000;

/// Strings by number.
#[derive(Clone, PartialEq, Debug, Default)]
struct Strings {
    texts: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

impl Strings {
    fn add(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = u32::try_from(self.texts.len()).expect("fewer than 2^32 strings");
        self.texts.push(text.to_string());
        self.numbers.insert(text.to_string(), number);
        number
    }

    fn get(&self, number: u32) -> Option<&str> {
        self.texts.get(number as usize).map(String::as_str)
    }
}

/// What one side of a connection knows.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    /// The strings behind topics, transactional ids and groups.
    pub names: Names,
    /// Stands before every name on the wire, but not before those of Kafka's own topics.
    pub prefix: String,
    /// Where each broker listens.
    pub endpoints: BTreeMap<BrokerId, (String, u16)>,
    /// Batches pass through as they came: the bytes of each by the number of its first record.
    pub(crate) batches: Option<BTreeMap<Value, Bytes>>,
    /// The records that were numbered so far.
    pub(crate) values: u64,
    /// What clocks show when virtual time begins, ms: on the wire times are so much later.
    pub clock_ms: i64,
    /// Coordinator epochs on the wire are so much larger.
    pub coordinator_epoch_shift: i32,
    topics: BTreeMap<Topic, Uuid>,
    topic_ids: BTreeMap<Uuid, Topic>,
    names_known: BTreeMap<(Kind, String), u16>,
    /// How often something new came up.
    names_added: usize,
    /// How often a topic of that name was deleted.
    deleted: BTreeMap<String, u32>,
    /// The assignor other than `range` on which a classic group may agree.
    pub(crate) assignors: BTreeMap<GroupId, String>,
    /// What members of classic groups told of themselves.
    pub(crate) subscriptions: BTreeMap<(Who, Assignor), Bytes>,
    members: Strings,
    instances: Strings,
}

/// A member of a group, by its id or as a static one.
type Who = (GroupId, Option<u32>, Option<u32>);

/// Member ids that members make have numbers from here on; below are those of coordinators.
const MEMBERS_FROM: u32 = 1 << 31;
/// How the ids begin that coordinators make.
const MEMBER_PREFIX: &str = "member-";

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    Topic,
    TransactionalId,
    Group,
}

impl Dictionary {
    /// That of a broker: batches are kept as they come.
    #[must_use]
    pub fn of_broker(names: Names) -> Self {
        Self { names, batches: Some(BTreeMap::new()), ..Self::default() }
    }

    fn number(
        &mut self,
        kind: Kind,
        text: &str,
        add: impl FnOnce(&mut Names, &str) -> u16,
    ) -> Result<u16, Malformed> {
        let text = text.strip_prefix(self.prefix.as_str()).unwrap_or(text);
        if !self.prefix.is_empty() {
            return Ok(add(&mut self.names, text));
        }
        let key = (kind, text.to_string());
        if let Some(&number) = self.names_known.get(&key) {
            return Ok(number);
        }
        if self.names_known.len() >= NAMES_MAX {
            return Err(Malformed::new("too many different names"));
        }
        let life = self.deleted.get(text).filter(|_| kind == Kind::Topic);
        let number = match life {
            Some(life) => add(&mut self.names, &format!("{text}{LIFE}{life}")),
            None => add(&mut self.names, text),
        };
        self.names_known.insert(key, number);
        self.names_added += 1;
        Ok(number)
    }

    /// A time on the wire, as the model has it; what is no time stays.
    pub(crate) fn virtual_ms(&self, ms: i64) -> i64 {
        if ms < 0 { ms } else { (ms - self.clock_ms).max(0) }
    }

    /// A time of the model, as it stands on the wire; what is no time stays.
    pub(crate) fn wall_ms(&self, ms: i64) -> i64 {
        if ms < 0 { ms } else { ms + self.clock_ms }
    }

    /// Are the batches that begin with these records the same, but for what a broker writes?
    pub(crate) fn says_the_same(&self, one: Value, other: Value) -> bool {
        let bytes = |first| self.batches.as_ref()?.get(&first).map(batch::checked);
        bytes(one).is_some_and(|one| bytes(other) == Some(one))
    }

    /// Nobody will ask for the batch that begins with this record.
    pub(crate) fn forget(&mut self, first: Value) {
        if let Some(batches) = &mut self.batches {
            batches.remove(&first);
        }
    }

    /// The input that each record of the batch that begins with `first` says it was made from, in the
    /// header [`INPUT`].
    pub(crate) fn inputs(&mut self, first: Value) -> Vec<Option<(TopicPartition, i64)>> {
        let kept = self.batches.as_ref().and_then(|batches| batches.get(&first));
        let said = kept.map(|bytes| batch::headers(bytes, INPUT)).unwrap_or_default();
        said.into_iter().map(|text| self.input(&text?)).collect()
    }

    fn input(&mut self, text: &str) -> Option<(TopicPartition, i64)> {
        let (partition, offset) = text.rsplit_once('@')?;
        let (topic, number) = partition.rsplit_once('-')?;
        let topic = self.topic(topic).ok()?;
        Some((TopicPartition::new(topic, number.parse().ok()?), offset.parse().ok()?))
    }

    /// Do the batches that begin with these records say the same to applications?
    pub(crate) fn repeats(&self, one: Value, other: Value) -> bool {
        let Some(batches) = &self.batches else { return false };
        let both = batches.get(&one).zip(batches.get(&other));
        both.is_some_and(|(one, other)| batch::say_the_same(one, other))
    }

    /// Forgets the bytes of batches that `is_kept` does not know.
    pub(crate) fn retain_batches(&mut self, is_kept: &dyn Fn(Value) -> bool) {
        if let Some(batches) = &mut self.batches {
            batches.retain(|&first, _| is_kept(first));
        }
    }

    /// How many batches, and how many bytes of them, are kept.
    #[must_use]
    pub fn kept(&self) -> (usize, usize) {
        let batches = self.batches.iter().flatten();
        (self.batches.as_ref().map_or(0, BTreeMap::len), batches.map(|(_, b)| b.len()).sum())
    }

    /// `topic` was deleted: one of the same name is another topic.
    pub(crate) fn retire(&mut self, topic: Topic) {
        let name = plain(self.names.topic(topic)).to_string();
        if self.names_known.remove(&(Kind::Topic, name.clone())).is_some() {
            *self.deleted.entry(name).or_default() += 1;
        }
        if let Some(id) = self.topics.remove(&topic) {
            self.topic_ids.remove(&id);
        }
    }

    /// How many topics, transactional ids and groups came up.
    pub(crate) fn count(&self) -> usize {
        self.names_added
    }

    pub(crate) fn topic(&mut self, name: &str) -> Result<Topic, Malformed> {
        self.number(Kind::Topic, name, |names, text| names.add_topic(text).0).map(Topic)
    }

    pub(crate) fn transactional_id(&mut self, name: &str) -> Result<TransactionalId, Malformed> {
        let add = |names: &mut Names, text: &str| names.add_transactional_id(text).0;
        self.number(Kind::TransactionalId, name, add).map(TransactionalId)
    }

    pub(crate) fn group(&mut self, name: &str) -> Result<GroupId, Malformed> {
        self.number(Kind::Group, name, |names, text| names.add_group(text).0).map(GroupId)
    }

    fn written(&self, name: &str) -> StrBytes {
        let internal = name.is_empty() || name.starts_with("__");
        let prefix = if internal { "" } else { &self.prefix };
        StrBytes::from_string(format!("{prefix}{name}"))
    }

    pub(crate) fn topic_name(&self, topic: Topic) -> TopicName {
        TopicName(self.written(plain(self.names.topic(topic))))
    }

    pub(crate) fn id_name(&self, id: TransactionalId) -> wire::TransactionalId {
        wire::TransactionalId(self.written(self.names.transactional_id(id)))
    }

    pub(crate) fn group_name(&self, group: GroupId) -> wire::GroupId {
        wire::GroupId(self.written(self.names.group(group)))
    }

    /// The topic that is named, or else has the id.
    pub(crate) fn topic_of(&mut self, name: &TopicName, id: Uuid) -> Result<Topic, Malformed> {
        if !name.0.is_empty() || id.is_nil() {
            return self.topic(&name.0);
        }
        match self.topic_ids.get(&id) {
            Some(&topic) => Ok(topic),
            None => {
                let unknown = self.topic(&format!("?{id}"))?;
                self.set_topic_id(unknown, id);
                Ok(unknown)
            }
        }
    }

    /// The topic that has this name now.
    pub(crate) fn named(&self, name: &str) -> Option<Topic> {
        let text = name.strip_prefix(self.prefix.as_str()).unwrap_or(name);
        let known = self.names_known.get(&(Kind::Topic, text.to_string()));
        known.map(|&number| Topic(number)).or_else(|| self.names.find_topic(text))
    }

    /// Is it a topic of which only an id is known, which nobody has given?
    #[must_use]
    pub fn is_unknown(&self, topic: Topic) -> bool {
        self.names.topic(topic).starts_with('?')
    }

    /// The id of `topic`; none if it was never given one.
    pub(crate) fn topic_id(&self, topic: Topic) -> Uuid {
        self.topics.get(&topic).copied().unwrap_or_default()
    }

    /// From now on `topic` has the `number`-th id.
    pub fn give_topic_id(&mut self, topic: Topic, number: u64) {
        let high = u64::from_be_bytes(*b"eosim-id");
        self.set_topic_id(topic, Uuid::from_u64_pair(high, number));
    }

    /// From now on `topic` has this id.
    pub(crate) fn set_topic_id(&mut self, topic: Topic, id: Uuid) {
        if let Some(before) = self.topics.insert(topic, id) {
            self.topic_ids.remove(&before);
        }
        self.topic_ids.insert(id, topic);
    }

    pub(crate) fn member(&mut self, text: &str) -> Option<u32> {
        let number = text.strip_prefix(MEMBER_PREFIX).and_then(|number| number.parse().ok());
        let made = number.filter(|number| *number < MEMBERS_FROM);
        (!text.is_empty()).then(|| made.unwrap_or_else(|| MEMBERS_FROM + self.members.add(text)))
    }

    pub(crate) fn member_name(&self, member: Option<u32>) -> StrBytes {
        let Some(member) = member else { return StrBytes::new() };
        StrBytes::from_string(match member.checked_sub(MEMBERS_FROM) {
            Some(number) => self.members.get(number).unwrap_or("?").to_string(),
            None => format!("{MEMBER_PREFIX}{member}"),
        })
    }

    pub(crate) fn instance(&mut self, text: Option<&StrBytes>) -> Option<u32> {
        text.map(|text| self.instances.add(text))
    }

    pub(crate) fn instance_name(&self, instance: Option<u32>) -> Option<StrBytes> {
        let text = self.instances.get(instance?).unwrap_or("?");
        Some(StrBytes::from_string(text.to_string()))
    }

    /// Where `broker` listens; nowhere if there is none.
    pub(crate) fn endpoint(&self, broker: Option<BrokerId>) -> (i32, StrBytes, i32) {
        let known = broker.and_then(|broker| Some((broker, self.endpoints.get(&broker)?)));
        match known {
            Some((broker, (host, port))) => {
                (broker.0, StrBytes::from_string(host.clone()), i32::from(*port))
            }
            None => (broker.map_or(-1, |broker| broker.0), StrBytes::new(), -1),
        }
    }
}
