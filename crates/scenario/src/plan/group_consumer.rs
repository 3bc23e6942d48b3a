//! Members of groups that read and commit.

use eosim_types::config::{AutoOffsetReset, ConsumerConfig, GroupProtocol};
use eosim_types::message::IsolationLevel;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use super::client::IsolationLevelName;
use super::transformer::{GroupProtocolName, is_classic};
use crate::Spread;
use crate::number::{Millis, Probability, Ranged, SpreadMillis};
use crate::settings::ConsumerSettings;

/// Members of one group, all alike: each reads its share of a topic and commits what it has read,
/// so that every record is delivered to some member at least once.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupConsumer {
    /// What the transcript calls it; with `count` above 1, `-0`, `-1` … is added.
    #[schemars(length(min = 1, max = 100), extend("format" = "name"))]
    pub name: String,
    /// Its `group.id`.
    #[schemars(length(min = 1, max = 200))]
    pub group: String,
    /// Its `group.protocol`.
    #[serde(default, skip_serializing_if = "is_classic")]
    #[schemars(with = "GroupProtocolName")]
    pub group_protocol: GroupProtocol,
    /// Each member has a `group.instance.id` of its own, which makes it a static one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_static: bool,
    /// How many members like this there are.
    #[serde(default = "two")]
    #[schemars(with = "Ranged<1, 100>")]
    pub count: u32,
    /// The topic that it reads.
    #[schemars(length(min = 1, max = 249))]
    pub topic: String,
    /// Its `isolation.level`.
    #[schemars(with = "IsolationLevelName")]
    pub isolation_level: IsolationLevel,
    /// How it commits.
    #[schemars(with = "CommitModeName")]
    pub commit: CommitMode,
    /// When the first of them begins.
    #[serde(default)]
    #[schemars(with = "Millis")]
    pub start_ms: u64,
    /// How much later each of the others begins than the one before.
    #[serde(default)]
    #[schemars(with = "Millis")]
    pub start_each_ms: u64,
    /// The pause for each record, before what was polled is committed.
    #[serde(default)]
    #[schemars(with = "SpreadMillis")]
    pub pause_between_records_ms: Spread,
    /// How likely the member leaves its group after a poll, to come back.
    #[serde(default)]
    pub leave: Probability,
    /// How long it stays away when it has left, and after an error.
    #[serde(default = "a_second")]
    #[schemars(with = "Millis")]
    pub restart_pause_ms: u64,
    /// Settings, by Kafka's names.
    #[serde(default, skip_serializing_if = "ConsumerSettings::is_empty")]
    pub settings: ConsumerSettings,
}

/// How a group's member commits what it has read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitMode {
    /// `enable.auto.commit`.
    Auto,
    /// `commitSync()` after each poll that returned something.
    Sync,
    /// `commitAsync()`, likewise.
    Async,
}

/// One of the members that a [`GroupConsumer`] stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupConsumerInstance<'a> {
    /// What the transcript calls it.
    pub name: String,
    /// When it begins, after the run began.
    pub start_ms: u64,
    /// What it was made from.
    pub spec: &'a GroupConsumer,
}

impl GroupConsumer {
    /// Every member that this entry stands for.
    pub fn instances(&self) -> impl Iterator<Item = GroupConsumerInstance<'_>> {
        let name = move |number: u32| match self.count {
            1 => self.name.clone(),
            _ => format!("{}-{number}", self.name),
        };
        (0..self.count).map(move |number| GroupConsumerInstance {
            name: name(number),
            start_ms: self.start_ms + u64::from(number) * self.start_each_ms,
            spec: self,
        })
    }

    /// Its configuration, group and instance apart. It begins where nothing is left out.
    #[must_use]
    pub fn config(&self) -> ConsumerConfig {
        self.settings.over(ConsumerConfig {
            isolation_level: self.isolation_level,
            auto_offset_reset: AutoOffsetReset::Earliest,
            group_protocol: self.group_protocol,
            ..ConsumerConfig::default()
        })
    }
}

const fn two() -> u32 {
    2
}

const fn a_second() -> u64 {
    1_000
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Schema of how a member commits.
struct CommitModeName;

impl JsonSchema for CommitModeName {
    fn schema_name() -> Cow<'static, str> {
        "CommitMode".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": ["auto", "sync", "async"]})
    }
}
