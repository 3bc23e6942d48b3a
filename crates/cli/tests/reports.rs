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
