//! DescribeTransactions, ListTransactions, FindCoordinator, dump.

use eosim_transaction_coordinator::TransactionCoordinator;
use eosim_types::message::{
    CoordinatorKey, DescribeTransactionsRequest, FindCoordinatorRequest, ListTransactionsRequest,
    Request, Response,
};
use eosim_types::record::TransactionState::{self, *};
use eosim_types::{BrokerId, ErrorCode, ProducerId, Topic, TopicPartition, TransactionalId};

use crate::harness::*;

fn list(world: &mut World, request: ListTransactionsRequest) -> (ErrorCode, usize) {
    let Some(Response::ListTransactions(response)) = world.request(request) else {
        panic!("answered at once")
    };
    (response.error, response.transactions.len())
}

fn filter(duration_ms: i64) -> ListTransactionsRequest {
    ListTransactionsRequest { duration_ms, ..ListTransactionsRequest::default() }
}

#[test]
fn describe_reads_memory_c_adm_1() {
    let mut world = World::cold();
    assert_eq!(world.describe(), "NOT_COORDINATOR");
    world.elect(0);
    assert_eq!(world.describe(), "COORDINATOR_LOAD_IN_PROGRESS");
    world.finish_load(0, &[], 0, 0);
    assert_eq!(world.describe(), "TRANSACTIONAL_ID_NOT_FOUND");
    world.hold_markers = true;
    let parts = [TOPIC1_0, TOPIC1_1];
    world.load(1, &[given(PrepareCommit, 10, 2).parts(&parts).record()]);
    assert_eq!(world.describe(), "PrepareCommit(10,2)");
    world.finish_markers(ErrorCode::None);
    let request = DescribeTransactionsRequest { transactional_id: KNOWN };
    let Some(Response::DescribeTransactions(response)) = world.request(request) else { panic!() };
    let transaction = response.transaction.expect("the id is known");
    assert_eq!(transaction.partitions, [TOPIC1_1], "the set shrinks as markers are written");
    assert_eq!(transaction.transaction_start_time_ms, 0);
}

#[test]
fn before_the_start_nothing_is_available_c_lk_3_c_lk_4() {
    let mut world = World::cold();
    world.call(|c, _| c.reset());
    assert_eq!(world.describe(), "COORDINATOR_NOT_AVAILABLE");
    let answer = list(&mut world, filter(-1));
    assert_eq!(answer, (ErrorCode::CoordinatorNotAvailable, 0));
    assert_eq!(world.init(None), "NOT_COORDINATOR (-1,-1)");
    world.call(TransactionCoordinator::start);
    let request = DescribeTransactionsRequest { transactional_id: TransactionalId::EMPTY };
    let Some(Response::DescribeTransactions(response)) = world.request(request) else { panic!() };
    assert_eq!(response.error, ErrorCode::InvalidRequest);
}

#[test]
fn list_filters_c_adm_2() {
    let mut world = World::with(given(Ongoing, 10, 1));
    let with_state = |states: &[TransactionState]| ListTransactionsRequest {
        states: states.to_vec(),
        ..filter(-1)
    };
    let with_id = |id| ListTransactionsRequest { producer_ids: vec![ProducerId(id)], ..filter(-1) };
    let cases = [
        (filter(-1), 1),
        (filter(999), 1), // It began 1000 ms ago.
        (filter(1000), 0),
        (with_state(&[Ongoing, Empty]), 1),
        (with_state(&[Empty]), 0),
        (with_id(10), 1),
        (with_id(11), 0),
    ];
    for (request, count) in cases {
        assert_eq!(list(&mut world, request), (ErrorCode::None, count));
    }
    world.call(|c, cx| c.on_elected(cx, 49, eosim_types::CoordinatorEpoch(0)));
    let answer = list(&mut world, filter(-1));
    assert_eq!(answer, (ErrorCode::CoordinatorLoadInProgress, 0), "any partition loading");
}

#[test]
fn an_empty_id_passes_every_age_c_adm_2() {
    let mut world = World::with(given(Empty, 10, 1));
    assert_eq!(list(&mut world, filter(1000)), (ErrorCode::None, 1));
}

fn find(world: &mut World, key: CoordinatorKey) -> Option<BrokerId> {
    let Some(Response::FindCoordinator(response)) = world.request(FindCoordinatorRequest { key })
    else {
        panic!("answered at once")
    };
    assert_eq!(response.error == ErrorCode::None, response.node.is_some());
    response.node
}

#[test]
fn the_leader_of_the_partition_coordinates_c_part_1_c_part_2_c_part_5() {
    let mut world = World::cold();
    let id = world.names.add_transactional_id("u12-txn");
    let group = world.names.add_group("u12-fence");
    let state = TopicPartition::new(Topic::TRANSACTION_STATE, 23);
    let offsets = TopicPartition::new(Topic::CONSUMER_OFFSETS, 26);
    for tp in [state, offsets] {
        world.metadata.partitions.get_mut(&tp).expect("50 partitions").leader = Some(B2);
    }
    assert_eq!(find(&mut world, CoordinatorKey::Transaction(id)), Some(B2));
    assert_eq!(find(&mut world, CoordinatorKey::Group(group)), Some(B2));
    assert_eq!(find(&mut world, CoordinatorKey::Transaction(KNOWN)), Some(B1));
    world.metadata.brokers.get_mut(&B2).expect("registered").fenced = true;
    assert_eq!(find(&mut world, CoordinatorKey::Transaction(id)), None, "not alive");
    world.metadata.partitions.get_mut(&offsets).expect("50 partitions").leader = None;
    assert_eq!(find(&mut world, CoordinatorKey::Group(group)), None, "no leader");
    world.metadata.partitions.clear();
    assert_eq!(find(&mut world, CoordinatorKey::Transaction(KNOWN)), None, "no topic");
}

#[test]
#[should_panic(expected = "Metadata is no request to a coordinator")]
fn other_requests_are_a_mistake_of_the_broker() {
    World::cold().send(Request::Metadata(eosim_types::message::MetadataRequest {}));
}
