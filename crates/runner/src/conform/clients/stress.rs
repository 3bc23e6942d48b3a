//! Random client cases: whatever the application does and the broker answers, a case is played to
//! its end, every call returns and every future is told once.

use eosim_types::ErrorCode;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::case;
use super::judge::Seen;

fn partition() -> impl Strategy<Value = String> {
    (0..3).prop_map(|n| format!("t-{n}"))
}

/// Errors of which much depends on when they come.
const FREQUENT: [ErrorCode; 12] = [
    ErrorCode::NotLeaderOrFollower,
    ErrorCode::OutOfOrderSequenceNumber,
    ErrorCode::UnknownProducerId,
    ErrorCode::MessageTooLarge,
    ErrorCode::ConcurrentTransactions,
    ErrorCode::NotCoordinator,
    ErrorCode::TransactionAbortable,
    ErrorCode::InvalidProducerEpoch,
    ErrorCode::ClusterAuthorizationFailed,
    ErrorCode::DuplicateSequenceNumber,
    ErrorCode::OffsetOutOfRange,
    ErrorCode::UnstableOffsetCommit,
];

fn error() -> impl Strategy<Value = &'static str> {
    prop_oneof![select(&FREQUENT[..]), select(ErrorCode::ALL)].prop_map(ErrorCode::name)
}

const PRODUCER_APIS: [&str; 7] = [
    "InitProducerId",
    "Produce",
    "FindCoordinator",
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "TxnOffsetCommit",
    "EndTxn",
];

const CONSUMER_APIS: [&str; 5] =
    ["Fetch", "ListOffsets", "OffsetFetch", "OffsetCommit", "FindCoordinator"];

/// Which requests a rule is for.
fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (1..6u32).prop_map(|n| json!(n)),
        1 => (1..4u32).prop_map(|n| json!(format!("{n}-{}", n + 1))),
        1 => (1..4u32).prop_map(|n| json!(format!("{n}+"))),
    ]
}

/// Fields of a rule that may come together.
fn field() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        8 => error().prop_map(|error| ("error", json!(error))),
        2 => (partition(), error()).prop_map(|(tp, e)| ("partition_errors", json!({ tp: e }))),
        3 => select(&["drop", "silent"][..]).prop_map(|action| ("action", json!(action))),
        1 => Just(("applied", json!(true))),
        3 => select(&["step:go", "Produce#3", "EndTxn#1", "Fetch#2"][..])
            .prop_map(|after| ("after", json!(after))),
        2 => (1..200u64).prop_map(|ms| ("delay_ms", json!(ms))),
        1 => prop::collection::vec(0..3, 1..3).prop_map(|at| ("record_errors", json!(at))),
        1 => (0..9i64).prop_map(|offset| ("log_start_offset", json!(offset))),
        1 => (0..9i64).prop_map(|offset| ("base_offset", json!(offset))),
        1 => (1..4i32).prop_map(|node| ("new_leader", json!(node))),
        1 => any::<bool>().prop_map(|tell| ("tell", json!(tell))),
        1 => any::<bool>().prop_map(|level| ("group_level", json!(level))),
        1 => select(&[0i16, 5, 32_766, 32_767][..]).prop_map(|e| ("producer_epoch", json!(e))),
        1 => (3_000..3_002i64).prop_map(|id| ("producer_id", json!(id))),
    ]
}

fn rule(apis: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let fields = prop::collection::vec(field(), 1..4);
    (select(apis), number(), fields).prop_map(|(api, n, fields)| {
        let mut rule = json!({ "api": api, "n": n });
        for (name, value) in fields {
            rule[name] = value;
        }
        rule
    })
}

