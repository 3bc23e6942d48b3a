//! `--set path=value`: one value of a scenario replaced on the command line.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::error::InputError;

/// One replacement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Override {
    text: String,
    path: Vec<String>,
    value: Value,
}

impl FromStr for Override {
    type Err = String;

    /// Reads `path.to.value=…`. A key that holds dots is quoted, or follows `settings`; an entry of
    /// a list is its number, from 0. What is not JSON is a string.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected a path and a value, such as faults.crash.down_ms=500";
        let (path, value) = text.split_once('=').ok_or(EXPECTED)?;
        let path = split(path);
        if path.is_empty() || path.len() > 16 || path.iter().any(String::is_empty) {
            return Err(EXPECTED.to_string());
        }
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        Ok(Self { text: text.to_string(), path, value })
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The keys of a path: `a.b[0]."c.d"`.
fn split(path: &str) -> Vec<String> {
    let mut keys = vec![String::new()];
    let mut quoted = false;
    for letter in path.chars() {
        let settings = keys.len() > 1 && keys[keys.len() - 2] == "settings";
        let last = keys.last_mut().expect("never empty");
        match letter {
            '"' => quoted = !quoted,
            '.' | '[' if !quoted && !settings => keys.push(String::new()),
            ']' if !quoted => {}
            _ => last.push(letter),
        }
    }
    keys
}

impl Override {
    /// Puts the value into `scenario`, making the objects on the way.
    ///
    /// # Errors
    /// If the path leads through a plain value or past the end of a list.
    pub(crate) fn apply(&self, scenario: &mut Value) -> Result<(), InputError> {
        let mut place = scenario;
        for (depth, key) in self.path.iter().enumerate() {
            place = self.step(place, depth, key)?;
        }
        *place = self.value.clone();
        Ok(())
    }

    fn step<'v>(
        &self,
        place: &'v mut Value,
        depth: usize,
        key: &str,
    ) -> Result<&'v mut Value, InputError> {
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
        let found = crate::check::found(place);
        let path = self.path[..depth].join(".");
        let refuse =
            |expected| InputError::new(format!("--set {self}"), path, found.clone(), expected);
        match place {
            Value::Object(object) => Ok(object.entry(key).or_insert(Value::Null)),
            Value::Array(list) => {
                let index = key.parse::<usize>().ok().and_then(|index| list.get_mut(index));
                index.ok_or_else(|| refuse(format!("a list with an entry {key}")))
            }
            _ => Err(refuse(format!("an object or list that holds {key}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_is_replaced_or_added() {
        let mut scenario = json!({"cluster": {"brokers": 1}, "producers": [{"name": "p"}]});
        let sets = [
            "cluster.brokers=3",
            "producers[0].settings.linger.ms=0",
            "producers.0.name=q",
            "cluster.topics.\"a.b\".partitions={\"from\":1,\"to\":2}",
        ];
        for set in sets {
            set.parse::<Override>().expect(set).apply(&mut scenario).expect(set);
        }
        let expected = json!({
            "cluster": {"brokers": 3, "topics": {"a.b": {"partitions": {"from": 1, "to": 2}}}},
            "producers": [{"name": "q", "settings": {"linger.ms": 0}}],
        });
        assert_eq!(scenario, expected);
    }

    #[test]
    fn a_path_that_leads_nowhere_is_refused() {
        let scenario = json!({"name": "x", "producers": []});
        let cases = [
            (
                "name.x=1",
                "--set name.x=1: name: found \"x\", expected an object or list that holds x",
            ),
            (
                "producers[1]=1",
                "--set producers[1]=1: producers: found a list of 0, expected a list with an entry 1",
            ),
        ];
        for (set, message) in cases {
            let set = set.parse::<Override>().expect(set);
            let error = set.apply(&mut scenario.clone()).expect_err(message);
            assert_eq!(error.to_string(), message);
        }
        assert!("name".parse::<Override>().is_err());
        assert!("a..b=1".parse::<Override>().is_err());
    }
}
