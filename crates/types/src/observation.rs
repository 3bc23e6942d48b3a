//! What the checker reads: what applications saw and did, and what the logs hold in the end.
//!
//! An observation is recorded at the moment when the application calls or learns; "unknown" stays
//! unknown (only a definite answer may be contradicted).

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::error::ErrorCode;
use crate::ids::{
    ActorId, BrokerId, CoordinatorEpoch, GroupId, LeaderEpoch, ProducerEpoch, ProducerId, Sequence,
    TopicPartition, TransactionalId, Value,
};
use crate::message::{IsolationLevel, ProducerState};
use crate::record::{AbortedTxn, RecordBatch, TransactionState};
use crate::time::Instant;

/// The bound of a poll whose application cannot see it, as Kafka's own consumer does not show it.
pub const UNSEEN_BOUND: i64 = i64::MAX;

/// Something that an application did or learned.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Observation {
    /// When.
    pub at: Instant,
    /// At which step of the run.
    pub step: u64,
    /// Which application.
    pub actor: ActorId,
    /// What.
    pub what: Observed,
}

/// One transaction of one producer session, as the application counts them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct TransactionRef {
    /// The application.
    pub producer: ActorId,
    /// Which life of it: a crash or a close begins another.
    pub session: u32,
    /// Which transaction of that life.
    pub number: u32,
}

/// How a `send()` ended (P-MOD-4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum SendOutcome {
    /// Success; the offset is unknown for `DUPLICATE_SEQUENCE_NUMBER` and `acks=0`.
    Acknowledged {
        /// The record's offset.
        offset: Option<i64>,
    },
    /// A definite refusal of a record that was attempted at most once: it is not in the log.
    Refused {
        /// Why.
        error: ErrorCode,
    },
    /// It may or may not be in the log.
    Unknown {
        /// What the application saw.
        error: ErrorCode,
    },
}

/// How a `commitTransaction()` or `abortTransaction()` ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum EndOutcome {
    /// The call returned normally: the transaction is committed or aborted, as asked.
    Done,
    /// It is definite that the transaction did not end as asked.
    Refused {
        /// Why.
        error: ErrorCode,
    },
    /// It may have ended either way.
    Unknown {
        /// What the application saw.
        error: ErrorCode,
    },
}

/// What a rebalance did to a member of a group (`ConsumerRebalanceListener`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Rebalance {
    /// `onPartitionsAssigned()`.
    Assigned,
    /// `onPartitionsRevoked()`.
    Revoked,
    /// `onPartitionsLost()`.
    Lost,
}

/// What an application did or learned.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Observed {
    /// A producer was made.
    ProducerOpened {
        /// Which life of the application.
        session: u32,
        /// `None` if it is idempotent only.
        transactional_id: Option<TransactionalId>,
    },
    /// `initTransactions()` returned.
    TransactionsInitialized {
        /// Which life.
        session: u32,
    },
    /// `beginTransaction()` returned.
    TransactionBegun {
        /// The new transaction.
        transaction: TransactionRef,
    },
    /// `send()` was called.
    SendCalled {
        /// The record.
        value: Value,
        /// Where to.
        partition: TopicPartition,
        /// Which life.
        session: u32,
        /// In which transaction, if any.
        transaction: Option<TransactionRef>,
        /// The input record that it was made from, if any (consume–transform–produce).
        input: Option<(TopicPartition, i64)>,
    },
    /// The future of a `send()` completed.
    SendAnswered {
        /// The record.
        value: Value,
        /// Where to.
        partition: TopicPartition,
        /// How it ended.
        outcome: SendOutcome,
    },
    /// `sendOffsetsToTransaction()` returned normally, or threw.
    OffsetsSent {
        /// The transaction.
        transaction: TransactionRef,
        /// The group.
        group: GroupId,
        /// What was sent.
        offsets: Vec<(TopicPartition, i64)>,
        /// `NONE`, or what was thrown.
        error: ErrorCode,
    },
    /// The application's own store took over the effect of a transaction, and with it the decision
    /// that it commits (two-phase commit, KIP-939).
    Decided {
        /// The transaction.
        transaction: TransactionRef,
    },
    /// `commitTransaction()` or `abortTransaction()` was called.
    EndCalled {
        /// The transaction.
        transaction: TransactionRef,
        /// Commit, or abort.
        commit: bool,
    },
    /// It returned.
    EndAnswered {
        /// The transaction.
        transaction: TransactionRef,
        /// Commit, or abort.
        commit: bool,
        /// How it ended.
        outcome: EndOutcome,
    },
    /// The producer can do nothing more but close.
    ProducerFailed {
        /// Which life.
        session: u32,
        /// The fatal error.
        error: ErrorCode,
    },
    /// The producer was closed, or its process died.
    ProducerClosed {
        /// Which life.
        session: u32,
    },
    /// A reader took records and moved its position.
    Polled {
        /// The partition.
        partition: TopicPartition,
        /// The reader's isolation level.
        isolation_level: IsolationLevel,
        /// Its position before.
        from: i64,
        /// Its position after.
        to: i64,
        /// What it delivered, as (offset, value), in order.
        records: Vec<(i64, Value)>,
        /// The bound that the answer carried: high watermark or last stable offset, by isolation;
        /// [`UNSEEN_BOUND`] if the application was not told.
        bound: i64,
    },
    /// A reader's position was set anew (start, reset, rewind, rebalance).
    PositionSet {
        /// The partition.
        partition: TopicPartition,
        /// The new position.
        offset: i64,
    },
    /// A reader asked for the end of a partition (ListOffsets, latest) and was told.
    EndOffset {
        /// The partition.
        partition: TopicPartition,
        /// The reader's isolation level.
        isolation_level: IsolationLevel,
        /// High watermark or last stable offset, by isolation.
        offset: i64,
    },
    /// A reader learned a committed offset of its group.
    OffsetsFetched {
        /// The group.
        group: GroupId,
        /// As (partition, offset); -1 is none.
        offsets: Vec<(TopicPartition, i64)>,
    },
    /// A rebalance callback was called.
    Rebalanced {
        /// The group.
        group: GroupId,
        /// Which callback.
        callback: Rebalance,
        /// Its partitions.
        partitions: Vec<TopicPartition>,
    },
    /// An actor found one of its own assumptions broken (white-box invariant).
    AssertionFailed {
        /// Which.
        assertion: String,
    },
}

