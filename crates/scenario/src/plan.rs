//! A resolved scenario: every value plain, nothing left to the seed but what the world draws while
//! it runs. It is printed by `--print-plan` and stored as `plan.json`.
//!
//! Invariants: a plan is a valid scenario file; all names in it refer to something in it.

use eosim_types::version::{KafkaVersion, TransactionVersion};
use eosim_types::{CapabilitySet, Defect, DefectSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::{KafkaVersionName, Millis, Ranged};

mod aimed;
mod client;
mod cluster;
mod fault;
mod group_consumer;
mod intensity;
mod names;
mod operator;
mod requirement;
mod transformer;

pub use aimed::{Action, Aimed, CrashAction, CrashKind, Moment, PauseAction, StopAction, When};
pub use client::{
    Consumer, Producer, ProducerInstance, RandomWorkload, RawProduce, Send, Step, TwoPhaseWorkload,
    Workload,
};
pub use cluster::{Cluster, InternalTopic, Network, TopicPlan, Upgrade};
pub use fault::{
    ClockJump, ClockTarget, ConnectionReset, Crash, CrashTarget, DiskError, FAULTS, Faults,
    GcPause, LateRequest, LeaderElection, LinkPeers, LinkTarget, LoadError, LostRequest, Operation,
    Outage, Partition, PauseTarget, RestartLoop, SlowActor, SlowLink, StaleMetadata, Zombie,
};
pub use group_consumer::{CommitMode, GroupConsumer, GroupConsumerInstance};
pub use intensity::Intensity;
pub(crate) use intensity::{Line, TABLE as INTENSITIES};
pub use names::{
    ActorName, ApiName, BooleanDrawn, DefectName, ErrorName, GroupName, PartitionDrawn,
    PartitionName, RequiredName, RuleId, StateLabel, TicketName, split_partition,
};
pub(crate) use names::{is_name, is_topic};
pub use operator::{
    AbortHanging, AbortTransaction, DeleteRecords, ElectLeader, MarkedProducer, OperatorStep,
    Reassign, UpdateFeatures,
};
pub use requirement::{Reached, Requirement};
pub use transformer::{Mistake, Transformer, TransformerInstance};

/// A scenario: topology, configuration, workload, faults, limits, expectation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of this format: 1.
    #[schemars(range(min = 1, max = 1))]
    pub format: u32,
    /// The scenario's name: that of its file.
    #[schemars(length(min = 1, max = 100), extend("format" = "name"))]
    pub name: String,
    /// What happens, in a few sentences.
    #[schemars(length(min = 1, max = 4000))]
    pub about: String,
    /// What a reader should see in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub shows: Vec<String>,
    /// Words to choose scenarios by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub tags: Vec<String>,
    /// The protocol rules that it exercises.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<RuleId>", length(max = 256))]
    pub rules: Vec<String>,
    /// The defects that it aims at: with one of them switched on, a sweep of it should break.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<DefectName>", length(max = 256))]
    pub defects: Vec<String>,
    /// Defects and upstream findings that are switched on in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<DefectName>", length(max = 256))]
    pub switched_on: Vec<String>,
    /// The Kafka version of the cluster.
    #[serde(default)]
    #[schemars(with = "KafkaVersionName")]
    pub kafka: KafkaVersion,
    /// Tickets of later releases whose changes all nodes have besides those of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<TicketName>", length(max = 32))]
    pub backports: Vec<String>,
    /// The finalized level of `transaction.version`, which clients follow unless told otherwise.
    #[serde(default = "transaction_version_2")]
    #[schemars(with = "Ranged<0, 2>")]
    pub transaction_version: u8,
    /// Brokers and topics.
    pub cluster: Cluster,
    /// Latencies.
    #[serde(default)]
    pub network: Network,
    /// Producers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub producers: Vec<Producer>,
    /// Consumers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub consumers: Vec<Consumer>,
    /// Members of groups that read and commit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub group_consumers: Vec<GroupConsumer>,
    /// Members of groups that consume, transform and produce.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub transformers: Vec<Transformer>,
    /// What an operator does by hand meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub operator: Vec<OperatorStep>,
    /// Faults that strike at random.
    #[serde(default, skip_serializing_if = "Faults::is_unset")]
    pub faults: Faults,
    /// Faults that strike at a named moment, before `faults.until_ms` if that is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub aimed: Vec<Aimed>,
    /// When a run is given up.
    #[serde(default)]
    pub limits: Limits,
    /// What must come out.
    #[serde(default)]
    pub expect: Expectation,
    /// What must have happened in at least one run of a sweep: a fault had an effect (`aimed`:
    /// every rule of `aimed`), or a rule, a state or a cell of the protocol was reached. A run in
    /// which one of them is missing is vacuous.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub requires: Vec<Requirement>,
}

