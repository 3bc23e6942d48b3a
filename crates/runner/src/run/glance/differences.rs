//! What is different between two looks at one broker, in words.

use eosim_types::message::ProducerState;
use eosim_types::observation::{ClusterDump, OffsetDump, ReplicaDump, TransactionDump};
use eosim_types::record::{Payload, RecordBatch};
use eosim_types::{Names, TopicPartition};

/// So many appended batches of one step are told.
const BATCHES: usize = 3;

/// Differences with their weights.
pub(crate) type Found = Vec<(u8, String)>;

/// What is different, in the order in which things are held. What followers do after their leaders
/// says little, unless `followers_count`; of a partition that is not `whole`, who leads it and what it
/// loses.
pub(super) fn between(
    before: &ClusterDump,
    now: &ClusterDump,
    names: &Names,
    (followers_count, is_whole): (bool, &dyn Fn(TopicPartition) -> bool),
) -> Found {
    let mut found = Found::new();
    for replica in &now.replicas {
        let same = |old: &&ReplicaDump| old.partition == replica.partition;
        let mut of_this = Found::new();
        match before.replicas.iter().find(same) {
            Some(old) => {
                of_life(old, replica, names, &mut of_this);
                if is_whole(replica.partition) {
                    of_log(old, replica, names, &mut of_this);
                }
            }
            None => of_this.push((3, format!("{} is hosted", names.partition(replica.partition)))),
        }
        if !replica.is_leader && !followers_count {
            of_this.retain(|(weight, _)| *weight >= 4);
        }
        found.extend(of_this);
    }
    for held in &now.transactions {
        let same = |old: &&TransactionDump| is_same(old, held);
        of_transaction(before.transactions.iter().find(same), Some(held), names, &mut found);
    }
    for old in &before.transactions {
        if !now.transactions.iter().any(|held| is_same(old, held)) {
            of_transaction(Some(old), None, names, &mut found);
        }
    }
    of_offsets(&offsets(before), &offsets(now), names, &mut found);
    found
}

fn is_same(one: &TransactionDump, other: &TransactionDump) -> bool {
    (one.transactional_id, one.txn_topic_partition)
        == (other.transactional_id, other.txn_topic_partition)
}

/// Who leads it, and what is gone of it.
fn of_life(old: &ReplicaDump, now: &ReplicaDump, names: &Names, found: &mut Found) {
    let name = names.partition(now.partition);
    if old.is_leader != now.is_leader {
        let role = if now.is_leader { "leads" } else { "no longer leads" };
        let epoch = now.leader_epoch;
        found.push((4, format!("{role} {name}, leader epoch {epoch}")));
    }
    if old.log_start_offset != now.log_start_offset {
        let (from, to) = (old.log_start_offset, now.log_start_offset);
        found.push((4, format!("{name}: log start {from} → {to}")));
    }
    if now.log_end_offset < old.log_end_offset {
        let (from, to) = (old.log_end_offset, now.log_end_offset);
        found.push((5, format!("{name}: log cut from {from} to {to}")));
    }
    let kept =
        |batch: &&RecordBatch| now.batches.iter().any(|b| b.base_offset == batch.base_offset);
    let range = now.log_start_offset..now.log_end_offset;
    let there = old.batches.iter().filter(|batch| range.contains(&batch.base_offset));
    match there.filter(|batch| !kept(batch)).count() {
        0 => {}
        gone => found.push((4, format!("{name}: compacted, {gone} batches fewer"))),
    }
}

/// What it holds.
fn of_log(old: &ReplicaDump, now: &ReplicaDump, names: &Names, found: &mut Found) {
    let name = names.partition(now.partition);
    appended(&name, old, now, names, found);
    for entry in &now.aborted_transactions {
        if !old.aborted_transactions.contains(entry) {
            let (id, first, last) = (entry.producer_id, entry.first_offset, entry.last_offset);
            found.push((4, format!("{name}: index + aborted {first}..{last} of producer id {id}")));
        }
    }
    of_producers(&name, &old.producers, &now.producers, found);
    moved(&name, "high watermark", old.high_watermark, now.high_watermark, 1, found);
    let (from, to) = (old.last_stable_offset, now.last_stable_offset);
    moved(&name, "last stable offset", from, to, 2, found);
}

/// A bound that moves.
pub(crate) fn moved(name: &str, what: &str, from: i64, to: i64, weight: u8, found: &mut Found) {
    if from != to {
        let weight = if to < from { weight + 2 } else { weight };
        found.push((weight, format!("{name}: {what} {from} → {to}")));
    }
}

fn appended(name: &str, old: &ReplicaDump, now: &ReplicaDump, names: &Names, found: &mut Found) {
    let is_new = |batch: &&RecordBatch| batch.base_offset >= old.log_end_offset;
    let new: Vec<&RecordBatch> = now.batches.iter().filter(is_new).collect();
    for batch in new.iter().take(BATCHES) {
        let weight = match (&batch.payload, now.is_leader) {
            (Payload::Control(_), true) => 5,
            (_, true) => 4,
            _ => 1,
        };
        found.push((weight, format!("{name}: + {}", words(batch, names))));
    }
    if new.len() > BATCHES {
        found.push((1, format!("{name}: and {} more batches", new.len() - BATCHES)));
    }
}

