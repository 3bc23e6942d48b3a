//! Writes the little JSON that the text forms hold, keys in the order in which they are given.

use std::fmt::{Display, Write};

/// A JSON object under construction.
pub(crate) struct Object {
    text: String,
}

impl Object {
    pub(crate) fn new() -> Self {
        Self { text: String::from("{") }
    }

    /// Adds `key` with a value that is JSON already: a number, an object, a list.
    pub(crate) fn raw(mut self, key: &str, value: impl Display) -> Self {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        write!(self.text, "{}:{value}", string(key)).expect("a string takes everything");
        self
    }

    /// Adds `key` with a string.
    pub(crate) fn string(self, key: &str, value: &str) -> Self {
        self.raw(key, string(value))
    }

    /// Adds `key` with a number, unless it is `absent`.
    pub(crate) fn tagged(self, key: &str, value: i64, absent: i64) -> Self {
        if value == absent { self } else { self.raw(key, value) }
    }

    pub(crate) fn end(mut self) -> String {
        self.text.push('}');
        self.text
    }
}

/// A JSON list of values that are JSON already.
pub(crate) fn list(values: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", values.into_iter().collect::<Vec<_>>().join(","))
}

/// `text` as a JSON string.
pub(crate) fn string(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control < ' ' => {
                write!(quoted, "\\u{:04x}", u32::from(control)).expect("a string takes everything");
            }
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted() {
        let object = Object::new().string("a\"b", "c\\d\n").raw("n", 1).tagged("t", -1, -1);
        assert_eq!(object.end(), r#"{"a\"b":"c\\d\u000a","n":1}"#);
        assert_eq!(list(["1".to_string(), string("ä")]), "[1,\"ä\"]");
    }
}
