//! What is seen of a run by whoever looks at it step by step: what each line of its transcript is,
//! and what stands otherwise after which step.
//!
//! No Kafka counterpart. Nothing here is part of what a run computes.

use alloc::string::String;
use alloc::vec::Vec;

use crate::ids::{
    ActorId, BrokerId, GroupId, LeaderEpoch, ProducerEpoch, ProducerId, TopicPartition,
    TransactionalId,
};
use crate::message::ProducerState;
use crate::observation::{OffsetDump, TransactionDump, TransactionRef};
use crate::record::{AbortedTxn, RecordBatch};
use crate::time::Instant;

/// A line of a transcript.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moment {
    /// When.
    pub at: Instant,
    /// The step; 0 for what the world does.
    pub step: u64,
    /// To whom it happened.
    pub actor: ActorId,
    /// What happened, with the names of actors.
    pub text: String,
    /// Of which kind it is.
    pub kind: MomentKind,
    /// The line that it came from: the request of what is taken, the step of what is decided in it.
    pub from: Option<u32>,
    /// Rules that were reached in the step that it begins.
    pub rules: Vec<&'static str>,
    /// How strongly it speaks of what the broken promise is about; 0 is not at all.
    pub concern: u32,
}

impl Moment {
    /// Does a step begin with it?
    #[must_use]
    pub const fn begins_step(&self) -> bool {
        use MomentKind::{Starts, TakesAnswer, TakesRequest, Timer};
        matches!(self.kind, Starts | Timer | TakesRequest { .. } | TakesAnswer { .. })
    }

    /// The place of the line that it came from.
    #[must_use]
    pub fn source(&self) -> Option<usize> {
        self.from.map(|from| usize::try_from(from).expect("a place of a line"))
    }
}

/// The kind of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MomentKind {
    /// A process begins or is asked to stop.
    Starts,
    /// A timer has run out.
    Timer,
    /// A request is sent; without a number if its connection was broken already.
    Sends {
        /// Its number in the run.
        request: Option<u32>,
    },
    /// A request is taken.
    TakesRequest {
        /// Its number in the run.
        request: u32,
    },
    /// The answer to an own request is taken, or that there will be none.
    TakesAnswer {
        /// The number of the request in the run.
        request: Option<u32>,
        /// The connection broke.
        is_disconnect: bool,
    },
    /// An application does or learns something.
    Observes,
    /// A fault befalls a message.
    Befalls {
        /// The number of the request in the run.
        request: u32,
        /// The answer to it is meant.
        is_answer: bool,
        /// It never arrives.
        is_lost: bool,
    },
    /// The world obeys.
    Commanded(Order),
}

/// What the world does to a process, as far as its life goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// It dies, or has stopped.
    Dies(ActorId),
    /// It is started again.
    Restarts(ActorId),
    /// It stalls.
    Stalls(ActorId),
    /// It goes on.
    GoesOn(ActorId),
    /// Something else that a fault or an operator does.
    Other,
    /// A fault ends, or looks whom it may hit.
    Quiet,
}

/// Something that stands otherwise after a step, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The step.
    pub step: u64,
    /// What, as `orders-0: last stable offset 2 → 4`.
    pub text: String,
}

/// Something that stands otherwise after a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turn {
    /// The step.
    pub step: u64,
    /// The actor that took it.
    pub actor: ActorId,
    /// What is new.
    pub what: Turned,
}

/// What stands otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Turned {
    /// Role or bounds of a replica.
    Replica(TopicPartition, ReplicaStanding),
    /// A replica is there no more.
    Gone(TopicPartition),
    /// The batches of a replica from this offset on are gone.
    Cut(TopicPartition, i64),
    /// The batches of a replica before this offset are gone, its log begins later.
    Trimmed(TopicPartition, i64),
    /// The batches of a replica with these base offsets are gone: compaction took them.
    Dropped(TopicPartition, Vec<i64>),
    /// The batch of the same base offset holds this: compaction has left no more of it.
    Replaced(TopicPartition, RecordBatch),
    /// A replica has one more batch.
    Appended(TopicPartition, RecordBatch),
    /// Producer state of a leader.
    Producers(TopicPartition, Vec<ProducerState>),
    /// One more entry in the index of aborted transactions of a leader.
    Aborted(TopicPartition, AbortedTxn),
    /// All entries of that index, as some that were told are there no more.
    Index(TopicPartition, Vec<AbortedTxn>),
    /// A transactional id at its coordinator; `None` if it is held no more.
    Transaction(TransactionalId, Option<TransactionDump>),
    /// The offsets that a group coordinator holds.
    Offsets(Vec<OffsetDump>),
    /// A client.
    Client(ClientStanding),
}

/// Role and bounds of a replica.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplicaStanding {
    /// It leads, as far as it knows.
    pub is_leader: bool,
    /// A running process hosts it.
    pub is_hosted: bool,
    /// Its leader epoch.
    pub leader_epoch: LeaderEpoch,
    /// Of a leader, who is in sync.
    pub isr: Vec<BrokerId>,
    /// Log start offset, high watermark, last stable offset and log end offset.
    pub offsets: [i64; 4],
}

/// A client as it stands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClientStanding {
    /// Its producer, if it has one.
    pub producer: Option<ProducerStanding>,
    /// Where its consumer stands in what is assigned to it, if it has one; no position yet is
    /// `None`.
    pub consumer: Option<Vec<(TopicPartition, Option<i64>)>>,
    /// It has done all that its workload asks.
    pub is_finished: bool,
    /// What it waits for, in words.
    pub waits_for: Option<String>,
}

/// A producer as it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProducerStanding {
    /// State of the transaction manager, Kafka's spelling; `None` without idempotence.
    pub state: Option<&'static str>,
    /// Producer id in use.
    pub producer_id: ProducerId,
    /// Producer epoch in use.
    pub producer_epoch: ProducerEpoch,
    /// The transaction that is open.
    pub transaction: Option<TransactionRef>,
}

/// A group as its coordinator holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupStanding {
    /// The partition of `__consumer_offsets` that holds it.
    pub partition: i32,
    /// The group.
    pub group: GroupId,
    /// `classic` or `consumer`.
    pub protocol: &'static str,
    /// Of a classic group, its state in Kafka's spelling.
    pub state: Option<&'static str>,
    /// Generation of a classic group, group epoch of a KIP-848 group.
    pub generation_or_epoch: i32,
    /// Its members.
    pub members: Vec<MemberStanding>,
}

/// A member of a group as the coordinator holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberStanding {
    /// Member id.
    pub member: u32,
    /// Of a KIP-848 group, its epoch and its state.
    pub epoch: Option<(i32, &'static str)>,
    /// What it holds.
    pub assigned: Vec<TopicPartition>,
}
