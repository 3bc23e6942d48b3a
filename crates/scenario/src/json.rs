//! Reads JSON strictly: limits on size and nesting, no key twice.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::error::InputError;

/// The largest input in bytes: 1 MiB.
pub const SIZE_MAX: usize = 1 << 20;

/// The deepest nesting of lists and objects.
pub const DEPTH_MAX: u8 = 32;

/// The text of the file at `path`, at most [`SIZE_MAX`] bytes.
///
/// # Errors
/// If it cannot be read, is too large, or is not UTF-8.
pub fn read_file(path: &Path) -> Result<String, InputError> {
    let name = path.display().to_string();
    let refuse = |found: String| InputError::new(&name, "", found, "a file that can be read");
    let file = File::open(path).map_err(|error| refuse(error.to_string()))?;
    let mut bytes = Vec::new();
    let limit = SIZE_MAX as u64 + 1;
    file.take(limit).read_to_end(&mut bytes).map_err(|error| refuse(error.to_string()))?;
    let not_utf8 = |_| InputError::new(&name, "", "bytes that are not UTF-8", "UTF-8 text");
    check_size(&name, bytes.len())?;
    String::from_utf8(bytes).map_err(not_utf8)
}

fn check_size(file: &str, size: usize) -> Result<(), InputError> {
    if size <= SIZE_MAX {
        return Ok(());
    }
    let expected = format!("at most {SIZE_MAX} bytes");
    Err(InputError::new(file, "", format!("more than {SIZE_MAX} bytes"), expected))
}

/// The value that `text`, the contents of `file`, stands for.
///
/// # Errors
/// If it is not JSON, too large or nested too deeply, or has a key twice.
pub fn parse(file: &str, text: &str) -> Result<Value, InputError> {
    check_size(file, text.len())?;
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
