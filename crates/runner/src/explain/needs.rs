//! Which parts of a run are necessary: each in turn is taken away and the run made again; then as
//! many as possible together.
//!
//! The search takes a bounded number of runs, in a fixed order, and depends on nothing else.

use std::collections::BTreeSet;

use eosim_checker::{Anomaly, Verdict};

use super::Broken;
use super::focus::{Focus, words};
use crate::recording::{Recording, word};
use crate::run::RunResult;
use crate::shrink::class::Class;
use crate::shrink::pass::blocks;
use crate::variant::{Guide, Linked, Part};

/// Is a part of the run necessary for what is broken?
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Need {
    /// Without it the promise is kept.
    Needed,
    /// Others do in its place, but without all of them the promise is kept.
    OneOfSeveral,
    /// The promise is broken without it.
    NotNeeded,
    /// There were no runs left to try.
    NotTried,
}

/// A part, and what came of the run without it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judged {
    /// The part.
    pub part: Part,
    /// Whether it is necessary.
    pub need: Need,
    /// How the run without it alone comes out, in one word.
    pub without: String,
}

/// A run that is made again may take so many times as many steps.
const LONGER: u64 = 2;

/// So many other seeds must keep the promise, too, for something to be necessary: that something
/// else comes first, or at another time, says little.
pub(crate) const SEEDS: u64 = 8;

/// A search under way.
pub(super) struct Search<'a> {
    pub(super) recording: &'a Recording,
    pub(super) guide: &'a Guide,
    pub(super) class: Class,
    /// Where it shows.
    pub(super) shown_at: u64,
    /// How the recorded run goes.
    pub(super) base: &'a Linked,
    /// The records that it is about, by name.
    pub(super) subject: Vec<String>,
    /// Runs that are left.
    pub(super) left: u64,
}

impl Judged {
    /// Is it necessary, alone or with others?
    #[must_use]
    pub const fn is_necessary(&self) -> bool {
        matches!(self.need, Need::Needed | Need::OneOfSeveral)
    }
}

impl<'a> Search<'a> {
    /// For what breaks `promise` in the run `base`; `None` if nothing does.
    pub(super) fn of(
        recording: &'a Recording,
        guide: &'a Guide,
        base: &'a Linked,
        (verdict, broken, focus): (&Verdict, &Broken, &Focus),
        left: u64,
    ) -> Option<Self> {
        let class = Class::of(verdict)?;
        let stuck_at = if class.can_be_cut() { 0 } else { recording.steps };
        let shown_at = broken.step.max(stuck_at);
        let subject = focus.records(&base.observed);
        Some(Self { recording, guide, class, shown_at, base, subject, left })
    }

    /// Does the same thing break without `parts`, in the same run or, if no single strikes are
    /// meant, at one of some other seeds? And how does that run end? `None` if no run is left.
    fn breaks(&mut self, parts: &[Part]) -> Option<(bool, String)> {
        let variant = Part::taken_away(parts, self.recording, self.guide);
        let steps_max = if self.class.can_be_cut() {
            self.shown_at.saturating_mul(LONGER).saturating_add(100)
        } else {
            u64::MAX
        };
        self.left = self.left.checked_sub(1)?;
        let result = self.guide.result(&variant, steps_max);
        let has_strikes = parts.iter().any(|part| matches!(part, Part::Strike(..)));
        let is_meant = !has_strikes || result.as_ref().is_some_and(|result| self.is_same(result));
        if is_meant && self.shows(result.as_ref()) {
            return Some((true, ended(result.as_ref())));
        }
        for seed in (0..SEEDS).filter(|_| !has_strikes) {
            self.left = self.left.checked_sub(1)?;
            let other = self.guide.at_seed(&variant, seed, steps_max);
            if self.shows(other.as_ref()) {
                return Some((true, format!("{} at seed {seed}", ended(other.as_ref()))));
            }
        }
        Some((false, ended(result.as_ref())))
    }

    fn shows(&self, result: Option<&RunResult>) -> bool {
        result.is_some_and(|result| self.class.shows(result).is_some())
    }

    /// Is it about one of the same records, if it is about records? Other strikes break the promise
    /// elsewhere.
    fn is_same(&self, result: &RunResult) -> bool {
        let Verdict::Safety(anomalies) = &result.verdict else { return true };
        let names_one = |anomaly: &Anomaly| {
            let words = words(&anomaly.summary);
            let parts = words.iter().filter_map(|word| word.split('@').next());
            parts.into_iter().any(|word| self.subject.iter().any(|record| record == word))
        };
        self.subject.is_empty() || anomalies.iter().any(names_one)
    }

