//! The producer as an application sees it (`KafkaProducer`): calls go in, outcomes come out.
//!
//! One producer is an application thread and a sender thread (P-MOD-1). Calls are atomic except
//! for their waits, which are ended by a timer (P-MOD-1); a crash keeps nothing of it, and after a
//! stall the step that was interrupted meets the new time (P-MOD-2). The races of P-MOD-5 are
//! drawn: on the wire by latencies, and here, whether the application or the sender goes on first
//! after a call (so that records sent back to back share a batch or do not, and AddPartitionsToTxn
//! or AddOffsetsToTxn is first); whether the application acts between the failure of a
//! transaction's record or offsets and the change of state (P-API-10); and whether a request times
//! out or its batch expires, if both are due at once. What commits and aborts return is not told
//! before the state has changed.
//! Invariants: every call returns once; every record whose `send()` did not throw
//! has its future completed once.

mod calls;
mod description;
mod producer_batch;
mod producer_config;
mod record_accumulator;
pub mod request_errors;
mod sender;
mod state;
mod transaction_manager;
mod txn_partition_entry;
mod txn_partition_map;

use alloc::vec::Vec;

use eosim_actor::{Correlation, Cx, Site, Stream};
use eosim_types::config::ProducerConfig;
use eosim_types::message::{ApiKey, ApiVersionsResponse, CommittableOffset, GroupMember, Response};
use eosim_types::record::{Record, RecordBatch};
use eosim_types::version::TransactionVersion;
use eosim_types::{
    BrokerId, Duration, ErrorCode, GroupId, Instant, ProducerEpoch, ProducerId, Sequence,
    TopicPartition, TransactionalId, rule,
};

use crate::api_versions::ApiVersions;
use crate::exception::Exception;
use crate::network_client::ClientOut;
pub use description::{PartitionNumbering, TransactionManagerDescription};
pub use producer_batch::ProducerIdAndEpoch;
pub use producer_config::{Written, validated};
use sender::Sender;
pub use state::{State, TRANSITIONS};
use transaction_manager::{OffsetsToCommit, ResultId, TransactionManager};

/// Which thread goes on first after a call that wakes the sender.
const SENDER_FIRST: Site = Site::new("producer.sender_first", Stream::Actor);

/// The name of a call, and of the future of a `send()`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId(pub u32);

/// A call of the application.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Call {
    /// `initTransactions()`.
    InitTransactions,
    /// `initTransactions(true)`: a prepared transaction stays open (KIP-939).
    InitTransactionsKeepPrepared,
    /// `beginTransaction()`.
    BeginTransaction,
    /// `send()` to an explicit partition.
    Send {
        /// Where to.
        partition: TopicPartition,
        /// What.
        record: Record,
    },
    /// `flush()`.
    Flush,
    /// `commitTransaction()`.
    CommitTransaction,
    /// `abortTransaction()`.
    AbortTransaction,
    /// `prepareTransaction()` (KIP-939).
    PrepareTransaction,
    /// `completeTransaction()` (KIP-939): commits if this is what was prepared, else aborts.
    CompleteTransaction(ProducerIdAndEpoch),
    /// Goes on with a transaction of a life before, past the library's own calls, as Flink does.
    ResumeTransaction(PreparedTransaction),
    /// `sendOffsetsToTransaction()`.
    SendOffsetsToTransaction {
        /// The group whose offsets they are.
        group: GroupId,
        /// Who read them (K-CTP-1).
        member: GroupMember,
        /// The offsets.
        offsets: Vec<CommittableOffset>,
    },
    /// `close(timeout)`.
    Close {
        /// How long the open work may take; `None` is for ever.
        timeout: Option<Duration>,
    },
    /// A batch put on the wire past all bookkeeping, under the producer's id and epoch.
    RawProduce {
        /// Where to.
        partition: TopicPartition,
        /// What; id and epoch are filled in.
        batch: RecordBatch,
        /// How far its epoch is from the producer's.
        epoch_delta: i16,
    },
}

