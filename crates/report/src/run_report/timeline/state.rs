//! How everything stands before the first step of a timeline, and what is new after each.
//!
//! `[step, actor, what, …]`; what came before the first step is told as of step 0, without what was
//! overtaken since. Of an internal topic nothing is told before it holds anything.

use std::collections::{BTreeMap, BTreeSet};

use eosim_types::look::{ClientStanding, ReplicaStanding, Turn, Turned};
use eosim_types::observation::{OffsetDump, TransactionDump};
use eosim_types::record::{AbortedTxn, Payload, RecordBatch};
use eosim_types::{ActorId, Names, TopicPartition};

use super::super::RunReport;
use super::Window;
use crate::json::{Object, list, string};

/// So many batches of a log are told of what came before.
const BEFORE: usize = 40;

/// What a batch holds is told up to so many characters.
const LABEL: usize = 40;

/// What is told so far.
struct Told<'a> {
    names: &'a Names,
    partitions: BTreeMap<TopicPartition, usize>,
    batches: BTreeMap<String, usize>,
    turns: Vec<String>,
}

/// Adds partitions, batches and turns to `text`.
pub(super) fn state(run: &RunReport, window: &Window, text: Object) -> Object {
    let (first, last) = window.steps(run);
    let used = used(run);
    let of_interest = run.turns.iter().filter(|turn| is_of_interest(turn, &used));
    let (before, rest): (Vec<&Turn>, Vec<&Turn>) =
        of_interest.take_while(|turn| turn.step <= last).partition(|turn| turn.step < first);
    let mut told = Told {
        names: &run.names,
        partitions: used.iter().copied().zip(0..).collect(),
        batches: BTreeMap::new(),
        turns: Vec::new(),
    };
    for turn in standing(&before) {
        told.add(0, turn);
    }
    for turn in rest {
        told.add(turn.step, turn);
    }
    let partition = |partition: &TopicPartition| {
        let is_internal = u8::from(partition.topic.is_internal());
        format!("[{},{is_internal}]", string(&run.names.partition(*partition)))
    };
    let mut batches: Vec<(usize, String)> =
        told.batches.into_iter().map(|(batch, place)| (place, batch)).collect();
    batches.sort_unstable();
    text.raw("partitions", list(used.iter().map(partition)))
        .raw("batches", list(batches.into_iter().map(|(_, batch)| batch)))
        .raw("turns", list(told.turns))
}

/// Partitions of applications, and those of internal topics that hold anything.
fn used(run: &RunReport) -> BTreeSet<TopicPartition> {
    let mut used = BTreeSet::new();
    for turn in &run.turns {
        match &turn.what {
            Turned::Appended(partition, _) => {
                used.insert(*partition);
            }
            Turned::Replica(partition, _) if !partition.topic.is_internal() => {
                used.insert(*partition);
            }
            _ => {}
        }
    }
    used
}

fn partition_of(turn: &Turn) -> Option<TopicPartition> {
    match &turn.what {
        Turned::Replica(partition, _)
        | Turned::Gone(partition)
        | Turned::Cut(partition, _)
        | Turned::Trimmed(partition, _)
        | Turned::Dropped(partition, _)
        | Turned::Replaced(partition, _)
        | Turned::Appended(partition, _)
        | Turned::Producers(partition, _)
        | Turned::Aborted(partition, _)
        | Turned::Index(partition, _) => Some(*partition),
        Turned::Transaction(..) | Turned::Offsets(_) | Turned::Client(_) => None,
    }
}

fn is_of_interest(turn: &Turn, used: &BTreeSet<TopicPartition>) -> bool {
    partition_of(turn).is_none_or(|partition| used.contains(&partition))
}

/// Of `before`, what still stands: the last of everything, and the ends of logs.
fn standing<'a>(before: &[&'a Turn]) -> Vec<&'a Turn> {
    let mut logs: BTreeMap<(ActorId, TopicPartition), Vec<&'a Turn>> = BTreeMap::new();
    let mut last: BTreeMap<(ActorId, u8, String), &'a Turn> = BTreeMap::new();
    for &turn in before {
        let of = |held: &Turn| (held.actor, partition_of(held)) == (turn.actor, partition_of(turn));
        if let Some(partition) = partition_of(turn) {
            of_log(turn, logs.entry((turn.actor, partition)).or_default());
        }
        match &turn.what {
            Turned::Gone(_) => last.retain(|_, held| !of(held)),
            Turned::Index(..) => {
                last.retain(|_, held| !(matches!(held.what, Turned::Aborted(..)) && of(held)));
            }
            _ => {}
        }
        if let Some((kind, name)) = key_of(&turn.what) {
            last.insert((turn.actor, kind, name), turn);
        }
    }
    let ends = logs.into_values().flat_map(|log| {
        let from = log.len().saturating_sub(BEFORE);
        log.into_iter().skip(from)
    });
    ends.chain(last.into_values()).collect()
}

