//! Exact comparison of what the model answered with what was recorded.

use std::collections::BTreeSet;

use serde_json::Value;

use super::case::Case;
use super::producers::Renamer;

/// The first place where two values differ: its path, what was recorded, what the model gave.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// Where, such as `step 4 produce: base_offset`.
    pub place: String,
    /// What the real broker answered; null if nothing.
    pub recorded: Value,
    /// What the model answered; null if nothing.
    pub model: Value,
}

/// The first difference between what was recorded and `answers`: those to the steps, then the end
/// state.
pub(crate) fn compare(case: &Case, mut answers: Vec<Value>) -> Option<Difference> {
    name(case, &mut answers);
    let end = answers.pop().expect("the end state is there");
    let steps = case.steps.iter().zip(answers).enumerate();
    let mut differences = steps.filter_map(|(at, (step, answer))| {
        let op = step.get("op").and_then(Value::as_str).unwrap_or_default();
        sorted_difference(&format!("step {at} {op}"), step.get("expect")?, answer)
    });
    differences.next().or_else(|| sorted_difference("final", &case.final_state, end))
}

/// Gives what differs from run to run the names that it has in recordings.
pub(crate) fn name(case: &Case, answers: &mut [Value]) {
    let mut renamer = Renamer::default();
    answers.iter_mut().for_each(|answer| renamer.rename(answer));
    if !case.steps.iter().any(|step| step["op"] == "write_txn_markers") {
        rank_coordinator_epochs(answers);
    }
}

fn sorted_difference(place: &str, recorded: &Value, mut model: Value) -> Option<Difference> {
    let mut recorded = recorded.clone();
    sort_producers(&mut recorded);
    sort_producers(&mut model);
    first_difference(place, &recorded, &model)
}

/// The first difference between `recorded` and `model`, looked at `place`.
pub(crate) fn first_difference(place: &str, recorded: &Value, model: &Value) -> Option<Difference> {
    match (recorded, model) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            keys.into_iter().find_map(|key| {
                let (x, y) =
                    (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
                first_difference(&format!("{place}.{key}"), x, y)
            })
        }
        (Value::Array(a), Value::Array(b)) => (0..a.len().max(b.len())).find_map(|at| {
            let (x, y) = (a.get(at).unwrap_or(&Value::Null), b.get(at).unwrap_or(&Value::Null));
            first_difference(&format!("{place}[{at}]"), x, y)
        }),
        _ if recorded == model => None,
        _ => Some(Difference {
            place: place.to_string(),
            recorded: recorded.clone(),
            model: model.clone(),
        }),
    }
}

/// Replaces every coordinator epoch by its rank among those of the case; -1 is none and stays.
fn rank_coordinator_epochs(answers: &mut [Value]) {
    let mut seen = BTreeSet::new();
    for answer in answers.iter_mut() {
        for_each_epoch(answer, &mut |epoch| {
            seen.insert(*epoch);
        });
    }
    let ranks: Vec<i64> = seen.into_iter().collect();
    for answer in answers {
        for_each_epoch(answer, &mut |epoch| {
            let rank = ranks.binary_search(epoch).expect("every epoch was seen");
            *epoch = i64::try_from(rank).expect("few epochs");
        });
    }
}

/// Puts the producers of every answer in order of their names. By what ids they are listed depends
/// on which broker claimed which block of ids when, which the recordings do not tell.
fn sort_producers(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(sort_producers),
        Value::Object(map) => {
            if let Some(Value::Array(producers)) = map.get_mut("producers") {
                producers.sort_by_key(|producer| producer["producer"].to_string());
            }
            map.values_mut().for_each(sort_producers);
        }
        _ => {}
    }
}

/// Calls `visit` for every coordinator epoch in `value` but -1, none.
pub(crate) fn for_each_epoch(value: &mut Value, visit: &mut impl FnMut(&mut i64)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| for_each_epoch(item, visit)),
        Value::Object(map) => {
            for (key, item) in map.iter_mut() {
                if key != "coordinator_epoch" {
                    for_each_epoch(item, visit);
                } else if let Some(mut epoch) = item.as_i64().filter(|epoch| *epoch >= 0) {
                    visit(&mut epoch);
                    *item = epoch.into();
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_difference_is_named_by_its_path() {
        let recorded = json!({ "error": "NONE", "batches": [{ "base_offset": 0 }] });
        assert_eq!(first_difference("fetch", &recorded, &recorded), None);
        let model = json!({ "error": "NONE", "batches": [{ "base_offset": 1 }] });
        let difference = first_difference("fetch", &recorded, &model).expect("they differ");
        assert_eq!(difference.place, "fetch.batches[0].base_offset");
        let shorter = json!({ "error": "NONE", "batches": [] });
        let difference = first_difference("fetch", &recorded, &shorter).expect("they differ");
        assert_eq!(
            (difference.place.as_str(), difference.model),
            ("fetch.batches[0]", Value::Null)
        );
    }

    #[test]
    fn coordinator_epochs_become_ranks_and_none_stays() {
        let mut answers = [
            json!({ "coordinator_epoch": 4 }),
            json!([{ "coordinator_epoch": 2 }]),
            json!({
                "coordinator_epoch": -1
            }),
        ];
        rank_coordinator_epochs(&mut answers);
        assert_eq!(
            answers,
            [
                json!({ "coordinator_epoch": 1 }),
                json!([{ "coordinator_epoch": 0 }]),
                json!({ "coordinator_epoch": -1 })
            ]
        );
    }
}
