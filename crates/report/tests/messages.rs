//! Messages in one line each, and the transcript that holds them.

use std::sync::Arc;

use eosim_report::{Line, describe, describe_observed, transcript};
use eosim_types::message::*;
use eosim_types::metadata::MetadataImage;
use eosim_types::observation::*;
use eosim_types::record::*;
use eosim_types::version::TransactionVersion;
use eosim_types::*;
use expect_test::expect;

fn names() -> Names {
    let mut names = Names::default();
    names.add_topic("orders");
    names.add_transactional_id("writer");
    names.add_group("readers");
    names.add_value("x");
    names
}

const TP: TopicPartition = TopicPartition::new(Topic(2), 0);
const OTHER: TopicPartition = TopicPartition::new(Topic(2), 1);
const ID: TransactionalId = TransactionalId(1);
const GROUP: GroupId = GroupId(1);
const P: ProducerId = ProducerId(4);
const E: ProducerEpoch = ProducerEpoch(2);
const B: BrokerId = BrokerId(1);

fn data(names: &mut Names) -> RecordBatch {
    let record = Record { value: names.add_value("x"), key: None, value_bytes: 1 };
    RecordBatch {
        base_offset: 7,
        last_offset_delta: 0,
        partition_leader_epoch: LeaderEpoch(0),
        is_transactional: true,
        max_timestamp: 0,
        producer_id: P,
        producer_epoch: E,
        base_sequence: Sequence(3),
        payload: Payload::Records([record].into()),
    }
}

fn data_requests(names: &mut Names) -> Vec<Request> {
    let fetch = FetchPartition {
        partition: TP,
        fetch_offset: 7,
        current_leader_epoch: LeaderEpoch(0),
        last_fetched_epoch: LeaderEpoch(-1),
        log_start_offset: -1,
    };
    vec![
        ProduceRequest {
            version: 12,
            transactional_id: Some(ID),
            acks: -1,
            timeout_ms: 1,
            partitions: vec![(TP, data(names))],
        }
        .into(),
        FetchRequest {
            version: 11,
            replica: Some((B, 1)),
            isolation_level: IsolationLevel::ReadCommitted,
            max_wait_ms: 1,
            min_bytes: 1,
            partition_max_bytes: 1,
            metadata: FetchMetadata { session_id: 7, epoch: 3 },
            partitions: vec![fetch],
            forgotten: [OTHER].into(),
        }
        .into(),
        ListOffsetsRequest {
            version: 5,
            asker: ListOffsetsAsker::Consumer(IsolationLevel::ReadCommitted),
            partitions: Few::One(ListOffsetsPartition {
                partition: TP,
                current_leader_epoch: LeaderEpoch(0),
                timestamp: ListOffsetsTimestamp::Latest,
            }),
        }
        .into(),
        MetadataRequest {}.into(),
        AlterPartitionRequest {
            broker: B,
            broker_epoch: 1,
            partition: TP,
            leader_epoch: LeaderEpoch(3),
            partition_epoch: 1,
            new_isr: vec![(B, 1), (BrokerId(2), 1)],
        }
        .into(),
    ]
}

fn transaction_requests() -> Vec<Request> {
    let add = AddPartitionsToTxnTransaction {
        transactional_id: ID,
        producer_id: P,
        producer_epoch: E,
        verify_only: true,
        partitions: [TP, OTHER].into(),
    };
    let marker = WritableTxnMarker {
        producer_id: P,
        producer_epoch: E,
        transaction_result: TransactionResult::Abort,
        partitions: [TP, OTHER].into(),
        coordinator_epoch: CoordinatorEpoch(5),
        transaction_version: TransactionVersion::Tv2,
    };
    let init = InitProducerIdRequest {
        version: 5,
        transactional_id: None,
        transaction_timeout_ms: 1,
        producer_id: ProducerId::NONE,
        producer_epoch: ProducerEpoch::NONE,
        enable_2pc: false,
        keep_prepared_txn: false,
    };
    let end = EndTxnRequest {
        version: 5,
        transactional_id: ID,
        producer_id: P,
        producer_epoch: E,
        committed: true,
    };
    vec![
        FindCoordinatorRequest { key: CoordinatorKey::Transaction(ID) }.into(),
        init.into(),
        AddPartitionsToTxnRequest { version: 5, transactions: [add].into() }.into(),
        end.into(),
        WriteTxnMarkersRequest { version: 2, markers: [marker].into() }.into(),
    ]
}

