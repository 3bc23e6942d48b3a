//! Values that a scenario leaves to the seed.

use serde_json::Value;

use crate::Chooser;
use crate::plan::FAULTS;

/// A place in a scenario whose value is drawn once per seed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Draw {
    /// The place as a JSON pointer.
    pub(crate) pointer: String,
    /// The place as users read it.
    pub(crate) path: String,
    /// What it is drawn from.
    pub(crate) options: Options,
}

/// What a value is drawn from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Options {
    /// The whole numbers between two bounds, both included.
    Range {
        /// The smallest.
        from: u64,
        /// The largest.
        to: u64,
    },
    /// One of these.
    List(Vec<Value>),
}

impl Options {
    /// How many values there are.
    fn count(&self) -> u32 {
        match self {
            Self::Range { from, to } => {
                u32::try_from(to - from + 1).expect("bounded by the schema")
            }
            Self::List(list) => u32::try_from(list.len()).expect("bounded by the schema"),
        }
    }

    /// The value at place `index`.
    fn value(&self, index: u32) -> Value {
        match self {
            Self::Range { from, .. } => Value::from(from + u64::from(index)),
            Self::List(list) => list[index as usize].clone(),
        }
    }
}

/// Puts plain values in the place of everything that is drawn.
pub(crate) fn resolve(scenario: &mut Value, draws: &[Draw], choose: &mut Chooser<'_>) {
    for draw in draws {
        let place = scenario.pointer_mut(&draw.pointer).expect("found by the check");
        *place = draw.options.value(pick(&draw.path, draw.options.count(), choose));
    }
}

/// Turns a subset of the faults off, and with them what is required of them.
pub(crate) fn swarm(scenario: &mut Value, choose: &mut Chooser<'_>) {
    let Some(faults) = scenario.get_mut("faults").and_then(Value::as_object_mut) else { return };
    if faults.remove("swarm") != Some(Value::Bool(true)) {
        return;
    }
    let mut off = Vec::new();
    for name in FAULTS.iter().filter(|name| faults.contains_key(**name)) {
        if pick(&format!("faults.{name}"), 2, choose) == 0 {
            off.push(*name);
        }
    }
    for name in &off {
        faults.remove(*name);
    }
    if let Some(required) = scenario.get_mut("requires").and_then(Value::as_array_mut) {
        required.retain(|name| !name.as_str().is_some_and(|name| off.contains(&name)));
    }
}

/// One of 0 … `n` − 1; without a choice where there is only one.
fn pick(site: &str, n: u32, choose: &mut Chooser<'_>) -> u32 {
    if n < 2 { 0 } else { choose(site, n) }
}
