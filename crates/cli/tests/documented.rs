//! Every command of the READMEs and of the help pages is run, smaller where it would take minutes; and
//! what the README shows of the first failure is what a sweep prints.

mod support;

use clap::{Command, CommandFactory};
use eosim::args::Cli;
use support::{Folder, blocks, library, missing, words};

/// A file of the repository.
fn file(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(path).expect("a file of the repository")
}

/// Words of a documented command, and what is run in their place: examples of names become names that
/// are there, and work for minutes becomes work for seconds.
const SMALLER: &[(&[&str], &[&str])] = &[
    (&["0..100000"], &["0..4"]),
    (&["1000..2000"], &["1000..1002"]),
    (&["--count", "200"], &["--count", "2"]),
    (&["--count", "1000"], &["--count", "2"]),
    (&["--for", "10m"], &["--for", "1s"]),
    (&["--for", "5m"], &["--for", "1s"]),
    (&["--profile", "ci"], &["--count", "2"]),
    (&["--profile", "nightly"], &["--count", "1"]),
    (&["--seeds-max", "100000", "--starts", "5"], &["--seeds-max", "20"]),
    (&["--steps", "20000000"], &["--steps", "20000"]),
    (&["--at", "4127"], &["--at", "41"]),
    (&["sim-runs/latest/failures/8812/choices.json"], &["sim-runs/latest/failures/0/choices.json"]),
    (&["sim-runs/latest/failures/8812"], &["sim-runs/latest/failures/0"]),
    (&["sim-runs/latest/history.jsonl"], &["history.jsonl"]),
    (&["sim-runs/latest/failures/7"], &["latest"]),
    (&["sim-runs/latest/failures/8"], &["latest"]),
    (&["--seed", "8812"], &["--seed", "8"]),
    (&["sim-runs/ci-1/latest"], &["latest"]),
    (&["sim-runs/ci-2/latest"], &["latest"]),
    (&["cases/broker/idem-example-2.json"], &["cases/broker"]),
];

/// Commands that are not run, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("cargo test", "the tests are what runs"),
    ("cargo build", "builds"),
    ("cargo run -p xtask", "another binary"),
    ("valgrind", "another binary"),
    ("eosim bench", "measures for minutes, on an idle machine"),
    ("eosim defects --run", "takes minutes; tests/runs.rs runs it over one defect"),
    (".ci/", "needs Java, Maven or other clients"),
    ("eosim conform --bootstrap", "needs a real broker"),
    ("mkdir", "the shell's own"),
    ("man ", "the shell's own"),
];

fn is_run(command: &str) -> bool {
    let is_smaller = command.contains("--seeds-max");
    is_smaller || !NOT_RUN.iter().any(|(start, _)| command.starts_with(start))
}

/// The words that are run for a documented command, without `eosim`.
fn smaller(command: &str) -> Vec<String> {
    let command = command.replace("cargo run --release --", "eosim");
    let mut run: Vec<String> = words(&command).into_iter().skip(1).collect();
    for (documented, instead) in SMALLER {
        let found = run.windows(documented.len()).position(|window| window == *documented);
        if let Some(at) = found {
            let instead = instead.iter().map(ToString::to_string);
            run.splice(at..at + documented.len(), instead);
        }
    }
    let is_resumed = |word: &String| word.starts_with("--resume=");
    let sweeps = run.first().is_some_and(|verb| verb == "sweep") && !run.iter().any(is_resumed);
    let limits = ["--count", "--seeds", "--for", "--max-fail"];
    if sweeps && !run.iter().any(|word| limits.contains(&word.as_str())) {
        run.extend(["--count".into(), "1".into()]);
    }
    run
}

/// Shares of one sweep, in folders whose names begin with `place`.
fn sweep_shares(folder: &Folder, place: &str, of: u32) {
    for part in 1..=of {
        let (share, out) = (format!("{part}/{of}"), format!("{place}{part}"));
        let words = ["sweep", "scenarios/examples", "--count", "4", "--partition", &share];
        folder.ends(&[&words[..], &["--out", &out]].concat(), 0);
    }
}