/// What an external coordinator keeps of a transaction that waits for its decision
/// (`PreparedTxnState`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PreparedTransaction {
    /// The producer id and epoch of the transaction.
    pub producer: ProducerIdAndEpoch,
    /// It runs in version 2.
    pub is_transaction_v2_enabled: bool,
}

/// How a record's future ended.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RecordOutcome {
    /// The `send()`.
    pub call: CallId,
    /// The offset, if it is known (P-SEQ-4, DUPLICATE), or the exception.
    pub result: Result<Option<i64>, Exception>,
    /// The record is in no log: its batch never went out, or went out once and was refused
    /// (P-MOD-4).
    pub definitely_refused: bool,
}

/// What the producer tells the application.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// A call returned, or threw.
    Returned {
        /// The call.
        call: CallId,
        /// What it threw.
        result: Result<(), Exception>,
    },
    /// A record's future completed.
    Record(RecordOutcome),
    /// A batch sent by hand was answered, with this error and base offset.
    RawProduced {
        /// The call.
        call: CallId,
        /// Error and base offset.
        outcome: (ErrorCode, i64),
    },
}

/// Of which kind of call a result is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum ResultKind {
    Initialization,
    Completion,
    Offsets,
}

/// What a call waits for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Awaited {
    Result { result: ResultId, kind: ResultKind },
    OffsetTopics { offsets: OffsetsToCommit, seen_updates: u32 },
    Metadata { partition: TopicPartition, record: Record },
    Memory { partition: TopicPartition, record: Record },
    Flushed { until: CallId },
    FlushedToPrepare { until: CallId },
    Closed,
    ReadyForRaw { partition: TopicPartition, batch: RecordBatch, epoch_delta: i16 },
}

/// A call that has not returned.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Waiting {
    call: CallId,
    awaited: Awaited,
    deadline: Instant,
}

/// The producer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Producer {
    sender: Sender,
    max_block: Duration,
    max_request_size: i32,
    buffer_memory: i64,
    next_call: u32,
    waiting: Vec<Waiting>,
    /// The state that was counted last.
    counted_state: Option<State>,
}

impl Producer {
    /// A producer that knows `brokers` and has sent nothing yet. Settings that Kafka would refuse
    /// (P-CFG) are the caller's business.
    #[must_use]
    pub fn new(
        config: &ProducerConfig,
        transactional_id: Option<TransactionalId>,
        brokers: &[BrokerId],
    ) -> Self {
        Self {
            sender: Sender::new(config, transactional_id, brokers),
            max_block: config.max_block,
            max_request_size: config.max_request_size,
            buffer_memory: config.buffer_memory,
            next_call: 0,
            waiting: Vec::new(),
            counted_state: None,
        }
    }

    /// The name that the next call will have.
    #[must_use]
    pub const fn next_call(&self) -> CallId {
        CallId(self.next_call)
    }

    /// The network brought an answer, or `None` for a broken connection.
    pub fn arrived(&mut self, correlation: Correlation, response: Option<Response>) {
        if let Some(Response::ApiVersions(told)) = response {
            let ApiVersionsResponse { kafka, finalized_features_epoch, transaction_version } = told;
            let api_versions = ApiVersions::of_brokers(kafka);
            self.connected(api_versions, finalized_features_epoch, transaction_version);
        }
        self.sender.client.arrived(correlation, response);
    }

    /// `broker` closed a connection on which nothing was unanswered.
    pub fn disconnected(&mut self, broker: BrokerId) {
        self.sender.client.broken(broker);
        self.sender.metadata.request_update();
    }

    /// A connection was made, and its ApiVersions answer told this: what the brokers speak, and
    /// `transaction.version` in the finalized features of `features_epoch` (P-TV-1).
    pub fn connected(
        &mut self,
        api_versions: ApiVersions,
        features_epoch: i64,
        transaction_version: TransactionVersion,
    ) {
        self.sender.api_versions = api_versions;
        if let Some(manager) = &mut self.sender.manager {
            manager.learn_features(features_epoch, transaction_version);
        }
    }

