//! What a client is to be: plain data that a scenario is mapped to.

use alloc::vec::Vec;

use crate::producer::PreparedTransaction;
use eosim_types::config::{ConsumerConfig, ProducerConfig};
use eosim_types::version::TransactionVersion;
use eosim_types::{
    BrokerId, CoordinatorEpoch, Duration, Instant, ProducerEpoch, ProducerId, Sequence, Topic,
    TopicPartition, TransactionalId, Value,
};

/// One client of a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ClientSpec {
    /// An application that writes.
    Producer(ProducerSpec),
    /// An application that reads.
    Consumer(ConsumerSpec),
    /// An application that reads as a member of a group.
    GroupConsumer(GroupConsumerSpec),
    /// An application that reads, transforms and writes.
    Transformer(TransformerSpec),
    /// An operator.
    Admin(AdminSpec),
}

/// An application that writes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ProducerSpec {
    /// The producer's settings.
    pub config: ProducerConfig,
    /// `transactional.id`; `None` for a producer that is idempotent at most. Two clients with the
    /// same id are a successor and its zombie.
    pub transactional_id: Option<TransactionalId>,
    /// When it is started, counted from the start of the run (or of its process, after a crash
    /// before that instant).
    pub start_at: Instant,
    /// What it does.
    pub workload: ProducerWorkload,
}

/// What a producing application does.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ProducerWorkload {
    /// What chance decides.
    Random(RandomWorkload),
    /// What chance decides, under the eyes of an external store.
    TwoPhase(TwoPhaseWorkload),
    /// Exactly these steps, each after the one before is over. A failed step does not stop the
    /// script; a call that timed out is called again (P-APP).
    Script(Vec<ScriptStep>),
}

/// Transactions of random content; without a transactional id, bursts of records of the same
/// shape, each ended by a flush.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RandomWorkload {
    /// Where records go, each partition as likely as the others.
    pub partitions: Vec<TopicPartition>,
    /// How many transactions are begun, over all sessions.
    pub transactions: u32,
    /// Records of one transaction.
    pub records: Span<u32>,
    /// Out of 1000 transactions, how many the application aborts by its own will.
    pub abort_per_mille: u32,
    /// Out of 1000 records, after how many the application waits for all acknowledgements
    /// (`flush()`).
    pub flush_per_mille: u32,
    /// Pause before each transaction.
    pub pause: Span<Duration>,
    /// Pause before each record.
    pub record_pause: Span<Duration>,
    /// Size of each value, bytes.
    pub value_bytes: u32,
    /// How long the process takes to come back after a fatal error other than being fenced.
    pub restart_pause: Duration,
}

/// Transactions whose outcome an external store decides; after a crash the application does what
/// its store says.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TwoPhaseWorkload {
    /// The batches, a transaction each; one that is not decided is done again.
    pub batches: RandomWorkload,
    /// What batches are made from, by number; it exists outside of the cluster.
    pub input: TopicPartition,
    /// Pause between a decision and its commit.
    pub pause_before_commit: Span<Duration>,
}

/// From `min` to `max`, both included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span<T> {
    /// The least, and the quiet choice.
    pub min: T,
    /// The most.
    pub max: T,
}

/// One step of a scripted producer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ScriptStep {
    /// `initTransactions()`.
    InitTransactions,
    /// `beginTransaction()`.
    BeginTransaction,
    /// `send()`; does not wait for the acknowledgement.
    Send {
        /// Where to.
        partition: TopicPartition,
        /// What.
        value: Value,
        /// Size of the value, bytes.
        value_bytes: u32,
    },
    /// `flush()`: waits until every record sent is acknowledged or failed.
    Flush,
    /// `commitTransaction()`.
    CommitTransaction,
    /// `abortTransaction()`.
    AbortTransaction,
    /// `prepareTransaction()`.
    PrepareTransaction,
    /// The application's store takes over the effect of the prepared transaction.
    Decide,
    /// A transaction of a life before goes on.
    ResumeTransaction(PreparedTransaction),
    /// `close()`; a later `InitTransactions` or `Send` opens a new session.
    Close,
    /// Nothing until that instant.
    PauseUntil(Instant),
    /// Nothing for so long.
    Pause(Duration),
    /// One batch put on the wire by hand, past the producer's own bookkeeping, with the producer
    /// id of this session (asked for if need be); waits for the answer.
    RawProduce {
        /// Where to.
        partition: TopicPartition,
        /// Its base sequence, whatever was sent before.
        base_sequence: Sequence,
        /// How far its epoch is from the session's.
        epoch_delta: i16,
        /// It belongs to a transaction.
        is_transactional: bool,
        /// Its records.
        values: Vec<Value>,
        /// Size of each value, bytes.
        value_bytes: u32,
    },
}

/// An application that reads assigned partitions from their start, for ever.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ConsumerSpec {
    /// The consumer's settings.
    pub config: ConsumerConfig,
    /// The assigned partitions.
    pub partitions: Vec<TopicPartition>,
    /// When it is started.
    pub start_at: Instant,
    /// Pause between two polls that return something.
    pub poll_interval: Duration,
    /// When it asks for the end offsets of its partitions besides.
    pub end_offsets_at: Vec<Instant>,
}

