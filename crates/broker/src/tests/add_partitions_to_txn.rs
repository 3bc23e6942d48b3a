//! Worked cases 55 to 58 of the leader: `AddPartitionsToTxnManagerTest`.

use alloc::vec;
use alloc::vec::Vec;

use eosim_types::message::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, AddPartitionsToTxnTransaction, Request,
};
use eosim_types::version::TransactionSupportedOperation::{
    self, AddPartition, DefaultError, GenericErrorSupported,
};
use eosim_types::{
    ActorId, BrokerId, ErrorCode, ProducerEpoch, ProducerId, Topic, TopicPartition, TransactionalId,
};

use super::cluster::t;
use super::fixture::{Fixture, partition};
use crate::add_partitions_to_txn_manager::{AddPartitionsToTxnManager, Refused, VerificationId};

struct Story {
    fixture: Fixture,
    manager: AddPartitionsToTxnManager,
}

fn state(partition: i32) -> TopicPartition {
    TopicPartition::new(Topic::TRANSACTION_STATE, partition)
}

impl Story {
    /// `leaders`: of the partitions of `__transaction_state`.
    fn new(leaders: &[i32]) -> Self {
        let mut fixture = Fixture::new(1);
        for (n, &leader) in (0..).zip(leaders) {
            fixture.image.partitions.insert(state(n), partition(leader, 0, &[1, 2, 3]));
        }
        Self { fixture, manager: AddPartitionsToTxnManager::default() }
    }

    fn add(&mut self, id: u16, epoch: i16, caller: u64) -> Vec<(u64, Refused)> {
        self.add_as(AddPartition, id, epoch, caller)
    }

    fn add_as(
        &mut self,
        operation: TransactionSupportedOperation,
        id: u16,
        epoch: i16,
        caller: u64,
    ) -> Vec<(u64, Refused)> {
        let transaction = AddPartitionsToTxnTransaction {
            transactional_id: TransactionalId(id),
            producer_id: ProducerId(i64::from(id)),
            producer_epoch: ProducerEpoch(epoch),
            verify_only: !operation.supports_epoch_bump(),
            partitions: [t(0), t(1), t(2)].into(),
        };
        let caller = VerificationId(caller);
        let manager = &mut self.manager;
        self.fixture.with(|io, _, _| {
            manager.add_or_verify_transaction(io, transaction, operation, caller);
        });
        self.finished()
    }

    fn finished(&mut self) -> Vec<(u64, Refused)> {
        let finished = core::iter::from_fn(|| self.manager.take_finished());
        finished.map(|(id, refused)| (id.0, refused)).collect()
    }

    /// What was sent, as (receiver, transactional ids).
    fn sent(&mut self) -> Vec<(u16, Vec<u16>)> {
        let ids = |request| match request {
            Request::AddPartitionsToTxn(AddPartitionsToTxnRequest { transactions, .. }) => {
                transactions.iter().map(|transaction| transaction.transactional_id.0).collect()
            }
            other => panic!("{other:?}"),
        };
        self.fixture.requests().into_iter().map(|(ActorId(to), r)| (to, ids(r))).collect()
    }

    fn answer(&mut self, node: i32, response: &AddPartitionsToTxnResponse) -> Vec<(u64, Refused)> {
        let manager = &mut self.manager;
        self.fixture.with(|io, _, _| manager.on_response(io, BrokerId(node), response));
        self.finished()
    }
}

fn all(error: ErrorCode) -> Refused {
    [(t(0), error), (t(1), error), (t(2), error)].into()
}

fn response(
    error: ErrorCode,
    results: Vec<(TransactionalId, Refused)>,
) -> AddPartitionsToTxnResponse {
    AddPartitionsToTxnResponse { error, results: results.into() }
}

#[test]
fn row_55_a_newer_item_replaces_a_waiting_one_l_a2t_4_l_a2t_3() {
    let mut story = Story::new(&[2]);
    assert!(story.add(9, 0, 90).is_empty());
    assert_eq!(story.sent(), [(2, vec![9])]);
    assert!(story.add(1, 0, 10).is_empty());
    assert!(story.add(3, 0, 30).is_empty());
    assert_eq!(story.add(1, 0, 11), [(10, all(ErrorCode::NetworkException))]);
    assert_eq!(story.add(1, 1, 12), [(11, all(ErrorCode::InvalidProducerEpoch))]);
    assert_eq!(story.add(1, 0, 13), [(13, all(ErrorCode::InvalidProducerEpoch))]);
    assert_eq!(story.sent(), []);
    let finished = story.answer(2, &response(ErrorCode::None, vec![]));
    assert_eq!(finished, [(90, Refused::new())], "in flight is not affected: L-A2T-5");
    assert_eq!(story.sent(), [(2, vec![3, 1])]);
}

