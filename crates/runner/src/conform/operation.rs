//! What a recorded step does, and how.

mod request;

pub(crate) use request::fetch;

use eosim_types::message::{InitProducerIdRequest, Request};
use eosim_types::version::KafkaVersion;
use eosim_types::{BrokerId, GroupId, Names, Topic, TopicPartition, TransactionalId};
use serde_json::{Map, Value};

use super::fields::{Fields, Unsupported};
use super::operator::{Operator, Process};
use super::producers::Aliases;

/// No broker has this number.
const NOBODY: i32 = -1;

/// Whom a request goes to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Target {
    /// The leader of a partition.
    Leader(TopicPartition),
    /// The coordinator of a transactional id.
    Transaction(TransactionalId),
    /// The coordinator of a group.
    Group(GroupId),
    /// Any broker.
    Any,
    /// This one.
    Broker(BrokerId),
}

/// What a step does.
pub(crate) enum Operation<'a> {
    /// Sends a request, again while the answer holds an error of `retry`.
    Call { target: Target, request: Request, retry: Vec<&'a str>, bind: Option<&'a str> },
    /// InitProducerId so many times in a row.
    RepeatInit { request: InitProducerIdRequest, times: u32, bind: &'a str },
    /// Describes a transaction until it is in the state.
    Await { id: TransactionalId, state: &'a str },
    /// Lets virtual time pass.
    Sleep { ms: u64 },
    /// Takes the only broker down and starts it again.
    Restart(Process),
    /// Acts on the cluster.
    Operator(Operator<'a>),
}

/// A step: what it does, and how.
pub(crate) struct Step<'a> {
    pub(crate) operation: Operation<'a>,
    /// Asks this broker, leader or not, once.
    pub(crate) to: Option<BrokerId>,
    /// Waits for a settled cluster afterwards.
    pub(crate) settle: bool,
    /// Sends only; a later step reads the answer under this name.
    pub(crate) background: Option<&'a str>,
}

/// Builds the operation of one step.
pub(crate) struct Builder<'a> {
    pub(crate) names: &'a mut Names,
    pub(crate) aliases: &'a Aliases,
    pub(crate) step: usize,
    pub(crate) now_ms: i64,
    pub(crate) kafka: KafkaVersion,
}

impl Builder<'_> {
    /// What `step` does.
    pub(crate) fn build<'s>(
        &mut self,
        step: &'s Map<String, Value>,
    ) -> Result<Step<'s>, Unsupported> {
        let fields = Fields::new(step);
        let op = step.get("op").and_then(Value::as_str).unwrap_or_default();
        let to: i32 = fields.number_or("to", NOBODY)?;
        let step = Step {
            operation: self.operation(op, &fields)?,
            to: (to != NOBODY).then_some(BrokerId(to)),
            settle: fields.flag_or("settle", op != "sleep_ms")?,
            background: fields.get("background").and_then(Value::as_str),
        };
        fields.finish()?;
        Ok(step)
    }

    fn operation<'s>(
        &mut self,
        op: &str,
        fields: &Fields<'s>,
    ) -> Result<Operation<'s>, Unsupported> {
        if let Some(operator) = self.operator(op, fields)? {
            return Ok(Operation::Operator(operator));
        }
        Ok(match op {
            "sleep_ms" => Operation::Sleep { ms: fields.number("ms")? },
            "restart_broker" => Operation::Restart(match fields.text("how")? {
                "kill" => Process::Kill,
                "stop" => Process::Stop,
                other => return Err(Unsupported(format!("restart by {other}"))),
            }),
            "repeat_init" => self.repeat_init(fields)?,
            "await_transaction" => Operation::Await {
                id: self.names.add_transactional_id(fields.text("transactional_id")?),
                state: fields.text("state")?,
            },
            _ => self.call(op, fields)?,
        })
    }

    /// `topic-partition`.
    pub(crate) fn partition(&mut self, text: &str) -> Result<TopicPartition, Unsupported> {
        parse_partition(self.names, text)
    }
}

/// The partition that `text` (`topic-partition`) names.
pub(crate) fn parse_partition(
    names: &mut Names,
    text: &str,
) -> Result<TopicPartition, Unsupported> {
    let parts = text.rsplit_once('-').and_then(|(t, p)| Some((t, p.parse().ok()?)));
    let (topic, partition) = parts.ok_or_else(|| Unsupported(format!("partition {text}")))?;
    let topic: Topic = names.add_topic(topic);
    Ok(TopicPartition::new(topic, partition))
}
