//! Faults that strike at random, each with its parameters.

mod disk;
mod network;
mod operation;
mod process;

pub use disk::{DiskError, LoadError};
pub use network::{LinkPeers, LinkTarget, Outage, Partition, SlowLink, StaleMetadata};
pub use operation::{LeaderElection, Operation};
pub use process::{ClockJump, ClockTarget, RestartLoop, SlowActor};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::intensity::{Intensity, TABLE as INTENSITIES};
use crate::Spread;
use crate::number::{Millis, Period, Probability, SpreadMillis};

/// Schema of a time between two ticks.
pub(super) type Tick = Period;

macro_rules! faults {
    ($($(#[doc = $doc:literal])* $name:ident: $kind:ident as $schema:literal,)+) => {
        /// The names of the faults, as in a scenario and in the counts of a sweep.
        pub const FAULTS: &[&str] = &[$(stringify!($name)),+];

        /// Faults that strike at random from `start_ms` on; at `until_ms` everything heals.
        #[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct Faults {
            /// When the faults begin.
            #[schemars(with = "Millis")]
            pub start_ms: u64,
            /// When the faults are over.
            #[schemars(with = "Millis")]
            pub until_ms: u64,
            /// Each seed turns a subset of the faults on, in place of all.
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            pub swarm: bool,
            /// Each seed turns some of the faults that are not named here on, and draws how often
            /// they strike.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Intensity")]
            pub intensity: Option<Intensity>,
            $(
                $(#[doc = $doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                #[schemars(with = $schema)]
                pub $name: Option<$kind>,
            )+
        }

        impl Faults {
            /// Is the fault called `name` on, or may a seed turn it on?
            #[must_use]
            pub fn has(&self, name: &str) -> bool {
                if self.intensity.is_some() && INTENSITIES.iter().any(|line| line.fault == name) {
                    return true;
                }
                match name {
                    $(stringify!($name) => self.$name.is_some(),)+
                    _ => false,
                }
            }
        }
    };
}

faults! {
    /// A request takes effect, its response is lost and the connection breaks; how likely, per
    /// response.
    lost_response: Probability as "Probability",
    /// A request is lost.
    lost_request: LostRequest as "LostRequest",
    /// The connection breaks, the client goes on, and the first copy is processed afterwards.
    late_request: LateRequest as "LateRequest",
    /// A connection breaks.
    connection_reset: ConnectionReset as "ConnectionReset",
    /// A process, by default a broker's, dies and is started again.
    crash: Crash as "Crash",
    /// A process stands still while time goes on.
    gc_pause: GcPause as "GcPause",
    /// Somebody with a transactional id stands still, and a successor takes it over.
    zombie: Zombie as "Zombie",
    /// The network between somebody and others is cut for a while, one way or both: nothing passes,
    /// and nobody is told; afterwards TCP sends again what was caught.
    partition: Partition as "Partition",
    /// What travels between somebody and others takes longer for a while.
    slow_link: SlowLink as "SlowLink",
    /// A process stalls again and again for a while, so that each of its events is withheld for some
    /// time.
    slow_actor: SlowActor as "SlowActor",
    /// A process dies and is started again several times in a row.
    restart_loop: RestartLoop as "RestartLoop",
    /// A wall clock is off by another amount from one moment to the next; timers are not concerned.
    clock_jump: ClockJump as "ClockJump",
    /// Nobody reaches the controller for a while, and it reaches nobody.
    controller_away: Outage as "Outage",
    /// A broker and the other brokers do not reach each other for a while, so that followers fall
    /// behind; everybody else reaches both.
    replication_stall: Outage as "Outage",
    /// A broker hears late of the cluster's metadata; how likely, per answer to its poll.
    stale_metadata: StaleMetadata as "StaleMetadata",
    /// An append fails, before anything is written or after: KAFKA_STORAGE_ERROR, and the broker
    /// halts.
    disk_error: DiskError as "DiskError",
    /// A transaction coordinator cannot read a partition that it loads to its end.
    load_error: LoadError as "LoadError",
    /// The operator moves a partition, of Kafka's own topics too, to other brokers, more or fewer.
    reassignment: Operation as "Operation",
    /// The operator has a leader elected, the preferred one or, if need be, one that is not in sync.
    leader_election: LeaderElection as "LeaderElection",
    /// A broker runs now what it does from time to time: retention, compaction, expiry, checkpoints.
    housekeeping: Operation as "Operation",
    /// The operator lowers `transaction.version` from 2 to 1, and raises it to 2 again.
    feature_change: Operation as "Operation",
    /// A request is delivered twice, which TCP makes impossible: what breaks is not Kafka's fault.
    impossible_duplicate: LateRequest as "LateRequest",
    /// A request is overtaken on its connection, which TCP makes impossible: what breaks is not
    /// Kafka's fault.
    impossible_reorder: LateRequest as "LateRequest",
}

impl Faults {
    /// Nothing is said about faults, not even when their phase ends.
    pub(crate) fn is_unset(&self) -> bool {
        *self == Self::default()
    }

    /// Some requests may be handled long after their sender gave them up.
    #[must_use]
    pub fn make_requests_late(&self) -> bool {
        ["late_request", "partition", "slow_link", "impossible_duplicate", "impossible_reorder"]
            .iter()
            .any(|name| self.has(name))
    }

    /// No fault is on.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        FAULTS.iter().all(|name| !self.has(name))
    }
}

/// A request is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LostRequest {
    /// How likely, per request.
    pub rate: Probability,
    /// The connection goes dead in place of breaking: who waits must give up by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
}