fn transaction_version_2() -> u8 {
    2
}

/// The feature level `level` as a type.
#[must_use]
pub fn version_of(level: u8) -> TransactionVersion {
    match level {
        0 => TransactionVersion::Tv0,
        1 => TransactionVersion::Tv1,
        _ => TransactionVersion::Tv2,
    }
}

impl Plan {
    /// The finalized level of the feature `transaction.version`.
    #[must_use]
    pub fn transaction_version(&self) -> TransactionVersion {
        version_of(self.transaction_version)
    }

    /// The switches that the scenario itself turns on.
    #[must_use]
    pub fn switched_on(&self) -> DefectSet {
        let known = self.switched_on.iter().filter_map(|name| Defect::from_name(name));
        known.fold(DefectSet::NONE, DefectSet::with)
    }

    /// What all nodes have besides what their releases have.
    #[must_use]
    pub fn backports(&self) -> CapabilitySet {
        let sets = self.backports.iter().map(|ticket| CapabilitySet::of_ticket(ticket));
        sets.fold(CapabilitySet::NONE, CapabilitySet::union)
    }

    /// Is there anybody whose place a successor may take?
    #[must_use]
    pub fn has_possible_zombie(&self) -> bool {
        !self.transformers.is_empty() || self.producers.iter().any(Producer::may_become_zombie)
    }

    /// The names of all actors, in the order of their numbers: the controller, the brokers from 1
    /// on, the producers, the consumers, those in groups, the transformers, the operator if there is one.
    #[must_use]
    pub fn actors(&self) -> Vec<String> {
        let brokers = (1..=self.cluster.brokers).map(|broker| format!("broker-{broker}"));
        let producers = self.producers.iter().flat_map(Producer::instances).map(|p| p.name);
        let consumers = self.consumers.iter().map(|consumer| consumer.name.clone());
        let members = self
            .group_consumers
            .iter()
            .flat_map(GroupConsumer::instances)
            .map(|member| member.name);
        let transformers =
            self.transformers.iter().flat_map(Transformer::instances).map(|member| member.name);
        let controller = std::iter::once("controller".to_string());
        let operator = (!self.operator.is_empty()).then(|| "operator".to_string());
        let clients = producers.chain(consumers).chain(members).chain(transformers);
        controller.chain(brokers).chain(clients).chain(operator).collect()
    }

    /// Every transactional id, producers' first.
    pub fn transactional_ids(&self) -> impl Iterator<Item = String> + '_ {
        let producers = self.producers.iter().flat_map(Producer::instances);
        let members = self.transformers.iter().flat_map(Transformer::instances);
        let ids = producers.filter_map(|producer| producer.transactional_id);
        ids.chain(members.map(|member| member.transactional_id))
    }

    /// Every group.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        let members = self.group_consumers.iter().map(|member| member.group.as_str());
        members.chain(self.transformers.iter().map(|member| member.group.as_str()))
    }

    /// The plan as it is printed and stored: JSON, two spaces, a line feed at the end.
    ///
    /// # Panics
    /// Never: every key of a plan is a string.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a plan is plain JSON");
        text.push('\n');
        text
    }
}

/// When a run is given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Virtual time of a run at most.
    #[schemars(with = "Millis")]
    pub virtual_time_max_ms: u64,
    /// Steps of a run at most.
    #[schemars(with = "Ranged<1, 1_000_000_000>")]
    pub steps_max: u64,
    /// How long after the faults are over everything must have recovered.
    #[schemars(with = "Millis")]
    pub recovery_max_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { virtual_time_max_ms: 600_000, steps_max: 1_000_000, recovery_max_ms: 180_000 }
    }
}

/// In an expected violation: the run gets stuck.
pub const STUCK: &str = "stuck";

/// What must come out.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Expectation {
    /// Nothing is broken in any run.
    #[default]
    Sound,
    /// One of these invariants is broken in at least one run of a sweep, and no other in any;
    /// `stuck` stands for a run that comes to no end.
    Violation(#[schemars(length(min = 1, max = 64))] Vec<String>),
}
