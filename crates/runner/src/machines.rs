//! The state machines of the model, read from the tables that the model itself consults.

use eosim_sim::cluster::{CLASSIC_GROUP_TRANSITIONS, TRANSACTION_STATE_RULES, producer};
use eosim_types::record::TransactionState;

/// A state machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateMachine {
    /// Every state in Kafka's spelling, with what else there is to say of it.
    pub states: Vec<(&'static str, Option<&'static str>)>,
    /// Every transition, from and to, with the condition on which it exists.
    pub transitions: Vec<(&'static str, &'static str, Option<&'static str>)>,
}

/// Transactions at the coordinator (`TransactionState`).
#[must_use]
pub fn coordinator() -> StateMachine {
    let mut transitions = Vec::new();
    for rule in &TRANSACTION_STATE_RULES {
        let to = rule.target.name();
        let always = rule.valid_previous_states.iter().map(|from| (from.name(), to, None));
        let empty_commit = rule.empty_commit_previous_states.iter();
        transitions.extend(always);
        transitions.extend(empty_commit.map(|from| (from.name(), to, Some("from 4.5 on"))));
    }
    let note = |state| match state {
        TransactionState::Dead | TransactionState::PrepareEpochFence => Some("only ever pending"),
        _ => None,
    };
    let states = TRANSACTION_STATE_RULES.iter().map(|rule| {
        let expires = rule.expiration_allowed.then_some("may expire");
        (rule.target.name(), expires.or(note(rule.target)))
    });
    StateMachine { states: states.collect(), transitions }
}

/// The Java producer's `TransactionManager.State`.
#[must_use]
pub fn producer() -> StateMachine {
    let table = producer::TRANSITIONS.iter();
    let rows = table.flat_map(|(to, sources)| sources.iter().map(|from| (from.name(), to.name())));
    StateMachine {
        states: producer::TRANSITIONS.iter().map(|(state, _)| (state.name(), None)).collect(),
        transitions: rows.map(|(from, to)| (from, to, None)).collect(),
    }
}

/// A classic group at its coordinator (`ClassicGroupState`).
#[must_use]
pub fn group() -> StateMachine {
    let table = CLASSIC_GROUP_TRANSITIONS.iter();
    let rows = table.flat_map(|(to, sources)| sources.iter().map(|from| (from.name(), to.name())));
    StateMachine {
        states: CLASSIC_GROUP_TRANSITIONS.iter().map(|(state, _)| (state.name(), None)).collect(),
        transitions: rows.map(|(from, to)| (from, to, None)).collect(),
    }
}
