//! Worked cases of the transactional producer.

mod harness;

use eosim_clients::ExceptionClass;
use eosim_clients::producer::{Call, CallId};
use eosim_types::config::ProducerConfig;
use eosim_types::version::TransactionVersion;
use eosim_types::{Duration, ErrorCode as E};
use harness::{Harness, config, image};

fn tv1() -> ProducerConfig {
    ProducerConfig { transaction_version: TransactionVersion::Tv1, ..config() }
}

/// A producer with an open transaction.
fn in_transaction(config: &ProducerConfig) -> Harness {
    let mut h = Harness::transactional(config);
    let begin = h.call(Call::BeginTransaction);
    assert_eq!((&h.returned[&begin], h.state()), (&Ok(()), "IN_TRANSACTION"));
    h
}

/// Version 1: a transaction to which partition 0 was added; its Produce is on the wire.
fn added(config: &ProducerConfig) -> (Harness, CallId) {
    let mut h = in_transaction(config);
    let call = h.send(0);
    h.answer_add_partitions(&[E::None]);
    (h, call)
}

#[test]
fn w_24_version_2_needs_no_add_partitions_and_adopts_the_epoch_of_end_txn_p_req_8_p_seq_12() {
    let mut h = in_transaction(&config());
    let record = h.send(0);
    let commit = h.call(Call::CommitTransaction);
    assert_eq!(h.on_wire(), ["t-0 e1 s0+1"], "P-REQ-9: EndTxn waits for the batch");
    h.answer_produce(0, E::None);
    assert_eq!(h.failure(record), None);
    h.answer_end_txn(E::None);
    assert_eq!((&h.returned[&commit], h.epoch(), h.state()), (&Ok(()), 2, "READY"));
    h.call(Call::BeginTransaction);
    h.send(0);
    let log: Vec<_> = h.log.iter().map(String::as_str).collect();
    assert_eq!(
        log,
        [
            "FindCoordinator",
            "InitProducerId(-1, -1)",
            "t-0 e1 s0+1",
            "EndTxn v5 commit e1",
            "t-0 e2 s0+1"
        ]
    );
}

#[test]
fn w_23_version_1_adds_partitions_first_and_keeps_its_epoch_p_seq_12() {
    let (mut h, _) = added(&tv1());
    h.answer_produce(0, E::None);
    h.call(Call::CommitTransaction);
    h.answer_end_txn(E::None);
    h.call(Call::BeginTransaction);
    h.send(0);
    h.answer_add_partitions(&[E::None]);
    let log: Vec<_> = h.log.iter().skip(2).map(String::as_str).collect();
    let add = "AddPartitionsToTxn t-0";
    assert_eq!(log, [add, "t-0 e1 s0+1", "EndTxn v4 commit e1", add, "t-0 e1 s1+1"]);
}

#[test]
fn first_init_producer_id_waits_one_backoff_p_snd_6() {
    let mut h = Harness::new(&config(), Some(1));
    h.call(Call::InitTransactions);
    h.sleep(99);
    assert!(h.on_wire().is_empty());
    h.sleep(1);
    assert_eq!(h.on_wire(), ["InitProducerId(-1, -1)"]);
}

#[test]
fn w_25_an_upgrade_seen_at_commit_is_followed_by_an_epoch_bump_p_tv_2_p_tv_3() {
    let old = image(1, 4, TransactionVersion::Tv1);
    let mut h = Harness::with_image(&config(), Some(1), old);
    h.call(Call::InitTransactions);
    h.sleep(100);
    h.answer_init(0, E::None, 13131, 1);
    h.call(Call::BeginTransaction);
    h.send(0);
    h.image = image(2, 4, TransactionVersion::Tv2);
    h.answer_add_partitions(&[E::None]);
    h.disconnect(1);
    h.sleep(200);
    h.answer_produce(0, E::None);
    let commit = h.call(Call::CommitTransaction);
    assert_eq!(h.on_wire(), ["EndTxn v4 commit e1"], "in the version that it began with");
    h.answer_end_txn(E::None);
    assert_eq!(h.on_wire(), ["InitProducerId(13131, 1)"]);
    h.answer_init(0, E::None, 13131, 2);
    assert_eq!(h.returned[&commit], Ok(()));
    h.call(Call::BeginTransaction);
    h.send(0);
    assert_eq!(h.on_wire(), ["t-0 e2 s0+1"]);
}

