//! Kafka's text forms, on the outcome of a transaction that commits and one that aborts.

use std::sync::Arc;

use eosim_report::dump_log::{dump_log, dump_transaction_index};
use eosim_report::transaction_log::{transaction_log, transaction_log_payloads};
use eosim_report::transactions;
use eosim_types::message::ProducerState;
use eosim_types::observation::{ClusterDump, ReplicaDump, TransactionDump};
use eosim_types::record::{
    AbortedTxn, EndTransactionMarker, OffsetCommitRecord, Payload, Record, RecordBatch,
    TransactionLogRecord, TransactionLogValue, TransactionResult, TransactionState,
};
use eosim_types::{
    BrokerId, CoordinatorEpoch, Duration, GroupId, Instant, LeaderEpoch, Names, ProducerEpoch,
    ProducerId, Sequence, Topic, TopicPartition, TransactionalId,
};
use expect_test::expect;

struct Cluster {
    names: Names,
    topic: TopicPartition,
    id: TransactionalId,
    group: GroupId,
}

fn cluster() -> Cluster {
    let mut names = Names::default();
    let topic = TopicPartition::new(names.add_topic("u12-txn"), 0);
    let id = names.add_transactional_id("u12-txn");
    let group = names.add_group("readers");
    Cluster { names, topic, id, group }
}

impl Cluster {
    fn records(&mut self, base_offset: i64, epoch: i16, values: &[&str]) -> RecordBatch {
        let record =
            |value: &&str| Record { value: self.names.add_value(value), key: None, value_bytes: 2 };
        let records: Arc<[Record]> = values.iter().map(record).collect();
        let last = i32::try_from(records.len()).expect("few records") - 1;
        batch(base_offset, last, epoch, Sequence(0), Payload::Records(records))
    }

    fn value(&self, state: TransactionState, epoch: i16, last: i16) -> TransactionLogRecord {
        let partitions = match state {
            TransactionState::Empty => None,
            TransactionState::CompleteCommit | TransactionState::CompleteAbort => Some(Vec::new()),
            _ => Some(vec![self.topic]),
        };
        let empty = state == TransactionState::Empty;
        let value = TransactionLogValue {
            version: 1,
            producer_id: ProducerId(0),
            previous_producer_id: ProducerId(0),
            next_producer_id: ProducerId(-1),
            producer_epoch: ProducerEpoch(epoch),
            last_producer_epoch: ProducerEpoch(last),
            transaction_timeout_ms: 60_000,
            transaction_status: state,
            transaction_partitions: partitions,
            last_update_timestamp_ms: 17,
            start_timestamp_ms: if empty { -1 } else { 1_000 },
            client_transaction_version: if empty { 0 } else { 2 },
        };
        TransactionLogRecord { transactional_id: self.id, value: Some(value) }
    }
}

fn batch(
    base_offset: i64,
    last_offset_delta: i32,
    epoch: i16,
    base_sequence: Sequence,
    payload: Payload,
) -> RecordBatch {
    RecordBatch {
        base_offset,
        last_offset_delta,
        partition_leader_epoch: LeaderEpoch(0),
        is_transactional: true,
        max_timestamp: 5_000,
        producer_id: ProducerId(0),
        producer_epoch: ProducerEpoch(epoch),
        base_sequence,
        payload,
    }
}

fn marker(offset: i64, epoch: i16, result: TransactionResult) -> RecordBatch {
    let marker = EndTransactionMarker { result, coordinator_epoch: CoordinatorEpoch(0) };
    batch(offset, 0, epoch, Sequence::NONE, Payload::Control(marker))
}

fn internal(offset: i64, payload: Payload) -> RecordBatch {
    let batch = batch(offset, 0, -1, Sequence::NONE, payload);
    RecordBatch { producer_id: ProducerId::NONE, is_transactional: false, ..batch }
}

fn replica(partition: TopicPartition, batches: Vec<RecordBatch>) -> ReplicaDump {
    let end = batches.last().map_or(0, RecordBatch::next_offset);
    ReplicaDump {
        broker: BrokerId(1),
        partition,
        is_leader: true,
        leader_epoch: LeaderEpoch(0),
        is_hosted: true,
        log_start_offset: 0,
        high_watermark: end,
        last_stable_offset: end,
        log_end_offset: end,
        batches,
        aborted_transactions: Vec::new(),
        producers: Vec::new(),
        remembered: Vec::new(),
        unseen: eosim_types::observation::Unseen::default(),
    }
}

