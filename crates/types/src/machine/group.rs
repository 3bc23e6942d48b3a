//! A classic group at its coordinator (`ClassicGroup`).

use super::{Machine, Unreached, events, row};

events! {
    /// What a classic group meets.
    GroupEvent of Group as EVENTS {
        /// JoinGroup.
        JoinGroup = "JoinGroup",
        /// SyncGroup.
        SyncGroup = "SyncGroup",
        /// Heartbeat.
        Heartbeat = "Heartbeat",
        /// LeaveGroup.
        LeaveGroup = "LeaveGroup",
        /// OffsetCommit.
        OffsetCommit = "OffsetCommit",
        /// TxnOffsetCommit.
        TxnOffsetCommit = "TxnOffsetCommit",
        /// A member was not heard of for too long.
        SessionTimedOut = "session timed out",
        /// The join phase has lasted long enough.
        JoinTimedOut = "join timed out",
        /// Members have not synced in time.
        SyncTimedOut = "sync timed out",
        /// The leader's assignment is in the log.
        AssignmentWritten = "assignment written",
        /// The leader's assignment is not in the log.
        AssignmentFailed = "assignment failed",
        /// It was read from the log.
        Loaded = "loaded",
        /// The broker coordinates it no more.
        Resigned = "resigned",
    }
}

const STATES: &[&str] = &["Empty", "PreparingRebalance", "CompletingRebalance", "Stable"];

pub(super) const MACHINE: Machine = Machine {
    name: "group",
    about: "a classic group at its coordinator (ClassicGroup)",
    states: STATES,
    events: EVENTS,
    unreached: UNREACHED,
};

const UNREACHED: &[Unreached] = &[
    row(
        &["Empty", "CompletingRebalance", "Stable"],
        &["join timed out"],
        "its timer ends with the join phase",
    ),
    row(
        &["Empty", "PreparingRebalance"],
        &["sync timed out"],
        "its timer ends when members must join again",
    ),
    row(
        &["PreparingRebalance", "CompletingRebalance"],
        &["loaded"],
        "phases die with the coordinator: a load finds members at rest",
    ),
    row(&["Empty"], &["loaded"], "without members no session begins"),
];
