//! One assigned partition (`SubscriptionState.TopicPartitionState`).
//!
//! Invariant: a position that has to be validated is neither fetched from nor returned (K-POS-6).

use eosim_types::message::ListOffsetsTimestamp;
use eosim_types::{BrokerId, Instant, LeaderEpoch, TopicPartition};

/// Where the consumer stands in a partition (`FetchPosition`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct FetchPosition {
    /// The next offset.
    pub(super) offset: i64,
    /// The leader epoch of the batch before it; -1 if unknown.
    pub(super) offset_epoch: LeaderEpoch,
    /// The leader that is asked, with its epoch; `None` if none was known.
    pub(super) current_leader: Option<(BrokerId, LeaderEpoch)>,
}

/// One assigned partition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Assigned {
    pub(super) partition: TopicPartition,
    /// `None` while it is initialised or reset.
    pub(super) position: Option<FetchPosition>,
    /// The position has to be validated, and the leader is asked not before that
    /// (`AWAIT_VALIDATION`).
    pub(super) validation: Option<Instant>,
    /// Where to, while it is reset (`AWAIT_RESET`).
    pub(super) reset: Option<ListOffsetsTimestamp>,
    /// It will be taken away: nothing of it is fetched or returned any more.
    pub(super) pending_revocation: bool,
    /// The group has committed nothing in it.
    pub(super) has_no_committed: bool,
    /// The request for a position is on the wire.
    pub(super) resetting: bool,
    /// A Fetch for it is on the wire.
    pub(super) fetching: bool,
    /// A request for the end offset is owed.
    pub(super) end_offset_wanted: bool,
    /// The call that asked for its end has not returned.
    pub(super) end_offset_awaited: bool,
    /// Nothing is asked of its leader before that.
    pub(super) retry_at: Instant,
    pub(super) high_watermark: i64,
    pub(super) last_stable_offset: i64,
}

impl Assigned {
    pub(super) const fn new(partition: TopicPartition) -> Self {
        Self {
            partition,
            position: None,
            validation: None,
            reset: None,
            pending_revocation: false,
            has_no_committed: false,
            resetting: false,
            fetching: false,
            end_offset_wanted: false,
            end_offset_awaited: false,
            retry_at: Instant::START,
            high_watermark: -1,
            last_stable_offset: -1,
        }
    }

    /// It has no position and nobody has decided where it gets one (`INITIALIZING`).
    pub(super) const fn is_initializing(&self) -> bool {
        self.position.is_none() && self.reset.is_none()
    }

    /// The position, if it may be fetched from (`hasValidPosition`).
    pub(super) fn valid_position(&self) -> Option<FetchPosition> {
        self.position.filter(|_| self.validation.is_none())
    }

    /// The position, if it may be fetched from and what was fetched returned (`isFetchable`).
    pub(super) fn fetchable_position(&self) -> Option<FetchPosition> {
        self.valid_position().filter(|_| !self.pending_revocation)
    }

    /// Its position is looked up anew (`requestOffsetReset`).
    pub(super) const fn await_reset(&mut self, to: ListOffsetsTimestamp) {
        self.position = None;
        self.validation = None;
        self.reset = Some(to);
    }

    /// `seekValidated`.
    pub(super) const fn seek_validated(&mut self, position: FetchPosition) {
        self.position = Some(position);
        self.validation = None;
        self.reset = None;
    }

    /// `seekUnvalidated`: without an epoch there is nothing to be validated.
    pub(super) fn seek_unvalidated(&mut self, position: FetchPosition) {
        self.seek_validated(position);
        let has_epoch = position.offset_epoch != LeaderEpoch::NONE;
        self.validation = has_epoch.then_some(Instant::START);
    }

    /// `maybeValidatePosition`: another leader may have another log.
    pub(super) fn maybe_validate_position(&mut self, leader: (BrokerId, LeaderEpoch)) {
        if let Some(position) = self.position.filter(|p| p.current_leader != Some(leader)) {
            self.seek_unvalidated(FetchPosition { current_leader: Some(leader), ..position });
        }
    }
}
