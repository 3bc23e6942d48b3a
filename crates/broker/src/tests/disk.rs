//! A disk that fails: KAFKA_STORAGE_ERROR, a broker that halts, a load that ends early.

use eosim_actor::{CrashKind, DiskError};
use eosim_types::message::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnTransaction, InitProducerIdRequest,
    InitProducerIdResponse, Response,
};
use eosim_types::{Defect, ErrorCode as E, ProducerEpoch, ProducerId, TransactionalId};

use super::cluster::{Cluster, Setup, t};
use super::requests::{batch, produce_to, produced_one};

#[test]
fn an_append_that_fails_halts_the_broker_and_what_was_written_stays_l_pipe_4() {
    for (error, written) in [(DiskError::BeforeWrite, 0), (DiskError::AfterWrite, 1)] {
        let mut cluster = Setup::default().build();
        cluster.run_for(10);
        cluster.break_disk(1, error);
        let data = || produce_to(t(0), batch(7, 0, 0, 1));
        assert_eq!(produced_one(cluster.ask(1, data())), (E::KafkaStorageError, -1));
        assert!(!cluster.is_up(1), "without a log directory a broker halts");
        assert!(cluster.mend_disk(1, error), "it has failed");
        cluster.restart(1);
        cluster.run_for(5_000);
        assert_eq!(cluster.replica(1, t(0)).log.log_end_offset(), written);
        assert_eq!(produced_one(cluster.ask(1, data())), (E::None, 0), "new, or a duplicate");
        assert_eq!(cluster.replica(1, t(0)).log.log_end_offset(), 1);
    }
}

#[test]
fn a_follower_halts_too_and_the_leader_goes_on() {
    let mut cluster = Setup::three(2).build();
    cluster.run_for(100);
    cluster.break_disk(3, DiskError::BeforeWrite);
    cluster.ask(1, produce_to(t(0), batch(7, 0, 0, 1)));
    assert_eq!([1, 2, 3].map(|id| cluster.is_up(id)), [true, true, false]);
    cluster.run_for(35_000);
    let next = produce_to(t(0), batch(7, 0, 1, 1));
    assert_eq!(produced_one(cluster.ask(1, next)), (E::None, 1), "one replica less is in sync");
}

#[test]
fn a_disk_that_nobody_writes_to_has_not_failed() {
    let mut cluster = Setup::default().build();
    cluster.break_disk(1, DiskError::AfterWrite);
    cluster.run_for(1_000);
    assert!(cluster.is_up(1) && !cluster.mend_disk(1, DiskError::AfterWrite));
}

/// A transaction's, shorter than the time from one look for those that are over to the next.
const TIMEOUT_MS: u16 = 5_000;

fn init_producer_id(cluster: &mut Cluster) -> InitProducerIdResponse {
    let request = InitProducerIdRequest {
        version: 5,
        transactional_id: Some(TransactionalId(1)),
        transaction_timeout_ms: TIMEOUT_MS.into(),
        producer_id: ProducerId::NONE,
        producer_epoch: ProducerEpoch::NONE,
        enable_2pc: false,
        keep_prepared_txn: false,
    };
    loop {
        let Response::InitProducerId(answer) = cluster.ask(1, request) else { panic!() };
        if answer.error.is_none() {
            return answer;
        }
    }
}

#[test]
fn what_is_written_while_keeping_house_halts_the_broker_at_once_l_pipe_4_c_tmo_2() {
    let mut cluster = Setup::default().build();
    cluster.run_for(10);
    let InitProducerIdResponse { producer_id, producer_epoch, .. } = init_producer_id(&mut cluster);
    let transaction = AddPartitionsToTxnTransaction {
        transactional_id: TransactionalId(1),
        producer_id,
        producer_epoch,
        verify_only: false,
        partitions: [t(0)].into(),
    };
    let add = AddPartitionsToTxnRequest { version: 3, transactions: [transaction].into() };
    let Response::AddPartitionsToTxn(_) = cluster.ask(1, add) else { panic!() };
    cluster.run_for(TIMEOUT_MS.into());
    cluster.break_disk(1, DiskError::AfterWrite);
    assert!(cluster.is_up(1) && cluster.keep_house(1));
    assert!(!cluster.is_up(1), "the abort was written to a disk that fails");
}

#[test]
fn what_was_read_before_an_error_is_taken_for_all_there_is_c_load_4() {
    let flaw = Defect::UpstreamCoordinatorPartialLoadInstalled;
    let released = Setup::default();
    let repaired = Setup::default().without(flaw);
    for (setup, is_forgotten) in [(released, true), (repaired, false)] {
        let mut cluster = setup.build();
        cluster.run_for(10);
        let first = init_producer_id(&mut cluster);
        cluster.kill(1, CrashKind::Process);
        let error = DiskError::Load { percent: 0 };
        cluster.break_disk(1, error);
        cluster.restart(1);
        cluster.run_for(5_000);
        let next = init_producer_id(&mut cluster);
        assert_eq!(next.producer_id != first.producer_id, is_forgotten);
        assert_eq!(next.producer_epoch.0, i16::from(!is_forgotten));
        assert!(cluster.mend_disk(1, error) && cluster.reached("H-6") > 0);
    }
}
