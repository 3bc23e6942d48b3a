//! Numbers in a scenario: plain, drawn once per seed, or drawn anew each time within a run.
//!
//! Invariants: a probability lies between 0 and 1; a spread's `min` is not above its `max`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Value, json};

/// The largest length of time that a scenario may name, milliseconds (46 days).
pub(crate) const MAX_MS: u64 = 4_000_000_000;

/// The schema of a value that may be left to the seed: `plain`, a list to choose from, and, where
/// `ranged`, a range.
pub(crate) fn drawn(plain: &Value, ranged: bool) -> Schema {
    let list = json!({
        "type": "object",
        "description": "One of these, drawn per seed; the calmest first.",
        "properties": {"one_of": {"type": "array", "items": plain, "minItems": 1, "maxItems": 64}},
        "required": ["one_of"],
        "additionalProperties": false,
        "x-draw": true,
    });
    let range = json!({
        "type": "object",
        "description": "A whole number between two bounds, both possible, drawn per seed.",
        "properties": {"from": plain, "to": plain},
        "required": ["from", "to"],
        "additionalProperties": false,
        "x-draw": true,
        "x-ordered": ["from", "to"],
    });
    let all = if ranged { vec![plain.clone(), range, list] } else { vec![plain.clone(), list] };
    json_schema!({ "anyOf": all })
}

fn integer(min: u64, max: u64) -> Value {
    json!({"type": "integer", "minimum": min, "maximum": max})
}

/// Schema of a whole number from `MIN` to `MAX` that may be drawn per seed.
pub(crate) struct Ranged<const MIN: u64, const MAX: u64>;

impl<const MIN: u64, const MAX: u64> JsonSchema for Ranged<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Ranged_{MIN}_{MAX}").into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        drawn(&integer(MIN, MAX), true)
    }
}

/// Schema of a length of time in milliseconds that may be drawn per seed.
pub(crate) type Millis = Ranged<0, MAX_MS>;

/// Schema of a time after which something is done again: without any, nothing else ever would be.
pub(crate) type Period = Ranged<1, MAX_MS>;

/// Schema of a Kafka version that may be drawn per seed.
pub(crate) struct KafkaVersionName;

impl JsonSchema for KafkaVersionName {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "KafkaVersion".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        drawn(
            &json!({"type": "string", "enum": ["4.5", "4.4", "4.3", "4.2", "4.1", "4.0", "3.9"]}),
            false,
        )
    }
}

/// An exact probability, written as `"1/100"`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Probability {
    /// How many of `denominator`.
    pub numerator: u32,
    /// Out of how many; at least 1.
    pub denominator: u32,
}

impl Probability {
    /// Never.
    pub const ZERO: Self = Self { numerator: 0, denominator: 1 };

    /// It never happens.
    #[must_use]
    pub const fn is_zero(&self) -> bool {
        self.numerator == 0
    }
}

impl Default for Probability {
    fn default() -> Self {
        Self::ZERO
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

impl FromStr for Probability {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "a probability such as \"1/100\", not above 1";
        let (numerator, denominator) = text.split_once('/').ok_or(EXPECTED)?;
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| digits.parse::<u32>().ok()).flatten().ok_or(EXPECTED)
        };
        let (numerator, denominator) = (number(numerator)?, number(denominator)?);
        let valid = denominator > 0 && numerator <= denominator;
        if valid { Ok(Self { numerator, denominator }) } else { Err(EXPECTED) }
    }
}

impl Serialize for Probability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Probability {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Probability".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pattern = "^[0-9]{1,9}/[1-9][0-9]{0,8}$";
        drawn(&json!({"type": "string", "format": "probability", "pattern": pattern}), false)
    }
}

/// Bounds of a value that is drawn anew each time within a run, both possible. Written as
/// `{"min": 1, "max": 5}`, or as a number if the two are equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize)]
pub struct Spread {
    /// The smallest value.
    pub min: u64,
    /// The largest value.
    pub max: u64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenSpread {
    Fixed(u64),
    Bounds { min: u64, max: u64 },
}

impl<'de> Deserialize<'de> for Spread {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match WrittenSpread::deserialize(deserializer)? {
            WrittenSpread::Fixed(value) => Self { min: value, max: value },
            WrittenSpread::Bounds { min, max } => Self { min, max },
        })
    }
}

impl Spread {
    /// Always `value`.
    #[must_use]
    pub const fn fixed(value: u64) -> Self {
        Self { min: value, max: value }
    }
}

/// Schema of a [`Spread`] within `MIN` and `MAX`, which itself may be drawn per seed.
pub(crate) struct SpreadOf<const MIN: u64, const MAX: u64>;

impl<const MIN: u64, const MAX: u64> JsonSchema for SpreadOf<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Spread_{MIN}_{MAX}").into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let plain = integer(MIN, MAX);
        let spread = json!({
            "type": "object",
            "description": "A whole number between two bounds, both possible, drawn each time.",
            "properties": {"min": plain, "max": plain},
            "required": ["min", "max"],
            "additionalProperties": false,
            "x-ordered": ["min", "max"],
        });
        let mut schema = drawn(&plain, true);
        if let Some(Value::Array(all)) = schema.get_mut("anyOf") {
            all.push(spread);
        }
        schema
    }
}

/// Schema of a length of time in milliseconds that is drawn anew each time; the world draws whole
/// microseconds out of 2³² at most.
pub(crate) type SpreadMillis = SpreadOf<0, 4_000_000>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probability_is_an_exact_fraction_up_to_one() {
        let cases = [("1/100", Some((1, 100))), ("0/1", Some((0, 1))), ("7/7", Some((7, 7)))];
        for (text, fraction) in cases {
            let read = text.parse::<Probability>().ok();
            assert_eq!(read.map(|p| (p.numerator, p.denominator)), fraction, "{text}");
        }
        for text in ["", "1", "0.01", "1/0", "2/1", "-1/2", "+1/2", "1/ 2", "1/99999999999"] {
            assert!(text.parse::<Probability>().is_err(), "{text}");
        }
    }
}
