//! What brokers hold, as lines.

use eosim_types::group_log::GroupLogRecord;
use eosim_types::observation::{ClusterDump, OffsetDump, ReplicaDump, TransactionDump};
use eosim_types::record::{
    OffsetCommitRecord, Payload, RecordBatch, TransactionLogRecord, TransactionLogValue,
    TransactionResult, TransactionState,
};
use eosim_types::{Names, TopicPartition};

use super::super::event::{Event, Stamp};
use super::super::log::{
    AbortedEntry, Batch, EndTxnMarker, HeldOffset, Logged, LoggedOffset, LoggedState,
    LoggedTransaction, ProducerEntry, Remembered, TransactionEntry,
};
use super::super::word::{Epoch, Marker, Name, Number, Offset, Partition, State, Tagged};
use super::group::membership;
use super::{Writer, micros, partition};

impl<'a> Writer<'a> {
    /// A dump, in which batches that were in the dump before are left out.
    pub(super) fn dump(&mut self, dump: &'a ClusterDump) {
        let stamp = Stamp { at_us: Some(micros(dump.at)), at_ms: None, step: None };
        self.line(stamp, Event::Dump { healed: dump.healed });
        for replica in &dump.replicas {
            let key = (replica.broker, replica.partition);
            let before = self.before.insert(key, &replica.batches).unwrap_or_default();
            let same = before.iter().zip(&replica.batches).take_while(|(a, b)| a == b).count();
            let below = replica.batches[..same].last().map(RecordBatch::next_offset);
            self.now(replica_line(&self.setup.names, replica, below));
            for batch in &replica.batches[same..] {
                let batch = batch_line(&self.setup.names, batch);
                self.now(Event::Batch(Box::new(batch)));
            }
        }
        for held in &dump.transactions {
            let entry = transaction(&self.setup.names, held);
            self.now(Event::Transaction(Box::new(entry)));
        }
        for coordinator in &dump.coordinators {
            let names = &self.setup.names;
            let offsets = coordinator.offsets.iter().map(|held| held_offset(names, held));
            let event = Event::Coordinator {
                broker: Number(coordinator.broker.0),
                partition: partition(names, coordinator.partition),
                leader_epoch: coordinator.leader_epoch.0,
                offsets: offsets.collect(),
            };
            self.now(event);
        }
    }
}

fn replica_line(names: &Names, replica: &ReplicaDump, unchanged_below: Option<i64>) -> Event {
    let unseen = replica.unseen;
    let aborted = replica.aborted_transactions.iter().map(|entry| AbortedEntry {
        producer_id: Offset(entry.producer_id.0),
        first_offset: Offset(entry.first_offset),
        last_offset: Offset(entry.last_offset),
        last_stable_offset: Offset(entry.last_stable_offset),
    });
    Event::Replica {
        broker: Number(replica.broker.0),
        partition: partition(names, replica.partition),
        is_leader: replica.is_leader,
        leader_epoch: replica.leader_epoch.0,
        is_down: !replica.is_hosted,
        log_start_offset: Some(Offset(replica.log_start_offset)),
        high_watermark: (!unseen.bounds).then_some(Offset(replica.high_watermark)),
        last_stable_offset: (!unseen.bounds).then_some(Offset(replica.last_stable_offset)),
        log_end_offset: Some(Offset(replica.log_end_offset)),
        unchanged_below: unchanged_below.map(Offset),
        aborted_transactions: (!unseen.aborted_transactions).then(|| aborted.collect()),
        producers: (!unseen.producers).then(|| producers(replica)),
    }
}

fn producers(replica: &ReplicaDump) -> Vec<ProducerEntry> {
    let entries = replica.producers.iter().map(|state| {
        let own = replica.remembered.iter().filter(|(id, _)| *id == state.producer_id);
        let own = own.map(|(_, batch)| Remembered {
            last_sequence: Number(batch.last_sequence.0),
            last_offset: Offset(batch.last_offset),
            offset_delta: Number(batch.offset_delta),
        });
        ProducerEntry {
            producer_id: Offset(state.producer_id.0),
            producer_epoch: Epoch(state.producer_epoch.0),
            last_sequence: Number(state.last_sequence.0),
            last_timestamp_ms: Tagged(state.last_timestamp),
            coordinator_epoch: Number(state.coordinator_epoch.0),
            current_transaction_start_offset: Tagged(state.current_txn_start_offset),
            batches: (!replica.unseen.remembered).then(|| own.collect()),
        }
    });
    entries.collect()
}

