//! Hand-made histories: a tiny cluster in which every step is written by the test, so that each
//! can be left out, doubled or done wrongly.
//!
//! The convenient steps (`write`, `commit`, `read`, …) are sound; a test breaks something by using
//! the small ones, or by changing the dump.

use std::collections::BTreeMap;

use eosim_types::group_log::GroupLogRecord;
use eosim_types::message::{IsolationLevel, ProducerState};
use eosim_types::observation::{
    ClusterDump, CoordinatorDump, EndOutcome, Observation, Observed, RememberedBatch, ReplicaDump,
    SendOutcome, TransactionDump, TransactionRef, Unseen,
};
use eosim_types::record::{
    AbortedTxn, EndTransactionMarker, OffsetCommitRecord, Payload, Record, RecordBatch,
    TransactionResult, TransactionState,
};
use eosim_types::{
    ActorId, BrokerId, CoordinatorEpoch, ErrorCode, GroupId, Instant, LeaderEpoch, ProducerEpoch,
    ProducerId, Sequence, Topic, TopicPartition, TransactionalId, Value,
};

use crate::{Anomaly, Checker, CheckerSetup};

pub(crate) const P0: TopicPartition = TopicPartition::new(Topic(2), 0);
pub(crate) const P1: TopicPartition = TopicPartition::new(Topic(2), 1);
pub(crate) const OFFSETS: TopicPartition = TopicPartition::new(Topic::CONSUMER_OFFSETS, 0);
pub(crate) const GROUP: GroupId = GroupId(1);
pub(crate) const ID: TransactionalId = TransactionalId(1);
pub(crate) const COMMIT: TransactionResult = TransactionResult::Commit;
pub(crate) const ABORT: TransactionResult = TransactionResult::Abort;
pub(crate) const COMMITTED: IsolationLevel = IsolationLevel::ReadCommitted;
pub(crate) const UNCOMMITTED: IsolationLevel = IsolationLevel::ReadUncommitted;

/// A producer session as the test drives it.
#[derive(Clone)]
pub(crate) struct Producer {
    pub(crate) actor: ActorId,
    pub(crate) session: u32,
    pub(crate) id: ProducerId,
    pub(crate) epoch: ProducerEpoch,
    pub(crate) number: u32,
    pub(crate) in_transaction: bool,
    sequences: BTreeMap<TopicPartition, i32>,
}

impl Producer {
    pub(crate) fn transaction(&self) -> TransactionRef {
        TransactionRef { producer: self.actor, session: self.session, number: self.number }
    }
}

/// One partition's log with the state that a live broker would keep.
#[derive(Clone, Default)]
pub(crate) struct Log {
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) aborted: Vec<AbortedTxn>,
    pub(crate) producers: BTreeMap<ProducerId, ProducerState>,
    pub(crate) remembered: Vec<(ProducerId, RememberedBatch)>,
    open: BTreeMap<ProducerId, i64>,
}

impl Log {
    pub(crate) fn end(&self) -> i64 {
        self.batches.last().map_or(0, RecordBatch::next_offset)
    }

    pub(crate) fn stable(&self) -> i64 {
        self.open.values().copied().min().unwrap_or_else(|| self.end())
    }

    /// At most five batches of a producer, kept by producer id and then by age.
    fn remember(&mut self, batch: &RecordBatch) {
        let id = batch.producer_id;
        let of_producer = self.remembered.iter().filter(|(known, _)| *known == id).count();
        let first = self.remembered.partition_point(|(known, _)| *known < id);
        let remembered = RememberedBatch {
            last_sequence: batch.last_sequence(),
            last_offset: batch.last_offset(),
            offset_delta: batch.last_offset_delta,
        };
        self.remembered.insert(first + of_producer, (id, remembered));
        if of_producer == 5 {
            self.remembered.remove(first);
        }
    }

