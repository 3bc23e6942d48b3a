//! Producers that one entry stands for, each with an entry of its own, so that each can be left
//! out.

use serde_json::{Value, json};

use crate::shrink::trial::{Best, Proposal};

/// The proposal to spell producers out, if there is anything to be spelled out.
pub(crate) fn spelled_out(best: &Best) -> Vec<Proposal> {
    let mut value = best.value.clone();
    let Some(producers) = value.get_mut("producers").and_then(Value::as_array_mut) else {
        return Vec::new();
    };
    let each = producers.iter().flat_map(one_by_one).collect::<Vec<_>>();
    if each.len() == producers.len() {
        return Vec::new();
    }
    *producers = each;
    vec![Proposal::Plan(value)]
}

fn one_by_one(producer: &Value) -> Vec<Value> {
    let count = producer.get("count").and_then(Value::as_u64).unwrap_or(1);
    if count == 1 {
        return vec![producer.clone()];
    }
    let numbered = |n: u64| {
        let mut one = producer.clone();
        one["count"] = json!(1);
        for key in ["name", "transactional_id"] {
            if let Some(Value::String(text)) = one.get_mut(key) {
                *text = format!("{text}-{n}");
            }
        }
        one
    };
    (0..count).map(numbered).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_producer_has_its_own_entry() {
        let two = json!({"name": "p", "count": 2, "transactional_id": "t"});
        let one = |n: u64| json!({"name": format!("p-{n}"), "count": 1, "transactional_id": format!("t-{n}")});
        assert_eq!(one_by_one(&two), [one(0), one(1)]);
        assert_eq!(one_by_one(&one(1)), [one(1)]);
    }
}
