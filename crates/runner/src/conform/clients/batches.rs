//! The batches of a scripted Fetch answer.

use std::sync::Arc;

use eosim_types::record::{EndTransactionMarker, Payload, Record, RecordBatch, TransactionResult};
use eosim_types::{CoordinatorEpoch, LeaderEpoch, ProducerEpoch, ProducerId, Sequence};

use super::case::Batch;
use super::names::CaseNames;
use crate::conform::fields::Unsupported;

/// The batches that `batch` describes: one, or one for each run of records that compaction left
/// side by side, which is the same to a reader.
pub(super) fn build(
    batch: &Batch,
    aborted: &[(i64, i64)],
    names: &mut CaseNames,
) -> Result<Vec<RecordBatch>, Unsupported> {
    let base = batch.base.or_else(|| batch.offsets.first().copied()).unwrap_or_default();
    let last = batch.last.or_else(|| batch.offsets.last().copied()).unwrap_or(base);
    let mut runs: Vec<(i64, Vec<Record>)> = Vec::new();
    for (&offset, text) in batch.offsets.iter().zip(&batch.values) {
        let record = record(text, names);
        match runs.last_mut() {
            Some((first, run)) if *first + count(run) == offset => run.push(record),
            _ => runs.push((offset, vec![record])),
        }
    }
    let begins_inside =
        |&(pid, first): &(i64, i64)| Some(pid) == batch.pid && base < first && first <= last;
    if runs.len() > 1 && aborted.iter().any(begins_inside) {
        return Err(Unsupported("a transaction that begins in a batch with holes".to_string()));
    }
    if runs.is_empty() {
        return Ok(vec![header(batch, base, last, payload(batch)?)]);
    }
    let firsts: Vec<_> = runs.iter().map(|(first, _)| *first).collect();
    let parts = runs.into_iter().enumerate().map(|(at, (_, run))| {
        let from = if at == 0 { base } else { firsts[at] };
        let to = firsts.get(at + 1).map_or(last, |next| next - 1);
        header(batch, from, to, Payload::Records(Arc::from(run)))
    });
    let parts: Vec<_> = parts.collect();
    let leading_hole = parts[0].base_offset != firsts[0];
    if leading_hole { Err(Unsupported("a hole at a batch's start".to_string())) } else { Ok(parts) }
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
