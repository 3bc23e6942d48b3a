//! Which state may follow which, as data, so that the machine can also be printed.
//!
//! Kafka counterpart: `TransactionState.VALID_PREVIOUS_STATES` and `isExpirationAllowed`.

use eosim_types::machine::{CoordinatorEvent, MachineState};
use eosim_types::record::TransactionState::{
    self, CompleteAbort, CompleteCommit, Dead, Empty, Ongoing, PrepareAbort, PrepareCommit,
    PrepareEpochFence,
};

/// One row of the table of states (coordinator 2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateRule {
    /// The state that is entered.
    pub target: TransactionState,
    /// The states from which it may be entered.
    pub valid_previous_states: &'static [TransactionState],
    /// Further ones with [`Capability::EmptyCommitBumps`](eosim_types::Capability).
    pub empty_commit_previous_states: &'static [TransactionState],
    /// A transactional id may expire in this state.
    pub expiration_allowed: bool,
}

const fn row(
    target: TransactionState,
    valid_previous_states: &'static [TransactionState],
    expiration_allowed: bool,
) -> StateRule {
    StateRule {
        target,
        valid_previous_states,
        empty_commit_previous_states: &[],
        expiration_allowed,
    }
}

/// The states in which no transaction is open or being ended.
const IDLE: &[TransactionState] = &[Empty, CompleteCommit, CompleteAbort];

/// The table, in the order of [`TransactionState::ALL`], which is that of the status ids (C-REC-5).
pub const STATE_RULES: [StateRule; 8] = [
    row(Empty, IDLE, true),
    row(Ongoing, &[Ongoing, Empty, CompleteCommit, CompleteAbort], false),
    StateRule { empty_commit_previous_states: IDLE, ..row(PrepareCommit, &[Ongoing], false) },
    row(PrepareAbort, &[Ongoing, PrepareEpochFence, Empty, CompleteCommit, CompleteAbort], false),
    row(CompleteCommit, &[PrepareCommit], true),
    row(CompleteAbort, &[PrepareAbort], true),
    row(Dead, &[Empty, CompleteAbort, CompleteCommit], false),
    row(PrepareEpochFence, &[Ongoing], false),
];

/// A state and the transition that is being written, as one of the states that are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Phase(pub(crate) TransactionState, pub(crate) Option<TransactionState>);

impl MachineState for Phase {
    type Event = CoordinatorEvent;

    #[inline]
    fn place(self) -> usize {
        let Self(state, pending) = self;
        pending.map_or(state as usize, |pending| STATE_RULES.len() + pending as usize)
    }
}

/// The row of `state`.
#[must_use]
pub const fn state_rule(state: TransactionState) -> &'static StateRule {
    &STATE_RULES[state as usize]
}

/// May `target` follow `from`? With [`Capability::EmptyCommitBumps`](eosim_types::Capability) more may.
#[must_use]
pub fn is_valid_transition(
    from: TransactionState,
    target: TransactionState,
    empty_commit_bumps: bool,
) -> bool {
    let rule = state_rule(target);
    rule.valid_previous_states.contains(&from)
        || (empty_commit_bumps && rule.empty_commit_previous_states.contains(&from))
}

/// No transaction is open or being ended: Empty, CompleteCommit, CompleteAbort.
pub(crate) fn is_idle(state: TransactionState) -> bool {
    IDLE.contains(&state)
}

/// A decision is durable and its markers are under way.
pub(crate) const fn is_prepare(state: TransactionState) -> bool {
    matches!(state, PrepareCommit | PrepareAbort)
}

/// All markers are written.
pub(crate) const fn is_complete(state: TransactionState) -> bool {
    matches!(state, CompleteCommit | CompleteAbort)
}

#[cfg(test)]
mod tests {
    use super::*;
    use eosim_types::machine::{MACHINES, MachineId};

    #[test]
    fn rows_stand_in_the_order_of_the_states() {
        for state in TransactionState::ALL {
            assert_eq!(state_rule(state).target, state);
        }
    }

    #[test]
    fn states_are_counted_under_their_names() {
        for state in TransactionState::ALL {
            let names = MACHINES[MachineId::Coordinator as usize].states;
            assert_eq!(names[Phase(Empty, None).place()], "Empty");
            assert_eq!(names[Phase(state, None).place()], state.name());
            let pending = names[Phase(Empty, Some(state)).place()];
            assert_eq!(pending.strip_prefix("pending "), Some(state.name()));
        }
    }

    #[test]
    fn only_an_empty_commit_differs_between_versions_c_end_13() {
        for from in TransactionState::ALL {
            for target in TransactionState::ALL {
                let old = is_valid_transition(from, target, false);
                let new = is_valid_transition(from, target, true);
                assert_eq!(old != new, target == PrepareCommit && is_idle(from));
            }
        }
    }
}
