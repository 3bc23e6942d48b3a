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

impl OperatorStep {
    /// The partition that it concerns.
    #[must_use]
    pub fn partition(&self) -> Option<&str> {
        match self {
            Self::WaitUntilMs(_) => None,
            Self::ElectLeader(step) => Some(&step.partition),
            Self::Reassign(step) => Some(&step.partition),
            Self::DeleteRecords(step) => Some(&step.partition),
        }
    }
}
