//! What the leader of a partition remembers of a producer (`ProducerStateEntry`).

use super::{Machine, MachineState, Unreached, events, row};

events! {
    /// What a producer's entry meets at a leader: batches and markers by their epoch, compared with
    /// the entry's.
    EntryEvent of Entry as EVENTS {
        /// Records outside of transactions, of an epoch that is over.
        DataOld = "data, old epoch",
        /// Records outside of transactions.
        Data = "data",
        /// Records outside of transactions, of a new epoch.
        DataNew = "data, new epoch",
        /// Records of a transaction, of an epoch that is over.
        TransactionalOld = "transactional data, old epoch",
        /// Records of a transaction.
        Transactional = "transactional data",
        /// Records of a transaction, of a new epoch.
        TransactionalNew = "transactional data, new epoch",
        /// A COMMIT marker of an epoch that is over.
        CommitOld = "COMMIT, old epoch",
        /// A COMMIT marker.
        Commit = "COMMIT",
        /// A COMMIT marker of a new epoch.
        CommitNew = "COMMIT, new epoch",
        /// An ABORT marker of an epoch that is over.
        AbortOld = "ABORT, old epoch",
        /// An ABORT marker.
        Abort = "ABORT",
        /// An ABORT marker of a new epoch.
        AbortNew = "ABORT, new epoch",
        /// Nothing was heard for `producer.id.expiration.ms`.
        Expired = "expired",
    }
}

/// A state of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryState {
    /// Nothing is known of the producer.
    None,
    /// No transaction is open.
    Idle,
    /// A transaction is open.
    Open,
}

impl MachineState for EntryState {
    type Event = EntryEvent;

    #[inline]
    fn place(self) -> usize {
        self as usize
    }
}

const STATES: &[&str] = &["none", "idle", "open"];

pub(super) const MACHINE: Machine = Machine {
    name: "entry",
    about: "a producer as the leader of a partition knows it (ProducerStateEntry)",
    states: STATES,
    events: EVENTS,
    unreached: UNREACHED,
};

const UNREACHED: &[Unreached] = &[
    row(
        &["none"],
        &["data, old epoch", "data", "transactional data, old epoch", "transactional data"],
        "to whom nobody is known every epoch is new (L-ENT-1)",
    ),
    row(
        &["none"],
        &["COMMIT, old epoch", "COMMIT", "ABORT, old epoch", "ABORT"],
        "to whom nobody is known every epoch is new (L-ENT-1)",
    ),
    row(&["none"], &["expired"], "there is nothing to expire"),
    row(&["open"], &["expired"], "an open transaction keeps its entry (L-EXP-1)"),
    row(
        &["open"],
        &["data, old epoch", "data", "data, new epoch"],
        "no client sends both kinds under one id; a test shows the refusal (L-TXN-3)",
    ),
];
