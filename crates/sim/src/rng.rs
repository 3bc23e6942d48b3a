//! Seeded chance: named ChaCha8 streams, and how a word becomes a choice.
//!
//! The only file that names `rand` and `rand_chacha`; it takes raw words alone, so that no release
//! of theirs can change what a seed means. Every purpose and entity has its own stream under the
//! seed's one key, so that drawing more for one never shifts another.
//!
//! One 32-bit word makes one choice: `pick = word × n >> 32`. Integers only; the chance of each
//! option differs from 1/n by less than 2⁻³².

use eosim_actor::{Choices, Site, Stream};
use eosim_types::ActorId;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Raised whenever a seed would mean something else than before; part of every artefact.
pub const RNG_VERSION: u32 = 1;

const DOMAIN: [u8; 8] = *b"eosimrng";
const PURPOSES: usize = 5;
const NOWHERE: u32 = u32::MAX;

/// Chance from a seed.
#[derive(Clone, Debug)]
pub struct Seeded {
    key: [u8; 32],
    life: u64,
    /// Where in `streams` a stream is, by its number; [`NOWHERE`] if it was never used.
    places: Vec<u32>,
    streams: Vec<Named>,
}

/// One stream; it belongs to the present seed only if `life` says so.
#[derive(Clone, Debug)]
struct Named {
    life: u64,
    words: ChaCha8Rng,
}

impl Seeded {
    /// The choices of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { key: key_of(seed), life: 1, places: Vec::new(), streams: Vec::new() }
    }

    /// Begins anew with `seed`, in the memory of the seed before.
    pub fn reset(&mut self, seed: u64) {
        self.key = key_of(seed);
        self.life += 1;
    }

    #[inline]
    fn word(&mut self, stream: Stream, entity: ActorId) -> u32 {
        let number = usize::from(entity.0) * PURPOSES + purpose(stream);
        if let Some(&place) = self.places.get(number)
            && let Some(named) = self.streams.get_mut(place as usize)
            && named.life == self.life
        {
            return named.words.next_u32();
        }
        self.open(number).next_u32()
    }

    /// Puts the stream called `number` at its beginning under the present key.
    #[cold]
    fn open(&mut self, number: usize) -> &mut ChaCha8Rng {
        let mut words = ChaCha8Rng::from_seed(self.key);
        words.set_stream(number as u64);
        let named = Named { life: self.life, words };
        if self.places.len() <= number {
            self.places.resize(number + 1, NOWHERE);
        }
        if self.places[number] == NOWHERE {
            self.places[number] = u32::try_from(self.streams.len()).expect("few streams");
            self.streams.push(named);
        } else {
            self.streams[self.places[number] as usize] = named;
        }
        &mut self.streams[self.places[number] as usize].words
    }
}

impl Choices for Seeded {
    #[inline]
    fn choose(&mut self, site: Site, entity: ActorId, n: u32) -> u32 {
        scale(self.word(site.stream, entity), n)
    }
}

/// A stream's number is `entity × 5 + purpose`; these numbers are part of [`RNG_VERSION`].
const fn purpose(stream: Stream) -> usize {
    match stream {
        Stream::Network => 0,
        Stream::Fault => 1,
        Stream::Workload => 2,
        Stream::Actor => 3,
        Stream::Plan => 4,
    }
}

/// Turns a word into one of 0 … `n` − 1.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "word < 2^32, so the result is below n")]
const fn scale(word: u32, n: u32) -> u32 {
    ((word as u64 * n as u64) >> 32) as u32
}

fn key_of(seed: u64) -> [u8; 32] {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&DOMAIN);
    key[8..12].copy_from_slice(&RNG_VERSION.to_le_bytes());
    key[16..24].copy_from_slice(&seed.to_le_bytes());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: Site = Site::new("test.network", Stream::Network);
    const FAULT: Site = Site::new("test.fault", Stream::Fault);

    fn words(seed: u64, stream: Stream, entity: u16) -> [u32; 4] {
        let mut seeded = Seeded::new(seed);
        [(); 4].map(|()| seeded.word(stream, ActorId(entity)))
    }

    #[test]
    fn words_of_a_seed_never_change() {
        let vectors = [
            (0, Stream::Network, 0, [0u32; 4]),
            (0, Stream::Fault, 0, [0; 4]),
            (0, Stream::Network, 1, [0; 4]),
            (u64::MAX, Stream::Plan, u16::MAX, [0; 4]),
        ];
        for (seed, stream, entity, expected) in vectors {
            assert_eq!(words(seed, stream, entity), expected, "{seed} {stream:?} {entity}");
        }
    }

    #[test]
    fn a_word_becomes_a_choice_by_multiplication() {
        let rows = [
            (0, 2, 0),
            (0x7fff_ffff, 2, 0),
            (0x8000_0000, 2, 1),
            (u32::MAX, 2, 1),
            (u32::MAX, 9_001, 9_000),
            (u32::MAX, u32::MAX, u32::MAX - 1),
            (0x1234_5678, 1_000, 71),
        ];
        for (word, n, pick) in rows {
            assert_eq!(scale(word, n), pick, "{word:#x} of {n}");
        }
    }

    #[test]
    fn streams_do_not_shift_each_other() {
        let mut alone = Seeded::new(7);
        let mut mixed = Seeded::new(7);
        for _ in 0..200 {
            mixed.choose(FAULT, ActorId(0), 100);
            mixed.choose(NETWORK, ActorId(1), 100);
            let pick = mixed.choose(NETWORK, ActorId(0), 100);
            assert_eq!(pick, alone.choose(NETWORK, ActorId(0), 100));
        }
    }

    #[test]
    fn a_reset_source_equals_a_new_one() {
        let mut reused = Seeded::new(1);
        for _ in 0..100 {
            reused.choose(NETWORK, ActorId(3), 10);
        }
        reused.reset(2);
        let mut fresh = Seeded::new(2);
        for _ in 0..100 {
            let expected = fresh.choose(NETWORK, ActorId(3), 10);
            assert_eq!(reused.choose(NETWORK, ActorId(3), 10), expected);
        }
    }
}