fn producer_step() -> impl Strategy<Value = Value> {
    let call = |name: &'static str| {
        prop::bool::weighted(0.2).prop_map(move |own| json!({ "do": name, "async": own }))
    };
    let of = |name: &'static str| Just(json!({ "do": name }));
    prop_oneof![
        6 => (0..4i32, 0..400u32).prop_map(|(partition, size)| {
            json!({ "do": "send", "partition": partition, "value": "r", "size": size })
        }),
        2 => call("init"),
        4 => of("begin"),
        3 => call("commit"),
        2 => call("abort"),
        1 => call("flush"),
        2 => (partition(), -1..3i32, any::<bool>()).prop_map(|(tp, generation, own)| json!({
            "do": "offsets", "group": "g", "offsets": { tp: 1 }, "member": "m",
            "generation": generation, "async": own,
        })),
        1 => prop::option::of(0..300u64).prop_map(|ms| json!({ "do": "close", "timeout_ms": ms })),
        4 => (1..400u64).prop_map(|ms| json!({ "do": "sleep", "ms": ms })),
        1 => select(&PRODUCER_APIS[..]).prop_map(|api| json!({ "do": "await", "api": api, "n": 2 })),
        1 => of("settle"),
        2 => of("state"),
        1 => Just(json!({ "do": "release", "name": "go" })),
        1 => Just(json!({ "do": "wait", "of": ["r"] })),
        1 => (0..4i8).prop_map(|tv| json!({ "do": "features", "transaction_version": tv.min(2) })),
        2 => (0..4i32).prop_map(|role| json!({ "do": "disconnect", "role": role })),
        1 => (partition(), select(&[0, 7, i32::MAX - 1, i32::MAX][..])).prop_map(|(tp, next)| {
            json!({ "do": "set_next_sequence", "partition": tp, "next": next })
        }),
    ]
}

fn consumer_step() -> impl Strategy<Value = Value> {
    let of =
        |name: &'static str| partition().prop_map(move |tp| json!({ "do": name, "partition": tp }));
    prop_oneof![
        3 => (partition(), -1..9i64).prop_map(|(tp, offset)| {
            json!({ "do": "seek", "partition": tp, "offset": offset })
        }),
        1 => of("seek_to_end"),
        2 => of("position"),
        2 => of("lag"),
        1 => of("end_offsets"),
        1 => of("beginning_offsets"),
        1 => of("committed"),
        1 => partition().prop_map(|tp| json!({ "do": "commit", "offsets": { tp: 2 } })),
        2 => (0..200u64).prop_map(|ms| json!({ "do": "poll_once", "timeout_ms": ms })),
        2 => (1..9u32).prop_map(|n| json!({ "do": "poll_fetches", "n": n, "timeout_ms": 500 })),
        1 => (1..300u64).prop_map(|ms| json!({ "do": "poll_for", "timeout_ms": ms })),
        1 => (0..4i32).prop_map(|role| json!({ "do": "disconnect", "role": role })),
        1 => Just(json!({ "do": "release", "name": "go" })),
        1 => prop::collection::vec(partition(), 0..3)
            .prop_map(|tps| json!({ "do": "assign", "partitions": tps })),
    ]
}

/// A batch of a Fetch answer at some place between 0 and 8.
fn batch() -> impl Strategy<Value = Value> {
    let offsets = prop::collection::btree_set(0..9i64, 0..4);
    (offsets, 0..3i64, any::<bool>(), 0..5u8).prop_map(|(offsets, pid, txn, kind)| {
        let values = offsets.iter().map(|offset| format!("v{offset}"));
        let mut batch = json!({
            "offsets": offsets, "values": values.collect::<Vec<_>>(),
            "pid": pid, "epoch": 0, "txn": txn, "last": 9,
        });
        match kind {
            0 => return json!({ "control": "ABORT", "base": 9, "pid": pid, "epoch": 0 }),
            1 => batch["base"] = json!(0),
            2 if txn => batch["corrupt"] = json!(true),
            _ => {}
        }
        batch
    })
}

fn settings() -> impl Strategy<Value = Value> {
    let millis = |choices: &'static [u32]| select(choices).prop_map(|ms| ms.to_string());
    (
        any::<bool>(),
        select(&["0", "1", "3", "2147483647"][..]),
        select(&["1", "2", "5"][..]),
        millis(&[0, 30]),
        millis(&[100, 16_384]),
        millis(&[200, 700, 2_000]),
        millis(&[100, 300, 1_500]),
        millis(&[50, 400]),
        any::<bool>(),
    )
        .prop_map(|(txn, retries, in_flight, linger, size, delivery, request, block, idem)| {
            let mut config = json!({
                "retries": retries,
                "max.in.flight.requests.per.connection": in_flight,
                "linger.ms": linger,
                "batch.size": size,
                "delivery.timeout.ms": delivery,
                "request.timeout.ms": request,
                "retry.backoff.ms": "20",
                "retry.backoff.max.ms": "20",
                "reconnect.backoff.ms": "10",
                "reconnect.backoff.max.ms": "10",
                "max.block.ms": block,
            });
            if txn {
                config["transactional.id"] = json!("tx");
            } else if !idem {
                config["enable.idempotence"] = json!("false");
            }
            config
        })
}

