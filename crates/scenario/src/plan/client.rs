//! Producers and consumers: who they are, how they are configured, what they do.

use eosim_types::Sequence;
use eosim_types::config::{ConsumerConfig, ProducerConfig};
use eosim_types::message::IsolationLevel;
use eosim_types::version::TransactionVersion;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use super::names::PartitionName;
use crate::Spread;
use crate::number::{Millis, Probability, Ranged, SpreadMillis, SpreadOf};
use crate::settings::{ConsumerSettings, ProducerSettings};

/// One producer, or several alike.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Producer {
    /// What the transcript calls it; with `count` above 1, `-0`, `-1` … is added.
    #[schemars(length(min = 1, max = 100), extend("format" = "name"))]
    pub name: String,
    /// Its `transactional.id`; without one it is idempotent only. With `count` above 1, `-0`,
    /// `-1` … is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = 200))]
    pub transactional_id: Option<String>,
    /// How many producers like this there are.
    #[serde(default = "one")]
    #[schemars(with = "Ranged<1, 100>")]
    pub count: u32,
    /// When it begins.
    #[serde(default)]
    #[schemars(with = "Millis")]
    pub start_ms: u64,
    /// The highest transaction version that the client speaks; it follows the cluster's up to
    /// there. All versions if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Ranged<0, 2>")]
    pub transaction_version: Option<u8>,
    /// The sequence with which it begins in each partition: 0 in Kafka, close to 2147483647 to let
    /// sequences wrap. Only without a `transactional_id`, and where no broker is of 4.5: others begin
    /// at 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(with = "Ranged<0, 2_147_483_647>")]
    pub first_sequence: i32,
    /// Settings, by Kafka's names.
    #[serde(default, skip_serializing_if = "ProducerSettings::is_empty")]
    pub settings: ProducerSettings,
    /// What it does.
    pub workload: Workload,
}

/// One of the producers that a [`Producer`] stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProducerInstance<'a> {
    /// What the transcript calls it.
    pub name: String,
    /// Its `transactional.id`.
    pub transactional_id: Option<String>,
    /// What it was made from.
    pub spec: &'a Producer,
}

impl Producer {
    /// May a successor take its transactional id from it? A two-phase committer's store has one
    /// owner, and stays with it.
    #[must_use]
    pub const fn may_become_zombie(&self) -> bool {
        self.transactional_id.is_some() && !matches!(self.workload, Workload::TwoPhase(_))
    }

    /// Every producer that this entry stands for.
    pub fn instances(&self) -> impl Iterator<Item = ProducerInstance<'_>> {
        let numbered = move |text: &str, n: u32| match self.count {
            1 => text.to_string(),
            _ => format!("{text}-{n}"),
        };
        (0..self.count).map(move |n| ProducerInstance {
            name: numbered(&self.name, n),
            transactional_id: self.transactional_id.as_deref().map(|id| numbered(id, n)),
            spec: self,
        })
    }

    /// Its configuration.
    #[must_use]
    pub fn config(&self) -> ProducerConfig {
        let newest = TransactionVersion::default();
        let transaction_version = self.transaction_version.map_or(newest, super::version_of);
        let first_sequence = Sequence(self.first_sequence);
        self.settings.over(ProducerConfig {
            transaction_version,
            first_sequence,
            ..ProducerConfig::default()
        })
    }
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero_delta(delta: &i16) -> bool {
    *delta == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(sequence: &i32) -> bool {
    *sequence == 0
}

/// What a producer does.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Workload {
    /// Transactions whose contents are drawn while the run goes on.
    Random(RandomWorkload),
    /// Transactions whose outcome a store of the application's own decides.
    TwoPhase(TwoPhaseWorkload),
    /// Calls of the client library, one after the other.
    Script(#[schemars(length(max = 1000))] Vec<Step>),
}

/// Transactions whose contents are drawn. Without a transactional id a "transaction" is that many
/// records and a flush.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomWorkload {
    /// How many transactions.
    #[schemars(with = "Ranged<0, 100_000>")]
    pub transactions: u32,
    /// Records of each; 0 makes empty transactions.
    #[schemars(with = "SpreadOf<0, 10_000>")]
    pub records_per_transaction: Spread,
    /// Where the records go, each to one of these.
    #[schemars(with = "Vec<PartitionName>", length(min = 1, max = 100))]
    pub partitions: Vec<String>,
    /// How likely a transaction is aborted on purpose.
    #[serde(default)]
    pub abort: Probability,
    /// How likely the producer flushes after a record.
    #[serde(default)]
    pub flush: Probability,
    /// The pause before each record.
    #[serde(default)]
    #[schemars(with = "SpreadMillis")]
    pub pause_between_records_ms: Spread,
    /// The pause before each transaction.
    #[serde(default)]
    #[schemars(with = "SpreadMillis")]
    pub pause_between_transactions_ms: Spread,
    /// Size of a record's value.
    #[serde(default = "ten_bytes")]
    #[schemars(with = "Ranged<1, 10_000_000>")]
    pub value_bytes: u32,
    /// How long the process takes to come back after a fatal error other than being fenced.
    #[serde(default = "a_second")]
    #[schemars(with = "Millis")]
    pub restart_pause_ms: u64,
}

