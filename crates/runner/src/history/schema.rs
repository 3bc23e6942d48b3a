//! The JSON Schemas of a history's lines, made from their types; what is read is checked against
//! them.

use std::sync::OnceLock;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::event::{Event, Stamp};
use super::header::Header;

fn of<T: JsonSchema>(title: &str) -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    schema["title"] = Value::from(title);
    schema
}

/// The first line.
pub(super) fn header() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| of::<Header>("eosim history, first line"))
}

/// Every other line.
pub(super) fn line() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let mut schema = of::<Event>("eosim history, a line");
        let stamp = of::<Stamp>("");
        let alternatives = schema["oneOf"].as_array_mut().expect("an event is one of several");
        for alternative in alternatives {
            let times = stamp["properties"].as_object().expect("a stamp has keys");
            let properties = alternative["properties"].as_object_mut().expect("an event has keys");
            properties.extend(times.clone());
            alternative["additionalProperties"] = Value::from(false);
        }
        schema
    })
}

/// Both: of the first line and of every other.
#[must_use]
pub fn schema() -> Value {
    json!({"first_line": header(), "line": line()})
}
