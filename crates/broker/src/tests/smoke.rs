//! The main line: produce, replicate, fetch; a whole transaction.

use eosim_types::message::{
    EndTxnRequest, InitProducerIdRequest, InitProducerIdResponse, IsolationLevel, Response,
};
use eosim_types::{ErrorCode, ProducerEpoch, ProducerId};

use super::cluster::{Cluster, Setup, t};
use super::requests::{ID, batch, fetch, fetched, produce_to, produced_one, transactional};

fn init(cluster: &mut Cluster, to: i32) -> InitProducerIdResponse {
    let request = InitProducerIdRequest {
        version: 6,
        transactional_id: Some(ID),
        transaction_timeout_ms: 60_000,
        producer_id: ProducerId::NONE,
        producer_epoch: ProducerEpoch::NONE,
        enable_2pc: false,
        keep_prepared_txn: false,
    };
    loop {
        let Response::InitProducerId(response) = cluster.ask(to, request) else { panic!() };
        if response.error.is_none() {
            return response;
        }
    }
}

#[test]
fn one_broker_appends_and_serves() {
    let mut cluster = Setup::default().build();
    cluster.run_for(10);
    assert_eq!(
        produced_one(cluster.ask(1, produce_to(t(0), batch(7, 0, 0, 3)))),
        (ErrorCode::None, 0)
    );
    let answer = fetched(cluster.ask(1, fetch(t(0), 0, IsolationLevel::ReadUncommitted)));
    assert_eq!((answer.high_watermark, answer.batches.len()), (3, 1));
}

#[test]
fn a_whole_transaction_under_version_2() {
    let mut cluster = Setup::three(2).build();
    cluster.run_for(1_000);
    let InitProducerIdResponse { producer_id, producer_epoch, .. } = init(&mut cluster, 2);
    let data = transactional(producer_id.0, producer_epoch.0, 0, 2);
    assert_eq!(produced_one(cluster.ask(1, produce_to(t(0), data))), (ErrorCode::None, 0));
    let end = EndTxnRequest {
        version: 5,
        transactional_id: ID,
        producer_id,
        producer_epoch,
        committed: true,
    };
    let Response::EndTxn(ended) = cluster.ask(2, end) else { panic!() };
    assert_eq!((ended.error, ended.producer_epoch.0), (ErrorCode::None, producer_epoch.0 + 1));
    cluster.run_for(1_000);
    let answer = fetched(cluster.ask(1, fetch(t(0), 0, IsolationLevel::ReadCommitted)));
    assert_eq!((answer.last_stable_offset, answer.batches.len()), (3, 2));
    assert!(answer.batches[1].is_control());
    for broker in 1..=3 {
        assert_eq!(cluster.replica(broker, t(0)).log.high_watermark(), 3, "broker {broker}");
    }
}
