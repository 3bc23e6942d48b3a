//! What every name stands for: invariants, faults, rules, defects, requests, error codes, states, tickets,
//! scenarios, the words of aimed rules and the terms of the field, each with a page (`eosim explain NAME`, `eosim list … --verbose`).
//!
//! The text is what the code says of itself: the promise of an invariant, the schema of a fault, the
//! table of defects, the sentence of a rule. Terms, and what error codes mean, are written here.

mod aimed;
mod changes;
mod defects;
mod entry;
mod errors;
mod faults;
mod invariants;
mod library;
mod produced;
mod rules;
mod scenarios;
mod states;
mod terms;

use eosim_runner::InputError;

pub use entry::Entry;
pub use library::Library;
pub use produced::{Produced, TABLE, errors_in, produced};

/// Every entry, kind by kind: terms first, then what is checked, done and said.
#[must_use]
pub fn entries(library: &Library) -> Vec<Entry> {
    let mut entries = terms::entries();
    entries.extend(invariants::entries(library));
    entries.extend(faults::entries(library));
    entries.extend(aimed::entries(library));
    entries.extend(defects::entries(library));
    entries.extend(rules::entries(library));
    entries.extend(errors::entries(library));
    entries.extend(states::entries());
    entries.extend(changes::entries());
    entries.extend(scenarios::entries(library));
    entries
}

/// The entries of one kind.
#[must_use]
pub fn of_kind(kind: &str, library: &Library) -> Vec<Entry> {
    entries(library).into_iter().filter(|entry| entry.kind == kind).collect()
}

/// The entries called `name`; there may be several, as a state may be called like a term.
///
/// # Errors
/// If there is none; the nearest name is told.
pub fn look_up(name: &str, library: &Library) -> Result<Vec<Entry>, InputError> {
    let mut found = entries(library);
    let known: Vec<String> = found
        .iter()
        .flat_map(|entry| [&entry.name].into_iter().chain(&entry.aliases).cloned())
        .collect();
    found.retain(|entry| entry.is_called(name));
    if found.is_empty() {
        found.extend(rules::topic(name));
    }
    if found.is_empty() {
        return Err(unknown(name, &known));
    }
    Ok(found)
}

/// There is nothing called `name`; case and joints do not matter for the nearest name, either.
fn unknown(name: &str, known: &[String]) -> InputError {
    let expected = "a kept run, or the name of a rule, invariant, fault, defect, request, error code, \
        state, scenario, ticket, term or word of an aimed rule; eosim list names them";
    let plain: Vec<String> = known.iter().map(|known| entry::plain(known)).collect();
    let word = entry::plain(name);
    let nearest = eosim_runner::nearest(&word, plain.iter().map(String::as_str));
    let nearest = nearest.and_then(|near| plain.iter().position(|plain| plain == near));
    let mut error = InputError::new(name, "", "nothing of that name", expected);
    error.nearest = nearest.map(|at| known[at].clone());
    error
}
