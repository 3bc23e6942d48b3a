//! How often faults may strike by the clock: what they do is kept for reading, and is no step that
//! `limits.steps_max` could bound.

use serde_json::{Map, Value};

use super::Checked;
use crate::error::InputError;
use crate::plan::Plan;

/// So many strikes of one fault on one target are possible in a run.
const STRIKES_MAX: u64 = 20_000;

/// Checks the faults of `plans`, which have the calmest and the wildest values of the scenario `file`.
///
/// # Errors
/// If one could strike more often than anybody could read.
pub(crate) fn check(file: &str, plans: [&Plan; 2]) -> Checked {
    let until = plans.iter().map(|plan| plan.faults.until_ms).max().unwrap_or(0);
    let start = plans.iter().map(|plan| plan.faults.start_ms).min().unwrap_or(0);
    let phase = until.saturating_sub(start);
    for plan in plans {
        let faults = serde_json::to_value(&plan.faults).unwrap_or_default();
        for (name, fault) in faults.as_object().into_iter().flatten() {
            let Some(fault) = fault.as_object() else { continue };
            let Some(every) = fault.get("every_ms").and_then(Value::as_u64) else { continue };
            let strikes = (phase / every.max(1)).saturating_mul(in_a_row(fault));
            if strikes > STRIKES_MAX {
                let found = format!("{every}, that is {strikes} possible strikes");
                let expected = format!("at most {STRIKES_MAX} in the {phase} ms of faults");
                let place = format!("faults.{name}.every_ms");
                return Err(InputError::new(file, place, found, expected));
            }
        }
    }
    Ok(())
}

/// How often it strikes in a row at each tick: at most, or, of stalls that follow each other, about.
fn in_a_row(fault: &Map<String, Value>) -> u64 {
    let bound = |key: &str, bound: &str| {
        fault.get(key).and_then(|value| value.as_u64().or_else(|| value.get(bound)?.as_u64()))
    };
    let times = bound("times", "max");
    let pause = bound("pause_ms", "min").zip(bound("pause_ms", "max")).map(|(a, b)| (a + b) / 2);
    let stalls = bound("lasts_ms", "max").zip(pause);
    times.or_else(|| stalls.map(|(lasts, pause)| lasts / pause.max(1))).unwrap_or(1).max(1)
}
