//! Lines about what brokers hold, gathered into dumps.

use std::collections::BTreeMap;

use eosim_types::message::ProducerState;
use eosim_types::observation::{
    ClusterDump, CoordinatorDump, OffsetDump, RememberedBatch, ReplicaDump, TransactionDump, Unseen,
};
use eosim_types::record::{AbortedTxn, RecordBatch};
use eosim_types::{
    BrokerId, CoordinatorEpoch, Instant, LeaderEpoch, ProducerEpoch, ProducerId, Sequence,
    TopicPartition,
};

use super::super::event::Event;
use super::super::log::{AbortedEntry, Batch, HeldOffset, ProducerEntry, TransactionEntry};
use super::batch::{batches, partitions, state};
use super::{Complaint, Known, complaint};

/// Dumps, the one that is being read and what is needed of those before.
#[derive(Default)]
pub(super) struct Dumps {
    open: Option<ClusterDump>,
    /// The newest batches of each replica.
    before: BTreeMap<(BrokerId, TopicPartition), Vec<RecordBatch>>,
    /// The replica that is being read did not say where its log starts.
    start_is_unknown: bool,
}

impl Dumps {
    /// Is `event` a part of a dump?
    pub(super) fn is_part(event: &Event) -> bool {
        matches!(
            event,
            Event::Replica { .. }
                | Event::Batch(_)
                | Event::Transaction(_)
                | Event::Coordinator { .. }
        )
    }

    /// A dump begins.
    pub(super) fn open(&mut self, at: Instant, healed: bool) {
        self.open = Some(ClusterDump { at, healed, ..ClusterDump::default() });
    }

    /// It is whole.
    pub(super) fn close(&mut self) -> Option<ClusterDump> {
        let dump = self.open.take()?;
        for replica in &dump.replicas {
            self.before.insert((replica.broker, replica.partition), replica.batches.clone());
        }
        Some(dump)
    }

    /// Adds a part to the open dump.
    pub(super) fn add(&mut self, known: &mut Known, event: Event) -> Result<(), Complaint> {
        let Some(dump) = &mut self.open else {
            let found = "a part of a dump";
            return Err(complaint("event", found, "a line with \"event\": \"dump\" before it"));
        };
        match event {
            event @ Event::Replica { .. } => {
                self.start_is_unknown =
                    matches!(event, Event::Replica { log_start_offset: None, .. });
                let replica = replica(known, &self.before, event)?;
                dump.replicas.push(replica);
            }
            Event::Batch(batch) => {
                let Some(replica) = dump.replicas.last_mut() else {
                    let expected = "a line with \"event\": \"replica\" before it";
                    return Err(complaint("event", "a batch of no replica", expected));
                };
                if self.start_is_unknown && replica.batches.is_empty() && batch.base_offset.0 > 0 {
                    replica.log_start_offset = batch.base_offset.0;
                    known.head_is_unknown(replica.partition.topic);
                }
                append(known, replica, *batch)?;
            }
            Event::Transaction(entry) => dump.transactions.push(transaction(known, &entry)?),
            Event::Coordinator { broker, partition, leader_epoch, offsets } => {
                let offsets = offsets.iter().enumerate();
                let offsets = offsets.map(|(at, held)| held_offset(known, at, held));
                dump.coordinators.push(CoordinatorDump {
                    broker: BrokerId(broker.0),
                    partition: known.partition("partition", &partition)?,
                    leader_epoch: LeaderEpoch(leader_epoch),
                    offsets: offsets.collect::<Result<_, _>>()?,
                });
            }
            _ => unreachable!("only for parts of a dump"),
        }
        Ok(())
    }
}

fn replica(
    known: &Known,
    before: &BTreeMap<(BrokerId, TopicPartition), Vec<RecordBatch>>,
    event: Event,
) -> Result<ReplicaDump, Complaint> {
    let Event::Replica {
        broker,
        partition,
        is_leader,
        leader_epoch,
        is_down,
        log_start_offset,
        high_watermark,
        last_stable_offset,
        log_end_offset,
        unchanged_below,
        aborted_transactions,
        producers,
    } = event
    else {
        unreachable!("only for a replica")
    };
    let (broker, partition) = (BrokerId(broker.0), known.partition("partition", &partition)?);
    let bound = unchanged_below.map_or(0, |bound| bound.0);
    let same = before.get(&(broker, partition)).into_iter().flatten();
    let batches: Vec<RecordBatch> =
        same.take_while(|batch| batch.next_offset() <= bound).cloned().collect();
    let log_start_offset = log_start_offset.map_or(0, |offset| offset.0);
    let end = batches.last().map_or(log_start_offset, RecordBatch::next_offset);
    let log_end_offset = log_end_offset.map_or(end, |offset| offset.0);
    let list = producers.as_deref().unwrap_or_default();
    let unseen = Unseen {
        bounds: high_watermark.is_none() || last_stable_offset.is_none(),
        aborted_transactions: aborted_transactions.is_none(),
        producers: producers.is_none(),
        remembered: producers.is_none() || list.iter().any(|entry| entry.batches.is_none()),
    };
    Ok(ReplicaDump {
        broker,
        partition,
        is_leader,
        leader_epoch: LeaderEpoch(leader_epoch),
        is_hosted: !is_down,
        log_start_offset,
        high_watermark: high_watermark.map_or(log_end_offset, |offset| offset.0),
        last_stable_offset: last_stable_offset.map_or(log_end_offset, |offset| offset.0),
        log_end_offset,
        batches,
        aborted_transactions: aborted_transactions.iter().flatten().map(aborted).collect(),
        producers: list.iter().map(producer).collect(),
        remembered: list.iter().flat_map(remembered).collect(),
        unseen,
    })
}

