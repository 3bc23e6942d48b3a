//! Values that a scenario leaves to the seed.

use serde_json::Value;

use crate::Chooser;
use crate::plan::{FAULTS, INTENSITIES, Intensity, Line};

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
        *place = draw.options.value(pick_of(&draw.path, draw.options.count(), choose));
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
        if pick_of(&format!("faults.{name}"), 2, choose) == 0 {
            off.push(*name);
        }
    }
    for name in &off {
        faults.remove(*name);
    }
    forget_requirements(scenario, &off);
}

/// Puts plain values in the place of all draws in `value`, which belongs to no file.
pub(crate) fn resolve_within(value: &mut Value, choose: &mut Chooser<'_>) {
    let Value::Object(object) = value else { return };
    let options = match (object.get("one_of"), object.get("from"), object.get("to")) {
        (Some(Value::Array(list)), _, _) => Options::List(list.clone()),
        (None, Some(from), Some(to)) => Options::Range {
            from: from.as_u64().expect("a whole number"),
            to: to.as_u64().expect("a whole number"),
        },
        _ => return,
    };
    *value = options.value(pick_of("faults.intensity.value", options.count(), choose));
}

/// Puts faults in the place of an intensity, and asks for nothing that is not on.
pub(crate) fn intensity(scenario: &mut Value, choose: &mut Chooser<'_>) {
    let has_possible_zombie = has_possible_zombie(scenario);
    let Some(faults) = scenario.get_mut("faults").and_then(Value::as_object_mut) else { return };
    let Some(level) = faults.remove("intensity") else { return };
    let level: Intensity = serde_json::from_value(level).expect("checked against the schema");
    let may_be_on = |line: &&Line| {
        !faults.contains_key(line.fault) && (line.fault != "zombie" || has_possible_zombie)
    };
    let mut open: Vec<&Line> = INTENSITIES.iter().filter(may_be_on).collect();
    for _ in 0..pick("faults.intensity", open.len().min(level.budget()) + 1, choose) {
        let line = open.remove(pick("faults.intensity.fault", open.len(), choose));
        faults.insert(line.fault.into(), line.parameters(level, choose));
    }
    let off: Vec<&str> = open.iter().map(|line| line.fault).collect();
    forget_requirements(scenario, &off);
}

/// As [`Plan::has_possible_zombie`](crate::Plan::has_possible_zombie), before there is a plan.
fn has_possible_zombie(scenario: &Value) -> bool {
    let all = |key| scenario.get(key).and_then(Value::as_array).into_iter().flatten();
    let has_store = |producer: &Value| producer.pointer("/workload/two_phase").is_some();
    all("transformers").next().is_some()
        || all("producers").any(|p| p.get("transactional_id").is_some() && !has_store(p))
}

/// Faults that are `off` are not required.
fn forget_requirements(scenario: &mut Value, off: &[&str]) {
    if let Some(required) = scenario.get_mut("requires").and_then(Value::as_array_mut) {
        required.retain(|name| !name.as_str().is_some_and(|name| off.contains(&name)));
    }
}

/// A place in a list of `n`.
pub(crate) fn pick(site: &str, n: usize, choose: &mut Chooser<'_>) -> usize {
    let n = u32::try_from(n).expect("a short list");
    pick_of(site, n, choose) as usize
}

/// One of 0 … `n` − 1; without a choice where there is only one.
fn pick_of(site: &str, n: u32, choose: &mut Chooser<'_>) -> u32 {
    if n < 2 { 0 } else { choose(site, n) }
}
