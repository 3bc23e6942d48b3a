//! Edges of the producer's rules: connections that broke unnoticed, internal errors of the real
//! client that it logs and survives, calls in the wrong state.

mod harness;

use eosim_clients::ExceptionClass;
use eosim_clients::producer::Call;
use eosim_types::config::ProducerConfig;
use eosim_types::message::{
    CommittableOffset, GroupMember, ProducePartitionResponse, ProduceResponse,
};
use eosim_types::record::Record;
use eosim_types::version::TransactionVersion;
use eosim_types::{BrokerId, DefectSet, Duration, ErrorCode as E, GroupId, LeaderEpoch, Value};
use harness::{Harness, config, t};

fn in_transaction(config: &ProducerConfig) -> Harness {
    let mut h = Harness::transactional(config);
    h.call(Call::BeginTransaction);
    h
}

fn tv1() -> ProducerConfig {
    ProducerConfig { transaction_version: TransactionVersion::Tv1, ..config() }
}

/// A request outlives its batch.
fn patient_and_one_at_a_time() -> ProducerConfig {
    ProducerConfig {
        max_in_flight_requests_per_connection: 1,
        request_timeout: Duration::from_millis(9_000),
        ..config()
    }
}

/// Answers the oldest Produce with `error`, told that broker 2 leads now.
fn answer_with_leader(h: &mut Harness, error: E) {
    let sent = h.take_produce(0);
    let answer = ProducePartitionResponse {
        partition: t(0),
        error,
        base_offset: -1,
        log_append_time: -1,
        log_start_offset: -1,
        record_errors: Vec::new(),
        current_leader: Some((BrokerId(2), LeaderEpoch(1))),
    };
    h.hand(&sent, ProduceResponse { partitions: vec![answer] });
    h.run();
}

#[test]
fn what_is_sent_over_a_connection_that_broke_unnoticed_reaches_nobody_p_snd_13() {
    let mut h = in_transaction(&config());
    h.send(0);
    h.answer_produce(0, E::None);
    h.call(Call::CommitTransaction);
    h.answer_end_txn(E::ConcurrentTransactions);
    // The sender sleeps its backoff, and the coordinator closes the connection meanwhile.
    h.sleep(50);
    h.producer.disconnected(BrokerId(2));
    h.log.clear();
    h.sleep(51);
    assert!(h.on_wire().is_empty(), "{:?}", h.on_wire());
    h.sleep(200);
    assert_eq!(h.log, ["FindCoordinator", "EndTxn v5 commit e1"]);
}

#[test]
fn only_a_leader_error_tells_the_new_leader_p_snd_step_5() {
    for (error, to) in [(E::RequestTimedOut, 1), (E::NotLeaderOrFollower, 2)] {
        let mut h = Harness::idempotent(&config(), 0);
        h.send(0);
        answer_with_leader(&mut h, error);
        h.sleep(150);
        assert_eq!(h.wire[0].to, eosim_types::ActorId(to), "{error}");
    }
}

#[test]
fn a_batch_of_a_partition_that_tracks_nothing_is_not_sent_again_p_acc_7() {
    let mut h = in_transaction(&config());
    let acked = h.send(0);
    h.answer_produce(0, E::None);
    assert!(h.is_complete(acked));
    let (refused, behind) = (h.send(0), h.send(0));
    h.answer_produce_with(0, E::UnknownProducerId, 0);
    assert_eq!(h.failure(refused), Some(E::UnknownProducerId));
    // The entry of the partition is gone, so the retry is an internal error.
    h.answer_produce(0, E::NotLeaderOrFollower);
    h.sleep(1_300);
    assert!(h.on_wire().is_empty() && !h.is_complete(behind));
    h.sleep(300);
    assert_eq!(h.failure(behind), Some(E::RequestTimedOut));
}

