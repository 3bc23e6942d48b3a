//! Compaction (L-CMP).
//!
//! Kafka's counterparts: `Cleaner`, `CleanedTransactionMetadata`, `LastRecord`. Offsets never
//! change. A batch is the unit here: it is emptied or dropped once none of its records would be
//! kept, so that a record's offset stays its place in the batch.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use eosim_types::group_log::GroupLogKey;
use eosim_types::record::{AbortedTxn, Payload, RecordBatch, TransactionResult};
use eosim_types::{Defect, Env, ProducerEpoch, ProducerId, TransactionalId, rule};

use super::UnifiedLog;
use super::log_segment::StoredBatch;

/// What compaction compares.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RecordKey {
    Record(u32),
    Transaction(TransactionalId),
    Group(GroupLogKey),
}

/// What becomes of a batch.
enum Retention {
    /// Left as it is.
    Keep,
    /// Left without records, so that sequence or epoch are not forgotten (L-CMP-4).
    KeepEmpty,
    /// A marker whose transaction is gone: may be dropped from that time on, ms (L-CMP-3).
    KeepUntil(i64),
    /// Dropped.
    Delete,
}

/// The last that the log holds of an active producer (`LastRecord`).
struct LastRecord {
    last_data_offset: Option<i64>,
    producer_epoch: ProducerEpoch,
}

impl UnifiedLog {
    /// Compacts once what may be compacted: everything below the LSO, except the active segment
    /// (L-CMP-1).
    pub fn clean(&mut self, env: &mut Env<'_>) {
        rule!(env, "L-CMP-1");
        let mut end_offset = self.last_stable_offset().min(self.active_segment().base_offset);
        if env.on(Defect::CleanerBoundBySegmentOnly) {
            end_offset = self.active_segment().base_offset;
        }
        let end = self.segments.partition_point(|segment| {
            segment.batches.last().is_none_or(|last| last.batch.last_offset() < end_offset)
        });
        let end = end.min(self.segments.len() - 1);
        if end == 0 {
            return;
        }
        let mut pass = CleaningPass::new(self, end);
        let interval = self.config.index_interval_bytes;
        for segment in &mut self.segments[..end] {
            let batches = core::mem::take(&mut segment.batches);
            segment.replace(pass.clean_batches(env, batches), interval);
        }
        for segment in &mut self.segments[..end] {
            segment.transaction_index.retain(|aborted| pass.is_still_needed(aborted));
        }
    }
}

/// One pass over the cleanable part of a log.
struct CleaningPass {
    /// The newest offset of each key (`OffsetMap`).
    latest: BTreeMap<RecordKey, i64>,
    last_records: BTreeMap<ProducerId, LastRecord>,
    transactions: CleanedTransactions,
    end_offset: i64,
    delete_retention_ms: i64,
}

impl CleaningPass {
    /// A pass over the first `segments` segments. Markers may lie in later ones.
    fn new(log: &UnifiedLog, segments: usize) -> Self {
        let end_offset = log.segments[segments].base_offset;
        let segments = &log.segments[..segments];
        let transactions = CleanedTransactions::new(log.aborted_index());
        let last_records = log.producer_state.active_producers().map(|(producer_id, entry)| {
            let last_data_offset = entry.last_data_offset();
            let producer_epoch = entry.producer_epoch;
            (producer_id, LastRecord { last_data_offset, producer_epoch })
        });
        let retention = log.config.delete_retention.as_millis();
        let mut pass = Self {
            latest: BTreeMap::new(),
            last_records: last_records.collect(),
            transactions,
            end_offset,
            delete_retention_ms: i64::try_from(retention).unwrap_or(i64::MAX / 2),
        };
        pass.build_offset_map(segments.iter().flat_map(|segment| &segment.batches));
        pass
    }

    /// Keys of aborted batches do not count.
    fn build_offset_map<'a>(&mut self, batches: impl Iterator<Item = &'a StoredBatch>) {
        let mut transactions = self.transactions.clone();
        for StoredBatch { batch, .. } in batches {
            if transactions.on_batch_read(batch) || batch.is_control() {
                continue;
            }
            for (offset, key) in (batch.base_offset..).zip(keys(&batch.payload)) {
                if let Some(key) = key {
                    self.latest.insert(key, offset);
                }
            }
        }
    }

    fn clean_batches(&mut self, env: &mut Env<'_>, batches: Vec<StoredBatch>) -> Vec<StoredBatch> {
        rule!(env, "L-CMP-5");
        let mut kept = Vec::with_capacity(batches.len());
        for mut stored in batches {
            match self.retention(env, &stored) {
                Retention::Keep => {}
                Retention::KeepEmpty => stored.batch.payload = emptied(&stored.batch.payload),
                Retention::KeepUntil(horizon) => stored.delete_horizon_ms = Some(horizon),
                Retention::Delete => continue,
            }
            kept.push(stored);
        }
        kept
    }

    /// `checkBatchRetention` and `shouldRetainRecord`.
    fn retention(&mut self, env: &mut Env<'_>, stored: &StoredBatch) -> Retention {
        let batch = &stored.batch;
        let can_discard = self.transactions.on_batch_read(batch);
        if can_discard && !self.transactions.is_past_horizon(env, stored) {
            rule!(env, "L-CMP-3");
            let horizon = env.clock_ms() + self.delete_retention_ms;
            return stored
                .delete_horizon_ms
                .map_or(Retention::KeepUntil(horizon), |_| Retention::Keep);
        }
        rule!(env, "L-CMP-2");
        if !can_discard && (batch.is_control() || self.has_latest_of_a_key(batch)) {
            return Retention::Keep;
        }
        if self.must_stay_without_records(env, batch) {
            return Retention::KeepEmpty;
        }
        Retention::Delete
    }

    fn has_latest_of_a_key(&self, batch: &RecordBatch) -> bool {
        (batch.base_offset..)
            .zip(keys(&batch.payload))
            .any(|(offset, key)| key.is_some_and(|key| self.latest.get(&key) == Some(&offset)))
    }

    /// The batch holds the last sequence or the epoch of an active producer, or the end of the
    /// range that is cleaned (L-CMP-4).
    fn must_stay_without_records(&self, env: &mut Env<'_>, batch: &RecordBatch) -> bool {
        rule!(env, "L-CMP-4");
        let is_last_of_producer = self.last_records.get(&batch.producer_id).is_some_and(|last| {
            last.last_data_offset.map_or(
                batch.is_control() && batch.producer_epoch == last.producer_epoch,
                |offset| offset == batch.last_offset(),
            )
        });
        is_last_of_producer && !env.on(Defect::CleanerDropLastSequence)
            || batch.next_offset() == self.end_offset && !env.on(Defect::CleanerDropLastBatch)
    }

    /// An index entry goes with the last batch of its transaction.
    fn is_still_needed(&self, aborted: &AbortedTxn) -> bool {
        self.transactions.retained.contains(aborted)
    }
}

