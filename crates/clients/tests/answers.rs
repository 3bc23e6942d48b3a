//! What the sender makes of answers to Produce, case by case where one branch decides.

mod harness;

use std::sync::Arc;

use eosim_clients::producer::Call;
use eosim_types::config::ProducerConfig;
use eosim_types::version::TransactionVersion;
use eosim_types::{ActorId, BrokerId, DefectSet, Duration, ErrorCode as E, LeaderEpoch};
use harness::{Harness, config, image, t};

/// Broker 2 leads partition 0 in epoch 1, as the next Metadata tells.
fn elect_broker_2(h: &mut Harness) {
    let image = Arc::make_mut(&mut h.image);
    image.version += 1;
    let partition = image.partitions.get_mut(&t(0)).expect("it exists");
    (partition.leader, partition.leader_epoch) = (Some(BrokerId(2)), LeaderEpoch(1));
}

/// Who was sent the batch that is on the wire.
fn asked(h: &Harness) -> Vec<ActorId> {
    h.wire.iter().map(|sent| sent.to).collect()
}

#[test]
fn an_error_about_the_leader_makes_the_producer_look_for_it_p_snd_step_5_p_acc_1() {
    for error in [E::NotLeaderOrFollower, E::UnknownTopicOrPartition, E::KafkaStorageError] {
        let mut h = Harness::idempotent(&config(), 0);
        h.send(0);
        h.sleep(300);
        elect_broker_2(&mut h);
        h.answer_produce(0, error);
        assert_eq!(asked(&h), [ActorId(2)], "{error}: a new leader is asked without a backoff");
    }
    let mut h = Harness::idempotent(&config(), 0);
    h.send(0);
    h.sleep(300);
    elect_broker_2(&mut h);
    h.answer_produce(0, E::NotEnoughReplicas);
    assert_eq!(asked(&h), []);
    h.sleep(100);
    assert_eq!(asked(&h), [ActorId(1)], "nobody said that the leader has changed");
}

#[test]
fn a_batch_whose_retries_are_used_up_fails_and_keeps_its_number_p_err_4() {
    let mut h = Harness::idempotent(&ProducerConfig { retries: 1, ..config() }, 0);
    let call = h.send(0);
    h.answer_produce(0, E::NotEnoughReplicas);
    h.sleep(100);
    assert_eq!(h.on_wire(), ["t-0 e0 s0+1"]);
    h.answer_produce(0, E::NotEnoughReplicas);
    assert_eq!(h.failure(call), Some(E::NotEnoughReplicas));
    h.send(0);
    assert_eq!(h.on_wire(), ["t-0 e0 s1+1"], "no renumbering, no bump");
}

#[test]
fn a_request_holds_no_more_than_max_request_size_p_acc_3() {
    let mut h = Harness::idempotent(&ProducerConfig { max_request_size: 130, ..config() }, 0);
    h.send_only(0);
    h.send_only(1);
    h.run();
    assert_eq!(h.wire.len(), 2, "{:?}", h.on_wire());
    let mut h = Harness::idempotent(&config(), 0);
    h.send_only(0);
    h.send_only(1);
    h.run();
    assert_eq!(h.wire.len(), 1, "{:?}", h.on_wire());
}

#[test]
fn an_older_offset_does_not_take_the_place_of_the_last_acknowledged_p_seq_1() {
    let mut h = Harness::idempotent(&config(), 0);
    h.send(0);
    h.send(0);
    h.next_offset = 1_000;
    h.answer_produce(1, E::None);
    h.next_offset = 500;
    h.answer_produce(0, E::None);
    assert_eq!(h.numbering(0), (2, 1, 1_000, 0));
}

/// As released: a renumbered batch whose pending answer complains of the old numbers.
#[test]
fn a_renumbered_batch_asks_for_no_second_bump_p_seq_4() {
    let mut h = Harness::idempotent(&config(), 0);
    h.defects = DefectSet::as_released();
    h.send(0);
    h.send(0);
    h.answer_produce_with(0, E::UnknownProducerId, 500);
    assert_eq!((h.epoch(), h.on_wire()), (1, vec!["t-0 e0 s1+1".into()]));
    h.answer_produce_with(0, E::UnknownProducerId, 500);
    h.sleep(100);
    assert_eq!((h.epoch(), h.on_wire()), (1, vec!["t-0 e1 s0+1".into()]));
}

#[test]
fn of_two_expired_batches_the_last_marks_what_is_unresolved_p_seq_5() {
    let long = Duration::from_millis(9_000);
    let config = ProducerConfig {
        request_timeout: long,
        retry_backoff: long,
        retry_backoff_max: long,
        ..config()
    };
    let mut h = Harness::idempotent(&config, 0);
    h.send(0);
    h.send(0);
    h.sleep(500);
    h.send(0);
    h.answer_produce(0, E::NotLeaderOrFollower);
    h.answer_produce(0, E::NotLeaderOrFollower);
    h.sleep(1_000);
    assert_eq!(h.manager().unresolved, [(t(0), 2)]);
    h.answer_produce(0, E::OutOfOrderSequenceNumber);
    assert_eq!(h.epoch(), 1, "the third stands right behind them");
}

#[test]
fn an_abort_that_is_to_be_aborted_is_fatal_p_req_8a() {
    let mut h = Harness::transactional(&config());
    h.call(Call::BeginTransaction);
    h.send(0);
    h.answer_produce(0, E::None);
    let abort = h.call(Call::AbortTransaction);
    h.answer_end_txn(E::TransactionAbortable);
    assert_eq!(h.state(), "FATAL_ERROR");
    let thrown = h.thrown(abort);
    let cause = thrown.causes().next().expect("a cause");
    assert_eq!(thrown.class.name(), "KafkaException");
    assert!(cause.is(E::TransactionAbortable));
}

#[test]
fn topics_that_metadata_does_not_know_are_named_in_the_end_p_api_7() {
    let empty = image(1, 0, TransactionVersion::Tv2);
    let mut h = Harness::with_image(&config(), Some(1), empty);
    h.call(Call::InitTransactions);
    h.sleep(100);
    h.answer_init(0, E::None, 13131, 1);
    h.call(Call::BeginTransaction);
    h.send_offsets_only();
    h.sleep(500);
    let sent = h.take_txn_offset_commit();
    let eosim_types::message::Request::TxnOffsetCommit(request) = sent.request else { panic!() };
    assert_eq!(request.version, 5, "without ids");
}
