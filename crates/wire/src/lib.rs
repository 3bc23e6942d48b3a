//! Kafka's protocol in bytes, on both sides of a socket.
//!
//! [`codec`] turns requests and answers of the model into what travels, and back, as far as the
//! model has a rule for them; the schemas are those of the crate `kafka-protocol`.
//! [`live`] asks a real broker what recordings ask.
//!
//! Nothing here belongs to a run of the simulator: clocks, threads and sockets are allowed.

mod batch;
pub mod codec;
mod connection;
mod dictionary;
mod frame;
mod guarded;
pub mod live;
pub mod serve;

pub use dictionary::{Dictionary, INPUT};
pub use frame::{FRAME_MAX, Frame, read_frame, write_frame};

/// Bytes that are not what they should be: what is wrong with them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed(pub String);

impl Malformed {
    pub(crate) fn new(what: impl std::fmt::Display) -> Self {
        Self(what.to_string())
    }
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