    /// The version of FindCoordinator in use.
    #[must_use]
    pub fn find_coordinator_version(&self) -> i16 {
        self.sender.api_versions.latest(ApiKey::FindCoordinator)
    }

    /// Continues the numbering of `partition` with `next`, as if the number before it had been
    /// acknowledged; for comparisons near the wrap.
    pub fn set_next_sequence(&mut self, partition: TopicPartition, next: Sequence) {
        if let Some(manager) = &mut self.sender.manager {
            manager.set_next_sequence(partition, next);
        }
    }

    /// Lets the producer go on by one step of its sender and lets calls return whose wait is over.
    /// `false` if it has to wait for an event or for [`Self::next_wake`].
    pub fn turn(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) -> bool {
        self.count_state(cx);
        let progress = self.sender.turn(cx, out);
        self.count_state(cx);
        self.end_waits(cx, out) || progress
    }

    /// Counts the state if it is another than last time.
    fn count_state(&mut self, cx: &mut Cx<'_>) {
        let state = self.state();
        if let Some(state) = state.filter(|_| state != self.counted_state) {
            cx.env.enters(state);
        }
        self.counted_state = state;
    }

    /// Two threads: after a call that wakes the sender either goes on first (P-MOD-5). 0 is the
    /// application.
    pub fn let_sender_in(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        if self.sender.is_woken() && cx.choose(SENDER_FIRST, 4) == 3 {
            rule!(cx.env, "P-MOD-5");
            while self.turn(cx, out) {}
        }
    }

    /// When the producer goes on by itself; [`Instant::FAR`] if never.
    #[must_use]
    pub fn next_wake(&self) -> Instant {
        let deadlines = self.waiting.iter().map(|waiting| waiting.deadline);
        deadlines.min().unwrap_or(Instant::FAR).min(self.sender.next_wake())
    }

    /// The oldest outcome not taken yet.
    pub fn pop_outcome(&mut self) -> Option<Outcome> {
        self.sender.outcomes.pop_front()
    }

    /// `close()` has returned.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// The state of the transaction manager; `None` without idempotence.
    #[must_use]
    pub fn state(&self) -> Option<State> {
        self.manager().map(TransactionManager::state)
    }

    /// The error of an error state.
    #[must_use]
    pub fn last_error(&self) -> Option<&Exception> {
        self.manager().and_then(TransactionManager::last_error)
    }

    /// Id and epoch in use.
    #[must_use]
    pub fn producer_id_and_epoch(&self) -> ProducerIdAndEpoch {
        let manager = self.manager();
        manager.map_or(ProducerIdAndEpoch::NONE, TransactionManager::producer_id_and_epoch)
    }

    /// Does the current transaction run in version 2?
    #[must_use]
    pub fn is_transaction_v2_enabled(&self) -> bool {
        self.manager().is_some_and(TransactionManager::is_transaction_v2_enabled)
    }

    /// What an external coordinator must keep to end the open transaction after a crash.
    #[must_use]
    pub fn prepared_transaction(&self) -> Option<PreparedTransaction> {
        self.manager().and_then(TransactionManager::prepared_transaction)
    }

    /// Is it certain that a commit that just threw did not and will not take effect?
    #[must_use]
    pub fn commit_is_refused(&self) -> bool {
        self.manager().is_some_and(TransactionManager::end_txn_is_refused)
    }

    /// Everything that the transaction manager tells of itself; `None` without idempotence.
    #[must_use]
    pub fn describe(&self) -> Option<TransactionManagerDescription> {
        self.manager().map(TransactionManager::describe)
    }

    const fn manager(&self) -> Option<&TransactionManager> {
        self.sender.manager.as_ref()
    }
}

/// Puts `producer` into a batch made by hand.
fn stamped(mut batch: RecordBatch, producer: (ProducerId, ProducerEpoch)) -> RecordBatch {
    (batch.producer_id, batch.producer_epoch) = producer;
    batch
}
