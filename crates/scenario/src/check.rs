//! Compares a scenario with its schema and says exactly what is wrong where.
//!
//! The keywords understood are those that [`crate::schema()`] uses. On the way, places that are
//! drawn per seed are collected.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::draw::{Draw, Options};
use crate::error::InputError;

mod alternative;
mod describe;

pub(crate) use describe::found;
use describe::{LISTED_MAX, describe, one_of};

/// Compares `value`, the contents of `file`, with the root schema `root`.
///
/// # Errors
/// The first difference.
pub(crate) fn check(file: &str, root: &Value, value: &Value) -> Result<Vec<Draw>, InputError> {
    let mut walker = Walker { file, root, path: Vec::new(), draws: Vec::new() };
    walker.value(root, value)?;
    Ok(walker.draws)
}

/// Compares `value`, at the top of `file`, with the root schema `root` of another kind of file.
///
/// # Errors
/// The first difference.
pub fn conform(file: &str, root: &Value, value: &Value) -> Result<(), InputError> {
    check(file, root, value).map(|_| ())
}

/// `key` as it stands in a path.
pub(crate) fn quoted_key(key: &str) -> String {
    if key.contains(['.', '[', '"']) { format!("\"{key}\"") } else { key.to_string() }
}

/// One step from a value to a value within it.
enum Segment {
    Key(String),
    Index(usize),
}

struct Walker<'a> {
    file: &'a str,
    root: &'a Value,
    path: Vec<Segment>,
    draws: Vec<Draw>,
}

impl<'a> Walker<'a> {
    /// The schema that `schema` refers to, or itself.
    fn target(&self, schema: &'a Value) -> &'a Value {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let pointer = reference.and_then(|reference| reference.strip_prefix('#'));
        pointer.map_or(schema, |pointer| self.root.pointer(pointer).expect("a known schema"))
    }

    /// `cluster.topics."a.b".replicas[0]`.
    fn path(&self) -> String {
        let mut text = String::new();
        for segment in &self.path {
            match segment {
                Segment::Index(index) => write!(text, "[{index}]"),
                Segment::Key(key) => write!(text, ".{}", quoted_key(key)),
            }
            .expect("a string takes everything");
        }
        text.strip_prefix('.').map(String::from).unwrap_or(text)
    }

    fn pointer(&self) -> String {
        let escape = |key: &str| key.replace('~', "~0").replace('/', "~1");
        let part = |segment: &Segment| match segment {
            Segment::Index(index) => format!("/{index}"),
            Segment::Key(key) => format!("/{}", escape(key)),
        };
        self.path.iter().map(part).collect()
    }

    fn refuse(&self, found: impl Into<String>, expected: impl Into<String>) -> InputError {
        InputError::new(self.file, self.path(), found, expected)
    }

    fn within<T>(&mut self, segment: Segment, inner: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(segment);
        let result = inner(self);
        self.path.pop();
        result
    }

    fn value(&mut self, schema: &'a Value, value: &Value) -> Result<(), InputError> {
        let schema = self.target(schema);
        let alternatives = schema.get("oneOf").or_else(|| schema.get("anyOf"));
        if let Some(alternatives) = alternatives.and_then(Value::as_array) {
            let chosen = self.choose(alternatives, value)?;
            return self.value(chosen, value);
        }
        if schema.get("const").is_some() || schema.get("enum").is_some() {
            return self.name(schema, value);
        }
        match (schema["type"].as_str(), value) {
            (Some("object"), Value::Object(object)) => self.object(schema, object),
            (Some("array"), Value::Array(list)) => self.list(schema, list),
            (Some("string"), Value::String(text)) => self.string(schema, text),
            (Some("integer"), Value::Number(_)) => self.integer(schema, value),
            (Some("boolean"), Value::Bool(_)) | (None, _) => Ok(()),
            _ => Err(self.refuse(found(value), describe(schema))),
        }
    }

    /// A value that must be one of several words.
    fn name(&self, schema: &Value, value: &Value) -> Result<(), InputError> {
        let known = alternative::words(schema);
        if value.as_str().is_some_and(|word| known.contains(&word)) {
            return Ok(());
        }
        let error = self.refuse(found(value), describe(schema));
        Err(error.with_nearest(value.as_str().unwrap_or(""), known))
    }

    fn integer(&self, schema: &Value, value: &Value) -> Result<(), InputError> {
        let bound = |key: &str| schema.get(key).and_then(Value::as_i64);
        let inside = value.as_i64().is_some_and(|number| {
            bound("minimum").is_none_or(|min| min <= number)
                && bound("maximum").is_none_or(|max| number <= max)
        });
        if inside { Ok(()) } else { Err(self.refuse(found(value), describe(schema))) }
    }

    fn string(&self, schema: &Value, text: &str) -> Result<(), InputError> {
        let length = text.chars().count() as u64;
        let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
        if bound("minLength").is_some_and(|min| length < min)
            || bound("maxLength").is_some_and(|max| length > max)
        {
            return Err(self.refuse(format!("{length} characters"), describe(schema)));
        }
        let format = schema.get("format").and_then(Value::as_str);
        if format.is_none_or(|format| describe::has_format(format, text)) {
            return Ok(());
        }
        Err(self.refuse(found(&Value::from(text)), describe(schema)))
    }

    fn list(&mut self, schema: &'a Value, list: &[Value]) -> Result<(), InputError> {
        self.count(schema, "Items", list.len())?;
        let Some(items) = schema.get("items") else { return Ok(()) };
        for (index, item) in list.iter().enumerate() {
            self.within(Segment::Index(index), |walker| walker.value(items, item))?;
        }
        Ok(())
    }

    fn count(&self, schema: &Value, what: &str, count: usize) -> Result<(), InputError> {
        let bound = |end: &str| schema.get(format!("{end}{what}")).and_then(Value::as_u64);
        let (min, max) = (bound("min").unwrap_or(0), bound("max").unwrap_or(u64::MAX));
        if (min..=max).contains(&(count as u64)) {
            return Ok(());
        }
        let entries = if count == 1 { "entry" } else { "entries" };
        Err(self.refuse(format!("{count} {entries}"), format!("{min} to {max}")))
    }

    fn object(&mut self, schema: &'a Value, object: &Map<String, Value>) -> Result<(), InputError> {
        let properties = schema.get("properties").and_then(Value::as_object);
        self.count(schema, "Properties", object.len())?;
        self.unknown_keys(schema, object)?;
        self.missing_keys(schema, object)?;
        for (key, value) in object {
            let known = properties.and_then(|properties| properties.get(key));
            let schema = known.or_else(|| schema.get("additionalProperties"));
            let Some(schema) = schema else { continue };
            self.within(Segment::Key(key.clone()), |walker| walker.value(schema, value))?;
        }
        self.ordered(schema, object)?;
        self.draw(schema, object);
        Ok(())
    }

    fn unknown_keys(&self, schema: &Value, object: &Map<String, Value>) -> Result<(), InputError> {
        if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
            return Ok(());
        }
        let known = alternative::keys(schema);
        let Some(key) = object.keys().find(|key| !known.contains(&key.as_str())) else {
            return Ok(());
        };
        Err(self.unknown_key(key, &known))
    }

