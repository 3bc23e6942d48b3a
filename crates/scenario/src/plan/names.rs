//! Names that a scenario may use, as schemas: an editor completes them, the check refuses others.

use std::borrow::Cow;

use eosim_types::machine::MACHINES;
use eosim_types::message::ApiKey;
use eosim_types::rules::RULES;
use eosim_types::{Capability, Defect, ErrorCode};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::fault::FAULTS;
use crate::number::drawn;

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

name_schema! {
    /// An actor by its name, or a transactional id; may be drawn per seed.
    ActorName, drawn(&json!({"type": "string", "minLength": 1, "maxLength": 110}), false)
}
name_schema! {
    /// A group by its name; may be drawn per seed.
    GroupName, drawn(&json!({"type": "string", "minLength": 1, "maxLength": 100}), false)
}
name_schema! {
    /// A ticket under which a release of Kafka changed.
    TicketName, {
        let names: Vec<_> = Capability::tickets().collect();
        json_schema!({"type": "string", "enum": names, "x-kind": "ticket"})
    }
}
name_schema! {
    /// As [`PartitionName`]; may be drawn per seed.
    PartitionDrawn,
    drawn(&json!({"type": "string", "format": "partition", "maxLength": 260}), false)
}
name_schema! {
    /// Yes or no; may be drawn per seed.
    BooleanDrawn, drawn(&json!({"type": "boolean"}), false)
}
name_schema! {
    /// An error as Kafka spells it; may be drawn per seed.
    ErrorName, {
        let names: Vec<_> = ErrorCode::ALL.iter().map(|error| error.name()).collect();
        drawn(&json!({"type": "string", "enum": names, "x-kind": "error"}), false)
    }
}
name_schema! {
    /// A state of a state machine, written `machine/state`; may be drawn per seed.
    StateLabel, {
        let states = MACHINES.iter().flat_map(|machine| {
            machine.states.iter().map(|state| format!("{}/{state}", machine.name))
        });
        let names: Vec<_> = states.collect();
        drawn(&json!({"type": "string", "enum": names, "x-kind": "state"}), false)
    }
}
name_schema! {
    /// An API as Kafka spells it, without the word "Request".
    ApiName, {
        let names: Vec<_> = ApiKey::ALL.iter().map(|api| api.name()).collect();
        json_schema!({"type": "string", "enum": names, "x-kind": "API"})
    }
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
