//! The batches of a scripted Fetch answer.

use std::sync::Arc;

use eosim_types::record::{EndTransactionMarker, Payload, Record, RecordBatch, TransactionResult};
use eosim_types::{CoordinatorEpoch, LeaderEpoch, ProducerEpoch, ProducerId, Sequence};

use super::case::Batch;
use super::names::CaseNames;
use crate::conform::fields::Unsupported;

/// The batch that `batch` describes.
pub(super) fn build(batch: &Batch, names: &mut CaseNames) -> Result<RecordBatch, Unsupported> {
    if batch.corrupt {
        return Err(Unsupported("a corrupt batch".to_string()));
    }
    let base = batch.base.or_else(|| batch.offsets.first().copied()).unwrap_or_default();
    let last = batch.last.or_else(|| batch.offsets.last().copied()).unwrap_or(base);
    Ok(RecordBatch {
        base_offset: base,
        last_offset_delta: i32::try_from(last - base).unwrap_or_default(),
        partition_leader_epoch: LeaderEpoch(0),
        is_transactional: batch.txn || batch.control.is_some(),
        max_timestamp: 0,
        producer_id: ProducerId(batch.pid.unwrap_or(-1)),
        producer_epoch: ProducerEpoch(batch.epoch.unwrap_or(-1)),
        base_sequence: Sequence::ZERO,
        payload: payload(batch, base, names)?,
    })
}

fn payload(batch: &Batch, base: i64, names: &mut CaseNames) -> Result<Payload, Unsupported> {
    let marker = |result| {
        let coordinator_epoch = CoordinatorEpoch(0);
        Payload::Control(EndTransactionMarker { result, coordinator_epoch })
    };
    match batch.control.as_deref() {
        Some("COMMIT") => return Ok(marker(TransactionResult::Commit)),
        Some("ABORT") => return Ok(marker(TransactionResult::Abort)),
        Some(other) => return Err(Unsupported(format!("the control record {other}"))),
        None => {}
    }
    if batch.control_batch {
        return Ok(Payload::EmptyControl);
    }
    let dense = (base..).zip(&batch.offsets).all(|(expected, &offset)| expected == offset);
    if !dense {
        return Err(Unsupported("a batch with holes".to_string()));
    }
    let records: Vec<_> = batch.values.iter().map(|text| record(text, names)).collect();
    Ok(Payload::Records(Arc::from(records)))
}

fn record(text: &str, names: &mut CaseNames) -> Record {
    let value_bytes = u32::try_from(text.len()).unwrap_or(u32::MAX);
    Record { value: names.add_value(text), key: None, value_bytes }
}
