//! Members of groups that consume, transform and produce.

use eosim_types::config::{ConsumerConfig, GroupProtocol, ProducerConfig};
use eosim_types::message::IsolationLevel;
use eosim_types::version::TransactionVersion;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use crate::Spread;
use crate::number::{Millis, Probability, Ranged, SpreadMillis, SpreadOf};
use crate::settings::{ConsumerSettings, ProducerSettings};

/// Members of one group, all alike: each reads its share of a topic and makes, of each record,
/// records of another topic, in transactions that hold the group's offsets as well.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transformer {
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
    /// Its `transactional.id`; with `count` above 1, `-0`, `-1` … is added.
    #[schemars(length(min = 1, max = 200))]
    pub transactional_id: String,
    /// How many members like this there are.
    #[serde(default = "two")]
    #[schemars(with = "Ranged<1, 100>")]
    pub count: u32,
    /// The topic that it reads.
    #[schemars(length(min = 1, max = 249))]
    pub input: String,
    /// The topic that it writes to: each result goes to the partition of its input's number.
    #[schemars(length(min = 1, max = 249))]
    pub output: String,
    /// When the first of them begins.
    #[serde(default)]
    #[schemars(with = "Millis")]
    pub start_ms: u64,
    /// How much later each of the others begins than the one before.
    #[serde(default)]
    #[schemars(with = "Millis")]
    pub start_each_ms: u64,
    /// The highest transaction version that its producer speaks; it follows the cluster's up to
    /// there. All versions if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Ranged<0, 2>")]
    pub transaction_version: Option<u8>,
    /// How many polls make a transaction.
    #[serde(default = "once")]
    #[schemars(with = "SpreadOf<1, 1_000>")]
    pub polls_per_transaction: Spread,
    /// How many results each record has.
    #[serde(default = "once")]
    #[schemars(with = "SpreadOf<1, 100>")]
    pub results_per_record: Spread,
    /// The pause before each record is transformed.
    #[serde(default)]
    #[schemars(with = "SpreadMillis")]
    pub pause_between_records_ms: Spread,
    /// How likely a transaction is aborted on purpose.
    #[serde(default)]
    pub abort: Probability,
    /// How likely the member leaves its group after a transaction, to come back.
    #[serde(default)]
    pub leave: Probability,
    /// How long it stays away when it has left, and after a fatal error.
    #[serde(default = "a_second")]
    #[schemars(with = "Millis")]
    pub restart_pause_ms: u64,
    /// The consumer's settings, by Kafka's names.
    #[serde(default, skip_serializing_if = "ConsumerSettings::is_empty")]
    pub consumer_settings: ConsumerSettings,
    /// The producer's settings, by Kafka's names.
    #[serde(default, skip_serializing_if = "ProducerSettings::is_empty")]
    pub producer_settings: ProducerSettings,
    /// What it does wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MistakeName")]
    pub mistake: Option<Mistake>,
}

/// What an application on top of correct clients does wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mistake {
    /// The offsets are committed by the consumer after the transaction, not in it.
    OffsetsOutsideTransaction,
    /// After an abort it reads on where it stood.
    NoRewind,
    /// A commit that timed out is taken for a failure: its input is transformed again.
    TimeoutIsFailure,
    /// It works on through a rebalance and takes the group's metadata when it sends the offsets.
    GroupMetadataLate,
    /// It names the group alone, not its own membership.
    GroupMetadataMissing,
}

/// One of the members that a [`Transformer`] stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransformerInstance<'a> {
    /// What the transcript calls it.
    pub name: String,
    /// Its `transactional.id`.
    pub transactional_id: String,
    /// When it begins, after the run began.
    pub start_ms: u64,
    /// What it was made from.
    pub spec: &'a Transformer,
}

impl Transformer {
    /// Every member that this entry stands for.
    pub fn instances(&self) -> impl Iterator<Item = TransformerInstance<'_>> {
        let numbered = move |text: &str, n: u32| match self.count {
            1 => text.to_string(),
            _ => format!("{text}-{n}"),
        };
        (0..self.count).map(move |n| TransformerInstance {
            name: numbered(&self.name, n),
            transactional_id: numbered(&self.transactional_id, n),
            start_ms: self.start_ms + u64::from(n) * self.start_each_ms,
            spec: self,
        })
    }

    /// The consumer's configuration, its group apart.
    #[must_use]
    pub fn consumer_config(&self) -> ConsumerConfig {
        self.consumer_settings.over(ConsumerConfig {
            isolation_level: IsolationLevel::ReadCommitted,
            auto_offset_reset: eosim_types::config::AutoOffsetReset::Earliest,
            group_protocol: self.group_protocol,
            ..ConsumerConfig::default()
        })
    }

    /// The producer's configuration.
    #[must_use]
    pub fn producer_config(&self) -> ProducerConfig {
        let newest = TransactionVersion::default();
        let transaction_version = self.transaction_version.map_or(newest, super::version_of);
        self.producer_settings
            .over(ProducerConfig { transaction_version, ..ProducerConfig::default() })
    }
}

const fn two() -> u32 {
    2
}

const fn once() -> Spread {
    Spread { min: 1, max: 1 }
}

const fn a_second() -> u64 {
    1_000
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(super) fn is_classic(protocol: &GroupProtocol) -> bool {
    *protocol == GroupProtocol::Classic
}

/// Schema of a group protocol.
pub(super) struct GroupProtocolName;

impl JsonSchema for GroupProtocolName {
    fn schema_name() -> Cow<'static, str> {
        "GroupProtocol".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": ["classic", "consumer"]})
    }
}

/// Schema of a mistake.
struct MistakeName;

impl JsonSchema for MistakeName {
    fn schema_name() -> Cow<'static, str> {
        "Mistake".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": [
            "offsets_outside_transaction", "no_rewind", "timeout_is_failure",
            "group_metadata_late", "group_metadata_missing",
        ]})
    }
}
