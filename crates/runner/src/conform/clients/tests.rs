//! Cases of our own in the form of the recordings: forms that no recording in the tree uses, and
//! edges of the consumer's rules.

use expect_test::{Expect, expect};
use serde_json::{Map, Value, json};

use super::case;
use super::judge::Seen;

/// Plays `case`, of which what matters need be given only.
fn play(mut case: Value) -> Seen {
    let family = if case["app"][0]["do"] == "assign" { "D" } else { "A" };
    for (key, value) in [
        ("family", json!(family)),
        ("transaction_version", json!(2)),
        ("config", json!({})),
        ("wire", json!([])),
        ("outcome", json!([])),
    ] {
        let fields = case.as_object_mut().expect("an object");
        fields.entry(key).or_insert(value);
    }
    for (key, value) in [
        ("retry.backoff.ms", "20"),
        ("retry.backoff.max.ms", "20"),
        ("reconnect.backoff.ms", "10"),
        ("reconnect.backoff.max.ms", "10"),
        ("linger.ms", "0"),
    ] {
        let config = case["config"].as_object_mut().expect("settings");
        config.entry(key).or_insert(json!(value));
    }
    let case = case::read("the case", &case).expect("a case");
    super::play_case(&case).expect("every form is supported")
}

/// What was seen, a line for each request and each outcome.
fn told(seen: &Seen) -> String {
    let mut text = String::new();
    for entry in &seen.wire {
        text += &format!("> {} {}\n", entry["api"].as_str().expect("a name"), about(entry));
    }
    for entry in &seen.outcome {
        text += &format!("{}\n", shown(entry));
    }
    text
}

/// What tells one request of an API from another.
fn about(entry: &Value) -> String {
    let fields =
        ["values", "key", "partitions", "offsets", "timestamps", "fetch_offsets", "answer"];
    let batches = entry["batches"].as_array().into_iter().flatten();
    let values = batches.map(|batch| format!("{}{}", batch["partition"], batch["values"]));
    let known = fields.iter().filter(|field| !entry[**field].is_null());
    values.chain(known.map(|field| entry[*field].to_string())).collect::<Vec<_>>().join(" ")
}

fn shown(entry: &Value) -> String {
    let hidden = ["step", "state"];
    let fields = entry.as_object().expect("an object").iter();
    let fields = fields.filter(|(name, _)| !hidden.contains(&name.as_str()));
    Value::Object(fields.map(|(k, v)| (k.clone(), v.clone())).collect::<Map<_, _>>()).to_string()
}

fn check(case: Value, expected: &Expect) {
    expected.assert_eq(&told(&play(case)));
}

