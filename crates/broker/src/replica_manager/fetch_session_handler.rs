//! A follower's side of its fetch session with one leader (KIP-227).
//!
//! Kafka counterpart: `FetchSessionHandler`; the session's partitions stand beside the fetcher's
//! own (`FetchedPartition`).

use eosim_types::ErrorCode;
use eosim_types::message::{FetchMetadata, FetchResponse};

/// `FetchSessionHandler`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FetchSessionHandler {
    /// What the next fetch says of its session.
    pub(crate) next_metadata: FetchMetadata,
}

impl Default for FetchSessionHandler {
    fn default() -> Self {
        Self { next_metadata: FetchMetadata::INITIAL }
    }
}

impl FetchSessionHandler {
    /// The leader has answered (`handleResponse`). False if the session has failed: the answer says
    /// nothing, and the next fetch is full.
    pub(crate) fn handle_response(&mut self, response: &FetchResponse) -> bool {
        self.next_metadata = match response.error {
            ErrorCode::None if response.session_id == FetchMetadata::INVALID_SESSION_ID => {
                FetchMetadata::INITIAL
            }
            ErrorCode::None if self.next_metadata.is_full() => {
                FetchMetadata::new_incremental(response.session_id)
            }
            ErrorCode::None => self.next_metadata.next_incremental(),
            ErrorCode::FetchSessionIdNotFound => FetchMetadata::INITIAL,
            _ => self.next_metadata.next_close_existing_attempt_new(),
        };
        response.error.is_none()
    }

    /// The connection broke: the leader may have the session or not (`handleError`).
    pub(crate) fn handle_error(&mut self) {
        self.next_metadata = self.next_metadata.next_close_existing_attempt_new();
    }
}
