//! Checks that the parts of a scenario go together: names that must exist, counts that must fit.

use std::collections::BTreeMap;

use eosim_types::Capability;
use eosim_types::Names;
use serde_json::Value;

use crate::check::quoted_key;
use crate::error::InputError;
use crate::plan::{
    AbortTransaction, Expectation, FAULTS, OperatorStep, Plan, Requirement, STUCK, TopicPlan,
    split_partition,
};

mod aimed;
mod client;
mod ticks;

type Checked = Result<(), InputError>;

pub(crate) use ticks::check as check_ticks;

/// A plan under check.
struct Cross<'a> {
    file: &'a str,
    plan: &'a Plan,
}

/// Checks `plan`, made from `file`.
///
/// # Errors
/// The first thing that does not fit.
pub(crate) fn check(file: &str, plan: &Plan) -> Checked {
    let cross = Cross { file, plan };
    cross.cluster()?;
    cross.network()?;
    cross.somebody_writes()?;
    cross.clients()?;
    cross.place()?;
    cross.kafka()?;
    cross.transaction_version()?;
    for (index, step) in plan.operator.iter().enumerate() {
        cross.operator(&format!("operator[{index}]"), step)?;
    }
    cross.faults()?;
    for (index, aimed) in plan.aimed.iter().enumerate() {
        cross.aimed(&format!("aimed[{index}]"), aimed)?;
    }
    cross.requires()
}

/// Checks that the invariants that `plan` expects to break exist.
pub(crate) fn check_invariants(file: &str, plan: &Plan, known: &[&str]) -> Checked {
    let Expectation::Violation(names) = &plan.expect else { return Ok(()) };
    let is_known = |name: &str| name == STUCK || known.contains(&name);
    let unknown = names.iter().enumerate().find(|(_, name)| !is_known(name));
    let Some((index, name)) = unknown else { return Ok(()) };
    let path = format!("expect.violation[{index}]");
    let error = InputError::new(file, path, quoted(name), "the name of a known invariant");
    Err(error.with_nearest(name, known.iter().copied()))
}

/// Checks that no draw puts the least latency above the greatest.
pub(crate) fn check_latencies(file: &str, scenario: &Value) -> Checked {
    let drawn = |key: &str| {
        let value = scenario.pointer(&format!("/network/{key}"));
        value.map_or_else(Vec::new, numbers)
    };
    let (least, greatest) = (drawn("latency_min_us"), drawn("latency_max_us"));
    match (least.iter().max(), greatest.iter().min()) {
        (Some(least), Some(greatest)) if least > greatest => {
            let is_drawn = drawn("latency_min_us").len() + drawn("latency_max_us").len() > 2;
            let when = if is_drawn { " at some seeds" } else { "" };
            let found = format!("{least} above {greatest}{when}");
            let expected = "\"latency_min_us\" not above \"latency_max_us\"";
            Err(InputError::new(file, "network", found, expected))
        }
        _ => Ok(()),
    }
}

/// The numbers that a value may be drawn from, or the ends of their range.
fn numbers(value: &Value) -> Vec<u64> {
    match value {
        Value::Number(number) => number.as_u64().into_iter().collect(),
        Value::Array(all) => all.iter().flat_map(numbers).collect(),
        Value::Object(draw) => draw.values().flat_map(numbers).collect(),
        _ => Vec::new(),
    }
}

fn quoted(text: &str) -> String {
    crate::check::found(&serde_json::Value::from(text))
}