fn producer_case() -> impl Strategy<Value = Value> {
    (
        settings(),
        0..3i8,
        prop::collection::vec(producer_step(), 1..25),
        prop::collection::vec(rule(&PRODUCER_APIS), 0..6),
        prop::collection::btree_map(select(&PRODUCER_APIS[..]), 1..6i16, 0..2),
        any::<bool>(),
    )
        .prop_map(|(config, version, mut app, broker, api_max, opens)| {
            if opens {
                app.splice(0..0, [json!({ "do": "init" }), json!({ "do": "begin" })]);
            }
            for (at, step) in app.iter_mut().enumerate() {
                if step["do"] == "send" {
                    step["value"] = json!(format!("r{at}"));
                }
            }
            json!({
                "family": "B", "transaction_version": version, "config": config, "app": app,
                "broker": broker, "api_max": api_max, "wire": [], "outcome": [],
                "second_leader": true, "leaders": { "t-2": 4 },
            })
        })
}

fn consumer_case() -> impl Strategy<Value = Value> {
    (
        select(&["read_committed", "read_uncommitted"][..]),
        select(&["earliest", "latest", "none", "by_duration:PT1H"][..]),
        prop::option::of(select(&["classic", "consumer"][..])),
        prop::collection::vec(consumer_step(), 1..15),
        prop::collection::vec(rule(&CONSUMER_APIS), 0..5),
        prop::collection::vec(batch(), 0..4),
        prop::collection::vec((0..3i64, 0..9i64), 0..3),
    )
        .prop_map(|(isolation, reset, group, mut app, mut broker, batches, aborted)| {
            app.insert(0, json!({ "do": "assign", "partitions": ["t-0", "t-2"] }));
            broker.push(json!({
                "api": "Fetch", "n": 1, "batches": batches, "aborted": aborted, "hw": 9, "lso": 8,
            }));
            let mut config = json!({
                "isolation.level": isolation, "auto.offset.reset": reset,
                "max.poll.records": "2", "request.timeout.ms": "300",
                "default.api.timeout.ms": "200", "retry.backoff.ms": "20",
                "reconnect.backoff.ms": "10",
                "reconnect.backoff.max.ms": "10",
            });
            if let Some(protocol) = group {
                config["group.id"] = json!("g");
                config["group.protocol"] = json!(protocol);
            }
            json!({
                "family": "D", "transaction_version": 0, "config": config, "app": app,
                "broker": broker, "wire": [], "outcome": [], "committed": { "t-0": 3 },
                "idle_fetch": { "hw": 9, "lso": 8 }, "second_leader": true,
                "leaders": { "t-2": 4 },
            })
        })
}

fn play(case: &Value) -> Seen {
    let case = case::read("the case", case).expect("a case");
    super::play_case(&case).expect("every form is supported")
}

/// Calls that wait for time's end if need be.
const ENDLESS: [&str; 2] = ["flush", "close"];

/// Every call of the script has its entry, up to one that waits for ever.
fn every_call_returned(case: &Value, seen: &Seen) -> Result<(), TestCaseError> {
    if seen.outcome.iter().any(|entry| entry["do"] == "construct") {
        return Ok(());
    }
    let steps = case["app"].as_array().expect("steps");
    for (at, step) in steps.iter().enumerate() {
        let told = seen.outcome.iter().any(|entry| entry["step"] == at);
        let name = step["do"].as_str().expect("a name");
        if ENDLESS.contains(&name) && !told {
            return Ok(());
        }
        let is_call = ["send", "init", "begin", "commit", "abort", "offsets"].contains(&name);
        prop_assert!(told || !is_call && case["family"] != "D", "step {at} {step}");
    }
    Ok(())
}

/// A future is told once, for each `send()` that returned.
fn every_future_is_told(seen: &Seen) -> Result<(), TestCaseError> {
    let futures: Vec<_> = seen.outcome.iter().filter_map(|e| e["future"].as_str()).collect();
    let mut once = futures.clone();
    once.sort_unstable();
    once.dedup();
    prop_assert_eq!(once.len(), futures.len());
    for entry in seen.outcome.iter().filter(|entry| entry["do"] == "send") {
        let has_future = entry["value"].as_str().is_some_and(|value| futures.contains(&value));
        prop_assert_eq!(has_future, entry["result"] == "ok", "{}", entry);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(200)
    })]

    #[test]
    fn any_producer_case_is_played_to_its_end(case in producer_case()) {
        let seen = play(&case);
        every_call_returned(&case, &seen)?;
        every_future_is_told(&seen)?;
    }

    #[test]
    fn any_consumer_case_is_played_to_its_end(case in consumer_case()) {
        let seen = play(&case);
        every_call_returned(&case, &seen)?;
    }
}
