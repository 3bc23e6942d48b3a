//! Plays one recorded case on the model.

use std::collections::BTreeSet;

use eosim_types::message::{
    DescribeProducersRequest, DescribeTransactionsRequest, InitProducerIdRequest, IsolationLevel,
    ListOffsetsAsker, ListOffsetsRequest, ListOffsetsTimestamp, OffsetFetchRequest, Request,
    Response,
};
use eosim_types::{
    DefectSet, Duration, ErrorCode, LeaderEpoch, Names, ProducerEpoch, ProducerId, TopicPartition,
    TransactionalId,
};
use serde_json::{Map, Value, json};

use super::answer;
use super::case::{Case, TopicLayout};
use super::cluster::SingleBroker;
use super::compare::{Difference, first_difference, rank_coordinator_epochs};
use super::fields::Unsupported;
use super::operation::{Builder, Operation, fetch, parse_partition};
use super::producers::{Aliases, Renamer};

/// Errors on which the recorder always sent again.
const ALWAYS_RETRIED: [&str; 3] =
    ["COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"];
/// How long the recorder slept before it sent again.
const RETRY_EVERY: Duration = Duration::from_millis(20);
/// How often it did so at most: for 20 s.
const RETRIES_MAX: u32 = 1_000;
/// How often a transaction is described while a state is awaited.
const AWAIT_EVERY: Duration = Duration::from_millis(100);
/// How long a state is awaited: 60 s.
const AWAIT_MAX: u32 = 600;

/// A case under way.
pub(crate) struct Player {
    names: Names,
    cluster: SingleBroker,
    aliases: Aliases,
}

impl Player {
    /// Plays `case` and compares; `None` if nothing differs.
    pub(crate) fn play(case: &Case) -> Result<Option<Difference>, Unsupported> {
        let mut names = names_of(case)?;
        let mut topics = Vec::new();
        for (name, layout) in &case.topics {
            let TopicLayout::Partitions(partitions) = layout else {
                return Err(Unsupported("several brokers".into()));
            };
            topics.push((names.add_topic(name), *partitions));
        }
        let cluster = SingleBroker::new(names.clone(), &topics, DefectSet::as_released());
        let mut player = Self { names, cluster, aliases: Aliases::default() };
        let mut answers = Vec::new();
        for (at, step) in case.steps.iter().enumerate() {
            answers.push(player.step(at, step)?);
        }
        answers.push(player.end_state(case)?);
        let mut renamer = Renamer::default();
        answers.iter_mut().for_each(|answer| renamer.rename(answer));
        if !case.steps.iter().any(|step| step["op"] == "write_txn_markers") {
            rank_coordinator_epochs(&mut answers);
        }
        Ok(compare(case, &answers))
    }

    fn step(&mut self, at: usize, step: &Map<String, Value>) -> Result<Value, Unsupported> {
        let mut builder = Builder {
            names: &mut self.names,
            aliases: &self.aliases,
            step: at,
            now_ms: self.cluster.now_ms(),
        };
        let answer = match builder.build(step)? {
            Operation::Call { request, retry, bind, .. } => {
                let response = self.call(&request, &retry);
                self.bind(bind, response.as_ref());
                self.render(&request, response.as_ref())
            }
            Operation::RepeatInit { request, times, bind } => {
                self.repeat_init(&request, times, bind)
            }
            Operation::Await { id, state } => self.await_state(id, state),
            Operation::Sleep { ms } => {
                self.cluster.sleep(Duration::from_millis(ms));
                Value::Null
            }
            Operation::Restart(how) => {
                self.cluster.restart(how);
                Value::Null
            }
        };
        self.cluster.settle();
        Ok(answer)
    }

    /// Sends a request, again while the answer holds an error on which the recorder did so.
    fn call(&mut self, request: &Request, retry: &[&str]) -> Option<Response> {
        for _ in 0..RETRIES_MAX {
            let response = self.cluster.call(request.clone())?;
            let rendered = answer::render(request, &response, &self.names);
            let errors = answer::errors(&rendered);
            let again = |error: &&str| ALWAYS_RETRIED.contains(error) || retry.contains(error);
            if !errors.iter().any(again) {
                return Some(response);
            }
            self.cluster.sleep(RETRY_EVERY);
        }
        self.cluster.call(request.clone())
    }

    fn repeat_init(&mut self, request: &InitProducerIdRequest, times: u32, bind: &str) -> Value {
        let request = (*request).into();
        let mut last = None;
        for _ in 0..times {
            last = self.call(&request, &["CONCURRENT_TRANSACTIONS"]);
        }
        self.bind(Some(bind), last.as_ref());
        self.render(&request, last.as_ref())
    }

    fn await_state(&mut self, id: TransactionalId, state: &str) -> Value {
        let mut last = Value::Null;
        for _ in 0..AWAIT_MAX {
            last = self.describe(id);
            if last["state"] == state {
                break;
            }
            self.cluster.sleep(AWAIT_EVERY);
        }
        last
    }

