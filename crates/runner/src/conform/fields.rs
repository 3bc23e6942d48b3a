//! The arguments of one recorded step, read one by one; what is left over is not understood.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Why a step cannot be run: it uses what is not built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Unsupported(pub(crate) String);

/// A step's arguments.
pub(crate) struct Fields<'a> {
    map: &'a Map<String, Value>,
    read: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(map: &'a Map<String, Value>) -> Self {
        let read = RefCell::new(BTreeSet::from(["op", "expect"]));
        Self { map, read }
    }

    pub(crate) fn get(&self, key: &'static str) -> Option<&'a Value> {
        self.read.borrow_mut().insert(key);
        self.map.get(key).filter(|value| !value.is_null())
    }

    fn required(&self, key: &'static str) -> Result<&'a Value, Unsupported> {
        self.get(key).ok_or_else(|| Unsupported(format!("a step without {key}")))
    }

    pub(crate) fn text(&self, key: &'static str) -> Result<&'a str, Unsupported> {
        self.required(key)?.as_str().ok_or_else(|| Unsupported(format!("{key} is not a string")))
    }

    pub(crate) fn flag(&self, key: &'static str) -> Result<bool, Unsupported> {
        self.required(key)?.as_bool().ok_or_else(|| Unsupported(format!("{key} is not a boolean")))
    }

    /// A boolean, or `default` where none is given.
    pub(crate) fn flag_or(&self, key: &'static str, default: bool) -> Result<bool, Unsupported> {
        if self.get(key).is_none() { Ok(default) } else { self.flag(key) }
    }

    /// A number that fits `T`.
    pub(crate) fn number<T: TryFrom<i64>>(&self, key: &'static str) -> Result<T, Unsupported> {
        let number = self.required(key)?.as_i64().and_then(|n| T::try_from(n).ok());
        number.ok_or_else(|| Unsupported(format!("{key} is not a number in range")))
    }

    /// A number, or `default` where none is given.
    pub(crate) fn number_or<T: TryFrom<i64>>(
        &self,
        key: &'static str,
        default: T,
    ) -> Result<T, Unsupported> {
        if self.get(key).is_none() { Ok(default) } else { self.number(key) }
    }

    pub(crate) fn list(&self, key: &'static str) -> Result<Vec<&'a str>, Unsupported> {
        let strings = self.items(key)?.iter().map(Value::as_str).collect::<Option<_>>();
        strings.ok_or_else(|| Unsupported(format!("{key} is not a list of strings")))
    }

    pub(crate) fn numbers(&self, key: &'static str) -> Result<Vec<i64>, Unsupported> {
        let numbers = self.items(key)?.iter().map(Value::as_i64).collect::<Option<_>>();
        numbers.ok_or_else(|| Unsupported(format!("{key} is not a list of numbers")))
    }

    /// The items of a list; what is no list stands for the only item of one.
    fn items(&self, key: &'static str) -> Result<&'a [Value], Unsupported> {
        let value = self.required(key)?;
        Ok(value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice))
    }

    pub(crate) fn map(&self, key: &'static str) -> Result<&'a Map<String, Value>, Unsupported> {
        self.required(key)?.as_object().ok_or_else(|| Unsupported(format!("{key} is no object")))
    }

    /// Refuses the step if it carries an argument that nobody read.
    pub(crate) fn finish(&self) -> Result<(), Unsupported> {
        let read = self.read.borrow();
        match self.map.keys().find(|key| !read.contains(key.as_str())) {
            Some(key) => Err(Unsupported(format!("argument {key}"))),
            None => Ok(()),
        }
    }
}
