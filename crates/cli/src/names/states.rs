//! The pages of states: from where each is reached, and where it leads.

use eosim_runner::machines::{self, StateMachine};

use super::Entry;
use super::rules::one_line;

/// Every state of the machines that `eosim dot` draws.
pub(super) fn entries() -> Vec<Entry> {
    let machines = [
        ("coordinator", "A transactional id at its coordinator", machines::coordinator()),
        ("producer", "The producer's transaction manager", machines::producer()),
        ("group", "A classic group at its coordinator", machines::group()),
    ];
    machines.iter().flat_map(|(name, of, machine)| of_machine(name, of, machine)).collect()
}

fn of_machine(name: &str, of: &str, machine: &StateMachine) -> Vec<Entry> {
    let entry = |(state, note): &(&'static str, Option<&'static str>)| {
        let edges = || machine.transitions.iter().filter(|(from, to, _)| from != to);
        let from = edges().filter(|(_, to, _)| to == state).map(|(from, ..)| *from);
        let to = edges().filter(|(from, ..)| from == state).map(|(_, to, _)| *to);
        let mut entry = Entry::new("state", *state, format!("{of} is in this state."))
            .with("note", *note)
            .with("reached from", one_line(from))
            .with("leads to", one_line(to))
            .shown_by([format!("eosim dot {name}")]);
        entry.aliases.push(format!("{name}/{state}"));
        entry
    };
    machine.states.iter().map(entry).collect()
}
