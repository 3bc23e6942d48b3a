//! Further worked cases of the producer.

mod harness;

use eosim_clients::producer::{Call, CallId, State, Written, validated};
use eosim_clients::{ApiVersions, ExceptionClass};
use eosim_types::config::ProducerConfig;
use eosim_types::message::ApiKey;
use eosim_types::version::TransactionVersion;
use eosim_types::{Duration, ErrorCode as E, Sequence};
use harness::{Harness, config};

fn tv1() -> ProducerConfig {
    ProducerConfig { transaction_version: TransactionVersion::Tv1, ..config() }
}

/// A request outlives its batch.
fn patient(config: &ProducerConfig) -> ProducerConfig {
    ProducerConfig { request_timeout: Duration::from_millis(9_000), ..config.clone() }
}

fn in_transaction(config: &ProducerConfig) -> Harness {
    let mut h = Harness::transactional(config);
    h.call(Call::BeginTransaction);
    h
}

/// Version 1 with partition 0 in the transaction and its Produce on the wire.
fn added(config: &ProducerConfig) -> (Harness, CallId) {
    let mut h = in_transaction(config);
    let call = h.send(0);
    h.answer_add_partitions(&[E::None]);
    (h, call)
}

/// The same with a coordinator whose InitProducerId cannot bump an epoch.
fn added_without_bump() -> (Harness, CallId) {
    let mut h = Harness::new(&tv1(), Some(1));
    let old = ApiVersions::default().with_newest(ApiKey::InitProducerId, 1);
    h.answers_api_versions = false;
    h.producer.connected(old, 1, TransactionVersion::Tv1);
    h.call(Call::InitTransactions);
    h.sleep(100);
    h.answer_init(0, E::None, 13131, 1);
    h.call(Call::BeginTransaction);
    let call = h.send(0);
    h.answer_add_partitions(&[E::None]);
    (h, call)
}

#[test]
fn w_03_a_healthy_partition_finishes_under_the_id_that_ran_out_p_seq_9() {
    let mut h = Harness::idempotent(&config(), i16::MAX);
    for partition in [0, 0, 1] {
        h.send(partition);
    }
    h.answer_produce(2, E::InvalidRecord);
    assert_eq!(h.id_and_epoch(), (-1, -1));
    h.answer_init(0, E::None, 13132, 0);
    h.next_offset = 500;
    h.answer_produce(0, E::None);
    assert_eq!(h.numbering(0), (2, 0, 500, 1));
    assert_eq!(h.on_wire(), ["t-0 e32767 s1+1"]);
    h.answer_produce(0, E::None);
    h.send(0);
    assert_eq!(h.on_wire(), ["t-0 e0 s0+1"]);
    assert_eq!(h.numbering(0), (1, -1, 501, 1));
}

#[test]
fn w_04_sequences_wrap_to_zero_p_dm_2() {
    let mut next = Sequence::ZERO;
    for (count, expected) in [(i32::MAX, i32::MAX), (100, 99), (i32::MAX, 98)] {
        next = next.advance(count);
        assert_eq!(next.0, expected);
    }
}

#[test]
fn w_06_the_success_of_the_last_batch_resolves_those_that_expired_p_seq_6() {
    let mut h = Harness::idempotent(&patient(&config()), 5);
    h.send(0);
    h.send(0);
    h.sleep(500);
    h.send(0);
    h.answer_produce(0, E::NotLeaderOrFollower);
    h.answer_produce(0, E::NotLeaderOrFollower);
    h.sleep(1_000);
    assert_eq!(h.manager().unresolved.len(), 1);
    h.answer_produce(0, E::None);
    h.send(0);
    assert!(h.manager().unresolved.is_empty());
    assert_eq!((h.epoch(), h.numbering(0).0), (5, 4));
    assert_eq!(h.log.last().map(String::as_str), Some("t-0 e5 s3+1"));
}

#[test]
fn w_07_a_hole_behind_the_last_acknowledged_batch_bumps_the_epoch_p_seq_6() {
    let mut h = Harness::idempotent(&patient(&config()), 1);
    for _ in 0..3 {
        h.send(0);
    }
    for error in [E::NotLeaderOrFollower, E::None, E::NotLeaderOrFollower] {
        h.answer_produce(0, error);
    }
    h.sleep(1_500);
    h.send(0);
    assert_eq!(h.epoch(), 2);
    assert_eq!(h.log.last().map(String::as_str), Some("t-0 e2 s0+1"));
}

#[test]
fn w_27_end_txn_waits_for_every_batch_p_req_9() {
    let mut h = in_transaction(&config());
    h.send(0);
    h.send(1);
    h.call(Call::CommitTransaction);
    h.answer_produce(1, E::None);
    assert_eq!(h.on_wire(), ["t-0 e1 s0+1"]);
    h.answer_produce(0, E::None);
    assert_eq!(h.on_wire(), ["EndTxn v5 commit e1"]);
}