    fn state(&mut self, producer_id: ProducerId) -> &mut ProducerState {
        self.producers.entry(producer_id).or_insert(ProducerState {
            producer_id,
            producer_epoch: ProducerEpoch::NONE,
            last_sequence: Sequence::NONE,
            last_timestamp: -1,
            coordinator_epoch: CoordinatorEpoch::NONE,
            current_txn_start_offset: -1,
        })
    }
}

/// A history in the making.
pub(crate) struct History {
    pub(crate) setup: CheckerSetup,
    pub(crate) observations: Vec<Observation>,
    pub(crate) logs: BTreeMap<TopicPartition, Log>,
    pub(crate) transactions: Vec<TransactionDump>,
    pub(crate) coordinators: Vec<CoordinatorDump>,
    positions: BTreeMap<(u16, TopicPartition), i64>,
    pub(crate) now: Instant,
    next_value: u64,
    next_id: i64,
}

impl History {
    pub(crate) fn new() -> Self {
        let mut setup = CheckerSetup::default();
        setup.names.add_topic("t");
        setup.names.add_transactional_id("id");
        setup.names.add_group("g");
        Self {
            setup,
            observations: Vec::new(),
            logs: BTreeMap::new(),
            transactions: Vec::new(),
            coordinators: Vec::new(),
            positions: BTreeMap::new(),
            now: Instant(1_000_000),
            next_value: 0,
            next_id: 0,
        }
    }

    pub(crate) fn see(&mut self, actor: ActorId, what: Observed) {
        self.now = Instant(self.now.0 + 1000);
        let step = self.observations.len() as u64;
        self.observations.push(Observation { at: self.now, step, actor, what });
    }

    pub(crate) fn log(&mut self, partition: TopicPartition) -> &mut Log {
        self.logs.entry(partition).or_default()
    }

    /// A session that is opened and, with a transactional id, initialized; it gets a fresh id.
    pub(crate) fn producer(&mut self, actor: u16, id: Option<TransactionalId>) -> Producer {
        self.next_id += 1;
        self.session(ActorId(actor), 0, id, (ProducerId(self.next_id - 1), ProducerEpoch(0)))
    }

    /// A session with a given number and identity.
    pub(crate) fn session(
        &mut self,
        actor: ActorId,
        session: u32,
        transactional_id: Option<TransactionalId>,
        (id, epoch): (ProducerId, ProducerEpoch),
    ) -> Producer {
        self.see(actor, Observed::ProducerOpened { session, transactional_id });
        if transactional_id.is_some() {
            self.see(actor, Observed::TransactionsInitialized { session });
        }
        let (number, in_transaction) = (0, false);
        Producer { actor, session, id, epoch, number, in_transaction, sequences: BTreeMap::new() }
    }

    pub(crate) fn begin(&mut self, p: &mut Producer) {
        p.number += 1;
        p.in_transaction = true;
        self.see(p.actor, Observed::TransactionBegun { transaction: p.transaction() });
    }

    /// Calls `send()` with a fresh value.
    pub(crate) fn send(&mut self, p: &Producer, partition: TopicPartition) -> Value {
        self.next_value += 1;
        let value = Value::numbered(u32::from(p.actor.0), self.next_value);
        self.send_value(p, partition, value, None);
        value
    }

    pub(crate) fn send_value(
        &mut self,
        p: &Producer,
        partition: TopicPartition,
        value: Value,
        input: Option<(TopicPartition, i64)>,
    ) {
        let transaction = p.in_transaction.then(|| p.transaction());
        let session = p.session;
        let what = Observed::SendCalled { value, partition, session, transaction, input };
        self.see(p.actor, what);
    }

    /// Appends one batch of `values` in the producer's sequence; its base offset.
    pub(crate) fn append(
        &mut self,
        p: &mut Producer,
        partition: TopicPartition,
        values: &[Value],
    ) -> i64 {
        let record = |&value| Record { value, key: None, value_bytes: 8 };
        let records: Vec<Record> = values.iter().map(record).collect();
        let count = i32::try_from(values.len()).unwrap();
        self.append_payload(p, partition, Payload::Records(records.into()), count)
    }

