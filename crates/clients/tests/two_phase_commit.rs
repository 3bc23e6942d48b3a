//! The producer's side of two-phase commit (KIP-939).

mod harness;

use eosim_clients::producer::{Call, PreparedTransaction, Producer, ProducerIdAndEpoch};
use eosim_types::config::ProducerConfig;
use eosim_types::message::{InitProducerIdResponse, Request};
use eosim_types::record::Record;
use eosim_types::version::TransactionVersion;
use eosim_types::{ErrorCode as E, ProducerEpoch, ProducerId, Value};
use harness::{Harness, config, t};

fn two_phase() -> ProducerConfig {
    ProducerConfig { transaction_two_phase_commit_enable: true, ..config() }
}

fn pair(id: i64, epoch: i16) -> ProducerIdAndEpoch {
    ProducerIdAndEpoch::new(ProducerId(id), ProducerEpoch(epoch))
}

/// A producer with one acknowledged record in an open transaction, id 13131 at epoch 1.
fn in_transaction(config: &ProducerConfig) -> Harness {
    let mut h = Harness::transactional(config);
    h.call(Call::BeginTransaction);
    h.send(0);
    h.answer_produce(0, E::None);
    h
}

#[test]
fn the_request_says_what_it_is_for_p_cfg_6() {
    for (config, call, version, enable_2pc, keep_prepared_txn) in [
        (config(), Call::InitTransactions, 5, false, false),
        (two_phase(), Call::InitTransactions, 6, true, false),
        (config(), Call::InitTransactionsKeepPrepared, 6, false, true),
        (two_phase(), Call::InitTransactionsKeepPrepared, 6, true, true),
    ] {
        let mut h = Harness::new(&config, Some(1));
        h.call(call);
        h.sleep(100);
        let Request::InitProducerId(request) = h.wire[0].request else { panic!("{:?}", h.wire) };
        let seen = (request.version, request.enable_2pc, request.keep_prepared_txn);
        assert_eq!(seen, (version, enable_2pc, keep_prepared_txn));
    }
}

#[test]
fn prepare_flushes_and_waits_for_a_decision() {
    let mut h = Harness::transactional(&two_phase());
    h.call(Call::BeginTransaction);
    h.send(0);
    let prepare = h.call(Call::PrepareTransaction);
    assert!(!h.returned.contains_key(&prepare), "the record is not acknowledged");
    h.answer_produce(0, E::None);
    assert_eq!((h.returned[&prepare].clone(), h.state()), (Ok(()), "PREPARED_TRANSACTION"));
    let prepared = h.producer.prepared_transaction();
    let is_transaction_v2_enabled = true;
    let expected = PreparedTransaction { producer: pair(13131, 1), is_transaction_v2_enabled };
    assert_eq!(prepared, Some(expected));
    h.call(Call::CommitTransaction);
    assert_eq!(h.on_wire(), ["EndTxn v5 commit e1"]);
    h.answer_end_txn(E::None);
    assert_eq!((h.state(), h.epoch()), ("READY", 2));
}

#[test]
fn a_prepared_transaction_allows_nothing_but_its_end() {
    let record = Record { value: Value(9), key: None, value_bytes: 1 };
    for call in [
        Call::InitTransactions,
        Call::BeginTransaction,
        Call::Send { partition: t(0), record },
        Call::Flush,
        Call::PrepareTransaction,
    ] {
        let mut h = in_transaction(&two_phase());
        h.call(Call::PrepareTransaction);
        let refused = h.call(call.clone());
        assert_eq!(h.thrown(refused).class.name(), "IllegalStateException", "{call:?}");
        assert_eq!(h.state(), "PREPARED_TRANSACTION");
    }
}

#[test]
fn complete_commits_what_was_prepared_and_aborts_anything_else() {
    for (token, end_txn) in [
        (pair(13131, 1), "EndTxn v5 commit e1"),
        (pair(13131, 0), "EndTxn v5 abort e1"),
        (pair(13132, 1), "EndTxn v5 abort e1"),
    ] {
        let mut h = in_transaction(&two_phase());
        let early = h.call(Call::CompleteTransaction(token));
        assert_eq!(h.thrown(early).error_code(), E::InvalidTxnState, "nothing is prepared");
        h.call(Call::PrepareTransaction);
        let complete = h.call(Call::CompleteTransaction(token));
        assert_eq!(h.on_wire(), [end_txn]);
        h.answer_end_txn(E::None);
        assert_eq!((h.returned[&complete].clone(), h.state()), (Ok(()), "READY"));
    }
}

#[test]
fn without_two_phase_commit_nothing_is_prepared() {
    let mut h = in_transaction(&config());
    let refused = h.call(Call::PrepareTransaction);
    assert_eq!(h.thrown(refused).error_code(), E::InvalidTxnState);
    assert_eq!(h.state(), "IN_TRANSACTION");
}

#[test]
fn close_leaves_a_prepared_transaction_alone_p_st_5_p_api_8() {
    let mut h = in_transaction(&two_phase());
    h.call(Call::PrepareTransaction);
    let close = h.call(Call::Close { timeout: None });
    assert_eq!((h.returned[&close].clone(), h.on_wire()), (Ok(()), vec![]));
    let mut h = in_transaction(&two_phase());
    h.call(Call::Close { timeout: None });
    assert_eq!(h.on_wire(), ["EndTxn v5 abort e1"], "any other is aborted");
}

#[test]
fn w_61_a_kept_transaction_is_prepared_p_req_5() {
    for (call, kept, state) in [
        (Call::InitTransactionsKeepPrepared, true, "PREPARED_TRANSACTION"),
        (Call::InitTransactionsKeepPrepared, false, "READY"),
        (Call::InitTransactions, true, "READY"),
    ] {
        let mut h = Harness::new(&two_phase(), Some(1));
        h.call(call);
        h.sleep(100);
        let ongoing = if kept { pair(12345, 5) } else { ProducerIdAndEpoch::NONE };
        let answer = InitProducerIdResponse {
            ongoing_txn_producer_id: ongoing.producer_id,
            ongoing_txn_producer_epoch: ongoing.producer_epoch,
            ..InitProducerIdResponse::new(E::None, ProducerId(12345), ProducerEpoch(6))
        };
        let sent = h.wire.remove(0);
        h.hand(&sent, answer);
        h.run();
        assert_eq!(h.state(), state);
        let prepared = Producer::prepared_transaction(&h.producer).map(|kept| kept.producer);
        assert_eq!(prepared, (state != "READY").then_some(pair(12345, 5)));
    }
}

#[test]
fn a_transaction_of_a_life_before_is_ended_under_its_own_id_and_version() {
    for (is_transaction_v2_enabled, end_txn) in
        [(true, "EndTxn v5 commit e3"), (false, "EndTxn v4 commit e3")]
    {
        let config = ProducerConfig {
            transaction_version: if is_transaction_v2_enabled {
                TransactionVersion::Tv2
            } else {
                TransactionVersion::Tv1
            },
            ..two_phase()
        };
        let mut h = Harness::new(&config, Some(1));
        let transaction = PreparedTransaction { producer: pair(77, 3), is_transaction_v2_enabled };
        let resume = h.call(Call::ResumeTransaction(transaction));
        assert_eq!(h.returned[&resume], Ok(()));
        h.call(Call::CommitTransaction);
        h.sleep(200);
        assert_eq!(h.on_wire(), [end_txn]);
        assert!(!h.log.iter().any(|sent| sent.starts_with("InitProducerId")));
    }
}
