//! Runs that are kept, replayed, compared.

mod support;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use support::{Ended, Folder, library};

const DEFECT: &str = "leader.marker.accept_equal_epoch";

/// A sweep with a defect on, until it is caught.
fn caught(folder: &Folder) -> Ended {
    let scenarios = library("fencing/zombie-fencing.json");
    let words = ["sweep", &scenarios, "--defect", DEFECT, "--count", "3000", "--max-fail", "1"];
    folder.ends(&words, 10)
}

/// The path of the only failing seed's folder.
fn failure(folder: &Folder) -> PathBuf {
    let seeds = folder.list("sim-runs/latest/failures");
    assert_eq!(seeds.len(), 1, "{seeds:?}");
    PathBuf::from("sim-runs/latest/failures").join(&seeds[0])
}

#[test]
fn a_failure_ends_with_a_command_that_replays_it() {
    let folder = Folder::new();
    let ended = caught(&folder);
    let line = ended.out.lines().find_map(|line| line.trim().strip_prefix("reproduce: eosim "));
    let command: Vec<&str> = line.expect("a command to paste").split(' ').collect();
    let replayed = folder.ends(&command, 10);
    assert!(replayed.out.contains("VIOLATION"), "{}", replayed.out);
    assert!(replayed.err.contains("replayed as recorded"), "{}", replayed.err);
    folder.ends(&[&command[..], &["--expect-recorded"]].concat(), 10);
    folder.ends(&["replay", "latest"], 10);
    let seed = failure(&folder);
    let seed = seed.display();
    for (name, begins) in [
        ("choices.json", "{\"format\":1"),
        ("transcript.txt", "# step"),
        ("history.jsonl", "{\"format\":1"),
        ("dump.txt", "CoordinatorId"),
        ("verdict.json", "{\n"),
        ("plan.json", "{\n"),
    ] {
        let text = folder.read(&format!("{seed}/{name}"));
        assert!(text.starts_with(begins), "{name}: {}", &text[..20]);
    }
    for form in ["transcript", "dump-log", "txn-log", "transactions"] {
        let shown = folder.ends(&["show", &seed.to_string(), "--as", form], 0);
        assert!(!shown.out.is_empty(), "{form}");
    }
}

#[test]
fn a_failure_is_shrunk_to_a_scenario_and_a_run() {
    let folder = Folder::new();
    caught(&folder);
    let words = ["shrink", "latest", "--steps", "400000", "--jobs"];
    let ended = folder.ends(&[&words[..], &["2"]].concat(), 10);
    assert!(ended.out.contains("\n  shrunk: "), "{}", ended.out);
    let line =
        ended.out.lines().last().and_then(|line| line.trim().strip_prefix("reproduce: eosim "));
    let command: Vec<&str> = line.expect("a command to paste").split(' ').collect();
    folder.ends(&[&command[..], &["--expect-recorded"]].concat(), 10);
    let scenario = folder.read(&format!("{}/shrunk/scenario.json", failure(&folder).display()));
    assert!(scenario.contains("\"name\": \"zombie-fencing-shrunk\""), "{scenario}");
    folder.ends(&[&words[..], &["1", "--out", "one"]].concat(), 10);
    assert_eq!(folder.read("one/scenario.json"), scenario);
    folder.ends(&["run", "one/scenario.json"], 0);
    let json = folder.ends(&["shrink", "one", "--steps", "1", "--format", "json"], 10).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["before"], &json["format"]), (&json["after"], &1.into()), "{json}");
}

#[test]
fn what_is_not_there_or_not_broken_is_not_shrunk() {
    let folder = Folder::new();
    folder.ends(&["shrink", "nowhere"], 2);
    folder.ends(&["run", &library("idempotence/lost-responses.json")], 0);
    let refused = folder.ends(&["shrink", "latest"], 12);
    assert!(refused.err.contains("nothing is broken in this run: sound"), "{}", refused.err);
}

/// Replaces text in the recording of a failure.
fn change(folder: &Folder, from: &str, to: &str) -> String {
    let path = failure(folder).join("choices.json").display().to_string();
    let text = folder.read(&path);
    assert!(text.contains(from), "{from}");
    folder.write(&path, &text.replacen(from, to, 1));
    path
}

