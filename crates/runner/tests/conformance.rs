//! A sample of recorded cases: the model answers as Kafka 4.4.0 did.

use std::path::PathBuf;

use eosim_runner::conform::{Case, Outcome, case_files, load, run_case};

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
