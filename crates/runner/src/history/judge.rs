//! The verdict over a history: the same invariants as over a run, and what could not be judged.

use eosim_checker::{Anomaly, Checker, Evidence, Lacking, Verdict};
use eosim_types::Instant;
use eosim_types::observation::ClusterDump;

use super::{Entry, History};

/// A history, judged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// Invariants for which the history lacks something.
    pub lacking: Vec<Lacking>,
    /// How many observations there were.
    pub observations: usize,
    /// When the history ended.
    pub ended_at: Instant,
    /// The step of the last observation.
    pub step: u64,
}

impl History {
    /// The verdict.
    #[must_use]
    pub fn judge(&self) -> Judged {
        let setup = &self.setup;
        let mut judge = Judge {
            checker: Checker::new(setup),
            evidence: Evidence::of(setup),
            stuck: Vec::new(),
            gave_up: None,
            broke_off: None,
            is_empty: self.entries.is_empty(),
            observations: 0,
            ended_at: Instant::START,
            step: 0,
        };
        let end = self.end();
        for (at, entry) in self.entries.iter().enumerate() {
            judge.take(entry, end == Some(at));
        }
        judge.finish(end.is_some(), self.run.is_some())
    }

    /// The place of the dump at the end: nobody does anything after it.
    fn end(&self) -> Option<usize> {
        let is_dump = |entry: &Entry| matches!(entry, Entry::Dump(_));
        let dump = self.entries.iter().rposition(is_dump)?;
        let acts = |entry: &Entry| matches!(entry, Entry::Observed(_));
        (!self.entries[dump..].iter().any(acts)).then_some(dump)
    }
}

struct Judge {
    checker: Checker,
    evidence: Evidence,
    stuck: Vec<eosim_checker::Stuck>,
    gave_up: Option<String>,
    broke_off: Option<Anomaly>,
    is_empty: bool,
    observations: usize,
    ended_at: Instant,
    step: u64,
}

impl Judge {
    fn take(&mut self, entry: &Entry, is_end: bool) {
        match entry {
            Entry::Observed(observation) => {
                self.checker.observe(observation);
                self.evidence.observe(observation);
                self.observations += 1;
                (self.ended_at, self.step) = (observation.at, observation.step);
            }
            Entry::Dump(dump) => {
                self.evidence.look(dump, is_end);
                self.ended_at = dump.at;
                if is_end { self.checker.finish(dump) } else { self.checker.look(dump) }
            }
            Entry::Stuck(stuck) => self.stuck.push(stuck.clone()),
            Entry::GaveUp(why) => self.gave_up = Some(why.clone()),
            Entry::BrokeOff { at, step, how } => {
                self.broke_off = Some(broken_off(how.clone(), *at, *step));
                (self.ended_at, self.step) = (*at, *step);
            }
        }
    }

    fn finish(mut self, has_end: bool, is_complete: bool) -> Judged {
        if !has_end {
            let nothing = ClusterDump { at: self.ended_at, ..ClusterDump::default() };
            self.checker.finish(&nothing);
        }
        if self.is_empty {
            self.gave_up = Some("nothing was observed".to_string());
        }
        let lacking = self.evidence.lacking();
        let not_judged = |found: &Anomaly| {
            let mut not_judged = lacking.iter().filter(|lacking| !lacking.in_part);
            not_judged.any(|lacking| lacking.invariant.name == found.invariant)
        };
        // Without its evidence an invariant finds only what was not observed.
        let mut anomalies = self.checker.anomalies().to_vec();
        anomalies.retain(|found| is_complete || !not_judged(found));
        let verdict = match self.broke_off {
            Some(broken_off) => Verdict::Safety(vec![broken_off]),
            None => Verdict::of(&anomalies, self.stuck, self.gave_up),
        };
        Judged {
            verdict,
            lacking,
            observations: self.observations,
            ended_at: self.ended_at,
            step: self.step,
        }
    }
}

/// A system that breaks off has broken one of its own assumptions, whatever else it has broken.
pub(crate) fn broken_off(how: String, at: Instant, step: u64) -> Anomaly {
    Anomaly {
        invariant: "broken-assumption",
        at,
        step,
        summary: how,
        rule: "",
        skeleton: vec!["panic"],
        fingerprint: 0,
    }
}
