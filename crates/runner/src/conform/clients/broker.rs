//! The broker of a recording: it answers as its rules say and checks nothing.
//!
//! Invariant: an answer is computed, and its request has its effect, when the request arrives,
//! however long the answer is held back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use eosim_types::message::{ApiKey, Request, Response};
use eosim_types::metadata::{BrokerMetadata, MetadataImage, PartitionMetadata};
use eosim_types::{BrokerId, LeaderEpoch, TopicPartition};
use serde_json::{Map, Value, json};

use super::answers::Log;
use super::case::{Action, ClientCase, Rule};
use super::names::CaseNames;
use super::wire;
use crate::conform::fields::Unsupported;

/// Leads every partition unless the case says otherwise; the only one known at the start.
pub(super) const LEADER: BrokerId = BrokerId(1);
/// Coordinates every transaction.
pub(super) const TRANSACTION_COORDINATOR: BrokerId = BrokerId(2);
/// Coordinates every group.
pub(super) const GROUP_COORDINATOR: BrokerId = BrokerId(3);
/// Another leader.
pub(super) const SECOND_LEADER: BrokerId = BrokerId(4);

/// What becomes of a request.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Verdict {
    /// It is answered.
    Answer(Response),
    /// Its connection is closed in place of an answer.
    Drop,
    /// It is never answered, nor is anything behind it.
    Silent,
}

/// A request that arrived, with what the broker does about it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Handled {
    pub(super) verdict: Verdict,
    /// Which answers the connection has to hold back, and until when.
    pub(super) rule: Option<Rule>,
}

/// The broker: all nodes of the cluster.
#[derive(Clone, Debug)]
pub(super) struct ScriptedBroker {
    rules: Vec<Rule>,
    pub(super) image: Arc<MetadataImage>,
    arrived: BTreeMap<ApiKey, u32>,
    answered: BTreeMap<ApiKey, u32>,
    released: BTreeSet<String>,
    log: Log,
    /// Every request so far, as it was recorded.
    pub(super) wire: Vec<Value>,
}

impl ScriptedBroker {
    pub(super) fn new(case: &ClientCase, names: &mut CaseNames) -> Result<Self, Unsupported> {
        Ok(Self {
            rules: case.rules()?,
            image: Arc::new(image(case, names)?),
            arrived: BTreeMap::new(),
            answered: BTreeMap::new(),
            released: BTreeSet::new(),
            log: Log::new(case, names)?,
            wire: Vec::new(),
        })
    }

    /// How many requests of the API called `name` have arrived.
    pub(super) fn arrived(&self, name: &str) -> u32 {
        count(&self.arrived, name)
    }

    /// How many answers to the API called `name` were written; a closed connection counts.
    pub(super) fn answered(&self, name: &str) -> u32 {
        count(&self.answered, name)
    }

    /// An answer to `api` was written.
    pub(super) fn answer_written(&mut self, api: ApiKey) {
        *self.answered.entry(api).or_default() += 1;
    }

    /// Sets the condition `step:name`.
    pub(super) fn release(&mut self, name: &str) {
        self.released.insert(name.to_string());
    }

    /// Is the condition `API#n` or `step:name` met?
    pub(super) fn is_met(&self, condition: &str) -> bool {
        if let Some(step) = condition.strip_prefix("step:") {
            return self.released.contains(step);
        }
        let parts = condition.split_once('#');
        let parts = parts.and_then(|(api, n)| Some((api, n.parse::<u32>().ok()?)));
        parts.is_some_and(|(api, n)| self.arrived(api) >= n)
    }