#[test]
fn an_internal_error_leaves_the_rest_of_the_answer_p_req_11() {
    let one_at_a_time = patient_and_one_at_a_time();
    for (defects, sent_again) in [(DefectSet::as_released(), 0), (DefectSet::NONE, 1)] {
        let mut h = in_transaction(&one_at_a_time);
        h.defects = defects;
        h.send(0);
        let late = h.take_produce(0);
        h.sleep(1_500);
        h.call(Call::AbortTransaction);
        h.answer_end_txn(E::None);
        // The answer comes when the transaction, and the entry of the partition, are gone.
        h.wire.push(late);
        h.answer_produce(0, E::None);
        h.call(Call::BeginTransaction);
        h.send(0);
        assert_eq!(h.on_wire().len(), sent_again, "a muted partition");
    }
}

#[test]
fn a_late_duplicate_tells_no_offset_and_so_is_no_internal_error_p_req_11() {
    let one_at_a_time = patient_and_one_at_a_time();
    let mut h = in_transaction(&one_at_a_time);
    h.defects = DefectSet::as_released();
    h.send(0);
    let late = h.take_produce(0);
    h.sleep(1_500);
    h.call(Call::AbortTransaction);
    h.answer_end_txn(E::None);
    h.wire.push(late);
    h.answer_produce(0, E::DuplicateSequenceNumber);
    assert_eq!(h.numbering(0), (0, -1, -1, 0), "P-DM-4");
    h.call(Call::BeginTransaction);
    h.send(0);
    assert_eq!(h.on_wire(), ["t-0 e2 s0+1"]);
}

#[test]
fn parts_of_a_batch_go_to_the_very_front_without_idempotence_p_acc_8() {
    let mut h = Harness::new(
        &ProducerConfig {
            enable_idempotence: false,
            batch_size: 150,
            linger: Duration::from_millis(50),
            max_in_flight_requests_per_connection: 2,
            ..config()
        },
        None,
    );
    for value in 1..=6 {
        let record = Record { value: Value(value), key: None, value_bytes: 30 };
        h.call_only(Call::Send { partition: t(0), record });
    }
    h.sleep(60);
    // The first split gives one batch as it was, the second halves; the other big one overtakes.
    h.answer_produce(0, E::MessageTooLarge);
    h.answer_produce(1, E::MessageTooLarge);
    h.answer_produce(0, E::MessageTooLarge);
    let batches: Vec<_> = h.produced.iter().map(|(_, batch)| batch.records()).collect();
    let first_and_count: Vec<_> = batches.iter().map(|r| (r[0].value.0, r.len())).collect();
    assert_eq!(first_and_count, [(1, 2), (3, 2), (1, 2), (1, 1), (3, 2)]);
}

#[test]
fn flush_waits_for_the_record_of_a_send_that_threw_p_api_6() {
    let mut h = Harness::transactional(&config());
    h.defects = DefectSet::as_released();
    let refused = h.send(0);
    assert_eq!(h.thrown(refused).class, ExceptionClass::IllegalState);
    let flush = h.call(Call::Flush);
    h.sleep(1_400);
    assert!(!h.returned.contains_key(&flush));
    h.sleep(200);
    assert_eq!(h.returned[&flush], Ok(()));
}

#[test]
fn send_in_the_wrong_state_throws_what_its_own_failure_would_have_done_p_st_1() {
    let small = ProducerConfig { max_request_size: 80, ..config() };
    let mut h = Harness::transactional(&small);
    let record = h.send(0);
    assert_eq!(h.thrown(record).class, ExceptionClass::IllegalState);
    assert_eq!(h.state(), "READY");
    assert!(!h.is_complete(record), "it has no future");
}

#[test]
fn a_record_that_joins_an_open_batch_wakes_nobody_p_snd_13() {
    let linger = Duration::from_millis(300);
    let mut h = Harness::idempotent(&ProducerConfig { linger, ..config() }, 0);
    h.send(0);
    let polls = h.producer.next_wake();
    h.sleep(10);
    let joins = h.send_only(0);
    assert_eq!((h.producer.next_wake(), &h.on_wire()[..]), (polls, &[][..]));
    h.sleep(291);
    assert_eq!(h.on_wire(), ["t-0 e0 s0+2"]);
    assert!(!h.is_complete(joins));
}

