//! Every API in every version that a served broker speaks comes out of its bytes as it went in.

use eosim_types::assignor::Assignor;
use eosim_types::message::*;
use eosim_types::record::{
    AbortedTxn, EndTransactionMarker, Payload, Record, RecordBatch, TransactionResult,
    TransactionState,
};
use eosim_types::version::{KafkaVersion, TransactionVersion};
use eosim_types::{
    BrokerId, CoordinatorEpoch, Duration, ErrorCode, Few, GroupId, LeaderEpoch, ProducerEpoch,
    ProducerId, Sequence, Topic, TopicPartition, TransactionalId,
};
use eosim_wire::serve::spoken;
use eosim_wire::{Dictionary, codec};

/// Names that all samples use.
struct World {
    names: Dictionary,
    topic: Topic,
    id: TransactionalId,
    group: GroupId,
    member: u32,
}

fn world() -> World {
    let mut names = Dictionary::default();
    let topic = names.names.add_topic("orders");
    let id = names.names.add_transactional_id("writer");
    let group = names.names.add_group("readers");
    names.endpoints.insert(BrokerId(1), ("127.0.0.1".to_string(), 9092));
    names.give_topic_id(topic, 7);
    // Ids that coordinators make are numbers below 2^31.
    World { names, topic, id, group, member: 5 }
}

impl World {
    fn tp(&self, partition: i32) -> TopicPartition {
        TopicPartition::new(self.topic, partition)
    }

    fn batch(&mut self, payload: Option<Payload>) -> RecordBatch {
        let value = self.names.names.add_value("hello");
        let records = Payload::Records([Record { value, key: None, value_bytes: 5 }].into());
        RecordBatch {
            base_offset: 0,
            last_offset_delta: 0,
            partition_leader_epoch: LeaderEpoch(-1),
            is_transactional: true,
            max_timestamp: 1234,
            producer_id: ProducerId(1000),
            producer_epoch: ProducerEpoch(3),
            base_sequence: Sequence(9),
            payload: payload.unwrap_or(records),
        }
    }

    fn member(&self) -> GroupMember {
        GroupMember { generation_or_epoch: 4, member: Some(self.member), instance: None }
    }

    fn offset(&self) -> CommittableOffset {
        CommittableOffset { partition: self.tp(0), offset: 77, leader_epoch: LeaderEpoch(-1) }
    }

    /// A request of each API that every one of its versions can say, and an answer to it.
    fn sample(&mut self, name: &str, version: i16) -> Option<(Request, Response)> {
        self.data(name, version)
            .or_else(|| self.transaction(name, version))
            .or_else(|| self.offsets(name, version).or_else(|| self.membership(name, version)))
    }

    fn produce(&mut self, version: i16) -> (Request, Response) {
        let (tp, none) = (self.tp(1), ErrorCode::None);
        let request = ProduceRequest {
            version,
            transactional_id: Some(self.id),
            acks: -1,
            timeout_ms: 500,
            partitions: vec![(tp, self.batch(None))],
        };
        let answer = ProducePartitionResponse {
            base_offset: 12,
            ..ProducePartitionResponse::without_offset(tp, none)
        };
        (request.into(), ProduceResponse { partitions: vec![answer] }.into())
    }

