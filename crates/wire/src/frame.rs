//! Frames: a length of four bytes and so many more, with limits.

use std::io::{self, Read, Write};

/// The largest frame that is taken, bytes (`socket.request.max.bytes`).
pub const FRAME_MAX: usize = 100 << 20;

/// What was read from a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame {
    /// The bytes behind a length.
    Bytes(Vec<u8>),
    /// The other side has closed, between two frames.
    End,
}

/// Reads one frame of at most `max` bytes.
///
/// # Errors
///
/// If the connection breaks inside a frame, or the length is negative or too large.
pub fn read_frame(from: &mut impl Read, max: usize) -> io::Result<Frame> {
    let mut length = [0; 4];
    if from.read(&mut length[..1])? == 0 {
        return Ok(Frame::End);
    }
    from.read_exact(&mut length[1..])?;
    let length = i32::from_be_bytes(length);
    let size = usize::try_from(length).ok().filter(|&size| size <= max);
    let size = size.ok_or_else(|| invalid(format!("a frame of {length} bytes, at most {max}")))?;
    // Memory grows with what arrives, not with what is announced.
    let mut bytes = Vec::new();
    from.take(size as u64).read_to_end(&mut bytes)?;
    if bytes.len() < size {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Frame::Bytes(bytes))
}

/// Writes one frame.
///
/// # Errors
///
/// If the connection breaks, or there are too many bytes for a length.
pub fn write_frame(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let length = i32::try_from(bytes.len()).map_err(|e| invalid(e.to_string()))?;
    let mut frame = Vec::with_capacity(bytes.len() + 4);
    frame.extend(length.to_be_bytes());
    frame.extend(bytes);
    to.write_all(&frame)
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_out_as_it_went_in_and_an_oversized_one_not_at_all() {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, b"abc").expect("memory takes it");
        let mut from = bytes.as_slice();
        assert_eq!(read_frame(&mut from, 3).expect("whole"), Frame::Bytes(b"abc".to_vec()));
        assert_eq!(read_frame(&mut from, 3).expect("at the end"), Frame::End);
        assert!(read_frame(&mut bytes.as_slice(), 2).is_err());
        assert!(read_frame(&mut [255u8; 4].as_slice(), 100).is_err(), "a negative length");
        assert!(read_frame(&mut [0u8, 0, 0, 9, 1].as_slice(), 100).is_err(), "half of a frame");
    }
}
