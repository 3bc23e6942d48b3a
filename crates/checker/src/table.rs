//! A table from 64-bit keys to small numbers that keeps its memory when it is emptied.
//!
//! No Kafka counterpart. Open addressing with linear probing over a power-of-two array; no order
//! is ever visible, so that nothing depends on the hash.

/// From key to number; a key once put in stays until [`Table::clear`].
#[derive(Default, Debug)]
pub(crate) struct Table {
    /// In the order in which they came.
    entries: Vec<(u64, u32)>,
    /// Index into `entries` plus one; 0 is free.
    slots: Vec<u32>,
}

/// Below this many entries, emptying the slots one by one is cheaper than all at once.
const SPARSE: usize = 16;

impl Table {
    /// The number under `key`.
    pub(crate) fn get(&self, key: u64) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        match self.slots[self.probe(key)] {
            0 => None,
            entry => Some(self.entries[entry as usize - 1].1),
        }
    }

    /// Puts `number` under `key`; what was there before is returned.
    pub(crate) fn put(&mut self, key: u64, number: u32) -> Option<u32> {
        if self.slots.len() <= self.entries.len() * 2 {
            self.grow();
        }
        let slot = self.probe(key);
        match self.slots[slot] {
            0 => {
                self.entries.push((key, number));
                self.slots[slot] = index(self.entries.len());
                None
            }
            entry => Some(core::mem::replace(&mut self.entries[entry as usize - 1].1, number)),
        }
    }

    /// What is in it, in the order in which keys came.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.entries.iter().copied()
    }

    /// Forgets everything and keeps the memory.
    pub(crate) fn clear(&mut self) {
        if self.entries.len() * SPARSE < self.slots.len() {
            for at in (0..self.entries.len()).rev() {
                let slot = self.probe(self.entries[at].0);
                self.slots[slot] = 0;
            }
        } else {
            self.slots.fill(0);
        }
        self.entries.clear();
    }

    /// The slot that holds `key`, or the free one where it belongs.
    fn probe(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = scatter(key) & mask;
        loop {
            match self.slots[slot] {
                0 => return slot,
                entry if self.entries[entry as usize - 1].0 == key => return slot,
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(64);
        self.slots.clear();
        self.slots.resize(size, 0);
        for at in 0..self.entries.len() {
            let slot = self.probe(self.entries[at].0);
            self.slots[slot] = index(at + 1);
        }
    }
}

/// Fibonacci hashing; the upper half is the well-mixed one.
fn scatter(key: u64) -> usize {
    let mixed = (key ^ (key >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    usize::try_from(mixed).expect("32 bits fit")
}

/// `at` as it is stored.
pub(crate) fn index(at: usize) -> u32 {
    u32::try_from(at).expect("fewer than 2^32 facts")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn behaves_as_an_ordered_map(
            rounds in prop::collection::vec(prop::collection::vec((0u64..300, 0u32..9), 0..200), 1..4),
        ) {
            let mut table = Table::default();
            for round in rounds {
                let mut model = BTreeMap::new();
                for (key, number) in round {
                    let key = key << 40 | key;
                    prop_assert_eq!(table.put(key, number), model.insert(key, number));
                }
                for key in 0..300u64 {
                    let key = key << 40 | key;
                    prop_assert_eq!(table.get(key), model.get(&key).copied());
                }
                table.clear();
                prop_assert_eq!(table.get(0), None);
            }
        }
    }
}