/// An external two-phase committer. The records of each batch go to one transaction. Its store
/// takes over the batch's effect together with what it needs to commit the transaction; after a
/// crash the application does what the store says. `transaction.two.phase.commit.enable`, of the
/// producer and of the brokers, keeps such transactions from being aborted meanwhile.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TwoPhaseWorkload {
    /// The batches; one that is not decided is done again.
    pub batches: RandomWorkload,
    /// The pause between a decision and its commit.
    #[serde(default)]
    #[schemars(with = "SpreadMillis")]
    pub pause_before_commit_ms: Spread,
}

fn ten_bytes() -> u32 {
    10
}

fn a_second() -> u64 {
    1_000
}

/// One call of a scripted producer. A step begins when the one before it has returned; `send`
/// returns at once, as in Kafka.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// `initTransactions()`.
    Init,
    /// `beginTransaction()`.
    Begin,
    /// `send()`.
    Send(Send),
    /// `flush()`.
    Flush,
    /// `commitTransaction()`.
    Commit,
    /// `abortTransaction()`.
    Abort,
    /// `close()`.
    Close,
    /// Does nothing for so long.
    WaitMs(#[schemars(with = "Millis")] u64),
    /// Does nothing until so long after the run began.
    WaitUntilMs(#[schemars(with = "Millis")] u64),
    /// One batch put on the wire by hand.
    RawProduce(RawProduce),
}

/// One batch put on the wire by hand, past the producer's own bookkeeping, under its producer id;
/// waits for the answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawProduce {
    /// Where to.
    #[schemars(with = "PartitionName")]
    pub partition: String,
    /// Its base sequence, whatever was sent before.
    #[schemars(range(min = -1, max = 2_147_483_647))]
    pub base_sequence: i32,
    /// How far its epoch is from the producer's own.
    #[serde(default, skip_serializing_if = "is_zero_delta")]
    #[schemars(range(min = -32_767, max = 32_767))]
    pub epoch_delta: i16,
    /// It belongs to a transaction of the producer's `transactional_id`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub transactional: bool,
    /// The values of its records.
    #[schemars(length(min = 1, max = 1000))]
    pub values: Vec<String>,
}

/// `send()` of one record.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// Where to.
    #[schemars(with = "PartitionName")]
    pub partition: String,
    /// The record's value.
    #[schemars(length(max = 1000))]
    pub value: String,
    /// Size of the value if it is not that of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Ranged<0, 10_000_000>")]
    pub value_bytes: Option<u32>,
}

/// A consumer without a group.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Consumer {
    /// What the transcript calls it.
    #[schemars(length(min = 1, max = 100), extend("format" = "name"))]
    pub name: String,
    /// Its `isolation.level`.
    #[schemars(with = "IsolationLevelName")]
    pub isolation_level: IsolationLevel,
    /// What it reads, from the beginning.
    #[schemars(with = "Vec<PartitionName>", length(min = 1, max = 100))]
    pub partitions: Vec<String>,
    /// When it begins.
    #[serde(default)]
    #[schemars(with = "Millis")]
    pub start_ms: u64,
    /// Settings, by Kafka's names.
    #[serde(default, skip_serializing_if = "ConsumerSettings::is_empty")]
    pub settings: ConsumerSettings,
    /// The pause between two polls that return something.
    #[serde(default)]
    #[schemars(with = "Millis")]
    pub poll_interval_ms: u64,
    /// When it asks for the end offsets of its partitions besides, after the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Millis>", length(max = 100))]
    pub end_offsets_at_ms: Vec<u64>,
}

impl Consumer {
    /// Its configuration.
    #[must_use]
    pub fn config(&self) -> ConsumerConfig {
        let isolation_level = self.isolation_level;
        self.settings.over(ConsumerConfig { isolation_level, ..ConsumerConfig::default() })
    }
}

/// Schema of an isolation level.
pub(super) struct IsolationLevelName;

impl JsonSchema for IsolationLevelName {
    fn schema_name() -> Cow<'static, str> {
        "IsolationLevel".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": ["read_uncommitted", "read_committed"]})
    }
}
