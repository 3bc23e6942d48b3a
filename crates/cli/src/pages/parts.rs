//! Parts of a run in words.

use eosim_runner::Plan;
use eosim_runner::explain::Need;
use eosim_runner::variant::Part;
use serde_json::Value;

/// Keys that are read first, in this order.
const FIRST: [&str; 8] =
    ["sent", "received", "answered", "answer_received", "reached", "at_ms", "after", "who"];

/// What a part does, in words of the scenario.
#[must_use]
pub fn about(part: Part, plan: &Plan) -> String {
    let json = |value: serde_json::Result<Value>| value.unwrap_or(Value::Null);
    match part {
        Part::Switch(defect) => defect.about().to_string(),
        Part::Fault(kind) => format!("all of {kind}"),
        Part::Strike(kind, nth) => format!("{kind}, strike {nth}"),
        Part::Rule(at) => {
            let rule = plan.aimed.get(at).map(|rule| json(serde_json::to_value(rule)));
            let rule = rule.unwrap_or_default();
            format!("when {}: {}", phrase(&rule["when"]), phrase(&rule["do"]))
        }
        Part::Operator(at) => {
            let step = plan.operator.get(at).map(|step| json(serde_json::to_value(step)));
            format!("the operator: {}", phrase(&step.unwrap_or_default()))
        }
    }
}

/// A value of a scenario, to be read aloud.
fn phrase(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(entries) => {
            let rank =
                |key: &str| FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len());
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by_key(|(key, _)| (rank(key), (*key).clone()));
            let phrases = entries.into_iter().map(|(key, value)| match value {
                Value::Object(_) => format!("{key} ({})", phrase(value)),
                _ => format!("{key} {}", phrase(value)),
            });
            phrases.collect::<Vec<_>>().join(", ")
        }
        Value::Array(list) => {
            format!("[{}]", list.iter().map(phrase).collect::<Vec<_>>().join(" "))
        }
        other => other.to_string(),
    }
}

/// Whether a part is necessary, in words.
#[must_use]
pub const fn need_word(need: Need) -> &'static str {
    match need {
        Need::Needed => "needed",
        Need::OneOfSeveral => "one of several",
        Need::NotNeeded => "not needed",
        Need::NotTried => "not tried",
    }
}