#[test]
fn row_56_one_request_in_flight_per_node_l_a2t_3_l_a2t_1() {
    let mut story = Story::new(&[2]);
    story.add(1, 0, 1);
    story.fixture.image.partitions.get_mut(&state(0)).unwrap().leader = Some(BrokerId(3));
    story.add(2, 0, 2);
    assert_eq!(story.sent(), [(2, vec![1]), (3, vec![2])]);
    story.add(3, 0, 3);
    story.fixture.image.partitions.get_mut(&state(0)).unwrap().leader = Some(BrokerId(2));
    story.add(4, 0, 4);
    assert_eq!(story.sent(), []);
    story.answer(3, &response(ErrorCode::None, vec![]));
    assert_eq!(story.sent(), [(3, vec![3])], "node 2's waits for its answer: L-A2T-9");
}

#[test]
fn row_57_no_living_coordinator_l_a2t_2() {
    let unavailable = || vec![(1, all(ErrorCode::CoordinatorNotAvailable))];
    assert_eq!(Story::new(&[]).add(1, 0, 1), unavailable());
    let mut story = Story::new(&[2]);
    story.fixture.image.partitions.get_mut(&state(0)).unwrap().leader = None;
    assert_eq!(story.add(1, 0, 1), unavailable());
    let mut story = Story::new(&[2]);
    story.fixture.image.brokers.get_mut(&BrokerId(2)).unwrap().fenced = true;
    assert_eq!(story.add(1, 0, 1), unavailable());
}

#[test]
fn row_58_outcomes_of_the_transport_l_a2t_6_c_atm_4() {
    let table = [
        (ErrorCode::SaslAuthenticationFailed, all(ErrorCode::SaslAuthenticationFailed)),
        (ErrorCode::UnsupportedVersion, Refused::new()),
        (ErrorCode::ClusterAuthorizationFailed, all(ErrorCode::InvalidTxnState)),
        (ErrorCode::NotController, all(ErrorCode::NotController)),
    ];
    for (top_level, expected) in table {
        let mut story = Story::new(&[2]);
        story.add(1, 0, 1);
        assert_eq!(story.answer(2, &response(top_level, vec![])), [(1, expected)]);
    }
    let mut story = Story::new(&[2]);
    story.add(1, 0, 1);
    let manager = &mut story.manager;
    story.fixture.with(|io, _, _| manager.on_disconnected(io, BrokerId(2)));
    let lost = story.finished();
    assert_eq!(lost, [(1, all(ErrorCode::NetworkException))], "L-A2T-7: it may have taken effect");
}

#[test]
fn row_58_results_per_partition_l_map_1_l_a2t_8_p_err_5() {
    use ErrorCode as E;
    let table = [
        (AddPartition, E::ProducerFenced, E::InvalidProducerEpoch),
        (DefaultError, E::ProducerFenced, E::InvalidProducerEpoch),
        (AddPartition, E::InvalidTxnState, E::InvalidTxnState),
        (DefaultError, E::TransactionAbortable, E::InvalidTxnState),
        (GenericErrorSupported, E::TransactionAbortable, E::TransactionAbortable),
        (AddPartition, E::ConcurrentTransactions, E::ConcurrentTransactions),
    ];
    for (operation, answered, expected) in table {
        let mut story = Story::new(&[2]);
        story.add_as(operation, 1, 0, 1);
        let results = Refused::from([(t(0), E::None), (t(1), answered), (t(2), E::None)]);
        let answer = response(E::None, vec![(TransactionalId(1), results)]);
        assert_eq!(
            story.answer(2, &answer),
            [(1, Refused::One((t(1), expected)))],
            "{operation:?}"
        );
    }
    let mut story = Story::new(&[2]);
    story.add(9, 0, 9);
    story.add_as(DefaultError, 1, 0, 1);
    story.add_as(GenericErrorSupported, 2, 0, 2);
    story.answer(2, &response(E::None, vec![]));
    let abortable = |id| (TransactionalId(id), Refused::One((t(0), E::TransactionAbortable)));
    let finished = story.answer(2, &response(E::None, vec![abortable(1), abortable(2)]));
    let opened_by_default_error = Refused::One((t(0), E::InvalidTxnState));
    assert_eq!(finished, [(1, opened_by_default_error.clone()), (2, opened_by_default_error)]);
}
