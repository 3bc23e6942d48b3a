//! What others have written is read with care: it reaches a terminal as text alone, is never read
//! without end, and one broken file does not hide the others.

mod support;

use std::fs::File;
use std::process::Command;

use support::{Ended, Folder, library};

/// A value that would clear a screen, and begin an annotation on a line of its own.
const VALUE: &str = r"a\u001b[2J\n::error title=x::y\u202e";

/// The same as it is shown.
const SHOWN: &str = r"a\u001b[2J\u000a::error title=x::y\u202e";

fn is_plain(ended: &Ended) -> bool {
    let is_plain =
        |text: &str| !text.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}'));
    is_plain(&ended.out) && is_plain(&ended.err)
}

#[test]
fn values_of_a_scenario_are_shown_as_text() {
    let folder = Folder::new();
    let example = std::fs::read_to_string(library("examples/example-1-commit-abort-commit.json"));
    let text = example.expect("reads").replacen(
        "\"value\": \"c1\"",
        &format!("\"value\": \"{VALUE}\""),
        1,
    );
    folder.write("evil.json", &text);
    assert!(text.contains(VALUE), "{text}");
    folder.eosim(&["run", "evil.json"]);
    for form in ["transcript", "dump-log", "history", "state", "timeline"] {
        let shown = folder.ends(&["show", "latest", "--as", form], 0);
        assert!(is_plain(&shown), "{form}");
        assert!(form == "state" || shown.out.contains("001b[2J"), "{form}: {}", shown.out);
    }
    for file in ["transcript.txt", "dump.txt", "history.jsonl", "summary.json"] {
        let text = folder.read(&format!("sim-runs/latest/{file}"));
        assert!(!text.contains('\u{1b}') && !text.contains("\n::error"), "{file}");
    }
    // The history has the value as it is, so that it is judged as the run was.
    let history = folder.read("sim-runs/latest/history.jsonl");
    assert!(history.contains(r"a\u001b[2J\n::error"), "{history}");
}

#[test]
fn values_and_names_of_a_history_are_shown_as_text() {
    let folder = Folder::new();
    let header = r#"{"format":1,"topics":[{"name":"orders","partitions":1}],"clients":["NAME"]}"#;
    let read = format!(
        r#"{{"at_ms":2,"event":"polled","client":"reader","partition":"orders-0","isolation_level":"read_committed","records":[{{"offset":0,"value":"{VALUE}"}}]}}"#
    );
    let sent =
        r#"{"at_ms":1,"event":"send_called","client":"reader","partition":"orders-0","value":"a"}"#;
    folder.write("h.jsonl", &format!("{}\n{sent}\n{read}\n", header.replace("NAME", "reader")));
    let judged = folder.ends(&["check", "h.jsonl"], 10);
    assert!(is_plain(&judged) && judged.out.contains(SHOWN), "{}", judged.out);
    folder.write("h.jsonl", &header.replace("NAME", VALUE));
    let refused = folder.ends(&["check", "h.jsonl"], 2);
    assert!(
        is_plain(&refused) && refused.err.contains("a name that can be seen"),
        "{}",
        refused.err
    );
}

#[test]
fn what_an_error_quotes_is_shown_as_text() {
    let folder = Folder::new();
    folder.write("evil.json", "{\"form\\u001b[2Jat\": 1}");
    let refused = folder.ends(&["run", "evil.json"], 2);
    assert!(is_plain(&refused) && refused.err.contains("\\u001b[2J"), "{}", refused.err);
    let refused = folder.ends(&["run", "no\u{1b}[31m.json"], 2);
    assert!(is_plain(&refused) && refused.err.contains("no\\u001b[31m.json"), "{}", refused.err);
}

#[test]
fn the_last_line_of_a_failure_can_be_pasted_whatever_the_folder_is_called() {
    let folder = Folder::new();
    let lost = library("idempotence/lost-responses.json");
    let out = "my runs; it's $HOME";
    let words = ["sweep", &lost, "--defect", "leader.index.drop_abort_entry", "--max-fail", "1"];
    let failed = folder.ends(&[&words[..], &["--out", out]].concat(), 10).out;
    let line =
        failed.lines().find_map(|line| line.trim().strip_prefix("reproduce: ")).expect("a command");
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_eosim")).parent().expect("a folder");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("bash");
    let status = shell.args(["-c", line]).env("PATH", path).current_dir(folder.path()).output();
    assert_eq!(status.expect("runs").status.code(), Some(10), "{line}");
}

/// A file of 300 MiB that takes no space.
fn huge(folder: &Folder, name: &str) {
    folder.write(name, "");
    let file = File::options().write(true).open(folder.path().join(name)).expect("opens");
    file.set_len(300 << 20).expect("grows");
}

#[test]
fn nothing_is_read_that_is_larger_than_its_limit() {
    let folder = Folder::new();
    let lost = library("idempotence/lost-responses.json");
    folder.ends(&["sweep", &lost, "--count", "1", "--set", "requires=[]", "--out", "runs"], 0);
    let name = folder.list("runs").into_iter().find(|name| name != "latest").expect("a run");
    let run = format!("runs/{name}");
    let resume = format!("--resume={run}");
    let cases: [(&str, &[&str]); 6] = [
        ("choices.json", &["replay", &run]),
        ("history.jsonl", &["check", "runs/latest/history.jsonl"]),
        ("coverage.json", &["coverage", &run]),
        ("summary.json", &["report", &run]),
        ("progress.json", &["merge", &run, "-o", "merged"]),
        ("manifest.json", &["sweep", &resume]),
    ];
    for (file, words) in cases {
        let path = format!("{run}/{file}");
        let kept = std::fs::read(folder.path().join(&path)).ok();
        huge(&folder, &path);
        let refused = folder.ends(words, 2);
        let message = "found more than 268435456 bytes, expected at most 268435456 bytes";
        assert!(refused.err.contains(message) && refused.err.contains(file), "{}", refused.err);
        match kept {
            Some(bytes) => std::fs::write(folder.path().join(&path), bytes).expect("writes"),
            None => std::fs::remove_file(folder.path().join(&path)).expect("removes"),
        }
    }
    huge(&folder, "scenario.json");
    let refused = folder.ends(&["run", "scenario.json"], 2);
    assert!(refused.err.contains("at most 1048576 bytes"), "{}", refused.err);
    // A file without an end.
    let refused = folder.ends(&["run", "/dev/zero"], 2);
    assert!(refused.err.contains("/dev/zero: found more than 1048576 bytes"), "{}", refused.err);
}

#[test]
fn a_broken_scenario_is_named_and_the_others_are_told() {
    let folder = Folder::new();
    folder.copy_library("examples");
    folder.write("scenarios/broken.json", "{");
    for words in [
        &["explain", "example-3-fencing"][..],
        &["explain", "LSO"],
        &["list", "scenarios"],
        &["list", "scenarios", "--verbose"],
        &["list", "defects", "--verbose"],
    ] {
        let told = folder.ends(words, 0);
        let named = "eosim: error: scenarios/broken.json: line 1 column 1: found the end";
        assert_eq!(told.err.matches(named).count(), 1, "{words:?}: {}", told.err);
        assert!(!told.out.is_empty(), "{words:?}");
    }
    let versions = folder.ends(&["versions"], 2);
    assert!(
        versions.err.contains("scenarios/broken.json") && versions.err.contains("no scenario ")
    );
    // What is run is run whole.
    folder.ends(&["sweep", "scenarios", "--count", "1"], 2);
}