#[test]
fn w_32_a_commit_behind_refused_partitions_throws_and_sends_nothing_p_api_5() {
    let mut h = in_transaction(&tv1());
    let records = [h.send_only(0), h.send_only(1)];
    h.run();
    let commit = h.call(Call::CommitTransaction);
    h.answer_add_partitions(&[E::TopicAuthorizationFailed, E::OperationNotAttempted]);
    for record in records {
        assert_eq!(h.failure(record), Some(E::TopicAuthorizationFailed));
    }
    assert!(h.thrown(commit).is(E::TopicAuthorizationFailed));
    assert!(h.on_wire().is_empty());
}

#[test]
fn w_34_a_batch_in_retry_is_sent_again_although_the_transaction_is_lost_p_snd_2() {
    let (mut h, first) = added(&tv1());
    h.answer_produce(0, E::RequestTimedOut);
    let never_sent = h.send(1);
    h.answer_add_partitions(&[E::TopicAuthorizationFailed]);
    assert_eq!(h.failure(never_sent), Some(E::TopicAuthorizationFailed));
    h.sleep(100);
    assert_eq!(h.on_wire(), ["t-0 e1 s0+1"]);
    h.answer_produce(0, E::None);
    assert_eq!(h.failure(first), None);
    h.call(Call::AbortTransaction);
    assert_eq!(h.on_wire(), ["EndTxn v4 abort e1"]);
}

#[test]
fn w_37_what_is_in_retry_goes_before_the_abort_p_snd_3() {
    let mut h = in_transaction(&tv1());
    let record = h.send(0);
    h.answer_add_partitions(&[E::UnknownTopicOrPartition]);
    h.call(Call::AbortTransaction);
    h.sleep(100);
    assert_eq!(h.on_wire(), ["AddPartitionsToTxn t-0"]);
    h.answer_add_partitions(&[E::None]);
    assert_eq!(h.on_wire(), ["EndTxn v4 abort e1"]);
    let failure = h.records[&record].result.as_ref().expect_err("aborted");
    assert_eq!(failure.class, ExceptionClass::TransactionAborted);
    let (mut h, record) = added(&tv1());
    h.answer_produce(0, E::RequestTimedOut);
    h.call(Call::AbortTransaction);
    h.sleep(100);
    h.answer_produce(0, E::None);
    assert_eq!((h.failure(record), h.on_wire()), (None, vec!["EndTxn v4 abort e1".to_string()]));
}

#[test]
fn w_38_a_coordinator_may_be_looked_up_in_abortable_error_p_snd_4() {
    let (mut h, _) = added(&tv1());
    h.send(1);
    h.answer_produce(0, E::TopicAuthorizationFailed);
    assert_eq!(h.state(), "ABORTABLE_ERROR");
    h.log.clear();
    h.answer_add_partitions(&[E::NotCoordinator]);
    h.sleep(200);
    assert_eq!((&h.log[..], h.state()), (&["FindCoordinator".to_string()][..], "ABORTABLE_ERROR"));
}

#[test]
fn w_42_unacknowledged_records_are_fatal_to_one_that_cannot_bump_p_seq_6() {
    for (state, (mut h, record)) in
        [("FATAL_ERROR", added_without_bump()), ("ABORTABLE_ERROR", added(&tv1()))]
    {
        h.answer_produce(0, E::NotLeaderOrFollower);
        h.call(Call::CommitTransaction);
        h.sleep(3_000);
        assert_eq!((h.failure(record), h.state()), (Some(E::RequestTimedOut), state));
    }
}

#[test]
fn w_43_without_a_bump_the_numbers_are_shifted_back_p_seq_7() {
    for (error, next) in [(E::TopicAuthorizationFailed, 2), (E::UnknownProducerId, 0)] {
        let (mut h, _) = added_without_bump();
        h.answer_produce(0, E::None);
        h.send(0);
        h.answer_produce(0, E::None);
        h.send(0);
        h.answer_produce_with(0, error, 0);
        h.call(Call::AbortTransaction);
        h.answer_end_txn(E::None);
        assert_eq!(h.state(), "READY");
        h.call(Call::BeginTransaction);
        h.send(0);
        h.answer_add_partitions(&[E::None]);
        assert_eq!(h.on_wire(), [format!("t-0 e1 s{next}+1")], "{error}");
    }
}

