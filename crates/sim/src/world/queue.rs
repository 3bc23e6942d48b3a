//! The event queue: what is to happen, in one total order of (time, sequence).
//!
//! An entry is one word: 48 bits of time in µs, 40 bits of sequence, 40 bits of body. The sequence
//! makes the order total, so nothing depends on how the queue is built.

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
    /// A response that has reached its machine is taken: the request's slot.
    Take(u32),
    /// The network lets something through: connection and way.
    Retransmission(u32),
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
            Self::Take(i) => (8, i),
            Self::Retransmission(i) => (9, i),
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
            7 => Self::StopRequested(index),
            8 => Self::Take(index),
            _ => Self::Retransmission(index),
        }
    }
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "48 bits are left")]
fn time_of(word: u128) -> Instant {
    Instant((word >> TIME_SHIFT) as u64)
}

/// The queue: the next few entries, sorted, and a heap of the rest.
///
/// Most of what is queued happens soon, among few others, and is put in its place by a few moves;
/// the heap sees only what is far off or many. No entry of the heap comes before one of `near`.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    near: Near,
    rest: Heap,
    sequence: u64,
}

impl Queue {
    pub(super) fn clear(&mut self) {
        self.near.count = 0;
        self.rest.0.clear();
        self.sequence = 0;
    }

    /// How many entries there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.near.count + self.rest.0.len()
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
        if self.near.count < NEAR && self.rest.0.is_empty() {
            self.near.insert(word);
        } else {
            self.push_among_many(word);
        }
    }

    #[inline]
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.near.first().map(time_of)
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Instant, Body)> {
        let first = self.near.first()?;
        self.near.count -= 1;
        if self.near.count == 0 && !self.rest.0.is_empty() {
            self.refill();
        }
        Some((time_of(first), Body::unpack(first)))
    }

    #[inline(never)]
    fn push_among_many(&mut self, word: u128) {
        if self.near.count > 0 && self.near.words[0] < word {
            return self.rest.push(word);
        }
        if self.near.count == NEAR {
            self.rest.push(self.near.words[0]);
            self.near.words.copy_within(1.., 0);
            self.near.count -= 1;
        }
        self.near.insert(word);
    }

    /// Fetches some entries from the heap at once, but leaves room for what comes before them.
    #[inline(never)]
    fn refill(&mut self) {
        while self.near.count < NEAR / 4
            && let Some(word) = self.rest.pop()
        {
            self.near.words[self.near.count] = word;
            self.near.count += 1;
        }
        self.near.words[..self.near.count].reverse();
    }
}

/// How many entries are kept sorted at the most; a power of two.
const NEAR: usize = 32;

/// Few entries, the latest first, so that the next one is taken from the end.
#[derive(Clone, Debug, Default)]
struct Near {
    words: [u128; NEAR],
    count: usize,
}

impl Near {
    #[inline]
    fn first(&self) -> Option<u128> {
        (self.count > 0).then(|| self.words[(self.count - 1) % NEAR])
    }

    /// Puts `word` in its place; there must be room.
    #[inline]
    fn insert(&mut self, word: u128) {
        let mut at = self.count;
        while at > 0 {
            let earlier = self.words[(at - 1) % NEAR];
            if earlier > word {
                break;
            }
            self.words[at % NEAR] = earlier;
            at -= 1;
        }
        self.words[at % NEAR] = word;
        self.count += 1;
    }
}

/// A heap of four children to a node: half as deep as a binary heap, and the four are neighbours in
/// memory.
#[derive(Clone, Debug, Default)]
struct Heap(Vec<u128>);

impl Heap {
    fn push(&mut self, word: u128) {
        self.0.push(word);
        let heap = self.0.as_mut_slice();
        let mut at = heap.len() - 1;
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if heap[parent] <= word {
                break;
            }
            heap[at] = heap[parent];
            at = parent;
        }
        heap[at] = word;
    }

    fn pop(&mut self) -> Option<u128> {
        let last = self.0.pop()?;
        let Some(&first) = self.0.first() else { return Some(last) };
        self.sift_down(last);
        Some(first)
    }

    /// Puts `word` in place of the first entry and moves it down to its place.
    fn sift_down(&mut self, word: u128) {
        let heap = self.0.as_mut_slice();
        let mut at = 0;
        while let Some(least) = least_child(heap, at) {
            if word <= heap[least] {
                break;
            }
            heap[at] = heap[least];
            at = least;
        }
        heap[at] = word;
    }
}

/// The place of the earliest child of the node at `at`. Most nodes have all four.
#[inline]
fn least_child(heap: &[u128], at: usize) -> Option<usize> {
    let first = at * ARITY + 1;
    let children = heap.get(first..)?;
    let Some(&[a, b, c, d]) = children.first_chunk::<ARITY>() else {
        return (first..heap.len()).min_by_key(|&child| heap[child]);
    };
    let (left, left_place) = if b < a { (b, 1) } else { (a, 0) };
    let (right, right_place) = if d < c { (d, 3) } else { (c, 2) };
    Some(first + if right < left { right_place } else { left_place })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The order is that of a sorted list of (time, order of arrival), whatever the heap does.
        #[test]
        fn the_order_is_total(steps in prop::collection::vec(prop::option::of(0u64..500), 0..400)) {
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