    fn fetch(&mut self, version: i16) -> (Request, Response) {
        let (tp, none) = (self.tp(1), ErrorCode::None);
        let asked = FetchPartition {
            partition: tp,
            fetch_offset: 5,
            current_leader_epoch: LeaderEpoch(-1),
            last_fetched_epoch: LeaderEpoch(-1),
            log_start_offset: -1,
        };
        let request = FetchRequest {
            version,
            replica: None,
            isolation_level: IsolationLevel::ReadCommitted,
            max_wait_ms: 10,
            min_bytes: 1,
            partition_max_bytes: 1000,
            metadata: FetchMetadata::LEGACY,
            partitions: vec![asked],
            forgotten: [].into(),
        };
        let marker = Payload::Control(EndTransactionMarker {
            result: TransactionResult::Abort,
            coordinator_epoch: CoordinatorEpoch(2),
        });
        let aborted = AbortedTxn {
            producer_id: ProducerId(1000),
            first_offset: 0,
            last_offset: -1,
            last_stable_offset: -1,
        };
        let answer = FetchPartitionResponse {
            high_watermark: 9,
            last_stable_offset: 8,
            aborted_transactions: vec![aborted],
            batches: [self.batch(None), self.batch(Some(marker))].into(),
            ..FetchPartitionResponse::without_bounds(tp, none)
        };
        let response = FetchResponse { error: none, session_id: 0, partitions: vec![answer] };
        (request.into(), response.into())
    }

    fn add_partitions_to_txn(&mut self, version: i16) -> (Request, Response) {
        let (tp, transactional_id) = (self.tp(0), self.id);
        let (producer_id, producer_epoch) = (ProducerId(1000), ProducerEpoch(5));
        let error = ErrorCode::ConcurrentTransactions;
        let transaction = AddPartitionsToTxnTransaction {
            transactional_id,
            producer_id,
            producer_epoch,
            verify_only: version >= 4,
            partitions: [tp, self.tp(2)].into(),
        };
        let request = AddPartitionsToTxnRequest { version, transactions: Few::One(transaction) };
        let id = if version >= 4 { self.id } else { TransactionalId::EMPTY };
        let results = [(id, [(tp, ErrorCode::None), (self.tp(2), error)].into())].into();
        (request.into(), AddPartitionsToTxnResponse { error: ErrorCode::None, results }.into())
    }

    fn write_txn_markers(&mut self, version: i16) -> (Request, Response) {
        let tp = self.tp(0);
        let (producer_id, producer_epoch) = (ProducerId(1000), ProducerEpoch(5));
        let says = version >= 2;
        let marker = |result| WritableTxnMarker {
            producer_id,
            producer_epoch,
            transaction_result: result,
            partitions: [tp, self.tp(1)].into(),
            coordinator_epoch: CoordinatorEpoch(8),
            transaction_version: if says {
                TransactionVersion::Tv2
            } else {
                TransactionVersion::Tv0
            },
        };
        let markers = [marker(TransactionResult::Commit), marker(TransactionResult::Abort)].into();
        let results = [(producer_id, [(tp, ErrorCode::None)].into())].into();
        let request = WriteTxnMarkersRequest { version, markers };
        (request.into(), WriteTxnMarkersResponse { results }.into())
    }

    fn init_producer_id(&mut self, version: i16) -> (Request, Response) {
        let (producer_id, producer_epoch) = (ProducerId(1000), ProducerEpoch(5));
        let resumes = version >= 3;
        let request = InitProducerIdRequest {
            version,
            transactional_id: Some(self.id),
            transaction_timeout_ms: 60_000,
            producer_id: if resumes { producer_id } else { ProducerId::NONE },
            producer_epoch: if resumes { producer_epoch } else { ProducerEpoch::NONE },
            enable_2pc: false,
            keep_prepared_txn: false,
        };
        let response = InitProducerIdResponse::new(ErrorCode::None, producer_id, producer_epoch);
        (request.into(), response.into())
    }

    fn describe_transactions(&mut self) -> (Request, Response) {
        let (tp, transactional_id) = (self.tp(0), self.id);
        let (producer_id, producer_epoch) = (ProducerId(1000), ProducerEpoch(5));
        let description = TransactionDescription {
            transactional_id,
            state: TransactionState::Ongoing,
            producer_id,
            producer_epoch,
            transaction_timeout_ms: 1000,
            transaction_start_time_ms: 5,
            partitions: vec![tp, self.tp(3)],
        };
        let response =
            DescribeTransactionsResponse { error: ErrorCode::None, transaction: Some(description) };
        (DescribeTransactionsRequest { transactional_id }.into(), response.into())
    }

