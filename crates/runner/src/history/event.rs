//! A line of a history after the first: what a client did or learned, or what brokers hold.
//!
//! No Kafka counterpart; methods of Kafka's clients are named where the line is about one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::log::{AbortedEntry, Batch, HeldOffset, ProducerEntry, TransactionEntry};
use super::word::{Callback, Count, Error, Isolation, Name, Number, Offset, Outcome, Partition};
use super::word::{Sent, Tagged, Text};

/// When, and at which step of the system that was observed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(super) struct Stamp {
    /// Microseconds since the history began. Either this or `at_ms`; never less than before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Offset")]
    pub(super) at_us: Option<i64>,
    /// The same in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Offset")]
    pub(super) at_ms: Option<i64>,
    /// A number that anomalies are reported with; the number of the line if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Offset")]
    pub(super) step: Option<i64>,
}

/// An offset of a partition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Position {
    /// The partition.
    pub(super) partition: Partition,
    /// The offset; -1 is none.
    pub(super) offset: Tagged,
}

/// A record as a reader was given it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Read {
    /// Where it lies.
    pub(super) offset: Offset,
    /// What it says.
    pub(super) value: Name,
}

/// What a line is about.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Event {
    /// `new KafkaProducer()`.
    ProducerOpened {
        /// Who.
        client: Name,
        /// Which producer of that client, counted from 0.
        #[serde(default, skip_serializing_if = "is_zero")]
        session: Count,
        /// None if it is idempotent only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Name")]
        transactional_id: Option<Name>,
    },
    /// `initTransactions()` returned.
    TransactionsInitialized {
        /// Who.
        client: Name,
        /// Which of its producers.
        #[serde(default, skip_serializing_if = "is_zero")]
        session: Count,
    },
    /// `beginTransaction()` returned.
    TransactionBegun {
        /// Who.
        client: Name,
        /// Which of its producers.
        #[serde(default, skip_serializing_if = "is_zero")]
        session: Count,
        /// Which transaction of that producer, as the client counts them.
        transaction: Count,
    },
    /// `send()` is called.
    SendCalled {
        /// Who.
        client: Name,
        /// Which of its producers.
        #[serde(default, skip_serializing_if = "is_zero")]
        session: Count,
        /// In which transaction, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Count")]
        transaction: Option<Count>,
        /// Where to.
        partition: Partition,
        /// What the record says: no other record says the same.
        value: Name,
        /// The input record that it was made from, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Position")]
        input: Option<Position>,
    },
    /// The future of a `send()` completed, or `send()` threw.
    SendAnswered {
        /// Who.
        client: Name,
        /// Where to.
        partition: Partition,
        /// Which record.
        value: Name,
        /// How it ended.
        outcome: Sent,
        /// Where the record lies, if that was told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Offset")]
        offset: Option<Offset>,
        /// Why it was refused or is unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Error")]
        error: Option<Error>,
    },
    /// `sendOffsetsToTransaction()` returned, or threw.
    OffsetsSent {
        /// Who.
        client: Name,
        /// Which of its producers.
        #[serde(default, skip_serializing_if = "is_zero")]
        session: Count,
        /// The transaction.
        transaction: Count,
        /// The group.
        group: Name,
        /// The offsets.
        #[schemars(length(max = 1000))]
        offsets: Vec<Position>,
        /// What was thrown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Error")]
        error: Option<Error>,
    },
    /// A store of the application's own decided that the transaction commits (KIP-939).
    Decided {
        /// Who.
        client: Name,
        /// Which of its producers.
        #[serde(default, skip_serializing_if = "is_zero")]
        session: Count,
        /// The transaction.
        transaction: Count,
    },
    /// `commitTransaction()` is called.
    CommitCalled {
        /// Who.
        client: Name,
        /// The producer that began the transaction.
        #[serde(default, skip_serializing_if = "is_zero")]
        session: Count,
        /// The transaction.
        transaction: Count,
    },
    /// It returned, or threw.
    CommitAnswered {
        /// Who.
        client: Name,
        /// The producer that began the transaction.
        #[serde(default, skip_serializing_if = "is_zero")]
        session: Count,
        /// The transaction.
        transaction: Count,
        /// How it ended.
        outcome: Outcome,
        /// What was thrown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Error")]
        error: Option<Error>,
    },
    /// `abortTransaction()` is called.
    AbortCalled {
        /// Who.
        client: Name,
        /// The producer that began the transaction.
        #[serde(default, skip_serializing_if = "is_zero")]
        session: Count,
        /// The transaction.
        transaction: Count,
    },
    /// It returned, or threw.
    AbortAnswered {
        /// Who.
        client: Name,
        /// The producer that began the transaction.
        #[serde(default, skip_serializing_if = "is_zero")]
        session: Count,
        /// The transaction.
        transaction: Count,
        /// How it ended.
        outcome: Outcome,
        /// What was thrown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Error")]
        error: Option<Error>,
    },
    /// A fatal error: the producer can do nothing more but close.
    ProducerFailed {
        /// Who.
        client: Name,
        /// Which of its producers.
        #[serde(default, skip_serializing_if = "is_zero")]
        session: Count,
        /// The error.
        error: Error,
    },
    /// The producer was closed, or its process died.
    ProducerClosed {
        /// Who.
        client: Name,
        /// Which of its producers.
        #[serde(default, skip_serializing_if = "is_zero")]
        session: Count,
    },
    /// `poll()` returned, or a reader's position moved.
    Polled {
        /// Who.
        client: Name,
        /// The partition.
        partition: Partition,
        /// The reader's `isolation.level`.
        isolation_level: Isolation,
        /// `position()` before; where the poll before ended if it is not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Offset")]
        from: Option<Offset>,
        /// `position()` after; behind the last record if it is not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Offset")]
        to: Option<Offset>,
        /// The high watermark or last stable offset that the answer carried, if it was seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Offset")]
        bound: Option<Offset>,
        /// What was delivered, in order.
        #[schemars(length(max = 100_000))]
        records: Vec<Read>,
    },
    /// A reader's position was set: `seek()`, a reset, or a committed offset after a rebalance.
    PositionSet {
        /// Who.
        client: Name,
        /// The partition.
        partition: Partition,
        /// Where to.
        offset: Offset,
    },
    /// `endOffsets()` returned.
    EndOffset {
        /// Who.
        client: Name,
        /// The partition.
        partition: Partition,
        /// The reader's `isolation.level`.
        isolation_level: Isolation,
        /// The end.
        offset: Offset,
    },
    /// A reader learned the committed offsets of its group.
    OffsetsFetched {
        /// Who.
        client: Name,
        /// The group.
        group: Name,
        /// The offsets.
        #[schemars(length(max = 10_000))]
        offsets: Vec<Position>,
    },
    /// A `ConsumerRebalanceListener` was called.
    Rebalanced {
        /// Who.
        client: Name,
        /// The group.
        group: Name,
        /// With what.
        callback: Callback,
        /// Of which partitions.
        #[schemars(length(max = 10_000))]
        partitions: Vec<Partition>,
    },
    /// A node found one of its own assumptions broken.
    AssertionFailed {
        /// Who.
        client: Name,
        /// Which.
        assertion: Text,
    },
    /// What brokers hold: the `replica`, `batch`, `transaction` and `coordinator` lines that follow.
    /// If no client does anything after it, it is the end.
    Dump {
        /// All faults are over, and the time has passed in which everything comes to rest.
        #[serde(default, skip_serializing_if = "is_false")]
        healed: bool,
    },
    /// A partition at a broker. Its batches follow.
    Replica {
        /// `broker.id`.
        broker: Number,
        /// The partition.
        partition: Partition,
        /// It leads.
        #[serde(default, skip_serializing_if = "is_false")]
        is_leader: bool,
        /// Its leader epoch.
        #[serde(default)]
        #[schemars(with = "Number")]
        leader_epoch: i32,
        /// The process is down: what follows lies on its disk.
        #[serde(default, skip_serializing_if = "is_false")]
        is_down: bool,
        /// Where the log begins. Nothing is said of what lies before its batches if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Offset")]
        log_start_offset: Option<Offset>,
        /// High watermark, if it was seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Offset")]
        high_watermark: Option<Offset>,
        /// Last stable offset, if it was seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Offset")]
        last_stable_offset: Option<Offset>,
        /// The next offset; behind the last batch if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Offset")]
        log_end_offset: Option<Offset>,
        /// Batches below this offset are those of the dump before and do not follow.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Offset")]
        unchanged_below: Option<Offset>,
        /// The whole `.txnindex`, if it was seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Vec<AbortedEntry>")]
        aborted_transactions: Option<Vec<AbortedEntry>>,
        /// Every producer as `DescribeProducers` shows it, if that was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Vec<ProducerEntry>")]
        producers: Option<Vec<ProducerEntry>>,
    },
    /// A batch of the replica whose line came last, as `kafka-dump-log.sh --print-data-log` prints
    /// it.
    Batch(Box<Batch>),
    /// A transactional id as its coordinator holds it.
    Transaction(Box<TransactionEntry>),
    /// A partition of `__transaction_state` or `__consumer_offsets` that a coordinator has loaded;
    /// all its transactional ids stand in `transaction` lines.
    Coordinator {
        /// `broker.id`.
        broker: Number,
        /// The partition.
        partition: Partition,
        /// The leader epoch under which it was loaded.
        #[serde(default)]
        #[schemars(with = "Number")]
        leader_epoch: i32,
        /// Of `__consumer_offsets`: offsets, pending ones (with their producer id) behind.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        offsets: Vec<HeldOffset>,
    },
    /// Whoever drove the system found something that does not move although all faults are over.
    Stuck {
        /// What.
        what: Text,
        /// What it waits for.
        waiting_for: Text,
        /// Since when, microseconds.
        #[serde(default)]
        #[schemars(with = "Offset")]
        since_us: i64,
        /// The rule of Kafka's that would free it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<Text>,
    },
    /// Whoever drove the system could not go on: nothing found is inconclusive.
    GaveUp {
        /// Why.
        why: Text,
    },
    /// The system broke off; nothing after it counts.
    BrokeOff {
        /// How.
        how: Text,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(count: &Count) -> bool {
    count.0 == 0
}
