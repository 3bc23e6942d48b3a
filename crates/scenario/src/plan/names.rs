//! Names that a scenario may use, as schemas: an editor completes them, the check refuses others.

use std::borrow::Cow;

use eosim_types::Defect;
use eosim_types::rules::RULES;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::fault::FAULTS;

macro_rules! name_schema {
    ($(#[$doc:meta])* $name:ident, $schema:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

name_schema! {
    /// The id of a protocol rule.
    RuleId, json_schema!({"type": "string", "enum": RULES, "x-kind": "rule"})
}
name_schema! {
    /// The name of a defect or upstream finding.
    DefectName, {
        let names: Vec<_> = Defect::ALL.iter().map(|defect| defect.name()).collect();
        json_schema!({"type": "string", "enum": names, "x-kind": "defect"})
    }
}
name_schema! {
    /// The name of a fault, or `aimed`: every rule of `aimed`.
    RequiredName, {
        let names: Vec<_> = FAULTS.iter().copied().chain(["aimed"]).collect();
        json_schema!({"type": "string", "enum": names, "x-kind": "fault"})
    }
}
name_schema! {
    /// A partition as Kafka writes it, topic-number; of a topic of the scenario.
    PartitionName, json_schema!({"type": "string", "format": "partition", "maxLength": 260})
}

/// Is `name` made of letters, digits, `-`, `_` and `.` alone?
pub(crate) fn is_name(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

/// May a user's topic be called `name` (`Topic#validate`)?
pub(crate) fn is_topic(name: &str) -> bool {
    (1..=249).contains(&name.len())
        && is_name(name)
        && ![".", ".."].contains(&name)
        && !name.starts_with("__")
}

/// Topics of the brokers themselves, whose partitions only the operator may name.
const INTERNAL_TOPICS: [&str; 2] = ["__transaction_state", "__consumer_offsets"];

/// Topic and number of a partition written `topic-number`.
#[must_use]
pub fn split_partition(name: &str) -> Option<(&str, u32)> {
    let (topic, number) = name.rsplit_once('-')?;
    let plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let number = number.parse().ok().filter(|_| plain)?;
    (is_topic(topic) || INTERNAL_TOPICS.contains(&topic)).then_some((topic, number))
}