    fn data(&mut self, name: &str, version: i16) -> Option<(Request, Response)> {
        let (tp, none) = (self.tp(1), ErrorCode::None);
        Some(match name {
            "Produce" => self.produce(version),
            "Fetch" => self.fetch(version),
            "ListOffsets" => {
                let asked = ListOffsetsPartition {
                    partition: tp,
                    current_leader_epoch: LeaderEpoch(-1),
                    timestamp: ListOffsetsTimestamp::Latest,
                };
                let asker = ListOffsetsAsker::Consumer(IsolationLevel::ReadUncommitted);
                let request = ListOffsetsRequest { version, asker, partitions: Few::One(asked) };
                let answer = ListOffsetsPartitionResponse {
                    partition: tp,
                    error: none,
                    timestamp: -1,
                    offset: 8,
                };
                (request.into(), ListOffsetsResponse { partitions: Few::One(answer) }.into())
            }
            "OffsetForLeaderEpoch" => {
                let asked = OffsetForLeaderPartition {
                    partition: tp,
                    current_leader_epoch: LeaderEpoch(3),
                    leader_epoch: LeaderEpoch(2),
                };
                let answer = EpochEndOffset {
                    partition: tp,
                    error: none,
                    leader_epoch: LeaderEpoch(2),
                    end_offset: 40,
                };
                let request = OffsetForLeaderEpochRequest { partitions: Few::One(asked) };
                let response = OffsetForLeaderEpochResponse { partitions: Few::One(answer) };
                (request.into(), response.into())
            }
            "DescribeProducers" => {
                let producer = ProducerState {
                    producer_id: ProducerId(1000),
                    producer_epoch: ProducerEpoch(2),
                    last_sequence: Sequence(4),
                    last_timestamp: 99,
                    coordinator_epoch: CoordinatorEpoch(-1),
                    current_txn_start_offset: 3,
                };
                let response = DescribeProducersResponse {
                    partition: tp,
                    error: none,
                    producers: vec![producer],
                };
                (DescribeProducersRequest { partition: tp }.into(), response.into())
            }
            "DeleteRecords" => (
                DeleteRecordsRequest { partition: tp, offset: 4, timeout_ms: 100 }.into(),
                DeleteRecordsResponse { partition: tp, error: none, low_watermark: 4 }.into(),
            ),
            _ => return None,
        })
    }

    fn transaction(&mut self, name: &str, version: i16) -> Option<(Request, Response)> {
        let transactional_id = self.id;
        let (producer_id, producer_epoch) = (ProducerId(1000), ProducerEpoch(5));
        let error = ErrorCode::ConcurrentTransactions;
        Some(match name {
            "FindCoordinator" if version == 0 => (
                FindCoordinatorRequest { key: CoordinatorKey::Group(self.group) }.into(),
                FindCoordinatorResponse { error: ErrorCode::None, node: Some(BrokerId(1)) }.into(),
            ),
            "FindCoordinator" => (
                FindCoordinatorRequest { key: CoordinatorKey::Transaction(self.id) }.into(),
                FindCoordinatorResponse { error: ErrorCode::None, node: Some(BrokerId(1)) }.into(),
            ),
            "InitProducerId" => self.init_producer_id(version),
            "AddPartitionsToTxn" => self.add_partitions_to_txn(version),
            "AddOffsetsToTxn" => {
                let group = self.group;
                let request = AddOffsetsToTxnRequest {
                    version,
                    transactional_id,
                    producer_id,
                    producer_epoch,
                    group,
                };
                (request.into(), AddOffsetsToTxnResponse { error }.into())
            }
            "EndTxn" => {
                let committed = true;
                let request = EndTxnRequest {
                    version,
                    transactional_id,
                    producer_id,
                    producer_epoch,
                    committed,
                };
                let bumps = version >= 5;
                let response = EndTxnResponse {
                    error: ErrorCode::None,
                    producer_id: if bumps { producer_id } else { ProducerId::NONE },
                    producer_epoch: if bumps { producer_epoch } else { ProducerEpoch::NONE },
                };
                (request.into(), response.into())
            }
            "WriteTxnMarkers" => self.write_txn_markers(version),
            "DescribeTransactions" => self.describe_transactions(),
            "ListTransactions" => {
                let states = vec![TransactionState::Ongoing];
                let duration_ms = if version >= 1 { 10 } else { -1 };
                let request = ListTransactionsRequest {
                    producer_ids: vec![producer_id],
                    states,
                    duration_ms,
                };
                let transactions = vec![(self.id, producer_id, TransactionState::PrepareAbort)];
                (
                    request.into(),
                    ListTransactionsResponse { error: ErrorCode::None, transactions }.into(),
                )
            }
            _ => return None,
        })
    }

