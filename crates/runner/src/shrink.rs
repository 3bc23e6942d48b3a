//! The smallest run that fails in the same way as a recorded one.
//!
//! No Kafka counterpart; Hypothesis and proptest shrink examples likewise. First what struck at
//! random is aimed, so that it stays where it is; then whatever can go goes, as long as the same
//! invariant breaks for the same kind of reason: faults, clients, operations, partitions, brokers,
//! and choices that need not be made.

pub(crate) mod class;
pub(crate) mod guide;
pub(crate) mod pass;
mod search;
pub(crate) mod trial;

use std::sync::atomic::AtomicBool;

use eosim_checker::Verdict;
use eosim_scenario::Plan;
use eosim_types::observation::Observed as Saw;

use crate::history::Entry;
use crate::recording::{Observed, Recording, word};
use crate::run::Describe;
use class::Class;
use guide::Pick;
pub use search::Budget;
use search::Search;
use trial::{Best, Terms};

/// So many other seeds are tried with the scenario that is left.
pub const SEEDS: u64 = 10;

/// They are run for so many times as many steps as it took to fail.
const SOON: u64 = 20;

/// Added to a scenario's name.
const SUFFIX: &str = "-shrunk";

/// Coarse passes leave blocks of one part in so many as they are.
const COARSE: usize = 32;

/// How large a run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Size {
    /// How often faults struck, at random or aimed.
    pub faults: u64,
    /// Calls of applications: records sent, transactions begun and ended, polls with a result.
    pub operations: u64,
    /// Steps until the failure showed.
    pub steps: u64,
}

/// What to shrink, and how.
pub struct Shrink<'a> {
    /// The failure.
    pub recording: &'a Recording,
    /// Workers.
    pub jobs: usize,
    /// How much may be spent.
    pub budget: Budget,
    /// Asks for an end; what was reached counts.
    pub stop: &'a AtomicBool,
    /// How the last run is put into words.
    pub describe: Describe,
}

/// What is left.
pub struct Shrunk {
    /// The scenario, which can be run for itself.
    pub scenario: Plan,
    /// The run, no longer than to the failure.
    pub recording: Recording,
    /// The same, to be looked at.
    pub observed: Observed,
    /// The size of the run that was recorded.
    pub before: Size,
    /// The size of the one that is left.
    pub after: Size,
    /// Runs that it took.
    pub runs: u64,
    /// Steps of these runs.
    pub steps: u64,
    /// Nothing more can be taken away; else the budget was used up.
    pub is_smallest: bool,
    /// At how many of the seeds below [`SEEDS`] the scenario breaks the same invariant.
    pub failing_seeds: u64,
}

/// Why there is nothing to shrink.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unshrinkable {
    /// The run is not the one that was recorded.
    NotAsRecorded,
    /// Nothing is broken in it.
    NothingBroken(String),
}

