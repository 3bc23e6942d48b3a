//! The producer as one actor: what its two threads share, and what a stall does to it (P-MOD).

mod harness;

use eosim_actor::Scripted;
use eosim_clients::producer::Call;
use eosim_types::config::ProducerConfig;
use eosim_types::message::{ProducePartitionResponse, ProduceResponse, TxnOffsetCommitResponse};
use eosim_types::version::TransactionVersion;
use eosim_types::{Duration, ErrorCode as E};
use harness::{Harness, config, t};

#[test]
fn while_the_sender_sleeps_answers_wait_for_its_next_poll_p_mod_1() {
    let config = ProducerConfig { transaction_version: TransactionVersion::Tv1, ..config() };
    let mut h = Harness::transactional(&config);
    h.call(Call::BeginTransaction);
    let first = h.send(0);
    h.answer_add_partitions(&[E::None]);
    h.send(1);
    assert_eq!(h.on_wire(), ["t-0 e1 s0+1", "AddPartitionsToTxn t-1"]);
    h.answer_add_partitions(&[E::CoordinatorLoadInProgress]);
    // The backoff of the retry is slept on the sender thread (P-SND-6).
    h.answer_produce(0, E::None);
    h.sleep(99);
    assert!(!h.is_complete(first));
    h.sleep(1);
    assert!(h.is_complete(first));
}

#[test]
fn a_call_waits_for_max_block_ms_and_no_longer_p_mod_1() {
    let config = ProducerConfig { max_block: Duration::from_millis(700), ..config() };
    let mut h = Harness::new(&config, Some(1));
    let init = h.call(Call::InitTransactions);
    h.sleep(699);
    assert!(!h.returned.contains_key(&init));
    h.sleep(1);
    assert_eq!(h.thrown(init).error_code(), E::RequestTimedOut);
}

/// Batches in flight when the process stalls for longer than both timeouts.
fn stalled() -> (Harness, [eosim_clients::producer::CallId; 2]) {
    let mut h = Harness::idempotent(&config(), 0);
    let calls = [h.send(0), h.send(1)];
    assert_eq!(h.on_wire(), ["t-0 e0 s0+1", "t-1 e0 s0+1"]);
    h.now += Duration::from_millis(5_000);
    (h, calls)
}

#[test]
fn after_a_stall_the_poll_comes_first_and_an_answer_counts_p_mod_2() {
    let (mut h, [first, second]) = stalled();
    h.answer_produce(0, E::None);
    assert_eq!(h.failure(first), None, "older than delivery.timeout.ms, and acknowledged");
    h.sleep(0);
    assert_eq!(h.failure(second), Some(E::RequestTimedOut));
}

#[test]
fn after_a_stall_the_request_times_out_before_the_batch_expires_p_mod_2() {
    let (mut h, calls) = stalled();
    h.run();
    for call in calls {
        assert_eq!(h.failure(call), Some(E::RequestTimedOut));
    }
    // A failed request, unlike an expired batch, bumps the epoch (P-SEQ-7).
    h.send(0);
    h.sleep(200);
    assert_eq!((h.on_wire(), h.epoch()), (vec!["t-0 e1 s0+1".to_string()], 1));
}

/// The application commits as soon as a future has failed.
fn commit_after_failure(gap: u32) -> (Harness, eosim_clients::producer::CallId) {
    let mut h = Harness::transactional(&config());
    h.choices = Scripted::default().with("producer.gap_before_state", &[gap]);
    h.call(Call::BeginTransaction);
    let record = h.send(0);
    let sent = h.take_produce(0);
    let answer = ProducePartitionResponse {
        partition: t(0),
        error: E::TopicAuthorizationFailed,
        base_offset: -1,
        log_append_time: -1,
        log_start_offset: -1,
        record_errors: Vec::new(),
        current_leader: None,
    };
    h.hand(&sent, ProduceResponse { partitions: vec![answer] });
    h.turn_once();
    assert_eq!(h.failure(record), Some(E::TopicAuthorizationFailed));
    let commit = h.call(Call::CommitTransaction);
    (h, commit)
}

#[test]
fn a_future_may_fail_before_or_after_the_state_changes_p_api_10_p_mod_5() {
    for (gap, thrown) in [(0, "KafkaException"), (1, "TopicAuthorizationException")] {
        let (mut h, commit) = commit_after_failure(gap);
        h.sleep(200);
        assert_eq!(h.thrown(commit).class.name(), thrown);
        assert_eq!((h.state(), h.on_wire()), ("ABORTABLE_ERROR", vec![]), "nothing is committed");
        let abort = h.call(Call::AbortTransaction);
        h.answer_end_txn(E::None);
        assert_eq!((h.returned[&abort].clone(), h.state()), (Ok(()), "READY"));
    }
}