/// Which transactions are open at the place that the cleaner has reached
/// (`CleanedTransactionMetadata`).
#[derive(Clone)]
struct CleanedTransactions {
    /// Not yet reached, the next one last.
    aborted: Vec<AbortedTxn>,
    /// Reached; with whether a batch of it was seen.
    ongoing_aborted: BTreeMap<ProducerId, (AbortedTxn, bool)>,
    ongoing_committed: BTreeSet<ProducerId>,
    /// Of which batches were left when the marker was reached.
    retained: Vec<AbortedTxn>,
}

impl CleanedTransactions {
    fn new(mut aborted: Vec<AbortedTxn>) -> Self {
        aborted.sort_by_key(|aborted| core::cmp::Reverse(aborted.first_offset));
        Self {
            aborted,
            ongoing_aborted: BTreeMap::new(),
            ongoing_committed: BTreeSet::new(),
            retained: Vec::new(),
        }
    }

    /// Goes past `batch`; true if its records may be discarded: aborted data, or a marker of whose
    /// transaction nothing is left.
    fn on_batch_read(&mut self, batch: &RecordBatch) -> bool {
        while let Some(next) = self.aborted.pop_if(|next| next.first_offset <= batch.last_offset())
        {
            self.ongoing_aborted.insert(next.producer_id, (next, false));
        }
        if batch.is_control() {
            return self.on_control_batch_read(batch);
        }
        if !batch.is_transactional {
            return false;
        }
        if let Some((_, batch_was_seen)) = self.ongoing_aborted.get_mut(&batch.producer_id) {
            *batch_was_seen = true;
            return true;
        }
        self.ongoing_committed.insert(batch.producer_id);
        false
    }

    fn on_control_batch_read(&mut self, batch: &RecordBatch) -> bool {
        match batch.marker().map(|marker| marker.result) {
            Some(TransactionResult::Abort) => {
                let Some((aborted, true)) = self.ongoing_aborted.remove(&batch.producer_id) else {
                    return true;
                };
                self.retained.push(aborted);
                false
            }
            Some(TransactionResult::Commit) => !self.ongoing_committed.remove(&batch.producer_id),
            // Emptied before: as good as discarded.
            None => true,
        }
    }

    /// Data may go at once, a marker only when its delete horizon has passed.
    fn is_past_horizon(&self, env: &Env<'_>, stored: &StoredBatch) -> bool {
        !stored.batch.is_control()
            || stored.delete_horizon_ms.is_some_and(|horizon| horizon <= env.clock_ms())
    }
}

fn keys(payload: &Payload) -> Vec<Option<RecordKey>> {
    match payload {
        Payload::Records(records) => {
            records.iter().map(|record| record.key.map(RecordKey::Record)).collect()
        }
        Payload::TransactionLog(records) => records
            .iter()
            .map(|record| Some(RecordKey::Transaction(record.transactional_id)))
            .collect(),
        Payload::OffsetCommits(records) => {
            records.iter().map(|record| Some(RecordKey::Group(record.key()))).collect()
        }
        Payload::GroupLog(records) => {
            records.iter().map(|record| Some(RecordKey::Group(record.key()))).collect()
        }
        Payload::Control(_) | Payload::EmptyControl | Payload::Corrupt => Vec::new(),
    }
}

fn emptied(payload: &Payload) -> Payload {
    match payload {
        Payload::Records(_) => Payload::Records(Arc::from([])),
        Payload::TransactionLog(_) => Payload::TransactionLog(Arc::from([])),
        Payload::OffsetCommits(_) => Payload::OffsetCommits(Arc::from([])),
        Payload::GroupLog(_) => Payload::GroupLog(Arc::from([])),
        Payload::Control(_) | Payload::EmptyControl => Payload::EmptyControl,
        Payload::Corrupt => Payload::Corrupt,
    }
}
