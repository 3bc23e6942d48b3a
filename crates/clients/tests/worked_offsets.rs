//! Worked cases of `sendOffsetsToTransaction()`.

mod harness;

use eosim_clients::producer::{Call, CallId};
use eosim_clients::{ApiVersions, ExceptionClass};
use eosim_types::config::ProducerConfig;
use eosim_types::message::{
    AddOffsetsToTxnResponse, ApiKey, CommittableOffset, GroupMember, Request,
    TxnOffsetCommitResponse,
};
use eosim_types::version::TransactionVersion;
use eosim_types::{DefectSet, ErrorCode as E, GroupId, LeaderEpoch};
use harness::{Harness, Sent, config, t};

fn tv1() -> ProducerConfig {
    ProducerConfig { transaction_version: TransactionVersion::Tv1, ..config() }
}

fn in_transaction(config: &ProducerConfig) -> Harness {
    let mut h = Harness::transactional(config);
    h.call(Call::BeginTransaction);
    h
}

/// `sendOffsetsToTransaction()` of these partitions by member 0 in generation 3.
fn send_offsets(h: &mut Harness, partitions: &[i32]) -> CallId {
    let offset = |&n: &i32| CommittableOffset {
        partition: t(n),
        offset: 5,
        leader_epoch: LeaderEpoch::NONE,
    };
    let call = h.call(Call::SendOffsetsToTransaction {
        group: GroupId(1),
        member: GroupMember { generation_or_epoch: 3, member: Some(0), instance: None },
        offsets: partitions.iter().map(offset).collect(),
    });
    // The first request waits for the group's coordinator, and so counts as a retry (P-SND-6).
    h.sleep(100);
    call
}

fn take_offsets_request(h: &mut Harness) -> Sent {
    let wanted = |request: &Request| {
        matches!(request.api(), ApiKey::AddOffsetsToTxn | ApiKey::TxnOffsetCommit)
    };
    let place = h.wire.iter().position(|sent| wanted(&sent.request));
    h.wire.remove(place.unwrap_or_else(|| panic!("not on the wire: {:?}", h.on_wire())))
}

fn answer_add_offsets(h: &mut Harness, error: E) {
    let sent = take_offsets_request(h);
    assert_eq!(sent.request.api(), ApiKey::AddOffsetsToTxn);
    h.hand(&sent, AddOffsetsToTxnResponse { error });
    h.run();
}

/// Answers TxnOffsetCommit: `errors` by partition, in the order of the request.
fn answer_commit(h: &mut Harness, errors: &[E]) {
    let sent = take_offsets_request(h);
    let Request::TxnOffsetCommit(request) = &sent.request else { panic!("{:?}", sent.request) };
    let asked = request.offsets.iter().map(|offset| offset.partition);
    let partitions = asked.zip(errors.iter().copied()).collect();
    h.hand(&sent, TxnOffsetCommitResponse { partitions });
    h.run();
}

#[test]
fn w_52_a_member_that_is_fenced_from_its_group_loses_the_transaction_p_ctp_4() {
    for (error, class) in [
        (E::FencedInstanceId, ExceptionClass::Api(E::FencedInstanceId)),
        (E::UnknownMemberId, ExceptionClass::CommitFailed),
        (E::IllegalGeneration, ExceptionClass::CommitFailed),
        (E::StaleMemberEpoch, ExceptionClass::CommitFailed),
        (E::GroupIdNotFound, ExceptionClass::CommitFailed),
    ] {
        let mut h = in_transaction(&config());
        let offsets = send_offsets(&mut h, &[0]);
        answer_commit(&mut h, &[error]);
        assert_eq!((h.thrown(offsets).class, h.state()), (class, "ABORTABLE_ERROR"), "{error}");
        let abort = h.call(Call::AbortTransaction);
        h.answer_end_txn(E::None);
        assert_eq!((&h.returned[&abort], h.state()), (&Ok(()), "READY"));
    }
}

#[test]
fn w_53_the_whole_request_goes_again_until_every_partition_is_accepted_p_req_7() {
    for error in [E::UnknownTopicOrPartition, E::CoordinatorLoadInProgress, E::NetworkException] {
        let mut h = in_transaction(&config());
        let offsets = send_offsets(&mut h, &[0, 1]);
        h.log.clear();
        answer_commit(&mut h, &[E::None, error]);
        h.sleep(100);
        assert!(!h.returned.contains_key(&offsets));
        assert_eq!(h.log, ["TxnOffsetCommit"], "without a look-up");
        answer_commit(&mut h, &[E::None, E::None]);
        assert_eq!(h.returned[&offsets], Ok(()));
    }
}

#[test]
fn w_54_group_metadata_is_not_dropped_for_an_old_broker_p_req_7() {
    let mut h = in_transaction(&config());
    let old = ApiVersions::default().with_newest(ApiKey::TxnOffsetCommit, 2);
    h.answers_api_versions = false;
    h.producer.connected(old, 1, TransactionVersion::Tv2);
    let offsets = send_offsets(&mut h, &[0]);
    assert!(h.thrown(offsets).is(E::UnsupportedVersion));
    assert_eq!((h.state(), h.on_wire().len()), ("FATAL_ERROR", 0));
}

#[test]
fn w_55_an_abort_behind_refused_add_offsets_ends_nothing_p_req_8a() {
    for (error, state, aborted) in [
        (E::GroupAuthorizationFailed, "READY", true),
        (E::UnknownServerError, "FATAL_ERROR", false),
    ] {
        let mut h = in_transaction(&tv1());
        let offsets = send_offsets(&mut h, &[0]);
        let abort = h.call(Call::AbortTransaction);
        answer_add_offsets(&mut h, error);
        assert!(h.returned[&offsets].is_err());
        assert_eq!((h.returned[&abort].is_ok(), h.state()), (aborted, state), "{error}");
        assert!(!h.log.iter().any(|line| line.starts_with("EndTxn")));
    }
}

#[test]
fn a_commit_refused_in_the_queue_is_pending_for_ever_as_released_only_p_req_7() {
    for (defects, completes) in [(DefectSet::as_released(), false), (DefectSet::NONE, true)] {
        let mut h = in_transaction(&config());
        h.defects = defects;
        h.send(0);
        let first = send_offsets(&mut h, &[2]);
        h.answer_produce(0, E::TransactionAbortable);
        // The transaction is lost by now, so the request is not sent again.
        answer_commit(&mut h, &[E::NotCoordinator]);
        assert!(h.returned[&first].is_err());
        h.call(Call::AbortTransaction);
        h.answer_end_txn(E::None);
        h.call(Call::BeginTransaction);
        let second = send_offsets(&mut h, &[1]);
        answer_commit(&mut h, &[E::None]);
        h.sleep(100);
        assert_eq!(h.returned.contains_key(&second), completes);
        h.call(Call::AbortTransaction);
        for _ in 0..3 {
            if !completes {
                answer_commit(&mut h, &[E::None]);
            }
            h.sleep(100);
        }
        let next = if completes { "EndTxn" } else { "TxnOffsetCommit" };
        assert!(h.on_wire()[0].starts_with(next), "t-2 is still missing: {:?}", h.on_wire());
    }
}