impl Shrink<'_> {
    /// Shrinks; `on_run` hears of every run.
    ///
    /// # Errors
    /// If the recording does not fail when it is replayed.
    ///
    /// # Panics
    /// Never, unless a run is not a function of its choices.
    pub fn run(&self, on_run: &mut dyn FnMut()) -> Result<Shrunk, Unshrinkable> {
        let replayed = self.recording.replay(self.describe);
        if replayed.left.is_some() {
            return Err(Unshrinkable::NotAsRecorded);
        }
        let verdict = &replayed.observed.result.verdict;
        let class = Class::of(verdict)
            .ok_or_else(|| Unshrinkable::NothingBroken(word(verdict).to_string()))?;
        let steps =
            class.shows(&replayed.observed.result).unwrap_or(replayed.observed.result.steps);
        let terms = Terms { class, defects: self.recording.defects, steps_max: steps };
        let best = self.first(&terms, &replayed.observed).ok_or(Unshrinkable::NotAsRecorded)?;
        let before = self.before(&terms, steps);
        let (budget, stop) = (self.budget, self.stop);
        let mut search =
            Search { terms, best, jobs: self.jobs, budget, stop, runs: 0, steps: 0, on_run };
        let is_smallest = shrink(&mut search);
        Ok(self.conclude(search, before, is_smallest))
    }

    /// The recorded run, under its new name.
    fn first(&self, terms: &Terms, observed: &Observed) -> Option<Best> {
        let actors = &observed.actors;
        let picks = self.recording.choices.iter().map(|one| Pick::of(one.clone(), actors));
        let picks: Vec<Pick> = picks.collect();
        let plan = self.renamed(&terms.class, &observed.result.verdict);
        terms.run_and_cut(&plan, &picks, &|_, picked| picked, terms.steps_max).found
    }

    /// The plan under its new name, which says of itself what it shows.
    fn renamed(&self, class: &Class, verdict: &Verdict) -> Plan {
        let Recording { plan, seed, defects, .. } = self.recording;
        let base = plan.name.strip_suffix(SUFFIX).unwrap_or(&plan.name);
        let base: String = base.chars().take(100 - SUFFIX.len()).collect();
        let broken = match class {
            Class::Broken { invariant, .. } => format!("breaks {invariant}"),
            Class::Stuck { what } => format!("leaves a {what} stuck"),
        };
        let about = format!("What is left of {base} at seed {seed} that {broken}.");
        let aimed_at = defects.iter().map(|defect| defect.name().to_string());
        let defects = aimed_at.chain(plan.switched_on.clone()).collect();
        let name = base + SUFFIX;
        let (shows, requires) = (Vec::new(), Vec::new());
        let rules = match verdict {
            Verdict::Safety(anomalies) => anomalies.first().map(|first| first.rule),
            _ => None,
        };
        let rules = rules.filter(|rule| eosim_types::rules::RULES.contains(rule)).map(String::from);
        let rules = rules.into_iter().collect();
        Plan { name, about, shows, requires, rules, defects, ..plan.clone() }
    }

    fn before(&self, terms: &Terms, steps: u64) -> Size {
        let cut = if terms.class.can_be_cut() { steps } else { u64::MAX };
        size(&self.recording.replay_to(cut, self.describe).observed)
    }

    fn conclude(&self, search: Search<'_>, before: Size, is_smallest: bool) -> Shrunk {
        let Search { terms, best, runs, steps, .. } = search;
        let soon = terms.cut(&best.plan, best.steps.saturating_mul(SOON));
        let breaks = |seed: &u64| {
            let run = terms.run_seed(&soon, *seed);
            terms.class.is_broken_in(&run.verdict)
        };
        let failing_seeds = (0..SEEDS).filter(breaks).count() as u64;
        let mut recording = Recording {
            plan: terms.cut(&best.plan, best.steps),
            choices: best.picks.into_iter().map(|pick| pick.choice).collect(),
            ..self.recording.clone()
        };
        let replayed = recording.replay(self.describe);
        assert!(replayed.left.is_none(), "a run is a function of its choices");
        let observed = replayed.observed;
        recording.steps = observed.result.steps;
        recording.digest = observed.result.digest;
        recording.verdict = word(&observed.result.verdict).to_string();
        let after = size(&observed);
        let scenario = best.plan;
        Shrunk {
            scenario,
            recording,
            observed,
            before,
            after,
            runs,
            steps,
            is_smallest,
            failing_seeds,
        }
    }
}

impl Shrunk {
    /// What goes wrong, in one word.
    #[must_use]
    pub fn verdict(&self) -> &Verdict {
        &self.observed.result.verdict
    }
}

/// All passes, until none finds anything; false if the budget was used up before.
fn shrink(search: &mut Search<'_>) -> bool {
    search.greedy(&pass::spelled_out);
    search.greedy(&pass::fewer_strikes);
    search.greedy(&pass::aimed);
    loop {
        let mut any = search.greedy(&pass::left_out);
        any |= search.greedy(&|best| pass::quiet(best, COARSE));
        any |= search.greedy(&pass::scripted);
        any |= search.greedy(&pass::lowered);
        any |= search.greedy(&pass::less_patience);
        if !any {
            any |= search.greedy(&|best| pass::quiet(best, usize::MAX));
            any |= search.greedy(&pass::lower_picks);
        }
        if !any || search.is_spent() {
            return !search.is_spent();
        }
    }
}

/// The size of a run that was watched.
fn size(run: &Observed) -> Size {
    let struck = run.result.faults.iter().map(|(_, count)| count).chain(&run.result.aimed);
    let is_operation = |entry: &&Entry| {
        let Entry::Observed(observation) = entry else { return false };
        matches!(
            observation.what,
            Saw::TransactionsInitialized { .. }
                | Saw::TransactionBegun { .. }
                | Saw::SendCalled { .. }
                | Saw::OffsetsSent { .. }
                | Saw::EndCalled { .. }
                | Saw::Polled { .. }
        )
    };
    Size {
        faults: struck.map(|count| count.applied).sum(),
        operations: run.history.entries.iter().filter(is_operation).count() as u64,
        steps: run.result.steps,
    }
}
