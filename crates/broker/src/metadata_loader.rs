//! The broker follows the controller's metadata.
//!
//! Kafka counterpart: `MetadataLoader`, `BrokerMetadataPublisher`. One long poll is always open or
//! about to be. Invariant: the version applied never goes back.

use alloc::sync::Arc;

use eosim_types::message::{FetchMetadataRequest, FetchMetadataResponse};
use eosim_types::metadata::MetadataImage;
use eosim_types::{Duration, Instant};

use crate::io::Io;
use crate::network::{Call, lane};
use crate::timers::Timer;

/// Pause after the connection broke.
const RETRY_BACKOFF: Duration = Duration::from_millis(50);

/// `MetadataLoader`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct MetadataLoader {
    retry_at: Option<Instant>,
}

impl MetadataLoader {
    /// Asks for an image newer than the one known.
    pub(crate) fn fetch(&mut self, io: &mut Io<'_>) {
        self.retry_at = None;
        let request = FetchMetadataRequest { broker: io.spec.id, known_version: io.image.version };
        io.send_to_controller(lane::METADATA, Call::FetchMetadata, request);
    }

    /// The connection broke: asks again after a pause.
    pub(crate) fn on_disconnected(&mut self, io: &mut Io<'_>) {
        let at = io.now() + RETRY_BACKOFF;
        self.retry_at = Some(at);
        io.wake_at(Timer::Lifecycle, at);
    }

    /// The timer has fired.
    pub(crate) fn on_timer(&mut self, io: &mut Io<'_>) {
        match self.retry_at {
            Some(at) if at <= io.now() => self.fetch(io),
            Some(at) => io.wake_at(Timer::Lifecycle, at),
            None => {}
        }
    }
}

/// The image of an answer, if it is newer than `known`.
pub(crate) fn newer_image(
    known: &MetadataImage,
    response: FetchMetadataResponse,
) -> Option<Arc<MetadataImage>> {
    (response.image.version > known.version).then_some(response.image)
}
