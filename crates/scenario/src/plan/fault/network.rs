//! Faults of the network as a whole.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Tick;
use crate::Spread;
use crate::number::{Probability, SpreadMillis};

/// Whose link to others is struck.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkTarget {
    /// Anybody.
    #[default]
    Any,
    /// Any broker.
    Broker,
    /// The controller.
    Controller,
    /// Any client.
    Client,
}

/// To whom it is struck.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkPeers {
    /// One of the following, drawn each time.
    #[default]
    Any,
    /// One of the others, drawn each time.
    One,
    /// All brokers and the controller.
    Nodes,
    /// All clients.
    Clients,
    /// All others.
    All,
}

/// The network between somebody and others is cut for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Partition {
    /// Whom it may cut off.
    #[serde(default)]
    pub target: LinkTarget,
    /// From whom.
    #[serde(default)]
    pub peers: LinkPeers,
    /// How likely, per target and tick.
    pub rate: Probability,
    /// The time from one tick to the next.
    #[schemars(with = "Tick")]
    pub every_ms: u64,
    /// How likely it lets messages pass one way, in place of none.
    #[serde(default, skip_serializing_if = "Probability::is_zero")]
    pub one_way: Probability,
    /// How long it lasts.
    #[schemars(with = "SpreadMillis")]
    pub lasts_ms: Spread,
}

/// What travels between somebody and others takes longer for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlowLink {
    /// Whose link it may be.
    #[serde(default)]
    pub target: LinkTarget,
    /// To whom.
    #[serde(default)]
    pub peers: LinkPeers,
    /// How likely, per target and tick.
    pub rate: Probability,
    /// The time from one tick to the next.
    #[schemars(with = "Tick")]
    pub every_ms: u64,
    /// How much longer each message takes.
    #[schemars(with = "SpreadMillis")]
    pub slower_ms: Spread,
    /// How long that lasts.
    #[schemars(with = "SpreadMillis")]
    pub lasts_ms: Spread,
}

/// Part of the network is cut for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// How likely, per node whom it concerns and tick.
    pub rate: Probability,
    /// The time from one tick to the next.
    #[schemars(with = "Tick")]
    pub every_ms: u64,
    /// How long it lasts.
    #[schemars(with = "SpreadMillis")]
    pub lasts_ms: Spread,
}

/// A broker hears late of the cluster's metadata.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StaleMetadata {
    /// How likely, per answer to its poll.
    pub rate: Probability,
    /// How much later it comes.
    #[schemars(with = "SpreadMillis")]
    pub delay_ms: Spread,
}
