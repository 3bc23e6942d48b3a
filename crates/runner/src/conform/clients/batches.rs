//! The batches of a scripted Fetch answer.

use std::sync::Arc;

use eosim_types::record::{
    AbortedTxn, EndTransactionMarker, Payload, Record, RecordBatch, TransactionResult,
};
use eosim_types::{CoordinatorEpoch, LeaderEpoch, ProducerEpoch, ProducerId, Sequence};

use super::case::Batch;
use super::names::CaseNames;
use crate::conform::fields::Unsupported;

/// The batches that `batch` describes: one, or one for each run of records that compaction left
/// side by side, which is the same to a reader (K-FILT-2: see [`list_of_aborted`]).
pub(super) fn build(batch: &Batch, names: &mut CaseNames) -> Result<Vec<RecordBatch>, Unsupported> {
    let (base, last) = ends(batch);
    let mut runs: Vec<(i64, Vec<Record>)> = Vec::new();
    for (&offset, text) in batch.offsets.iter().zip(&batch.values) {
        let record = record(text, names);
        match runs.last_mut() {
            Some((first, run)) if *first + count(run) == offset => run.push(record),
            _ => runs.push((offset, vec![record])),
        }
    }
    if batch.corrupt || runs.is_empty() {
        return Ok(vec![header(batch, base, last, payload(batch)?)]);
    }
    if runs[0].0 > base {
        runs.insert(0, (base, Vec::new()));
    }
    let nexts: Vec<_> = runs.iter().skip(1).map(|(first, _)| *first - 1).chain([last]).collect();
    let parts = runs
        .into_iter()
        .zip(nexts)
        .map(|((from, run), to)| header(batch, from, to, Payload::Records(Arc::from(run))));
    Ok(parts.collect())
}

fn ends(batch: &Batch) -> (i64, i64) {
    let base = batch.base.or_else(|| batch.offsets.first().copied()).unwrap_or_default();
    (base, batch.last.or_else(|| batch.offsets.last().copied()).unwrap_or(base))
}

/// The aborted transactions of an answer. One that begins within a batch is looked at when the
/// batch is, hence before its first part.
pub(super) fn list_of_aborted(aborted: &[(i64, i64)], batches: &[Batch]) -> Vec<AbortedTxn> {
    let begins = |first: i64| {
        let within = |&(base, last): &(i64, i64)| base < first && first <= last;
        batches.iter().map(ends).find(within).map_or(first, |(base, _)| base)
    };
    let entry = |&(producer_id, first)| AbortedTxn {
        producer_id: ProducerId(producer_id),
        first_offset: begins(first),
        last_offset: -1,
        last_stable_offset: -1,
    };
    aborted.iter().map(entry).collect()
}

fn count(run: &[Record]) -> i64 {
    i64::try_from(run.len()).unwrap_or(i64::MAX)
}

fn header(batch: &Batch, base: i64, last: i64, payload: Payload) -> RecordBatch {
    RecordBatch {
        base_offset: base,
        last_offset_delta: i32::try_from(last - base).unwrap_or_default(),
        partition_leader_epoch: LeaderEpoch(0),
        is_transactional: batch.txn || batch.control.is_some(),
        max_timestamp: 0,
        producer_id: ProducerId(batch.pid.unwrap_or(-1)),
        producer_epoch: ProducerEpoch(batch.epoch.unwrap_or(-1)),
        base_sequence: Sequence::ZERO,
        payload: if batch.corrupt { Payload::Corrupt } else { payload },
    }
}

fn payload(batch: &Batch) -> Result<Payload, Unsupported> {
    let marker = |result| {
        let coordinator_epoch = CoordinatorEpoch(0);
        Payload::Control(EndTransactionMarker { result, coordinator_epoch })
    };
    match batch.control.as_deref() {
        Some("COMMIT") => Ok(marker(TransactionResult::Commit)),
        Some("ABORT") => Ok(marker(TransactionResult::Abort)),
        Some(other) => Err(Unsupported(format!("the control record {other}"))),
        None if batch.control_batch => Ok(Payload::EmptyControl),
        None => Ok(Payload::Records(Arc::from([]))),
    }
}

fn record(text: &str, names: &mut CaseNames) -> Record {
    let value_bytes = u32::try_from(text.len()).unwrap_or(u32::MAX);
    Record { value: names.add_value(text), key: None, value_bytes }
}