fn aborted(entry: &AbortedEntry) -> AbortedTxn {
    AbortedTxn {
        producer_id: ProducerId(entry.producer_id.0),
        first_offset: entry.first_offset.0,
        last_offset: entry.last_offset.0,
        last_stable_offset: entry.last_stable_offset.0,
    }
}

fn producer(entry: &ProducerEntry) -> ProducerState {
    ProducerState {
        producer_id: ProducerId(entry.producer_id.0),
        producer_epoch: ProducerEpoch(entry.producer_epoch.0),
        last_sequence: Sequence(entry.last_sequence.0),
        last_timestamp: entry.last_timestamp_ms.0,
        coordinator_epoch: CoordinatorEpoch(entry.coordinator_epoch.0),
        current_txn_start_offset: entry.current_transaction_start_offset.0,
    }
}

fn remembered(entry: &ProducerEntry) -> Vec<(ProducerId, RememberedBatch)> {
    let batches = entry.batches.iter().flatten();
    let batches = batches.map(|batch| RememberedBatch {
        last_sequence: Sequence(batch.last_sequence.0),
        last_offset: batch.last_offset.0,
        offset_delta: batch.offset_delta.0,
    });
    batches.map(|batch| (ProducerId(entry.producer_id.0), batch)).collect()
}

/// Appends `batch` to `replica`, which it must lie behind.
fn append(known: &mut Known, replica: &mut ReplicaDump, batch: Batch) -> Result<(), Complaint> {
    let end = replica.batches.last().map_or(0, RecordBatch::next_offset);
    if batch.base_offset.0 < end {
        let found = batch.base_offset.0.to_string();
        return Err(complaint("base_offset", found, format!("at least {end}, behind the last")));
    }
    replica.batches.extend(batches(known, batch)?);
    let end = replica.batches.last().map_or(0, RecordBatch::next_offset);
    replica.log_end_offset = replica.log_end_offset.max(end);
    if replica.unseen.bounds {
        replica.high_watermark = replica.log_end_offset;
        replica.last_stable_offset = replica.log_end_offset;
    }
    Ok(())
}

fn transaction(known: &Known, entry: &TransactionEntry) -> Result<TransactionDump, Complaint> {
    Ok(TransactionDump {
        broker: BrokerId(entry.broker.0),
        coordinator_epoch: CoordinatorEpoch(entry.coordinator_epoch),
        txn_topic_partition: entry.txn_topic_partition.0,
        transactional_id: known.transactional_id("transactional_id", &entry.transactional_id)?,
        producer_id: ProducerId(entry.producer_id.0),
        previous_producer_id: ProducerId(entry.previous_producer_id.0),
        next_producer_id: ProducerId(entry.next_producer_id.0),
        producer_epoch: ProducerEpoch(entry.producer_epoch.0),
        last_producer_epoch: ProducerEpoch(entry.last_producer_epoch.0),
        transaction_timeout_ms: entry.transaction_timeout_ms.0,
        state: state(entry.state),
        pending_state: entry.pending_state.map(state),
        partitions: partitions(known, "partitions", &entry.partitions)?,
        start_timestamp_ms: entry.start_timestamp_ms.0,
        last_update_timestamp_ms: entry.last_update_timestamp_ms.0,
        client_transaction_version: entry.client_transaction_version.0,
    })
}

fn held_offset(known: &Known, at: usize, held: &HeldOffset) -> Result<OffsetDump, Complaint> {
    Ok(OffsetDump {
        producer_id: ProducerId(held.producer_id.0),
        group: known.group(&format!("offsets[{at}].group"), &held.group)?,
        partition: known.partition(&format!("offsets[{at}].partition"), &held.partition)?,
        offset: held.offset.0,
    })
}