#[test]
fn a_recording_of_another_model_is_refused() {
    let folder = Folder::new();
    caught(&folder);
    let path = change(&folder, "\"model\":", "\"model\":7");
    let refused = folder.ends(&["replay", &path], 14);
    assert!(refused.err.contains("the recording is of another model"), "{}", refused.err);
    folder.ends(&["show", &path], 14);
    folder.ends(&["replay", &path, "--force"], 10);
}

#[test]
fn a_replay_stops_where_it_leaves_its_recording() {
    let folder = Folder::new();
    caught(&folder);
    let path = change(&folder, "\"choices\":[[", "\"choices\":[[0,0,1000,0],[");
    let left = folder.ends(&["replay", &path], 14);
    assert!(left.err.contains("not as recorded: choice 0"), "{}", left.err);
    assert_eq!(left.out, "");
    let forced = folder.eosim(&["replay", &path, "--force"]);
    assert!(forced.err.contains("not as recorded: choice 0"), "{}", forced.err);
    assert_ne!(forced.code, Some(14));
}

#[test]
fn a_replay_that_ends_otherwise_is_told() {
    let folder = Folder::new();
    caught(&folder);
    let path = change(&folder, "\"digest\":\"", "\"digest\":\"x");
    let differs = folder.ends(&["replay", &path, "--expect-recorded"], 2);
    assert!(differs.err.contains("16 hexadecimal digits"), "{}", differs.err);
    let text = folder.read(&path).replacen("\"digest\":\"x", "\"digest\":\"", 1);
    folder.write(&path, &text.replacen("\"steps\":", "\"steps\":1", 1));
    let differs = folder.ends(&["replay", &path, "--expect-recorded"], 14);
    assert!(differs.err.contains("not as recorded: steps: recorded 1"), "{}", differs.err);
}

#[test]
fn the_summary_does_not_depend_on_jobs() {
    let folder = Folder::new();
    let scenarios = library("");
    // Enough seeds for every expected violation and every required fault.
    for jobs in ["1", "2", "5"] {
        let words = ["sweep", &scenarios, "--count", "60", "--jobs", jobs, "--out", jobs];
        folder.ends(&words, 0);
    }
    let one = folder.read("1/latest/summary.jsonl");
    assert_eq!(one.lines().count() % 60, 0);
    let coverage = folder.read("1/latest/coverage.json");
    for jobs in ["2", "5"] {
        assert_eq!(one, folder.read(&format!("{jobs}/latest/summary.jsonl")));
        assert_eq!(coverage, folder.read(&format!("{jobs}/latest/coverage.json")));
    }
}

