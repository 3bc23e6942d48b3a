//! Identifiers, each with the width that Kafka gives it. `-1` means "none", as in Kafka.

use core::cmp::Ordering;
use core::fmt;
use serde::{Deserialize, Serialize};

macro_rules! newtype {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

newtype! {
    /// The id of an idempotent or transactional producer (Kafka: `producerId`).
    ProducerId(i64)
}
newtype! {
    /// The generation of a producer id (Kafka: `producerEpoch`), 0 … 32767.
    ProducerEpoch(i16)
}
newtype! {
    /// A record's number within its producer id, epoch and partition; wraps to 0 after
    /// 2147483647 (L-SEQ-6).
    Sequence(i32)
}
newtype! {
    /// The generation of a partition's leadership (Kafka: `leaderEpoch`).
    LeaderEpoch(i32)
}
newtype! {
    /// The leader epoch of a `__transaction_state` partition, stamped into markers (C-PART-4).
    CoordinatorEpoch(i32)
}
newtype! {
    /// A broker's (or the controller's) node id.
    BrokerId(i32)
}
newtype! {
    /// An actor of the simulated world; its place in the world's list.
    ActorId(u16)
}
newtype! {
    /// A topic, as an index into [`crate::Names`]. 0 and 1 are Kafka's internal topics.
    Topic(u16)
}
newtype! {
    /// A transactional id, as an index into [`crate::Names`]; 0 is the empty string.
    TransactionalId(u16)
}
newtype! {
    /// A consumer group, as an index into [`crate::Names`]; 0 is the empty string.
    GroupId(u16)
}
newtype! {
    /// What a record says. Unique per record that an application sends; how it is printed is
    /// decided by [`crate::Names::value`].
    Value(u64)
}

impl ProducerId {
    /// "No producer id".
    pub const NONE: Self = Self(-1);
}

impl ProducerEpoch {
    /// "No epoch".
    pub const NONE: Self = Self(-1);
    /// The last epoch that exists (`Short.MAX_VALUE`); only markers and fences reach it.
    pub const MAX: Self = Self(i16::MAX);

    /// The next epoch, or `None` after [`Self::MAX`].
    #[must_use]
    pub fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }

    /// No further epoch may be handed to a client (Kafka: `isEpochExhausted`): epoch ≥ 32766.
    #[must_use]
    pub fn is_exhausted(self) -> bool {
        self.0 >= i16::MAX - 1
    }
}

impl Sequence {
    /// "No sequence".
    pub const NONE: Self = Self(-1);
    /// The first sequence of every producer id, epoch and partition.
    pub const ZERO: Self = Self(0);

    /// `self` moved on by `delta` ≥ 0 with wrap (L-SEQ-6, `DefaultRecordBatch#incrementSequence`).
    #[must_use]
    pub fn advance(self, delta: i32) -> Self {
        if self.0 > i32::MAX - delta {
            Self(delta - (i32::MAX - self.0) - 1)
        } else {
            Self(self.0 + delta)
        }
    }

    /// `self` moved back by `delta` ≥ 0 with wrap (L-SEQ-6, `DefaultRecordBatch#decrementSequence`).
    #[must_use]
    pub fn back(self, delta: i32) -> Self {
        if self.0 < delta { Self(i32::MAX - (delta - self.0) + 1) } else { Self(self.0 - delta) }
    }

    /// Is `self` less than half the numbers behind `other`? Numbers wrap, so that there is no other
    /// order between them.
    #[must_use]
    pub const fn precedes(self, other: Self) -> bool {
        let ahead = other.0.wrapping_sub(self.0) & i32::MAX;
        ahead != 0 && ahead < 1 << 30
    }

    /// Does `self` follow directly on `last` (L-SEQ-5, `ProducerAppendInfo#inSequence`)?
    #[must_use]
    pub fn follows(self, last: Self) -> bool {
        i64::from(self.0) == i64::from(last.0) + 1 || (self.0 == 0 && last.0 == i32::MAX)
    }
}

