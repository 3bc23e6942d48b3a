//! The members of a group, as a log of `__consumer_offsets` has them.
//!
//! Counterparts: the records that `kafka-dump-log.sh --offsets-decoder` prints besides offsets, as far
//! as something is judged by them: who has what, and the numbers by which older owners are known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word::{Number, Partition};

/// What a record says of a group.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum Membership {
    /// A classic group: `GroupMetadata`.
    Generation(Generation),
    /// A classic group is gone.
    GenerationGone,
    /// `ConsumerGroupMetadata`.
    GroupEpoch(Number),
    /// A consumer group is gone.
    GroupGone,
    /// `ConsumerGroupTargetAssignmentMetadata`.
    AssignmentEpoch(Number),
    /// `ConsumerGroupCurrentMemberAssignment`.
    Owner(Owner),
    /// A member of a consumer group is gone.
    OwnerGone(Number),
}

/// A generation of a classic group.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Generation {
    /// Its number.
    pub(super) number: Number,
    /// What its members have, if they are consumers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10_000))]
    pub(super) owners: Vec<Owner>,
}

/// What a member has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Owner {
    /// The member, as a number of its own.
    pub(super) member: Number,
    /// Its partitions, those included that it has yet to give up.
    #[schemars(length(max = 10_000))]
    pub(super) partitions: Vec<Partition>,
}
