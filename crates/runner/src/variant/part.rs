//! What can be taken away from a run: a switch, a rule of `aimed`, a step of the operator, all faults
//! of one kind that strike at random, or one strike of them.

use std::fmt;

use eosim_scenario::Plan;
use eosim_scenario::plan::{Action, Aimed, FAULTS, OperatorStep, When};
use eosim_types::Defect;
use serde_json::Value;

use super::{Guide, Variant};
use crate::recording::Recording;
use crate::shrink::trial::value_of;

/// Something without which the run can be made again. Its name is that of its place in the plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Part {
    /// A switch.
    Switch(Defect),
    /// All faults of a kind.
    Fault(&'static str),
    /// The n-th strike of a kind, from 1. 0 is none of them: only that each is a rule of its own.
    Strike(&'static str, usize),
    /// A rule of `aimed`, from 0.
    Rule(usize),
    /// A step of the operator, from 0.
    Operator(usize),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(defect) => f.write_str(defect.name()),
            Self::Fault(kind) => write!(f, "faults.{kind}"),
            Self::Strike(kind, nth) => write!(f, "faults.{kind}.{nth}"),
            Self::Rule(at) => write!(f, "aimed.{at}"),
            Self::Operator(at) => write!(f, "operator.{at}"),
        }
    }
}

/// A name that is of no part of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoSuchPart {
    /// The parts that the run has.
    pub known: Vec<String>,
}

impl Part {
    /// Everything that can be taken away from a recorded run, strikes aside: what an operator waits
    /// for is nothing by itself.
    #[must_use]
    pub fn all(recording: &Recording) -> Vec<Self> {
        let plan = &recording.plan;
        let switches = recording.defects.union(plan.switched_on()).iter().map(Self::Switch);
        let faults = FAULTS.iter().copied().filter(|kind| plan.faults.has(kind));
        let rules = (0..plan.aimed.len()).map(Self::Rule);
        let steps = plan.operator.iter().enumerate();
        let steps = steps.filter(|(_, step)| !matches!(step, OperatorStep::WaitUntilMs(_)));
        let operator = steps.map(|(at, _)| Self::Operator(at));
        faults.map(Self::Fault).chain(rules).chain(operator).chain(switches).collect()
    }

    /// The part of a recorded run that is called `name`.
    ///
    /// # Errors
    /// If there is none; those that there are.
    pub fn named(name: &str, recording: &Recording, guide: &Guide) -> Result<Self, NoSuchPart> {
        let all = Self::all(recording);
        if let Some(part) = all.iter().find(|part| part.to_string() == name) {
            return Ok(*part);
        }
        let strike = name.rsplit_once('.').and_then(|(kind, nth)| {
            let nth: usize = nth.parse().ok()?;
            let of_kind = |part: &&Self| part.to_string() == kind;
            let Some(Self::Fault(kind)) = all.iter().find(of_kind) else { return None };
            let count = guide.strikes(kind).len();
            (1..=count).contains(&nth).then_some(Self::Strike(kind, nth))
        });
        strike.ok_or_else(|| NoSuchPart { known: all.iter().map(ToString::to_string).collect() })
    }

    /// Takes `parts` away from a recorded run. What is left of a fault, if only some of its strikes
    /// go, are rules that strike the same messages.
    #[must_use]
    pub fn taken_away(parts: &[Self], recording: &Recording, guide: &Guide) -> Variant {
        let mut variant = Variant::of(recording);
        let plan = &mut variant.plan;
        for (at, rule) in plan.aimed.iter_mut().enumerate() {
            if parts.contains(&Self::Rule(at)) {
                *rule = idle();
            }
        }
        keep(&mut plan.operator, |at| !parts.contains(&Self::Operator(at)));
        for kind in FAULTS.iter().copied().filter(|kind| recording.plan.faults.has(kind)) {
            let is_strike = |part: &Self| matches!(part, Self::Strike(of, _) if *of == kind);
            let is_gone = parts.contains(&Self::Fault(kind));
            if is_gone || parts.iter().any(is_strike) {
                *plan = without_fault(plan, kind);
            }
            if !is_gone && parts.iter().any(is_strike) {
                let strikes = guide.strikes(kind).iter().zip(1..);
                let left = strikes.filter(|(_, n)| !parts.contains(&Self::Strike(kind, *n)));
                plan.aimed.extend(left.map(|(rule, _)| rule.clone()));
            }
        }
        let off = |name: &str| {
            let is_it = |part: &Self| matches!(part, Self::Switch(one) if one.name() == name);
            parts.iter().any(is_it)
        };
        plan.switched_on.retain(|name| !off(name));
        for part in parts {
            if let Self::Switch(defect) = part {
                variant.defects = variant.defects.without(*defect);
            }
        }
        variant
    }
}

/// A rule that never acts, in the place of one that is gone: the others keep their numbers.
fn idle() -> Aimed {
    let when = When { at_ms: Some(NEVER_MS), ..When::default() };
    Aimed { when, r#do: Action::Release("nothing".to_string()) }
}

/// No run lasts so long.
const NEVER_MS: u64 = 1 << 50;

fn without_fault(plan: &Plan, kind: &str) -> Plan {
    let mut value = value_of(plan);
    if let Some(faults) = value.get_mut("faults").and_then(Value::as_object_mut) {
        faults.remove(kind);
    }
    serde_json::from_value(value).expect("a fault is optional")
}

fn keep<T>(list: &mut Vec<T>, is_kept: impl Fn(usize) -> bool) {
    let mut at = 0;
    list.retain(|_| {
        at += 1;
        is_kept(at - 1)
    });
}
