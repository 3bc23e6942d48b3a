//! `transaction-state`: what a transaction coordinator remembers is not what its log says.
//!
//! Promised (C-APP-6, C-APP-7, C-LOAD-3, C-LOAD-5, C-REC-2, C-REC-4): memory follows the log, record
//! by record, and a load gives the same as having been there all the time; for every id the
//! coordinator's memory is what the newest record of its own log says.
//!
//! Legal differences, and only these:
//! - a transition that is being written (a pending state): memory is still what the record before
//!   says; one whose append has not been replicated within its time limit was given up (C-APP-3),
//!   and its record stays (H-1), and may have compacted away what memory says;
//! - while markers are on their way the set of partitions shrinks in memory only (C-MRK-13);
//! - an id that was never written successfully has no record (C-INIT-10);
//! - a fence of transaction versions 0 and 1 raises the epoch in memory first (C-END-6, C-END-19);
//! - what a record does not hold: previous and next producer id and client version in version 0
//!   (C-REC-4), these ids before 4.3, the last epoch before 4.5.

use std::collections::BTreeMap;

use eosim_types::observation::{CoordinatorDump, ReplicaDump, TransactionDump};
use eosim_types::record::{Payload, TransactionLogValue, TransactionState};
use eosim_types::{LeaderEpoch, ProducerEpoch, ProducerId, Topic, TransactionalId};

use crate::anomaly::Report;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::need::Need;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "transaction-state",
    promise: "A transaction coordinator remembers of every id what the newest record of it says.",
    source: "C-APP-6, C-APP-7, C-LOAD-3, C-LOAD-5, C-REC-2, C-REC-4",
    file: "src/invariants/transaction_state.rs",
    needs: &[&[Need::TransactionCoordinators]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn inspect(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        let coordinators = end.dump.coordinators.iter();
        for owner in coordinators.filter(|of| of.partition.topic == Topic::TRANSACTION_STATE) {
            if let Some(replica) = end.replica(owner.broker, owner.partition) {
                judge(cx, end, owner, replica, report);
            }
        }
    }
}

/// One record of an id.
#[derive(Clone, Copy)]
struct Logged<'a> {
    leader_epoch: LeaderEpoch,
    written_ms: i64,
    /// `None` is a tombstone.
    value: Option<&'a TransactionLogValue>,
}

/// The records of each id, oldest first.
type Records<'a> = BTreeMap<TransactionalId, Vec<Logged<'a>>>;

fn records(replica: &ReplicaDump) -> Records<'_> {
    let mut records = Records::new();
    for batch in &replica.batches {
        let Payload::TransactionLog(list) = &batch.payload else { continue };
        for record in list.iter() {
            records.entry(record.transactional_id).or_default().push(Logged {
                leader_epoch: batch.partition_leader_epoch,
                written_ms: batch.max_timestamp,
                value: record.value.as_ref(),
            });
        }
    }
    records
}

fn judge(
    cx: Context<'_>,
    end: End<'_>,
    owner: &CoordinatorDump,
    replica: &ReplicaDump,
    report: &mut Report,
) {
    let records = records(replica);
    let is_own = |of: &&TransactionDump| {
        of.broker == owner.broker && of.txn_topic_partition == owner.partition.partition
    };
    let mut held: BTreeMap<TransactionalId, &TransactionDump> = BTreeMap::new();
    held.extend(end.dump.transactions.iter().filter(is_own).map(|of| (of.transactional_id, of)));
    for (&id, list) in &records {
        let newest = list.last().and_then(|logged| logged.value);
        if let (Some(value), false) = (newest, held.contains_key(&id)) {
            let said = describe_value(Some(value));
            add(cx, owner, id, "id missing", &format!("{said}; memory knows nothing"), report);
        }
    }
    let (now, is_compacted) = (end.dump.at.as_millis(), is_compacted(replica));
    for (&id, &memory) in &held {
        let list = records.get(&id).map_or(&[][..], Vec::as_slice);
        let found = contradiction(cx, now, owner.leader_epoch, memory, list, is_compacted);
        if let Some(shape) = found {
            let said = describe_value(list.last().and_then(|logged| logged.value));
            let summary = format!("{said}; memory holds {}", describe(memory));
            add(cx, owner, id, shape, &summary, report);
        }
    }
}

fn add(
    cx: Context<'_>,
    owner: &CoordinatorDump,
    id: TransactionalId,
    shape: &'static str,
    what: &str,
    report: &mut Report,
) {
    let summary = format!(
        "coordinator {} of {}: of {} the log says {what}",
        owner.broker,
        cx.setup.names.partition(owner.partition),
        cx.setup.names.transactional_id(id)
    );
    report.add(INFO.finding(u64::from(id.0), &[shape], "C-LOAD-5", summary));
}

/// What of the newest record that counts is not in memory.
fn contradiction(
    cx: Context<'_>,
    now: i64,
    owner_epoch: LeaderEpoch,
    memory: &TransactionDump,
    list: &[Logged<'_>],
    is_compacted: bool,
) -> Option<&'static str> {
    let mut first = None;
    for (age, logged) in list.iter().rev().enumerate() {
        let shape = difference(cx, memory, logged.value)?;
        first = first.or(Some(shape));
        let is_newest = age == 0;
        let may_be_ahead = logged.leader_epoch == owner_epoch
            && (is_newest && is_pending(memory, *logged) || is_given_up(cx, now, *logged));
        if !may_be_ahead {
            return first;
        }
    }
    let was_never_written = memory.producer_epoch == ProducerEpoch::NONE;
    let may_be_gone = is_compacted && first.is_some();
    if was_never_written || may_be_gone { None } else { first.or(Some("no record")) }
}

