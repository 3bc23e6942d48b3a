//! Bytes from a stranger, read so that an announced length costs no memory before it is there.
//!
//! The decoder of `kafka-protocol` makes room for as many items as an array announces. Of flexible
//! versions every length is a varint, which must not announce more items than bytes follow. In
//! older ones a length looks like any number of four bytes: none is taken for more than
//! [`NUMBER_MAX`], which as a time or a number of bytes is as good as any.

use bytes::{Buf, Bytes, TryGetError};
use kafka_protocol::protocol::buf::ByteBuf;

/// The largest number of four bytes in a version that is not flexible.
const NUMBER_MAX: i32 = 1 << 24;

/// Bytes of which nothing is believed.
pub(crate) struct Guarded {
    bytes: Bytes,
    flexible: bool,
    /// The number of which bytes were read, and how many.
    varint: u64,
    shift: u32,
}

impl Guarded {
    pub(crate) fn new(bytes: Bytes, flexible: bool) -> Self {
        Self { bytes, flexible, varint: 0, shift: 0 }
    }
}

impl Buf for Guarded {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }

    fn try_get_u8(&mut self) -> Result<u8, TryGetError> {
        let byte = self.bytes.try_get_u8()?;
        self.varint |= u64::from(byte & 0x7f) << self.shift;
        self.shift += 7;
        if byte < 0x80 || self.shift > 28 {
            let announced = usize::try_from(self.varint.saturating_sub(1)).unwrap_or(usize::MAX);
            (self.varint, self.shift) = (0, 0);
            if self.flexible && announced > self.bytes.len() {
                let available = self.bytes.len();
                return Err(TryGetError { requested: announced, available });
            }
        }
        Ok(byte)
    }

    fn try_get_i32(&mut self) -> Result<i32, TryGetError> {
        let number = self.bytes.try_get_i32()?;
        Ok(if self.flexible { number } else { number.min(NUMBER_MAX) })
    }
}

impl ByteBuf for Guarded {
    fn peek_bytes(&mut self, range: std::ops::Range<usize>) -> Bytes {
        self.bytes.slice(range)
    }

    fn get_bytes(&mut self, size: usize) -> Bytes {
        self.bytes.split_to(size)
    }
}
