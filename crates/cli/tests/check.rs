//! `eosim check`: histories that are judged, and those that are refused.

mod support;

use expect_test::{Expect, expect};
use support::{Folder, library};

const HEADER: &str = r#"{"format": 1, "topics": [{"name": "orders", "partitions": 2}], "clients": ["writer", "reader"], "transactional_ids": ["id"]}"#;

/// A history of `lines` below a header, in a folder of its own.
fn history(lines: &[&str]) -> Folder {
    let folder = Folder::new();
    folder.write("h.jsonl", &([&[HEADER], lines].concat().join("\n") + "\n"));
    folder
}

const SENT: &str = r#"{"at_ms": 1, "event": "send_called", "client": "writer", "partition": "orders-0", "value": "a"}"#;
const READ_B: &str = r#"{"at_ms": 2, "event": "polled", "client": "reader", "partition": "orders-0", "isolation_level": "read_committed", "records": [{"offset": 0, "value": "b"}]}"#;

#[test]
fn a_verdict_says_what_was_not_judged() {
    let ended = history(&[SENT, READ_B]).ends(&["check", "h.jsonl"], 10);
    expect![[r#"
        VIOLATION garbage-read   history=h.jsonl step=3 t=0.002s
          reader (read_committed) took 0..1 of orders-0 at 0.002s and was given b@0 of orders-0, which nobody sent
          rule L-REC-6
        judged 5 of 35 invariants
    "#]]
    .assert_eq(&(ended.out.lines().take(4).collect::<Vec<_>>().join("\n") + "\n"));
    let lacking = "  not judged, for want of the life of a producer: healthy-producer-failed";
    assert!(ended.out.lines().any(|line| line == lacking), "{}", ended.out);
    let ended = history(&[SENT, READ_B]).ends(&["check", "h.jsonl", "--format", "json"], 10);
    for part in [
        r#""format":1"#,
        r#""verdict":"garbage-read""#,
        r#""judged_in_part":[{"invariant":"garbage-read""#,
        r#"{"invariant":"healthy-producer-failed","missing":["the life of a producer"]}"#,
    ] {
        assert!(ended.out.contains(part), "{part} in {}", ended.out);
    }
}

#[test]
fn each_verdict_has_its_exit_code() {
    let stuck = r#"{"event": "stuck", "what": "a reader", "waiting_for": "records"}"#;
    let gave_up = r#"{"event": "gave_up", "why": "no time"}"#;
    for (lines, code) in [
        (vec![SENT], 0),
        (vec![SENT, READ_B], 10),
        (vec![SENT, stuck], 11),
        (vec![SENT, gave_up], 12),
        (vec![], 12),
        (vec![SENT, READ_B, stuck, gave_up], 10),
    ] {
        history(&lines).ends(&["check", "h.jsonl"], code);
    }
}

#[test]
fn a_kept_run_and_what_show_prints_of_it_are_judged_as_the_run_was() {
    let folder = Folder::new();
    let mut words = vec!["sweep".to_string(), library("idempotence/lost-responses.json")];
    words
        .extend(["--defect", "leader.index.drop_abort_entry", "--max-fail", "1"].map(String::from));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    folder.ends(&words, 10);
    let seed = folder.list("sim-runs/latest/failures").remove(0);
    let run = format!("sim-runs/latest/failures/{seed}");
    let kept = format!("{run}/history.jsonl");
    let ended = folder.ends(&["check", &kept], 10);
    assert!(ended.out.starts_with("VIOLATION aborted-read"), "{}", ended.out);
    let shown = folder.ends(&["show", &run, "--as", "history"], 0);
    assert_eq!(shown.out, folder.read(&kept));
}

fn refused(lines: &[&str], message: &Expect) {
    let ended = history(lines).ends(&["check", "h.jsonl"], 2);
    assert_eq!(ended.out, "");
    message.assert_eq(&ended.err);
}

#[test]
fn a_wrong_line_is_refused_with_place_and_nearest_name() {
    refused(
        &[SENT, &READ_B.replace("polled", "poled")],
        &expect![[r#"
        eosim: error: h.jsonl: line 3: event: found "poled", expected "producer_opened", "transactions_initialized", "transaction_begun", "send_called", "send_answered", "offsets_sent", "decided", "commit_called", "commit_answered", "abort_called", "abort_answered", "producer_failed", "producer_closed", "polled", "position_set", "end_offset", "offsets_fetched", "rebalanced", "assertion_failed", "dump", "replica", "batch", "transaction", "coordinator", "stuck", "gave_up" or "broke_off"; did you mean "polled"?
    "#]],
    );
    refused(
        &[&SENT.replace("orders-0", "order-0")],
        &expect![[r#"
        eosim: error: h.jsonl: line 2: partition: found "order", expected one of the topics of the first line; did you mean "orders"?
    "#]],
    );
    refused(
        &[&SENT.replace("orders-0", "orders-7")],
        &expect![[r#"
        eosim: error: h.jsonl: line 2: partition: found "orders-7", expected a partition below 2
    "#]],
    );
    refused(
        &[&SENT.replace("writer", "writter")],
        &expect![[r#"
        eosim: error: h.jsonl: line 2: client: found "writter", expected one of the clients of the first line; did you mean "writer"?
    "#]],
    );
    refused(
        &[&SENT.replace("\"value\"", "\"vaule\"")],
        &expect![[r#"
        eosim: error: h.jsonl: line 2: found the unknown key "vaule", expected "at_ms", "at_us", "client", "event", "input", "partition", "session", "step", "transaction" or "value"; did you mean "value"?
    "#]],
    );
    refused(
        &[&SENT.replace(", \"value\": \"a\"", "")],
        &expect![[r#"
        eosim: error: h.jsonl: line 2: found no "value", expected the key "value"
    "#]],
    );
    refused(
        &[&READ_B.replace("\"offset\": 0", "\"offset\": -1")],
        &expect![[r#"
        eosim: error: h.jsonl: line 2: records[0].offset: found -1, expected a whole number from 0 to 8796093022208
    "#]],
    );
    refused(
        &[&READ_B.replace("\"offset\": 0", "\"offset\": 0.5")],
        &expect![[r#"
        eosim: error: h.jsonl: line 2: records[0].offset (column 140): found floating point `0.5`, expected a whole number, or a text such as "1/100"
    "#]],
    );
    refused(
        &[&READ_B.replace("}]}", "}]")],
        &expect![[r#"
        eosim: error: h.jsonl: line 2: column 154: found the end, expected more JSON
    "#]],
    );
}

#[test]
fn lines_that_cannot_follow_are_refused() {
    let answer = r#"{"at_ms": 3, "event": "send_answered", "client": "writer", "partition": "orders-0", "value": "a", "outcome": "acknowledged", "offset": 0}"#;
    refused(
        &[answer],
        &expect![[r#"
        eosim: error: h.jsonl: line 2: value: found an answer to no send of "a", expected a send_called of it by the same client before, and one answer
    "#]],
    );
    refused(
        &[SENT, answer, answer],
        &expect![[r#"
        eosim: error: h.jsonl: line 4: value: found an answer to no send of "a", expected a send_called of it by the same client before, and one answer
    "#]],
    );
    refused(
        &[SENT, &answer.replace("acknowledged", "refused")],
        &expect![[r#"
        eosim: error: h.jsonl: line 3: found no "error", expected the key "error": what the client saw
    "#]],
    );
    refused(
        &[READ_B, SENT],
        &expect![[r#"
        eosim: error: h.jsonl: line 3: at_ms: found 1000 µs, expected at least 2000 µs, the time of the line before
    "#]],
    );
    let commit = r#"{"at_ms": 3, "event": "commit_answered", "client": "writer", "transaction": 1, "outcome": "done"}"#;
    refused(
        &[commit],
        &expect![[r#"
        eosim: error: h.jsonl: line 2: transaction: found an answer to no commit of transaction 1, expected a commit_called of it before
    "#]],
    );
    refused(
        &[&SENT.replace("\"at_ms\": 1, ", "")],
        &expect![[r#"
        eosim: error: h.jsonl: line 2: found no time, expected "at_us" or "at_ms"
    "#]],
    );
    refused(
        &[&SENT.replace("\"at_ms\": 1", "\"at_ms\": 1, \"at_us\": 1000")],
        &expect![[r#"
        eosim: error: h.jsonl: line 2: at_ms: found "at_ms" beside "at_us", expected one of the two
    "#]],
    );
}

#[test]
fn parts_of_a_dump_that_lie_nowhere_are_refused() {
    let batch = r#"{"event": "batch", "base_offset": 0, "records": ["a"]}"#;
    refused(
        &[batch],
        &expect![[r#"
        eosim: error: h.jsonl: line 2: event: found a part of a dump, expected a line with "event": "dump" before it
    "#]],
    );
    let dump = r#"{"at_ms": 3, "event": "dump"}"#;
    refused(
        &[dump, batch],
        &expect![[r#"
        eosim: error: h.jsonl: line 3: event: found a batch of no replica, expected a line with "event": "replica" before it
    "#]],
    );
    let replica =
        r#"{"event": "replica", "broker": 1, "partition": "orders-0", "is_leader": true}"#;
    refused(
        &[dump, replica, batch, batch],
        &expect![[r#"
        eosim: error: h.jsonl: line 5: base_offset: found 0, expected at least 1, behind the last
    "#]],
    );
    refused(
        &[dump, replica, &batch.replace(", \"records\": [\"a\"]", "")],
        &expect![[r#"
        eosim: error: h.jsonl: line 4: found a batch of nothing, or of several things, expected one of "records", "end_txn_marker", "is_removed_marker", "transactions", "offsets"
    "#]],
    );
}

#[test]
fn what_is_no_history_is_refused() {
    let folder = Folder::new();
    for (text, message) in [
        (
            "",
            expect![[r#"
            eosim: error: h.jsonl: found nothing, expected a first line with "format": 1
        "#]],
        ),
        (
            "nonsense\n",
            expect![[r#"
            eosim: error: h.jsonl: line 1: column 2: found a fault (expected ident), expected JSON
        "#]],
        ),
        (
            "{\"format\": 2, \"topics\": [], \"clients\": []}\n",
            expect![[r#"
            eosim: error: h.jsonl: line 1: format: found 2, expected 1
        "#]],
        ),
        (
            "{\"format\": 1, \"topics\": [], \"clients\": [\"a\", \"a\"]}\n",
            expect![[r#"
            eosim: error: h.jsonl: line 1: clients[1]: found "a" twice, expected every name once
        "#]],
        ),
        (
            "{\"format\": 1, \"clients\": []}\n",
            expect![[r#"
            eosim: error: h.jsonl: line 1: found no "topics", expected the key "topics"
        "#]],
        ),
    ] {
        folder.write("h.jsonl", text);
        message.assert_eq(&folder.ends(&["check", "h.jsonl"], 2).err);
    }
    let deep = format!("{HEADER}\n{}{}\n", "[".repeat(40), "]".repeat(40));
    folder.write("h.jsonl", &deep);
    let ended = folder.ends(&["check", "h.jsonl"], 2);
    assert!(ended.err.contains("at most 32 levels"), "{}", ended.err);
    let long = format!("{HEADER}\n\"{}\"\n", "x".repeat(2 << 20));
    folder.write("h.jsonl", &long);
    let ended = folder.ends(&["check", "h.jsonl"], 2);
    assert!(ended.err.contains("line 2: found more than 1048576 bytes"), "{}", ended.err);
    let ended = folder.ends(&["check", "nowhere.jsonl"], 2);
    assert!(ended.err.contains("nowhere.jsonl: found No such file"), "{}", ended.err);
}