/// Has compaction, or the deletion of old records, left gaps?
fn is_compacted(replica: &ReplicaDump) -> bool {
    let mut next = 0;
    replica.batches.iter().any(|batch| {
        let is_gap = batch.base_offset > next;
        next = batch.next_offset();
        is_gap
    })
}

/// Is `logged` the transition that is being written?
fn is_pending(memory: &TransactionDump, logged: Logged<'_>) -> bool {
    let state = logged.value.map_or(TransactionState::Dead, |value| value.transaction_status);
    memory.pending_state == Some(state)
}

/// Has the time passed for which a coordinator waits for an append?
fn is_given_up(cx: Context<'_>, now: i64, logged: Logged<'_>) -> bool {
    let request_timeout = i64::try_from(cx.setup.request_timeout.as_millis()).unwrap_or(i64::MAX);
    let limit = logged.value.map_or(request_timeout, |of| i64::from(of.transaction_timeout_ms));
    cx.setup.clock_jumps || now.saturating_sub(logged.written_ms) >= limit
}

/// The first field in which memory contradicts a record.
fn difference(
    cx: Context<'_>,
    memory: &TransactionDump,
    value: Option<&TransactionLogValue>,
) -> Option<&'static str> {
    let Some(value) = value else {
        let is_fresh = memory.producer_epoch == ProducerEpoch::NONE;
        return (!is_fresh).then_some("tombstone");
    };
    let holds_all = value.version >= 1;
    // Every transition has one; before 4.3 it is not written.
    let holds_ids = holds_all && value.previous_producer_id != ProducerId::NONE;
    let raised = raised_by_fence(memory, value);
    let epoch = value.producer_epoch.0 + i16::from(raised);
    let last = value.last_producer_epoch;
    let knows_last = holds_all && cx.setup.last_epoch_is_persisted && !raised;
    let fields = [
        (memory.state == value.transaction_status, "state differs"),
        (memory.producer_id == value.producer_id, "producer id differs"),
        (memory.producer_epoch.0 == epoch, "producer epoch differs"),
        (!knows_last || memory.last_producer_epoch == last, "last producer epoch differs"),
        (are_partitions_of(memory, value), "partitions differ"),
        (memory.transaction_timeout_ms == value.transaction_timeout_ms, "timeout differs"),
        (memory.start_timestamp_ms == value.start_timestamp_ms, "start differs"),
        (memory.last_update_timestamp_ms == value.last_update_timestamp_ms, "update differs"),
        (
            !holds_ids || memory.previous_producer_id == value.previous_producer_id,
            "previous producer id differs",
        ),
        (
            !holds_ids || memory.next_producer_id == value.next_producer_id,
            "next producer id differs",
        ),
        (
            memory.client_transaction_version == value.client_transaction_version,
            "client transaction version differs",
        ),
    ];
    fields.into_iter().find(|(is_same, _)| !is_same).map(|(_, shape)| shape)
}

/// A fence of transaction version 0 or 1 is being written, or its append has failed.
fn raised_by_fence(memory: &TransactionDump, value: &TransactionLogValue) -> bool {
    let states = (memory.state, value.transaction_status);
    states == (TransactionState::Ongoing, TransactionState::Ongoing)
        && memory.producer_epoch.0 == value.producer_epoch.0.wrapping_add(1)
        && memory.last_producer_epoch == ProducerEpoch::NONE
        && matches!(memory.pending_state, None | Some(TransactionState::PrepareAbort))
}

/// The same partitions; fewer in memory while markers are on their way.
fn are_partitions_of(memory: &TransactionDump, value: &TransactionLogValue) -> bool {
    let logged = value.transaction_partitions.as_deref().unwrap_or_default();
    let shrinks = matches!(
        memory.state,
        TransactionState::PrepareCommit | TransactionState::PrepareAbort
    );
    memory.partitions == logged
        || (shrinks && memory.partitions.iter().all(|partition| logged.contains(partition)))
}

fn describe(memory: &TransactionDump) -> String {
    let pending = memory.pending_state.map_or("nothing", TransactionState::name);
    format!(
        "{} ({}, {}) last epoch {} next id {} of {} partitions, updated at {}, pending {pending}",
        memory.state.name(),
        memory.producer_id,
        memory.producer_epoch,
        memory.last_producer_epoch,
        memory.next_producer_id,
        memory.partitions.len(),
        memory.last_update_timestamp_ms
    )
}

fn describe_value(value: Option<&TransactionLogValue>) -> String {
    value.map_or_else(
        || "nothing".to_string(),
        |value| {
            format!(
                "{} ({}, {}) last epoch {} next id {} of {} partitions, updated at {}",
                value.transaction_status.name(),
                value.producer_id,
                value.producer_epoch,
                value.last_producer_epoch,
                value.next_producer_id,
                value.transaction_partitions.as_ref().map_or(0, Vec::len),
                value.last_update_timestamp_ms
            )
        },
    )
}
