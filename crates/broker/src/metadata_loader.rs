//! The broker follows the controller's metadata.
//!
//! Kafka counterpart: `MetadataLoader`, `BrokerMetadataPublisher`. One long poll is always open or
//! about to be. Invariants: the version applied never goes back; a new life applies nothing that is
//! older than its own registration, lest it take up its old roles.

use alloc::sync::Arc;

use eosim_types::message::{FetchMetadataRequest, FetchMetadataResponse};
use eosim_types::metadata::MetadataImage;
use eosim_types::{BrokerId, Duration, Instant};

use crate::io::Io;
use crate::network::{Call, lane};
use crate::timers::Timer;

/// Pause after the connection broke.
const RETRY_BACKOFF: Duration = Duration::from_millis(50);

/// `MetadataLoader`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct MetadataLoader {
    retry_at: Option<Instant>,
    /// The newest image seen.
    newest: Arc<MetadataImage>,
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

    /// The controller has answered.
    pub(crate) fn on_response(&mut self, response: FetchMetadataResponse) {
        if response.image.version > self.newest.version {
            self.newest = response.image;
        }
    }

    /// The image to be applied next, if there is one (`initialCatchUpFuture`): the first one must
    /// know the registration under `broker_epoch`.
    pub(crate) fn image_to_publish(
        &self,
        broker: BrokerId,
        broker_epoch: i64,
        applied: &MetadataImage,
    ) -> Option<Arc<MetadataImage>> {
        let registered = self.newest.brokers.get(&broker);
        let caught_up = registered.is_some_and(|known| known.broker_epoch == broker_epoch);
        let is_newer = self.newest.version > applied.version;
        (is_newer && (applied.version > 0 || caught_up)).then(|| self.newest.clone())
    }
}
