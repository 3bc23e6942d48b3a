//! Which fetch session a Fetch belongs to, and which of its fetches it is (KIP-227).
//!
//! Kafka counterpart: `FetchMetadata`.

/// A session and the place of a fetch in it (`FetchMetadata`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FetchMetadata {
    /// The session, 0 if there is none.
    pub session_id: i32,
    /// Counts the fetches of a session; 0 begins one, -1 wants none.
    pub epoch: i32,
}

impl FetchMetadata {
    /// "No session" (`INVALID_SESSION_ID`).
    pub const INVALID_SESSION_ID: i32 = 0;
    /// A full fetch that begins a session (`INITIAL_EPOCH`).
    pub const INITIAL_EPOCH: i32 = 0;
    /// A full fetch without a session, after which there is none (`FINAL_EPOCH`).
    pub const FINAL_EPOCH: i32 = -1;

    /// Begins the first session.
    pub const INITIAL: Self =
        Self { session_id: Self::INVALID_SESSION_ID, epoch: Self::INITIAL_EPOCH };
    /// A fetch without a session.
    pub const LEGACY: Self =
        Self { session_id: Self::INVALID_SESSION_ID, epoch: Self::FINAL_EPOCH };

    /// Does the fetch name every partition, and its answer too?
    #[must_use]
    pub const fn is_full(self) -> bool {
        self.epoch == Self::INITIAL_EPOCH || self.epoch == Self::FINAL_EPOCH
    }

    /// The epoch of the fetch after one of `epoch` (`nextEpoch`).
    #[must_use]
    pub const fn next_epoch(epoch: i32) -> i32 {
        match epoch {
            ..0 => Self::FINAL_EPOCH,
            i32::MAX => 1,
            _ => epoch + 1,
        }
    }

    /// The first incremental fetch of `session_id` (`newIncremental`).
    #[must_use]
    pub const fn new_incremental(session_id: i32) -> Self {
        Self { session_id, epoch: Self::next_epoch(Self::INITIAL_EPOCH) }
    }

    /// The next incremental fetch of the same session (`nextIncremental`).
    #[must_use]
    pub const fn next_incremental(self) -> Self {
        Self { epoch: Self::next_epoch(self.epoch), ..self }
    }

    /// Closes the session and begins another (`nextCloseExistingAttemptNew`).
    #[must_use]
    pub const fn next_close_existing_attempt_new(self) -> Self {
        Self { epoch: Self::INITIAL_EPOCH, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_begin_at_one_and_wrap_to_one() {
        let first = FetchMetadata::new_incremental(7);
        assert_eq!((first.epoch, first.next_incremental().epoch), (1, 2));
        let last = FetchMetadata { epoch: i32::MAX, ..first };
        assert_eq!(last.next_incremental(), first);
        assert_eq!(FetchMetadata::next_epoch(FetchMetadata::FINAL_EPOCH), -1);
        assert!(!first.is_full() && first.next_close_existing_attempt_new().is_full());
        assert!(FetchMetadata::INITIAL.is_full() && FetchMetadata::LEGACY.is_full());
    }
}