#[test]
fn an_upgrade_is_seen_with_the_next_connection_p_tv_1() {
    for makes_connection in [false, true] {
        let old = image(1, 4, TransactionVersion::Tv1);
        let mut h = Harness::with_image(&config(), Some(1), old);
        h.call(Call::InitTransactions);
        h.sleep(100);
        h.answer_init(0, E::None, 13131, 1);
        h.image = image(2, 4, TransactionVersion::Tv2);
        h.call(Call::BeginTransaction);
        h.send(0);
        h.answer_add_partitions(&[E::None]);
        if makes_connection {
            h.disconnect(1);
        } else {
            h.answer_produce(0, E::NotLeaderOrFollower); // which makes the client ask for metadata
        }
        h.sleep(200);
        h.answer_produce(0, E::None);
        h.call(Call::CommitTransaction);
        h.answer_end_txn(E::None);
        assert_eq!(h.on_wire() == ["InitProducerId(13131, 1)"], makes_connection);
    }
}

#[test]
fn w_26_the_first_add_partitions_meets_concurrent_transactions_for_20_ms_p_req_4() {
    let mut h = in_transaction(&tv1());
    h.send(0);
    h.answer_add_partitions(&[E::ConcurrentTransactions]);
    h.sleep(19);
    assert!(h.on_wire().is_empty());
    h.sleep(1);
    h.answer_add_partitions(&[E::CoordinatorLoadInProgress]);
    h.sleep(99);
    assert!(h.on_wire().is_empty(), "another error has the usual backoff");
    h.sleep(1);
    h.answer_add_partitions(&[E::None]);
    h.send(1);
    let add = h.wire.len() - 1;
    assert_eq!(h.on_wire()[add], "AddPartitionsToTxn t-1");
    h.answer_add_partitions(&[E::ConcurrentTransactions]);
    h.sleep(99);
    assert!(!h.on_wire().contains(&"AddPartitionsToTxn t-1".into()));
    h.sleep(1);
    assert!(h.on_wire().contains(&"AddPartitionsToTxn t-1".into()));
}

#[test]
fn w_28_a_lost_init_producer_id_is_looked_up_and_sent_again_p_req_1() {
    let mut h = Harness::new(&config(), Some(1));
    let init = h.call(Call::InitTransactions);
    h.sleep(100);
    h.disconnect(2);
    h.sleep(200);
    assert_eq!(h.on_wire(), ["InitProducerId(-1, -1)"]);
    h.answer_init(0, E::None, 13131, 0);
    assert_eq!(h.returned[&init], Ok(()));
    let lookups = h.log.iter().filter(|line| *line == "FindCoordinator").count();
    assert_eq!(lookups, 2);
}

#[test]
fn a_broken_connection_alone_makes_the_producer_look_up_the_coordinator_p_req_1() {
    let config = ProducerConfig { reconnect_backoff: Duration::ZERO, ..config() };
    let mut h = Harness::new(&config, Some(1));
    h.call(Call::InitTransactions);
    h.sleep(100);
    h.disconnect(2);
    h.sleep(200);
    let lookups = h.log.iter().filter(|line| *line == "FindCoordinator").count();
    assert_eq!(lookups, 2, "{:?}", h.log);
}

#[test]
fn w_29_fencing_is_fatal_and_every_call_says_so_p_st_6() {
    for error in [E::InvalidProducerEpoch, E::ProducerFenced] {
        let mut h = Harness::new(&config(), Some(1));
        let init = h.call(Call::InitTransactions);
        h.sleep(100);
        h.answer_init(0, error, -1, -1);
        assert!(h.thrown(init).is(E::ProducerFenced));
        for call in [Call::BeginTransaction, Call::CommitTransaction, Call::AbortTransaction] {
            let call = h.call(call);
            assert!(h.thrown(call).is(E::ProducerFenced));
        }
    }
}

#[test]
fn w_30_w_44_version_1_recovers_by_end_txn_and_an_epoch_bump_p_tv_6() {
    for error in [E::InvalidProducerEpoch, E::TopicAuthorizationFailed, E::TransactionAbortable] {
        let (mut h, record) = added(&tv1());
        h.answer_produce(0, error);
        assert_eq!((h.failure(record), h.state()), (Some(error), "ABORTABLE_ERROR"));
        let abort = h.call(Call::AbortTransaction);
        h.answer_end_txn(E::None);
        assert_eq!(
            (h.state(), h.on_wire()),
            ("INITIALIZING", vec!["InitProducerId(13131, 1)".into()])
        );
        assert!(!h.returned.contains_key(&abort));
        h.answer_init(0, E::None, 13131, 2);
        assert_eq!((&h.returned[&abort], h.state(), h.epoch()), (&Ok(()), "READY", 2));
        assert!(h.manager().partitions.is_empty(), "P-SEQ-11");
    }
}

