//! What operators and periodic tasks do at moments that nobody planned.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Tick;
use crate::number::Probability;

/// Something is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// How likely, per tick (and broker, if it is one that does it).
    pub rate: Probability,
    /// The time from one tick to the next.
    #[schemars(with = "Tick")]
    pub every_ms: u64,
}

/// A leader is elected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaderElection {
    /// How likely, per tick.
    pub rate: Probability,
    /// The time from one tick to the next.
    #[schemars(with = "Tick")]
    pub every_ms: u64,
    /// How likely a replica that is not in sync will do, which loses what others have acknowledged.
    #[serde(default, skip_serializing_if = "Probability::is_zero")]
    pub unclean: Probability,
}