    fn unknown_key(&self, key: &str, known: &[&str]) -> InputError {
        let found = format!("the unknown key {}", found(&Value::from(key)));
        let error = self.refuse(found, one_of(known)).with_nearest(key, known.iter().copied());
        if error.nearest.is_none() && alternative::keys(self.root).contains(&key) {
            let expected = format!("{}; \"{key}\" stands at the top of the file", error.expected);
            return InputError { expected, ..error };
        }
        if error.nearest.is_none() || known.len() <= LISTED_MAX {
            return error;
        }
        InputError { expected: format!("one of {} known keys", known.len()), ..error }
    }

    fn missing_keys(&self, schema: &Value, object: &Map<String, Value>) -> Result<(), InputError> {
        let required = schema.get("required").and_then(Value::as_array);
        let mut required = required.into_iter().flatten().filter_map(Value::as_str);
        match required.find(|key| !object.contains_key(*key)) {
            Some(key) => Err(self.refuse(format!("no \"{key}\""), format!("the key \"{key}\""))),
            None => Ok(()),
        }
    }

    /// `x-ordered`: the first of two keys is not above the second.
    fn ordered(&self, schema: &Value, object: &Map<String, Value>) -> Result<(), InputError> {
        let Some(pair) = schema.get("x-ordered").and_then(Value::as_array) else { return Ok(()) };
        let number = |index: usize| object[pair[index].as_str().expect("a key")].as_u64();
        let (low, high) = (number(0), number(1));
        if low <= high {
            return Ok(());
        }
        let (low, high) = (low.unwrap_or_default(), high.unwrap_or_default());
        let found = format!("the reversed range {low} to {high}");
        Err(self.refuse(found, format!("{} not above {}", pair[0], pair[1])))
    }

    /// `x-draw`: the place is drawn per seed.
    fn draw(&mut self, schema: &Value, object: &Map<String, Value>) {
        if schema.get("x-draw").is_none() {
            return;
        }
        let number = |key: &str| object.get(key).and_then(Value::as_u64);
        let options = match (number("from"), number("to"), &object.get("one_of")) {
            (Some(from), Some(to), _) => Options::Range { from, to },
            (_, _, Some(Value::Array(list))) => Options::List(list.clone()),
            _ => unreachable!("checked against the schema"),
        };
        self.draws.push(Draw { pointer: self.pointer(), path: self.path(), options });
    }
}