/// Makes what the command takes for granted.
fn prepare(folder: &Folder, command: &str) {
    if command.starts_with("eosim merge") {
        let _none_yet = std::fs::remove_dir_all(folder.path().join("merged"));
        let (place, of) =
            if command.contains("part-1") { ("sim-runs/part-", 3) } else { ("parts/", 4) };
        if !folder.path().join(format!("{place}1")).is_dir() {
            sweep_shares(folder, place, of);
        }
    }
    if command.contains("--resume=latest") {
        let scenario = "scenarios/transactions/late-end-txn.json";
        let stopped = ["sweep", scenario, "--count", "3", "--max-fail", "1"];
        folder.ends(&[&stopped[..], &["--defect", "tc.endtxn.no_txn_identity"]].concat(), 10);
    }
}

/// Runs the command; whatever it finds, it understands what it is asked.
fn understood(folder: &Folder, command: &str) -> String {
    prepare(folder, command);
    if smaller(command).first().is_some_and(|verb| verb == "check") {
        let kept = ["", "failures/0/"].map(|place| format!("sim-runs/latest/{place}history.jsonl"));
        let kept = kept.iter().find(|path| folder.path().join(path).is_file());
        folder.write("history.jsonl", &folder.read(kept.expect("a history that was kept")));
    }
    let words = smaller(command);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ended = folder.eosim(&words);
    let fine = [0, 10, 11, 12, 13];
    assert!(fine.iter().any(|code| ended.code == Some(*code)), "{command} ({words:?}): {ended:?}");
    ended.out + &ended.err
}

/// A library of few scenarios: those that documents name.
fn folder() -> Folder {
    let folder = Folder::new();
    for name in [
        "idempotence/lost-responses.json",
        "transactions/mixed.json",
        "transactions/late-end-txn.json",
        "fencing/zombie-fencing.json",
        "examples",
        "leader/leader-crash.json",
        "coordinator/dies-in-every-state.json",
        "fencing/version-1-late-requests.json",
        "limits/epochs-run-out-in-4.2.json",
        "limits/last-epoch-left-over.json",
        "limits/last-epoch-stops-timeouts.json",
        "transactions/late-marker.json",
        "transactions/two-phase-commit-late-init.json",
        "upgrades/downgrade-wedges-id.json",
        "fencing/fenced-end-takes-epoch.json",
        "versions",
    ] {
        folder.copy_library(name);
    }
    folder
}

/// The commands of a file's shell blocks, without comments.
fn commands(text: &str) -> Vec<&str> {
    let shell = blocks(text).into_iter().filter(|(language, _)| *language == "sh");
    let lines = shell.flat_map(|(_, lines)| lines);
    lines.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

#[test]
fn the_commands_of_the_readme_run() {
    let folder = folder();
    let readme = file("README.md");
    let all = commands(&readme);
    assert!(all.len() > 30, "{all:?}");
    let mut outputs = String::new();
    for command in all.into_iter().filter(|command| is_run(command)) {
        let output = understood(&folder, command);
        if command.contains("leader.index.drop_abort_entry --max-fail 1") {
            outputs += &output;
        }
    }
    let shown = blocks(&readme);
    let first =
        shown.iter().find(|(_, lines)| lines.first().is_some_and(|l| l.starts_with("VIOLATION")));
    let (_, lines) = first.expect("a failure");
    assert_eq!(missing(&outputs, lines), None, "{outputs}");
}

#[test]
fn the_commands_of_the_scenarios_readme_run() {
    let folder = folder();
    let readme = file("scenarios/README.md");
    let example = blocks(&readme).into_iter().find(|(language, _)| *language == "json");
    folder.write("scenarios/first-steps.json", &example.expect("an example").1.join("\n"));
    let all = commands(&readme);
    assert!(!all.is_empty());
    all.into_iter().filter(|command| is_run(command)).for_each(|command| {
        understood(&folder, command);
    });
}

/// The examples of the help pages.
fn examples(command: &Command) -> Vec<String> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let lines = help.lines().skip_while(|line| !line.starts_with("Example")).skip(1);
    let lines = lines.take_while(|line| !line.trim().is_empty());
    let commands = lines.filter_map(|line| line.trim().split("  ").next().map(String::from));
    commands.filter(|line| line.starts_with("eosim ")).collect()
}