/// `[b] at 2 of 0/1, sequence 0`.
pub(crate) fn words(batch: &RecordBatch, names: &Names) -> String {
    let contents = match &batch.payload {
        Payload::Records(records) => {
            let values = records.iter().map(|record| names.value(record.value));
            format!("[{}]", values.collect::<Vec<_>>().join(" "))
        }
        Payload::Control(marker) => format!("{} marker", marker.result.name()),
        _ => format!("{} records", batch.record_count()),
    };
    let (at, id, epoch) = (batch.base_offset, batch.producer_id, batch.producer_epoch);
    format!("{contents} at {at} of {id}/{epoch}")
}

/// What the leader of a partition knows of producers.
pub(crate) fn of_producers(
    name: &str,
    before: &[ProducerState],
    now: &[ProducerState],
    found: &mut Found,
) {
    for entry in now {
        let id = entry.producer_id;
        let same = |old: &&ProducerState| old.producer_id == id;
        let Some(old) = before.iter().find(same) else {
            let epoch = entry.producer_epoch;
            found.push((2, format!("{name}: producer {id} known, epoch {epoch}")));
            continue;
        };
        let parts = [
            part("epoch", i64::from(old.producer_epoch.0), i64::from(entry.producer_epoch.0)),
            part("last sequence", i64::from(old.last_sequence.0), i64::from(entry.last_sequence.0)),
            part("open since", old.current_txn_start_offset, entry.current_txn_start_offset),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            found.push((3, format!("{name}: producer {id} {}", parts.join(", "))));
        }
    }
    for old in before {
        let id = old.producer_id;
        if !now.iter().any(|entry| entry.producer_id == id) {
            let epoch = old.producer_epoch;
            found.push((5, format!("{name}: producer {id} forgotten, epoch was {epoch}")));
        }
    }
}

fn part(what: &str, from: i64, to: i64) -> Option<String> {
    let none = |number: i64| if number == -1 { "none".to_string() } else { number.to_string() };
    (from != to).then(|| format!("{what} {} → {}", none(from), none(to)))
}

/// A transactional id at its coordinator.
pub(crate) fn of_transaction(
    old: Option<&TransactionDump>,
    now: Option<&TransactionDump>,
    names: &Names,
    found: &mut Found,
) {
    let Some(held) = now.or(old) else { return };
    let id = names.transactional_id(held.transactional_id);
    let (Some(old), Some(now)) = (old, now) else {
        let (state, of) = (held.state.name(), (held.producer_id, held.producer_epoch));
        let what = if now.is_some() { "known as" } else { "no longer held, was" };
        found.push((4, format!("transaction {id}: {what} {state} {}/{}", of.0, of.1)));
        return;
    };
    let mut parts = Vec::new();
    if old.state != now.state {
        parts.push(format!("{} → {}", old.state.name(), now.state.name()));
    }
    if old.pending_state != now.pending_state
        && let Some(pending) = now.pending_state
    {
        parts.push(format!("{} is being written", pending.name()));
    }
    if let (Some(pending), None) = (old.pending_state, now.pending_state)
        && now.state != pending
    {
        parts.push(format!("{} could not be written", pending.name()));
    }
    parts.extend(part("producer id", old.producer_id.0, now.producer_id.0));
    let epochs = (i64::from(old.producer_epoch.0), i64::from(now.producer_epoch.0));
    parts.extend(part("epoch", epochs.0, epochs.1));
    for partition in now.partitions.iter().filter(|tp| !old.partitions.contains(tp)) {
        parts.push(format!("+ {}", names.partition(*partition)));
    }
    for partition in old.partitions.iter().filter(|tp| !now.partitions.contains(tp)) {
        parts.push(format!("- {}", names.partition(*partition)));
    }
    if !parts.is_empty() {
        let begins = now.pending_state.is_some() && old.pending_state.is_none();
        let fails = old.pending_state.is_some() && now.pending_state.is_none();
        let weight = match (old.state == now.state, begins || fails) {
            (false, _) => 5,
            (true, true) => 4,
            (true, false) => 3,
        };
        found.push((weight, format!("transaction {id}: {}", parts.join(", "))));
    }
}

fn offsets(dump: &ClusterDump) -> Vec<OffsetDump> {
    dump.coordinators.iter().flat_map(|held| held.offsets.iter().copied()).collect()
}

/// The offsets that a group coordinator holds.
pub(crate) fn of_offsets(old: &[OffsetDump], new: &[OffsetDump], names: &Names, found: &mut Found) {
    let words = |entry: &OffsetDump| {
        let (group, partition) = (names.group(entry.group), names.partition(entry.partition));
        let pending = match entry.producer_id.0 {
            -1 => String::new(),
            id => format!(", pending in a transaction of producer id {id}"),
        };
        format!("group {group} at {} of {partition}{pending}", entry.offset)
    };
    found.extend(
        new.iter().filter(|entry| !old.contains(entry)).map(|e| (4, format!("+ {}", words(e)))),
    );
    let is_gone = |entry: &&OffsetDump| {
        let replaced = |e: &OffsetDump| {
            (e.group, e.partition, e.producer_id)
                == (entry.group, entry.partition, entry.producer_id)
        };
        !new.iter().any(replaced)
    };
    let weight = |entry: &OffsetDump| if entry.producer_id.0 == -1 { 5 } else { 4 };
    found.extend(old.iter().filter(is_gone).map(|e| (weight(e), format!("- {}", words(e)))));
}
