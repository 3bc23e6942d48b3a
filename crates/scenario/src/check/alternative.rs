//! Which of several schemas a value is meant for, so that the message speaks of that one.

use serde_json::{Map, Value};

use super::describe::{describe_all, found};
use super::{Segment, Walker};
use crate::error::InputError;

/// The words that a schema allows.
pub(super) fn words(schema: &Value) -> Vec<&str> {
    let list = schema.get("enum").and_then(Value::as_array);
    let single = schema.get("const");
    list.into_iter().flatten().chain(single).filter_map(Value::as_str).collect()
}

/// The keys that a schema knows.
pub(super) fn keys(schema: &Value) -> Vec<&str> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(key, _)| key.as_str()).collect()
}

/// The key whose value tells the alternatives apart, if there is one.
fn tag<'s>(alternatives: &[&'s Value]) -> Option<&'s str> {
    let properties = alternatives.first()?.get("properties")?.as_object()?;
    let is_tag = |key: &str, schema: &Value| schema["properties"][key].get("const").is_some();
    properties.keys().map(String::as_str).find(|key| alternatives.iter().all(|a| is_tag(key, a)))
}

/// How well `value` fits the shape of `schema`: `None` not at all, more is better.
fn fit(schema: &Value, value: &Value) -> Option<usize> {
    let words = words(schema);
    if !words.is_empty() {
        return value.as_str().filter(|word| words.contains(word)).map(|_| usize::MAX);
    }
    match (schema.get("type").and_then(Value::as_str), value) {
        (Some("object"), Value::Object(object)) => {
            Some(keys(schema).iter().filter(|key| object.contains_key(**key)).count())
                .filter(|shared| *shared > 0)
        }
        (Some("integer"), Value::Number(_))
        | (Some("string"), Value::String(_))
        | (Some("array"), Value::Array(_))
        | (Some("boolean"), Value::Bool(_)) => Some(1),
        _ => None,
    }
}

impl<'a> Walker<'a> {
    /// The alternative that `value` is meant for.
    pub(super) fn choose(
        &mut self,
        alternatives: &'a [Value],
        value: &Value,
    ) -> Result<&'a Value, InputError> {
        let alternatives: Vec<&'a Value> = alternatives.iter().map(|a| self.target(a)).collect();
        if let (Some(tag), Some(object)) = (tag(&alternatives), value.as_object()) {
            return self.tagged(tag, &alternatives, object);
        }
        let fits = alternatives.iter().filter_map(|a| fit(a, value).map(|fit| (fit, *a)));
        let best = fits.reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.map(|(_, schema)| schema).ok_or_else(|| self.no_alternative(&alternatives, value))
    }

    fn tagged(
        &mut self,
        tag: &str,
        alternatives: &[&'a Value],
        object: &Map<String, Value>,
    ) -> Result<&'a Value, InputError> {
        let word = |schema: &'a Value| schema["properties"][tag]["const"].as_str().unwrap_or("");
        let Some(found_tag) = object.get(tag) else {
            return Err(self.refuse(format!("no \"{tag}\""), format!("the key \"{tag}\"")));
        };
        let chosen = alternatives.iter().find(|schema| found_tag.as_str() == Some(word(schema)));
        let known: Vec<&str> = alternatives.iter().map(|schema| word(schema)).collect();
        chosen.copied().ok_or_else(|| {
            self.within(Segment::Key(tag.to_string()), |walker| {
                let error = walker.refuse(found(found_tag), super::one_of(&known));
                error.with_nearest(found_tag.as_str().unwrap_or(""), known)
            })
        })
    }

    fn no_alternative(&self, alternatives: &[&'a Value], value: &Value) -> InputError {
        let known_keys: Vec<&str> = alternatives.iter().flat_map(|a| keys(a)).collect();
        let known_words = alternatives.iter().flat_map(|a| words(a));
        let first_key = value.as_object().and_then(|object| object.keys().next());
        if let (Some(key), false) = (first_key, known_keys.is_empty()) {
            return self.unknown_key(key, &known_keys);
        }
        let all = known_words.chain(known_keys.iter().copied());
        let error = self.refuse(found(value), describe_all(alternatives));
        error.with_nearest(value.as_str().unwrap_or(""), all)
    }
}
