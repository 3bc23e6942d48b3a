//! `assertion`: an actor's own assumption does not hold.
//!
//! Promised by the actors themselves: each protocol file opens with its invariants and asserts
//! them. Not promised: anything about how much they assert.

use crate::anomaly::Report;
use crate::invariant::{Context, Invariant, InvariantInfo};
use crate::need::Need;
use crate::observe::{Kind, Seen};

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "assertion",
    promise: "The assumptions that actors assert about themselves hold.",
    source: "the invariants at the head of each protocol file",
    file: "src/invariants/assertion.rs",
    needs: &[&[Need::Assertions]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn watches(&self) -> &'static [Kind] {
        &[Kind::Asserted]
    }

    fn observe(&self, cx: Context<'_>, seen: Seen, report: &mut Report) {
        if let Seen::Asserted { assertion } = seen {
            let (actor, text) = &cx.facts.assertions[assertion as usize];
            let summary = format!("{} found its own assumption broken: {text}", cx.setup.actor(*actor));
            report.add(INFO.finding(u64::from(assertion), &["assertion"], "L-SIM-1", summary));
        }
    }
}
