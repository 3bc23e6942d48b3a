//! The answer of one Fetch for one partition while it is being read (`CompletedFetch`, K-FILT).
//!
//! Invariants: the cursor never goes back; the aborted producers live as long as this answer
//! (K-FILT-7).

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use eosim_types::message::IsolationLevel;
use eosim_types::record::{AbortedTxn, Payload, RecordBatch, TransactionResult};
use eosim_types::{Defect, Env, Few, LeaderEpoch, ProducerId, TopicPartition, Value, rule};

use crate::exception::{Exception, ExceptionClass};

/// What waits for a `poll()`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Buffered {
    /// Batches.
    Fetch(CompletedFetch),
    /// An error that is thrown when its turn has come.
    Failed { partition: TopicPartition, fetch_offset: i64, exception: Exception },
}

impl Buffered {
    pub(super) const fn partition(&self) -> TopicPartition {
        match self {
            Self::Fetch(fetch) => fetch.partition,
            Self::Failed { partition, .. } => *partition,
        }
    }

    /// The position at which it counts.
    pub(super) const fn next_fetch_offset(&self) -> i64 {
        match self {
            Self::Fetch(fetch) => fetch.next_fetch_offset,
            Self::Failed { fetch_offset, .. } => *fetch_offset,
        }
    }
}

/// A fetched run of batches and how far it was read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct CompletedFetch {
    pub(super) partition: TopicPartition,
    /// High watermark or last stable offset of the answer, by isolation level.
    pub(super) bound: i64,
    next_fetch_offset: i64,
    batches: VecDeque<RecordBatch>,
    current: Option<RecordBatch>,
    /// Of the last batch that was looked at.
    last_epoch: LeaderEpoch,
    /// By first offset, the next one last.
    aborted_transactions: Vec<AbortedTxn>,
    aborted_producer_ids: BTreeSet<ProducerId>,
    consumed: bool,
}

impl CompletedFetch {
    pub(super) fn new(
        partition: TopicPartition,
        fetch_offset: i64,
        bound: i64,
        batches: Few<RecordBatch>,
        mut aborted_transactions: Vec<AbortedTxn>,
    ) -> Self {
        // K-ISO-3: they come in any order.
        aborted_transactions.sort_unstable_by_key(|aborted| -aborted.first_offset);
        Self {
            partition,
            bound,
            next_fetch_offset: fetch_offset,
            batches: batches.into_iter().collect(),
            current: None,
            last_epoch: LeaderEpoch::NONE,
            aborted_transactions,
            aborted_producer_ids: BTreeSet::new(),
            consumed: false,
        }
    }

    /// The cursor.
    pub(super) const fn next_fetch_offset(&self) -> i64 {
        self.next_fetch_offset
    }

    /// The leader epoch of the batch before the cursor; -1 if nothing was read.
    pub(super) const fn last_epoch(&self) -> LeaderEpoch {
        self.last_epoch
    }

    /// Is everything read, trailing markers and skipped batches too?
    pub(super) const fn is_consumed(&self) -> bool {
        self.consumed
    }

    /// Delivers up to `max` records and moves the cursor (`fetchRecords`); the cursor stays in
    /// front of a corrupt batch (K-FILT-1).
    pub(super) fn fetch_records(
        &mut self,
        max: usize,
        isolation_level: IsolationLevel,
        records: &mut Vec<(i64, Value)>,
        env: &mut Env<'_>,
    ) -> Result<(), Exception> {
        while records.len() < max {
            let Some(batch) = self.current.take().or_else(|| self.next_batch(isolation_level, env))
            else {
                self.consumed = true;
                return Ok(());
            };
            if matches!(batch.payload, Payload::Corrupt) {
                rule!(env, "K-FILT-1");
                self.current = Some(batch);
                let cause = Exception::new(ExceptionClass::Kafka);
                return Err(Exception::caused_by(ExceptionClass::Kafka, cause));
            }
            if self.deliver(&batch, max, records, env) {
                self.next_fetch_offset = self.next_fetch_offset.max(batch.next_offset());
            } else {
                self.current = Some(batch);
            }
        }
        Ok(())
    }

    /// The next batch that is not skipped as a whole.
    fn next_batch(
        &mut self,
        isolation_level: IsolationLevel,
        env: &mut Env<'_>,
    ) -> Option<RecordBatch> {
        loop {
            let batch = self.batches.pop_front()?;
            self.last_epoch = batch.partition_leader_epoch;
            let corrupt = matches!(batch.payload, Payload::Corrupt);
            if isolation_level == IsolationLevel::ReadCommitted
                && batch.has_producer_id()
                && !corrupt
            {
                rule!(env, "K-FILT-2");
                self.consume_aborted_transactions_up_to(batch.last_offset());
                if ends_abort(&batch) {
                    // K-FILT-8: there may be nothing to remove.
                    let ended = self.aborted_producer_ids.remove(&batch.producer_id);
                    if !ended && env.on(Defect::ReaderSolitaryAbortBreaks) {
                        self.aborted_producer_ids.insert(batch.producer_id);
                    }
                } else if self.is_batch_aborted(&batch) {
                    self.next_fetch_offset = self.next_fetch_offset.max(batch.next_offset());
                    continue;
                }
            }
            return Some(batch);
        }
    }

    fn consume_aborted_transactions_up_to(&mut self, offset: i64) {
        while let Some(aborted) = self.aborted_transactions.pop_if(|a| a.first_offset <= offset) {
            self.aborted_producer_ids.insert(aborted.producer_id);
        }
    }

    /// K-FILT-4: a batch outside of any transaction is not aborted.
    fn is_batch_aborted(&self, batch: &RecordBatch) -> bool {
        batch.is_transactional
            && !batch.is_control()
            && self.aborted_producer_ids.contains(&batch.producer_id)
    }

    /// K-FILT-5; `false` if the batch has records left.
    fn deliver(
        &mut self,
        batch: &RecordBatch,
        max: usize,
        records: &mut Vec<(i64, Value)>,
        env: &mut Env<'_>,
    ) -> bool {
        rule!(env, "K-FILT-5");
        for (offset, record) in (batch.base_offset..).zip(batch.records()) {
            if offset < self.next_fetch_offset {
                continue;
            }
            if records.len() == max {
                return false;
            }
            records.push((offset, record.value));
            self.next_fetch_offset = offset + 1;
        }
        // K-FILT-9: the cut falls before a marker that follows the last record of a full poll.
        records.len() < max || self.next_fetch_offset == batch.next_offset()
    }
}

/// K-FILT-3: only ABORT counts, and an empty control batch is neither.
fn ends_abort(batch: &RecordBatch) -> bool {
    batch.marker().is_some_and(|marker| marker.result == TransactionResult::Abort)
}