impl LeaderEpoch {
    /// "No leader epoch".
    pub const NONE: Self = Self(-1);
}

impl CoordinatorEpoch {
    /// "No coordinator epoch".
    pub const NONE: Self = Self(-1);
}

impl ActorId {
    /// The controller; brokers follow it, then the clients.
    pub const CONTROLLER: Self = Self(0);

    /// The actor that is the broker `broker` (1 …): the one of the same number.
    #[must_use]
    pub fn of_broker(broker: BrokerId) -> Self {
        Self(u16::try_from(broker.0).expect("a broker id between 1 and 65535"))
    }

    /// The broker that the actor is, if it is one of `brokers` brokers.
    #[must_use]
    pub fn as_broker(self, brokers: i32) -> Option<BrokerId> {
        let id = i32::from(self.0);
        (1..=brokers).contains(&id).then_some(BrokerId(id))
    }
}

impl Topic {
    /// `__transaction_state`.
    pub const TRANSACTION_STATE: Self = Self(0);
    /// `__consumer_offsets`.
    pub const CONSUMER_OFFSETS: Self = Self(1);
    /// The first index of a topic that users made.
    pub const FIRST_USER: Self = Self(2);

    /// One of Kafka's own topics.
    #[must_use]
    pub fn is_internal(self) -> bool {
        self < Self::FIRST_USER
    }
}

impl TransactionalId {
    /// The empty transactional id, which every API refuses.
    pub const EMPTY: Self = Self(0);
}

impl GroupId {
    /// The empty group id.
    pub const EMPTY: Self = Self(0);
}

/// One partition of one topic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct TopicPartition {
    /// The topic.
    pub topic: Topic,
    /// The partition's number within the topic.
    pub partition: i32,
}

impl TopicPartition {
    /// The partition `partition` of `topic`.
    #[must_use]
    pub const fn new(topic: Topic, partition: i32) -> Self {
        Self { topic, partition }
    }

    /// Topic and partition in one number, in the order of topics, then partitions.
    #[inline]
    fn in_order(self) -> i64 {
        (i64::from(self.topic.0) << 32) + i64::from(self.partition)
    }
}

impl Ord for TopicPartition {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.in_order().cmp(&other.in_order())
    }
}

impl PartialOrd for TopicPartition {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_wraps_both_ways_l_seq_6() {
        let cases = [(0, 3, 3), (i32::MAX - 10, 20, 9), (i32::MAX, 1, 0), (5, 0, 5)];
        for (start, delta, end) in cases {
            assert_eq!(Sequence(start).advance(delta), Sequence(end));
            assert_eq!(Sequence(end).back(delta), Sequence(start));
        }
    }

    #[test]
    fn only_the_next_sequence_follows_l_seq_5() {
        assert!(Sequence(1).follows(Sequence(0)));
        assert!(Sequence(0).follows(Sequence::NONE));
        assert!(Sequence(0).follows(Sequence(i32::MAX)));
        assert!(!Sequence(0).follows(Sequence(5)));
        assert!(!Sequence(2).follows(Sequence(0)));
        assert!(!Sequence(1).follows(Sequence(i32::MAX)));
    }

    #[test]
    fn partitions_stand_in_the_order_of_topics_then_numbers() {
        let sorted = [(0, -1), (0, 0), (0, i32::MAX), (1, i32::MIN), (1, 0), (2, 0)];
        let sorted = sorted.map(|(topic, partition)| TopicPartition::new(Topic(topic), partition));
        assert!(sorted.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn epochs_from_32766_on_are_exhausted() {
        assert!(!ProducerEpoch(32765).is_exhausted());
        assert!(ProducerEpoch(32766).is_exhausted());
        assert_eq!(ProducerEpoch::MAX.next(), None);
    }
}