#[test]
fn a_poll_ends_after_the_request_timeout_p_snd_13() {
    let mut h = Harness::transactional(&config());
    h.defects = DefectSet::as_released();
    h.send(0);
    h.call(Call::BeginTransaction);
    h.send(0);
    // It joined the batch of the record that was refused, and woke nobody.
    h.sleep(900);
    assert!(h.on_wire().is_empty());
    h.sleep(100);
    assert_eq!(h.on_wire(), ["t-0 e1 s0+2"]);
}

#[test]
fn the_earliest_of_two_closes_counts_p_api_8() {
    let mut h = in_transaction(&config());
    h.send(0);
    let ms = Duration::from_millis;
    let patient = h.call(Call::Close { timeout: None });
    let hasty = h.call(Call::Close { timeout: Some(ms(50)) });
    let last = h.call(Call::Close { timeout: Some(ms(5_000)) });
    h.sleep(60);
    for close in [patient, hasty, last] {
        assert_eq!(h.returned[&close], Ok(()));
    }
    let flush = h.call(Call::Flush);
    assert_eq!(h.returned[&flush], Ok(()), "flush() asks for nothing");
}

#[test]
fn senseless_arguments_come_before_the_state_p_api_7() {
    let mut h = Harness::transactional(&config());
    h.call(Call::Close { timeout: None });
    for (generation_or_epoch, thrown) in
        [(3, ExceptionClass::IllegalArgument), (-1, ExceptionClass::IllegalState)]
    {
        let offset =
            CommittableOffset { partition: t(0), offset: 1, leader_epoch: LeaderEpoch::NONE };
        let call = h.call(Call::SendOffsetsToTransaction {
            group: GroupId(1),
            member: GroupMember { generation_or_epoch, ..GroupMember::NONE },
            offsets: vec![offset],
        });
        assert_eq!(h.thrown(call).class, thrown);
    }
}

#[test]
fn an_idempotent_producer_whose_init_must_be_aborted_is_poisoned_at_once_p_st_1() {
    let mut h = Harness::new(&config(), None);
    let record = h.send(0);
    h.answer_init(0, E::TransactionAbortable, -1, -1);
    assert_eq!(h.state(), "FATAL_ERROR");
    let failure = &h.records[&record].result;
    assert_eq!(failure.as_ref().expect_err("aborted").class, ExceptionClass::IllegalState);
}

#[test]
fn an_answer_is_walked_in_the_order_of_a_hash_map_p_req_4() {
    let mut h = Harness::transactional(&tv1());
    h.call(Call::BeginTransaction);
    for n in 0..3 {
        h.send_only(n);
    }
    h.run();
    // t-2 comes first and ends the walk; t-0 would have looked the coordinator up.
    h.log.clear();
    h.answer_add_partitions(&[E::NotCoordinator, E::None, E::InvalidTxnState]);
    assert_eq!((h.state(), &h.log[..]), ("FATAL_ERROR", &[][..]));
}

#[test]
fn without_acknowledgements_what_is_sent_is_done_p_cfg_1() {
    let mut h =
        Harness::new(&ProducerConfig { acks: 0, enable_idempotence: false, ..config() }, None);
    let record = h.send(0);
    assert_eq!(h.records[&record].result, Ok(None));
    assert_eq!(h.wire.len(), 1);
    h.sleep(5_000);
    assert_eq!(h.produced.len(), 1, "it is not sent again");
}

#[test]
fn an_id_that_ran_out_twice_counts_epochs_from_none_as_released_p_seq_8() {
    let mut h = Harness::idempotent(&config(), i16::MAX);
    h.defects = DefectSet::as_released();
    h.send(0);
    h.send(0);
    h.answer_produce(0, E::InvalidRecord);
    assert_eq!(h.id_and_epoch(), (-1, -1));
    h.answer_produce(0, E::InvalidRecord);
    assert_eq!(h.id_and_epoch(), (-1, 0));
}
