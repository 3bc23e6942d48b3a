//! W1 as one would write it by hand for nothing else: a `BinaryHeap`, a `match`, no allocation, no
//! digest, no fault but the one. A timer for each attempt, ignored if it comes too late.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{CLIENTS, LATENCY_MAX, LATENCY_MIN, LOST_OF, Outcome, ROUND_TRIPS_EACH, TIMEOUT};

const OPTIONS: u64 = LATENCY_MAX - LATENCY_MIN + 1;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    Request { id: u32, attempt: u32 },
    Response { id: u32, attempt: u32 },
    Timeout { attempt: u32 },
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry {
    at: u64,
    sequence: u64,
    client: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, Default)]
struct Client {
    id: u32,
    attempt: u32,
}

/// The loop's memory, reused from seed to seed.
#[derive(Clone, Debug, Default)]
pub struct Yardstick {
    heap: BinaryHeap<Reverse<Entry>>,
    sequence: u64,
    random: u64,
    clients: [Client; CLIENTS as usize],
    last: [u32; CLIENTS as usize],
    outcome: Outcome,
}

impl Yardstick {
    /// An empty memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs `seed` to the end.
    pub fn run(&mut self, seed: u64) -> Outcome {
        self.heap.clear();
        *self = Self { heap: std::mem::take(&mut self.heap), random: seed, ..Self::default() };
        for client in 0..usize::from(CLIENTS) {
            self.next(0, client);
        }
        let mut waiting = usize::from(CLIENTS);
        while waiting > 0 {
            let Some(Reverse(Entry { at, client, kind, .. })) = self.heap.pop() else { break };
            match kind {
                Kind::Request { id, attempt } => self.serve(at, client, id, attempt),
                Kind::Response { attempt, .. } => {
                    self.outcome.events += 1;
                    if attempt == self.clients[client].attempt {
                        waiting -= usize::from(!self.next(at, client));
                    }
                }
                Kind::Timeout { attempt } if attempt == self.clients[client].attempt => {
                    self.ask(at, client);
                }
                Kind::Timeout { .. } => {}
            }
        }
        self.outcome
    }

    fn serve(&mut self, at: u64, client: usize, id: u32, attempt: u32) {
        self.outcome.events += 1;
        if self.last[client] < id {
            self.last[client] = id;
            self.outcome.applied += 1;
        }
        if self.pick(u64::from(LOST_OF)) < u64::from(LOST_OF) - 1 {
            let at = at + LATENCY_MIN + self.pick(OPTIONS);
            self.push(at, client, Kind::Response { id, attempt });
        }
    }

    /// Goes on to the next id, if there is one; if not, no timeout means anything any more.
    fn next(&mut self, at: u64, client: usize) -> bool {
        let more = self.clients[client].id < ROUND_TRIPS_EACH;
        if more {
            self.clients[client].id += 1;
            self.ask(at, client);
        } else {
            self.clients[client].attempt += 1;
        }
        more
    }

    fn ask(&mut self, at: u64, client: usize) {
        self.clients[client].attempt += 1;
        let Client { id, attempt } = self.clients[client];
        let arrival = at + LATENCY_MIN + self.pick(OPTIONS);
        self.push(arrival, client, Kind::Request { id, attempt });
        self.push(at + TIMEOUT, client, Kind::Timeout { attempt });
    }

    fn push(&mut self, at: u64, client: usize, kind: Kind) {
        self.sequence += 1;
        self.heap.push(Reverse(Entry { at, sequence: self.sequence, client, kind }));
    }

    /// One of 0 … `n` − 1 (SplitMix64: a few instructions, far cheaper than named streams).
    fn pick(&mut self, n: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.random;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((word ^ (word >> 31)) >> 32) * n) >> 32
    }
}