    /// Appends offsets of the group to `__consumer_offsets`.
    pub(crate) fn append_offset(&mut self, p: &mut Producer, input: TopicPartition, offset: i64) {
        let record = OffsetCommitRecord {
            group: GROUP,
            partition: input,
            offset: Some(offset),
            leader_epoch: LeaderEpoch::NONE,
            commit_timestamp_ms: 0,
        };
        self.append_payload(p, OFFSETS, Payload::OffsetCommits([record].into()), 1);
    }

    /// What a group coordinator writes of members.
    pub(crate) fn append_group(&mut self, records: &[GroupLogRecord]) {
        let log = self.log(OFFSETS);
        log.batches.push(RecordBatch {
            base_offset: log.end(),
            last_offset_delta: i32::try_from(records.len()).unwrap() - 1,
            partition_leader_epoch: LeaderEpoch(0),
            is_transactional: false,
            max_timestamp: 0,
            producer_id: ProducerId::NONE,
            producer_epoch: ProducerEpoch::NONE,
            base_sequence: Sequence::NONE,
            payload: Payload::GroupLog(records.into()),
        });
    }

    fn append_payload(
        &mut self,
        p: &mut Producer,
        partition: TopicPartition,
        payload: Payload,
        count: i32,
    ) -> i64 {
        let sequence = p.sequences.entry(partition).or_insert(0);
        let batch = RecordBatch {
            base_offset: self.logs.entry(partition).or_default().end(),
            last_offset_delta: count - 1,
            partition_leader_epoch: LeaderEpoch(0),
            is_transactional: p.in_transaction,
            max_timestamp: self.now.as_millis(),
            producer_id: p.id,
            producer_epoch: p.epoch,
            base_sequence: Sequence(*sequence),
            payload,
        };
        *sequence += count;
        let log = self.log(partition);
        let base_offset = batch.base_offset;
        if p.in_transaction {
            log.open.entry(p.id).or_insert(base_offset);
        }
        let start = log.open.get(&p.id).copied().unwrap_or(-1);
        let state = log.state(p.id);
        let is_new_epoch = state.producer_epoch != p.epoch;
        state.producer_epoch = p.epoch;
        state.last_sequence = batch.last_sequence();
        state.last_timestamp = batch.max_timestamp;
        state.current_txn_start_offset = start;
        if is_new_epoch {
            log.remembered.retain(|(id, _)| *id != p.id);
        }
        log.remember(&batch);
        log.batches.push(batch);
        base_offset
    }

    pub(crate) fn answer(
        &mut self,
        p: &Producer,
        partition: TopicPartition,
        value: Value,
        outcome: SendOutcome,
    ) {
        self.see(p.actor, Observed::SendAnswered { value, partition, outcome });
    }

    pub(crate) fn acknowledge(
        &mut self,
        p: &Producer,
        partition: TopicPartition,
        value: Value,
        offset: i64,
    ) {
        self.answer(p, partition, value, SendOutcome::Acknowledged { offset: Some(offset) });
    }

    /// Sends, appends and acknowledges one record; its value.
    pub(crate) fn write(&mut self, p: &mut Producer, partition: TopicPartition) -> Value {
        let value = self.send(p, partition);
        let offset = self.append(p, partition, &[value]);
        self.acknowledge(p, partition, value, offset);
        value
    }

