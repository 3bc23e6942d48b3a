//! The event queue: what is to happen, in one total order of (time, sequence).
//!
//! An entry is one word: 48 bits of time in µs, 40 bits of sequence, 40 bits of body. The sequence
//! makes the order total, so nothing depends on how the heap is built. Four children to a node:
//! half as deep as a binary heap, and the four are neighbours in memory.

use eosim_types::Instant;

/// What is to happen: a kind and an index into something of the world.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Body {
    /// A process begins: the actor.
    Started(u32),
    /// A request reaches its receiver: its slot.
    Request(u32),
    /// A request that has waited is read from its connection: its slot.
    Read(u32),
    /// A response reaches the side that asked: the request's slot.
    Response(u32),
    /// The side that asked hears that a connection broke: the connection's slot.
    Broken(u32),
    /// A timer may have run out: actor and key.
    Timer(u32),
    /// An order is due: its slot.
    Order(u32),
    /// A process hears that it should stop: the actor.
    StopRequested(u32),
}

const KIND_SHIFT: u32 = 32;
const SEQUENCE_SHIFT: u32 = 40;
const TIME_SHIFT: u32 = 80;
const TIME_LIMIT: u64 = 1 << 48;
const SEQUENCE_LIMIT: u64 = 1 << 40;
const ARITY: usize = 4;

impl Body {
    #[inline]
    fn pack(self) -> u128 {
        let (kind, index) = match self {
            Self::Started(i) => (0, i),
            Self::Request(i) => (1, i),
            Self::Read(i) => (2, i),
            Self::Response(i) => (3, i),
            Self::Broken(i) => (4, i),
            Self::Timer(i) => (5, i),
            Self::Order(i) => (6, i),
            Self::StopRequested(i) => (7, i),
        };
        (kind << KIND_SHIFT) | u128::from(index)
    }

    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the parts of a word are cut out on purpose"
    )]
    fn unpack(word: u128) -> Self {
        let index = word as u32;
        match (word >> KIND_SHIFT) as u8 {
            0 => Self::Started(index),
            1 => Self::Request(index),
            2 => Self::Read(index),
            3 => Self::Response(index),
            4 => Self::Broken(index),
            5 => Self::Timer(index),
            6 => Self::Order(index),
            _ => Self::StopRequested(index),
        }
    }
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "48 bits are left")]
fn time_of(word: u128) -> Instant {
    Instant((word >> TIME_SHIFT) as u64)
}

/// The queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Queue {
    heap: Vec<u128>,
    sequence: u64,
}

impl Queue {
    pub(super) fn clear(&mut self) {
        self.heap.clear();
        self.sequence = 0;
    }

    /// Can an event be queued for `at`? What lies beyond (8.9 years) never happens.
    #[inline]
    pub(super) fn reaches(at: Instant) -> bool {
        at.0 < TIME_LIMIT
    }

    #[inline]
    pub(super) fn push(&mut self, at: Instant, body: Body) {
        assert!(Self::reaches(at) && self.sequence < SEQUENCE_LIMIT, "the run is too long");
        let word = (u128::from(at.0) << TIME_SHIFT)
            | (u128::from(self.sequence) << SEQUENCE_SHIFT)
            | body.pack();
        self.sequence += 1;
        self.heap.push(word);
        self.sift_up(word);
    }

    #[inline]
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.heap.first().copied().map(time_of)
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Instant, Body)> {
        let last = self.heap.pop()?;
        let first = match self.heap.first() {
            Some(&first) => {
                self.sift_down(last);
                first
            }
            None => last,
        };
        Some((time_of(first), Body::unpack(first)))
    }

    /// Moves the last entry, which is `word`, up to its place.
    #[inline]
    fn sift_up(&mut self, word: u128) {
        let mut at = self.heap.len() - 1;
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.heap[parent] <= word {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = word;
    }

    /// Puts `word` in place of the first entry and moves it down to its place.
    #[inline]
    fn sift_down(&mut self, word: u128) {
        let heap = self.heap.as_mut_slice();
        let mut at = 0;
        loop {
            let child = at * ARITY + 1;
            let end = heap.len().min(child + ARITY);
            if child >= end {
                break;
            }
            let mut least = child;
            for other in child + 1..end {
                if heap[other] < heap[least] {
                    least = other;
                }
            }
            if word <= heap[least] {
                break;
            }
            heap[at] = heap[least];
            at = least;
        }
        heap[at] = word;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The order is that of a sorted list of (time, order of arrival), whatever the heap does.
        #[test]
        fn the_order_is_total(steps in prop::collection::vec(prop::option::of(0u64..50), 0..400)) {
            let mut queue = Queue::default();
            let mut model: Vec<(u64, u32)> = Vec::new();
            let mut count = 0;
            for step in steps {
                if let Some(at) = step {
                    queue.push(Instant(at), Body::Timer(count));
                    model.push((at, count));
                    model.sort_unstable();
                    count += 1;
                } else {
                    let expected = (!model.is_empty()).then(|| model.remove(0));
                    prop_assert_eq!(queue.next_at(), expected.map(|(at, _)| Instant(at)));
                    let expected = expected.map(|(at, n)| (Instant(at), Body::Timer(n)));
                    prop_assert_eq!(queue.pop(), expected);
                }
            }
        }

        #[test]
        fn a_body_survives_packing(kind in 0u128..8, index in any::<u32>()) {
            let word = (kind << KIND_SHIFT) | u128::from(index);
            prop_assert_eq!(Body::unpack(word).pack(), word);
        }
    }
}
