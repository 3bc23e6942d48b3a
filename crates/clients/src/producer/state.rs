//! The states of a transaction manager and the transitions between them
//! (`TransactionManager.State`, P-ST).

use core::fmt;

use eosim_types::machine::{MachineState, ProducerEvent};

/// A state of the transaction manager.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum State {
    /// No producer id was asked for.
    #[default]
    Uninitialized,
    /// InitProducerId is under way.
    Initializing,
    /// Between transactions; for an idempotent producer, at work.
    Ready,
    /// A transaction is open.
    InTransaction,
    /// A transaction is prepared for an external coordinator.
    PreparedTransaction,
    /// `commitTransaction()` was called.
    CommittingTransaction,
    /// `abortTransaction()` was called.
    AbortingTransaction,
    /// The transaction is lost and must be aborted.
    AbortableError,
    /// Nothing is left but `close()`.
    FatalError,
}

use State as S;

/// Each state with the states from which it may be entered.
pub const TRANSITIONS: [(State, &[State]); 9] = [
    (S::Uninitialized, &[S::Ready, S::AbortableError]),
    (S::Initializing, &[S::Uninitialized, S::CommittingTransaction, S::AbortingTransaction]),
    (S::Ready, &[S::Initializing, S::CommittingTransaction, S::AbortingTransaction]),
    (S::InTransaction, &[S::Ready]),
    (S::PreparedTransaction, &[S::InTransaction, S::Initializing]),
    (S::CommittingTransaction, &[S::InTransaction, S::PreparedTransaction]),
    (S::AbortingTransaction, &[S::InTransaction, S::PreparedTransaction, S::AbortableError]),
    (
        S::AbortableError,
        &[S::InTransaction, S::CommittingTransaction, S::AbortableError, S::Initializing],
    ),
    (S::FatalError, &ALL),
];

const ALL: [State; 9] = [
    S::Uninitialized,
    S::Initializing,
    S::Ready,
    S::InTransaction,
    S::PreparedTransaction,
    S::CommittingTransaction,
    S::AbortingTransaction,
    S::AbortableError,
    S::FatalError,
];

impl State {
    /// May `self` be followed by `target` (`isTransitionValid`)?
    #[must_use]
    pub fn may_become(self, target: Self) -> bool {
        TRANSITIONS[target as usize].1.contains(&self)
    }

    /// Kafka's spelling.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uninitialized => "UNINITIALIZED",
            Self::Initializing => "INITIALIZING",
            Self::Ready => "READY",
            Self::InTransaction => "IN_TRANSACTION",
            Self::PreparedTransaction => "PREPARED_TRANSACTION",
            Self::CommittingTransaction => "COMMITTING_TRANSACTION",
            Self::AbortingTransaction => "ABORTING_TRANSACTION",
            Self::AbortableError => "ABORTABLE_ERROR",
            Self::FatalError => "FATAL_ERROR",
        }
    }

    /// COMMITTING or ABORTING (`isCompleting`).
    #[must_use]
    pub const fn is_completing(self) -> bool {
        matches!(self, Self::CommittingTransaction | Self::AbortingTransaction)
    }

    /// `hasOngoingTransaction` (P-ST-5).
    #[must_use]
    pub const fn has_ongoing_transaction(self) -> bool {
        self.is_completing() || matches!(self, Self::InTransaction | Self::AbortableError)
    }

    /// ABORTABLE_ERROR or FATAL_ERROR (`hasError`).
    #[must_use]
    pub const fn is_error(self) -> bool {
        matches!(self, Self::AbortableError | Self::FatalError)
    }
}

impl MachineState for State {
    type Event = ProducerEvent;

    #[inline]
    fn place(self) -> usize {
        self as usize
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use core::fmt::Write;
    use eosim_types::machine::{MACHINES, MachineId};
    use expect_test::expect;

    #[test]
    fn the_table_prints_itself_p_st_1() {
        let mut table = String::new();
        for (target, sources) in TRANSITIONS {
            write!(table, "{target}:").expect("a string grows");
            for source in sources {
                write!(table, " {source}").expect("a string grows");
            }
            table.push('\n');
        }
        expect![[r#"
            UNINITIALIZED: READY ABORTABLE_ERROR
            INITIALIZING: UNINITIALIZED COMMITTING_TRANSACTION ABORTING_TRANSACTION
            READY: INITIALIZING COMMITTING_TRANSACTION ABORTING_TRANSACTION
            IN_TRANSACTION: READY
            PREPARED_TRANSACTION: IN_TRANSACTION INITIALIZING
            COMMITTING_TRANSACTION: IN_TRANSACTION PREPARED_TRANSACTION
            ABORTING_TRANSACTION: IN_TRANSACTION PREPARED_TRANSACTION ABORTABLE_ERROR
            ABORTABLE_ERROR: IN_TRANSACTION COMMITTING_TRANSACTION ABORTABLE_ERROR INITIALIZING
            FATAL_ERROR: UNINITIALIZED INITIALIZING READY IN_TRANSACTION PREPARED_TRANSACTION COMMITTING_TRANSACTION ABORTING_TRANSACTION ABORTABLE_ERROR FATAL_ERROR
        "#]]
        .assert_eq(&table);
    }

    #[test]
    fn states_are_counted_under_their_names() {
        let names = MACHINES[MachineId::Producer as usize].states;
        assert_eq!(names, ALL.map(State::name));
    }

    #[test]
    fn every_row_stands_at_its_own_place() {
        for (place, (target, _)) in TRANSITIONS.iter().enumerate() {
            assert_eq!(*target as usize, place);
        }
    }
}