    /// Appends a marker of the producer with `epoch`.
    pub(crate) fn marker(
        &mut self,
        id: ProducerId,
        epoch: ProducerEpoch,
        partition: TopicPartition,
        result: TransactionResult,
    ) {
        let now = self.now.as_millis();
        let log = self.log(partition);
        let at = log.end();
        let coordinator_epoch = CoordinatorEpoch(0);
        log.batches.push(RecordBatch {
            base_offset: at,
            last_offset_delta: 0,
            partition_leader_epoch: LeaderEpoch(0),
            is_transactional: true,
            max_timestamp: now,
            producer_id: id,
            producer_epoch: epoch,
            base_sequence: Sequence::NONE,
            payload: Payload::Control(EndTransactionMarker { result, coordinator_epoch }),
        });
        if let Some(first) = log.open.remove(&id)
            && result == TransactionResult::Abort
        {
            let others = log.open.values().copied().min();
            log.aborted.push(AbortedTxn {
                producer_id: id,
                first_offset: first,
                last_offset: at,
                last_stable_offset: others.unwrap_or(at + 1),
            });
        }
        let state = log.state(id);
        let is_new_epoch = state.producer_epoch != epoch;
        if is_new_epoch {
            state.last_sequence = Sequence::NONE;
        }
        state.producer_epoch = epoch;
        state.coordinator_epoch = coordinator_epoch;
        state.last_timestamp = now;
        state.current_txn_start_offset = -1;
        if is_new_epoch {
            log.remembered.retain(|(known, _)| *known != id);
        }
    }

    pub(crate) fn end_called(&mut self, p: &Producer, commit: bool) {
        self.see(p.actor, Observed::EndCalled { transaction: p.transaction(), commit });
    }

    pub(crate) fn end_answered(&mut self, p: &Producer, commit: bool, outcome: EndOutcome) {
        self.see(p.actor, Observed::EndAnswered { transaction: p.transaction(), commit, outcome });
    }

    /// Under version 2 the next epoch ends the transaction and belongs to the next one.
    pub(crate) fn bump(&mut self, p: &mut Producer) {
        p.epoch = p.epoch.next().unwrap();
        p.sequences.clear();
        p.in_transaction = false;
    }

    /// Ends the transaction in `partitions`, in that order, and tells so.
    pub(crate) fn end(&mut self, p: &mut Producer, partitions: &[TopicPartition], commit: bool) {
        self.end_called(p, commit);
        self.bump(p);
        for &partition in partitions {
            self.marker(p.id, p.epoch, partition, TransactionResult::from_committed(commit));
        }
        self.end_answered(p, commit, EndOutcome::Done);
    }

    pub(crate) fn commit(&mut self, p: &mut Producer, partitions: &[TopicPartition]) {
        self.end(p, partitions, true);
    }

    pub(crate) fn abort(&mut self, p: &mut Producer, partitions: &[TopicPartition]) {
        self.end(p, partitions, false);
    }

    /// A poll in the test's own words; the bound is the end of what was taken.
    pub(crate) fn poll(
        &mut self,
        reader: u16,
        (partition, isolation_level): (TopicPartition, IsolationLevel),
        (from, to): (i64, i64),
        records: &[(i64, Value)],
    ) {
        self.positions.insert((reader, partition), to);
        let records = records.to_vec();
        let bound = to;
        let what = Observed::Polled { partition, isolation_level, from, to, records, bound };
        self.see(ActorId(reader), what);
    }

    /// The reader is told the end of a partition.
    pub(crate) fn told_end(
        &mut self,
        reader: u16,
        of: (TopicPartition, IsolationLevel),
        offset: i64,
    ) {
        let (partition, isolation_level) = of;
        self.see(ActorId(reader), Observed::EndOffset { partition, isolation_level, offset });
    }

    /// A poll of all that the reader may see now.
    pub(crate) fn read(&mut self, reader: u16, partition: TopicPartition, level: IsolationLevel) {
        let from = self.positions.get(&(reader, partition)).copied().unwrap_or(0);
        let log = self.log(partition);
        let bound = if level == COMMITTED { log.stable() } else { log.end() };
        let mut records = Vec::new();
        for batch in &log.batches {
            let is_aborted = log.aborted.iter().any(|aborted| {
                batch.is_transactional
                    && aborted.producer_id == batch.producer_id
                    && (aborted.first_offset..aborted.last_offset).contains(&batch.base_offset)
            });
            for (offset, record) in (batch.base_offset..).zip(batch.records()) {
                let is_due = (from..bound).contains(&offset);
                if is_due && !(level == COMMITTED && is_aborted) {
                    records.push((offset, record.value));
                }
            }
        }
        self.poll(reader, (partition, level), (from, bound.max(from)), &records);
    }

