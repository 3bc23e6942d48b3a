//! Faults of processes and machines, beside crashes and stalls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CrashTarget, PauseTarget, Tick};
use crate::Spread;
use crate::number::{Probability, SpreadMillis, SpreadOf};

/// A process stalls again and again for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlowActor {
    /// Whom it may strike.
    #[serde(default)]
    pub target: PauseTarget,
    /// How likely, per target and tick.
    pub rate: Probability,
    /// The time from one tick to the next.
    #[schemars(with = "Tick")]
    pub every_ms: u64,
    /// How long each stall is.
    #[schemars(with = "SpreadOf<1, 4_000_000>")]
    pub pause_ms: Spread,
    /// For how long they follow each other.
    #[schemars(with = "SpreadMillis")]
    pub lasts_ms: Spread,
}

/// A process dies and is started again several times in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestartLoop {
    /// Whom it may strike.
    #[serde(default)]
    pub target: CrashTarget,
    /// How likely, per target and tick.
    pub rate: Probability,
    /// The time from one tick to the next.
    #[schemars(with = "Tick")]
    pub every_ms: u64,
    /// How often it dies.
    #[schemars(with = "SpreadOf<1, 100>")]
    pub times: Spread,
    /// How long it lives in between.
    #[schemars(with = "SpreadMillis")]
    pub up_ms: Spread,
    /// How long it stays dead each time.
    #[schemars(with = "SpreadMillis")]
    pub down_ms: Spread,
}

/// Whose clock may jump.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClockTarget {
    /// Any broker's or client's.
    #[default]
    Any,
    /// Any broker's.
    Broker,
    /// Any client's.
    Client,
}

/// A wall clock jumps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockJump {
    /// Whose it may be.
    #[serde(default)]
    pub target: ClockTarget,
    /// How likely, per target and tick.
    pub rate: Probability,
    /// The time from one tick to the next.
    #[schemars(with = "Tick")]
    pub every_ms: u64,
    /// How far it is off afterwards, ahead or behind.
    #[schemars(with = "SpreadMillis")]
    pub off_by_ms: Spread,
}
