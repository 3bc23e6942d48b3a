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
/// As many as ChaCha8 makes at a time.
const WORDS: usize = 64;
/// Streams from this number on are few and are searched for: a table up to the highest number would
/// be as large as all the rest of a seed.
const TABLED: usize = 1 << 14;

/// Chance from a seed.
#[derive(Clone, Debug)]
pub struct Seeded {
    key: [u8; 32],
    life: u64,
    /// Where in `streams` a stream is, by its number, of those below [`TABLED`]; [`NOWHERE`] if it
    /// was never used.
    places: Vec<u32>,
    streams: Vec<Named>,
}

/// One stream, some words ahead. `next` is past the end if it is to be opened or read on.
#[derive(Clone, Debug)]
struct Named {
    number: usize,
    next: usize,
    ahead: [u32; WORDS],
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
        self.streams.iter_mut().for_each(|named| named.next = WORDS);
    }

    #[inline]
    fn word(&mut self, stream: Stream, entity: ActorId) -> u32 {
        let number = usize::from(entity.0) * PURPOSES + purpose(stream);
        if let Some(&place) = self.places.get(number)
            && let Some(named) = self.streams.get_mut(place as usize)
            && let Some(&word) = named.ahead.get(named.next)
        {
            named.next += 1;
            return word;
        }
        self.read_on(number)
    }

    /// The next word of a stream that has none ahead, or is not in the table.
    #[cold]
    #[inline(never)]
    fn read_on(&mut self, number: usize) -> u32 {
        let place = self.place(number);
        let named = &mut self.streams[place];
        if let Some(&word) = named.ahead.get(named.next) {
            named.next += 1;
            return word;
        }
        if named.life != self.life {
            named.words = ChaCha8Rng::from_seed(self.key);
            named.words.set_stream(number as u64);
            named.life = self.life;
        }
        let mut bytes = [0; WORDS * 4];
        named.words.fill_bytes(&mut bytes);
        for (word, &bytes) in named.ahead.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(bytes);
        }
        named.next = 1;
        named.ahead[0]
    }

    /// Where the stream called `number` is kept.
    fn place(&mut self, number: usize) -> usize {
        if number >= TABLED {
            let known = self.streams.iter().position(|named| named.number == number);
            return known.unwrap_or_else(|| self.add(number));
        }
        if self.places.len() <= number {
            self.places.resize(number + 1, NOWHERE);
        }
        if self.places[number] == NOWHERE {
            self.places[number] = u32::try_from(self.add(number)).expect("few streams");
        }
        self.places[number] as usize
    }

    fn add(&mut self, number: usize) -> usize {
        let words = ChaCha8Rng::from_seed(self.key);
        self.streams.push(Named { number, next: WORDS, ahead: [0; WORDS], life: 0, words });
        self.streams.len() - 1
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

    /// Computed by an implementation of ChaCha8 that shares nothing with the one in use.
    #[test]
    fn words_of_a_seed_never_change() {
        let vectors = [
            (0, Stream::Network, 0, [4140073765, 173772192, 4220039757, 3372487800]),
            (0, Stream::Fault, 0, [2137563464, 3317713089, 264869654, 4036650437]),
            (0, Stream::Network, 1, [3992308145, 4155966355, 3317593828, 412009238]),
            (u64::MAX, Stream::Plan, 100, [348120584, 3414102656, 2903241183, 1482417540]),
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
            mixed.choose(NETWORK, ActorId(u16::MAX), 100);
            let pick = mixed.choose(NETWORK, ActorId(0), 100);
            assert_eq!(pick, alone.choose(NETWORK, ActorId(0), 100));
        }
    }

    #[test]
    fn a_reset_source_equals_a_new_one() {
        let mut reused = Seeded::new(1);
        let mut fresh = Seeded::new(2);
        let entities = [ActorId(3), ActorId(u16::MAX)];
        for entity in entities.into_iter().cycle().take(200) {
            reused.choose(NETWORK, entity, 10);
        }
        reused.reset(2);
        for entity in entities.into_iter().cycle().take(200) {
            let expected = fresh.choose(NETWORK, entity, 10);
            assert_eq!(reused.choose(NETWORK, entity, 10), expected);
        }
    }
}
