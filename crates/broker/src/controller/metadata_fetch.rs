//! Brokers that wait for newer metadata.
//!
//! Kafka counterpart: the fetches of the metadata log that observers park at the quorum's leader
//! (`KafkaRaftClient`, `controller.quorum.fetch.timeout` aside). Invariant: deadlines are in the
//! order of arrival, as every wait has the same length.

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use eosim_actor::{RequestToken, TimerKey};
use eosim_types::message::{FetchMetadataRequest, FetchMetadataResponse, Message, Response};
use eosim_types::metadata::MetadataImage;
use eosim_types::{Duration, Instant};

use super::Outbox;

/// How long a fetch waits for news (`MAX_FETCH_WAIT_MS` of `KafkaRaftClient`).
const MAX_FETCH_WAIT: Duration = Duration::from_millis(500);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Waiting {
    token: RequestToken,
    deadline: Instant,
}

/// The parked fetches.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct MetadataFetches {
    waiting: VecDeque<Waiting>,
}

impl MetadataFetches {
    /// Answers at once if there is news; parks the fetch otherwise.
    pub(super) fn fetch(
        &mut self,
        image: &Arc<MetadataImage>,
        request: FetchMetadataRequest,
        token: RequestToken,
        now: Instant,
        out: &mut Outbox,
    ) {
        if image.version > request.known_version {
            respond(image, token, out);
            return;
        }
        let deadline = now + MAX_FETCH_WAIT;
        if self.waiting.is_empty() {
            out.set_timer(Self::TIMER, deadline);
        }
        self.waiting.push_back(Waiting { token, deadline });
    }

    /// There is news for everybody who waits.
    pub(super) fn complete_all(&mut self, image: &Arc<MetadataImage>, out: &mut Outbox) {
        if self.waiting.is_empty() {
            return;
        }
        for waiting in self.waiting.drain(..) {
            respond(image, waiting.token, out);
        }
        out.cancel_timer(Self::TIMER);
    }

    /// Answers those who have waited long enough.
    pub(super) fn expire(&mut self, image: &Arc<MetadataImage>, now: Instant, out: &mut Outbox) {
        while self.waiting.front().is_some_and(|first| first.deadline <= now) {
            let waiting = self.waiting.pop_front().expect("the front was seen");
            respond(image, waiting.token, out);
        }
        if let Some(first) = self.waiting.front() {
            out.set_timer(Self::TIMER, first.deadline);
        }
    }

    /// Fires when the oldest fetch has waited long enough.
    pub(super) const TIMER: TimerKey = TimerKey(1);
}

fn respond(image: &Arc<MetadataImage>, token: RequestToken, out: &mut Outbox) {
    let response = FetchMetadataResponse { image: Arc::clone(image) };
    out.respond(token, Message::Response(Response::FetchMetadata(response)));
}
