//! What lies in a log, and what brokers hold besides.
//!
//! Counterparts: the output of `kafka-dump-log.sh`, `DescribeProducers`, `DescribeTransactions`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::group::Membership;
use super::word::{Epoch, Marker, Name, Number, Offset, Partition, State, Tagged};

/// An aborted transaction in a `.txnindex`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AbortedEntry {
    /// Whose.
    pub(super) producer_id: Offset,
    /// Where it begins.
    pub(super) first_offset: Offset,
    /// Where its marker lies.
    pub(super) last_offset: Offset,
    /// The last stable offset that the entry holds.
    pub(super) last_stable_offset: Offset,
}

/// A producer as a replica knows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ProducerEntry {
    /// Producer id.
    pub(super) producer_id: Offset,
    /// Producer epoch.
    pub(super) producer_epoch: Epoch,
    /// -1 if no batch is remembered.
    pub(super) last_sequence: Number,
    /// Timestamp of the newest batch or marker, ms.
    pub(super) last_timestamp_ms: Tagged,
    /// -1 if no marker was seen.
    pub(super) coordinator_epoch: Number,
    /// -1 if no transaction is open.
    pub(super) current_transaction_start_offset: Tagged,
    /// The batches whose copies it recognises, oldest first, if they were seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Remembered>")]
    pub(super) batches: Option<Vec<Remembered>>,
}

/// A batch whose copies are recognised.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Remembered {
    /// Sequence of its last record.
    pub(super) last_sequence: Number,
    /// Offset of its last record.
    pub(super) last_offset: Offset,
    /// Last offset minus first offset.
    pub(super) offset_delta: Number,
}

/// A batch. One of the last five keys says what is in it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Batch {
    /// Offset of the first record.
    pub(super) base_offset: Offset,
    /// Offset of the last record; follows from the records if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Offset")]
    pub(super) last_offset: Option<Offset>,
    /// Leader epoch.
    #[serde(default)]
    #[schemars(with = "Number")]
    pub(super) partition_leader_epoch: i32,
    /// Producer id; none if not given.
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub(super) producer_id: Tagged,
    /// Producer epoch; none if not given.
    #[serde(default = "no_epoch", skip_serializing_if = "is_no_epoch")]
    pub(super) producer_epoch: Epoch,
    /// Sequence of the first record; none if not given.
    #[serde(default = "no_number", skip_serializing_if = "is_no_number")]
    pub(super) base_sequence: Number,
    /// It belongs to a transaction.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_transactional: bool,
    /// The largest timestamp, milliseconds (`CreateTime`).
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub(super) max_timestamp_ms: Tagged,
    /// Records of an application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Logged>", length(max = 100_000))]
    pub(super) records: Option<Vec<Logged>>,
    /// A marker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "EndTxnMarker")]
    pub(super) end_txn_marker: Option<EndTxnMarker>,
    /// What compaction left of a marker.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_removed_marker: bool,
    /// Records of `__transaction_state`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<LoggedTransaction>")]
    pub(super) transactions: Option<Vec<LoggedTransaction>>,
    /// Records of `__consumer_offsets`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<LoggedOffset>")]
    pub(super) offsets: Option<Vec<LoggedOffset>>,
    /// They are of the coordinator itself, not of a commit: members, tombstones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_group_log: bool,
}

/// A record: what it says; with its offset where records of the batch are missing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Logged {
    /// What it says.
    Next(Name),
    /// With its offset.
    At(LoggedAt),
}

/// A record with its offset.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LoggedAt {
    /// Where it lies.
    pub(super) offset: Offset,
    /// What it says.
    pub(super) value: Name,
}

/// A control record.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EndTxnMarker {
    /// COMMIT or ABORT.
    pub(super) result: Marker,
    /// The coordinator's epoch.
    #[serde(default)]
    #[schemars(with = "Number")]
    pub(super) coordinator_epoch: i32,
}

/// A record of `__transaction_state`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LoggedTransaction {
    /// The key.
    pub(super) transactional_id: Name,
    /// The value; a tombstone if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LoggedState")]
    pub(super) value: Option<LoggedState>,
}

