//! Faults of brokers' disks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Tick;
use crate::Spread;
use crate::number::{Probability, SpreadMillis};

/// An append fails, and the broker halts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskError {
    /// How likely, per broker and tick.
    pub rate: Probability,
    /// The time from one tick to the next.
    #[schemars(with = "Tick")]
    pub every_ms: u64,
    /// How likely the error comes when all is written, in place of nothing.
    #[serde(default, skip_serializing_if = "Probability::is_zero")]
    pub after_write: Probability,
    /// After what time the disk is sound, and the broker is started again if it has halted.
    #[schemars(with = "SpreadMillis")]
    pub down_ms: Spread,
}

/// A load ends early.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadError {
    /// How likely, per broker and tick.
    pub rate: Probability,
    /// The time from one tick to the next.
    #[schemars(with = "Tick")]
    pub every_ms: u64,
    /// For how long a load may fail; one does.
    #[schemars(with = "SpreadMillis")]
    pub lasts_ms: Spread,
}