    /// The coordinator's view of a producer.
    pub(crate) fn coordinator(
        &mut self,
        p: &Producer,
        state: TransactionState,
        partitions: &[TopicPartition],
    ) {
        self.transactions.push(TransactionDump {
            broker: BrokerId(1),
            coordinator_epoch: CoordinatorEpoch(0),
            txn_topic_partition: 0,
            transactional_id: ID,
            producer_id: p.id,
            previous_producer_id: p.id,
            next_producer_id: ProducerId::NONE,
            producer_epoch: p.epoch,
            last_producer_epoch: ProducerEpoch::NONE,
            transaction_timeout_ms: 60_000,
            state,
            pending_state: None,
            partitions: partitions.to_vec(),
            start_timestamp_ms: -1,
            last_update_timestamp_ms: 0,
            client_transaction_version: 2,
        });
    }

    /// Two replicas of everything, healed.
    pub(crate) fn dump(&self) -> ClusterDump {
        let mut replicas = Vec::new();
        for (&partition, log) in &self.logs {
            for broker in [1, 2] {
                replicas.push(ReplicaDump {
                    broker: BrokerId(broker),
                    partition,
                    is_leader: broker == 1,
                    leader_epoch: LeaderEpoch(0),
                    is_hosted: true,
                    log_start_offset: 0,
                    high_watermark: log.end(),
                    last_stable_offset: log.stable(),
                    log_end_offset: log.end(),
                    batches: log.batches.clone(),
                    aborted_transactions: log.aborted.clone(),
                    producers: log.producers.values().copied().collect(),
                    remembered: log.remembered.clone(),
                    unseen: Unseen::default(),
                });
            }
        }
        let transactions = self.transactions.clone();
        let coordinators = self.coordinators.clone();
        ClusterDump { at: self.now, healed: true, replicas, transactions, coordinators }
    }

    /// What the checker finds.
    pub(crate) fn anomalies(&self) -> Vec<Anomaly> {
        self.anomalies_in(&self.dump())
    }

    pub(crate) fn anomalies_in(&self, dump: &ClusterDump) -> Vec<Anomaly> {
        let mut checker = Checker::new(&self.setup);
        for observation in &self.observations {
            checker.observe(observation);
        }
        checker.finish(dump);
        checker.anomalies().to_vec()
    }

    /// What the checker finds when it looks at `dumps`, one after the other, in mid-run.
    pub(crate) fn seen_in(&self, dumps: &[ClusterDump]) -> Vec<Anomaly> {
        let mut checker = Checker::new(&self.setup);
        for dump in dumps {
            checker.look(dump);
        }
        checker.anomalies().to_vec()
    }

    #[track_caller]
    pub(crate) fn is_sound(&self) {
        assert_eq!(self.anomalies(), []);
    }

    /// `invariant` is reported; the other names that are, too, are returned.
    #[track_caller]
    pub(crate) fn breaks(&self, invariant: &str) -> Vec<&'static str> {
        breaks(&self.anomalies(), invariant)
    }

    #[track_caller]
    pub(crate) fn breaks_in(&self, dump: &ClusterDump, invariant: &str) {
        breaks(&self.anomalies_in(dump), invariant);
    }
}

#[track_caller]
fn breaks(anomalies: &[Anomaly], invariant: &str) -> Vec<&'static str> {
    let names: Vec<_> = anomalies.iter().map(|anomaly| anomaly.invariant).collect();
    assert!(names.contains(&invariant), "{invariant} is not among {anomalies:#?}");
    names.into_iter().filter(|&name| name != invariant).collect()
}

/// An outcome that says nothing.
pub(crate) const UNKNOWN_SEND: SendOutcome =
    SendOutcome::Unknown { error: ErrorCode::RequestTimedOut };

/// An outcome that says nothing.
pub(crate) const UNKNOWN_END: EndOutcome =
    EndOutcome::Unknown { error: ErrorCode::RequestTimedOut };
