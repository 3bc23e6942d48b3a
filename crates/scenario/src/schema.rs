//! The published JSON Schema of scenario files, made from the types of [`Plan`].
//!
//! Invariant: it uses no keyword that [`crate::check`] does not enforce, so that what is published
//! is what is checked.

use std::sync::OnceLock;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::plan::Plan;

/// The JSON Schema of scenario files.
///
/// Besides the standard keywords, `x-draw` marks an object whose value is drawn per seed,
/// `x-ordered` names two keys whose values must not be reversed, and `x-kind` says what the names
/// of a long list stand for.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let generator = SchemaSettings::draft2020_12().into_generator();
        let mut schema = generator.into_root_schema_for::<Plan>().to_value();
        schema["title"] = Value::from("eosim scenario");
        schema
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keywords that the check enforces, or that say nothing about what is valid.
    const UNDERSTOOD: &[&str] = &[
        "$defs",
        "$ref",
        "$schema",
        "additionalProperties",
        "anyOf",
        "const",
        "default",
        "description",
        "enum",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "oneOf",
        "pattern",
        "properties",
        "required",
        "title",
        "type",
        "x-draw",
        "x-kind",
        "x-ordered",
    ];
    /// Formats that the check enforces, or that only repeat the bounds.
    const FORMATS: &[&str] =
        &["int16", "int32", "int64", "name", "partition", "probability", "uint32", "uint64"];

    fn walk(schema: &Value) {
        let Value::Object(object) = schema else { return };
        for (keyword, value) in object {
            assert!(UNDERSTOOD.contains(&keyword.as_str()), "{keyword} in {schema}");
            match (keyword.as_str(), value) {
                ("properties" | "$defs", Value::Object(schemas)) => schemas.values().for_each(walk),
                ("items" | "additionalProperties", schema) => walk(schema),
                ("anyOf" | "oneOf", Value::Array(schemas)) => schemas.iter().for_each(walk),
                ("format", format) => {
                    assert!(FORMATS.contains(&format.as_str().unwrap_or("")), "{format}");
                }
                ("type", kind) => assert!(kind.is_string(), "{schema}"),
                _ => {}
            }
        }
    }

    #[test]
    fn the_schema_says_nothing_that_is_not_checked() {
        walk(schema());
    }

    #[test]
    fn every_object_refuses_unknown_keys_or_is_a_map() {
        let objects = schema()["$defs"].as_object().expect("definitions");
        for (name, object) in objects.iter().filter(|(_, schema)| schema["type"] == "object") {
            assert!(object.get("additionalProperties").is_some(), "{name}");
        }
    }
}
