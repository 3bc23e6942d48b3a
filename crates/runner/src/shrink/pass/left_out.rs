//! Leaves out entries of lists (faults that are aimed, steps of operators and scripts, clients,
//! partitions), faults that strike at random, topics and settings.

use eosim_scenario::plan::FAULTS;
use serde_json::Value;

use super::{blocks, changed, walk};
use crate::shrink::trial::{Best, Proposal};

/// Lists that say something about the scenario, and do nothing in it.
const WORDS: [&str; 7] = ["shows", "tags", "rules", "defects", "requires", "expect", "replicas"];

/// Objects whose entries are independent of one another.
const MAPS: [&str; 6] =
    ["topics", "place", "kafka", "settings", "producer_settings", "consumer_settings"];

/// Proposals to leave something out.
pub(crate) fn left_out(best: &Best) -> Vec<Proposal> {
    let mut proposals = Vec::new();
    walk(&best.value, "", "", &mut |place, key, value| match value {
        Value::Array(list) if !WORDS.iter().any(|word| place.contains(word)) => {
            for range in blocks(list.len(), usize::MAX) {
                proposals.push(changed(&best.value, place, |list| {
                    list.as_array_mut().expect("a list").drain(range);
                }));
            }
        }
        Value::Object(entries) => {
            let independent =
                |name: &str| MAPS.contains(&key) || (place == "/faults" && FAULTS.contains(&name));
            for name in entries.keys().filter(|name| independent(name)) {
                proposals.push(changed(&best.value, place, |object| {
                    object.as_object_mut().expect("an object").remove(name);
                }));
            }
        }
        _ => {}
    });
    proposals.into_iter().map(|value| Proposal::Plan(placed(value))).collect()
}

/// Forgets the coordinators of transactional ids that are gone.
fn placed(mut value: Value) -> Value {
    let mut ids = Vec::new();
    walk(&value, "", "", &mut |_, key, inner| {
        if let ("transactional_id", Value::String(id)) = (key, inner) {
            ids.push(id.clone());
        }
    });
    let place = value.pointer_mut("/cluster/place").and_then(Value::as_object_mut);
    if let Some(place) = place {
        place.retain(|known, _| ids.iter().any(|id| known.starts_with(id.as_str())));
    }
    value
}