/// A replica's log at one moment; from brokers the checker reads nothing else.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize)]
pub struct ReplicaDump {
    /// The broker.
    pub broker: BrokerId,
    /// The partition.
    pub partition: TopicPartition,
    /// It leads, as far as it knows.
    pub is_leader: bool,
    /// Its leader epoch.
    pub leader_epoch: LeaderEpoch,
    /// A running process hosts it; otherwise only what lies on the disk is shown.
    pub is_hosted: bool,
    /// Where the log begins.
    pub log_start_offset: i64,
    /// Exclusive bound of what is committed.
    pub high_watermark: i64,
    /// Exclusive bound of what is stable.
    pub last_stable_offset: i64,
    /// The next offset.
    pub log_end_offset: i64,
    /// The whole log.
    pub batches: Vec<RecordBatch>,
    /// The aborted-transaction index.
    pub aborted_transactions: Vec<AbortedTxn>,
    /// Producer state.
    pub producers: Vec<ProducerState>,
    /// The batches that are remembered of each producer, by producer id, oldest first.
    pub remembered: Vec<(ProducerId, RememberedBatch)>,
    /// What of this could not be seen, and means nothing.
    pub unseen: Unseen,
}

/// What whoever dumped a replica could not see; of a running broker of one's own, nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize)]
pub struct Unseen {
    /// High watermark or last stable offset.
    pub bounds: bool,
    /// The aborted-transaction index.
    pub aborted_transactions: bool,
    /// Producer state.
    pub producers: bool,
    /// The batches that are remembered.
    pub remembered: bool,
}

/// A batch of which a copy is recognised (`BatchMetadata`, L-ENT-2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
pub struct RememberedBatch {
    /// Sequence of its last record.
    pub last_sequence: Sequence,
    /// Offset of its last record.
    pub last_offset: i64,
    /// Last offset minus first offset.
    pub offset_delta: i32,
}

/// One transactional id as its coordinator holds it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize)]
pub struct TransactionDump {
    /// The coordinator.
    pub broker: BrokerId,
    /// The coordinator's epoch.
    pub coordinator_epoch: CoordinatorEpoch,
    /// The partition of `__transaction_state` that holds it.
    pub txn_topic_partition: i32,
    /// The transactional id.
    pub transactional_id: TransactionalId,
    /// Producer id.
    pub producer_id: ProducerId,
    /// Producer id when the last transition was prepared; -1 if none.
    pub previous_producer_id: ProducerId,
    /// The id that completion will bring; -1 if none.
    pub next_producer_id: ProducerId,
    /// Producer epoch.
    pub producer_epoch: ProducerEpoch,
    /// The epoch that a retry may present; -1 if none.
    pub last_producer_epoch: ProducerEpoch,
    /// Timeout, ms.
    pub transaction_timeout_ms: i32,
    /// State.
    pub state: TransactionState,
    /// The transition that is being written, if any.
    pub pending_state: Option<TransactionState>,
    /// Partitions that still belong to the transaction.
    pub partitions: Vec<TopicPartition>,
    /// When it became Ongoing, ms; -1 if none.
    pub start_timestamp_ms: i64,
    /// When the last transition was prepared, ms.
    pub last_update_timestamp_ms: i64,
    /// As recorded by the last AddPartitionsToTxn or EndTxn.
    pub client_transaction_version: i16,
}

/// A partition of an internal topic whose coordinator has loaded it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize)]
pub struct CoordinatorDump {
    /// The coordinator.
    pub broker: BrokerId,
    /// Of `__transaction_state` or `__consumer_offsets`.
    pub partition: TopicPartition,
    /// The leader epoch under which it was loaded.
    pub leader_epoch: LeaderEpoch,
    /// Of `__consumer_offsets`: committed and pending offsets.
    pub offsets: Vec<OffsetDump>,
}

/// One offset as its group coordinator holds it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct OffsetDump {
    /// The producer in whose open transaction it is pending; -1 if it is committed.
    pub producer_id: ProducerId,
    /// The group.
    pub group: GroupId,
    /// The partition that was read.
    pub partition: TopicPartition,
    /// The next offset to read.
    pub offset: i64,
}

/// Everything there is to see of a cluster at one moment.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize)]
pub struct ClusterDump {
    /// When.
    pub at: Instant,
    /// All faults are over and the deadlines for recovery have passed.
    pub healed: bool,
    /// Every replica of every partition, internal topics included.
    pub replicas: Vec<ReplicaDump>,
    /// Every transactional id at each broker that holds it as coordinator.
    pub transactions: Vec<TransactionDump>,
    /// What coordinators have loaded.
    pub coordinators: Vec<CoordinatorDump>,
}
