//! Lowers numbers: brokers, partitions, transactions, records, pauses. What is drawn within a run
//! becomes fixed, so that less is left to chance.

use serde_json::{Value, json};

use super::{changed, walk};
use crate::shrink::trial::{Best, Proposal};

/// Numbers that may be lowered, and the least that they can be.
const LEAST: [(&str, u64); 24] = [
    ("brokers", 1),
    ("partitions", 1),
    ("replication_factor", 1),
    ("min.insync.replicas", 1),
    ("min_insync_replicas", 1),
    ("count", 1),
    ("transactions", 1),
    ("value_bytes", 1),
    ("nth", 1),
    ("start_ms", 0),
    ("start_each_ms", 0),
    ("until_ms", 0),
    ("at_ms", 0),
    ("down_ms", 0),
    ("for_ms", 0),
    ("delay_ms", 0),
    ("late_ms", 0),
    ("linger.ms", 0),
    ("poll_interval_ms", 0),
    ("wait_ms", 0),
    ("wait_until_ms", 0),
    ("restart_pause_ms", 0),
    ("coordinator_load_ms", 0),
    ("latency_max_us", 1),
];

/// How likely something is that an application does.
const CHANCES: [&str; 4] = ["abort", "flush", "leave", "power_loss"];

/// Proposals to lower a number.
pub(crate) fn lowered(best: &Best) -> Vec<Proposal> {
    let mut proposals = fewer_brokers(&best.value);
    walk(&best.value, "", "", &mut |place, key, value| {
        let mut propose = |with: Value| {
            proposals.push(changed(&best.value, place, |value| *value = with));
        };
        match value {
            Value::Number(number) => {
                let least = LEAST.iter().find(|(name, _)| *name == key).map(|(_, least)| *least);
                if let (Some(number), Some(least)) = (number.as_u64(), least) {
                    lower(number, least).into_iter().for_each(|n| propose(json!(n)));
                }
            }
            Value::String(chance) if CHANCES.contains(&key) => match chance.as_str() {
                "0/1" => {}
                "1/1" => propose(json!("0/1")),
                _ => ["0/1", "1/1"].into_iter().for_each(|chance| propose(json!(chance))),
            },
            Value::Object(_) => calmer(value).into_iter().for_each(propose),
            _ => {}
        }
    });
    proposals.into_iter().map(Proposal::Plan).collect()
}

/// Numbers below `number`, the lowest first.
pub(super) fn lower(number: u64, least: u64) -> Vec<u64> {
    let middle = least + number.saturating_sub(least) / 2;
    let mut lower = vec![least, middle];
    if number.saturating_sub(least) <= 8 {
        lower.push(number.saturating_sub(1).max(least));
    }
    lower.dedup();
    lower.retain(|lower| *lower < number);
    lower
}

/// A spread or a range of latencies with less between its ends, or lower.
fn calmer(value: &Value) -> Vec<Value> {
    let pairs = [("min", "max"), ("latency_min_us", "latency_max_us")];
    let read = |key| value.get(key).and_then(Value::as_u64);
    let pair = pairs.into_iter().find_map(|(min, max)| Some((min, max, read(min)?, read(max)?)));
    let Some((min_key, max_key, min, max)) = pair else { return Vec::new() };
    let fixed = |number: u64| json!({min_key: number, max_key: number});
    if min == max {
        lower(min, 0).into_iter().map(fixed).collect()
    } else {
        vec![fixed(min), fixed(max)]
    }
}

/// Fewer brokers, and no more replicas than there are brokers.
fn fewer_brokers(value: &Value) -> Vec<Value> {
    let brokers = value.pointer("/cluster/brokers").and_then(Value::as_u64).unwrap_or(1);
    (1..brokers).map(|fewer| with_brokers(value, fewer)).collect()
}

fn with_brokers(value: &Value, brokers: u64) -> Value {
    const REPLICAS: [&str; 3] =
        ["replication_factor", "min.insync.replicas", "min_insync_replicas"];
    let mut fewer = value.clone();
    walk(value, "", "", &mut |place, key, value| {
        let above = value.as_u64().is_some_and(|number| number > brokers);
        let is_broker = place.contains("/replicas/") || place.starts_with("/cluster/place/");
        if key == "brokers" || (above && (REPLICAS.contains(&key) || is_broker)) {
            *fewer.pointer_mut(place).expect("a place that was visited") = json!(brokers);
        }
    });
    fewer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_lowered_and_spreads_become_fixed() {
        assert_eq!(lower(1, 1), Vec::<u64>::new());
        assert_eq!(lower(5, 1), [1, 3, 4]);
        assert_eq!(lower(1000, 0), [0, 500]);
        let spread = |min: u64, max: u64| json!({"min": min, "max": max});
        assert_eq!(calmer(&spread(1, 5)), [spread(1, 1), spread(5, 5)]);
        assert_eq!(calmer(&spread(2, 2)), [spread(0, 0), spread(1, 1)]);
        assert_eq!(calmer(&json!({"brokers": 3})), Vec::<Value>::new());
    }

    #[test]
    fn with_the_brokers_their_replicas_are_fewer() {
        let cluster = json!({"cluster": {"brokers": 3, "topics": {"a": {
            "replication_factor": 3, "settings": {"min.insync.replicas": 2}}}}});
        let fewer = json!({"cluster": {"brokers": 1, "topics": {"a": {
            "replication_factor": 1, "settings": {"min.insync.replicas": 1}}}}});
        assert_eq!(fewer_brokers(&cluster)[0], fewer);
    }
}
