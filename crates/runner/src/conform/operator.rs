//! Steps of a recording that act on the cluster rather than on its data: processes, elections,
//! reassignments, waiting.

use super::fields::{Fields, Unsupported};
use super::operation::Builder;
use eosim_types::{ActorId, BrokerId, TopicPartition};

/// The controller's number in the recordings.
const CONTROLLER: BrokerId = BrokerId(9);

/// How long the recorder waits for an answer where a step does not say.
const ANSWER_WAIT_MS: u64 = 10_000;

/// What is done to processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Process {
    /// SIGKILL.
    Kill,
    /// SIGTERM, and wait for the end.
    Stop,
    /// Begin again.
    Start,
    /// SIGSTOP.
    Pause,
    /// SIGCONT.
    Resume,
}

/// What an operator does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Operator<'a> {
    /// Something to processes.
    Broker { actors: Vec<ActorId>, what: Process },
    /// Elects the preferred leader, or any replica that lives.
    Elect { partition: TopicPartition, unclean: bool },
    /// Gives a partition other replicas.
    Reassign { partition: TopicPartition, replicas: Vec<BrokerId> },
    /// Waits for a settled cluster.
    Settle,
    /// Waits for a leader.
    AwaitLeader { partition: TopicPartition, leader: BrokerId },
    /// Waits for a set of in-sync replicas.
    AwaitIsr { partition: TopicPartition, isr: Vec<BrokerId> },
    /// Reads the answer to a request that was sent in the background.
    Answer { name: &'a str, wait_ms: u64 },
}

impl Operator<'_> {
    /// Is the cluster looked at when it is done?
    pub(crate) fn changes_roles(&self) -> bool {
        matches!(
            self,
            Self::Broker { .. } | Self::Elect { .. } | Self::Reassign { .. } | Self::Settle
        )
    }
}

impl Builder<'_> {
    /// What the operator does in a step, if it is one of these.
    pub(crate) fn operator<'s>(
        &mut self,
        op: &str,
        fields: &Fields<'s>,
    ) -> Result<Option<Operator<'s>>, Unsupported> {
        Ok(Some(match op {
            "broker" => Operator::Broker { actors: actors(fields)?, what: process(fields)? },
            "elect" => Operator::Elect {
                partition: self.partition(fields.text("partition")?)?,
                unclean: fields.flag_or("unclean", false)?,
            },
            "reassign" => Operator::Reassign {
                partition: self.partition(fields.text("partition")?)?,
                replicas: brokers(fields, "replicas")?,
            },
            "settle" => Operator::Settle,
            "await_leader" => Operator::AwaitLeader {
                partition: self.partition(fields.text("partition")?)?,
                leader: BrokerId(fields.number("leader")?),
            },
            "await_isr" => Operator::AwaitIsr {
                partition: self.partition(fields.text("partition")?)?,
                isr: brokers(fields, "isr")?,
            },
            "answer" => {
                let wait_ms = fields.number_or("wait_ms", ANSWER_WAIT_MS)?;
                Operator::Answer { name: fields.text("name")?, wait_ms }
            }
            _ => return Ok(None),
        }))
    }
}

fn process(fields: &Fields<'_>) -> Result<Process, Unsupported> {
    match fields.text("do")? {
        "kill" => Ok(Process::Kill),
        "stop" => Ok(Process::Stop),
        "start" => Ok(Process::Start),
        "pause" => Ok(Process::Pause),
        "resume" => Ok(Process::Resume),
        other => Err(Unsupported(format!("doing {other} to a broker"))),
    }
}

fn actors(fields: &Fields<'_>) -> Result<Vec<ActorId>, Unsupported> {
    let actor = |id| if id == CONTROLLER { ActorId::CONTROLLER } else { ActorId::of_broker(id) };
    Ok(brokers(fields, "id")?.into_iter().map(actor).collect())
}

fn brokers(fields: &Fields<'_>, key: &'static str) -> Result<Vec<BrokerId>, Unsupported> {
    let id = |id| i32::try_from(id).map(BrokerId).map_err(|_| Unsupported(format!("{key} {id}")));
    fields.numbers(key)?.into_iter().map(id).collect()
}