/// Two calls of `send()` back to back without linger.
fn sent_back_to_back(sender_first: u32) -> Vec<String> {
    let mut h = Harness::idempotent(&config(), 0);
    h.choices = Scripted::default().with("producer.sender_first", &[sender_first]);
    h.send_only(0);
    h.let_sender_in();
    h.send_only(0);
    h.run();
    h.on_wire()
}

#[test]
fn records_sent_back_to_back_share_a_batch_or_do_not_p_mod_5() {
    assert_eq!(sent_back_to_back(0), ["t-0 e0 s0+2"]);
    assert_eq!(sent_back_to_back(3), ["t-0 e0 s0+1", "t-0 e0 s1+1"]);
}

#[test]
fn of_two_timeouts_at_one_instant_either_comes_first_p_mod_5() {
    let config = ProducerConfig {
        request_timeout: Duration::from_millis(1_000),
        delivery_timeout: Duration::from_millis(1_000),
        ..config()
    };
    for (tie, epoch) in [(0, 1), (1, 0)] {
        let mut h = Harness::idempotent(&config, 0);
        h.choices = Scripted::default().with("producer.timeout_tie", &[tie]);
        let call = h.send(0);
        h.sleep(1_000);
        assert_eq!(h.failure(call), Some(E::RequestTimedOut));
        // An answered failure bumps the epoch, an expiry in the first attempt does not (P-SEQ-7).
        h.sleep(1);
        assert_eq!(h.epoch(), epoch, "choice {tie}");
    }
}

#[test]
fn offsets_may_fail_before_or_after_the_state_changes_p_api_10_p_mod_5() {
    for (gap, thrown) in [(0, "KafkaException"), (1, "CommitFailedException")] {
        let mut h = Harness::transactional(&config());
        h.choices = Scripted::default().with("producer.gap_before_state", &[gap]);
        h.call(Call::BeginTransaction);
        let offsets = h.send_offsets_only();
        h.sleep(100);
        let sent = h.take_txn_offset_commit();
        let partitions = [(t(0), E::IllegalGeneration)].into();
        h.hand(&sent, TxnOffsetCommitResponse { partitions });
        while !h.returned.contains_key(&offsets) {
            h.turn_once();
        }
        let commit = h.call(Call::CommitTransaction);
        h.sleep(200);
        assert_eq!(h.thrown(commit).class.name(), thrown);
        assert_eq!(h.state(), "ABORTABLE_ERROR");
    }
}

/// Room for one batch; a second record to another partition waits.
fn short_of_memory() -> (Harness, eosim_clients::producer::CallId) {
    let config = ProducerConfig {
        batch_size: 100,
        buffer_memory: 150,
        max_block: Duration::from_millis(700),
        linger: Duration::from_millis(400),
        ..config()
    };
    let mut h = Harness::idempotent(&config, 0);
    h.send(0);
    assert!(h.on_wire().is_empty(), "it lingers");
    let second = h.send(1);
    assert!(!h.returned.contains_key(&second));
    (h, second)
}

#[test]
fn a_record_without_memory_waits_for_that_of_another_p_acc_1_p_api_6() {
    let (mut h, second) = short_of_memory();
    h.sleep(400);
    assert_eq!(h.on_wire(), ["t-0 e0 s0+1"]);
    h.answer_produce(0, E::None);
    assert_eq!(h.returned[&second], Ok(()));
    h.sleep(400);
    assert_eq!(h.on_wire(), ["t-1 e0 s0+1"]);
}

#[test]
fn a_record_that_finds_no_memory_in_max_block_ms_fails_p_api_6() {
    let (mut h, second) = short_of_memory();
    h.sleep(699);
    assert!(!h.returned.contains_key(&second));
    h.sleep(1);
    assert_eq!(h.failure(second), Some(E::RequestTimedOut));
}

#[test]
fn who_waits_for_memory_ends_the_lingering_p_acc_1() {
    let config = ProducerConfig {
        batch_size: 100,
        buffer_memory: 250,
        linger: Duration::from_millis(400),
        ..config()
    };
    for (waits, expected) in [(false, vec![]), (true, vec!["t-0 e0 s0+1".to_string()])] {
        let mut h = Harness::idempotent(&config, 0);
        h.send(3);
        h.sleep(400);
        h.send(0);
        if waits {
            h.send(1);
        }
        // The sender finds the waiting call when it runs next; the refused batch keeps its memory.
        h.answer_produce(0, E::NotEnoughReplicas);
        assert_eq!(h.on_wire(), expected);
    }
}

#[test]
fn a_record_larger_than_all_memory_is_refused_p_api_6() {
    let mut h = Harness::idempotent(&ProducerConfig { buffer_memory: 50, ..config() }, 0);
    let call = h.send(0);
    assert_eq!(h.failure(call), Some(E::MessageTooLarge));
}