#[test]
fn the_examples_of_the_help_run() {
    let folder = folder();
    folder.write("cases/broker/case.json", &std::fs::read_to_string(case()).expect("a case"));
    folder.ends(&["sweep", "scenarios/examples", "--count", "1", "--out", "sim-runs/ci"], 0);
    let cli = Cli::command();
    let mut all = examples(&cli);
    for verb in cli.get_subcommands() {
        let examples = examples(verb);
        assert!(!examples.is_empty(), "{} has no example", verb.get_name());
        all.extend(examples);
    }
    for command in all.iter().filter(|command| is_run(command)) {
        keep_a_failure(&folder);
        understood(&folder, command);
    }
}

/// Keeps a run that an aimed fault breaks, as the latest one.
fn keep_a_failure(folder: &Folder) {
    let scenario = "scenarios/transactions/late-end-txn.json";
    folder.ends(&["run", scenario, "--defect", "tc.endtxn.no_txn_identity"], 10);
}

/// A recorded case of the conformance sample.
fn case() -> std::path::PathBuf {
    let sample = std::path::Path::new(&library("")).join("../crates/runner/tests/conformance");
    first_json(&sample).expect("a recorded case")
}

/// The first case of one broker in the folder or below it.
fn first_json(folder: &std::path::Path) -> Option<std::path::PathBuf> {
    let mut entries: Vec<_> = std::fs::read_dir(folder).ok()?.flatten().map(|e| e.path()).collect();
    entries.sort();
    entries.iter().find_map(|path| match path.is_dir() {
        true => first_json(path),
        false => path.extension().is_some_and(|e| e == "json").then(|| path.clone()),
    })
}

/// The gate works in a fresh clone, as it stands: what is reported is what was swept.
#[test]
fn the_gate_of_the_readme_reports_its_own_sweep() {
    let folder = folder();
    let readme = file("README.md");
    let section = readme.split("\n## ").find(|section| section.starts_with("As a gate in CI"));
    let all = commands(section.expect("the section"));
    let (reports, sweeps): (Vec<&str>, Vec<&str>) =
        all.into_iter().partition(|command| command.contains(" report "));
    assert!(reports.len() > 3 && !sweeps.is_empty(), "{reports:?} {sweeps:?}");
    understood(&folder, sweeps[0]);
    for command in reports {
        let words = smaller(command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let said = folder.ends(&words, 0).out;
        let own = [&words[..2], &["--as", "json"]].concat();
        let run = folder.ends(&own, 0).out;
        assert!(run.contains("\"--out\",\"sim-runs/ci\""), "{run}");
        assert!(said.contains("seeds") || said.contains("<testsuites"), "{command}: {said}");
    }
}

/// Whatever is reported, the exit code is that of the sweep.
#[test]
fn the_script_of_the_gate_ends_as_the_sweep_does() {
    let folder = folder();
    let readme = file("README.md");
    let script = blocks(&readme).into_iter().find(|(language, _)| *language == "bash");
    let script = script.expect("a script").1.join("\n");
    assert!(script.contains("--profile ci"), "{script}");
    let binaries = std::path::Path::new(env!("CARGO_BIN_EXE_eosim")).parent().expect("a folder");
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").expect("a path"));
    let ended = std::process::Command::new("bash")
        .args(["-c", &script.replace("--profile ci", "--count 1")])
        .env("PATH", path)
        .env("EOSIM_DEFECT", "leader.index.drop_abort_entry")
        .current_dir(folder.path())
        .output()
        .expect("bash runs");
    assert_eq!(ended.status.code(), Some(10), "{ended:?}");
    assert!(folder.read("junit.xml").contains("<failure"));
    assert!(folder.read("summary.md").contains("aborted-read"));
}
