//! What differs between Kafka's releases: one table of named capabilities.
//!
//! Protocol code asks for a capability and never compares versions, so that a change that was
//! ported back, or that one wants to see alone, is one line here.

use crate::version::KafkaVersion::{self, V4_0, V4_1, V4_2, V4_3, V4_5};

macro_rules! capabilities {
    ($($variant:ident, $since:ident, $ticket:literal, [$($rule:literal),*], $about:literal;)+) => {
        /// Something that Kafka does since one of its releases.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Capability {
            $(#[doc = concat!($about, " (", $ticket, ")")] $variant),+
        }

        impl Capability {
            /// The whole table, oldest release first.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The first release that has it.
            #[must_use]
            pub const fn since(self) -> KafkaVersion {
                match self { $(Self::$variant => $since),+ }
            }

            /// The ticket under which it came.
            #[must_use]
            pub const fn ticket(self) -> &'static str {
                match self { $(Self::$variant => $ticket),+ }
            }

            /// The rules that it changes.
            #[must_use]
            pub const fn rules(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($rule),*]),+ }
            }

            /// What it is, in one sentence.
            #[must_use]
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about),+ }
            }
        }
    };
}

capabilities! {
    EpochPerTransaction, V4_0, "KIP-890", ["C-TV-1", "L-VER-8"],
        "Requests of transaction version 2: Produce 12, EndTxn 5, TxnOffsetCommit 5.";
    OpenTransactionHasEpoch, V4_0, "KAFKA-14563", ["L-TXN-1", "L-VER-3"],
        "A batch belongs to the open transaction only if its epoch is that transaction's.";
    LsoAtBatchOfLogStart, V4_0, "KAFKA-17803", ["L-LSO-4"],
        "Where the beginning of an open transaction was deleted, the LSO is a batch's base offset.";
    FirstSequenceOfTransactionIsZero, V4_1, "KAFKA-18202", ["L-SEQ-1"],
        "A version 2 producer begins with sequence 0 where nothing is known of it.";
    LowerEpochIsRefusedEarly, V4_1, "KAFKA-18042", ["L-VER-3"],
        "A batch of an older epoch is refused before the coordinator is asked.";
    TwoPhaseCommitAtBrokers, V4_1, "KIP-939", ["C-INIT-6", "C-INIT-7", "C-INIT-22"],
        "InitProducerId 6: transactions of a two-phase commit, which never time out.";
    MarkerHasTransactionVersion, V4_2, "KIP-1228", ["L-MRK-3", "L-WTM-2"],
        "WriteTxnMarkers 2: a marker says by which transaction version it was decided.";
    CoordinatorRotatesProducerId, V4_3, "KAFKA-20090", ["C-END-15"],
        "An abort that the coordinator itself begins at epoch 32766 rotates the producer id.";
    LastEpochCanBeAborted, V4_3, "KAFKA-20090", ["C-SM-2", "C-SM-6", "C-END-16", "L-MRK-3"],
        "A transaction at epoch 32767 can be fenced and aborted.";
    ProducerIdsAreWritten, V4_3, "KAFKA-20310", ["C-REC-4", "C-LOAD-5"],
        "The previous and the next producer id stand in __transaction_state.";
    MarkerNeedsLeader, V4_3, "KAFKA-20734", ["C-MRK-5"],
        "The marker for a partition without a leader is skipped in place of waiting.";
    EmptyCommitBumps, V4_5, "KAFKA-21181", ["C-END-13", "C-SM-11"],
        "A version 2 COMMIT of a transaction to which nothing was added bumps the epoch.";
    LastEpochIsWritten, V4_5, "KAFKA-20357", ["C-REC-2", "C-LOAD-5"],
        "The last producer epoch stands in __transaction_state.";
    TwoPhaseCommitAtProducers, V4_5, "KIP-939", ["P-CFG-6", "P-REQ-5"],
        "The producer asks for two-phase commit and has prepareTransaction().";
    FirstSequenceIsZero, V4_5, "KAFKA-15591", ["L-SEQ-4"],
        "In a log that nobody ever wrote to everybody begins with sequence 0.";
}

impl Capability {
    /// Every ticket once, that of the oldest release first.
    pub fn tickets() -> impl Iterator<Item = &'static str> {
        let is_first = |at: usize| {
            let ticket = Self::ALL[at].ticket();
            (!Self::ALL[..at].iter().any(|earlier| earlier.ticket() == ticket)).then_some(ticket)
        };
        (0..Self::ALL.len()).filter_map(is_first)
    }
}

/// Capabilities, such as those that every node of a run has besides what its release has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct CapabilitySet(u32);

impl CapabilitySet {
    /// None.
    pub const NONE: Self = Self(0);

    /// What came with `ticket`; none if no capability did.
    #[must_use]
    pub fn of_ticket(ticket: &str) -> Self {
        let its = Capability::ALL.iter().filter(|one| one.ticket() == ticket);
        Self(its.fold(0, |set, one| set | Self::bit(*one)))
    }

    /// What is in either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Is `capability` among them?
    #[inline]
    #[must_use]
    pub const fn contains(self, capability: Capability) -> bool {
        self.0 & Self::bit(capability) != 0
    }

    const fn bit(capability: Capability) -> u32 {
        1 << capability as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_goes_by_release_and_names_rules_that_exist() {
        assert!(Capability::ALL.is_sorted_by_key(|capability| capability.since()));
        for rule in Capability::ALL.iter().flat_map(|capability| capability.rules()) {
            assert!(crate::rules::RULES.contains(rule), "{rule}");
        }
    }

    #[test]
    fn a_ticket_may_have_brought_several_things() {
        let set = CapabilitySet::of_ticket("KAFKA-20090");
        assert!(set.contains(Capability::CoordinatorRotatesProducerId));
        assert!(set.contains(Capability::LastEpochCanBeAborted));
        assert!(!set.contains(Capability::ProducerIdsAreWritten));
        assert_eq!(CapabilitySet::of_ticket("KAFKA-1"), CapabilitySet::NONE);
    }

    #[test]
    fn a_release_has_what_came_with_it_or_before() {
        assert!(KafkaVersion::V4_4.has(Capability::ProducerIdsAreWritten));
        assert!(!KafkaVersion::V4_4.has(Capability::EmptyCommitBumps));
        assert!(!KafkaVersion::V4_2.has(Capability::CoordinatorRotatesProducerId));
        assert!(!KafkaVersion::V3_9.has(Capability::EpochPerTransaction));
    }
}