/// A request, or a copy of it, arrives later than what is sent after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LateRequest {
    /// How likely, per request.
    pub rate: Probability,
    /// How much later it arrives.
    #[schemars(with = "SpreadMillis")]
    pub delay_ms: Spread,
}

/// A connection breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionReset {
    /// How likely, per request.
    pub rate: Probability,
    /// How long after the request.
    #[schemars(with = "SpreadMillis")]
    pub after_ms: Spread,
}

/// A process, by default a broker's, dies and is started again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Crash {
    /// Whom it may strike.
    #[serde(default)]
    pub target: CrashTarget,
    /// How likely, per target and tick.
    pub rate: Probability,
    /// The time from one tick to the next.
    #[schemars(with = "Tick")]
    pub every_ms: u64,
    /// How likely it is a loss of power, in which what was not flushed is lost, in place of a
    /// SIGKILL.
    #[serde(default, skip_serializing_if = "Probability::is_zero")]
    pub power_loss: Probability,
    /// How long the process stays dead.
    #[schemars(with = "SpreadMillis")]
    pub down_ms: Spread,
}

/// Whom a crash may strike.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CrashTarget {
    /// Any broker.
    #[default]
    Broker,
    /// Any producer.
    Producer,
    /// A broker that is the preferred leader of a partition of a topic of the scenario.
    Leader,
    /// A broker that is the first coordinator of a transactional id of the scenario.
    Coordinator,
    /// Any transformer: its next life goes on from committed offsets.
    Transformer,
    /// Any consumer in a group, likewise.
    GroupConsumer,
    /// Any broker, transformer or consumer in a group.
    Any,
}

/// A process stands still while time goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GcPause {
    /// Whom it may strike.
    #[serde(default)]
    pub target: PauseTarget,
    /// How likely, per target and tick.
    pub rate: Probability,
    /// The time from one tick to the next.
    #[schemars(with = "Tick")]
    pub every_ms: u64,
    /// How long it lasts.
    #[schemars(with = "SpreadMillis")]
    pub pause_ms: Spread,
}

/// Whom a pause may strike.
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
    /// Any client that is not a producer alone.
    Consumer,
    /// Any transformer.
    Transformer,
}

/// A transactional producer or a transformer stands still, once, and a successor with its
/// transactional id and workload begins meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Zombie {
    /// How likely, per transactional producer and transformer.
    pub rate: Probability,
    /// When it falls silent, after it began.
    #[schemars(with = "SpreadMillis")]
    pub after_ms: Spread,
    /// How long it stands still.
    #[schemars(with = "SpreadMillis")]
    pub pause_ms: Spread,
    /// When the successor begins, after the producer fell silent.
    #[schemars(with = "SpreadMillis")]
    pub successor_after_ms: Spread,
}