fn group_requests() -> Vec<Request> {
    let offsets =
        vec![CommittableOffset { partition: TP, offset: 9, leader_epoch: LeaderEpoch(0) }];
    let member = GroupMember::NONE;
    let add = AddOffsetsToTxnRequest {
        version: 4,
        transactional_id: ID,
        producer_id: P,
        producer_epoch: E,
        group: GROUP,
    };
    let commit = TxnOffsetCommitRequest {
        version: 5,
        transactional_id: ID,
        group: GROUP,
        producer_id: P,
        producer_epoch: E,
        member,
        offsets: offsets.clone(),
    };
    let fetch = OffsetFetchRequest {
        version: 7,
        group: GROUP,
        member,
        partitions: None,
        require_stable: true,
    };
    vec![
        FindCoordinatorRequest { key: CoordinatorKey::Group(GROUP) }.into(),
        add.into(),
        commit.into(),
        OffsetCommitRequest { version: 7, group: GROUP, member, offsets }.into(),
        fetch.into(),
    ]
}

fn responses(names: &mut Names) -> Vec<Response> {
    let aborted =
        AbortedTxn { producer_id: P, first_offset: 4, last_offset: 7, last_stable_offset: 8 };
    vec![
        ProduceResponse {
            partitions: vec![ProducePartitionResponse {
                partition: TP,
                error: ErrorCode::OutOfOrderSequenceNumber,
                base_offset: -1,
                log_append_time: -1,
                log_start_offset: -1,
                record_errors: Vec::new(),
                current_leader: None,
            }],
        }
        .into(),
        FetchResponse {
            error: ErrorCode::None,
            session_id: 7,
            partitions: vec![FetchPartitionResponse {
                partition: TP,
                error: ErrorCode::None,
                high_watermark: 9,
                last_stable_offset: 8,
                log_start_offset: 0,
                aborted_transactions: vec![aborted],
                diverging_epoch: Some((LeaderEpoch(1), 5)),
                batches: [data(names)].into(),
            }],
        }
        .into(),
        FindCoordinatorResponse { error: ErrorCode::None, node: Some(B) }.into(),
        InitProducerIdResponse::new(
            ErrorCode::ConcurrentTransactions,
            ProducerId::NONE,
            ProducerEpoch::NONE,
        )
        .into(),
        AddPartitionsToTxnResponse {
            error: ErrorCode::None,
            results: [(
                ID,
                [(TP, ErrorCode::None), (OTHER, ErrorCode::InvalidProducerEpoch)].into(),
            )]
            .into(),
        }
        .into(),
        EndTxnResponse { error: ErrorCode::None, producer_id: P, producer_epoch: E }.into(),
        WriteTxnMarkersResponse {
            results: [(P, [(TP, ErrorCode::None), (OTHER, ErrorCode::None)].into())].into(),
        }
        .into(),
        FetchMetadataResponse { image: Arc::new(MetadataImage::default()) }.into(),
    ]
}