/// What is left of a log, by the turns that tell its batches, after `turn`.
fn of_log<'a>(turn: &'a Turn, log: &mut Vec<&'a Turn>) {
    match &turn.what {
        Turned::Gone(_) => log.clear(),
        Turned::Cut(_, end) => log.retain(|turn| base_offset(turn) < *end),
        Turned::Trimmed(_, start) => log.retain(|turn| base_offset(turn) >= *start),
        Turned::Dropped(_, bases) => log.retain(|turn| !bases.contains(&base_offset(turn))),
        Turned::Replaced(..) => {
            let place = log.iter_mut().find(|held| base_offset(held) == base_offset(turn));
            *place.expect("it was told") = turn;
        }
        Turned::Appended(..) => log.push(turn),
        _ => {}
    }
}

fn base_offset(turn: &Turn) -> i64 {
    match &turn.what {
        Turned::Appended(_, batch) | Turned::Replaced(_, batch) => batch.base_offset,
        _ => i64::MAX,
    }
}

/// What takes the place of what, besides logs.
fn key_of(what: &Turned) -> Option<(u8, String)> {
    Some(match what {
        Turned::Replica(partition, _) => (0, format!("{partition:?}")),
        Turned::Producers(partition, _) => (1, format!("{partition:?}")),
        Turned::Index(partition, _) => (2, format!("{partition:?}")),
        Turned::Aborted(partition, entry) => (3, format!("{partition:?} {}", entry.last_offset)),
        Turned::Transaction(id, _) => (4, id.to_string()),
        Turned::Offsets(_) => (5, String::new()),
        Turned::Client(_) => (6, String::new()),
        _ => return None,
    })
}