    /// Every part with whether it is necessary; of faults that strike at random and are necessary
    /// the single strikes, too.
    pub(super) fn run(&mut self) -> Vec<Judged> {
        let all = Part::all(self.recording);
        let mut judged: Vec<Judged> = all.iter().map(|part| self.alone(*part)).collect();
        let mut gone = self.together(&judged);
        let mut strikes = Vec::new();
        for one in &mut judged {
            if one.need == Need::NotNeeded && !gone.contains(&one.part) {
                one.need = Need::OneOfSeveral;
            }
            if let (Part::Fault(kind), true) = (one.part, one.is_necessary()) {
                strikes.extend(self.strikes(kind, &mut gone));
            }
        }
        judged.extend(strikes);
        judged
    }

    /// Is the line before what is broken? What comes later cannot be its cause.
    fn is_in_time(&self, at: usize) -> bool {
        self.base.step_of(at) <= self.shown_at
    }

    /// Has a rule never acted before what is broken?
    fn is_idle(&self, part: Part) -> bool {
        let Part::Rule(rule) = part else { return false };
        !self.base.acts(rule).any(|at| self.is_in_time(at))
    }

    fn alone(&mut self, part: Part) -> Judged {
        if self.is_idle(part) {
            let without = "it never acts before".to_string();
            return Judged { part, need: Need::NotNeeded, without };
        }
        let (need, without) = match self.breaks(&[part]) {
            Some((true, without)) => (Need::NotNeeded, without),
            Some((false, without)) => (Need::Needed, without),
            None => (Need::NotTried, String::new()),
        };
        Judged { part, need, without }
    }

    /// As many of those that are not needed alone as can be taken away together.
    fn together(&mut self, judged: &[Judged]) -> Vec<Part> {
        let free = judged.iter().filter(|one| one.need == Need::NotNeeded).map(|one| one.part);
        // What acts late goes first, so that what is left is what came first.
        let free: Vec<Part> = free.rev().collect();
        if free.len() < 2 || self.breaks(&free).is_some_and(|(breaks, _)| breaks) {
            return free;
        }
        let mut gone = Vec::new();
        let (idle, free): (Vec<Part>, Vec<Part>) =
            free.into_iter().partition(|part| self.is_idle(*part));
        gone.extend(idle);
        for part in free {
            gone.push(part);
            if !self.breaks(&gone).is_some_and(|(breaks, _)| breaks) {
                gone.pop();
            }
        }
        gone
    }

    /// The strikes of `kind` that are left when as many as possible are taken away, with everything
    /// that is not needed. None if the strikes cannot be told apart.
    fn strikes(&mut self, kind: &'static str, gone: &mut Vec<Part>) -> Vec<Judged> {
        let count = self.guide.strikes(kind).len();
        let as_rules = [&gone[..], &[Part::Strike(kind, 0)]].concat();
        if count == 0 || !self.breaks(&as_rules).is_some_and(|(breaks, _)| breaks) {
            return Vec::new();
        }
        let before = self.base.strikes(kind).filter(|at| self.is_in_time(*at)).count();
        let mut kept: BTreeSet<usize> = (1..=count.min(before)).collect();
        for block in blocks(kept.len(), usize::MAX) {
            let block: Vec<usize> = block.map(|at| at + 1).filter(|n| kept.contains(n)).collect();
            if block.is_empty() || block.len() == kept.len() {
                continue;
            }
            let quiet = (1..=count).filter(|n| !kept.contains(n) || block.contains(n));
            let quiet = quiet.map(|n| Part::Strike(kind, n));
            let parts: Vec<Part> = gone.iter().copied().chain(quiet).collect();
            match self.breaks(&parts) {
                Some((true, _)) => kept.retain(|n| !block.contains(n)),
                Some((false, _)) => {}
                None => return Vec::new(),
            }
        }
        gone.extend((1..=count).filter(|n| !kept.contains(n)).map(|n| Part::Strike(kind, n)));
        kept.iter().map(|n| self.strike(Part::Strike(kind, *n))).collect()
    }

    fn strike(&mut self, part: Part) -> Judged {
        let one = self.alone(part);
        let need = if one.need == Need::NotNeeded { Need::OneOfSeveral } else { one.need };
        Judged { need, ..one }
    }
}

/// How a run ended, in one word.
fn ended(result: Option<&RunResult>) -> String {
    let Some(result) = result else { return "impossible".to_string() };
    match word(&result.verdict) {
        // It was cut short, which says nothing.
        "inconclusive" => "sound".to_string(),
        ended => ended.to_string(),
    }
}
