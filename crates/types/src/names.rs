//! The strings behind topics, transactional ids, groups and scripted record values.
//!
//! A run works with small numbers; the strings are needed where Kafka hashes them (C-PART-1) and
//! where people read.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::ids::{GroupId, Topic, TopicPartition, TransactionalId, Value};
use crate::visible::visible;

/// Strings by index. Built once per scenario and never changed during a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Names {
    topics: Vec<String>,
    transactional_ids: Vec<Hashed>,
    groups: Vec<Hashed>,
    values: Vec<String>,
}

/// A string with its hash in Java, which requests ask for all the time.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Hashed {
    text: String,
    java_hash: i32,
}

impl From<&str> for Hashed {
    fn from(text: &str) -> Self {
        Self { text: text.to_string(), java_hash: java_hash(text) }
    }
}

impl PartialEq<str> for Hashed {
    fn eq(&self, other: &str) -> bool {
        self.text == other
    }
}

/// `String#hashCode` in Java.
fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0i32, |h, unit| h.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// C-PART-1: the absolute value (0 for `i32::MIN`), modulo.
fn partition_of_hash(java_hash: i32, partitions: i32) -> i32 {
    java_hash.checked_abs().unwrap_or(0) % partitions
}

/// Set in a [`Value`] that is an index into the scripted values of [`Names`].
const SCRIPTED: u64 = 1 << 63;

fn intern<T: PartialEq<str> + for<'a> From<&'a str>>(list: &mut Vec<T>, name: &str) -> u16 {
    let found = list.iter().position(|known| known == name);
    let index = found.unwrap_or_else(|| {
        list.push(name.into());
        list.len() - 1
    });
    u16::try_from(index).expect("at most 65536 names of a kind")
}

impl Default for Names {
    fn default() -> Self {
        Self {
            topics: ["__transaction_state", "__consumer_offsets"].map(String::from).to_vec(),
            transactional_ids: [Hashed::default()].to_vec(),
            groups: [Hashed::default()].to_vec(),
            values: Vec::new(),
        }
    }
}

impl Names {
    /// The topic called `name`, new if need be.
    pub fn add_topic(&mut self, name: &str) -> Topic {
        Topic(intern(&mut self.topics, name))
    }

    /// The transactional id `name`, new if need be.
    pub fn add_transactional_id(&mut self, name: &str) -> TransactionalId {
        TransactionalId(intern(&mut self.transactional_ids, name))
    }

    /// The group `name`, new if need be.
    pub fn add_group(&mut self, name: &str) -> GroupId {
        GroupId(intern(&mut self.groups, name))
    }

    /// The value printed as `text`, new if need be.
    pub fn add_value(&mut self, text: &str) -> Value {
        let found = self.values.iter().position(|known| known == text);
        found.map_or_else(|| self.push_value(text), |index| Value(SCRIPTED | index as u64))
    }

    /// A value printed as `text`, which no value is printed as yet.
    pub fn push_value(&mut self, text: &str) -> Value {
        self.values.push(text.to_string());
        Value(SCRIPTED | (self.values.len() - 1) as u64)
    }

    /// Every topic, in the order of the numbers.
    pub fn topics(&self) -> impl Iterator<Item = &str> {
        self.topics.iter().map(String::as_str)
    }

    /// Every transactional id, in the order of the numbers, the empty string first.
    pub fn transactional_ids(&self) -> impl Iterator<Item = &str> {
        self.transactional_ids.iter().map(|id| id.text.as_str())
    }

    /// Every group, in the order of the numbers, the empty string first.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().map(|group| group.text.as_str())
    }

    /// The name of `topic`.
    #[must_use]
    pub fn topic(&self, topic: Topic) -> &str {
        self.topics.get(usize::from(topic.0)).map_or("?", String::as_str)
    }

    /// The topic called `name`, if it is known.
    #[must_use]
    pub fn find_topic(&self, name: &str) -> Option<Topic> {
        let index = self.topics.iter().position(|known| known == name)?;
        u16::try_from(index).ok().map(Topic)
    }

    /// The text of `id`.
    #[must_use]
    pub fn transactional_id(&self, id: TransactionalId) -> &str {
        self.transactional_ids.get(usize::from(id.0)).map_or("?", |id| &id.text)
    }

    /// The text of `group`.
    #[must_use]
    pub fn group(&self, group: GroupId) -> &str {
        self.groups.get(usize::from(group.0)).map_or("?", |group| &group.text)
    }

    /// `topic-partition`, as Kafka prints it.
    #[must_use]
    pub fn partition(&self, tp: TopicPartition) -> String {
        format!("{}-{}", self.topic(tp.topic), tp.partition)
    }

    /// How `value` is printed: as [`Self::value_as_is`], with what cannot be seen spelled out, so that
    /// nothing that a record says reaches a terminal or a page as more than text.
    #[must_use]
    pub fn value(&self, value: Value) -> String {
        visible(&self.value_as_is(value), &[])
    }

    /// What `value` stands for: scripted values as they stand in the scenario, others as
    /// `v<producer>.<number>` (see [`Value::numbered`]).
    #[must_use]
    pub fn value_as_is(&self, value: Value) -> String {
        if value.0 & SCRIPTED == 0 {
            return format!("v{}.{}", value.0 >> 40, value.0 & ((1 << 40) - 1));
        }
        let index = usize::try_from(value.0 & !SCRIPTED).unwrap_or(usize::MAX);
        self.values.get(index).map_or_else(|| "?".to_string(), String::clone)
    }

    /// The partition of an internal topic with `partitions` partitions that holds `key`
    /// (C-PART-1): Java's string hash, its absolute value (0 for `i32::MIN`), modulo.
    #[must_use]
    pub fn hash_partition(key: &str, partitions: i32) -> i32 {
        partition_of_hash(java_hash(key), partitions)
    }

    /// The `__transaction_state` partition of `id`.
    #[must_use]
    pub fn transaction_partition(&self, id: TransactionalId, partitions: i32) -> i32 {
        let id = self.transactional_ids.get(usize::from(id.0));
        partition_of_hash(id.map_or(0, |id| id.java_hash), partitions)
    }

    /// The `__consumer_offsets` partition of `group`.
    #[must_use]
    pub fn group_partition(&self, group: GroupId, partitions: i32) -> i32 {
        let group = self.groups.get(usize::from(group.0));
        partition_of_hash(group.map_or(0, |group| group.java_hash), partitions)
    }
}

impl Value {
    /// The `number`-th value (below 2⁴⁰) made by the application `producer` (below 2²³).
    #[must_use]
    pub const fn numbered(producer: u32, number: u64) -> Self {
        Self((producer as u64) << 40 | number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_hash_as_in_java_c_part_2() {
        let cases = [
            ("u12-txn", 23),
            ("u12-fence", 26),
            ("order-writer", 46),
            ("a", 47),
            ("b", 48),
            ("txn-0", 9),
            ("txn-1", 10),
            ("", 0),
            ("polygenelubricants", 0),
            ("é", 33),
            ("😀", 49),
        ];
        for (id, partition) in cases {
            assert_eq!(Names::hash_partition(id, 50), partition, "{id}");
        }
    }

    #[test]
    fn values_print_as_scripted_or_numbered() {
        let mut names = Names::default();
        let c1 = names.add_value("c1");
        assert_eq!(names.value(c1), "c1");
        assert_eq!(names.add_value("c1"), c1);
        assert_eq!(names.value(Value::numbered(2, 7)), "v2.7");
    }
}
