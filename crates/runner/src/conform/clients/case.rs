//! A recorded client case: what the application did, how the broker answered, what was seen.

use std::collections::BTreeMap;

use eosim_types::{Duration, ErrorCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::conform::fields::Unsupported;

/// One recorded case.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct ClientCase {
    pub(crate) family: String,
    /// The finalized level in ApiVersions; 0 if the feature is absent.
    pub(super) transaction_version: i8,
    pub(super) config: BTreeMap<String, Value>,
    pub(super) app: Vec<Value>,
    #[serde(default)]
    broker: Vec<Value>,
    #[serde(default)]
    pub(super) api_max: BTreeMap<String, i16>,
    #[serde(default = "three")]
    pub(super) partitions: i32,
    /// Leaders that are not node 1.
    #[serde(default)]
    pub(super) leaders: BTreeMap<String, i32>,
    #[serde(default)]
    pub(super) second_leader: bool,
    #[serde(default)]
    pub(super) idle_fetch: Option<Bounds>,
    #[serde(default)]
    pub(super) list_offsets: Option<ListOffsets>,
    #[serde(default)]
    pub(super) committed: BTreeMap<String, i64>,
    pub(super) wire: Vec<Value>,
    pub(super) outcome: Vec<Value>,
    #[serde(default)]
    pub(super) client_state_end: Value,
}

const fn three() -> i32 {
    3
}

/// High watermark and last stable offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub(super) struct Bounds {
    pub(super) hw: i64,
    pub(super) lso: i64,
}

/// What ListOffsets is answered with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub(super) struct ListOffsets {
    pub(super) earliest: i64,
    pub(super) lso: i64,
    pub(super) hw: i64,
}

/// How the broker treats some of the requests of one API.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) api: String,
    #[serde(default)]
    n: Option<Value>,
    /// Held back until then.
    #[serde(default)]
    pub(super) after: Option<String>,
    /// And so long more.
    #[serde(default)]
    pub(super) delay_ms: u64,
    #[serde(default)]
    pub(super) action: Option<Action>,
    /// The request has its effect although it is not answered.
    #[serde(default)]
    pub(super) applied: bool,
    #[serde(default)]
    pub(super) error: Option<ErrorCode>,
    #[serde(default)]
    pub(super) partition_errors: BTreeMap<String, ErrorCode>,
    #[serde(default)]
    pub(super) record_errors: Vec<i32>,
    #[serde(default)]
    pub(super) log_start_offset: Option<i64>,
    #[serde(default)]
    pub(super) base_offset: Option<i64>,
    #[serde(default)]
    pub(super) producer_id: Option<i64>,
    #[serde(default)]
    pub(super) producer_epoch: Option<i16>,
    /// The leader becomes this node.
    #[serde(default)]
    pub(super) new_leader: Option<i32>,
    /// The answer says so.
    #[serde(default = "yes")]
    pub(super) tell: bool,
    /// The error is the group's.
    #[serde(default)]
    pub(super) group_level: bool,
    #[serde(default)]
    pub(super) batches: Vec<Batch>,
    /// Producer id and first offset.
    #[serde(default)]
    pub(super) aborted: Vec<(i64, i64)>,
    #[serde(default)]
    pub(super) hw: Option<i64>,
    #[serde(default)]
    pub(super) lso: Option<i64>,
}

const fn yes() -> bool {
    true
}

/// What happens in place of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Action {
    /// The connection is closed.
    Drop,
    /// Nothing, ever.
    Silent,
}

/// A batch of a Fetch answer.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Batch {
    #[serde(default)]
    pub(super) offsets: Vec<i64>,
    #[serde(default)]
    pub(super) values: Vec<String>,
    #[serde(default)]
    pub(super) base: Option<i64>,
    #[serde(default)]
    pub(super) last: Option<i64>,
    #[serde(default)]
    pub(super) pid: Option<i64>,
    #[serde(default)]
    pub(super) epoch: Option<i16>,
    #[serde(default)]
    pub(super) txn: bool,
    #[serde(default)]
    pub(super) control: Option<String>,
    #[serde(default)]
    pub(super) empty: bool,
    #[serde(default)]
    pub(super) control_batch: bool,
    #[serde(default)]
    pub(super) corrupt: bool,
}

impl Rule {
    /// Does it apply to the `n`-th request of its API: one number, `2-4`, `3+`, or all?
    pub(super) fn applies_to(&self, n: u32) -> bool {
        let number = |text: &str| text.parse::<u32>().ok();
        match &self.n {
            None => true,
            Some(Value::String(range)) => match range.split_once('-') {
                Some((from, to)) => {
                    number(from).is_some_and(|from| from <= n)
                        && number(to).is_some_and(|to| n <= to)
                }
                None => match range.strip_suffix('+') {
                    Some(from) => number(from).is_some_and(|from| from <= n),
                    None => number(range) == Some(n),
                },
            },
            Some(exact) => exact.as_u64() == Some(u64::from(n)),
        }
    }

    /// How long the answer is held back once it may leave.
    pub(super) const fn delay(&self) -> Duration {
        Duration::from_millis(self.delay_ms)
    }
}

impl ClientCase {
    /// The broker's rules.
    pub(super) fn rules(&self) -> Result<Vec<Rule>, Unsupported> {
        self.broker.iter().map(|rule| read("broker rule", rule)).collect()
    }

    /// The settings as one object of strings, to be read by [`read`].
    pub(super) fn settings(&self) -> Value {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), Into::into);
        let pairs = self.config.iter().map(|(k, v)| (k.clone(), Value::String(text(v))));
        Value::Object(pairs.collect::<Map<_, _>>())
    }
}

/// Reads a part of a case; what is not known is not supported.
pub(super) fn read<T: DeserializeOwned>(what: &str, value: &Value) -> Result<T, Unsupported> {
    T::deserialize(value).map_err(|error| Unsupported(format!("{what} {value}: {error}")))
}

/// The name of a step that could be read.
pub(super) fn name_of(step: &Value) -> &str {
    step["do"].as_str().expect("a step is known by its name")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_rule_counts_requests() {
        for (n, first, second, fourth) in [
            (json!(2), false, true, false),
            (json!("2-4"), false, true, true),
            (json!("2+"), false, true, true),
            (json!("2"), false, true, false),
            (Value::Null, true, true, true),
        ] {
            let rule: Rule = read("rule", &json!({ "api": "Produce", "n": n })).expect("a rule");
            let applies = [1, 2, 4].map(|n| rule.applies_to(n));
            assert_eq!(applies, [first, second, fourth], "{n}");
        }
        assert!(read::<Rule>("rule", &json!({ "api": "Produce", "new": 1 })).is_err());
    }
}
