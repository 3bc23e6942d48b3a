//! What must have happened for a scenario to have told its story.

use std::borrow::Cow;
use std::fmt;

use eosim_types::machine::MACHINES;
use eosim_types::marks::Mark;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::names::{RequiredName, RuleId};

/// One thing that must have happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Requirement {
    /// The fault of this name had an effect; `aimed` is every rule of `aimed`.
    Fault(String),
    /// Something of the protocol was reached.
    Reached(Reached),
}

/// Something of the protocol.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reached {
    /// The branch of a rule was taken.
    Rule(String),
    /// A state machine entered a state.
    State(String),
    /// A state machine took an event in a state.
    Cell(String),
}

impl Reached {
    /// Where it is counted.
    ///
    /// # Panics
    /// If there is nothing of that name, which the schema of a scenario excludes.
    #[must_use]
    pub fn mark(&self) -> Mark {
        let mark = match self {
            Self::Rule(id) => Mark::rule(id),
            Self::State(name) => Mark::state(name),
            Self::Cell(name) => Mark::cell(name),
        };
        mark.expect("a name that the schema knows")
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(name) => f.write_str(name),
            Self::Reached(Reached::Rule(id)) => write!(f, "rule {id}"),
            Self::Reached(Reached::State(name)) => write!(f, "state {name}"),
            Self::Reached(Reached::Cell(name)) => write!(f, "cell {name}"),
        }
    }
}

fn state_names() -> Vec<String> {
    let states = |machine: &'static eosim_types::machine::Machine| {
        machine.states.iter().map(|state| format!("{}/{state}", machine.name))
    };
    MACHINES.iter().flat_map(|machine| states(machine)).collect()
}

fn cell_names() -> Vec<String> {
    let cells = |machine: &'static eosim_types::machine::Machine| {
        machine.states.iter().flat_map(move |state| {
            machine.events.iter().map(move |event| format!("{}/{state}/{event}", machine.name))
        })
    };
    MACHINES.iter().flat_map(|machine| cells(machine)).collect()
}

/// An object with the one key `key`.
fn only(key: &str, description: &str, value: &Schema) -> Schema {
    json_schema!({
        "type": "object",
        "description": description,
        "properties": {key: value},
        "required": [key],
        "additionalProperties": false,
    })
}

impl JsonSchema for Requirement {
    fn schema_name() -> Cow<'static, str> {
        "Requirement".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let states = json_schema!({"type": "string", "enum": state_names(), "x-kind": "state"});
        let cells = json_schema!({"type": "string", "enum": cell_names(), "x-kind": "cell"});
        let rule = generator.subschema_for::<RuleId>();
        json_schema!({"anyOf": [
            generator.subschema_for::<RequiredName>(),
            only("rule", "The branch of a protocol rule was taken.", &rule),
            only("state", "A state machine entered this state.", &states),
            only("cell", "A state machine took this event in this state.", &cells),
        ]})
    }
}
