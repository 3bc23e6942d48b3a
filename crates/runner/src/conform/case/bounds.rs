//! How large the numbers of a recorded case may be: what a real cluster did in a test has its bounds, and
//! a case that is wrong must not take the memory or the time of a machine.

use eosim_scenario::InputError;
use serde_json::Value;

/// Sequences, offsets and the timeouts of transactions, which are only compared.
const COMPARED: u64 = 1 << 43;

/// Times in milliseconds, and how often something is done.
const DONE: u64 = 1_000_000;

/// Partitions and replicas of a topic.
const LAID_OUT: u64 = 1_000;

/// Checks every number of `recording`; the file is to be named by who knows it.
///
/// # Errors
/// The first number that is beyond its bounds.
pub(super) fn check(recording: &Value) -> Result<(), InputError> {
    within(recording, "", DONE)
}

fn within(value: &Value, place: &str, most: u64) -> Result<(), InputError> {
    match value {
        Value::Array(list) => (0..)
            .zip(list)
            .try_for_each(|(at, one): (usize, _)| within(one, &format!("{place}[{at}]"), most)),
        Value::Object(map) => map.iter().try_for_each(|(key, one)| {
            let joint = if place.is_empty() { "" } else { "." };
            within(one, &format!("{place}{joint}{key}"), bound(key, place, most))
        }),
        Value::Number(number) => {
            let size = number.as_i64().map(i64::unsigned_abs).or_else(|| number.as_u64());
            if size.is_some_and(|size| size <= most) {
                return Ok(());
            }
            let expected = format!("a whole number of at most {most}");
            Err(InputError::new("", place, number.to_string(), expected))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

/// How large what stands below `key` may be.
fn bound(key: &str, place: &str, most: u64) -> u64 {
    let is_compared = ["sequence", "offset", "next", "transaction_timeout", "timestamp"];
    match key {
        "topics" if place.is_empty() => LAID_OUT,
        key if is_compared.iter().any(|part| key.contains(part)) => COMPARED,
        _ => most,
    }
}