    fn offsets(&mut self, name: &str, version: i16) -> Option<(Request, Response)> {
        let (tp, group) = (self.tp(0), self.group);
        let results: PerPartition<ErrorCode> = [(tp, ErrorCode::UnstableOffsetCommit)].into();
        Some(match name {
            "TxnOffsetCommit" => {
                let member = if version >= 3 { self.member() } else { GroupMember::NONE };
                let request = TxnOffsetCommitRequest {
                    version,
                    transactional_id: self.id,
                    group,
                    producer_id: ProducerId(1),
                    producer_epoch: ProducerEpoch(2),
                    member,
                    offsets: vec![self.offset()],
                };
                (request.into(), TxnOffsetCommitResponse { partitions: results }.into())
            }
            "OffsetCommit" => {
                let (member, offsets) = (self.member(), vec![self.offset()]);
                let request = OffsetCommitRequest { version, group, member, offsets };
                (request.into(), OffsetCommitResponse { partitions: results }.into())
            }
            "OffsetFetch" => {
                let member = if version >= 9 { self.member() } else { GroupMember::NONE };
                let request = OffsetFetchRequest {
                    version,
                    group,
                    member,
                    partitions: Some(vec![tp]),
                    require_stable: version >= 7,
                };
                let result = OffsetFetchResult {
                    error: ErrorCode::None,
                    offset: 5,
                    leader_epoch: LeaderEpoch(-1),
                };
                let partitions = [(tp, result)].into();
                (request.into(), OffsetFetchResponse { error: ErrorCode::None, partitions }.into())
            }
            "OffsetDelete" => {
                let request = OffsetDeleteRequest { group, partitions: vec![tp] };
                let response = OffsetDeleteResponse { error: ErrorCode::None, partitions: results };
                (request.into(), response.into())
            }
            "DeleteGroups" => (
                DeleteGroupsRequest { group }.into(),
                DeleteGroupsResponse { error: ErrorCode::NonEmptyGroup }.into(),
            ),
            _ => return None,
        })
    }

