//! A batch of a log, as its line says it.

use eosim_types::group_log::GroupLogRecord;
use eosim_types::record::{
    EndTransactionMarker, OffsetCommitRecord, Payload, Record, RecordBatch, TransactionLogRecord,
    TransactionLogValue, TransactionResult, TransactionState,
};
use eosim_types::{
    CoordinatorEpoch, GroupId, LeaderEpoch, ProducerEpoch, ProducerId, Sequence, TopicPartition,
};

use super::super::log::{Batch, Logged, LoggedOffset, LoggedState, LoggedTransaction};
use super::super::word::{Marker, Partition, State};
use super::group;
use super::{Complaint, Known, complaint};

/// A history says nothing of the size of records.
const VALUE_BYTES: u32 = 0;

/// What `batch` is: several batches, if records within it are missing.
pub(super) fn batches(known: &mut Known, batch: Batch) -> Result<Vec<RecordBatch>, Complaint> {
    let base = RecordBatch {
        base_offset: batch.base_offset.0,
        last_offset_delta: 0,
        partition_leader_epoch: LeaderEpoch(batch.partition_leader_epoch),
        is_transactional: batch.is_transactional,
        max_timestamp: batch.max_timestamp_ms.0,
        producer_id: ProducerId(batch.producer_id.0),
        producer_epoch: ProducerEpoch(batch.producer_epoch.0),
        base_sequence: Sequence(batch.base_sequence.0),
        payload: Payload::EmptyControl,
    };
    let last_offset = batch.last_offset.map(|offset| offset.0);
    let Batch { records, end_txn_marker, is_removed_marker, transactions, offsets, .. } = batch;
    let marker = end_txn_marker.map(|marker| {
        let result = match marker.result {
            Marker::Commit => TransactionResult::Commit,
            Marker::Abort => TransactionResult::Abort,
        };
        let coordinator_epoch = CoordinatorEpoch(marker.coordinator_epoch);
        Payload::Control(EndTransactionMarker { result, coordinator_epoch })
    });
    let payload = match (records, marker, is_removed_marker, transactions, offsets) {
        (Some(records), None, false, None, None) => {
            return runs(known, &base, last_offset, &records);
        }
        (None, Some(marker), false, None, None) => marker,
        (None, None, true, None, None) => Payload::EmptyControl,
        (None, None, false, Some(records), None) => {
            let records = records.iter().enumerate();
            let records = records.map(|(at, record)| logged_transaction(known, at, record));
            Payload::TransactionLog(records.collect::<Result<_, _>>()?)
        }
        (None, None, false, None, Some(records)) => {
            offset_records(known, &records, batch.is_group_log)?
        }
        _ => {
            let expected = "one of \"records\", \"end_txn_marker\", \"is_removed_marker\", \
                            \"transactions\", \"offsets\"";
            return Err(complaint("", "a batch of nothing, or of several things", expected));
        }
    };
    let mut one = RecordBatch { payload, ..base };
    let counted = one.base_offset + i64::from(one.record_count().max(1)) - 1;
    one.last_offset_delta = delta(one.base_offset, last_offset.unwrap_or(counted), counted)?;
    Ok(vec![one])
}

/// Last offset minus first offset.
fn delta(base_offset: i64, last_offset: i64, least: i64) -> Result<i32, Complaint> {
    let fits = last_offset >= least;
    let delta = i32::try_from(last_offset - base_offset).ok().filter(|_| fits);
    delta.ok_or_else(|| {
        let expected = format!("at least {least}, where its last record lies");
        complaint("last_offset", last_offset.to_string(), expected)
    })
}

/// Records at consecutive offsets, a batch for each run of them.
fn runs(
    known: &mut Known,
    base: &RecordBatch,
    last_offset: Option<i64>,
    records: &[Logged],
) -> Result<Vec<RecordBatch>, Complaint> {
    let mut runs: Vec<(i64, Vec<Record>)> = vec![(base.base_offset, Vec::new())];
    let mut next = base.base_offset;
    for (at, record) in records.iter().enumerate() {
        let (offset, value) = match record {
            Logged::Next(value) => (next, value),
            Logged::At(place) => (place.offset.0, &place.value),
        };
        if offset < next {
            let expected = format!("at least {next}");
            let path = format!("records[{at}].offset");
            return Err(complaint(path, offset.to_string(), expected));
        }
        if offset > next {
            runs.push((offset, Vec::new()));
        }
        let value = known.value(value);
        let record = Record { value, key: None, value_bytes: VALUE_BYTES };
        runs.last_mut().expect("one at least").1.push(record);
        next = offset + 1;
    }
    let least = (next - 1).max(base.base_offset);
    let whole = delta(base.base_offset, last_offset.unwrap_or(least), least)?;
    if runs.len() > 1 && runs[0].1.is_empty() {
        runs.remove(0);
    }
    let count = runs.len();
    let batch = |(at, (start, records)): (usize, (i64, Vec<Record>))| {
        let before = i32::try_from(start - base.base_offset).unwrap_or(i32::MAX);
        let own = i32::try_from(records.len()).unwrap_or(i32::MAX).max(1) - 1;
        let is_last = at + 1 == count;
        let numbered = base.base_sequence != Sequence::NONE;
        let base_sequence =
            if numbered { base.base_sequence.advance(before) } else { Sequence::NONE };
        RecordBatch {
            base_offset: start,
            last_offset_delta: if is_last { whole - before } else { own },
            base_sequence,
            payload: Payload::Records(records.into()),
            ..base.clone()
        }
    };
    Ok(runs.into_iter().enumerate().map(batch).collect())
}