fn batch_line(names: &Names, batch: &RecordBatch) -> Batch {
    let empty = Batch {
        base_offset: Offset(batch.base_offset),
        last_offset: Some(Offset(batch.last_offset())),
        partition_leader_epoch: batch.partition_leader_epoch.0,
        producer_id: Tagged(batch.producer_id.0),
        producer_epoch: Epoch(batch.producer_epoch.0),
        base_sequence: Number(batch.base_sequence.0),
        is_transactional: batch.is_transactional,
        max_timestamp_ms: Tagged(batch.max_timestamp),
        records: None,
        end_txn_marker: None,
        is_removed_marker: false,
        transactions: None,
        offsets: None,
        is_group_log: false,
    };
    match &batch.payload {
        Payload::Records(records) => {
            let records = records.iter().map(|of| Logged::Next(Name(names.value_as_is(of.value))));
            Batch { records: Some(records.collect()), ..empty }
        }
        Payload::Control(marker) => {
            let result = match marker.result {
                TransactionResult::Commit => Marker::Commit,
                TransactionResult::Abort => Marker::Abort,
            };
            let coordinator_epoch = marker.coordinator_epoch.0;
            Batch { end_txn_marker: Some(EndTxnMarker { result, coordinator_epoch }), ..empty }
        }
        Payload::EmptyControl | Payload::Corrupt => Batch { is_removed_marker: true, ..empty },
        Payload::TransactionLog(records) => {
            let records = records.iter().map(|record| logged_transaction(names, record));
            Batch { transactions: Some(records.collect()), ..empty }
        }
        Payload::OffsetCommits(records) => {
            let records = records.iter().map(|record| logged_offset(names, Some(record)));
            Batch { offsets: Some(records.collect()), ..empty }
        }
        Payload::GroupLog(records) => {
            let records = records.iter().map(|record| logged_group(names, record)).collect();
            Batch { offsets: Some(records), is_group_log: true, ..empty }
        }
    }
}

fn logged_transaction(names: &Names, record: &TransactionLogRecord) -> LoggedTransaction {
    LoggedTransaction {
        transactional_id: Name(names.transactional_id(record.transactional_id).into()),
        value: record.value.as_ref().map(|value| logged_state(names, value)),
    }
}

fn logged_state(names: &Names, value: &TransactionLogValue) -> LoggedState {
    let partitions = value.transaction_partitions.as_deref();
    LoggedState {
        version: Epoch(value.version),
        producer_id: Tagged(value.producer_id.0),
        previous_producer_id: Tagged(value.previous_producer_id.0),
        next_producer_id: Tagged(value.next_producer_id.0),
        producer_epoch: Epoch(value.producer_epoch.0),
        last_producer_epoch: Epoch(value.last_producer_epoch.0),
        transaction_timeout_ms: Number(value.transaction_timeout_ms),
        transaction_status: state(value.transaction_status),
        transaction_partitions: partitions.map(|list| all(names, list)),
        last_update_timestamp_ms: Tagged(value.last_update_timestamp_ms),
        start_timestamp_ms: Tagged(value.start_timestamp_ms),
        client_transaction_version: Epoch(value.client_transaction_version),
    }
}

fn logged_group(names: &Names, record: &GroupLogRecord) -> LoggedOffset {
    if let GroupLogRecord::OffsetCommit(record) = record {
        return logged_offset(names, Some(record));
    }
    let said = membership(names, record);
    LoggedOffset {
        group: said.as_ref().map(|(group, _)| Name(names.group(*group).into())),
        membership: said.map(|(_, membership)| membership),
        ..logged_offset(names, None)
    }
}

fn logged_offset(names: &Names, record: Option<&OffsetCommitRecord>) -> LoggedOffset {
    LoggedOffset {
        group: record.map(|record| Name(names.group(record.group).into())),
        partition: record.map(|record| partition(names, record.partition)),
        offset: record.and_then(|record| record.offset).map(Offset),
        leader_epoch: Number(record.map_or(-1, |record| record.leader_epoch.0)),
        commit_timestamp_ms: Tagged(record.map_or(-1, |record| record.commit_timestamp_ms)),
        membership: None,
    }
}

fn transaction(names: &Names, held: &TransactionDump) -> TransactionEntry {
    TransactionEntry {
        broker: Number(held.broker.0),
        coordinator_epoch: held.coordinator_epoch.0,
        txn_topic_partition: Number(held.txn_topic_partition),
        transactional_id: Name(names.transactional_id(held.transactional_id).into()),
        producer_id: Tagged(held.producer_id.0),
        previous_producer_id: Tagged(held.previous_producer_id.0),
        next_producer_id: Tagged(held.next_producer_id.0),
        producer_epoch: Epoch(held.producer_epoch.0),
        last_producer_epoch: Epoch(held.last_producer_epoch.0),
        transaction_timeout_ms: Number(held.transaction_timeout_ms),
        state: state(held.state),
        pending_state: held.pending_state.map(state),
        partitions: all(names, &held.partitions),
        start_timestamp_ms: Tagged(held.start_timestamp_ms),
        last_update_timestamp_ms: Tagged(held.last_update_timestamp_ms),
        client_transaction_version: Epoch(held.client_transaction_version),
    }
}

fn held_offset(names: &Names, held: &OffsetDump) -> HeldOffset {
    HeldOffset {
        producer_id: Tagged(held.producer_id.0),
        group: Name(names.group(held.group).into()),
        partition: partition(names, held.partition),
        offset: Offset(held.offset),
    }
}

fn all(names: &Names, list: &[TopicPartition]) -> Vec<Partition> {
    list.iter().map(|of| partition(names, *of)).collect()
}

const fn state(state: TransactionState) -> State {
    match state {
        TransactionState::Empty => State::Empty,
        TransactionState::Ongoing => State::Ongoing,
        TransactionState::PrepareCommit => State::PrepareCommit,
        TransactionState::PrepareAbort => State::PrepareAbort,
        TransactionState::CompleteCommit => State::CompleteCommit,
        TransactionState::CompleteAbort => State::CompleteAbort,
        TransactionState::Dead => State::Dead,
        TransactionState::PrepareEpochFence => State::PrepareEpochFence,
    }
}