#[test]
fn w_31_w_33_refused_partitions_are_abortable_and_nothing_is_ended_p_req_4_p_api_9() {
    let mut h = in_transaction(&tv1());
    let records = [h.send_only(0), h.send_only(1)];
    h.run();
    h.answer_add_partitions(&[E::TopicAuthorizationFailed, E::OperationNotAttempted]);
    assert_eq!(h.state(), "ABORTABLE_ERROR");
    for record in records {
        assert_eq!(h.failure(record), Some(E::TopicAuthorizationFailed));
        assert!(h.records[&record].definitely_refused);
    }
    let abort = h.call(Call::AbortTransaction);
    assert_eq!((&h.returned[&abort], h.state()), (&Ok(()), "READY"));
    assert!(h.on_wire().is_empty());
}

#[test]
fn w_35_a_failure_while_committing_drops_end_txn_and_commit_throws_p_api_5() {
    let (mut h, record) = added(&tv1());
    let commit = h.call(Call::CommitTransaction);
    h.answer_produce(0, E::OutOfOrderSequenceNumber);
    assert_eq!(h.failure(record), Some(E::OutOfOrderSequenceNumber));
    assert!(h.thrown(commit).is(E::OutOfOrderSequenceNumber), "unwrapped");
    assert!(h.producer.commit_is_refused());
    let abort = h.call(Call::AbortTransaction);
    h.answer_end_txn(E::None);
    assert_eq!((&h.returned[&abort], h.state()), (&Ok(()), "READY"));
}

#[test]
fn w_36_a_failure_while_aborting_changes_nothing_p_st_3() {
    let (mut h, _) = added(&tv1());
    h.call(Call::AbortTransaction);
    h.answer_produce(0, E::OutOfOrderSequenceNumber);
    assert_eq!(h.state(), "ABORTING_TRANSACTION");
    h.answer_end_txn(E::None);
    assert_eq!(h.state(), "READY");
}

#[test]
fn w_39_w_40_a_commit_that_timed_out_can_only_be_called_again_p_api_1_p_api_4() {
    let mut h =
        in_transaction(&ProducerConfig { max_block: Duration::from_millis(5_000), ..config() });
    h.send(0);
    h.answer_produce(0, E::None);
    let commit = h.call(Call::CommitTransaction);
    h.sleep(900);
    h.answer_end_txn(E::CoordinatorLoadInProgress);
    h.sleep(900);
    h.answer_end_txn(E::CoordinatorLoadInProgress);
    while !h.returned.contains_key(&commit) {
        h.sleep(500);
    }
    assert!(h.thrown(commit).is(E::RequestTimedOut));
    for other in [Call::BeginTransaction, Call::AbortTransaction, Call::InitTransactions] {
        let other = h.call(other);
        assert_eq!(h.thrown(other).class, ExceptionClass::IllegalState);
    }
    let again = h.call(Call::CommitTransaction);
    h.sleep(500);
    h.answer_end_txn(E::None);
    assert_eq!(h.returned[&again], Ok(()));
    let begin = h.call(Call::BeginTransaction);
    assert_eq!(h.returned[&begin], Ok(()));
}

#[test]
fn w_41_a_record_that_expires_unsent_drops_the_commit_p_err_1() {
    let mut h = in_transaction(&tv1());
    let record = h.send(0);
    let commit = h.call(Call::CommitTransaction);
    h.sleep(900);
    h.answer_add_partitions(&[E::CoordinatorLoadInProgress]);
    h.sleep(700);
    h.answer_add_partitions(&[E::None]);
    h.sleep(1);
    assert_eq!(h.failure(record), Some(E::RequestTimedOut));
    let thrown = h.thrown(commit);
    assert!(thrown.is(E::TransactionAbortable), "{thrown:?}");
    assert!(thrown.cause.is_some_and(|cause| cause.is(E::RequestTimedOut)));
    h.call(Call::AbortTransaction);
    assert!(h.on_wire().last().is_some_and(|line| line.starts_with("EndTxn v4 abort")));
}

#[test]
fn w_50_commit_answered_transaction_abortable_can_be_aborted_p_req_2() {
    let mut h = in_transaction(&config());
    h.send(0);
    h.answer_produce(0, E::None);
    let commit = h.call(Call::CommitTransaction);
    h.answer_end_txn(E::TransactionAbortable);
    assert!(h.thrown(commit).is(E::TransactionAbortable));
    assert!(h.producer.commit_is_refused());
    let abort = h.call(Call::AbortTransaction);
    h.answer_end_txn(E::None);
    assert_eq!((&h.returned[&abort], h.epoch()), (&Ok(()), 2));
}

