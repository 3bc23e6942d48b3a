//! What a promise that only brokers see broken leads to: how clients come to feel it.
//!
//! The checker compares what brokers hold with what their logs say, and often finds a fault of theirs
//! long before a client could. Whoever must judge it asks what it does to clients, and when: the same
//! plan is run at other seeds, then with faults at random besides, until a client is harmed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use eosim_checker::{Anomaly, Verdict, invariants};
use eosim_scenario::{Override, Plan, ScenarioFile};

use super::focus::Focus;
use super::needs::{Judged, Search};
use super::{Broken, Explain, necessary, subject};
use crate::recording::{Recording, record};
use crate::shrink::trial::value_of;
use crate::sweep::ScenarioMachine;
use crate::variant::{Guide, Variant};

/// So many seeds are run, as they are and with faults besides.
const SEEDS: u64 = 40;

/// So many runs are made to find out what is necessary.
const RUNS: u64 = 120;

/// Faults last so long, ms, if the plan has none.
const FAULTS_MS: u64 = 10_000;

/// A run in which clients feel it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Consequence {
    /// What clients were promised.
    pub broken: Broken,
    /// What is set otherwise in the plan; nothing if it is the same.
    pub set: Vec<String>,
    /// What can be taken away from it, and whether it is necessary.
    pub parts: Vec<Judged>,
    /// The run itself.
    pub recording: Recording,
}

impl Consequence {
    /// The parts that are necessary for it, single strikes in the place of their kind; switches aside.
    #[must_use]
    pub fn necessary(&self) -> Vec<&Judged> {
        necessary(&self.parts)
    }
}

/// Is it an invariant that clients can never see broken by themselves?
fn is_unfelt(invariant: &str) -> bool {
    invariants().iter().any(|info| info.name == invariant && !info.is_felt())
}

/// What of `verdict` clients feel; `None` if nothing of it.
fn felt(verdict: &Verdict) -> Option<Verdict> {
    match verdict {
        Verdict::Safety(anomalies) => {
            let felt = anomalies.iter().filter(|one| !is_unfelt(one.invariant));
            let felt: Vec<Anomaly> = felt.cloned().collect();
            (!felt.is_empty()).then_some(Verdict::Safety(felt))
        }
        Verdict::Liveness(_) => Some(verdict.clone()),
        Verdict::Sound | Verdict::Inconclusive(_) => None,
    }
}

/// Where clients feel what only brokers see in the first place in a run with this verdict; `None` if
/// they feel it there, or in no run that was tried.
pub(super) fn of(explain: &Explain<'_>, verdict: &Verdict) -> Option<Consequence> {
    let Verdict::Safety(anomalies) = verdict else { return None };
    if !is_unfelt(anomalies.first()?.invariant) {
        return None;
    }
    if felt(verdict).is_some() {
        return found(explain, explain.recording.clone(), Vec::new());
    }
    let harsher = harsher(&explain.recording.plan);
    [Vec::new(), harsher].into_iter().find_map(|set| at_other_seeds(explain, set))
}

/// Faults at random besides those of the plan.
fn harsher(plan: &Plan) -> Vec<String> {
    let mut set = vec!["faults.intensity=rough".to_string()];
    if plan.faults.until_ms == 0 {
        set.push(format!("faults.until_ms={FAULTS_MS}"));
    }
    set
}

fn at_other_seeds(explain: &Explain<'_>, set: Vec<String>) -> Option<Consequence> {
    let Recording { plan, defects, .. } = explain.recording;
    let overrides: Vec<Override> = set.iter().filter_map(|one| one.parse().ok()).collect();
    let known: Vec<&str> = invariants().iter().map(|info| info.name).collect();
    let text = value_of(plan).to_string();
    let scenario = ScenarioFile::parse(&plan.name, &text, &overrides, &known).ok()?;
    let mut machine = ScenarioMachine::new();
    let seed = (0..SEEDS).find(|seed| {
        let run = AssertUnwindSafe(|| machine.run(&scenario, *seed, *defects));
        catch_unwind(run).is_ok_and(|result| felt(&result.verdict).is_some())
    })?;
    let (recording, _) = record(&scenario, seed, *defects, explain.describe);
    found(explain, recording, set)
}

fn found(explain: &Explain<'_>, recording: Recording, set: Vec<String>) -> Option<Consequence> {
    let guide = Guide::of(&recording);
    let base = guide.linked(&Variant::of(&recording), explain.describe)?;
    let verdict = felt(&base.observed.result.verdict)?;
    let broken = Broken::of(&verdict, &base)?;
    let focus = Focus::of(&subject(&verdict), &base.observed);
    let mut search = Search::of(&recording, &guide, &base, (&verdict, &broken, &focus), RUNS)?;
    let parts = search.run();
    Some(Consequence { broken, set, parts, recording })
}