/// An application that reads a topic as a member of a group, at least once.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GroupConsumerSpec {
    /// The consumer's settings; it has a group.
    pub config: ConsumerConfig,
    /// What is read.
    pub topic: Topic,
    /// When it is started.
    pub start_at: Instant,
    /// How it commits.
    pub commit: CommitMode,
    /// Pause for each record, before what was polled is committed.
    pub record_pause: Span<Duration>,
    /// Out of 1000 polls, after how many it leaves the group for a while.
    pub leave_per_mille: u32,
    /// How long it stays away after it left, or after an error.
    pub restart_pause: Duration,
}

/// How a group's member commits what it has read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CommitMode {
    /// `enable.auto.commit`.
    Auto,
    /// `commitSync()` after each poll that returned something.
    Sync,
    /// `commitAsync()`, likewise.
    Async,
}

/// Consume–transform–produce (K-CTP): a member of a group that reads a topic and makes, of each
/// record, records of another topic, in transactions that hold the group's offsets as well.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TransformerSpec {
    /// The consumer's settings; it has a group.
    pub consumer: ConsumerConfig,
    /// The producer's settings.
    pub producer: ProducerConfig,
    /// `transactional.id`, of this process alone (K-CTP-2).
    pub transactional_id: TransactionalId,
    /// What is read.
    pub input: Topic,
    /// Where the results go: each to the partition of its input's number.
    pub output: Topic,
    /// When it is started.
    pub start_at: Instant,
    /// How many polls make a transaction.
    pub polls: Span<u32>,
    /// Results of one record.
    pub results: Span<u32>,
    /// Pause before each record is transformed.
    pub record_pause: Span<Duration>,
    /// Out of 1000 transactions, how many the application aborts by its own will.
    pub abort_per_mille: u32,
    /// Out of 1000 transactions, after how many it leaves the group for a while.
    pub leave_per_mille: u32,
    /// Size of each value, bytes.
    pub value_bytes: u32,
    /// How long it stays away after it left, or after a fatal error.
    pub restart_pause: Duration,
    /// It stays closed once its producer is fenced: another process has its transactional id.
    pub gives_up_when_fenced: bool,
    /// What it does wrong.
    pub mistake: Option<Mistake>,
}

/// What applications on top of a correct client do wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mistake {
    /// The offsets are committed by the consumer after the transaction, not in it.
    OffsetsOutsideTransaction,
    /// After an abort it reads on where it stood (K-CTP-5).
    NoRewind,
    /// A commit that timed out is taken for a failure: its input is transformed again (P-APP).
    TimeoutIsFailure,
    /// It works on through a rebalance and takes the group's metadata when it sends the offsets
    /// (K-CTP-3).
    GroupMetadataLate,
    /// It names the group alone, not its own membership (K-CTP-1).
    GroupMetadataMissing,
}

impl ClientSpec {
    /// When the client is started.
    #[must_use]
    pub const fn start_at(&self) -> Instant {
        match self {
            Self::Producer(spec) => spec.start_at,
            Self::Consumer(spec) => spec.start_at,
            Self::GroupConsumer(spec) => spec.start_at,
            Self::Transformer(spec) => spec.start_at,
            Self::Admin(_) => Instant::START,
        }
    }
}

/// An operator: these steps, each after the one before is over.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AdminSpec {
    /// What is done.
    pub steps: Vec<AdminStep>,
}

/// One step of an operator.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum AdminStep {
    /// Nothing until that instant.
    PauseUntil(Instant),
    /// `electLeaders()`.
    ElectLeader {
        /// The partition.
        partition: TopicPartition,
        /// Also a replica that is not in sync.
        unclean: bool,
    },
    /// `alterPartitionReassignments()`.
    Reassign {
        /// The partition.
        partition: TopicPartition,
        /// Its new replicas, the preferred leader first.
        replicas: Vec<BrokerId>,
    },
    /// `deleteRecords()`.
    DeleteRecords {
        /// The partition.
        partition: TopicPartition,
        /// Everything below goes; -1 is the high watermark.
        offset: i64,
    },
    /// `updateFeatures()` of `transaction.version`.
    UpdateFeatures {
        /// The new level.
        transaction_version: TransactionVersion,
    },
    /// `abortTransaction()`, past the coordinator (L-TOOL-1, L-TOOL-2).
    AbortTransaction {
        /// The partition.
        partition: TopicPartition,
        /// Which transaction.
        spec: AbortTransactionSpec,
    },
}

/// Which transaction of a partition is aborted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AbortTransactionSpec {
    /// The one that begins at this offset.
    StartOffset(i64),
    /// That of this producer, unseen.
    Producer(MarkedProducer),
    /// One after the other, whatever `find-hanging` finds (L-TOOL-3).
    Hanging {
        /// What was written to within this time is left alone.
        max_transaction_timeout: Duration,
    },
}

/// What a marker names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MarkedProducer {
    /// Producer id.
    pub producer_id: ProducerId,
    /// The epoch under which the transaction was written.
    pub producer_epoch: ProducerEpoch,
    /// The marker's epoch of its coordinator.
    pub coordinator_epoch: CoordinatorEpoch,
}
