//! What an operator does to the cluster by hand.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::PartitionName;
use crate::number::{Millis, Ranged};

/// One step of the operator, begun when the one before it is over.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum OperatorStep {
    /// Does nothing until so long after the run began.
    WaitUntilMs(#[schemars(with = "Millis")] u64),
    /// Elects a leader (`kafka-leader-election`).
    ElectLeader(ElectLeader),
    /// Moves a partition to other brokers (`kafka-reassign-partitions`).
    Reassign(Reassign),
    /// Deletes the beginning of a partition (`kafka-delete-records`).
    DeleteRecords(DeleteRecords),
    /// Changes the level of a feature (`kafka-features upgrade`, `downgrade`).
    UpdateFeatures(UpdateFeatures),
    /// Ends a transaction in one partition, past its coordinator (`kafka-transactions abort`).
    AbortTransaction(AbortTransaction),
    /// Finds and ends what hangs in a partition (`kafka-transactions find-hanging`, then `abort`).
    AbortHanging(AbortHanging),
}

/// Elects a leader.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ElectLeader {
    /// Of which partition.
    #[schemars(with = "PartitionName")]
    pub partition: String,
    /// Also a replica that is not in sync; otherwise the preferred one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unclean: bool,
}

/// Moves a partition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reassign {
    /// Which partition.
    #[schemars(with = "PartitionName")]
    pub partition: String,
    /// The brokers that shall hold it, the preferred leader first.
    #[schemars(with = "Vec<Ranged<1, 9>>", length(min = 1, max = 9))]
    pub replicas: Vec<u32>,
}

/// Deletes the beginning of a partition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRecords {
    /// Of which partition.
    #[schemars(with = "PartitionName")]
    pub partition: String,
    /// Everything below goes; up to the high watermark if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Ranged<0, 1_000_000_000>")]
    pub before: Option<u64>,
}

/// Changes the level of a feature; every node follows when its metadata do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateFeatures {
    /// The new level, higher or lower.
    #[serde(rename = "transaction.version")]
    #[schemars(with = "Ranged<0, 2>")]
    pub transaction_version: u8,
}

/// Ends a transaction in one partition: exactly one of `start_offset` and `producer` says which.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AbortTransaction {
    /// Of which partition.
    #[schemars(with = "PartitionName")]
    pub partition: String,
    /// The transaction that is open there from this offset on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Ranged<0, 1_000_000_000>")]
    pub start_offset: Option<u64>,
    /// That of this producer, whether one is open or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MarkedProducer")]
    pub producer: Option<MarkedProducer>,
}

/// What an operator's marker names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MarkedProducer {
    /// Producer id.
    #[schemars(with = "Ranged<0, 1_000_000_000>")]
    pub id: u64,
    /// Producer epoch.
    #[schemars(with = "Ranged<0, 32_767>")]
    pub epoch: u64,
    /// The marker's epoch of its coordinator.
    #[serde(default)]
    #[schemars(with = "Ranged<0, 1_000_000_000>")]
    pub coordinator_epoch: u64,
}

/// Finds and ends what hangs in a partition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AbortHanging {
    /// Of which partition.
    #[schemars(with = "PartitionName")]
    pub partition: String,
    /// What was written to within this time is left alone.
    #[serde(default = "fifteen_minutes")]
    #[schemars(with = "Millis")]
    pub max_transaction_timeout_ms: u64,
}

fn fifteen_minutes() -> u64 {
    900_000
}

impl OperatorStep {
    /// The partition that it concerns.
    #[must_use]
    pub fn partition(&self) -> Option<&str> {
        match self {
            Self::WaitUntilMs(_) | Self::UpdateFeatures(_) => None,
            Self::ElectLeader(step) => Some(&step.partition),
            Self::Reassign(step) => Some(&step.partition),
            Self::DeleteRecords(step) => Some(&step.partition),
            Self::AbortTransaction(step) => Some(&step.partition),
            Self::AbortHanging(step) => Some(&step.partition),
        }
    }
}
