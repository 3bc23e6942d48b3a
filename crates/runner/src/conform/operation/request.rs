//! From a recorded step to a request of the model.

use std::sync::Arc;

use eosim_types::message::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, AddPartitionsToTxnTransaction,
    CommittableOffset, CoordinatorKey, DeleteRecordsRequest, DescribeProducersRequest,
    DescribeTransactionsRequest, EndTxnRequest, FetchMetadata, FetchPartition, FetchRequest,
    FindCoordinatorRequest, GroupMember, InitProducerIdRequest, IsolationLevel, ListOffsetsAsker,
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTimestamp, OffsetCommitRequest,
    OffsetFetchRequest, ProduceRequest, Request, TxnOffsetCommitRequest, WritableTxnMarker,
    WriteTxnMarkersRequest,
};
use eosim_types::record::{Payload, Record, RecordBatch, TransactionResult};
use eosim_types::version::TransactionVersion;
use eosim_types::{
    CoordinatorEpoch, Few, LeaderEpoch, ProducerEpoch, ProducerId, Sequence, TopicPartition,
    TransactionalId,
};
use serde_json::Value;

use super::{Builder, Operation, Target};
use crate::conform::fields::{Fields, Unsupported};

impl Builder<'_> {
    pub(super) fn repeat_init<'s>(
        &mut self,
        fields: &Fields<'s>,
    ) -> Result<Operation<'s>, Unsupported> {
        let request = InitProducerIdRequest {
            version: fields.number_or("version", 5)?,
            transactional_id: self.transactional_id(fields),
            transaction_timeout_ms: fields.number_or("timeout_ms", 60_000)?,
            producer_id: ProducerId::NONE,
            producer_epoch: ProducerEpoch::NONE,
            enable_2pc: false,
            keep_prepared_txn: false,
        };
        Ok(Operation::RepeatInit {
            request,
            times: fields.number("times")?,
            bind: fields.text("as")?,
        })
    }

    pub(super) fn call<'s>(
        &mut self,
        op: &str,
        fields: &Fields<'s>,
    ) -> Result<Operation<'s>, Unsupported> {
        let (target, request) = match op {
            "init_producer_id" => self.init_producer_id(fields)?,
            "produce" => self.produce(fields)?,
            "add_partitions_to_txn" => self.add_partitions_to_txn(fields)?,
            "add_offsets_to_txn" => self.add_offsets_to_txn(fields)?,
            "txn_offset_commit" => self.txn_offset_commit(fields)?,
            "offset_commit" => self.offset_commit(fields)?,
            "offset_fetch" => self.offset_fetch(fields)?,
            "end_txn" => self.end_txn(fields)?,
            "write_txn_markers" => self.write_txn_markers(fields)?,
            "list_offsets" => self.list_offsets(fields)?,
            "fetch" => self.fetch(fields)?,
            "delete_records" => self.delete_records(fields)?,
            "describe_transaction" => self.describe_transaction(fields)?,
            "describe_producers" => self.describe_producers(fields)?,
            "find_coordinator" => self.find_coordinator(fields)?,
            _ => return Err(Unsupported(format!("operation {op}"))),
        };
        if !self.kafka.knows(&request) {
            let (name, kafka) = (request.api().name(), self.kafka.name());
            return Err(Unsupported(format!("{name} of that version on Kafka {kafka}")));
        }
        let adopts = fields.get("adopt").and_then(Value::as_bool).unwrap_or(false);
        let bind = if adopts { "producer" } else { "as" };
        let bind = fields.get(bind).and_then(Value::as_str);
        let bind = bind.filter(|_| adopts || op == "init_producer_id");
        let retry = fields.get("retry").and_then(Value::as_array).into_iter().flatten();
        let retry = retry.filter_map(Value::as_str).collect();
        Ok(Operation::Call { target, request, retry, bind })
    }

    fn init_producer_id(&mut self, f: &Fields<'_>) -> Result<(Target, Request), Unsupported> {
        let transactional_id = self.transactional_id(f);
        let (producer_id, producer_epoch) = match f.get("resume").and_then(Value::as_object) {
            Some(resume) => self.aliases.resolve(&Fields::new(resume))?,
            None => (ProducerId::NONE, ProducerEpoch::NONE),
        };
        let request = InitProducerIdRequest {
            version: f.number_or("version", 5)?,
            transactional_id,
            transaction_timeout_ms: f.number("timeout_ms")?,
            producer_id,
            producer_epoch,
            enable_2pc: false,
            keep_prepared_txn: false,
        };
        Ok((transactional_id.map_or(Target::Any, Target::Transaction), request.into()))
    }

    fn produce(&mut self, f: &Fields<'_>) -> Result<(Target, Request), Unsupported> {
        let partition = self.partition(f.text("partition")?)?;
        let transactional_id = self.transactional_id(f);
        let (producer_id, producer_epoch) = self.aliases.resolve(f)?;
        let count: i32 = f.number("records")?;
        let batch = RecordBatch {
            base_offset: 0,
            last_offset_delta: count - 1,
            partition_leader_epoch: LeaderEpoch::NONE,
            is_transactional: transactional_id.is_some(),
            max_timestamp: self.now_ms,
            producer_id,
            producer_epoch,
            base_sequence: Sequence(f.number("sequence")?),
            payload: Payload::Records(self.records(count)),
        };
        let request = ProduceRequest {
            version: f.number_or("version", 12)?,
            transactional_id,
            acks: f.number_or("acks", -1)?,
            timeout_ms: f.number_or("timeout_ms", 30_000)?,
            partitions: vec![(partition, batch)],
        };
        Ok((Target::Leader(partition), request.into()))
    }

    /// Records whose values are `s<step>.<n>`.
    fn records(&mut self, count: i32) -> Arc<[Record]> {
        let record = |n| {
            let text = format!("s{}.{n}", self.step);
            let value_bytes = u32::try_from(text.len()).expect("a short value");
            Record { value: self.names.add_value(&text), key: None, value_bytes }
        };
        (0..count).map(record).collect()
    }

    fn add_partitions_to_txn(&mut self, f: &Fields<'_>) -> Result<(Target, Request), Unsupported> {
        let transactional_id = self.names.add_transactional_id(f.text("transactional_id")?);
        let (producer_id, producer_epoch) = self.aliases.resolve(f)?;
        let transaction = AddPartitionsToTxnTransaction {
            transactional_id,
            producer_id,
            producer_epoch,
            verify_only: f.flag_or("verify_only", false)?,
            partitions: self.partitions(f)?.into(),
        };
        let version = f.number_or("version", 5)?;
        let request = AddPartitionsToTxnRequest { version, transactions: Few::One(transaction) };
        Ok((Target::Transaction(transactional_id), request.into()))
    }

    fn add_offsets_to_txn(&mut self, f: &Fields<'_>) -> Result<(Target, Request), Unsupported> {
        let transactional_id = self.names.add_transactional_id(f.text("transactional_id")?);
        let (producer_id, producer_epoch) = self.aliases.resolve(f)?;
        let request = AddOffsetsToTxnRequest {
            version: f.number_or("version", 4)?,
            transactional_id,
            producer_id,
            producer_epoch,
            group: self.names.add_group(f.text("group")?),
        };
        Ok((Target::Transaction(transactional_id), request.into()))
    }

    fn txn_offset_commit(&mut self, f: &Fields<'_>) -> Result<(Target, Request), Unsupported> {
        let (producer_id, producer_epoch) = self.aliases.resolve(f)?;
        let group = self.names.add_group(f.text("group")?);
        let request = TxnOffsetCommitRequest {
            version: f.number_or("version", 5)?,
            transactional_id: self.names.add_transactional_id(f.text("transactional_id")?),
            group,
            producer_id,
            producer_epoch,
            member: GroupMember::NONE,
            offsets: self.offsets(f)?,
        };
        Ok((Target::Group(group), request.into()))
    }

    fn offset_commit(&mut self, f: &Fields<'_>) -> Result<(Target, Request), Unsupported> {
        let group = self.names.add_group(f.text("group")?);
        let version = f.number_or("version", 7)?;
        let offsets = self.offsets(f)?;
        let request = OffsetCommitRequest { version, group, member: GroupMember::NONE, offsets };
        Ok((Target::Group(group), request.into()))
    }

    fn offset_fetch(&mut self, f: &Fields<'_>) -> Result<(Target, Request), Unsupported> {
        let group = self.names.add_group(f.text("group")?);
        let request = OffsetFetchRequest {
            version: f.number_or("version", 7)?,
            group,
            member: GroupMember::NONE,
            partitions: f.get("partitions").map(|_| self.partitions(f)).transpose()?,
            require_stable: f.flag_or("require_stable", false)?,
        };
        Ok((Target::Group(group), request.into()))
    }

    fn end_txn(&mut self, f: &Fields<'_>) -> Result<(Target, Request), Unsupported> {
        let transactional_id = self.names.add_transactional_id(f.text("transactional_id")?);
        let (producer_id, producer_epoch) = self.aliases.resolve(f)?;
        let request = EndTxnRequest {
            version: f.number_or("version", 5)?,
            transactional_id,
            producer_id,
            producer_epoch,
            committed: f.flag("commit")?,
        };
        Ok((Target::Transaction(transactional_id), request.into()))
    }

    fn write_txn_markers(&mut self, f: &Fields<'_>) -> Result<(Target, Request), Unsupported> {
        let (producer_id, producer_epoch) = self.aliases.resolve(f)?;
        let partitions = self.partitions(f)?;
        let target = partitions.first().map_or(Target::Any, |&tp| Target::Leader(tp));
        let marker = WritableTxnMarker {
            producer_id,
            producer_epoch,
            transaction_result: TransactionResult::from_committed(f.flag("commit")?),
            partitions: partitions.into(),
            coordinator_epoch: CoordinatorEpoch(f.number_or("coordinator_epoch", 0)?),
            transaction_version: TransactionVersion::from_level(
                f.number_or("transaction_version", 0)?,
            ),
        };
        let version = f.number_or("version", 1)?;
        Ok((target, WriteTxnMarkersRequest { version, markers: Few::One(marker) }.into()))
    }

    fn list_offsets(&mut self, f: &Fields<'_>) -> Result<(Target, Request), Unsupported> {
        let partition = self.partition(f.text("partition")?)?;
        let asker = match f.text("isolation")? {
            "end" => ListOffsetsAsker::Debug,
            isolation => ListOffsetsAsker::Consumer(isolation_level(isolation)?),
        };
        let request = ListOffsetsRequest {
            version: f.number_or("version", 5)?,
            asker,
            partitions: Few::One(ListOffsetsPartition {
                partition,
                current_leader_epoch: leader_epoch(f)?,
                timestamp: ListOffsetsTimestamp::Latest,
            }),
        };
        Ok((Target::Leader(partition), request.into()))
    }

    fn fetch(&mut self, f: &Fields<'_>) -> Result<(Target, Request), Unsupported> {
        let partition = self.partition(f.text("partition")?)?;
        let isolation_level = isolation_level(f.text("isolation")?)?;
        let mut request = fetch(partition, f.number("offset")?, isolation_level);
        request.version = f.number_or("version", request.version)?;
        request.partitions[0].current_leader_epoch = leader_epoch(f)?;
        Ok((Target::Leader(partition), request.into()))
    }

    fn delete_records(&mut self, f: &Fields<'_>) -> Result<(Target, Request), Unsupported> {
        let partition = self.partition(f.text("partition")?)?;
        let offset = f.number("before")?;
        let request = DeleteRecordsRequest { partition, offset, timeout_ms: 30_000 };
        Ok((Target::Leader(partition), request.into()))
    }

    fn describe_transaction(&mut self, f: &Fields<'_>) -> Result<(Target, Request), Unsupported> {
        let transactional_id = self.names.add_transactional_id(f.text("transactional_id")?);
        let request = DescribeTransactionsRequest { transactional_id };
        Ok((Target::Transaction(transactional_id), request.into()))
    }

    fn describe_producers(&mut self, f: &Fields<'_>) -> Result<(Target, Request), Unsupported> {
        let partition = self.partition(f.text("partition")?)?;
        Ok((Target::Leader(partition), DescribeProducersRequest { partition }.into()))
    }

    fn find_coordinator(&mut self, f: &Fields<'_>) -> Result<(Target, Request), Unsupported> {
        let key = match self.transactional_id(f) {
            Some(id) => CoordinatorKey::Transaction(id),
            None => CoordinatorKey::Group(self.names.add_group(f.text("group")?)),
        };
        Ok((Target::Any, FindCoordinatorRequest { key }.into()))
    }

    fn transactional_id(&mut self, f: &Fields<'_>) -> Option<TransactionalId> {
        let text = f.get("transactional_id").and_then(Value::as_str)?;
        Some(self.names.add_transactional_id(text))
    }

    fn partitions(&mut self, f: &Fields<'_>) -> Result<Vec<TopicPartition>, Unsupported> {
        f.list("partitions")?.into_iter().map(|text| self.partition(text)).collect()
    }

    fn offsets(&mut self, f: &Fields<'_>) -> Result<Vec<CommittableOffset>, Unsupported> {
        let entries = f.map("offsets")?.iter();
        let one = |(text, offset): (&String, &Value)| {
            let offset = offset.as_i64().ok_or_else(|| Unsupported("offsets".into()))?;
            let partition = self.partition(text)?;
            Ok(CommittableOffset { partition, offset, leader_epoch: LeaderEpoch::NONE })
        };
        entries.map(one).collect()
    }
}