    fn membership(&mut self, name: &str, version: i16) -> Option<(Request, Response)> {
        let (tp, group, member) = (self.tp(0), self.group, self.member);
        Some(match name {
            "JoinGroup" => {
                let time = Duration::from_millis(10_000);
                let request = JoinGroupRequest {
                    version,
                    group,
                    session_timeout: time,
                    rebalance_timeout: time,
                    member: Some(member),
                    instance: None,
                    protocols: vec![Assignor::Range],
                    subscription: vec![self.topic],
                };
                let subscription = vec![self.topic];
                let all = vec![JoinGroupResponseMember { member, instance: None, subscription }];
                let response = JoinGroupResponse {
                    error: ErrorCode::None,
                    generation: 3,
                    protocol: Some(Assignor::Range),
                    leader: Some(member),
                    member: Some(member),
                    members: all,
                };
                (request.into(), response.into())
            }
            "SyncGroup" => {
                let assignments = vec![(member, vec![tp, self.tp(1)])];
                let request = SyncGroupRequest { group, member: self.member(), assignments };
                let response = SyncGroupResponse { error: ErrorCode::None, assignment: vec![tp] };
                (request.into(), response.into())
            }
            "Heartbeat" => (
                HeartbeatRequest { group, member: self.member() }.into(),
                HeartbeatResponse { error: ErrorCode::RebalanceInProgress }.into(),
            ),
            "LeaveGroup" => {
                let request = LeaveGroupRequest { group, members: vec![(Some(member), None)] };
                let (error, members) = (ErrorCode::None, vec![ErrorCode::UnknownMemberId]);
                (request.into(), LeaveGroupResponse { error, members }.into())
            }
            "ConsumerGroupHeartbeat" => {
                let request = ConsumerGroupHeartbeatRequest {
                    group,
                    member,
                    member_epoch: 2,
                    instance: None,
                    rebalance_timeout: Some(Duration::from_millis(300)),
                    subscribed_topics: Some(vec![self.topic]),
                    server_assignor: Some(Assignor::Uniform),
                    topic_partitions: Some(vec![tp]),
                };
                let response = ConsumerGroupHeartbeatResponse {
                    error: ErrorCode::None,
                    member_epoch: 3,
                    heartbeat_interval: Duration::from_millis(5_000),
                    assignment: Some(vec![tp, self.tp(1)]),
                };
                (request.into(), response.into())
            }
            _ => return None,
        })
    }
}

/// What brokers answer of themselves, and so no part of the model.
const OF_THEMSELVES: [&str; 6] = [
    "ApiVersions",
    "Metadata",
    "CreateTopics",
    "DeleteTopics",
    "DescribeCluster",
    "DescribeConfigs",
];
/// The lowest version of Produce that is spoken in truth.
const PRODUCE_MIN: i16 = 3;

#[test]
fn every_spoken_version_of_every_api_comes_back() {
    let mut trips = 0;
    for (key, min, max) in spoken(KafkaVersion::V4_4) {
        let name = format!("{key:?}");
        if OF_THEMSELVES.contains(&name.as_str()) {
            continue;
        }
        for version in min.max(if name == "Produce" { PRODUCE_MIN } else { 0 })..=max {
            let mut world = world();
            let sample = world.sample(&name, version);
            let (request, response) = sample.unwrap_or_else(|| panic!("no sample of {name}"));
            let names = &mut world.names;
            let bytes = codec::write_request(&request, version, names);
            let bytes = bytes.unwrap_or_else(|e| panic!("{name} {version}: {e}"));
            let read = codec::read_request(key, version, bytes, names);
            assert_eq!(read, Ok(vec![request.clone()]), "{name} {version}");
            let responses = [response.clone()];
            let bytes = codec::write_response(&[request], &responses, version, names);
            let bytes = bytes.unwrap_or_else(|e| panic!("{name} {version}: {e}"));
            let read = codec::read_response(key, version, bytes, names);
            assert_eq!(read, Ok(response), "{name} {version}");
            trips += 1;
        }
    }
    assert!(trips > 100, "{trips} versions were tried");
}

#[test]
fn bytes_that_are_cut_off_or_changed_are_refused_or_read_but_never_more() {
    for (key, min, max) in spoken(KafkaVersion::V4_4) {
        let mut world = world();
        let Some((request, _)) = world.sample(&format!("{key:?}"), max) else { continue };
        for version in [min.max(PRODUCE_MIN).min(max), max] {
            let Ok(bytes) = codec::write_request(&request, version, &world.names) else { continue };
            for at in 0..bytes.len() {
                let cut = bytes.slice(..at);
                drop(codec::read_request(key, version, cut, &mut world.names));
                for value in [0x00, 0x7f, 0x80, 0xff] {
                    let mut changed = bytes.to_vec();
                    changed[at] = value;
                    drop(codec::read_request(key, version, changed.into(), &mut world.names));
                }
            }
        }
    }
}
