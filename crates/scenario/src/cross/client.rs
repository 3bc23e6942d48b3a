//! Checks of producers and consumers.

use std::collections::{BTreeMap, BTreeSet};

use eosim_types::Capability;
use eosim_types::config::{BrokerConfig, ConsumerConfig, GroupProtocol};

use super::{Checked, Cross, quoted};
use crate::error::InputError;
use crate::plan::{Consumer, GroupConsumer, Producer, Step, Transformer, Workload};

/// The most clients that a scenario may have.
const CLIENTS_MAX: usize = 200;

impl Cross<'_> {
    pub(super) fn clients(&self) -> Checked {
        self.unique_names()?;
        self.unique_values()?;
        for (index, producer) in self.plan.producers.iter().enumerate() {
            self.producer(&format!("producers[{index}]"), producer)?;
        }
        for (index, consumer) in self.plan.consumers.iter().enumerate() {
            self.consumer(&format!("consumers[{index}]"), consumer)?;
        }
        for (index, member) in self.plan.group_consumers.iter().enumerate() {
            self.group_consumer(&format!("group_consumers[{index}]"), member)?;
        }
        for (index, transformer) in self.plan.transformers.iter().enumerate() {
            self.transformer(&format!("transformers[{index}]"), transformer)?;
        }
        Ok(())
    }

    fn unique_names(&self) -> Checked {
        let mut names = BTreeSet::from(["controller", "operator"].map(String::from));
        let brokers = 1..=self.plan.cluster.brokers;
        names.extend(brokers.map(|broker| format!("broker-{broker}")));
        let most = names.len() + CLIENTS_MAX;
        let producers = self.plan.producers.iter().enumerate();
        let producers = producers.flat_map(|(index, producer)| {
            producer.instances().map(move |p| (format!("producers[{index}].name"), p.name))
        });
        let consumers = self.plan.consumers.iter().enumerate();
        let consumers = consumers.map(|(i, c)| (format!("consumers[{i}].name"), c.name.clone()));
        let members = self.plan.group_consumers.iter().enumerate();
        let members = members.flat_map(|(index, member)| {
            let named = member.instances();
            named.map(move |member| (format!("group_consumers[{index}].name"), member.name))
        });
        let transformers = self.plan.transformers.iter().enumerate();
        let transformers = transformers.flat_map(|(index, transformer)| {
            let named = transformer.instances();
            named.map(move |member| (format!("transformers[{index}].name"), member.name))
        });
        for (path, name) in producers.chain(consumers).chain(members).chain(transformers) {
            if names.contains(&name) {
                return self.refuse(path, quoted(&name), "a name that nothing else has");
            }
            names.insert(name);
            if names.len() > most {
                return self.refuse(path, "more clients", format!("at most {CLIENTS_MAX}"));
            }
        }
        Ok(())
    }

    /// The checker tells records of a partition apart by their values: two that are sent with one would
    /// make it blind for what is lost, doubled or reordered. A raw batch may repeat what was sent.
    fn unique_values(&self) -> Checked {
        let mut sent = BTreeMap::new();
        for (index, producer) in self.plan.producers.iter().enumerate() {
            let Workload::Script(steps) = &producer.workload else { continue };
            for (number, step) in steps.iter().enumerate() {
                let Step::Send(send) = step else { continue };
                let place = format!("producers[{index}].workload.script[{number}]");
                if producer.count > 1 {
                    let (path, found) = (format!("producers[{index}].count"), producer.count);
                    let expected =
                        "1 with a script that sends, as each record needs a value of its own";
                    return self.refuse(path, found.to_string(), expected);
                }
                let record = (send.partition.as_str(), send.value.as_str());
                if let Some(first) = sent.insert(record, place.clone()) {
                    let path = format!("{place}.send.value");
                    let expected =
                        format!("a value of its own, as {first} sends this one to the partition");
                    return self.refuse(path, quoted(&send.value), expected);
                }
            }
        }
        Ok(())
    }

    fn producer(&self, path: &str, producer: &Producer) -> Checked {
        self.idempotence(path, producer)?;
        self.two_phase_commit(path, producer)?;
        match &producer.workload {
            Workload::Random(random) => {
                let path = format!("{path}.workload.random.partitions");
                self.partitions(&path, &random.partitions)
            }
            Workload::TwoPhase(two_phase) => {
                let path = format!("{path}.workload.two_phase");
                if producer.transactional_id.is_none() {
                    let expected = "a producer with a \"transactional_id\"";
                    return self.refuse(path, "a two-phase commit", expected);
                }
                self.partitions(&(path + ".batches.partitions"), &two_phase.batches.partitions)
            }
            Workload::Script(steps) => self.script(path, producer, steps),
        }
    }

    /// What Kafka's `ProducerConfig` refuses.
    fn idempotence(&self, path: &str, producer: &Producer) -> Checked {
        let config = producer.config();
        if !config.enable_idempotence {
            if producer.transactional_id.is_none() {
                return Ok(());
            }
            let path = format!("{path}.settings.\"enable.idempotence\"");
            return self.refuse(path, "false", "true, because there is a \"transactional_id\"");
        }
        let in_flight = config.max_in_flight_requests_per_connection;
        let problem = match (config.acks, in_flight) {
            (-1, ..=5) => return Ok(()),
            (-1, _) => {
                ("max.in.flight.requests.per.connection", in_flight.to_string(), "at most 5")
            }
            (acks, _) => ("acks", acks.to_string(), "-1 (all)"),
        };
        let expected = format!("{} with \"enable.idempotence\"", problem.2);
        let path = format!("{path}.settings.{}", crate::check::quoted_key(problem.0));
        self.refuse(path, problem.1, expected)
    }

    /// No timeout of the brokers' holds for two-phase commit (P-CFG-6).
    fn two_phase_commit(&self, path: &str, producer: &Producer) -> Checked {
        let settings = &producer.settings;
        let is_on = settings.transaction_two_phase_commit_enable == Some(true);
        let kafka = self.plan.kafka;
        if is_on && !kafka.has(Capability::TwoPhaseCommitAtBrokers) {
            let path = format!("{path}.settings.\"transaction.two.phase.commit.enable\"");
            return self.refuse(path, "true", format!("Kafka 4.1 or newer, not {}", kafka.name()));
        }
        match settings.transaction_timeout_ms.filter(|_| is_on) {
            None => Ok(()),
            Some(timeout) => self.refuse(
                format!("{path}.settings.\"transaction.timeout.ms\""),
                timeout.to_string(),
                "none with \"transaction.two.phase.commit.enable\"",
            ),
        }
    }

    fn partitions(&self, path: &str, partitions: &[String]) -> Checked {
        for (index, partition) in partitions.iter().enumerate() {
            self.known_partition(format!("{path}[{index}]"), partition)?;
        }
        Ok(())
    }

    fn script(&self, path: &str, producer: &Producer, steps: &[Step]) -> Checked {
        for (index, step) in steps.iter().enumerate() {
            let path = format!("{path}.workload.script[{index}]");
            match step {
                Step::Send(send) => {
                    self.known_partition(path + ".send.partition", &send.partition)?;
                }
                Step::Init | Step::Begin | Step::Commit | Step::Abort
                    if producer.transactional_id.is_none() =>
                {
                    let found = "a call about transactions";
                    return self.refuse(path, found, "a producer with a \"transactional_id\"");
                }
                Step::RawProduce(raw)
                    if raw.transactional && producer.transactional_id.is_none() =>
                {
                    let expected = "a producer with a \"transactional_id\"";
                    return self.refuse(path + ".raw_produce.transactional", "true", expected);
                }
                Step::RawProduce(raw) => {
                    self.known_partition(path + ".raw_produce.partition", &raw.partition)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Both topics exist and have as many partitions; the group's limits are the brokers'.
    fn transformer(&self, path: &str, transformer: &Transformer) -> Checked {
        let mut partitions = Vec::new();
        for (key, topic) in [("input", &transformer.input), ("output", &transformer.output)] {
            partitions.push(self.partition_count(format!("{path}.{key}"), topic)?);
        }
        if partitions[0] > partitions[1] {
            let expected = format!("at least {}, as the input has", partitions[0]);
            let found = format!("a topic of {} partitions", partitions[1]);
            return self.refuse(format!("{path}.output"), found, expected);
        }
        let path = format!("{path}.consumer_settings.\"session.timeout.ms\"");
        self.session_timeout(path, &transformer.consumer_config())
    }

    fn group_consumer(&self, path: &str, member: &GroupConsumer) -> Checked {
        self.partition_count(format!("{path}.topic"), &member.topic)?;
        let path = format!("{path}.settings.\"session.timeout.ms\"");
        self.session_timeout(path, &member.config())
    }

    /// Of a classic member, as the brokers allow it.
    fn session_timeout(&self, path: String, config: &ConsumerConfig) -> Checked {
        let allowed = self.plan.cluster.settings.over(BrokerConfig::default());
        let session = config.session_timeout;
        let limits = allowed.group_min_session_timeout..=allowed.group_max_session_timeout;
        if config.group_protocol == GroupProtocol::Consumer || limits.contains(&session) {
            return Ok(());
        }
        let (least, most) = (limits.start().as_millis(), limits.end().as_millis());
        let expected = format!(
            "{least} to {most}, the brokers' \"group.min.session.timeout.ms\" to \"group.max.session.timeout.ms\""
        );
        self.refuse(path, session.as_millis().to_string(), expected)
    }

    fn partition_count(&self, path: String, topic: &str) -> Result<usize, InputError> {
        let topics = &self.plan.cluster.topics;
        if let Some(plan) = topics.get(topic) {
            return Ok(plan.assignment(self.plan.cluster.brokers).len());
        }
        let error = InputError::new(self.file, path, quoted(topic), "a topic of the scenario");
        Err(error.with_nearest(topic, topics.keys().map(String::as_str)))
    }

    fn consumer(&self, path: &str, consumer: &Consumer) -> Checked {
        self.partitions(&format!("{path}.partitions"), &consumer.partitions)
    }
}
