//! Transactions of one log that are open, or decided but not yet replicated.
//!
//! Kafka's counterparts: `ongoingTxns` and `unreplicatedTxns` of `ProducerStateManager`,
//! `TxnMetadata` and `CompletedTxn`. Both lists are sorted by first offset, and no transaction is
//! in both (L-SIM-3).

use alloc::vec::Vec;

use eosim_types::{Defect, Env, ProducerId, rule};

/// A transaction that a marker has just ended (`CompletedTxn`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CompletedTxn {
    /// Whose it was.
    pub producer_id: ProducerId,
    /// Its first offset in this partition.
    pub first_offset: i64,
    /// The marker's offset.
    pub last_offset: i64,
    /// The marker says ABORT.
    pub is_aborted: bool,
}

/// An open transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct OngoingTxn {
    pub(crate) first_offset: i64,
    pub(crate) producer_id: ProducerId,
}

/// A decided transaction whose marker is not yet below the high watermark.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct UnreplicatedTxn {
    first_offset: i64,
    last_offset: i64,
}

/// The undecided and the unreplicated transactions of one log.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Transactions {
    ongoing: Vec<OngoingTxn>,
    unreplicated: Vec<UnreplicatedTxn>,
}

impl Transactions {
    pub(crate) fn clear(&mut self) {
        self.ongoing.clear();
        self.unreplicated.clear();
    }

    pub(crate) fn add_ongoing(&mut self, producer_id: ProducerId, first_offset: i64) {
        let place = self.ongoing.partition_point(|txn| txn.first_offset < first_offset);
        self.ongoing.insert(place, OngoingTxn { first_offset, producer_id });
    }

    /// The oldest open transaction.
    pub(crate) fn first_ongoing(&self) -> Option<OngoingTxn> {
        self.ongoing.first().copied()
    }

    pub(crate) fn has_unreplicated(&self) -> bool {
        !self.unreplicated.is_empty()
    }

    /// Smallest first offset of all that is undecided or unreplicated (L-LSO-1).
    pub(crate) fn first_unstable_offset(&self) -> Option<i64> {
        let undecided = self.ongoing.first().map(|txn| txn.first_offset);
        let unreplicated = self.unreplicated.first().map(|txn| txn.first_offset);
        match (undecided, unreplicated) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// The LSO that the index entry of `completed` gets: where the oldest open transaction of
    /// *another* producer begins, else the offset after the marker (L-IDX-3). A follower has by
    /// then applied all that it fetched together with the marker; in a repaired Kafka what begins
    /// after the marker does not count.
    pub(crate) fn last_stable_offset(&self, env: &mut Env<'_>, completed: &CompletedTxn) -> i64 {
        rule!(env, "L-IDX-3");
        let looks_ahead = env.on(Defect::UpstreamLeaderFollowerIndexLooksAhead);
        self.ongoing
            .iter()
            .take_while(|txn| looks_ahead || txn.first_offset < completed.last_offset)
            .find(|txn| txn.producer_id != completed.producer_id)
            .map_or(completed.last_offset + 1, |txn| txn.first_offset)
    }

    /// Moves `completed` from the open to the unreplicated transactions (`completeTxn`).
    ///
    /// # Panics
    /// If it was not open: entry and list then contradict each other.
    pub(crate) fn complete(&mut self, completed: &CompletedTxn) {
        let first_offset = completed.first_offset;
        let place = self
            .ongoing
            .binary_search_by_key(&first_offset, |txn| txn.first_offset)
            .expect("a transaction that ends was open");
        self.ongoing.remove(place);
        // One producer has one open transaction, so first offsets are never shared (L-SIM-3).
        let place = self.unreplicated.partition_point(|txn| txn.first_offset < first_offset);
        self.unreplicated
            .insert(place, UnreplicatedTxn { first_offset, last_offset: completed.last_offset });
    }

    /// Forgets the unreplicated transactions whose marker lies before `offset` (L-LSO-2).
    pub(crate) fn remove_unreplicated_before(&mut self, env: &mut Env<'_>, offset: i64) {
        if self.unreplicated.is_empty() {
            return;
        }
        rule!(env, "L-LSO-2");
        self.unreplicated.retain(|txn| txn.last_offset >= offset);
    }
}
