//! What an invariant is, and the list of them all.
//!
//! No Kafka counterpart. An invariant is a pure reader of the facts: all state is kept once, in
//! [`Facts`] and [`Logs`]. To add one: one file in `invariants/`, one line in the list there.

use eosim_types::observation::{ClusterDump, ReplicaDump};
use eosim_types::{BrokerId, TopicPartition};

use crate::anomaly::{Finding, Report};
use crate::facts::Facts;
use crate::logs::Logs;
use crate::need::Need;
use crate::observe::{Kind, Seen};
use crate::setup::CheckerSetup;
use crate::words::Words;

/// An invariant, for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvariantInfo {
    /// Its name, kebab-case.
    pub name: &'static str,
    /// What is promised.
    pub promise: &'static str,
    /// By whom: rules, KIPs, documentation.
    pub source: &'static str,
    /// Its file, relative to the crate.
    pub file: &'static str,
    /// The ways in which it is judged: each may report something once it has all that it needs.
    pub needs: &'static [&'static [Need]],
}

impl InvariantInfo {
    /// Is it about something that clients see? What only brokers hold harms nobody yet.
    #[must_use]
    pub fn is_felt(&self) -> bool {
        self.needs.iter().flat_map(|way| way.iter()).any(|need| !need.is_of_brokers())
    }

    /// A finding about `subject`.
    pub(crate) fn finding(
        &self,
        subject: u64,
        skeleton: &[&'static str],
        rule: &'static str,
        summary: String,
    ) -> Finding {
        Finding { invariant: self.name, subject, skeleton: skeleton.to_vec(), rule, summary }
    }
}

/// What invariants read while a run goes on.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) setup: &'a CheckerSetup,
    pub(crate) facts: &'a Facts,
}

impl<'a> Context<'a> {
    /// For summaries.
    pub(crate) fn words(self) -> Words<'a> {
        Words { setup: self.setup, names: &self.setup.names, facts: self.facts }
    }
}

/// What invariants read when logs are dumped.
#[derive(Clone, Copy)]
pub(crate) struct End<'a> {
    pub(crate) dump: &'a ClusterDump,
    pub(crate) logs: &'a Logs,
}

impl<'a> End<'a> {
    /// The log of a broker that runs.
    pub(crate) fn replica(
        self,
        broker: BrokerId,
        partition: TopicPartition,
    ) -> Option<&'a ReplicaDump> {
        let replicas = self.dump.replicas.iter();
        let mut hosted = replicas.filter(|replica| replica.is_hosted);
        hosted.find(|replica| (replica.broker, replica.partition) == (broker, partition))
    }
}

/// One promise, judged.
pub(crate) trait Invariant: Sync {
    /// Which observations it judges at once.
    fn watches(&self) -> &'static [Kind] {
        &[]
    }

    /// Judges an observation whose facts are already noted.
    fn observe(&self, _cx: Context<'_>, _seen: Seen, _report: &mut Report) {}

    /// Judges what brokers hold, at any moment.
    fn inspect(&self, _cx: Context<'_>, _end: End<'_>, _report: &mut Report) {}

    /// Judges the logs in the end.
    fn finish(&self, _cx: Context<'_>, _end: End<'_>, _report: &mut Report) {}
}
