//! A run that is looked at: the diagram, the state at a step, the timeline, and what other tools open.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use expect_test::{expect, expect_file};
use serde_json::Value;
use support::{Folder, library};

const DEFECT: &str = "tc.endtxn.no_txn_identity";

/// A folder with a failing run of 128 steps.
fn failed() -> Folder {
    let folder = Folder::new();
    let late = library("transactions/late-end-txn.json");
    folder.ends(&["run", &late, "--defect", DEFECT], 10);
    folder
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn a_failure_is_drawn_as_a_sequence_diagram() {
    let folder = failed();
    let text = folder.ends(&["show", "latest", "--as", "diagram"], 0).out;
    expect_file!["golden/diagram.mmd"].assert_eq(&text);
    let words = ["show", "latest", "--as", "diagram", "--format", "json"];
    let drawn = json(&folder.ends(&words, 0).out);
    let lines = drawn["lines"].as_array().expect("lines");
    assert!(!lines.is_empty() && lines.len() <= 40, "{}", lines.len());
    let at = ["show", "latest", "--as", "diagram", "--at", "60", "--actor", "writer"];
    let early = folder.ends(&at, 0).out;
    assert!(early.contains("begins transaction 0.0") && !early.contains("0.1"), "{early}");
}

#[test]
fn the_state_after_a_step_is_shown() {
    let folder = failed();
    let text = folder.ends(&["show", "latest", "--as", "state", "--at", "110"], 0).out;
    expect_file!["golden/state.txt"].assert_eq(&text);
    let words = ["show", "latest", "--as", "state", "--at", "110", "--format", "json"];
    let state = json(&folder.ends(&words, 0).out);
    assert_eq!((&state["format"], &state["step"]), (&1.into(), &110.into()));
    let leaders = state["leaders"].as_array().expect("leaders");
    let orders = leaders.iter().find(|one| one["partition"] == "orders-0").expect("orders-0");
    assert!(orders["high_watermark"].is_i64() && orders["leader_epoch"].is_i64(), "{orders}");
    assert!(orders["ISR"].is_string() && state["transactions"][0]["pending_state"].is_null());
    let only = ["show", "latest", "--as", "state", "--transaction", "writer"];
    let only = folder.ends(&only, 0).out;
    assert!(only.contains("Transactions\n") && !only.contains("Leaders\n"), "{only}");
}

#[test]
fn a_transcript_is_of_a_partition_or_of_a_transactional_id() {
    let folder = failed();
    let whole = folder.ends(&["show", "latest"], 0).out;
    let lines: BTreeSet<&str> = whole.lines().collect();
    for filter in [["--partition", "orders-0"], ["--transaction", "writer"]] {
        let text = folder.ends(&[&["show", "latest"][..], &filter].concat(), 0).out;
        let chosen = text.lines().filter(|line| line.contains("EndTxn")).count();
        assert_eq!(chosen > 0, filter[0] == "--transaction", "{filter:?}");
        let is_named = |line: &&str| !line.starts_with('#') && !line.is_empty();
        let strange: Vec<&str> = text
            .lines()
            .filter(is_named)
            .filter(|line| {
                // Actors are called by their names where the whole transcript has their numbers.
                let begin: String = line.chars().take(30).collect();
                !lines.iter().any(|known| known.starts_with(&begin))
            })
            .collect();
        assert!(strange.is_empty(), "{filter:?}: {strange:?}");
        assert!(text.lines().count() < whole.lines().count(), "{filter:?}");
    }
    let error = folder.ends(&["show", "latest", "--transaction", "writr"], 2).err;
    expect![[r#"
        eosim: error: --transaction: found "writr", expected a transactional id of the run; did you mean "writer"?
    "#]]
    .assert_eq(&error);
}

#[test]
fn a_failing_seed_has_its_timeline() {
    let folder = failed();
    let name = &folder.list("sim-runs/latest/failures")[0];
    let kept = folder.read(&format!("sim-runs/latest/failures/{name}/timeline.html"));
    assert_eq!(kept, folder.ends(&["show", "latest", "--as", "timeline"], 0).out);
    assert!(kept.starts_with("<!DOCTYPE html>") && kept.len() < 2_000_000, "{}", kept.len());
    let words = ["show", "latest", "--as", "timeline", "--format", "json"];
    let data = json(&folder.ends(&words, 0).out);
    let rows = data["rows"].as_array().expect("rows");
    assert_eq!(kept.matches("<li class=\"").count(), rows.len());
    let steps: Vec<u64> =
        rows.iter().filter_map(|row| row[0].as_u64()).filter(|s| *s > 0).collect();
    assert!(steps.is_sorted(), "in order");
    let turns = data["turns"].as_array().expect("turns");
    let at: Vec<u64> = turns.iter().filter_map(|turn| turn[0].as_u64()).collect();
    assert!(at.is_sorted() && !at.is_empty(), "in order");
}

/// What a trace event is told apart by.
fn id(event: &Value) -> (String, String) {
    let text = |key: &str| event[key].as_str().unwrap_or_default().to_string();
    (text("cat"), text("id"))
}

#[test]
fn a_chrome_trace_has_both_ends_of_every_span_and_flow() {
    let folder = failed();
    let trace = json(&folder.ends(&["report", "latest", "--as", "chrome-trace"], 0).out);
    let events = trace["traceEvents"].as_array().expect("events");
    let mut open: BTreeMap<_, (&Value, u64)> = BTreeMap::new();
    let mut steps: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    let (mut spans, mut flows) = (0, 0);
    for event in events {
        let time = event["ts"].as_u64().expect("a time");
        let track = (event["pid"].as_u64().expect("pid"), event["tid"].as_u64().expect("tid"));
        match event["ph"].as_str().expect("a phase") {
            "M" => {}
            "X" => {
                assert_eq!(event["dur"], 1, "{event}");
                let last = steps.insert(track, time).unwrap_or(0);
                assert!(last <= time, "steps of a track nest or follow: {event}");
            }
            "i" => assert!(["t", "p", "g"].contains(&event["s"].as_str().expect("a scope"))),
            "C" => assert!(event["args"]["high watermark"].is_i64(), "{event}"),
            begin @ ("b" | "s") => {
                let before = open.insert((begin == "b", id(event)), (event, time));
                assert!(before.is_none(), "twice: {event}");
            }
            end @ ("e" | "f") => {
                let begun = open.remove(&(end == "e", id(event)));
                let (begin, from) = begun.unwrap_or_else(|| panic!("no begin: {event}"));
                assert!(from <= time && begin["name"] == event["name"], "{begin} {event}");
                if end == "e" {
                    assert_eq!(begin["pid"], event["pid"]);
                    spans += 1;
                } else {
                    assert_eq!(event["bp"], "e");
                    flows += 1;
                }
            }
            other => panic!("{other}: {event}"),
        }
    }
    assert!(open.is_empty(), "without end: {open:?}");
    assert!(spans > 20 && flows > 40, "{spans} spans, {flows} flows");
    let categories: BTreeSet<&str> = events.iter().filter_map(|one| one["cat"].as_str()).collect();
    for category in ["step", "request", "message", "transaction", "application", "fault"] {
        assert!(categories.contains(category), "{category}: {categories:?}");
    }
}

#[test]
fn clocks_of_a_shiviz_log_go_on_by_one_and_know_only_what_was_told() {
    let folder = failed();
    let log = folder.ends(&["report", "latest", "--as", "shiviz"], 0).out;
    let mut lines = log.lines();
    assert_eq!(lines.next(), Some(r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)"));
    assert_eq!(lines.next(), Some(""));
    let mut clocks: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    while let Some(line) = lines.next() {
        assert!(lines.next().is_some_and(|event| !event.is_empty()), "an event: {line}");
        let (host, clock) = line.split_once(' ').expect("a host and a clock");
        let clock: BTreeMap<String, u64> = serde_json::from_str(clock).expect("a clock");
        let of = |clocks: &BTreeMap<_, BTreeMap<String, u64>>, host: &str, of: &str| {
            clocks.get(host).and_then(|clock| clock.get(of)).copied().unwrap_or(0)
        };
        assert_eq!(clock[host], of(&clocks, host, host) + 1, "{line}");
        for (other, count) in &clock {
            assert!(of(&clocks, host, other) <= *count, "a clock goes back: {line}");
            assert!(
                other == host || *count <= of(&clocks, other, other),
                "from the future: {line}"
            );
        }
        clocks.insert(host.to_string(), clock);
    }
    assert!(clocks.len() > 4, "{:?}", clocks.keys());
}

#[test]
fn forms_of_one_run_ask_for_one_and_steps_for_one_of_the_run() {
    let folder = failed();
    folder.ends(&["report", "nowhere", "--as", "chrome-trace"], 2);
    for form in ["diagram", "state", "timeline"] {
        let error = folder.ends(&["show", "latest", "--as", form, "--at", "99999"], 2).err;
        assert!(error.contains("--at") && error.contains("a step of the run"), "{error}");
    }
}
