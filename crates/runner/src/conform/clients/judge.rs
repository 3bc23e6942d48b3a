//! Comparison of a client case with its recording: what does not count, and the first difference.

use serde_json::{Map, Value, json};

use eosim_sim::cluster::Exception;

use super::case::ClientCase;
use crate::conform::compare::{Difference, first_difference};

/// What the model gave.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Seen {
    pub(super) wire: Vec<Value>,
    pub(super) outcome: Vec<Value>,
    pub(super) client_state_end: Value,
}

/// The first difference: on the wire, in what the application saw, in the client's state.
pub(super) fn judge(case: &ClientCase, seen: &Seen) -> Option<Difference> {
    let mut outcome = seen.outcome.clone();
    for (recorded, model) in case.outcome.iter().zip(&mut outcome) {
        if recorded.get("state").is_some_and(Value::is_null) {
            model["state"] = Value::Null;
        }
    }
    let wire = differs("wire", &without_repetitions(&case.wire), &without_repetitions(&seen.wire));
    let outcome = || differs("outcome", &case.outcome, &outcome);
    let end = || {
        let recorded = &case.client_state_end;
        if recorded.is_null() {
            return None;
        }
        first_difference("client_state_end", recorded, &seen.client_state_end)
    };
    wire.or_else(outcome).or_else(end)
}

/// The first entry that differs, as a whole.
fn differs(what: &str, recorded: &[Value], model: &[Value]) -> Option<Difference> {
    (0..recorded.len().max(model.len())).find_map(|at| {
        let entry = |list: &[Value]| list.get(at).cloned().unwrap_or(Value::Null);
        let (recorded, model) = (entry(recorded), entry(model));
        let inner = first_difference(&format!("{what} {at}"), &recorded, &model)?;
        let alike = recorded.is_object() && model.is_object() && recorded["api"] == model["api"];
        if alike {
            return Some(inner);
        }
        Some(Difference { place: format!("{what} {at}"), recorded, model })
    })
}

/// The wire without what is timing: a look-up again at once, the repetition of an idle Fetch, the
/// order of partitions in an OffsetFetch.
fn without_repetitions(wire: &[Value]) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for entry in wire {
        let mut entry = entry.clone();
        if entry["api"] == "OffsetFetch"
            && let Some(partitions) = entry["partitions"].as_array_mut()
        {
            partitions.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        }
        let repeats = match entry["api"].as_str() {
            Some("FindCoordinator") => true,
            Some("Fetch") => entry["answer"]["scripted"] == false,
            _ => false,
        };
        if !(repeats && kept.last() == Some(&entry)) {
            kept.push(entry);
        }
    }
    kept
}

/// An exception with its causes, added to an entry.
pub(super) fn thrown(mut entry: Map<String, Value>, exception: &Exception) -> Map<String, Value> {
    entry.insert("exception".to_string(), json!(exception.class.name()));
    let causes: Vec<_> = exception.causes().take(4).map(|inner| inner.class.name()).collect();
    if !causes.is_empty() {
        entry.insert("causes".to_string(), json!(causes));
    }
    entry
}