#[test]
fn a_consumer_without_assignment_or_group_says_so() {
    check(
        json!({ "app": [
            { "do": "assign", "partitions": [] },
            { "do": "poll_once", "timeout_ms": 10 },
            { "do": "assign", "partitions": ["t-0"] },
            { "do": "position", "partition": "t-1" },
            { "do": "seek", "partition": "t-1", "offset": 1 },
            { "do": "seek", "partition": "t-0", "offset": -1 },
            { "do": "seek_to_end", "partition": "t-1" },
            { "do": "lag", "partition": "t-1" },
            { "do": "committed", "partition": "t-0" },
            { "do": "commit", "offsets": { "t-0": 1 } },
        ] }),
        &expect![[r#"
            {"do":"assign","result":"ok"}
            {"do":"poll_once","exception":"IllegalStateException","polled":[]}
            {"do":"assign","result":"ok"}
            {"do":"position","exception":"IllegalStateException"}
            {"do":"seek","exception":"IllegalStateException"}
            {"do":"seek","exception":"IllegalArgumentException"}
            {"do":"seek_to_end","exception":"IllegalStateException"}
            {"do":"lag","exception":"IllegalStateException"}
            {"do":"committed","exception":"InvalidGroupIdException"}
            {"do":"commit","exception":"InvalidGroupIdException"}
        "#]],
    );
}

#[test]
fn other_partitions_are_another_question_k_pos_7() {
    check(
        json!({
            "config": { "group.id": "g" },
            "committed": { "t-0": 3, "t-1": 4 },
            "app": [
                { "do": "assign", "partitions": ["t-0", "t-1"] },
                { "do": "committed", "partition": "t-0", "timeout_ms": 50 },
                { "do": "committed", "partition": "t-1", "timeout_ms": 50 },
                { "do": "release", "name": "go" },
                { "do": "position", "partition": "t-0" },
            ],
            "broker": [{ "api": "OffsetFetch", "n": "1", "after": "step:go" }],
        }),
        &expect![[r#"
            > FindCoordinator "g" {"error":"NONE"}
            > OffsetFetch ["t-0"] {"error":"NONE","t-0":"3"}
            > OffsetFetch ["t-1"] {"error":"NONE","t-1":"4"}
            > OffsetFetch ["t-0","t-1"] {"error":"NONE","t-0":"3","t-1":"4"}
            {"do":"assign","result":"ok"}
            {"do":"committed","exception":"TimeoutException"}
            {"do":"committed","exception":"TimeoutException"}
            {"do":"release","result":"ok"}
            {"do":"position","result":3}
        "#]],
    );
}

#[test]
fn a_commit_that_timed_out_is_no_part_of_the_next_k_com_5() {
    check(
        json!({
            "config": { "group.id": "g" },
            "app": [
                { "do": "assign", "partitions": ["t-0"] },
                { "do": "commit", "offsets": { "t-0": 1 }, "timeout_ms": 50 },
                { "do": "release", "name": "go" },
                { "do": "commit", "offsets": { "t-0": 2 } },
            ],
            "broker": [
                { "api": "OffsetCommit", "n": 1, "after": "step:go", "error": "UNKNOWN_MEMBER_ID" },
            ],
        }),
        &expect![[r#"
            > FindCoordinator "g" {"error":"NONE"}
            > OffsetCommit {"t-0":1} {"error":"UNKNOWN_MEMBER_ID"}
            > OffsetCommit {"t-0":2} {"error":"NONE"}
            {"do":"assign","result":"ok"}
            {"do":"commit","exception":"TimeoutException"}
            {"do":"release","result":"ok"}
            {"do":"commit","result":"ok"}
        "#]],
    );
}

#[test]
fn a_group_without_coordinator_fails_every_call_k_com_4() {
    let expected = expect![[r#"
        > FindCoordinator "g" {"error":"GROUP_AUTHORIZATION_FAILED"}
        > FindCoordinator "g" {"error":"INVALID_GROUP_ID"}
        {"do":"assign","result":"ok"}
        {"do":"commit","exception":"GroupAuthorizationException"}
        {"do":"committed","exception":"InvalidGroupIdException"}
    "#]];
    for protocol in ["classic", "consumer"] {
        let case = json!({
            "config": { "group.id": "g", "group.protocol": protocol },
            "app": [
                { "do": "assign", "partitions": ["t-0"] },
                { "do": "commit", "offsets": { "t-0": 1 } },
                { "do": "committed", "partition": "t-0" },
            ],
            "broker": [
                { "api": "FindCoordinator", "n": 1, "error": "GROUP_AUTHORIZATION_FAILED" },
                { "api": "FindCoordinator", "n": "2+", "error": "INVALID_GROUP_ID" },
            ],
        });
        check(case, &expected);
    }
}

#[test]
fn the_answer_to_an_earlier_call_is_not_taken_for_the_answer_to_this_one_k_off_2() {
    check(
        json!({
            "config": { "default.api.timeout.ms": "50" },
            "list_offsets": { "earliest": 3, "lso": 7, "hw": 9 },
            "app": [
                { "do": "assign", "partitions": ["t-0"] },
                { "do": "beginning_offsets", "partition": "t-0" },
                { "do": "release", "name": "go" },
                { "do": "end_offsets", "partition": "t-0" },
            ],
            "broker": [{ "api": "ListOffsets", "n": 1, "after": "step:go", "delay_ms": 5 }],
        }),
        &expect![[r#"
            > ListOffsets {"t-0":"earliest"} {"error":"NONE","offset":3}
            > ListOffsets {"t-0":"latest"} {"error":"NONE","offset":9}
            {"do":"assign","result":"ok"}
            {"do":"beginning_offsets","exception":"TimeoutException"}
            {"do":"release","result":"ok"}
            {"do":"end_offsets","result":9}
        "#]],
    );
}

#[test]
fn nothing_is_fetched_while_committed_offsets_are_awaited_k_com_2() {
    check(
        json!({
            "config": { "group.id": "g", "isolation.level": "read_committed" },
            "committed": { "t-1": 4 },
            "app": [
                { "do": "assign", "partitions": ["t-0", "t-1"] },
                { "do": "seek", "partition": "t-0", "offset": 2 },
                { "do": "poll_fetches", "n": 1 },
            ],
            "broker": [{ "api": "OffsetFetch", "n": 1, "error": "UNSTABLE_OFFSET_COMMIT" }],
        }),
        &expect![[r#"
            > FindCoordinator "g" {"error":"NONE"}
            > OffsetFetch ["t-1"] {"error":"UNSTABLE_OFFSET_COMMIT","t-1":"UNSTABLE_OFFSET_COMMIT"}
            > OffsetFetch ["t-1"] {"error":"NONE","t-1":"4"}
            > Fetch {"t-0":2,"t-1":4} {"error":"NONE","scripted":false}
            {"do":"assign","result":"ok"}
            {"do":"seek","result":"ok"}
            {"do":"poll_fetches","polled":[],"polls":[],"result":"ok"}
        "#]],
    );
}

#[test]
fn an_aborted_transaction_may_begin_in_a_batch_with_holes_k_filt_2() {
    let batch = json!({
        "offsets": [2, 3, 6], "values": ["a", "b", "c"],
        "base": 0, "last": 7, "pid": 1, "epoch": 0, "txn": true,
    });
    let marker = json!({ "control": "ABORT", "base": 8, "pid": 1, "epoch": 0 });
    for (isolation, expected) in [
        (
            "read_committed",
            expect![[r#"
            > Fetch {"t-0":0} {"batches":2,"error":"NONE","scripted":true}
            > Fetch {"t-0":9} {"error":"NONE","scripted":false}
            > Fetch {"t-0":9} {"error":"NONE","scripted":false}
            {"do":"assign","result":"ok"}
            {"do":"seek","result":"ok"}
            {"do":"poll_fetches","polled":[],"polls":[{"next_offsets":{"t-0":9},"records":[]}],"result":"ok"}
        "#]],
        ),
        (
            "read_uncommitted",
            expect![[r#"
            > Fetch {"t-0":0} {"batches":2,"error":"NONE","scripted":true}
            > Fetch {"t-0":9} {"error":"NONE","scripted":false}
            > Fetch {"t-0":9} {"error":"NONE","scripted":false}
            {"do":"assign","result":"ok"}
            {"do":"seek","result":"ok"}
            {"do":"poll_fetches","polled":["t-0@2=a","t-0@3=b","t-0@6=c"],"polls":[{"next_offsets":{"t-0":4},"records":["t-0@2=a","t-0@3=b"]},{"next_offsets":{"t-0":9},"records":["t-0@6=c"]}],"result":"ok"}
        "#]],
        ),
    ] {
        check(
            json!({
                "config": { "isolation.level": isolation, "max.poll.records": 2 },
                "idle_fetch": { "hw": 9, "lso": 9 },
                "app": [
                    { "do": "assign", "partitions": ["t-0"] },
                    { "do": "seek", "partition": "t-0", "offset": 0 },
                    { "do": "poll_fetches", "n": 2 },
                ],
                "broker": [{
                    "api": "Fetch", "n": 1, "hw": 9, "lso": 9,
                    "batches": [batch, marker], "aborted": [[1, 3]],
                }],
            }),
            &expected,
        );
    }
}

#[test]
fn an_error_that_is_no_kafka_exception_holds_nothing_back_k_pos_5() {
    check(
        json!({
            "partitions": 2,
            "leaders": { "t-1": 4 },
            "second_leader": true,
            "app": [
                { "do": "assign", "partitions": ["t-0", "t-1"] },
                { "do": "seek", "partition": "t-0", "offset": 0 },
                { "do": "seek", "partition": "t-1", "offset": 0 },
                { "do": "poll_once", "timeout_ms": 100 },
                { "do": "poll_once", "timeout_ms": 100 },
            ],
            "broker": [{
                "api": "Fetch", "hw": 1, "lso": 1, "n": "1-2",
                "partition_errors": { "t-1": "INVALID_REQUEST" },
                "batches": [{ "offsets": [0], "values": ["a"] }],
            }],
        }),
        &expect![[r#"
            > Fetch {"t-0":0} {"batches":1,"error":"NONE","scripted":true}
            > Fetch {"t-1":0} {"batches":0,"error":"NONE","scripted":true}
            {"do":"assign","result":"ok"}
            {"do":"seek","result":"ok"}
            {"do":"seek","result":"ok"}
            {"do":"poll_once","exception":"IllegalStateException","polled":[]}
            {"do":"poll_once","exception":"IllegalStateException","polled":[]}
        "#]],
    );
}

#[test]
fn settings_that_no_client_is_made_with() {
    for (config, app) in [
        (json!({ "acks": "2" }), "flush"),
        (json!({ "max.in.flight.requests.per.connection": 0 }), "flush"),
        (json!({ "transactional.id": "" }), "flush"),
        (json!({ "retries": "-1" }), "flush"),
        (json!({ "linger.ms": "soon" }), "flush"),
        (json!({ "isolation.level": "serializable" }), "assign"),
        (json!({ "auto.offset.reset": "by_duration:1h" }), "assign"),
    ] {
        let seen = play(json!({ "config": config, "app": [{ "do": app, "partitions": [] }] }));
        assert_eq!(shown(&seen.outcome[0]), r#"{"do":"construct","exception":"ConfigException"}"#);
    }
}

#[test]
fn every_step_may_have_a_thread_of_its_own() {
    check(
        json!({
            "config": { "transactional.id": "tx", "max.block.ms": 200, "compression.type": "none" },
            "app": [
                { "do": "init", "async": true },
                { "do": "sleep", "ms": 30, "async": true },
                { "do": "join", "of": "init" },
                { "do": "join", "of": "sleep" },
                { "do": "begin", "async": false },
                { "do": "send", "partition": 9, "value": "lost", "async": true },
                { "do": "send", "partition": 0, "value": "r1" },
                { "do": "wait", "of": ["r1", "lost"] },
                { "do": "join", "of": "send" },
                { "do": "abort" },
                { "do": "close" },
            ],
        }),
        &expect![[r#"
            > FindCoordinator "tx" {"error":"NONE"}
            > InitProducerId {"error":"NONE","producer_epoch":0,"producer_id":2000}
            > Produce "t-0"["r1"] {"t-0":{"base_offset":0,"error":"NONE"}}
            > EndTxn {"error":"NONE","producer_epoch":1,"producer_id":2000}
            {"async":true,"do":"init"}
            {"async":true,"do":"sleep"}
            {"joined":"init","result":"ok"}
            {"joined":"sleep","result":"ok"}
            {"do":"begin","result":"ok"}
            {"async":true,"do":"send"}
            {"do":"send","result":"ok","value":"r1"}
            {"joined":"send","result":"ok","value":"lost"}
            {"do":"abort","result":"ok"}
            {"do":"close","result":"ok"}
            {"exception":"TimeoutException","future":"lost"}
            {"future":"r1","offset":0,"partition":"t-0"}
        "#]],
    );
}
