//! The aborted transactions of one segment.
//!
//! Kafka's counterpart: `TransactionIndex`. Entries stand in the order of their markers, and
//! `last_offset` strictly increases.

use alloc::vec::Vec;

use eosim_types::record::AbortedTxn;
use eosim_types::{Env, ErrorCode, rule};

/// The aborted-transaction index of one segment (L-IDX-1).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TransactionIndex {
    entries: Vec<AbortedTxn>,
}

/// What a search in one segment found (`TxnIndexSearchResult`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TxnIndexSearchResult {
    /// In index order.
    pub aborted_transactions: Vec<AbortedTxn>,
    /// No later segment can hold more.
    pub is_complete: bool,
}

impl TransactionIndex {
    /// Adds the entry of a transaction whose ABORT marker was written.
    ///
    /// # Errors
    /// `KAFKA_STORAGE_ERROR` if the marker does not lie behind the last one (L-IDX-4).
    pub fn append(&mut self, env: &mut Env<'_>, entry: AbortedTxn) -> Result<(), ErrorCode> {
        rule!(env, "L-IDX-4");
        if self.entries.last().is_some_and(|last| last.last_offset >= entry.last_offset) {
            return Err(ErrorCode::KafkaStorageError);
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Collects into `found` what overlaps with `[fetch_offset, upper_bound_offset)`; true if the
    /// search is complete (L-IDX-5).
    pub(crate) fn collect(
        &self,
        env: &mut Env<'_>,
        fetch_offset: i64,
        upper_bound_offset: i64,
        found: &mut Vec<AbortedTxn>,
    ) -> bool {
        rule!(env, "L-IDX-5");
        for entry in &self.entries {
            if entry.last_offset >= fetch_offset && entry.first_offset < upper_bound_offset {
                found.push(*entry);
            }
            if entry.last_stable_offset >= upper_bound_offset {
                return true;
            }
        }
        false
    }

    /// What overlaps with `[fetch_offset, upper_bound_offset)` (L-IDX-5).
    pub fn collect_aborted_txns(
        &self,
        env: &mut Env<'_>,
        fetch_offset: i64,
        upper_bound_offset: i64,
    ) -> TxnIndexSearchResult {
        let mut aborted_transactions = Vec::new();
        let is_complete =
            self.collect(env, fetch_offset, upper_bound_offset, &mut aborted_transactions);
        TxnIndexSearchResult { aborted_transactions, is_complete }
    }

    /// Removes every entry from the first with a marker at or beyond `offset` on (L-IDX-6).
    pub fn truncate_to(&mut self, offset: i64) {
        let kept = self.entries.partition_point(|entry| entry.last_offset < offset);
        self.entries.truncate(kept);
    }

    /// Removes the entries that `keep` does not want.
    pub(crate) fn retain(&mut self, keep: impl FnMut(&AbortedTxn) -> bool) {
        self.entries.retain(keep);
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Every entry, in the order of the markers.
    #[must_use]
    pub fn entries(&self) -> &[AbortedTxn] {
        &self.entries
    }
}
