//! What an invariant must be given to be judged, and what a history gives.
//!
//! No Kafka counterpart. A simulation gives everything; a real cluster rarely does. What was not
//! given cannot break, and whoever reads a verdict must know that.

use std::collections::BTreeSet;

use eosim_types::message::IsolationLevel;
use eosim_types::observation::{
    ClusterDump, EndOutcome, Observation, Observed, ReplicaDump, SendOutcome, UNSEEN_BOUND,
};
use eosim_types::record::{Payload, RecordBatch};
use eosim_types::{BrokerId, LeaderEpoch, Topic, TopicPartition};

use crate::invariant::InvariantInfo;
use crate::invariants::invariants;
use crate::setup::CheckerSetup;

macro_rules! needs {
    ($($(#[$doc:meta])* $need:ident = $about:literal),+ $(,)?) => {
        /// Something that a history may lack.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Need {
            $($(#[$doc])* #[doc = concat!("It lacks ", $about, ".")] $need,)+
        }

        impl Need {
            /// What is lacking, for people.
            #[must_use]
            pub const fn about(self) -> &'static str {
                match self { $(Self::$need => $about),+ }
            }
        }
    };
}

needs! {
    Producers = "the life of a producer",
    Sends = "calls of send()",
    TransactionalSends = "calls of send() within transactions",
    Acknowledgements = "acknowledged sends",
    Inputs = "sends with the input that they were made from",
    Initialized = "returns of initTransactions()",
    Ended = "commits or aborts with a definite outcome",
    Commits = "commits that returned normally",
    OffsetsSent = "offsets sent to a transaction",
    Decided = "decisions of an external store",
    Polls = "polls",
    CommittedPolls = "polls of a read_committed reader",
    EndOffsets = "the end of a partition as a reader was told it",
    Bounds = "polls with the bound that the answer carried",
    EndLogs = "the leaders' logs at the end",
    Healed = "a dump at the end of a healed cluster",
    Offsets = "the log of __consumer_offsets at the end",
    WholeLogs = "a log from offset 0 on",
    Replicas = "two replicas of one partition, with their high watermarks",
    StableOffsets = "a leader's high watermark and last stable offset",
    TwoDumps = "two dumps of one leadership, with high watermark and last stable offset",
    ProducerState = "the producer state of a replica",
    AbortedIndex = "the index of aborted transactions of a replica",
    TransactionCoordinators = "what a transaction coordinator remembers",
    GroupCoordinators = "the offsets that a group coordinator remembers",
    Groups = "the members of a group in the log of __consumer_offsets",
    Transforms = "a group that is said to transform",
    DeliveryTimeouts = "producers whose delivery timeout is said",
    GroupReaders = "members of a group that are said to commit what they read",
    Assertions = "assertions of the actors themselves",
}

impl Need {
    /// Does it come from brokers, so that no client sees it?
    #[must_use]
    pub const fn is_of_brokers(self) -> bool {
        matches!(
            self,
            Self::EndLogs
                | Self::Healed
                | Self::Offsets
                | Self::WholeLogs
                | Self::Replicas
                | Self::StableOffsets
                | Self::TwoDumps
                | Self::ProducerState
                | Self::AbortedIndex
                | Self::TransactionCoordinators
                | Self::GroupCoordinators
                | Self::Groups
                | Self::Assertions
        )
    }
}

/// What was there of what invariants need.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    given: BTreeSet<Need>,
    leaderships: BTreeSet<(BrokerId, TopicPartition, LeaderEpoch)>,
}

/// An invariant for which a history lacks something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lacking {
    /// Which.
    pub invariant: &'static InvariantInfo,
    /// It was judged by what is there.
    pub in_part: bool,
    /// What more is needed.
    pub missing: Vec<Need>,
}

impl Evidence {
    /// Notes what the setup says.
    pub fn of(setup: &CheckerSetup) -> Self {
        let mut evidence = Self::default();
        evidence.give(Need::Transforms, !setup.transforms.is_empty());
        evidence.give(Need::DeliveryTimeouts, !setup.delivery_timeouts.is_empty());
        evidence.give(Need::GroupReaders, !setup.group_readers.is_empty());
        evidence
    }

    fn give(&mut self, need: Need, given: bool) {
        if given {
            self.given.insert(need);
        }
    }

