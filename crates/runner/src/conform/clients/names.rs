//! What the strings and numbers of a case are called in the model.

use eosim_types::message::{CommittableOffset, GroupMember};
use eosim_types::{
    GroupId, LeaderEpoch, Names, Topic, TopicPartition, TransactionalId, Value as RecordValue,
};

use crate::conform::fields::Unsupported;

/// The names of one case.
#[derive(Clone, Debug)]
pub(super) struct CaseNames {
    names: Names,
    topic: Topic,
    /// Member and instance ids; the model knows their places.
    members: Vec<String>,
}

impl CaseNames {
    pub(super) fn new() -> Self {
        let mut names = Names::default();
        let topic = names.add_topic("t");
        Self { names, topic, members: Vec::new() }
    }

    /// Partition `number` of the topic.
    pub(super) const fn of_topic(&self, number: i32) -> TopicPartition {
        TopicPartition::new(self.topic, number)
    }

    pub(super) fn find_partition(&mut self, text: &str) -> Result<TopicPartition, Unsupported> {
        let parts = text.rsplit_once('-').and_then(|(topic, n)| Some((topic, n.parse().ok()?)));
        let (topic, number) = parts.ok_or_else(|| Unsupported(format!("the partition {text}")))?;
        Ok(TopicPartition::new(self.names.add_topic(topic), number))
    }

    pub(super) fn partition(&self, partition: TopicPartition) -> String {
        self.names.partition(partition)
    }

    pub(super) fn add_transactional_id(&mut self, text: &str) -> TransactionalId {
        self.names.add_transactional_id(text)
    }

    pub(super) fn transactional_id(&self, id: TransactionalId) -> &str {
        self.names.transactional_id(id)
    }

    pub(super) fn add_group(&mut self, text: &str) -> GroupId {
        self.names.add_group(text)
    }

    pub(super) fn group(&self, group: GroupId) -> &str {
        self.names.group(group)
    }

    pub(super) fn add_value(&mut self, text: &str) -> RecordValue {
        self.names.add_value(text)
    }

    pub(super) fn value(&self, value: RecordValue) -> String {
        self.names.value_as_is(value)
    }

    /// Who commits; an empty member id is none.
    pub(super) fn add_member(
        &mut self,
        generation_or_epoch: Option<i32>,
        member: Option<&str>,
        instance: Option<&str>,
    ) -> GroupMember {
        let mut place = |text: &str| {
            let known = self.members.iter().position(|known| known == text);
            let place = known.unwrap_or_else(|| {
                self.members.push(text.to_string());
                self.members.len() - 1
            });
            u32::try_from(place).expect("few members")
        };
        GroupMember {
            generation_or_epoch: generation_or_epoch.unwrap_or(-1),
            member: member.filter(|text| !text.is_empty()).map(&mut place),
            instance: instance.map(&mut place),
        }
    }

    pub(super) fn member(&self, place: u32) -> &str {
        self.members.get(place as usize).map_or("?", String::as_str)
    }
}

/// An offset to commit, without a leader epoch.
pub(super) const fn committable(partition: TopicPartition, offset: i64) -> CommittableOffset {
    CommittableOffset { partition, offset, leader_epoch: LeaderEpoch::NONE }
}
