//! Faults that strike at random, each with its parameters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spread;
use crate::number::{Millis, Probability, SpreadMillis};

/// The names of the faults, as in a scenario and in the counts of a sweep.
pub const FAULTS: &[&str] = &["lost_response", "late_request", "crash", "gc_pause", "zombie"];

/// Faults that strike at random until `until_ms`; then everything heals.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// When the faults are over.
    #[schemars(with = "Millis")]
    pub until_ms: u64,
    /// Each seed turns a subset of the faults on, in place of all.
    #[serde(skip_serializing_if = "is_false")]
    pub swarm: bool,
    /// The answer is lost and the connection breaks; the request took effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LostResponse")]
    pub lost_response: Option<LostResponse>,
    /// The client gives up and goes on; the first copy is processed afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LateRequest")]
    pub late_request: Option<LateRequest>,
    /// A broker's process dies and is started again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Crash")]
    pub crash: Option<Crash>,
    /// A process stands still while time goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "GcPause")]
    pub gc_pause: Option<GcPause>,
    /// A transactional producer stands still, and a successor takes its transactional id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Zombie")]
    pub zombie: Option<Zombie>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Faults {
    /// No fault is named.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        FAULTS.iter().all(|name| !self.has(name))
    }

    /// Is the fault called `name` on?
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        match name {
            "lost_response" => self.lost_response.is_some(),
            "late_request" => self.late_request.is_some(),
            "crash" => self.crash.is_some(),
            "gc_pause" => self.gc_pause.is_some(),
            "zombie" => self.zombie.is_some(),
            _ => false,
        }
    }
}

/// The answer is lost and the connection breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LostResponse {
    /// How likely, per response.
    pub rate: Probability,
}

/// The first copy of a request is processed after the client gave up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LateRequest {
    /// How likely, per request of a client or marker of a coordinator.
    pub rate: Probability,
    /// How much later it arrives.
    #[schemars(with = "SpreadMillis")]
    pub delay_ms: Spread,
}

/// A broker's process dies and is started again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Crash {
    /// Whom it strikes.
    #[serde(default)]
    pub target: CrashTarget,
    /// How it dies.
    #[serde(default)]
    pub kind: CrashKind,
    /// The time from one crash to the next.
    #[schemars(with = "SpreadMillis")]
    pub interval_ms: Spread,
    /// How long the broker is away.
    #[schemars(with = "SpreadMillis")]
    pub down_ms: Spread,
}

/// Whom a crash strikes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CrashTarget {
    /// Any broker.
    #[default]
    Broker,
    /// A broker that leads a partition of a topic of the scenario.
    Leader,
    /// A broker that leads a partition of `__transaction_state`.
    Coordinator,
}

/// How a process dies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CrashKind {
    /// The process alone (SIGKILL): what it wrote survives.
    #[default]
    Process,
    /// The machine: only what was flushed survives.
    PowerLoss,
    /// In good order (SIGTERM).
    CleanStop,
}

/// A process stands still while time goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GcPause {
    /// Whom it strikes.
    #[serde(default)]
    pub target: PauseTarget,
    /// The time from one pause to the next.
    #[schemars(with = "SpreadMillis")]
    pub interval_ms: Spread,
    /// How long it lasts.
    #[schemars(with = "SpreadMillis")]
    pub pause_ms: Spread,
}

/// Whom a pause strikes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PauseTarget {
    /// Any broker or client.
    #[default]
    Any,
    /// Any broker.
    Broker,
    /// Any producer.
    Producer,
    /// Any consumer.
    Consumer,
}

/// A transactional producer stands still, and a successor takes its transactional id.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Zombie {
    /// The time from one zombie to the next.
    #[schemars(with = "SpreadMillis")]
    pub interval_ms: Spread,
    /// How long the first producer stands still.
    #[schemars(with = "SpreadMillis")]
    pub pause_ms: Spread,
    /// When the successor begins, after the first producer fell silent.
    #[schemars(with = "SpreadMillis")]
    pub successor_after_ms: Spread,
}