/// The value of a record of `__transaction_state` (`TransactionLogValue`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LoggedState {
    /// Version of the value.
    pub(super) version: Epoch,
    /// Producer id.
    pub(super) producer_id: Tagged,
    /// -1 if none.
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub(super) previous_producer_id: Tagged,
    /// -1 if none.
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub(super) next_producer_id: Tagged,
    /// Producer epoch.
    pub(super) producer_epoch: Epoch,
    /// -1 if none.
    #[serde(default = "no_epoch", skip_serializing_if = "is_no_epoch")]
    pub(super) last_producer_epoch: Epoch,
    /// Timeout.
    pub(super) transaction_timeout_ms: Number,
    /// State.
    pub(super) transaction_status: State,
    /// Partitions; none for Empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Partition>")]
    pub(super) transaction_partitions: Option<Vec<Partition>>,
    /// When the transition was prepared.
    pub(super) last_update_timestamp_ms: Tagged,
    /// When it became Ongoing; -1 if it is not.
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub(super) start_timestamp_ms: Tagged,
    /// The client's transaction version.
    pub(super) client_transaction_version: Epoch,
}

/// A record of `__consumer_offsets`: an offset, or what is said of the members of a group; of what is
/// neither, nothing is said.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LoggedOffset {
    /// The group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Name")]
    pub(super) group: Option<Name>,
    /// The partition that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Partition")]
    pub(super) partition: Option<Partition>,
    /// The next offset to read; a tombstone if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Offset")]
    pub(super) offset: Option<Offset>,
    /// Leader epoch of the last record read.
    #[serde(default = "no_number", skip_serializing_if = "is_no_number")]
    pub(super) leader_epoch: Number,
    /// When it was committed.
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub(super) commit_timestamp_ms: Tagged,
    /// What is said of the members of the group, in the place of an offset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Membership")]
    pub(super) membership: Option<Membership>,
}

/// An offset that a group coordinator holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HeldOffset {
    /// The producer in whose open transaction it is pending; committed if not given.
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub(super) producer_id: Tagged,
    /// The group.
    pub(super) group: Name,
    /// The partition that was read.
    pub(super) partition: Partition,
    /// The next offset to read.
    pub(super) offset: Offset,
}

/// A transactional id at its coordinator.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TransactionEntry {
    /// `broker.id` of the coordinator.
    pub(super) broker: Number,
    /// The coordinator's epoch.
    #[serde(default)]
    #[schemars(with = "Number")]
    pub(super) coordinator_epoch: i32,
    /// The partition of `__transaction_state` that holds the id.
    pub(super) txn_topic_partition: Number,
    /// The id.
    pub(super) transactional_id: Name,
    /// Producer id.
    pub(super) producer_id: Tagged,
    /// -1 if none.
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub(super) previous_producer_id: Tagged,
    /// -1 if none.
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub(super) next_producer_id: Tagged,
    /// Producer epoch.
    pub(super) producer_epoch: Epoch,
    /// -1 if none.
    #[serde(default = "no_epoch", skip_serializing_if = "is_no_epoch")]
    pub(super) last_producer_epoch: Epoch,
    /// Timeout.
    pub(super) transaction_timeout_ms: Number,
    /// State.
    pub(super) state: State,
    /// The transition that is being written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "State")]
    pub(super) pending_state: Option<State>,
    /// Partitions that still belong to the transaction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) partitions: Vec<Partition>,
    /// When it became Ongoing; -1 if it is not.
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub(super) start_timestamp_ms: Tagged,
    /// When the last transition was prepared.
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub(super) last_update_timestamp_ms: Tagged,
    /// The client's transaction version.
    #[serde(default = "no_epoch", skip_serializing_if = "is_no_epoch")]
    pub(super) client_transaction_version: Epoch,
}

const fn none() -> Tagged {
    Tagged(-1)
}

fn is_none(value: &Tagged) -> bool {
    value.0 == -1
}

const fn no_epoch() -> Epoch {
    Epoch(-1)
}

fn is_no_epoch(value: &Epoch) -> bool {
    value.0 == -1
}

const fn no_number() -> Number {
    Number(-1)
}

fn is_no_number(value: &Number) -> bool {
    value.0 == -1
}
