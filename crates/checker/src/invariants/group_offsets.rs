//! `group-offsets`: a group coordinator's offsets are not what its log says.
//!
//! Promised (G-MARK-3, G-MARK-5, G-INT-1, G-INT-3, G-OFF-5): committed and pending offsets are a
//! function of the coordinator's own log, up to its end; a load gives the same as having been there
//! all the time. Not promised: anything where the head of the log was deleted.

use std::collections::BTreeMap;

use eosim_types::group_log::GroupLogRecord;
use eosim_types::observation::{CoordinatorDump, OffsetDump};
use eosim_types::record::{OffsetCommitRecord, Payload, RecordBatch, TransactionResult};
use eosim_types::{GroupId, ProducerId, Topic, TopicPartition};

use crate::anomaly::Report;
use crate::facts::partition_key;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::need::Need;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "group-offsets",
    promise: "A group coordinator holds the offsets, committed and pending, that its log says.",
    source: "G-MARK-3, G-MARK-5, G-INT-1, G-INT-3, G-OFF-5",
    file: "src/invariants/group_offsets.rs",
    needs: &[&[Need::GroupCoordinators]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn inspect(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        let groups = end.dump.coordinators.iter();
        for held in groups.filter(|held| held.partition.topic == Topic::CONSUMER_OFFSETS) {
            let Some(replica) = end.replica(held.broker, held.partition) else { continue };
            if replica.log_start_offset == 0 {
                judge(cx, held, &rebuilt(&replica.batches), report);
            }
        }
    }
}

fn judge(
    cx: Context<'_>,
    coordinator: &CoordinatorDump,
    logged: &[OffsetDump],
    report: &mut Report,
) {
    let held = &coordinator.offsets;
    let same = logged.iter().zip(held).take_while(|(a, b)| a == b).count();
    if same == logged.len() && same == held.len() {
        return;
    }
    let shape = if logged.len() > held.len() { "offset missing" } else { "offset differs" };
    let summary = format!(
        "coordinator {} of {}: entry {same} of the log's offsets is {}, of its memory {}",
        coordinator.broker,
        cx.setup.names.partition(coordinator.partition),
        describe(cx, logged.get(same)),
        describe(cx, held.get(same))
    );
    let subject = partition_key(coordinator.partition);
    report.add(INFO.finding(subject, &[shape], "G-MARK-5", summary));
}

fn describe(cx: Context<'_>, offset: Option<&OffsetDump>) -> String {
    offset.map_or_else(
        || "none".to_string(),
        |entry| {
            let group = cx.setup.names.group(entry.group);
            let partition = cx.setup.names.partition(entry.partition);
            let open = if entry.producer_id == ProducerId::NONE {
                String::new()
            } else {
                format!(" pending for producer id {}", entry.producer_id)
            };
            format!("{group} {partition} {}{open}", entry.offset)
        },
    )
}

/// Of a producer, or of -1 if committed: where an offset of a group and partition lies, and what
/// it is.
type Offsets = BTreeMap<(ProducerId, GroupId, TopicPartition), (i64, i64)>;

/// What the log of an offsets partition says, in the order of [`CoordinatorDump::offsets`].
fn rebuilt(batches: &[RecordBatch]) -> Vec<OffsetDump> {
    let mut offsets = Offsets::new();
    for batch in batches {
        match &batch.payload {
            Payload::OffsetCommits(records) => {
                let producer_id =
                    if batch.is_transactional { batch.producer_id } else { ProducerId::NONE };
                for (at, record) in (batch.base_offset..).zip(records.iter()) {
                    note(&mut offsets, producer_id, at, record);
                }
            }
            Payload::GroupLog(records) => {
                for (at, record) in (batch.base_offset..).zip(records.iter()) {
                    if let GroupLogRecord::OffsetCommit(record) = record {
                        note(&mut offsets, ProducerId::NONE, at, record);
                    }
                }
            }
            Payload::Control(marker) => decide(&mut offsets, batch.producer_id, marker.result),
            _ => {}
        }
    }
    let entry = |((producer_id, group, partition), (_, offset))| OffsetDump {
        producer_id,
        group,
        partition,
        offset,
    };
    offsets.into_iter().map(entry).collect()
}

/// A commit, in or outside a transaction, or a tombstone of all that is known of it (G-INT-3).
fn note(offsets: &mut Offsets, producer_id: ProducerId, at: i64, record: &OffsetCommitRecord) {
    match record.offset {
        Some(offset) => {
            offsets.insert((producer_id, record.group, record.partition), (at, offset));
        }
        None => offsets.retain(|&(_, group, partition), _| {
            (group, partition) != (record.group, record.partition)
        }),
    }
}

/// A marker: what was pending counts, unless a later record is there (G-MARK-3), or is dropped.
fn decide(offsets: &mut Offsets, producer_id: ProducerId, result: TransactionResult) {
    let is_own = |key: &&(ProducerId, GroupId, TopicPartition)| key.0 == producer_id;
    let own: Vec<_> = offsets.keys().filter(is_own).copied().collect();
    for key in own {
        let Some(pending) = offsets.remove(&key) else { continue };
        let committed = offsets.entry((ProducerId::NONE, key.1, key.2));
        if result == TransactionResult::Commit {
            let newest = committed.or_insert(pending);
            *newest = pending.max(*newest);
        }
    }
}