#[test]
fn requests_in_one_line() {
    let mut names = names();
    let lines = [data_requests(&mut names), transaction_requests(), group_requests()];
    let lines =
        lines.into_iter().flatten().map(|request| describe(&Message::Request(request), &names));
    expect![[r#"
        Produce v12 acks=-1 orders-0 seq 3 [x] of 4/2 transactional
        Fetch follower 1 orders-0@7 session 7 epoch 3 forgets orders-1
        ListOffsets read_committed orders-0 latest
        Metadata
        AlterPartition orders-0 leader epoch 3 ISR [1 2]
        FindCoordinator of transaction "writer"
        InitProducerId v5 no transactional id -1/-1
        AddPartitionsToTxn verify "writer" 4/2 orders-0, orders-1
        EndTxn v5 "writer" 4/2 COMMIT
        WriteTxnMarkers ABORT 4/2 coordinator epoch 5 to orders-0, orders-1
        FindCoordinator of group "readers"
        AddOffsetsToTxn v4 "writer" 4/2 group "readers"
        TxnOffsetCommit v5 "writer" 4/2 group "readers" orders-0@9
        OffsetCommit v7 "readers" orders-0@9
        OffsetFetch "readers" all partitions stable
    "#]]
    .assert_eq(&(lines.collect::<Vec<_>>().join("\n") + "\n"));
}

#[test]
fn responses_in_one_line() {
    let mut names = names();
    let lines = responses(&mut names);
    let lines = lines.into_iter().map(|response| describe(&Message::Response(response), &names));
    expect![[r#"
        Produce orders-0 OUT_OF_ORDER_SEQUENCE_NUMBER @-1
        Fetch orders-0 NONE HW 9 LSO 8 [1@7] aborted [4 from 4] diverging at leader epoch 1 ends @5
        FindCoordinator NONE broker 1
        InitProducerId CONCURRENT_TRANSACTIONS -1/-1
        AddPartitionsToTxn "writer" orders-0 NONE, orders-1 INVALID_PRODUCER_EPOCH
        EndTxn NONE 4/2
        WriteTxnMarkers producer id 4 NONE
        FetchMetadata metadata 0
    "#]]
    .assert_eq(&(lines.collect::<Vec<_>>().join("\n") + "\n"));
}

fn observations(names: &mut Names) -> Vec<Observed> {
    let transaction = TransactionRef { producer: ActorId(4), session: 1, number: 2 };
    let value = names.add_value("x");
    vec![
        Observed::ProducerOpened { session: 1, transactional_id: Some(ID) },
        Observed::TransactionsInitialized { session: 1 },
        Observed::TransactionBegun { transaction },
        Observed::SendCalled {
            value,
            partition: TP,
            session: 1,
            transaction: Some(transaction),
            input: None,
        },
        Observed::SendAnswered {
            value,
            partition: TP,
            outcome: SendOutcome::Acknowledged { offset: Some(7) },
        },
        Observed::SendAnswered {
            value,
            partition: TP,
            outcome: SendOutcome::Unknown { error: ErrorCode::RequestTimedOut },
        },
        Observed::OffsetsSent {
            transaction,
            group: GROUP,
            offsets: vec![(TP, 9)],
            error: ErrorCode::None,
        },
        Observed::EndCalled { transaction, commit: true },
        Observed::EndAnswered {
            transaction,
            commit: false,
            outcome: EndOutcome::Refused { error: ErrorCode::InvalidProducerEpoch },
        },
        Observed::ProducerFailed { session: 1, error: ErrorCode::ProducerFenced },
        Observed::ProducerClosed { session: 1 },
    ]
}

fn readings(names: &mut Names) -> Vec<Observed> {
    let isolation_level = IsolationLevel::ReadCommitted;
    let records = vec![(7, names.add_value("x")), (9, names.add_value("y"))];
    vec![
        Observed::Polled { partition: TP, isolation_level, from: 7, to: 11, records, bound: 12 },
        Observed::PositionSet { partition: TP, offset: 0 },
        Observed::EndOffset { partition: TP, isolation_level, offset: 4 },
        Observed::OffsetsFetched { group: GROUP, offsets: vec![(TP, -1)] },
        Observed::AssertionFailed { assertion: "LSO above HW".to_string() },
    ]
}

#[test]
fn observations_in_one_line() {
    let mut names = names();
    let lines = [observations(&mut names), readings(&mut names)];
    let lines = lines.iter().flatten().map(|what| describe_observed(what, &names));
    expect![[r#"
        session 1 opens, "writer"
        session 1 is initialised
        begins transaction 1.2
        sends x to orders-0 in transaction 1.2
        x to orders-0: acknowledged @7
        x to orders-0: unknown REQUEST_TIMED_OUT
        transaction 1.2 sends offsets of "readers" orders-0@9: NONE
        commits transaction 1.2
        aborts transaction 1.2: refused INVALID_PRODUCER_EPOCH
        session 1 has failed: PRODUCER_FENCED
        session 1 is closed
        reads orders-0 read_committed 7..11 below 12: [x@7 y@9]
        position of orders-0 is 0
        end of orders-0 read_committed is 4
        offsets of "readers" are orders-0@-1
        assertion failed: LSO above HW
    "#]]
    .assert_eq(&(lines.collect::<Vec<_>>().join("\n") + "\n"));
}

#[test]
fn a_transcript_has_a_legend_and_columns() {
    let line = |step, at, actor, event: &str| Line {
        at: Instant(at),
        step,
        actor: ActorId(actor),
        event: event.to_string(),
    };
    let lines = [
        line(1, 0, 2, "   -> [1] #5 InitProducerId v5 \"writer\" -1/-1"),
        line(2, 1_500_000, 1, "<- [2] InitProducerId v5 \"writer\" -1/-1"),
    ];
    let actors = ["controller", "broker-1", "writer"].map(String::from);
    expect![[r##"
        # step   number of the step within the run (--at STEP); 0 for what the world does
        # time   virtual time since the run began, seconds
        # actor  to whom it happened; [n] names it by number
        # <- x   it takes a request of the actor x, or the answer to its own request x
        # -> x   it sends a request to the actor x; #n names the request
        #  * x   its application does or learns x
        #  ! x   the world does x: a fault, or healing
        # p/e    producer id and producer epoch, as in 0/3; -1/-1 is none
        # seq    base sequence of a batch; n@o is n records from offset o on
        #
        # [0] controller
        # [1] broker-1
        # [2] writer

           step         time actor      event
              1     0.000000 writer        -> [1] #5 InitProducerId v5 "writer" -1/-1
              2     1.500000 broker-1   <- [2] InitProducerId v5 "writer" -1/-1
    "##]]
    .assert_eq(&transcript(&actors, &lines));
}
