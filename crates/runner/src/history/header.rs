//! The first line of a history: who and what is in it, and what the system allows.
//!
//! Everything that is not given is as Kafka has it by default, with its full promise.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word::{Count, Error, Length, Name, Text};

/// The version of the form.
pub const FORMAT: u32 = 1;

/// The first line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    /// The version of this form: 1.
    #[schemars(range(min = 1, max = 1))]
    pub(super) format: u32,
    /// What happens, or where the history is from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Text")]
    pub(super) about: Option<Text>,
    /// The scenario that was simulated, if one was: a history that lacks nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Name")]
    pub(super) scenario: Option<Name>,
    /// Its seed, in decimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Name")]
    pub(super) seed: Option<Name>,
    /// The topics. Kafka's own may be left out.
    #[schemars(length(max = 1000))]
    pub(super) topics: Vec<TopicEntry>,
    /// Everybody who does or learns something.
    #[schemars(length(max = 10_000))]
    pub(super) clients: Vec<Client>,
    /// Every `transactional.id`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10_000))]
    pub(super) transactional_ids: Vec<Name>,
    /// Every group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10_000))]
    pub(super) groups: Vec<Group>,
    /// Settings of brokers and producers.
    #[serde(default)]
    pub(super) settings: Settings,
    /// What may be seen without being a violation.
    #[serde(default, skip_serializing_if = "Legal::is_empty")]
    pub(super) legal: Legal,
}

/// A topic.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TopicEntry {
    /// Its name.
    pub(super) name: Name,
    /// How many partitions it has.
    pub(super) partitions: Count,
    /// Unclean elections may happen: nothing of what they lose is reported.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) unclean_leader_election: bool,
    /// The head of its logs may be deleted, by retention or by DeleteRecords.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) cleanup_delete: bool,
    /// It is compacted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) cleanup_compact: bool,
}

/// Who does or learns something.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Client {
    /// By name.
    Plain(Name),
    /// With settings of its producer.
    Set(ClientEntry),
}

/// A client with settings.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClientEntry {
    /// Its name.
    pub(super) name: Name,
    /// Its producer has `acks` below `all`: an acknowledgement promises nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) acks_below_all: bool,
    /// Its producer has `enable.idempotence=false`: no order, no deduplication.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) without_idempotence: bool,
    /// Its `delivery.timeout.ms`, if it is idempotent and its `retries` are those by default; nothing
    /// is said of how long it tries otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Length")]
    pub(super) delivery_timeout_ms: Option<Length>,
}

/// A group.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Group {
    /// By name.
    Plain(Name),
    /// With what it does.
    Set(GroupEntry),
}

/// A group and what it does. It begins at the start of its topics.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupEntry {
    /// Its name.
    pub(super) name: Name,
    /// Members that commit what they were given, and nothing else commits for the group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) readers: Vec<Reader>,
    /// What it consumes, transforms and produces: every record of the input has results in the
    /// output, which are committed together with the group's offsets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) transforms: Vec<TransformEntry>,
}

/// A member that reads.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reader {
    /// Who.
    pub(super) client: Name,
    /// What.
    pub(super) topic: Name,
}

/// What is made of what.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TransformEntry {
    /// What is read.
    pub(super) input: Name,
    /// Where results go.
    pub(super) output: Name,
}

/// Settings that promises depend on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Settings {
    /// `offsets.topic.num.partitions`.
    pub(super) offsets_topic_num_partitions: Count,
    /// The shortest `transaction.timeout.ms` of any producer.
    pub(super) transaction_timeout_min_ms: Length,
    /// The longest.
    pub(super) transaction_timeout_max_ms: Length,
    /// How long after its timeout a transaction may stay open in a healed cluster:
    /// `transaction.abort.timed.out.transaction.cleanup.interval.ms` and the time for its markers.
    pub(super) abort_grace_ms: Length,
    /// `producer.id.expiration.ms`.
    pub(super) producer_id_expiration_ms: Length,
    /// `transactional.id.expiration.ms`.
    pub(super) transactional_id_expiration_ms: Length,
    /// The brokers' `request.timeout.ms`.
    pub(super) request_timeout_ms: Length,
    /// How long after the begin of the run nothing strikes any more, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) healed_after_ms: Option<Length>,
    /// Every broker writes the last producer epoch to `__transaction_state` (from 4.5 on).
    pub(super) last_producer_epoch_is_written: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            offsets_topic_num_partitions: Count(50),
            transaction_timeout_min_ms: Length(60_000),
            transaction_timeout_max_ms: Length(60_000),
            abort_grace_ms: Length(15_000),
            producer_id_expiration_ms: Length(86_400_000),
            transactional_id_expiration_ms: Length(604_800_000),
            request_timeout_ms: Length(30_000),
            healed_after_ms: None,
            last_producer_epoch_is_written: true,
        }
    }
}

/// What may be seen without being a violation.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Legal {
    /// Others write to these topics too: records whose `send()` is not in the history.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) unobserved_sends: bool,
    /// Requests may be handled long after their sender gave up on them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) late_requests: bool,
    /// Clocks of brokers may jump.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) clock_jumps: bool,
    /// The effect of an input record may be committed twice: offsets are kept elsewhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) inputs_processed_twice: bool,
    /// Transactional ids that several live clients use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) shared_transactional_ids: Vec<Name>,
    /// Fatal errors that any producer may see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) fatal_errors: Vec<Error>,
}

impl Legal {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