/// A fetch of everything from `offset` on that answers at once.
pub(crate) fn fetch(
    partition: TopicPartition,
    offset: i64,
    isolation_level: IsolationLevel,
) -> FetchRequest {
    FetchRequest {
        version: 11,
        replica: None,
        isolation_level,
        max_wait_ms: 0,
        min_bytes: 0,
        partition_max_bytes: i32::MAX,
        metadata: FetchMetadata::LEGACY,
        forgotten: [].into(),
        partitions: vec![FetchPartition {
            partition,
            fetch_offset: offset,
            current_leader_epoch: LeaderEpoch::NONE,
            last_fetched_epoch: LeaderEpoch::NONE,
            log_start_offset: -1,
        }],
    }
}

/// The leader epoch that a reader names. Partitions begin with 0, so a difference from the
/// beginning is the epoch itself.
fn leader_epoch(f: &Fields<'_>) -> Result<LeaderEpoch, Unsupported> {
    Ok(LeaderEpoch(f.number_or("leader_epoch", LeaderEpoch::NONE.0)?))
}

fn isolation_level(text: &str) -> Result<IsolationLevel, Unsupported> {
    match text {
        "read_uncommitted" => Ok(IsolationLevel::ReadUncommitted),
        "read_committed" => Ok(IsolationLevel::ReadCommitted),
        other => Err(Unsupported(format!("isolation {other}"))),
    }
}