#[test]
fn dump_log_prints_batches_and_records() {
    let mut cluster = cluster();
    let batches = vec![
        cluster.records(0, 0, &["c1", "c2"]),
        marker(2, 1, TransactionResult::Commit),
        cluster.records(3, 1, &["a1"]),
        marker(4, 2, TransactionResult::Abort),
        batch(5, 0, 2, Sequence::NONE, Payload::EmptyControl),
    ];
    expect![[r#"
        Dumping u12-txn-0/00000000000000000000.log
        Log starting offset: 0
        baseOffset: 0 lastOffset: 1 count: 2 baseSequence: 0 lastSequence: 1 producerId: 0 producerEpoch: 0 partitionLeaderEpoch: 0 isTransactional: true isControl: false deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: 5000 size: 79 magic: 2 compresscodec: none crc: 0 isvalid: true
        | offset: 0 CreateTime: 5000 keySize: -1 valueSize: 2 sequence: 0 headerKeys: [] payload: c1
        | offset: 1 CreateTime: 5000 keySize: -1 valueSize: 2 sequence: 1 headerKeys: [] payload: c2
        baseOffset: 2 lastOffset: 2 count: 1 baseSequence: -1 lastSequence: -1 producerId: 0 producerEpoch: 1 partitionLeaderEpoch: 0 isTransactional: true isControl: true deleteHorizonMs: OptionalLong.empty position: 79 CreateTime: 5000 size: 77 magic: 2 compresscodec: none crc: 0 isvalid: true
        | offset: 2 CreateTime: 5000 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] endTxnMarker: COMMIT coordinatorEpoch: 0
        baseOffset: 3 lastOffset: 3 count: 1 baseSequence: 0 lastSequence: 0 producerId: 0 producerEpoch: 1 partitionLeaderEpoch: 0 isTransactional: true isControl: false deleteHorizonMs: OptionalLong.empty position: 156 CreateTime: 5000 size: 70 magic: 2 compresscodec: none crc: 0 isvalid: true
        | offset: 3 CreateTime: 5000 keySize: -1 valueSize: 2 sequence: 0 headerKeys: [] payload: a1
        baseOffset: 4 lastOffset: 4 count: 1 baseSequence: -1 lastSequence: -1 producerId: 0 producerEpoch: 2 partitionLeaderEpoch: 0 isTransactional: true isControl: true deleteHorizonMs: OptionalLong.empty position: 226 CreateTime: 5000 size: 77 magic: 2 compresscodec: none crc: 0 isvalid: true
        | offset: 4 CreateTime: 5000 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] endTxnMarker: ABORT coordinatorEpoch: 0
        baseOffset: 5 lastOffset: 5 count: 0 baseSequence: -1 lastSequence: -1 producerId: 0 producerEpoch: 2 partitionLeaderEpoch: 0 isTransactional: true isControl: true deleteHorizonMs: OptionalLong.empty position: 303 CreateTime: 5000 size: 61 magic: 2 compresscodec: none crc: 0 isvalid: true
    "#]].assert_eq(&dump_log(&replica(cluster.topic, batches), &cluster.names));
}

