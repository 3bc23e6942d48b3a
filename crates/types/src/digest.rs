//! A small fixed hash, the same on every machine and in every build.

use core::hash::{Hash, Hasher};

/// A hasher whose result depends on nothing but the values fed to it: `usize` and `isize` are fed
/// as 64 bits, so that a run's digest is the same on every machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Digest(u64);

const K: u64 = 0x517c_c1b7_2722_0a95;

impl Digest {
    /// A digest that has seen nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(0)
    }

    /// Goes on from a value returned earlier by [`Hasher::finish`].
    #[must_use]
    pub const fn resume(state: u64) -> Self {
        Self(state)
    }

    /// The digest of one value.
    #[must_use]
    pub fn of<T: Hash + ?Sized>(value: &T) -> u64 {
        let mut digest = Self::new();
        value.hash(&mut digest);
        digest.finish()
    }

    #[inline]
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(K);
    }
}

macro_rules! as_words {
    ($($method:ident($ty:ty)),+) => {
        $(
            #[inline]
            fn $method(&mut self, i: $ty) {
                #[allow(clippy::cast_sign_loss)]
                self.mix(i as u64);
            }
        )+
    };
}

impl Hasher for Digest {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    as_words!(
        write_u8(u8),
        write_u16(u16),
        write_u32(u32),
        write_u64(u64),
        write_usize(usize),
        write_i8(i8),
        write_i16(i16),
        write_i32(i32),
        write_i64(i64),
        write_isize(isize)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_never_change() {
        assert_eq!(Digest::of(&0u64), 0);
        assert_eq!(Digest::of(&1u64), K);
        assert_eq!(Digest::of("eosim"), 0x3e39_4660_77a8_1a36);
    }
}
