//! `eosim report` on what runs and sweeps have left.

mod support;

use support::{Folder, library};

#[test]
fn a_sweep_and_a_run_are_reported_in_every_form() {
    let folder = Folder::new();
    let lost = library("idempotence/lost-responses.json");
    let defect = ["--defect", "leader.index.drop_abort_entry"];
    let sweep = ["sweep", &lost, "--count", "6", "--jobs", "1"];
    folder.ends(&[&sweep[..], &defect].concat(), 10);
    let junit = folder.ends(&["report", "latest", "--as", "junit"], 0).out;
    assert!(junit.contains("tests=\"1\" failures=\"1\" errors=\"0\""), "{junit}");
    assert!(junit.contains("<failure type=\"VIOLATION\" message=\"VIOLATION: seed "), "{junit}");
    let github = folder.ends(&["report", "--as", "github"], 0).out;
    let title = "title=aborted-read in lost-responses at seed ";
    assert!(github.starts_with("::error file=") && github.contains(title), "{github}");
    let value = folder.ends(&["report", "--as", "json"], 0).out;
    let value: serde_json::Value = serde_json::from_str(&value).expect("JSON");
    assert_eq!((&value["format"], &value["scenarios"][0]["runs"]), (&1.into(), &6.into()));
    assert_eq!(value["failures"][0]["rule"], "K-FILT-2");
    for form in ["text", "markdown", "html"] {
        let page = folder.ends(&["report", "--as", form], 0).out;
        assert!(page.contains("aborted-read") && page.contains("K-FILT-2"), "{page}");
    }
    folder.ends(&["run", &lost, "--seed", "9"], 0);
    let run = folder.ends(&["report", "latest"], 0).out;
    assert!(run.contains("1, 0 failed") && run.contains("None was kept."), "{run}");
}

#[test]
fn what_cannot_be_reported_is_refused() {
    let folder = Folder::new();
    let refused = folder.ends(&["report", "nowhere"], 2);
    assert!(refused.err.contains("nowhere: found no such folder"), "{}", refused.err);
    folder.write("torn/summary.json", "{\"format\":1,");
    folder.write("torn/manifest.json", "{}");
    let refused = folder.ends(&["report", "torn"], 2);
    assert!(refused.err.contains("torn/summary.json: found EOF"), "{}", refused.err);
    let refused = folder.ends(&["report", "torn", "--as", "junti"], 2);
    assert!(refused.err.contains("junit"), "{}", refused.err);
}

/// What the JSON form says is missing.
fn missing(folder: &Folder, run: &str) -> serde_json::Value {
    let text = folder.ends(&["report", run, "--as", "json"], 0).out;
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    value["missing"].clone()
}

#[test]
fn a_report_says_what_is_missing_of_the_whole() {
    let folder = Folder::new();
    let lost = library("idempotence/lost-responses.json");
    let sweep = |out: &str, more: &[&str]| {
        let words = ["sweep", &lost, "--set", "requires=[]", "--out", out];
        folder.eosim(&[&words[..], more].concat())
    };
    sweep("whole", &["--count", "5"]);
    assert_eq!(missing(&folder, "whole/latest"), 0);
    sweep("share", &["--count", "5", "--partition", "2/2"]);
    assert_eq!(missing(&folder, "share/latest"), 0);
    folder.ends(&["merge", "share", "-o", "merged"], 12);
    assert_eq!(missing(&folder, "merged"), 3);
    let defect = ["--count", "400", "--defect", "leader.index.drop_abort_entry"];
    sweep("stopped", &[&defect[..], &["--max-fail", "1"]].concat());
    assert!(missing(&folder, "stopped/latest").as_u64() > Some(300));
    for (form, says) in [
        ("text", "MISSING    3 of 5 runs: this is no verdict over the whole"),
        ("markdown", "**MISSING**: 3 of 5 runs"),
        ("html", "<dt>MISSING</dt><dd>3 of 5 runs"),
        ("github", "::error title=the sweep is not whole::3 of 5 runs"),
        ("junit", "<error type=\"MISSING\" message=\"3 of 5 runs"),
    ] {
        let told = folder.ends(&["report", "merged", "--as", form], 0).out;
        assert!(told.contains(says), "{form}: {told}");
        assert!(!folder.ends(&["report", "whole/latest", "--as", form], 0).out.contains(says));
    }
}