fn offset_records(
    known: &Known,
    records: &[LoggedOffset],
    is_group_log: bool,
) -> Result<Payload, Complaint> {
    let read = records.iter().enumerate().map(|(at, record)| group_record(known, at, record));
    let read = read.collect::<Result<Vec<GroupLogRecord>, _>>()?;
    let offset = |record: &GroupLogRecord| match record {
        GroupLogRecord::OffsetCommit(record) => Some(*record),
        _ => None,
    };
    if !is_group_log && let Some(offsets) = read.iter().map(offset).collect::<Option<Vec<_>>>() {
        return Ok(Payload::OffsetCommits(offsets.into()));
    }
    Ok(Payload::GroupLog(read.into()))
}

fn group_record(
    known: &Known,
    at: usize,
    record: &LoggedOffset,
) -> Result<GroupLogRecord, Complaint> {
    if let (Some(group), Some(membership)) = (&record.group, &record.membership) {
        let path = format!("offsets[{at}]");
        let group = known.group(&format!("{path}.group"), group)?;
        return group::record(known, &format!("{path}.membership"), group, membership);
    }
    // Of what is neither, only its place matters.
    let (group, assignment_epoch) = (GroupId::default(), None);
    let other = GroupLogRecord::ConsumerGroupTargetAssignmentMetadata { group, assignment_epoch };
    Ok(logged_offset(known, at, record)?.map_or(other, GroupLogRecord::OffsetCommit))
}

fn logged_offset(
    known: &Known,
    at: usize,
    record: &LoggedOffset,
) -> Result<Option<OffsetCommitRecord>, Complaint> {
    let path = |key: &str| format!("offsets[{at}].{key}");
    let (Some(group), Some(partition)) = (&record.group, &record.partition) else {
        return Ok(None);
    };
    Ok(Some(OffsetCommitRecord {
        group: known.group(&path("group"), group)?,
        partition: known.partition(&path("partition"), partition)?,
        offset: record.offset.as_ref().map(|offset| offset.0),
        leader_epoch: LeaderEpoch(record.leader_epoch.0),
        commit_timestamp_ms: record.commit_timestamp_ms.0,
    }))
}

fn logged_transaction(
    known: &Known,
    at: usize,
    record: &LoggedTransaction,
) -> Result<TransactionLogRecord, Complaint> {
    let path = format!("transactions[{at}]");
    let id =
        known.transactional_id(&format!("{path}.transactional_id"), &record.transactional_id)?;
    let value = record.value.as_ref().map(|value| logged_state(known, &path, value)).transpose()?;
    Ok(TransactionLogRecord { transactional_id: id, value })
}

fn logged_state(
    known: &Known,
    path: &str,
    value: &LoggedState,
) -> Result<TransactionLogValue, Complaint> {
    let path = format!("{path}.value.transaction_partitions");
    let list = value.transaction_partitions.as_deref();
    Ok(TransactionLogValue {
        version: value.version.0,
        producer_id: ProducerId(value.producer_id.0),
        previous_producer_id: ProducerId(value.previous_producer_id.0),
        next_producer_id: ProducerId(value.next_producer_id.0),
        producer_epoch: ProducerEpoch(value.producer_epoch.0),
        last_producer_epoch: ProducerEpoch(value.last_producer_epoch.0),
        transaction_timeout_ms: value.transaction_timeout_ms.0,
        transaction_status: state(value.transaction_status),
        transaction_partitions: list.map(|list| partitions(known, &path, list)).transpose()?,
        last_update_timestamp_ms: value.last_update_timestamp_ms.0,
        start_timestamp_ms: value.start_timestamp_ms.0,
        client_transaction_version: value.client_transaction_version.0,
    })
}

/// The partitions called so at `path`.
pub(super) fn partitions(
    known: &Known,
    path: &str,
    list: &[Partition],
) -> Result<Vec<TopicPartition>, Complaint> {
    let list = list.iter().enumerate();
    list.map(|(at, one)| known.partition(&format!("{path}[{at}]"), one)).collect()
}

/// The state of that name.
pub(super) const fn state(state: State) -> TransactionState {
    match state {
        State::Empty => TransactionState::Empty,
        State::Ongoing => TransactionState::Ongoing,
        State::PrepareCommit => TransactionState::PrepareCommit,
        State::PrepareAbort => TransactionState::PrepareAbort,
        State::CompleteCommit => TransactionState::CompleteCommit,
        State::CompleteAbort => TransactionState::CompleteAbort,
        State::Dead => TransactionState::Dead,
        State::PrepareEpochFence => TransactionState::PrepareEpochFence,
    }
}