impl Told<'_> {
    fn add(&mut self, step: u64, turn: &Turn) {
        let place =
            partition_of(turn).and_then(|partition| self.partitions.get(&partition).copied());
        let place = place.unwrap_or(0);
        let what = match &turn.what {
            Turned::Replica(_, now) => format!("\"r\",{place},{}", replica(now)),
            Turned::Gone(_) => format!("\"g\",{place}"),
            Turned::Cut(_, end) => format!("\"c\",{place},{end}"),
            Turned::Trimmed(_, start) => format!("\"s\",{place},{start}"),
            Turned::Dropped(_, bases) => {
                format!("\"d\",{place},{}", list(bases.iter().map(i64::to_string)))
            }
            Turned::Replaced(_, batch) if step > 0 => {
                format!("\"u\",{place},{}", self.batch(batch))
            }
            Turned::Appended(_, batch) | Turned::Replaced(_, batch) => {
                format!("\"b\",{place},{}", self.batch(batch))
            }
            Turned::Producers(_, producers) => {
                let one = |held: &eosim_types::message::ProducerState| {
                    let (id, epoch) = (held.producer_id, held.producer_epoch);
                    let (last, open) = (held.last_sequence, held.current_txn_start_offset);
                    format!("[{id},{epoch},{last},{open}]")
                };
                format!("\"p\",{place},{}", list(producers.iter().map(one)))
            }
            Turned::Aborted(_, entry) => format!("\"x\",{place},{}", aborted(entry)),
            Turned::Index(_, all) => {
                let all = all.iter().map(|entry| format!("[{}]", aborted(entry)));
                format!("\"i\",{place},{}", list(all))
            }
            Turned::Transaction(id, now) => {
                let name = string(self.names.transactional_id(*id));
                let now = now.as_ref().map(|now| self.transaction(now));
                format!("\"t\",{name},{}", now.unwrap_or_else(|| "null".to_string()))
            }
            Turned::Offsets(offsets) => {
                format!("\"o\",{}", list(offsets.iter().map(|one| self.offset(one))))
            }
            Turned::Client(client) => format!("\"k\",{}", string(&self.client(client))),
        };
        self.turns.push(format!("[{step},{},{what}]", turn.actor));
    }

    /// The place of the batch among those that were told; the same at followers as at leaders.
    fn batch(&mut self, batch: &RecordBatch) -> usize {
        let kind = match &batch.payload {
            Payload::Control(marker) => marker.result.name(),
            Payload::EmptyControl => "control",
            _ if batch.is_transactional => "transactional",
            _ => "plain",
        };
        let text = format!(
            "[{},{},{},{},{},{},{},{}]",
            batch.base_offset,
            batch.last_offset(),
            string(kind),
            string(&self.label(batch)),
            batch.producer_id,
            batch.producer_epoch,
            batch.base_sequence,
            batch.partition_leader_epoch
        );
        let next = self.batches.len();
        *self.batches.entry(text).or_insert(next)
    }

    fn label(&self, batch: &RecordBatch) -> String {
        let label = match &batch.payload {
            Payload::Records(records) => {
                let values = records.iter().map(|record| self.names.value(record.value));
                values.collect::<Vec<_>>().join(" ")
            }
            Payload::Control(marker) => marker.result.name().to_string(),
            Payload::TransactionLog(records) => {
                let one = |record: &eosim_types::record::TransactionLogRecord| {
                    let id = self.names.transactional_id(record.transactional_id);
                    let status = record.value.as_ref().map(|value| value.transaction_status.name());
                    format!("{id} {}", status.unwrap_or("gone"))
                };
                records.iter().map(one).collect::<Vec<_>>().join(", ")
            }
            Payload::OffsetCommits(_) => format!("{} offsets", batch.record_count()),
            Payload::GroupLog(_) => format!("{} of groups", batch.record_count()),
            Payload::EmptyControl | Payload::Corrupt => String::new(),
        };
        match label.char_indices().nth(LABEL) {
            Some((end, _)) => format!("{}…", &label[..end]),
            None => label,
        }
    }

    fn transaction(&self, held: &TransactionDump) -> String {
        let pending = held.pending_state.map_or("", |state| state.name());
        let partitions = held.partitions.iter().map(|tp| string(&self.names.partition(*tp)));
        format!(
            "[{},{},{},{},{}]",
            string(held.state.name()),
            string(pending),
            held.producer_id,
            held.producer_epoch,
            list(partitions)
        )
    }

    fn offset(&self, held: &OffsetDump) -> String {
        let group = string(self.names.group(held.group));
        let partition = string(&self.names.partition(held.partition));
        format!("[{group},{partition},{},{}]", held.offset, held.producer_id)
    }

    /// `IN_TRANSACTION 0/3, transaction 0.4`, and where its consumer stands.
    fn client(&self, client: &ClientStanding) -> String {
        let mut parts = Vec::new();
        if let Some(producer) = &client.producer {
            let state = producer.state.unwrap_or("no idempotence");
            let (id, epoch) = (producer.producer_id, producer.producer_epoch);
            parts.push(if id.0 < 0 { state.to_string() } else { format!("{state} {id}/{epoch}") });
            if let Some(open) = producer.transaction {
                parts.push(format!("transaction {}.{}", open.session, open.number));
            }
        }
        for (partition, position) in client.consumer.iter().flatten() {
            let at = position.map_or_else(|| "?".to_string(), |at| at.to_string());
            parts.push(format!("{}@{at}", self.names.partition(*partition)));
        }
        if client.is_finished && client.consumer.is_none() {
            parts.push("finished".to_string());
        }
        parts.join(", ")
    }
}

/// `producer id, first offset, last offset`.
fn aborted(entry: &AbortedTxn) -> String {
    format!("{},{},{}", entry.producer_id, entry.first_offset, entry.last_offset)
}

/// `leads, is hosted, leader epoch, ISR, log start, high watermark, last stable, log end`.
fn replica(now: &ReplicaStanding) -> String {
    let (leads, hosted) = (u8::from(now.is_leader), u8::from(now.is_hosted));
    let isr = list(now.isr.iter().map(ToString::to_string));
    let [start, watermark, stable, end] = now.offsets;
    format!("{leads},{hosted},{},{isr},{start},{watermark},{stable},{end}", now.leader_epoch)
}
