//! Requests and answers in short form.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use eosim_types::message::{
    FetchMetadata, FetchPartition, FetchPartitionResponse, FetchRequest, IsolationLevel,
    ProduceRequest, Response, WritableTxnMarker, WriteTxnMarkersRequest,
};
use eosim_types::record::{Payload, Record, RecordBatch, TransactionResult};
use eosim_types::version::TransactionVersion;
use eosim_types::{
    CoordinatorEpoch, ErrorCode, LeaderEpoch, ProducerEpoch, ProducerId, Sequence, TopicPartition,
    TransactionalId, Value,
};

/// The transactional id of the tests.
pub(super) const ID: TransactionalId = TransactionalId(1);

/// `records` records of producer `producer_id`.
pub(super) fn batch(producer_id: i64, epoch: i16, sequence: i32, records: i32) -> RecordBatch {
    let record =
        |n: i32| Record { value: Value(u64::from(n.unsigned_abs())), key: None, value_bytes: 2 };
    let records: Vec<_> = (0..records).map(|n| record(sequence.max(0) + n)).collect();
    RecordBatch {
        base_offset: 0,
        last_offset_delta: i32::try_from(records.len()).unwrap() - 1,
        partition_leader_epoch: LeaderEpoch::NONE,
        is_transactional: false,
        max_timestamp: 0,
        producer_id: ProducerId(producer_id),
        producer_epoch: ProducerEpoch(epoch),
        base_sequence: Sequence(sequence),
        payload: Payload::Records(Arc::from(records)),
    }
}

/// The same, transactional.
pub(super) fn transactional(
    producer_id: i64,
    epoch: i16,
    sequence: i32,
    records: i32,
) -> RecordBatch {
    RecordBatch { is_transactional: true, ..batch(producer_id, epoch, sequence, records) }
}

/// Produce, version 12, acks=all.
pub(super) fn produce(partitions: Vec<(TopicPartition, RecordBatch)>) -> ProduceRequest {
    let transactional = partitions.iter().any(|(_, batch)| batch.is_transactional);
    ProduceRequest {
        version: 12,
        transactional_id: transactional.then_some(ID),
        acks: -1,
        timeout_ms: 1_500,
        partitions,
    }
}

/// Produce to one partition.
pub(super) fn produce_to(tp: TopicPartition, batch: RecordBatch) -> ProduceRequest {
    produce(vec![(tp, batch)])
}

/// (error, base offset) of each partition.
pub(super) fn produced(response: Response) -> Vec<(ErrorCode, i64)> {
    let Response::Produce(response) = response else { panic!("no produce answer: {response:?}") };
    response.partitions.iter().map(|p| (p.error, p.base_offset)).collect()
}

/// (error, base offset) of the only partition.
pub(super) fn produced_one(response: Response) -> (ErrorCode, i64) {
    produced(response)[0]
}

/// A consumer's fetch.
pub(super) fn fetch(
    tp: TopicPartition,
    offset: i64,
    isolation_level: IsolationLevel,
) -> FetchRequest {
    FetchRequest {
        version: 17,
        replica: None,
        isolation_level,
        max_wait_ms: 0,
        min_bytes: 1,
        partition_max_bytes: 1 << 20,
        metadata: FetchMetadata::LEGACY,
        forgotten: [].into(),
        partitions: vec![FetchPartition {
            partition: tp,
            fetch_offset: offset,
            current_leader_epoch: LeaderEpoch::NONE,
            last_fetched_epoch: LeaderEpoch::NONE,
            log_start_offset: -1,
        }],
    }
}

/// The only partition of a fetch answer.
pub(super) fn fetched(response: Response) -> FetchPartitionResponse {
    let Response::Fetch(mut response) = response else { panic!("no fetch answer: {response:?}") };
    response.partitions.remove(0)
}

/// One marker, version 2.
pub(super) fn marker(
    producer_id: i64,
    epoch: i16,
    transaction_result: TransactionResult,
    partitions: Vec<TopicPartition>,
) -> WritableTxnMarker {
    WritableTxnMarker {
        producer_id: ProducerId(producer_id),
        producer_epoch: ProducerEpoch(epoch),
        transaction_result,
        partitions: partitions.into(),
        coordinator_epoch: CoordinatorEpoch(0),
        transaction_version: TransactionVersion::Tv2,
    }
}

/// WriteTxnMarkers, version 2.
pub(super) fn write_txn_markers(markers: Vec<WritableTxnMarker>) -> WriteTxnMarkersRequest {
    WriteTxnMarkersRequest { version: 2, markers: markers.into() }
}
