//! A transactional id at its coordinator (`TransactionMetadata`).

use super::{Machine, Unreached, events, row};

events! {
    /// What a transactional id meets at its coordinator.
    CoordinatorEvent of Coordinator as EVENTS {
        /// InitProducerId.
        InitProducerId = "InitProducerId",
        /// AddPartitionsToTxn of a producer, or of a leader for version 2.
        AddPartitionsToTxn = "AddPartitionsToTxn",
        /// AddPartitionsToTxn of a leader that only asks.
        VerifyPartitions = "AddPartitionsToTxn(verify)",
        /// AddOffsetsToTxn.
        AddOffsetsToTxn = "AddOffsetsToTxn",
        /// EndTxn of a producer that commits.
        EndTxnCommit = "EndTxn(COMMIT)",
        /// EndTxn of a producer that aborts.
        EndTxnAbort = "EndTxn(ABORT)",
        /// The coordinator aborts by itself, after a fence or a time-out.
        OwnAbort = "own ABORT",
        /// The transaction has been open for too long.
        TimedOut = "timed out",
        /// The record of a transition is replicated.
        Replicated = "replicated",
        /// The append of a transition has failed.
        AppendFailed = "append failed",
        /// All markers are written.
        MarkersWritten = "markers written",
        /// The id was not used for long.
        Expired = "expired",
        /// The tombstone of an expired id is in the log, or never will be.
        TombstoneAnswered = "tombstone answered",
        /// It was read from the log.
        Loaded = "loaded",
        /// The broker coordinates it no more.
        Resigned = "resigned",
    }
}

/// The states by their ids, then the transition that is being written.
const STATES: &[&str] = &[
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
    "pending Empty",
    "pending Ongoing",
    "pending PrepareCommit",
    "pending PrepareAbort",
    "pending CompleteCommit",
    "pending CompleteAbort",
    "pending Dead",
    "pending PrepareEpochFence",
];

pub(super) const MACHINE: Machine = Machine {
    name: "coordinator",
    about: "a transactional id at its coordinator (TransactionMetadata)",
    states: STATES,
    events: EVENTS,
    unreached: UNREACHED,
};

/// States in which nothing is being written.
const SETTLED: &[&str] =
    &["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"];

/// States in which something is being written, but for the fence, which is over in one step; the
/// tombstone last.
const PENDING: &[&str] = &[
    "pending Empty",
    "pending Ongoing",
    "pending PrepareCommit",
    "pending PrepareAbort",
    "pending CompleteCommit",
    "pending CompleteAbort",
    "pending Dead",
];

/// The tombstone, which is no transition, and those that are one.
const DEAD: &[&str] = PENDING.split_at(PENDING.len() - 1).1;
const TRANSITIONS: &[&str] = PENDING.split_at(PENDING.len() - 1).0;

const DECIDED: &[&str] = &["PrepareCommit", "PrepareAbort"];
const IDLE: &[&str] = &["Empty", "CompleteCommit", "CompleteAbort"];
const FENCE: &[&str] = &["pending PrepareEpochFence"];

/// What may come at any time.
const ANY_TIME: &[&str] = &[
    "InitProducerId",
    "AddPartitionsToTxn",
    "AddPartitionsToTxn(verify)",
    "AddOffsetsToTxn",
    "EndTxn(COMMIT)",
    "EndTxn(ABORT)",
    "tombstone answered",
    "resigned",
];

const TOMBSTONE: &[&str] = &["tombstone answered"];
const WAITS_FOR_TOMBSTONE: &str = "an id whose tombstone is under way is pending Dead (C-EXP-2)";
const APPENDED: &[&str] = &["replicated", "append failed"];

const UNREACHED: &[Unreached] = &[
    row(&["Dead", "PrepareEpochFence"], &[], "only ever pending (C-SM-2, C-SM-8)"),
    row(DECIDED, ANY_TIME, "its completion is pending in the same step (C-END-21, C-LOAD-7)"),
    row(FENCE, ANY_TIME, "the fence and its abort are one step (C-END-22)"),
    row(SETTLED, &["own ABORT"], "the coordinator prepares its fence first (C-SM-2)"),
    row(PENDING, &["own ABORT"], "the coordinator prepares its fence first (C-SM-2)"),
    row(PENDING, &["loaded"], "a load finds nothing pending (C-LOAD-5)"),
    row(FENCE, &["loaded"], "a load finds nothing pending (C-LOAD-5)"),
    row(IDLE, &["timed out"], "only Ongoing times out (C-TMO-1)"),
    row(DECIDED, &["timed out", "expired"], "it is neither open nor idle (C-TMO-1, C-EXP-1)"),
    row(PENDING, &["timed out", "expired"], "a transition is pending (C-TMO-1, C-EXP-1)"),
    row(FENCE, &["timed out", "expired"], "a transition is pending (C-TMO-1, C-EXP-1)"),
    row(&["Ongoing"], &["expired"], "only an idle id expires (C-EXP-1)"),
    row(SETTLED, APPENDED, "what is being appended is pending (C-APP-4)"),
    row(FENCE, APPENDED, "a fence is never written as it is (C-SM-2)"),
    row(SETTLED, TOMBSTONE, WAITS_FOR_TOMBSTONE),
    row(TRANSITIONS, TOMBSTONE, WAITS_FOR_TOMBSTONE),
    row(
        DEAD,
        &["AddOffsetsToTxn", "AddPartitionsToTxn(verify)"],
        "AddPartitionsToTxn comes first and waits; only requests late by a whole expiry get here",
    ),
    row(DEAD, APPENDED, "a tombstone is no transition (C-EXP-2)"),
    row(SETTLED, &["markers written"], "the completion is pending meanwhile (C-END-21)"),
    row(FENCE, &["markers written"], "the completion is pending meanwhile (C-END-21)"),
    row(
        &[
            "pending Empty",
            "pending Ongoing",
            "pending PrepareCommit",
            "pending PrepareAbort",
            "pending Dead",
        ],
        &["markers written"],
        "markers follow the decision (C-END-21)",
    ),
];
