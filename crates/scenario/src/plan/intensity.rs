//! How hard faults strike where a scenario names no more than an intensity: a line for each fault.
//!
//! A seed turns some faults on, up to the intensity's budget, and draws the rate of each: where all
//! strike all the time nothing moves, and nothing is found.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::Chooser;
use crate::draw::{pick, resolve_within};
use crate::number::drawn;

/// How hard faults strike.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intensity {
    /// A cluster on a good day.
    Calm,
    /// One that is in trouble now and then.
    Rough,
    /// One that is never left in peace.
    Brutal,
}

/// What one fault is like.
pub(crate) struct Line {
    /// Its name in [`FAULTS`](super::FAULTS).
    pub(crate) fault: &'static str,
    /// The rates to draw from: calm, rough, brutal.
    rates: [&'static [&'static str]; 3],
    /// It strikes at ticks.
    ticks: bool,
    /// Its other parameters as a scenario has them, with draws; nothing if it has none.
    more: &'static str,
}

/// The time between two ticks.
const EVERY_MS: &str = r#"{"from": 500, "to": 3000}"#;

const fn line(
    fault: &'static str,
    rates: [&'static [&'static str]; 3],
    more: &'static str,
) -> Line {
    Line { fault, rates, ticks: false, more }
}

/// A fault that may strike at each tick.
const fn tick(
    fault: &'static str,
    rates: [&'static [&'static str]; 3],
    more: &'static str,
) -> Line {
    Line { ticks: true, ..line(fault, rates, more) }
}

