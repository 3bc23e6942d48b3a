//! A member of a KIP-848 group at its coordinator (`ConsumerGroupMember`).

use super::{Machine, MachineState, Unreached, events, row};
use crate::group_log::MemberState;

events! {
    /// What befalls a member.
    MemberEvent of Member as EVENTS {
        /// A heartbeat with which it joins anew.
        Joins = "joins",
        /// A heartbeat with which it stays.
        Heartbeat = "heartbeat",
        /// A heartbeat with which it leaves.
        Leaves = "leaves",
        /// A static member leaves and means to come back.
        LeavesForAWhile = "leaves for a while",
        /// OffsetCommit.
        OffsetCommit = "OffsetCommit",
        /// TxnOffsetCommit.
        TxnOffsetCommit = "TxnOffsetCommit",
        /// It was not heard of for too long.
        SessionTimedOut = "session timed out",
        /// It has not given its partitions up in time.
        RebalanceTimedOut = "rebalance timed out",
        /// It was read from the log.
        Loaded = "loaded",
    }
}

const STATES: [MemberState; 3] =
    [MemberState::Stable, MemberState::UnrevokedPartitions, MemberState::UnreleasedPartitions];

pub(super) const MACHINE: Machine = Machine {
    name: "member",
    about: "a member of a KIP-848 group at its coordinator (ConsumerGroupMember)",
    states: &[STATES[0].name(), STATES[1].name(), STATES[2].name()],
    events: EVENTS,
    unreached: UNREACHED,
};

const UNREACHED: &[Unreached] = &[row(
    &["STABLE", "UNRELEASED_PARTITIONS"],
    &["rebalance timed out"],
    "its timer ends when nothing is to be given up",
)];

impl MachineState for MemberState {
    type Event = MemberEvent;

    #[inline]
    fn place(self) -> usize {
        self as usize
    }
}