#[test]
fn w_45_a_transaction_that_never_started_is_left_by_an_epoch_bump_alone_p_tv_6() {
    let mut h = in_transaction(&tv1());
    h.send(0);
    h.answer_add_partitions(&[E::UnknownProducerId]);
    assert_eq!(h.state(), "ABORTABLE_ERROR");
    let abort = h.call(Call::AbortTransaction);
    assert_eq!(h.on_wire(), ["InitProducerId(13131, 1)"]);
    h.answer_init(0, E::None, 13131, 2);
    assert_eq!((&h.returned[&abort], h.state(), h.epoch()), (&Ok(()), "READY", 2));
}

#[test]
fn w_46_after_retention_a_partition_starts_anew_in_the_same_epoch_p_seq_4() {
    let mut h = in_transaction(&config());
    h.next_offset = 1_000;
    h.send(0);
    h.answer_produce(0, E::None);
    h.send_only(0);
    h.send(0);
    assert_eq!(h.on_wire(), ["t-0 e1 s1+2"]);
    h.answer_produce_with(0, E::UnknownProducerId, 1_010);
    assert_eq!(h.numbering(0), (2, -1, 1_000, 1));
    h.sleep(100);
    assert_eq!((h.on_wire(), h.state()), (vec!["t-0 e1 s0+2".to_string()], "IN_TRANSACTION"));
}

#[test]
fn w_47_the_parts_of_a_batch_keep_its_numbers_p_acc_8() {
    let mut h = in_transaction(&config());
    h.send_only(0);
    h.send(0);
    // The first split leaves it whole, as it is no larger than batch.size.
    h.answer_produce(0, E::MessageTooLarge);
    assert_eq!(h.on_wire(), ["t-0 e1 s0+2"]);
    h.answer_produce(0, E::MessageTooLarge);
    assert_eq!((h.on_wire(), h.numbering(0).0), (vec!["t-0 e1 s0+1".to_string()], 2));
    h.answer_produce(0, E::None);
    assert_eq!(h.on_wire(), ["t-0 e1 s1+1"]);
}

#[test]
fn w_48_a_late_error_of_an_expired_batch_is_ignored_p_dm_1() {
    let (mut h, record) = added(&patient(&tv1()));
    h.sleep(1_500);
    assert_eq!((h.failure(record), h.state()), (Some(E::RequestTimedOut), "ABORTABLE_ERROR"));
    h.answer_produce(0, E::InvalidTxnState);
    assert!(h.manager().last_error.is_some_and(|error| error.is(E::TransactionAbortable)));
    h.call(Call::AbortTransaction);
    h.answer_end_txn(E::None);
    assert_eq!(h.state(), "INITIALIZING");
    h.answer_init(0, E::None, 13131, 2);
    assert_eq!(h.state(), "READY");
}

#[test]
fn w_49_an_abortable_answer_to_produce_loses_the_transaction_alone_p_err_4() {
    for error in [E::TransactionAbortable, E::InvalidTxnState] {
        for config in [tv1(), config()] {
            let bumps = config.transaction_version == TransactionVersion::Tv1;
            let mut h = in_transaction(&config);
            let record = h.send(0);
            if bumps {
                h.answer_add_partitions(&[E::None]);
            }
            h.answer_produce(0, error);
            assert_eq!((h.failure(record), h.state()), (Some(error), "ABORTABLE_ERROR"));
            let abort = h.call(Call::AbortTransaction);
            h.answer_end_txn(E::None);
            if bumps {
                h.answer_init(0, E::None, 13131, 2);
            }
            assert_eq!((&h.returned[&abort], h.state(), h.epoch()), (&Ok(()), "READY", 2));
        }
    }
}

#[test]
fn w_61_nothing_asks_to_keep_a_prepared_transaction_p_req_5() {
    // The released client has the state, and no call that leads to it.
    let h = Harness::transactional(&config());
    assert!(State::Initializing.may_become(State::PreparedTransaction));
    assert_eq!(h.state(), "READY");
}

#[test]
fn w_63_settings_that_do_not_go_together_p_cfg_1_p_cfg_5() {
    let made = |config: ProducerConfig, written| {
        validated(config, written).map(|config| config.enable_idempotence).ok()
    };
    let acks_1 = ProducerConfig { acks: 1, ..ProducerConfig::default() };
    let explicit = Written { enable_idempotence: true, ..Written::default() };
    let transactional = Written { transactional_id: true, ..Written::default() };
    assert_eq!(made(acks_1.clone(), Written::default()), Some(false));
    assert_eq!(made(acks_1.clone(), explicit), None);
    assert_eq!(made(acks_1, transactional), None);
    let ms = Duration::from_millis;
    for (linger, made_it) in [(1_000, None), (999, Some(true))] {
        let config = ProducerConfig {
            delivery_timeout: ms(1_000),
            linger: ms(linger),
            request_timeout: ms(1),
            ..ProducerConfig::default()
        };
        let written = Written { delivery_timeout: true, ..Written::default() };
        assert_eq!(made(config, written), made_it);
    }
}