impl Cross<'_> {
    fn refuse<T>(
        &self,
        path: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Result<T, InputError> {
        Err(InputError::new(self.file, path, found, expected))
    }

    /// Where nobody writes nothing is judged, and nothing may be called sound.
    fn somebody_writes(&self) -> Checked {
        let Plan { producers, transformers, group_consumers, .. } = self.plan;
        if !(producers.is_empty() && transformers.is_empty() && group_consumers.is_empty()) {
            return Ok(());
        }
        let expected = "a producer, a transformer or a member of a group: else nothing is judged";
        self.refuse("producers", "none", expected)
    }

    fn cluster(&self) -> Checked {
        for (name, topic) in &self.plan.cluster.topics {
            let path = format!("cluster.topics.{}", quoted_key(name));
            if !crate::plan::is_topic(name) {
                return self.refuse(path, quoted(name), "a topic name that Kafka allows users");
            }
            self.topic(&path, topic)?;
        }
        Ok(())
    }

    fn topic(&self, path: &str, topic: &TopicPlan) -> Checked {
        let brokers = self.plan.cluster.brokers;
        let listed = topic.replicas.len();
        if listed > 0 && topic.partitions != 1 && topic.partitions as usize != listed {
            let expected = format!("{listed}, as \"replicas\" has, or no \"partitions\"");
            return self.refuse(
                format!("{path}.partitions"),
                topic.partitions.to_string(),
                expected,
            );
        }
        if listed == 0 && topic.replication_factor > brokers {
            let path = format!("{path}.replication_factor");
            let expected = format!("at most {brokers}, the number of brokers");
            return self.refuse(path, topic.replication_factor.to_string(), expected);
        }
        self.replicas(path, topic)?;
        self.min_insync_replicas(path, topic)
    }

    fn replicas(&self, path: &str, topic: &TopicPlan) -> Checked {
        for (index, replicas) in topic.replicas.iter().enumerate() {
            self.brokers(&format!("{path}.replicas[{index}]"), replicas)?;
        }
        Ok(())
    }

    /// Brokers that exist, each once.
    fn brokers(&self, path: &str, brokers: &[u32]) -> Checked {
        for (place, broker) in brokers.iter().enumerate() {
            let expected = format!("different brokers from 1 to {}", self.plan.cluster.brokers);
            if *broker > self.plan.cluster.brokers || brokers[..place].contains(broker) {
                return self.refuse(format!("{path}[{place}]"), broker.to_string(), expected);
            }
        }
        Ok(())
    }

    fn operator(&self, path: &str, step: &OperatorStep) -> Checked {
        let name = match step {
            OperatorStep::WaitUntilMs(_) | OperatorStep::UpdateFeatures(_) => return Ok(()),
            OperatorStep::ElectLeader(_) => "elect_leader",
            OperatorStep::DeleteRecords(_) => "delete_records",
            OperatorStep::AbortHanging(_) => "abort_hanging",
            OperatorStep::AbortTransaction(step) => {
                self.aborted(&format!("{path}.abort_transaction"), step)?;
                "abort_transaction"
            }
            OperatorStep::Reassign(step) => {
                self.brokers(&format!("{path}.reassign.replicas"), &step.replicas)?;
                "reassign"
            }
        };
        let partition = step.partition().unwrap_or_default();
        let path = format!("{path}.{name}.partition");
        let moves = matches!(step, OperatorStep::ElectLeader(_) | OperatorStep::Reassign(_));
        let internal = self.internal_partitions(partition).filter(|_| moves);
        internal.map_or_else(
            || self.known_partition(&path, partition),
            |count| self.partition_of(&path, partition, count),
        )
    }

    /// How many partitions the internal topic of `name` has, if it is one's.
    fn internal_partitions(&self, name: &str) -> Option<u32> {
        let cluster = &self.plan.cluster;
        match split_partition(name)?.0 {
            "__transaction_state" => Some(cluster.transaction_state.partitions),
            "__consumer_offsets" => Some(cluster.consumer_offsets.partitions),
            _ => None,
        }
    }

    fn partition_of(&self, path: &str, name: &str, count: u32) -> Checked {
        let (topic, partition) = split_partition(name).expect("checked against the schema");
        if partition < count {
            return Ok(());
        }
        let expected = format!("a partition of {topic} from 0 to {}", count - 1);
        self.refuse(path, quoted(name), expected)
    }

    fn aborted(&self, path: &str, step: &AbortTransaction) -> Checked {
        let found = match (step.start_offset, step.producer) {
            (Some(_), None) | (None, Some(_)) => return Ok(()),
            (Some(_), Some(_)) => "both",
            (None, None) => "neither",
        };
        self.refuse(path, found, "exactly one of \"start_offset\" and \"producer\"")
    }

    fn min_insync_replicas(&self, path: &str, topic: &TopicPlan) -> Checked {
        let fewest = topic.assignment(self.plan.cluster.brokers).iter().map(Vec::len).min();
        let (Some(min), Some(fewest)) = (topic.settings.min_insync_replicas, fewest) else {
            return Ok(());
        };
        if i32::try_from(fewest).is_ok_and(|fewest| min <= fewest) {
            return Ok(());
        }
        let path = format!("{path}.settings.\"min.insync.replicas\"");
        self.refuse(path, min.to_string(), format!("at most {fewest}, the number of replicas"))
    }

    fn network(&self) -> Checked {
        let network = self.plan.network;
        if network.latency_min_us <= network.latency_max_us {
            return Ok(());
        }
        let found = format!("{} above {}", network.latency_min_us, network.latency_max_us);
        self.refuse("network", found, "\"latency_min_us\" not above \"latency_max_us\"")
    }

    /// Placed transactional ids exist, their brokers exist, and no partition has two coordinators.
    fn place(&self) -> Checked {
        let cluster = &self.plan.cluster;
        let mut taken: BTreeMap<i32, (&str, u32)> = BTreeMap::new();
        let partitions = i32::try_from(cluster.transaction_state.partitions).unwrap_or(1);
        for (id, &broker) in &cluster.place {
            let path = format!("cluster.place.{}", quoted_key(id));
            self.known_transactional_id("cluster.place", id)?;
            if broker > cluster.brokers {
                let expected = format!("a broker from 1 to {}", cluster.brokers);
                return self.refuse(path, broker.to_string(), expected);
            }
            let partition = Names::hash_partition(id, partitions);
            let (other, first) = *taken.entry(partition).or_insert((id, broker));
            if first != broker {
                let expected = format!("{first}: {other} shares its coordinator's partition");
                return self.refuse(path, broker.to_string(), expected);
            }
        }
        Ok(())
    }

    /// Kafka 3.9 has no feature `transaction.version`, which is level 0.
    fn transaction_version(&self) -> Checked {
        let mut versions = self.plan.cluster.versions(self.plan.kafka);
        let is_known = versions.all(|(_, kafka)| kafka.has(Capability::EpochPerTransaction));
        if is_known || self.plan.transaction_version == 0 {
            return Ok(());
        }
        let found = self.plan.transaction_version.to_string();
        self.refuse("transaction_version", found, "0, all that Kafka 3.9 knows")
    }

    /// Versions are given to brokers that exist.
    fn kafka(&self) -> Checked {
        let brokers = || (1..=self.plan.cluster.brokers).map(|broker| format!("broker-{broker}"));
        let mut named = self.plan.cluster.kafka.keys();
        let Some(unknown) = named.find(|name| !brokers().any(|broker| broker == **name)) else {
            return Ok(());
        };
        let known: Vec<String> = brokers().collect();
        let error = InputError::new(self.file, "cluster.kafka", quoted(unknown), "a broker");
        Err(error.with_nearest(unknown, known.iter().map(String::as_str)))
    }

    fn known_transactional_id(&self, path: &str, id: &str) -> Checked {
        let known: Vec<String> = self.plan.transactional_ids().collect();
        if known.iter().any(|known| known == id) {
            return Ok(());
        }
        let error =
            InputError::new(self.file, path, quoted(id), "a transactional id of the scenario");
        Err(error.with_nearest(id, known.iter().map(String::as_str)))
    }

    fn known_partition(&self, path: impl Into<String>, name: &str) -> Checked {
        let topics = &self.plan.cluster.topics;
        let (topic, _) = split_partition(name).expect("checked against the schema");
        if let Some(known) = topics.get(topic) {
            return self.partition_of(&path.into(), name, known.partition_count());
        }
        let found = format!("the unknown topic \"{topic}\"");
        let error = InputError::new(self.file, path, found, "a topic of \"cluster.topics\"");
        Err(error.with_nearest(topic, topics.keys().map(String::as_str)))
    }

    fn faults(&self) -> Checked {
        let faults = &self.plan.faults;
        if !faults.is_quiet() && faults.until_ms <= faults.start_ms {
            let expected = format!("more than {}, when the faults begin", faults.start_ms);
            return self.refuse("faults.until_ms", faults.until_ms.to_string(), expected);
        }
        if faults.zombie.is_some() && !self.plan.has_possible_zombie() {
            let found =
                "no transformer and no producer with a \"transactional_id\" and without a store";
            return self.refuse("faults.zombie", found, "at least one");
        }
        Ok(())
    }

    fn known_actor(&self, path: &str, name: &str) -> Checked {
        let actors = self.plan.actors();
        if actors.iter().any(|known| known == name) {
            return Ok(());
        }
        let error = InputError::new(self.file, path, quoted(name), "the name of an actor");
        Err(error.with_nearest(name, actors.iter().map(String::as_str)))
    }

    fn requires(&self) -> Checked {
        let aims = !self.plan.aimed.is_empty();
        let has = |name: &str| self.plan.faults.has(name) || (name == "aimed" && aims);
        let faults = self.plan.requires.iter().enumerate().filter_map(|(index, required)| {
            if let Requirement::Fault(name) = required { Some((index, name)) } else { None }
        });
        let Some((index, name)) = faults.into_iter().find(|(_, name)| !has(name)) else {
            return Ok(());
        };
        let expected: Vec<&str> = FAULTS.iter().copied().filter(|name| has(name)).collect();
        let expected = format!("a fault of the scenario ({})", expected.join(", "));
        self.refuse(format!("requires[{index}]"), quoted(name), expected)
    }
}
