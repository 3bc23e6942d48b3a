//! Leaves out entries of lists (faults that are aimed, steps of operators and scripts, clients,
//! partitions), faults that strike at random, topics and settings.

use eosim_scenario::plan::FAULTS;
use serde_json::Value;

use super::{blocks, changed, walk};
use crate::shrink::trial::{Best, Proposal};

/// Lists that say something about the scenario, and do nothing in it.
const WORDS: [&str; 6] = ["shows", "tags", "rules", "defects", "requires", "violation"];

/// Objects whose entries are independent of one another.
const MAPS: [&str; 6] =
    ["topics", "place", "kafka", "settings", "producer_settings", "consumer_settings"];

/// Proposals to leave something out.
pub(crate) fn left_out(best: &Best) -> Vec<Proposal> {
    let mut proposals = vec![only_at_clients(&best.value)];
    walk(&best.value, "", "", &mut |place, key, value| match value {
        Value::Array(list) if !WORDS.contains(&key) => {
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

/// No fault strikes between brokers: what befalls a client is understood more easily.
fn only_at_clients(value: &Value) -> Value {
    let is_broker = |rule: &Value, end: &str| {
        rule["when"][end].as_str().is_some_and(|name| name.starts_with("broker-"))
    };
    let mut value = value.clone();
    if let Some(rules) = value.get_mut("aimed").and_then(Value::as_array_mut) {
        rules.retain(|rule| !(is_broker(rule, "sender") && is_broker(rule, "receiver")));
    }
    value
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn faults_between_brokers_go_first() {
        let rule = |from: &str, to: &str| json!({"when": {"sender": from, "receiver": to}});
        let plan = |rules: &[Value]| json!({"aimed": rules});
        let client = rule("broker-1", "writer");
        let both = plan(&[rule("broker-1", "broker-2"), client.clone()]);
        assert_eq!(only_at_clients(&both), plan(&[client]));
    }

    #[test]
    fn a_place_goes_with_its_transactional_id() {
        let cluster = |place: Value| {
            json!({"cluster": {"place": place}, "producers": [
            {"transactional_id": "t"}]})
        };
        let both = cluster(json!({"t-0": 1, "u": 2}));
        assert_eq!(placed(both), cluster(json!({"t-0": 1})));
    }
}