#[test]
fn w_51_an_undrained_record_is_aborted_and_end_txn_goes_out_p_snd_2_p_api_9() {
    let config = ProducerConfig { linger: Duration::from_millis(50), ..config() };
    let mut h = in_transaction(&config);
    let record = h.send(0);
    h.call(Call::AbortTransaction);
    let failure = h.records[&record].result.clone().expect_err("aborted");
    assert_eq!(failure.class, ExceptionClass::TransactionAborted);
    assert_eq!(h.on_wire(), ["EndTxn v5 abort e1"], "version 2 counts it as started");
}

#[test]
fn w_58_completing_ignores_linger_p_acc_1() {
    let config = ProducerConfig { linger: Duration::from_millis(50), ..config() };
    let mut h = in_transaction(&config);
    h.send(0);
    assert!(h.on_wire().is_empty());
    h.call(Call::CommitTransaction);
    assert_eq!(h.on_wire(), ["t-0 e1 s0+1"]);
}

#[test]
fn an_empty_transaction_sends_nothing_p_api_9() {
    for (config, call) in [(config(), Call::CommitTransaction), (tv1(), Call::AbortTransaction)] {
        let mut h = in_transaction(&config);
        let end = h.call(call);
        assert_eq!((&h.returned[&end], h.state()), (&Ok(()), "READY"));
        assert!(h.on_wire().is_empty());
    }
}

#[test]
fn w_56_a_call_out_of_place_is_illegal_and_harmless_p_st_1() {
    let mut h = Harness::new(&config(), Some(1));
    let abort = h.call(Call::AbortTransaction);
    assert_eq!(h.thrown(abort).class, ExceptionClass::IllegalState);
    let begin = h.call(Call::BeginTransaction);
    assert_eq!(h.thrown(begin).class, ExceptionClass::IllegalState);
    h.call(Call::InitTransactions);
    h.sleep(100);
    h.answer_init(0, E::None, 13131, 0);
    assert_eq!(h.state(), "READY");
}

#[test]
fn a_refused_record_is_sent_later_only_as_released_p_api_6() {
    for (defects, batch) in [
        (eosim_types::DefectSet::as_released(), "t-0 e1 s0+2"),
        (Default::default(), "t-0 e1 s0+1"),
    ] {
        let mut h = Harness::transactional(&config());
        h.defects = defects;
        let refused = h.send(0);
        assert_eq!(h.thrown(refused).class, ExceptionClass::IllegalState);
        h.call(Call::BeginTransaction);
        h.send(0);
        h.call(Call::CommitTransaction);
        assert_eq!(h.on_wire(), [batch]);
    }
}

#[test]
fn w_57_close_aborts_what_is_open_and_force_says_nothing_p_api_8() {
    for (timeout, wire) in [(None, &["EndTxn v5 abort e1"][..]), (Some(Duration::ZERO), &[])] {
        let mut h = in_transaction(&config());
        h.send(0);
        h.answer_produce(0, E::None);
        let close = h.call(Call::Close { timeout });
        assert_eq!(h.on_wire(), wire);
        if timeout.is_none() {
            h.answer_end_txn(E::None);
        }
        assert_eq!(h.returned[&close], Ok(()));
    }
}

#[test]
fn w_59_init_that_timed_out_is_repeated_p_api_1() {
    let config = ProducerConfig { max_block: Duration::from_millis(5), ..config() };
    let mut h = Harness::new(&config, Some(1));
    let init = h.call(Call::InitTransactions);
    h.sleep(5);
    assert!(h.thrown(init).is(E::RequestTimedOut));
    let begin = h.call(Call::BeginTransaction);
    assert_eq!(h.thrown(begin).class, ExceptionClass::IllegalState);
    h.sleep(95);
    h.answer_init(0, E::None, 13131, 0);
    let again = h.call(Call::InitTransactions);
    assert_eq!(h.returned[&again], Ok(()));
}

#[test]
fn w_60_a_record_too_large_comes_back_in_the_future_and_spoils_the_transaction_p_api_6() {
    let mut h = in_transaction(&ProducerConfig { max_request_size: 80, ..config() });
    let record = h.send(0);
    assert_eq!((&h.returned[&record], h.failure(record)), (&Ok(()), Some(E::MessageTooLarge)));
    let commit = h.call(Call::CommitTransaction);
    assert_eq!(h.thrown(commit).class, ExceptionClass::Kafka);
}

#[test]
fn w_62_a_zombie_learns_it_from_the_leader_and_never_ends_its_transaction_p_err_4() {
    let mut h = in_transaction(&config());
    h.send(0);
    h.answer_produce(0, E::None);
    h.send(0);
    h.answer_produce(0, E::InvalidProducerEpoch);
    assert_eq!(h.state(), "ABORTABLE_ERROR");
    let commit = h.call(Call::CommitTransaction);
    assert!(h.thrown(commit).is(E::InvalidProducerEpoch));
    assert!(!h.log.iter().any(|line| line.starts_with("EndTxn")));
}
