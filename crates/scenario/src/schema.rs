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