#[test]
fn a_sweep_that_never_reaches_what_it_requires_is_vacuous() {
    let folder = Folder::new();
    let scenario = library("examples/example-1-commit-abort-commit.json");
    let sweep = |requires: &str, code| {
        let set = format!("requires=[{requires}]");
        let words = ["sweep", &scenario, "--count", "2", "--set", &set];
        let out = folder.ends(&words, code).out;
        (out, folder.read("sim-runs/latest/summary.jsonl"))
    };
    let (out, lines) = sweep(r#"{"rule":"L-MRK-5"},{"cell":"coordinator/Ongoing/timed out"}"#, 12);
    let never = "required, but it never happened: cell coordinator/Ongoing/timed out";
    assert!(out.contains(never) && !out.contains("L-MRK-5"), "{out}");
    let last = "2 seeds, 0 failed, but no pass: example-1-commit-abort-commit VACUOUS; artefacts";
    assert!(out.contains(last), "{out}");
    let missing = r#""missing":["cell coordinator/Ongoing/timed out"]"#;
    assert_eq!(lines.matches(missing).count(), 2, "{lines}");
    let (_, lines) = sweep(r#"{"state":"coordinator/CompleteAbort"},{"rule":"L-MRK-5"}"#, 0);
    assert!(!lines.contains("missing"), "{lines}");
}

fn count(folder: &Folder, words: &[&str], kind: &str, name: &str) -> u64 {
    let printed = folder.ends(&[words, &["--format", "json"]].concat(), 0).out;
    let coverage: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(coverage["format"], 1);
    coverage[kind][name].as_u64().unwrap_or_else(|| panic!("{kind} {name}"))
}

#[test]
fn coverage_adds_runs_and_shows_first_what_was_never_reached() {
    let folder = Folder::new();
    let scenario = library("examples/example-1-commit-abort-commit.json");
    folder.ends(&["run", &scenario], 0);
    // Two commits, the first of which is the first transaction of its id.
    let once = &["coverage"][..];
    let twice = &["coverage", "latest", "latest"][..];
    let cell = "coordinator/Ongoing/EndTxn(COMMIT)";
    assert_eq!(count(&folder, once, "cells", cell), 2);
    assert_eq!(count(&folder, twice, "cells", cell), 4);
    assert_eq!(count(&folder, once, "probes", "coordinator/CompleteAbort"), 1);
    assert!(count(&folder, once, "rules", "L-MRK-5") > 0);
    let text = folder.ends(once, 0).out;
    let cells = text.split("cells: ").nth(1).expect("cells");
    let place = |line: &str| cells.find(line).unwrap_or_else(|| panic!("{line} in {cells}"));
    assert!(place("  never      coordinator/Ongoing/timed out") < place("  1  coordinator/"));
    let reason = "coordinator/Ongoing/expired: only an idle id expires (C-EXP-1)";
    assert!(folder.ends(&["coverage", "--verbose"], 0).out.contains(reason));
    let refused = folder.ends(&["coverage", "nowhere"], 2);
    assert!(refused.err.contains("nowhere: found no such file"), "{}", refused.err);
}

#[test]
fn a_seed_is_the_same_alone_and_in_a_sweep_and_in_shares() {
    let folder = Folder::new();
    let lost = library("idempotence/lost-responses.json");
    folder.ends(&["sweep", &lost, "--seeds", "8..12", "--verify-every", "1"], 0);
    let all = folder.read("sim-runs/latest/summary.jsonl");
    let mut alone = String::new();
    for seed in ["8", "9", "10", "11"] {
        folder.ends(&["run", &lost, "--seed", seed, "--out", "alone"], 0);
        alone += &folder.read("alone/latest/summary.jsonl");
    }
    assert_eq!(all, alone);
    for share in ["1/2", "2/2"] {
        // Two seeds may well be vacuous.
        folder.eosim(&["sweep", &lost, "--seeds", "8..12", "--partition", share]);
        let lines = folder.read("sim-runs/latest/summary.jsonl");
        assert_eq!(lines.lines().count(), 2);
        assert!(lines.lines().all(|line| all.contains(line)), "{lines}");
    }
    let printed = folder.ends(&["sweep", &lost, "--seeds", "8..12", "--format", "jsonl"], 0);
    assert_eq!(printed.out, all);
}

#[test]
fn expectations_and_requirements_decide_the_exit_code() {
    let folder = Folder::new();
    let text = fs::read_to_string(library("fencing/zombie-fencing.json")).expect("reads");
    let expects = text.replacen(
        "\"expect\": \"sound\"",
        r#""expect": {"violation": ["torn-transaction", "aborted-read", "committed-lost", "early-read", "outcome-contradicted"]}"#,
        1,
    );
    let expects = expects.replacen("\"name\": \"zombie-fencing\"", "\"name\": \"expects\"", 1);
    folder.write("expects.json", &expects);
    let count = ["--count", "300"];
    let sweep = |more: &[&str], code| {
        folder.ends(&[&["sweep", "expects.json"], &count[..], more].concat(), code)
    };
    let last = "300 seeds, 0 failed, but no pass: expects NO VIOLATION; artefacts";
    assert!(sweep(&[], 13).out.contains(last));
    assert!(sweep(&["--defect", DEFECT], 0).out.contains("violation, as expected"));
    folder.ends(&["run", "expects.json"], 13);
    let stall = library("transactions/gc-stall.json");
    let never = ["sweep", &stall, "--count", "5", "--set", "faults.gc_pause.rate=0/1"];
    let vacuous = folder.ends(&never, 12);
    assert!(vacuous.out.contains("required, but it never happened: gc_pause"), "{}", vacuous.out);
}

#[test]
fn verify_compares_two_runs() {
    let folder = Folder::new();
    let ended = folder.ends(&["verify", &library("transactions/mixed.json"), "--seed", "0x2a"], 0);
    assert!(ended.out.starts_with("deterministic   scenario=mixed seed=42"), "{}", ended.out);
    assert_eq!(folder.list("."), Vec::<String>::new());
}

#[test]
fn a_plan_is_printed_and_kept() {
    let folder = Folder::new();
    let words = ["run", &library("transactions/mixed.json"), "--seed", "9", "--print-plan"];
    let printed = folder.ends(&words, 0).out;
    let plan = folder.read("sim-runs/latest/plan.json");
    assert!(printed.starts_with(&plan), "{printed}");
    folder.write("plan.json", &plan);
    folder.ends(&["run", "plan.json", "--seed", "1"], 0);
}

#[test]
fn a_defect_is_caught_and_replays() {
    let folder = Folder::new();
    let words = ["defects", "--run", DEFECT, "--scenarios", &library(""), "--format", "json"];
    let json: serde_json::Value = serde_json::from_str(&folder.ends(&words, 0).out).expect("JSON");
    let row = &json["defects"][0];
    assert_eq!((&row["name"], &row["caught"]), (&DEFECT.into(), &true.into()), "{json}");
    assert_eq!(row["replays"], true, "{json}");
    let elsewhere = library("idempotence");
    let few = ["defects", "--run", DEFECT, "--seeds-max", "1", "--scenarios", &elsewhere];
    assert!(folder.ends(&few, 13).out.contains("SURVIVED"));
}

#[test]
fn interrupted_sweeps_keep_what_is_finished() {
    let folder = Folder::new();
    let words =
        ["sweep", &library("transactions/mixed.json"), "--profile", "soak", "--format", "jsonl"];
    let mut sweep = folder.command(&words);
    let mut sweep = sweep.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
    let started = std::time::Instant::now();
    while folder.list("sim-runs").is_empty() && started.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    let kill = Command::new("kill").args(["-INT", &sweep.id().to_string()]).status();
    assert!(kill.expect("kill runs").success());
    assert_eq!(sweep.wait().expect("ends").code(), Some(130));
    let lines = folder.read("sim-runs/latest/summary.jsonl");
    assert!(lines.ends_with("}\n"), "{lines}");
    for line in lines.lines() {
        serde_json::from_str::<serde_json::Value>(line).expect("a whole line");
    }
    let run = folder.list("sim-runs").into_iter().find(|name| name != "latest").expect("a run");
    let files = folder.list(&format!("sim-runs/{run}"));
    assert_eq!(
        files,
        ["coverage.json", "manifest.json", "progress.json", "summary.json", "summary.jsonl"]
    );
}

#[test]
fn a_closed_pipe_ends_nothing_badly() {
    let folder = Folder::new();
    let mut list = folder.command(&["list", "rules"]);
    let mut child = list.stdout(Stdio::piped()).spawn().expect("starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("ends").code(), Some(0));
}

#[test]
fn a_recording_with_another_label_is_refused() {
    let folder = Folder::new();
    caught(&folder);
    let path = change(&folder, "\"scenario\":\"zombie-fencing\"", "\"scenario\":\"mixed\"");
    let refused = folder.ends(&["replay", &path], 2);
    let message = "scenario: found \"mixed\", expected \"zombie-fencing\", as the plan is called";
    assert!(refused.err.contains(message), "{}", refused.err);
    change(&folder, "\"scenario\":\"mixed\"", "\"scenario\":\"zombie-fencing\"");
    change(&folder, "\"verdict\":\"", "\"verdict\":\"x");
    let differs = folder.ends(&["replay", &path, "--expect-recorded"], 14);
    assert!(differs.err.contains("verdict: recorded x"), "{}", differs.err);
}

#[test]
fn a_sweep_without_failures_has_nothing_to_explain() {
    let folder = Folder::new();
    let scenario = library("examples/example-1-commit-abort-commit.json");
    folder.ends(&["sweep", &scenario, "--count", "3"], 0);
    let told = folder.ends(&["explain", "latest"], 0);
    assert_eq!(told.out, "nothing to explain: none of the 3 runs of latest failed\n");
    let refused = folder.ends(&["replay", "latest"], 2);
    let message = "latest: found a sweep in which none of 3 runs failed, expected a choices.json";
    assert!(refused.err.contains(message), "{}", refused.err);
    let refused = folder.ends(&["diff", &scenario, "--b-kafka", "4.1"], 2);
    let message = "found a scenario, expected a kept run, or --seed N beside it";
    assert!(refused.err.contains(message), "{}", refused.err);
}

#[test]
fn another_violation_than_the_expected_one_is_told_apart() {
    let folder = Folder::new();
    let late = library("transactions/late-end-txn.json");
    let defect = ["--defect", "tc.endtxn.no_txn_identity", "--seed", "0"];
    let expect = ["--set", r#"expect={"violation": ["duplicate"]}"#];
    let other = folder.ends(&[&["run", &late], &defect[..], &expect[..]].concat(), 10);
    let told = "NOT AS EXPECTED   the scenario expects duplicate alone";
    assert!(other.out.contains(told), "{}", other.out);
}