#[test]
fn an_empty_log_prints_its_head() {
    let cluster = cluster();
    expect![[r#"
        Dumping u12-txn-0/00000000000000000000.log
        Log starting offset: 0
    "#]]
    .assert_eq(&dump_log(&replica(cluster.topic, Vec::new()), &cluster.names));
}

#[test]
fn the_transaction_index_prints_its_entries_l_idx_2() {
    let cluster = cluster();
    let mut replica = replica(cluster.topic, Vec::new());
    replica.aborted_transactions.push(AbortedTxn {
        producer_id: ProducerId(0),
        first_offset: 4,
        last_offset: 7,
        last_stable_offset: 8,
    });
    expect![[r#"
        Dumping u12-txn-0/00000000000000000000.txnindex
        version: 0 producerId: 0 firstOffset: 4 lastOffset: 7 lastStableOffset: 8
    "#]]
    .assert_eq(&dump_transaction_index(&replica, &cluster.names));
}

fn transaction_state(cluster: &Cluster) -> ReplicaDump {
    let tombstone = TransactionLogRecord { transactional_id: cluster.id, value: None };
    let records = [
        cluster.value(TransactionState::Empty, 0, -1),
        cluster.value(TransactionState::Ongoing, 0, -1),
        cluster.value(TransactionState::PrepareAbort, 2, 1),
        cluster.value(TransactionState::CompleteAbort, 2, 1),
        tombstone,
        cluster.value(TransactionState::Ongoing, 3, 2),
    ];
    let batch = |(offset, record)| internal(offset, Payload::TransactionLog([record].into()));
    let partition = TopicPartition::new(Topic::TRANSACTION_STATE, 23);
    replica(partition, (0..).zip(records).map(batch).collect())
}

#[test]
fn transaction_log_prints_key_and_payload_c_rec_2() {
    let cluster = cluster();
    let replica = transaction_state(&cluster);
    expect![[r#"
        u12-txn: {"producerId":0,"previousProducerId":0,"producerEpoch":0,"transactionTimeoutMs":60000,"transactionStatus":"Empty","transactionPartitions":null}
        u12-txn: {"producerId":0,"previousProducerId":0,"producerEpoch":0,"transactionTimeoutMs":60000,"transactionStatus":"Ongoing","transactionPartitions":[{"topic":"u12-txn","partitionIds":[0]}],"clientTransactionVersion":2}
        u12-txn: {"producerId":0,"previousProducerId":0,"lastProducerEpoch":1,"producerEpoch":2,"transactionTimeoutMs":60000,"transactionStatus":"PrepareAbort","transactionPartitions":[{"topic":"u12-txn","partitionIds":[0]}],"clientTransactionVersion":2}
        u12-txn: {"producerId":0,"previousProducerId":0,"lastProducerEpoch":1,"producerEpoch":2,"transactionTimeoutMs":60000,"transactionStatus":"CompleteAbort","transactionPartitions":[],"clientTransactionVersion":2}
        u12-txn: <DELETE>
        u12-txn: {"producerId":0,"previousProducerId":0,"lastProducerEpoch":2,"producerEpoch":3,"transactionTimeoutMs":60000,"transactionStatus":"Ongoing","transactionPartitions":[{"topic":"u12-txn","partitionIds":[0]}],"clientTransactionVersion":2}
    "#]].assert_eq(&transaction_log_payloads(&replica, &cluster.names));
    expect![[r#"
        Dumping __transaction_state-23/00000000000000000000.log
        Log starting offset: 0
        baseOffset: 0 lastOffset: 0 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: 5000 size: 161 magic: 2 compresscodec: none crc: 0 isvalid: true
        | offset: 0 CreateTime: 5000 keySize: 11 valueSize: 45 sequence: -1 headerKeys: [] key: {"type":"0","data":{"transactionalId":"u12-txn"}} payload: {"version":"1","data":{"producerId":0,"previousProducerId":0,"producerEpoch":0,"transactionTimeoutMs":60000,"transactionStatus":"Empty","transactionPartitions":null}}
        baseOffset: 1 lastOffset: 1 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 161 CreateTime: 5000 size: 161 magic: 2 compresscodec: none crc: 0 isvalid: true
        | offset: 1 CreateTime: 5000 keySize: 11 valueSize: 63 sequence: -1 headerKeys: [] key: {"type":"0","data":{"transactionalId":"u12-txn"}} payload: {"version":"1","data":{"producerId":0,"previousProducerId":0,"producerEpoch":0,"transactionTimeoutMs":60000,"transactionStatus":"Ongoing","transactionPartitions":[{"topic":"u12-txn","partitionIds":[0]}],"clientTransactionVersion":2}}
        baseOffset: 2 lastOffset: 2 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 322 CreateTime: 5000 size: 161 magic: 2 compresscodec: none crc: 0 isvalid: true
        | offset: 2 CreateTime: 5000 keySize: 11 valueSize: 67 sequence: -1 headerKeys: [] key: {"type":"0","data":{"transactionalId":"u12-txn"}} payload: {"version":"1","data":{"producerId":0,"previousProducerId":0,"lastProducerEpoch":1,"producerEpoch":2,"transactionTimeoutMs":60000,"transactionStatus":"PrepareAbort","transactionPartitions":[{"topic":"u12-txn","partitionIds":[0]}],"clientTransactionVersion":2}}
        baseOffset: 3 lastOffset: 3 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 483 CreateTime: 5000 size: 161 magic: 2 compresscodec: none crc: 0 isvalid: true
        | offset: 3 CreateTime: 5000 keySize: 11 valueSize: 53 sequence: -1 headerKeys: [] key: {"type":"0","data":{"transactionalId":"u12-txn"}} payload: {"version":"1","data":{"producerId":0,"previousProducerId":0,"lastProducerEpoch":1,"producerEpoch":2,"transactionTimeoutMs":60000,"transactionStatus":"CompleteAbort","transactionPartitions":[],"clientTransactionVersion":2}}
        baseOffset: 4 lastOffset: 4 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 644 CreateTime: 5000 size: 161 magic: 2 compresscodec: none crc: 0 isvalid: true
        | offset: 4 CreateTime: 5000 keySize: 11 valueSize: -1 sequence: -1 headerKeys: [] key: {"type":"0","data":{"transactionalId":"u12-txn"}} payload: <DELETE>
        baseOffset: 5 lastOffset: 5 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 805 CreateTime: 5000 size: 161 magic: 2 compresscodec: none crc: 0 isvalid: true
        | offset: 5 CreateTime: 5000 keySize: 11 valueSize: 67 sequence: -1 headerKeys: [] key: {"type":"0","data":{"transactionalId":"u12-txn"}} payload: {"version":"1","data":{"producerId":0,"previousProducerId":0,"lastProducerEpoch":2,"producerEpoch":3,"transactionTimeoutMs":60000,"transactionStatus":"Ongoing","transactionPartitions":[{"topic":"u12-txn","partitionIds":[0]}],"clientTransactionVersion":2}}
    "#]].assert_eq(&transaction_log(&[replica], &cluster.names));
}

#[test]
fn the_payload_of_the_worked_example_is_kafkas_to_the_letter() {
    let cluster = cluster();
    let text = transaction_log_payloads(&transaction_state(&cluster), &cluster.names);
    let expected = "{\"producerId\":0,\"previousProducerId\":0,\"lastProducerEpoch\":1,\
        \"producerEpoch\":2,\"transactionTimeoutMs\":60000,\
        \"transactionStatus\":\"PrepareAbort\",\"transactionPartitions\":\
        [{\"topic\":\"u12-txn\",\"partitionIds\":[0]}],\"clientTransactionVersion\":2}";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn offset_commits_print_key_and_payload() {
    let cluster = cluster();
    let record = |offset| OffsetCommitRecord {
        group: cluster.group,
        partition: cluster.topic,
        offset,
        leader_epoch: LeaderEpoch(0),
        commit_timestamp_ms: 5_000,
    };
    let records = Payload::OffsetCommits([record(Some(7)), record(None)].into());
    let partition = TopicPartition::new(Topic::CONSUMER_OFFSETS, 0);
    let mut batch = internal(0, records);
    batch.last_offset_delta = 1;
    expect![[r#"
        Dumping __consumer_offsets-0/00000000000000000000.log
        Log starting offset: 0
        baseOffset: 0 lastOffset: 1 count: 2 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: 5000 size: 201 magic: 2 compresscodec: none crc: 0 isvalid: true
        | offset: 0 CreateTime: 5000 keySize: 24 valueSize: 24 sequence: -1 headerKeys: [] key: {"type":"1","data":{"group":"readers","topic":"u12-txn","partition":0}} payload: {"version":"3","data":{"offset":7,"leaderEpoch":0,"metadata":"","commitTimestamp":5000}}
        | offset: 1 CreateTime: 5000 keySize: 24 valueSize: -1 sequence: -1 headerKeys: [] key: {"type":"1","data":{"group":"readers","topic":"u12-txn","partition":0}} payload: <DELETE>
    "#]].assert_eq(&dump_log(&replica(partition, vec![batch]), &cluster.names));
}

/// The cluster's transactional id as its coordinator holds it.
fn held(
    cluster: &Cluster,
    (producer_id, producer_epoch): (i64, i16),
    state: TransactionState,
    partitions: Vec<TopicPartition>,
) -> TransactionDump {
    TransactionDump {
        broker: BrokerId(1),
        coordinator_epoch: CoordinatorEpoch(0),
        txn_topic_partition: 0,
        transactional_id: cluster.id,
        producer_id: ProducerId(producer_id),
        previous_producer_id: ProducerId(producer_id),
        next_producer_id: ProducerId::NONE,
        producer_epoch: ProducerEpoch(producer_epoch),
        last_producer_epoch: ProducerEpoch::NONE,
        transaction_timeout_ms: 60_000,
        state,
        pending_state: None,
        partitions,
        start_timestamp_ms: -1,
        last_update_timestamp_ms: 0,
        client_transaction_version: 2,
    }
}

#[test]
fn transactions_are_listed_and_described() {
    let cluster = cluster();
    let transaction = |state, partitions| held(&cluster, (0, 3), state, partitions);
    let dump = ClusterDump {
        at: Instant(6_000_000),
        healed: true,
        replicas: vec![transaction_state(&cluster)],
        transactions: vec![
            transaction(TransactionState::CompleteCommit, Vec::new()),
            transaction(TransactionState::Ongoing, vec![cluster.topic]),
        ],
        coordinators: Vec::new(),
    };
    let visible = |text: String| text.replace('\t', "→");
    expect![[r#"
        TransactionalId→Coordinator→ProducerId→TransactionState→
        u12-txn        →1          →0         →CompleteCommit  →
        u12-txn        →1          →0         →Ongoing         →
    "#]]
    .assert_eq(&visible(transactions::list(&dump, &cluster.names)));
    expect![[r#"
        CoordinatorId→TransactionalId→ProducerId→ProducerEpoch→TransactionState→TransactionTimeoutMs→CurrentTransactionStartTimeMs→TransactionDurationMs→TopicPartitions→
        1            →u12-txn        →0         →3            →CompleteCommit  →60000               →None                         →None                 →               →
        1            →u12-txn        →0         →3            →Ongoing         →60000               →1000                         →5000                 →u12-txn-0      →
    "#]].assert_eq(&visible(transactions::describe(&dump, &cluster.names)));
}

#[test]
fn producers_are_described() {
    let cluster = cluster();
    let mut replica = replica(cluster.topic, Vec::new());
    let producer = ProducerState {
        producer_id: ProducerId(0),
        producer_epoch: ProducerEpoch(1),
        last_sequence: Sequence(2),
        last_timestamp: 5_000,
        coordinator_epoch: CoordinatorEpoch(0),
        current_txn_start_offset: 4,
    };
    let idle =
        ProducerState { current_txn_start_offset: -1, producer_id: ProducerId(1), ..producer };
    replica.producers = vec![producer, idle];
    let text = transactions::describe_producers(&replica).replace('\t', "→");
    expect![[r#"
        ProducerId→ProducerEpoch→LatestCoordinatorEpoch→LastSequence→LastTimestamp→CurrentTransactionStartOffset→
        0         →1            →0                     →2           →5000         →4                            →
        1         →1            →0                     →2           →5000         →None                         →
    "#]].assert_eq(&text);
}

#[test]
fn hanging_is_what_no_coordinator_knows_of_l_tool_3() {
    let cluster = cluster();
    let minutes = |minutes: i64| minutes * 60_000;
    let producer = |id, last_timestamp, current_txn_start_offset| ProducerState {
        producer_id: ProducerId(id),
        producer_epoch: ProducerEpoch(1),
        last_sequence: Sequence(2),
        last_timestamp,
        coordinator_epoch: CoordinatorEpoch(-1),
        current_txn_start_offset,
    };
    let (owned, unknown, young, idle) = (0, 1, 2, 3);
    let mut replica = replica(cluster.topic, Vec::new());
    replica.producers = vec![
        producer(owned, 0, 4),
        producer(unknown, 0, 5),
        producer(young, minutes(5) + 7, 6),
        producer(idle, 0, -1),
    ];
    let transaction =
        |partitions| held(&cluster, (owned, 1), TransactionState::Ongoing, partitions);
    let found = |partitions| {
        let dump = ClusterDump {
            at: Instant::START + Duration::from_millis(20 * 60_000 + 7),
            transactions: vec![transaction(partitions)],
            ..ClusterDump::default()
        };
        let text = transactions::find_hanging(&dump, [&replica], &cluster.names, minutes(15));
        text.replace('\t', "→")
    };
    expect![[r#"
        Topic  →Partition→ProducerId→ProducerEpoch→CoordinatorEpoch→StartOffset→LastTimestamp→Duration(min)→
        u12-txn→0        →1         →1            →-1              →5          →0            →20           →
    "#]].assert_eq(&found(vec![cluster.topic]));
    // The id is known, but the partition is not part of its transaction.
    expect![[r#"
        Topic  →Partition→ProducerId→ProducerEpoch→CoordinatorEpoch→StartOffset→LastTimestamp→Duration(min)→
        u12-txn→0        →0         →1            →-1              →4          →0            →20           →
        u12-txn→0        →1         →1            →-1              →5          →0            →20           →
    "#]].assert_eq(&found(Vec::new()));
}