/// Of messages, of processes, of ids.
pub(crate) const TABLE: &[Line] = &[
    line("lost_response", [&["1/300"], &["1/100", "1/30"], &["1/30", "1/10"]], ""),
    line(
        "lost_request",
        [&["1/500"], &["1/100", "1/50"], &["1/30"]],
        r#""silent": {"one_of": [false, true]}"#,
    ),
    line(
        "late_request",
        [&["1/500"], &["1/100", "1/50"], &["1/30"]],
        r#""delay_ms": {"min": 10, "max": 12000}"#,
    ),
    line(
        "connection_reset",
        [&["1/300"], &["1/100", "1/30"], &["1/30", "1/15"]],
        r#""after_ms": {"min": 0, "max": 20}"#,
    ),
    tick(
        "crash",
        [&["1/40"], &["1/12"], &["1/8", "1/4"]],
        r#""target": {"one_of": ["broker", "coordinator", "leader", "any"]}, "down_ms": {"min": 100, "max": 8000}"#,
    ),
    tick(
        "gc_pause",
        [&["1/40"], &["1/12"], &["1/8", "1/4"]],
        r#""pause_ms": {"min": 50, "max": 12000}"#,
    ),
    line(
        "zombie",
        [&["1/8"], &["1/3"], &["2/3"]],
        r#""after_ms": {"min": 200, "max": 8000}, "pause_ms": {"min": 500, "max": 12000}, "successor_after_ms": {"min": 0, "max": 2000}"#,
    ),
    tick(
        "partition",
        [&["1/120"], &["1/60"], &["1/20"]],
        r#""one_way": "1/3", "lasts_ms": {"min": 50, "max": 12000}"#,
    ),
    tick(
        "slow_link",
        [&["1/60"], &["1/20"], &["1/8"]],
        r#""slower_ms": {"min": 5, "max": 2000}, "lasts_ms": {"min": 50, "max": 6000}"#,
    ),
    tick(
        "slow_actor",
        [&["1/60"], &["1/20"], &["1/8"]],
        r#""pause_ms": {"min": 1, "max": 50}, "lasts_ms": {"min": 50, "max": 4000}"#,
    ),
    tick(
        "restart_loop",
        [&["1/80"], &["1/40"], &["1/15"]],
        r#""times": {"min": 2, "max": 4}, "up_ms": {"min": 10, "max": 3000}, "down_ms": {"min": 10, "max": 1500}"#,
    ),
    tick(
        "clock_jump",
        [&["1/40"], &["1/12"], &["1/6"]],
        r#""off_by_ms": {"min": 1, "max": 20000}"#,
    ),
    tick(
        "controller_away",
        [&["1/40"], &["1/15"], &["1/8"]],
        r#""lasts_ms": {"min": 50, "max": 8000}"#,
    ),
    tick(
        "replication_stall",
        [&["1/60"], &["1/20"], &["1/8"]],
        r#""lasts_ms": {"min": 100, "max": 15000}"#,
    ),
    line(
        "stale_metadata",
        [&["1/40"], &["1/12"], &["1/6"]],
        r#""delay_ms": {"min": 10, "max": 5000}"#,
    ),
    tick(
        "disk_error",
        [&["1/60"], &["1/25"], &["1/12"]],
        r#""after_write": "1/2", "down_ms": {"min": 100, "max": 6000}"#,
    ),
    tick("load_error", [&["1/20"], &["1/8"], &["1/3"]], r#""lasts_ms": {"min": 500, "max": 3000}"#),
    tick("reassignment", [&["1/40"], &["1/15"], &["1/6"]], ""),
    tick("leader_election", [&["1/40"], &["1/15"], &["1/6"]], ""),
    tick("housekeeping", [&["1/40"], &["1/15"], &["1/6"]], ""),
];

impl Intensity {
    /// So many faults at most are on in one run.
    pub(crate) const fn budget(self) -> usize {
        match self {
            Self::Calm => 2,
            Self::Rough => 4,
            Self::Brutal => 6,
        }
    }
}

impl Line {
    /// Its parameters for one seed.
    pub(crate) fn parameters(&self, intensity: Intensity, choose: &mut Chooser<'_>) -> Value {
        let rates = self.rates[intensity as usize];
        let rate = json!(rates[pick("faults.intensity.rate", rates.len(), choose)]);
        if self.more.is_empty() && !self.ticks {
            return rate;
        }
        let text = format!("{{{}}}", self.more);
        let mut more: Map<String, Value> =
            serde_json::from_str(&text).expect("a line of the table is JSON");
        if self.ticks {
            more.insert("every_ms".into(), serde_json::from_str(EVERY_MS).expect("JSON"));
        }
        more.values_mut().for_each(|value| resolve_within(value, choose));
        more.insert("rate".into(), rate);
        Value::Object(more)
    }
}

impl JsonSchema for Intensity {
    fn schema_name() -> Cow<'static, str> {
        "Intensity".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        drawn(&json!({"type": "string", "enum": ["calm", "rough", "brutal"]}), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{FAULTS, Faults};

    /// Faults that no intensity turns on, each with the reason.
    const ALONE: &[(&str, &str)] = &[
        ("feature_change", "below version 2 a late request harms the next transaction (H-13)"),
        ("impossible_duplicate", "TCP makes it impossible"),
        ("impossible_reorder", "TCP makes it impossible"),
    ];

    #[test]
    fn every_fault_has_a_line_or_a_reason() {
        for fault in FAULTS {
            let lines = TABLE.iter().filter(|line| line.fault == *fault).count();
            let is_alone = ALONE.iter().any(|(name, _)| name == fault);
            assert_eq!(lines, usize::from(!is_alone), "{fault}");
        }
    }

    #[test]
    fn every_line_gives_what_its_fault_asks_for() {
        for line in TABLE {
            for intensity in [Intensity::Calm, Intensity::Rough, Intensity::Brutal] {
                for last in [false, true] {
                    let parameters =
                        line.parameters(intensity, &mut |_, n| if last { n - 1 } else { 0 });
                    let faults = json!({"until_ms": 1000, line.fault: parameters});
                    let faults: Faults = serde_json::from_value(faults).expect(line.fault);
                    assert!(faults.has(line.fault));
                }
            }
        }
    }
}
