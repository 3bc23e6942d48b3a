//! A sample of recorded cases: the model answers as Kafka 4.4.0 did.

use std::path::PathBuf;

use eosim_runner::conform::{Case, Outcome, case_files, load, run_case, run_recording};

fn cases(folder: &str) -> Vec<Case> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests/conformance", folder].iter().collect();
    let files = case_files(&path).expect("the sample is there");
    files.iter().flat_map(|file| load(file).expect("a recorded case")).collect()
}

fn assert_all_equal(folder: &str, at_least: usize) {
    let cases = cases(folder);
    assert!(cases.len() >= at_least, "{} cases of {folder}", cases.len());
    for case in &cases {
        assert_eq!(run_case(case), Outcome::Equal, "{}", case.name);
    }
}

#[test]
fn one_broker_answers_as_recorded() {
    assert_all_equal("broker", 12);
}

#[test]
fn three_brokers_answer_as_recorded() {
    assert_all_equal("cluster", 12);
}

/// The client recordings of the sample, as they are.
fn client_recordings() -> Vec<serde_json::Value> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests/conformance/clients"].iter().collect();
    let files = case_files(&path).expect("the sample is there");
    let read = |file: &PathBuf| std::fs::read_to_string(file).expect("a readable file");
    files.iter().map(|file| serde_json::from_str(&read(file)).expect("a recording")).collect()
}

#[test]
fn clients_do_as_recorded() {
    let recordings = client_recordings();
    assert!(recordings.len() >= 15, "{} cases of clients", recordings.len());
    for recording in &recordings {
        assert_eq!(run_recording(recording), Outcome::Equal, "{}", recording["name"]);
    }
}

/// The comparison can fail: requests, outcomes and states that are falsified are noticed.
#[test]
fn a_falsified_client_is_different() {
    let falsify = |recording: &serde_json::Value, part: &str| {
        let mut falsified = recording.clone();
        let entry = match &mut falsified[part] {
            serde_json::Value::Array(entries) => entries.last_mut()?,
            serde_json::Value::Null => return None,
            object => object,
        };
        entry["surprise"] = true.into();
        Some(falsified)
    };
    for recording in client_recordings() {
        for part in ["wire", "outcome", "client_state_end"] {
            let Some(falsified) = falsify(&recording, part) else { continue };
            let outcome = run_recording(&falsified);
            assert!(matches!(outcome, Outcome::Different(_)), "{} {part}", recording["name"]);
        }
    }
}

/// What the model of a client does not know is never equal.
#[test]
fn an_unknown_part_makes_a_client_case_unsupported() {
    for mut recording in client_recordings() {
        recording["app"][0]["surprise"] = true.into();
        recording["broker"] = serde_json::json!([{ "api": "Fetch", "surprise": true }]);
        let outcome = run_recording(&recording);
        assert!(matches!(outcome, Outcome::Unsupported(_)), "{}", recording["name"]);
    }
}

/// The comparison can fail: every answer that is falsified is noticed.
#[test]
fn a_falsified_answer_is_different() {
    for mut case in cases("cluster") {
        let answers = case.steps.iter_mut().filter_map(|step| step.get_mut("expect"));
        let error = answers.filter_map(|answer| answer.get_mut("error")).last();
        *error.expect("some step has an answer") = "FALSIFIED".into();
        assert!(matches!(run_case(&case), Outcome::Different(_)), "{}", case.name);
    }
}

/// What the model cannot do is never equal.
#[test]
fn an_unknown_argument_makes_a_case_unsupported() {
    for mut case in cases("broker") {
        case.steps[0].insert("surprise".into(), true.into());
        let unsupported = Outcome::Unsupported("argument surprise".into());
        assert_eq!(run_case(&case), unsupported, "{}", case.name);
    }
}