    /// A request arrived at `node`; `is_lost` if it stands behind one that will not be answered.
    pub(super) fn handle(
        &mut self,
        node: BrokerId,
        request: &Request,
        is_lost: bool,
        client: &wire::Versions,
        names: &mut CaseNames,
    ) -> Result<Handled, Unsupported> {
        if let Request::Metadata(_) = request {
            let image = Arc::clone(&self.image);
            let response = eosim_types::message::MetadataResponse { image }.into();
            return Ok(Handled { verdict: Verdict::Answer(response), rule: None });
        }
        let n = self.arrived.entry(request.api()).or_default();
        *n += 1;
        let applies = |rule: &&Rule| rule.api == request.api().name() && rule.applies_to(*n);
        let rule = self.rules.iter().find(applies).cloned();
        let mut entry = wire::request(node, request, client, names)?;
        if is_lost {
            self.record(entry, json!({ "action": "lost" }));
            return Ok(Handled { verdict: Verdict::Silent, rule: None });
        }
        let action = rule.as_ref().and_then(|rule| rule.action);
        let applied = action.is_none() || rule.as_ref().is_some_and(|rule| rule.applied);
        let answer = if applied { Some(self.answer(request, rule.as_ref(), names)?) } else { None };
        let (verdict, rendered) = match (action, answer) {
            (None, Some((response, rendered))) => (Verdict::Answer(response), rendered),
            (Some(Action::Drop), Some(_)) => {
                (Verdict::Drop, json!({ "action": "drop", "applied": true }))
            }
            (Some(Action::Silent), Some(_)) => {
                (Verdict::Silent, json!({ "action": "silent", "applied": true }))
            }
            (Some(Action::Drop), None) => (Verdict::Drop, json!({ "action": "drop" })),
            _ => (Verdict::Silent, json!({ "action": "silent" })),
        };
        self.record(std::mem::take(&mut entry), rendered);
        Ok(Handled { verdict, rule })
    }

    fn record(&mut self, mut entry: Map<String, Value>, answer: Value) {
        entry.insert("answer".to_string(), answer);
        self.wire.push(Value::Object(entry));
    }

    fn answer(
        &mut self,
        request: &Request,
        rule: Option<&Rule>,
        names: &mut CaseNames,
    ) -> Result<(Response, Value), Unsupported> {
        let led = self.log.answer(request, rule, names)?;
        if let (Some(leader), Request::Produce(request)) =
            (rule.and_then(|rule| rule.new_leader), request)
        {
            for (partition, _) in &request.partitions {
                self.change_leader(*partition, BrokerId(leader));
            }
        }
        Ok(led)
    }

    fn change_leader(&mut self, partition: TopicPartition, leader: BrokerId) {
        let image = Arc::make_mut(&mut self.image);
        if let Some(metadata) = image.partitions.get_mut(&partition) {
            metadata.leader = Some(leader);
            metadata.leader_epoch.0 += 1;
        }
    }
}

fn count(counts: &BTreeMap<ApiKey, u32>, name: &str) -> u32 {
    counts.iter().find(|(api, _)| api.name() == name).map_or(0, |(_, &count)| count)
}

/// The nodes of the cluster.
pub(super) fn nodes(case: &ClientCase) -> Vec<BrokerId> {
    let mut nodes = vec![LEADER, TRANSACTION_COORDINATOR, GROUP_COORDINATOR];
    nodes.extend(case.second_leader.then_some(SECOND_LEADER));
    nodes
}

/// The topic `t` and its leaders. Features are told by ApiVersions alone, so the image keeps the
/// version that no feature has.
fn image(case: &ClientCase, names: &mut CaseNames) -> Result<MetadataImage, Unsupported> {
    let broker = BrokerMetadata { broker_epoch: 1, fenced: false, in_controlled_shutdown: false };
    let partition = |leader: BrokerId| PartitionMetadata {
        replicas: vec![leader],
        isr: vec![leader],
        elr: vec![],
        leader: Some(leader),
        leader_epoch: LeaderEpoch(0),
        partition_epoch: 0,
    };
    let all = (0..case.partitions).map(|n| (names.of_topic(n), partition(LEADER)));
    let mut partitions: BTreeMap<_, _> = all.collect();
    for (name, &leader) in &case.leaders {
        partitions.insert(names.find_partition(name)?, partition(BrokerId(leader)));
    }
    Ok(MetadataImage {
        version: 0,
        brokers: nodes(case).into_iter().map(|node| (node, broker.clone())).collect(),
        partitions,
        transaction_version: eosim_types::version::TransactionVersion::Tv0,
    })
}
