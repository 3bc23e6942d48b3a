//! Ten thousand inputs that are nearly right: whatever is wrong with them, they are refused, or used
//! without a panic, in little time and memory. The same inputs every time; `fuzz/` tries others.

mod spoiled;
mod support;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use spoiled::{Good, Kind};
use support::{Folder, library};

/// One input may take so long, on a machine that has much else to do.
const DEADLINE: Duration = Duration::from_secs(30);

/// All of them together may take so much memory, KiB.
const MEMORY: u64 = 1 << 20;

/// Good inputs, in a store of two sweeps that are shares of one.
fn good(folder: &Folder) -> Good {
    let example = library("examples/example-2-window-of-five.json");
    for (share, out) in [("1/2", "a"), ("2/2", "b")] {
        let words = ["sweep", &example, "--count", "6", "--partition", share, "--out", out];
        folder.ends(&words, 0);
    }
    let only = |out: &str| {
        let name = folder.list(out).into_iter().find(|name| name != "latest").expect("a run");
        folder.path().join(out).join(name)
    };
    fs::create_dir(folder.path().join("store")).expect("a folder");
    let run = folder.path().join("store/20260101T000000Z-run-000001");
    fs::rename(only("a"), &run).expect("moves");
    fs::rename(only("b"), folder.path().join("store/other")).expect("moves");
    folder.ends(&["run", &example, "--out", "c"], 0);
    for name in ["choices.json", "history.jsonl"] {
        fs::copy(only("c").join(name), run.join(name)).expect("copies");
    }
    let scenarios = [
        "examples/example-1-commit-abort-commit.json",
        "transactions/mixed.json",
        "fencing/zombie-fencing.json",
        "transactions/late-end-txn.json",
    ];
    let scenarios = scenarios.map(|name| fs::read_to_string(library(name)).expect("reads"));
    let cases = cases(Path::new(&library("../crates/runner/tests/conformance")));
    Good::new(&run, &scenarios, &cases)
}

/// Recorded cases below `folder`, the small ones.
fn cases(folder: &Path) -> Vec<String> {
    let mut entries: Vec<_> = fs::read_dir(folder).expect("reads").flatten().collect();
    entries.sort_by_key(fs::DirEntry::path);
    let mut found = Vec::new();
    for path in entries.iter().map(fs::DirEntry::path) {
        if path.is_dir() {
            found.extend(cases(&path));
        } else if path.extension().is_some_and(|end| end == "json") {
            found.push(fs::read_to_string(path).expect("reads"));
        }
    }
    found.retain(|text| text.len() < 20_000);
    found.truncate(40);
    found
}

/// Spoils `count` inputs of `kinds`, and uses them.
fn spoil(kinds: &[Kind], count: u32) {
    let folder = Folder::in_memory();
    let good = good(&folder);
    let (used, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let config = Config {
        cases: count,
        failure_persistence: None,
        max_shrink_iters: 400,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let result = std::thread::scope(|scope| {
        scope.spawn(|| watch(&used, &is_over));
        let result = runner.run(&(0..kinds.len(), vec(any::<u64>(), 1..40)), |(kind, numbers)| {
            used.fetch_add(1, Ordering::Relaxed);
            good.spoil(kinds[kind], &numbers);
            Ok::<_, TestCaseError>(())
        });
        is_over.store(true, Ordering::Relaxed);
        result
    });
    result.unwrap_or_else(|failure| panic!("{kinds:?}: {failure}"));
    assert!(used.into_inner() >= u64::from(count));
    let peak = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = peak.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok());
    assert!(peak.is_none_or(|peak| peak < MEMORY), "{peak:?} KiB");
}

/// Ends the test if one input takes too long.
fn watch(used: &AtomicU64, is_over: &AtomicBool) {
    let (mut last, mut since) = (0, std::time::Instant::now());
    while !is_over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(50));
        let now = used.load(Ordering::Relaxed);
        if now != last {
            (last, since) = (now, std::time::Instant::now());
        }
        if since.elapsed() > DEADLINE {
            eprintln!("input {now} has no end");
            std::process::exit(1);
        }
    }
}

#[test]
fn what_is_good_is_used() {
    let folder = Folder::new();
    let good = good(&folder);
    for kind in spoiled::KINDS {
        good.take(kind, good.text(kind).as_bytes());
    }
    let run = folder.path().join("store/20260101T000000Z-run-000001");
    assert!(eosim::reported::read(&run).is_ok_and(|report| report.missing == 0));
    assert!(eosim_runner::history::History::read(&run.join("history.jsonl")).is_ok());
}

#[test]
fn malformed_scenarios_and_recordings_are_refused_or_run() {
    spoil(&[Kind::Scenario, Kind::Choices], 3_500);
}

#[test]
fn malformed_histories_and_cases_are_refused_or_judged() {
    spoil(&[Kind::History, Kind::Case], 3_500);
}

#[test]
fn malformed_files_of_kept_sweeps_are_refused_or_told() {
    spoil(&[Kind::Manifest, Kind::Progress, Kind::Summary, Kind::Lines, Kind::Coverage], 3_000);
}
