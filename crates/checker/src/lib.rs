//! The oracle: invariants over what applications saw and what logs hold.
//!
//! Counterparts: Jepsen's Kafka workload and Elle, whose names are used where the meaning is the
//! same. The checker shares no code with what it checks and knows nothing of how the system works
//! inside: it compares what was promised with what happened. Only definite answers can be
//! contradicted; what is unknown stays unknown.
#![forbid(unsafe_code)]

mod anomaly;
mod facts;
mod forget;
mod group_offsets;
mod invariant;
mod invariants;
mod live;
mod logs;
mod need;
mod observe;
mod replay;
mod setup;
mod table;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod verdict;
mod words;

use eosim_types::observation::{ClusterDump, Observation};

pub use anomaly::Anomaly;
pub use invariant::InvariantInfo;
pub use invariants::invariants;
pub use need::{Evidence, Lacking, Need};
pub use setup::{CheckerSetup, GroupReader, Transform};
pub use verdict::{Stuck, Verdict};

use anomaly::Report;
use facts::Facts;
use invariant::{Context, End, Invariant};
use invariants::INVARIANTS;
use logs::Logs;
use observe::{Kind, Seen};

/// Checks one run at a time; memory is kept from run to run.
pub struct Checker {
    setup: CheckerSetup,
    facts: Facts,
    logs: Logs,
    report: Report,
    /// For each kind of observation, who judges it.
    watchers: [Vec<&'static dyn Invariant>; Kind::COUNT],
}

impl Checker {
    /// A checker for runs of one scenario.
    #[must_use]
    pub fn new(setup: &CheckerSetup) -> Self {
        let mut watchers: [Vec<&'static dyn Invariant>; Kind::COUNT] = Default::default();
        for &invariant in INVARIANTS {
            for &kind in invariant.watches() {
                watchers[kind as usize].push(invariant);
            }
        }
        Self {
            setup: setup.clone(),
            facts: Facts::default(),
            logs: Logs::default(),
            report: Report::default(),
            watchers,
        }
    }

    /// Forgets the run; the next observation begins another.
    pub fn reset(&mut self) {
        self.facts.reset();
        self.logs.reset();
        self.report.reset();
    }

    /// Takes the next observation. They come in the order in which they were made.
    pub fn observe(&mut self, observation: &Observation) {
        (self.report.at, self.report.step) = (observation.at, observation.step);
        let seen: Seen = self.facts.apply(&self.setup, observation);
        let Some(kind) = seen.kind() else {
            return;
        };
        let cx = Context { setup: &self.setup, facts: &self.facts };
        for invariant in &self.watchers[kind as usize] {
            invariant.observe(cx, seen, &mut self.report);
        }
    }

    /// Judges what brokers hold in mid-run: what is rebuilt from logs equals what is in memory, and
    /// replicas agree. Dumps come in the order of their times.
    pub fn look(&mut self, dump: &ClusterDump) {
        self.report.at = dump.at;
        self.logs.read(dump, None);
        self.inspect(dump);
    }

    /// Judges the logs. To be called at the end, with everything healed; a dump of another moment
    /// is judged by what holds at every moment only.
    pub fn finish(&mut self, dump: &ClusterDump) {
        self.report.at = dump.at;
        self.logs.read(dump, Some(&self.facts));
        self.inspect(dump);
        self.judge(dump);
    }

    fn judge(&mut self, dump: &ClusterDump) {
        let cx = Context { setup: &self.setup, facts: &self.facts };
        for invariant in INVARIANTS {
            invariant.finish(cx, End { dump, logs: &self.logs }, &mut self.report);
        }
    }

    fn inspect(&mut self, dump: &ClusterDump) {
        let cx = Context { setup: &self.setup, facts: &self.facts };
        for invariant in INVARIANTS {
            invariant.inspect(cx, End { dump, logs: &self.logs }, &mut self.report);
        }
    }

    /// What was found so far, in the order in which it was found.
    #[must_use]
    pub fn anomalies(&self) -> &[Anomaly] {
        self.report.anomalies()
    }
}