    fn describe(&mut self, transactional_id: TransactionalId) -> Value {
        self.ask(DescribeTransactionsRequest { transactional_id })
    }

    /// Binds an alias to the id and epoch of an answer, if it carries them.
    fn bind(&mut self, alias: Option<&str>, response: Option<&Response>) {
        let identity: Option<(ProducerId, ProducerEpoch)> = match response {
            Some(Response::InitProducerId(r)) if r.error == ErrorCode::None => {
                Some((r.producer_id, r.producer_epoch))
            }
            Some(Response::EndTxn(r)) if r.producer_id != ProducerId::NONE => {
                Some((r.producer_id, r.producer_epoch))
            }
            _ => None,
        };
        if let (Some(alias), Some(identity)) = (alias, identity) {
            self.aliases.bind(alias, identity);
        }
    }

    /// Sends a request and renders its answer.
    fn ask(&mut self, request: impl Into<Request>) -> Value {
        let request = request.into();
        let response = self.call(&request, &[]);
        self.render(&request, response.as_ref())
    }

    fn render(&self, request: &Request, response: Option<&Response>) -> Value {
        response.map_or(Value::Null, |response| answer::render(request, response, &self.names))
    }

    /// What the cluster holds, asked as the recorder asked.
    fn end_state(&mut self, case: &Case) -> Result<Value, Unsupported> {
        let recorded = |key: &str| case.final_state[key].as_object().cloned().unwrap_or_default();
        let mut transactions = Map::new();
        for id in recorded("transactions").keys() {
            let transactional_id = self.names.add_transactional_id(id);
            transactions.insert(id.clone(), self.describe(transactional_id));
        }
        let mut partitions = Map::new();
        for text in recorded("partitions").keys() {
            let partition = parse_partition(&mut self.names, text)?;
            partitions.insert(text.clone(), self.partition_state(partition));
        }
        let mut groups = Map::new();
        for (group, shape) in recorded("groups") {
            groups.insert(group.clone(), self.group_state(&group, &shape)?);
        }
        Ok(json!({ "transactions": transactions, "partitions": partitions, "groups": groups }))
    }

    fn partition_state(&mut self, partition: TopicPartition) -> Value {
        let from = self.log_start(partition);
        let committed = fetch(partition, from, IsolationLevel::ReadCommitted);
        let all = fetch(partition, from, IsolationLevel::ReadUncommitted);
        let mut state = self.ask(committed);
        state["batches"] = self.ask(all)["batches"].take();
        state["producers"] = self.ask(DescribeProducersRequest { partition })["producers"].take();
        state
    }

    fn log_start(&mut self, partition: TopicPartition) -> i64 {
        let request = ListOffsetsRequest {
            version: 5,
            asker: ListOffsetsAsker::Consumer(IsolationLevel::ReadUncommitted),
            partition,
            current_leader_epoch: LeaderEpoch::NONE,
            timestamp: ListOffsetsTimestamp::Earliest,
        };
        match self.call(&request.into(), &[]) {
            Some(Response::ListOffsets(response)) => response.offset,
            _ => 0,
        }
    }

    fn group_state(&mut self, group: &str, shape: &Value) -> Result<Value, Unsupported> {
        let texts: BTreeSet<String> =
            shape["offsets"].as_object().into_iter().flat_map(Map::keys).cloned().collect();
        let partitions: Result<Vec<_>, _> =
            texts.iter().map(|text| parse_partition(&mut self.names, text)).collect();
        let request = OffsetFetchRequest {
            version: 7,
            group: self.names.add_group(group),
            partitions: Some(partitions?),
            require_stable: false,
        };
        Ok(self.ask(request))
    }
}

/// All names of a case, so that the cluster knows them before it begins.
fn names_of(case: &Case) -> Result<Names, Unsupported> {
    let mut names = Names::default();
    for step in &case.steps {
        for (key, value) in step {
            match (key.as_str(), value.as_str()) {
                ("transactional_id", Some(id)) => drop(names.add_transactional_id(id)),
                ("group", Some(group)) => drop(names.add_group(group)),
                ("partition", Some(text)) => drop(parse_partition(&mut names, text)?),
                _ => {}
            }
        }
    }
    Ok(names)
}

fn compare(case: &Case, answers: &[Value]) -> Option<Difference> {
    let steps = case.steps.iter().zip(answers).enumerate();
    let difference = steps.filter_map(|(at, (step, answer))| {
        let op = step.get("op").and_then(Value::as_str).unwrap_or_default();
        let expected = step.get("expect")?;
        first_difference(&format!("step {at} {op}"), expected, answer)
    });
    let end = answers.last().expect("the end state is there");
    difference.into_iter().next().or_else(|| first_difference("final", &case.final_state, end))
}
