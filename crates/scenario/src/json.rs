//! Reads JSON strictly: limits on size and nesting, no key twice.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::error::InputError;

/// The largest input in bytes: 1 MiB.
pub const SIZE_MAX: usize = 1 << 20;

/// The deepest nesting of lists and objects.
pub const DEPTH_MAX: u8 = 32;

/// The largest file of what is kept of runs, and of recordings and histories, in bytes: 256 MiB.
pub const FILE_MAX: usize = 256 << 20;

/// The text of the scenario at `path`, at most [`SIZE_MAX`] bytes.
///
/// # Errors
/// As [`read_text`].
pub fn read_file(path: &Path) -> Result<String, InputError> {
    read_text(path, SIZE_MAX, "a file that can be read")
}

/// The text of the file at `path`, which should be what is `expected`, at most `max` bytes. However
/// large it is, or if it has no end, no more than that is read.
///
/// # Errors
/// If it cannot be read, is too large, or is not UTF-8.
pub fn read_text(path: &Path, max: usize, expected: &str) -> Result<String, InputError> {
    let name = path.display().to_string();
    let refuse = |error: io::Error| InputError::new(&name, "", error.to_string(), expected);
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(max as u64 + 1).read_to_end(&mut bytes));
    read.map_err(refuse)?;
    check_size(&name, bytes.len(), max)?;
    let not_utf8 = |_| InputError::new(&name, "", "bytes that are not UTF-8", "UTF-8 text");
    String::from_utf8(bytes).map_err(not_utf8)
}

fn check_size(file: &str, size: usize, max: usize) -> Result<(), InputError> {
    if size <= max {
        return Ok(());
    }
    let expected = format!("at most {max} bytes");
    Err(InputError::new(file, "", format!("more than {max} bytes"), expected))
}

/// The value that `text`, the contents of `file`, stands for.
///
/// # Errors
/// If it is not JSON, too large or nested too deeply, or has a key twice.
pub fn parse(file: &str, text: &str) -> Result<Value, InputError> {
    check_size(file, text.len(), SIZE_MAX)?;
    let mut json = serde_json::Deserializer::from_str(text);
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut json, &mut track);
    let value = Strict { depth: 0 }.deserialize(tracked);
    let value = value.and_then(|value| json.end().map(|()| value));
    value.map_err(|error| refuse(file, &track.path().to_string(), &error))
}

fn refuse(file: &str, path: &str, error: &serde_json::Error) -> InputError {
    let place = format!("line {} column {}", error.line(), error.column());
    let path = path.trim_end_matches(['?', '.']);
    let path = if path.is_empty() { place.clone() } else { format!("{path} ({place})") };
    let message = error.to_string();
    let message = message.strip_suffix(&format!(" at {place}")).unwrap_or(&message);
    match error.classify() {
        serde_json::error::Category::Data => {
            let message = message.strip_prefix("invalid type: ").unwrap_or(message);
            let parts = message.split_once('|').or_else(|| message.split_once(", expected "));
            let (found, expected) = parts.unwrap_or((message, "a value"));
            InputError::new(file, path, found, expected)
        }
        serde_json::error::Category::Eof => InputError::new(file, path, "the end", "more JSON"),
        _ => InputError::new(file, path, format!("a fault ({message})"), "JSON"),
    }
}

/// Builds a value; refusals are written as `found|expected`. Numbers with a fraction are refused by
/// the visitor's default.
struct Strict {
    depth: u8,
}

impl Strict {
    fn deeper<E: de::Error>(&self) -> Result<Self, E> {
        if self.depth == DEPTH_MAX {
            return Err(E::custom(format!("deeper nesting|at most {DEPTH_MAX} levels")));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;
    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number, or a text such as \"1/100\"")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::from(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.deeper()?)? {
            list.push(item);
        }
        Ok(Value::from(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                let refusal = format!("the key \"{key}\" twice|every key once");
                return Err(de::Error::custom(refusal));
            }
            let value = entries.next_value_seed(self.deeper()?)?;
            object.insert(key, value);
        }
        Ok(Value::from(object))
    }
}
