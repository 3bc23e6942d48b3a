//! A producer's transaction manager (`TransactionManager`).

use super::{Machine, Unreached, events, row};

events! {
    /// What a transaction manager meets.
    ProducerEvent of Producer as EVENTS {
        /// `initTransactions()`.
        InitTransactions = "initTransactions",
        /// `beginTransaction()`.
        BeginTransaction = "beginTransaction",
        /// A record is appended to a partition.
        Send = "send",
        /// `sendOffsetsToTransaction()`.
        SendOffsets = "sendOffsetsToTransaction",
        /// `prepareTransaction()`.
        PrepareTransaction = "prepareTransaction",
        /// `commitTransaction()`.
        CommitTransaction = "commitTransaction",
        /// `abortTransaction()`.
        AbortTransaction = "abortTransaction",
        /// A coordinator was found.
        FoundCoordinator = "FindCoordinator answered",
        /// InitProducerId succeeded.
        InitProducerIdDone = "InitProducerId answered",
        /// AddPartitionsToTxn succeeded.
        AddPartitionsDone = "AddPartitionsToTxn answered",
        /// AddOffsetsToTxn succeeded.
        AddOffsetsDone = "AddOffsetsToTxn answered",
        /// TxnOffsetCommit succeeded.
        OffsetCommitDone = "TxnOffsetCommit answered",
        /// EndTxn succeeded.
        EndTxnDone = "EndTxn answered",
        /// A transactional request met an error that its API sends again.
        RequestRetries = "retriable error",
        /// A transactional request met another error.
        RequestFailed = "other error",
        /// A transactional request was not answered: the connection broke, or time ran out.
        RequestUnanswered = "no answer",
        /// A batch was acknowledged.
        BatchDone = "batch acknowledged",
        /// A batch was given up.
        BatchFailed = "batch failed",
    }
}

const STATES: &[&str] = &[
    "UNINITIALIZED",
    "INITIALIZING",
    "READY",
    "IN_TRANSACTION",
    "PREPARED_TRANSACTION",
    "COMMITTING_TRANSACTION",
    "ABORTING_TRANSACTION",
    "ABORTABLE_ERROR",
    "FATAL_ERROR",
];

pub(super) const MACHINE: Machine = Machine {
    name: "producer",
    about: "a producer's transaction manager (TransactionManager)",
    states: STATES,
    events: EVENTS,
    unreached: UNREACHED,
};

const CALLS: &[&str] = &[
    "initTransactions",
    "beginTransaction",
    "send",
    "sendOffsetsToTransaction",
    "prepareTransaction",
    "commitTransaction",
    "abortTransaction",
];

/// Answers to requests of an open transaction, or of its end.
const OF_TRANSACTIONS: &[&str] = &[
    "AddPartitionsToTxn answered",
    "AddOffsetsToTxn answered",
    "TxnOffsetCommit answered",
    "EndTxn answered",
];

const ANY_ANSWER: &[&str] = &[
    "FindCoordinator answered",
    "InitProducerId answered",
    "AddPartitionsToTxn answered",
    "AddOffsetsToTxn answered",
    "TxnOffsetCommit answered",
    "EndTxn answered",
    "retriable error",
    "other error",
    "no answer",
];

const BATCHES: &[&str] = &["batch acknowledged", "batch failed"];

const ORDER: &str = "applications of the library call in order; tests show the refusal (P-API)";
const ASKED_ELSEWHERE: &str = "it is asked for in another state alone";
const NOTHING_OUT: &str = "nothing is under way in it";
const FLUSHED: &str = "prepareTransaction() has flushed before";

const UNREACHED: &[Unreached] = &[
    row(&["UNINITIALIZED"], ANY_ANSWER, NOTHING_OUT),
    row(&["UNINITIALIZED"], BATCHES, NOTHING_OUT),
    row(
        &["UNINITIALIZED"],
        &["beginTransaction", "send", "sendOffsetsToTransaction", "prepareTransaction"],
        ORDER,
    ),
    row(&["UNINITIALIZED"], &["commitTransaction", "abortTransaction"], ORDER),
    row(
        &["INITIALIZING"],
        &[
            "sendOffsetsToTransaction",
            "prepareTransaction",
            "commitTransaction",
            "abortTransaction",
        ],
        ORDER,
    ),
    row(&["INITIALIZING"], OF_TRANSACTIONS, "InitProducerId overtakes them (P-SND-3)"),
    row(&["READY"], ANY_ANSWER, NOTHING_OUT),
    row(
        &["READY"],
        &[
            "initTransactions",
            "sendOffsetsToTransaction",
            "prepareTransaction",
            "commitTransaction",
            "abortTransaction",
        ],
        ORDER,
    ),
    row(&["IN_TRANSACTION"], &["initTransactions", "beginTransaction"], ORDER),
    row(&["IN_TRANSACTION"], &["InitProducerId answered", "EndTxn answered"], ASKED_ELSEWHERE),
    row(&["PREPARED_TRANSACTION"], ANY_ANSWER, FLUSHED),
    row(&["PREPARED_TRANSACTION"], &["batch acknowledged"], FLUSHED),
    row(
        &["PREPARED_TRANSACTION"],
        &["initTransactions", "beginTransaction", "send", "sendOffsetsToTransaction"],
        ORDER,
    ),
    row(&["PREPARED_TRANSACTION"], &["prepareTransaction"], ORDER),
    row(
        &["COMMITTING_TRANSACTION", "ABORTING_TRANSACTION"],
        CALLS,
        "after a time-out the same call is made again, no other (P-APP)",
    ),
    row(
        &["COMMITTING_TRANSACTION", "ABORTING_TRANSACTION"],
        &["InitProducerId answered"],
        ASKED_ELSEWHERE,
    ),
    row(
        &["COMMITTING_TRANSACTION"],
        &["AddOffsetsToTxn answered", "TxnOffsetCommit answered"],
        "sendOffsetsToTransaction() has waited for it",
    ),
    row(&["ABORTABLE_ERROR"], &["initTransactions", "beginTransaction"], ORDER),
    row(&["ABORTABLE_ERROR"], &["InitProducerId answered", "EndTxn answered"], ASKED_ELSEWHERE),
    row(
        &["PREPARED_TRANSACTION"],
        &["abortTransaction"],
        "what is prepared is decided at once, or left to the next life",
    ),
    row(
        &["INITIALIZING"],
        &["batch failed"],
        "the batches of a transaction have ended before it has (P-SND-2)",
    ),
    row(&["FATAL_ERROR"], ANY_ANSWER, "applications close such a producer at once (P-APP)"),
    row(&["FATAL_ERROR"], CALLS, "applications close such a producer (P-APP)"),
];