    /// Notes what `observation` gives.
    pub fn observe(&mut self, observation: &Observation) {
        match &observation.what {
            Observed::ProducerOpened { .. } => self.give(Need::Producers, true),
            Observed::TransactionsInitialized { .. } => self.give(Need::Initialized, true),
            Observed::SendCalled { transaction, input, .. } => {
                self.give(Need::Sends, true);
                self.give(Need::TransactionalSends, transaction.is_some());
                self.give(Need::Inputs, input.is_some());
            }
            Observed::SendAnswered { outcome, .. } => {
                let acknowledged = matches!(outcome, SendOutcome::Acknowledged { .. });
                self.give(Need::Acknowledgements, acknowledged);
            }
            Observed::OffsetsSent { error, .. } => self.give(Need::OffsetsSent, error.is_none()),
            Observed::Decided { .. } => self.give(Need::Decided, true),
            Observed::EndAnswered { commit, outcome, .. } => {
                let is_definite = !matches!(outcome, EndOutcome::Unknown { .. });
                self.give(Need::Ended, is_definite);
                self.give(Need::Commits, *commit && *outcome == EndOutcome::Done);
            }
            Observed::Polled { isolation_level, bound, .. } => {
                self.give(Need::Polls, true);
                let is_committed = *isolation_level == IsolationLevel::ReadCommitted;
                self.give(Need::CommittedPolls, is_committed);
                self.give(Need::Bounds, *bound != UNSEEN_BOUND);
            }
            Observed::EndOffset { .. } => self.give(Need::EndOffsets, true),
            Observed::AssertionFailed { .. } => self.give(Need::Assertions, true),
            _ => {}
        }
    }

    /// Notes what a dump gives; one at the end gives more.
    pub fn look(&mut self, dump: &ClusterDump, is_end: bool) {
        let led = dump.replicas.iter().filter(|replica| replica.is_leader);
        let leads_user_topic = led.clone().any(|replica| !replica.partition.topic.is_internal());
        let of = |topic| led.clone().any(|replica| replica.partition.topic == topic);
        self.give(Need::EndLogs, is_end && leads_user_topic);
        self.give(Need::Healed, is_end && leads_user_topic && dump.healed);
        self.give(Need::Offsets, is_end && of(Topic::CONSUMER_OFFSETS));
        for replica in &dump.replicas {
            self.replica(dump, replica);
        }
        for coordinator in &dump.coordinators {
            let is_group = coordinator.partition.topic == Topic::CONSUMER_OFFSETS;
            self.give(Need::GroupCoordinators, is_group);
            self.give(Need::TransactionCoordinators, !is_group);
        }
    }

    fn replica(&mut self, dump: &ClusterDump, replica: &ReplicaDump) {
        let is_of_groups = |batch: &RecordBatch| matches!(batch.payload, Payload::GroupLog(_));
        self.give(Need::Groups, replica.is_leader && replica.batches.iter().any(is_of_groups));
        let starts_at_0 = replica.batches.first().is_some_and(|batch| batch.base_offset == 0);
        self.give(Need::WholeLogs, starts_at_0);
        let is_hosted = replica.is_hosted;
        self.give(Need::ProducerState, is_hosted && !replica.unseen.producers);
        self.give(Need::AbortedIndex, is_hosted && !replica.unseen.aborted_transactions);
        // A simulation, which shows all of this, shows what its actors assert, too.
        self.give(Need::Assertions, is_hosted && !replica.unseen.remembered);
        if replica.unseen.bounds || !replica.is_leader {
            return;
        }
        self.give(Need::StableOffsets, true);
        let same = |other: &&ReplicaDump| other.partition == replica.partition;
        let is_comparable = |other: &&ReplicaDump| other.is_hosted && !other.unseen.bounds;
        let hosted = dump.replicas.iter().filter(same).filter(is_comparable).count();
        self.give(Need::Replicas, hosted > 1);
        let leadership = (replica.broker, replica.partition, replica.leader_epoch);
        let is_new = self.leaderships.insert(leadership);
        self.give(Need::TwoDumps, !is_new);
    }

    /// Every invariant that could not be judged, or only in part, in the order of the list.
    #[must_use]
    pub fn lacking(&self) -> Vec<Lacking> {
        invariants().iter().filter_map(|invariant| self.lacking_for(invariant)).collect()
    }

    fn lacking_for(&self, invariant: &'static InvariantInfo) -> Option<Lacking> {
        let missing = |way: &&[Need]| -> Vec<Need> {
            way.iter().copied().filter(|need| !self.given.contains(need)).collect()
        };
        let ways: Vec<Vec<Need>> = invariant.needs.iter().map(missing).collect();
        let in_part = ways.iter().any(Vec::is_empty);
        let least = ways.into_iter().filter(|way| !way.is_empty()).min_by_key(Vec::len)?;
        Some(Lacking { invariant, in_part, missing: least })
    }
}
