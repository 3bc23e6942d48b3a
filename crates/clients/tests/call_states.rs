//! What each call returns or throws in each state (P-API, P-ST-1, P-ST-6), as one table.

mod harness;

use std::fmt::Write;

use eosim_clients::producer::{Call, CallId};
use eosim_types::config::ProducerConfig;
use eosim_types::message::{CommittableOffset, GroupMember};
use eosim_types::record::Record;
use eosim_types::{Duration, ErrorCode as E, GroupId, LeaderEpoch, Value};
use expect_test::expect_file;
use harness::{Harness, config, t};

fn short() -> ProducerConfig {
    ProducerConfig { max_block: Duration::from_millis(500), ..config() }
}

fn in_transaction() -> Harness {
    let mut h = Harness::transactional(&short());
    h.call(Call::BeginTransaction);
    h.send(0);
    h
}

fn abortable(error: E) -> Harness {
    let mut h = in_transaction();
    h.answer_produce(0, error);
    h
}

fn completing(call: Call) -> Harness {
    let mut h = in_transaction();
    h.answer_produce(0, E::None);
    h.call(call);
    h
}

/// A state by name, and a producer that is in it.
type Row = (&'static str, fn() -> Harness);

const STATES: [Row; 15] = [
    ("no manager", || Harness::new(&ProducerConfig { enable_idempotence: false, ..short() }, None)),
    ("idempotent", || Harness::idempotent(&short(), 0)),
    ("UNINITIALIZED", || Harness::new(&short(), Some(1))),
    ("INITIALIZING", || {
        let mut h = Harness::new(&short(), Some(1));
        h.call(Call::InitTransactions);
        h.sleep(100);
        h
    }),
    ("READY", || Harness::transactional(&short())),
    ("IN_TRANSACTION", in_transaction),
    ("COMMITTING", || completing(Call::CommitTransaction)),
    ("ABORTING", || completing(Call::AbortTransaction)),
    ("ABORTABLE", || abortable(E::TransactionAbortable)),
    ("ABORTABLE, stale", || abortable(E::InvalidProducerEpoch)),
    ("FATAL", || abortable(E::ClusterAuthorizationFailed)),
    ("FATAL, fenced", || abortable(E::ProducerFenced)),
    ("commit timed out", || {
        let mut h = completing(Call::CommitTransaction);
        h.sleep(500);
        h
    }),
    ("and then succeeded", || {
        let mut h = completing(Call::CommitTransaction);
        h.sleep(500);
        h.answer_end_txn(E::None);
        h
    }),
    ("closed", || {
        let mut h = Harness::transactional(&short());
        h.call(Call::Close { timeout: None });
        h
    }),
];

fn offsets() -> Call {
    let offset = CommittableOffset { partition: t(0), offset: 1, leader_epoch: LeaderEpoch::NONE };
    Call::SendOffsetsToTransaction {
        group: GroupId(1),
        member: GroupMember::NONE,
        offsets: vec![offset],
    }
}

fn calls() -> [(&'static str, Call); 8] {
    let record = Record { value: Value(9), key: None, value_bytes: 8 };
    [
        ("init", Call::InitTransactions),
        ("begin", Call::BeginTransaction),
        ("send", Call::Send { partition: t(1), record }),
        ("offsets", offsets()),
        ("commit", Call::CommitTransaction),
        ("abort", Call::AbortTransaction),
        ("flush", Call::Flush),
        ("close", Call::Close { timeout: None }),
    ]
}

/// What came of a call at once: what it threw, with its cause; what the future failed with.
fn seen(h: &Harness, call: CallId) -> String {
    let name = |exception: &eosim_clients::Exception| {
        let whole = std::iter::once(exception).chain(exception.causes());
        whole.map(|e| e.class.name().replace("Exception", "")).collect::<Vec<_>>().join("<")
    };
    match h.returned.get(&call) {
        None => "waits".to_string(),
        Some(Err(thrown)) => name(thrown),
        Some(Ok(())) => match h.records.get(&call).map(|record| &record.result) {
            Some(Err(failed)) => format!("future {}", name(failed)),
            _ => "ok".to_string(),
        },
    }
}

#[test]
fn every_call_in_every_state_p_api_1_p_st_6() {
    let mut table = String::new();
    for (state, make) in STATES {
        writeln!(table, "{state}").expect("a string grows");
        for (name, call) in calls() {
            let mut h = make();
            let id = h.call(call);
            let state = h.producer.state().map_or("-", |state| state.name());
            writeln!(table, "    {name:<8} {:<42} {state}", seen(&h, id)).expect("a string grows");
        }
    }
    expect_file!["call_states.txt"].assert_eq(&table);
}
