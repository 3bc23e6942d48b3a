//! A sample of recorded cases: the model answers as Kafka 4.4.0 did.

use std::path::PathBuf;

use eosim_runner::conform::{Case, Outcome, case_files, load, run_case, run_recording};
use eosim_types::Capability;
use eosim_types::version::KafkaVersion;

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

/// Each release answers as it did, and not as the one does that brought the capability.
#[test]
fn other_versions_answer_as_recorded() {
    assert_all_equal("versions", 8);
    let shows = [
        ("x-future-blocks-live-v11", Capability::OpenTransactionHasEpoch),
        ("x-lower-epoch-early", Capability::LowerEpochIsRefusedEarly),
        ("x-tv2-nonzero-after-marker", Capability::FirstSequenceOfTransactionIsZero),
        ("x-limit-end-retry", Capability::ProducerIdsAreWritten),
        ("x-limit-fence", Capability::CoordinatorRotatesProducerId),
    ];
    for (name, capability) in shows {
        let mut case = cases("versions").into_iter().find(|case| case.name == name).expect(name);
        case.recorded_on.kafka = capability.since();
        assert!(matches!(run_case(&case), Outcome::Different(_)), "{name} {capability:?}");
    }
}

#[test]
fn a_request_that_the_version_does_not_know_makes_a_case_unsupported() {
    let mut case = cases("broker").into_iter().find(|case| case.name == "txn-example-1");
    let case = case.as_mut().expect("a case of transaction version 2");
    case.recorded_on.kafka = KafkaVersion::V3_9;
    let unsupported = Outcome::Unsupported("Produce of that version on Kafka 3.9".into());
    assert_eq!(run_case(case), unsupported);
}

/// The client recordings of the sample, as they are.
fn client_recordings() -> Vec<serde_json::Value> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests/conformance/clients"].iter().collect();
    let files = case_files(&path).expect("the sample is there");
    let read = |file: &PathBuf| std::fs::read_to_string(file).expect("a readable file");
    files.iter().map(|file| serde_json::from_str(&read(file)).expect("a recording")).collect()
}

/// Rules of the clients, each with a recording of the sample that shows it.
const SHOWN_BY: &[(&str, &str)] = &[
    ("K-COM-1 K-COM-3", "D04-committed-offset-rc-classic"),
    ("K-COM-2", "D04-unstable-one-of-two-consumer"),
    ("K-COM-4", "D05-offset-fetch-unknown-member-id-consumer"),
    ("K-COM-5", "D06-offset-commit-not-coordinator-classic"),
    ("K-FILT-7", "D01-spread-second-list-missing-rc"),
    ("K-FILT-9", "D96-cut-before-marker"),
    ("K-ISO-1", "D01-committed-rc"),
    ("K-ISO-2", "D01-beyond-lso-ru"),
    ("K-ISO-3", "D01-two-transactions-same-start-order-rc"),
    ("K-OFF-1", "D03-list-offsets-leader-not-available"),
    ("K-OFF-2", "D03-beginning-offsets-and-lag-rc"),
    ("K-OFF-3", "D03-lag-unknown-rc"),
    ("K-OFF-4", "D02-out-of-range-none-rc"),
    ("K-POS-3", "D01-trailing-marker-rc"),
    ("K-POS-4", "D03-lag-rc"),
    ("K-POS-7", "D98-seek-during-reset"),
    ("P-ACC-3", "A91-max-request-size"),
    ("P-ACC-6", "A90-blocked-retry"),
    ("P-ACC-9 P-CFG-7", "C12-expired-first-attempt"),
    ("P-ACC-10 P-SND-13", "A91-timeout-noticed-late"),
    ("P-ACC-11", "B11-abort-undrained"),
    ("P-API-3", "C16-close-after-abortable"),
    ("P-API-7", "B02-offsets-generation-without-member"),
    ("P-API-10", "C10-fails-during-commit-invalid-producer-epoch"),
    ("P-API-10", "B10-fails-during-abort-invalid-txn-state"),
    ("P-CFG-4", "A16-config-in-flight-6-default"),
    ("P-CFG-5", "A16-config-delivery-too-short"),
    ("P-CFG-10", "B18-endtxn-retry-backoff"),
    ("P-DM-1", "A06-first-of-two-invalid-producer-id-mapping"),
    ("P-DM-2 P-DM-3", "A15-sequence-wrap-batch"),
    ("P-DM-4", "C12-expired-first-attempt"),
    ("P-ERR-3", "A17-new-leader-in-answer"),
    ("P-ERR-4", "B08-produce-transaction-abortable"),
    ("P-REQ-3 P-REQ-5", "B03-init-dropped"),
    ("P-REQ-6", "C04-add-offsets-concurrent-transactions"),
    ("P-REQ-7", "B13-txn-offset-commit-partial"),
    ("P-REQ-7", "B95-offsets-twice-first-pending"),
    ("P-REQ-8a", "B06-endtxn-abort-unknown-producer-id"),
    ("P-REQ-10 P-SND-11", "C12-expired-in-retry-late-success"),
    ("P-REQ-11", "C12-expired-first-attempt"),
    ("P-SEQ-12", "C01-two-partitions"),
    ("P-SND-3 P-SND-4", "C93-add-partitions-retry-and-new"),
    ("P-SND-5", "B97-two-groups-not-coordinator"),
    ("P-SND-9", "C95-drained-and-expired"),
    ("P-SND-10", "B04-find-group-coordinator-unknown-server-error"),
    ("P-SND-14", "A92-three-answers-at-once"),
    ("P-ST-2", "B05-endtxn-commit-transaction-abortable"),
    ("P-API-2 P-ST-5", "B03-init-transaction-abortable"),
    ("P-ST-4", "B03-init-producer-fenced"),
    ("P-TV-1 P-TV-2", "C02-upgrade-between-transactions"),
    ("P-TV-3", "C02-downgrade-during-transaction"),
    ("P-TV-4 P-TV-5", "C01-tv0-max-init-v1"),
    ("P-TV-6", "C01-tv0-abortable-bump"),
    ("P-TV-7", "B01-pid-changes"),
];

#[test]
fn every_rule_is_shown_by_a_recording_of_the_sample() {
    let names: Vec<_> = client_recordings().into_iter().map(|r| r["name"].clone()).collect();
    for (rules, recording) in SHOWN_BY {
        assert!(names.iter().any(|name| name == recording), "{rules}: {recording}");
    }
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

/// A recorder sent again for 20 s, however long each answer took: here every one takes the broker's
/// own 100 ms (L-VER-8), and a transaction of 30 s is still open afterwards.
#[test]
fn retries_end_after_twenty_seconds() {
    let init = |alias: &str, id: &str, timeout_ms: i64| {
        serde_json::json!({ "op": "init_producer_id", "as": alias, "transactional_id": id,
            "timeout_ms": timeout_ms })
    };
    let produce = |alias: &str, id: &str, version: i64| {
        serde_json::json!({ "op": "produce", "producer": alias, "transactional_id": id,
            "partition": "a-0", "sequence": 0, "records": 1, "acks": -1, "version": version,
            "retry": ["CONCURRENT_TRANSACTIONS"] })
    };
    let mut last = produce("p", "t", 12);
    last["expect"] = serde_json::json!({ "error": "CONCURRENT_TRANSACTIONS", "base_offset": -1 });
    let add = serde_json::json!({ "op": "add_partitions_to_txn", "producer": "q",
        "transactional_id": "u", "partitions": ["a-0"], "verify_only": false, "version": 3 });
    let steps = [
        init("p", "t", 60_000),
        // A version 2 request wedges its id where the log cannot hold the version (C-REC-2).
        produce("p", "t", 12),
        init("q", "u", 30_000),
        add,
        last,
    ];
    let state = serde_json::json!({ "error": "NONE", "state": "Ongoing", "producer": "P1",
        "epoch": 0, "timeout_ms": 30_000, "partitions": ["a-0"] });
    let case = serde_json::json!({ "name": "retries", "topics": { "a": 1 }, "steps": steps,
        "recorded_on": "apache-kafka 4.4.0, 1 broker, transaction.version=0",
        "final": { "transactions": { "u": state }, "partitions": {}, "groups": {} } });
    let case = serde_json::from_value(case).expect("a case");
    assert_eq!(run_case(&case), Outcome::Equal);
}

/// Coordinator epochs are plain numbers where a case writes markers itself: its broker may have
/// been started before (C-PART-6), and then refuses a marker of epoch 0 (L-MRK-4).
#[test]
fn coordinators_begin_with_the_epoch_that_was_recorded() {
    let steps = serde_json::json!([
        { "op": "init_producer_id", "as": "p", "transactional_id": "t", "timeout_ms": 60_000,
          "expect": { "error": "NONE", "producer": "P0", "epoch": 0 } },
        { "op": "produce", "producer": "p", "transactional_id": "t", "partition": "a-0",
          "sequence": 0, "records": 1, "acks": -1 },
        { "op": "end_txn", "producer": "p", "transactional_id": "t", "commit": true, "adopt": true },
        { "op": "write_txn_markers", "producer": "p", "commit": true, "coordinator_epoch": 0,
          "partitions": ["a-0"], "expect": { "results": { "a-0": "TRANSACTION_COORDINATOR_FENCED" } } },
        { "op": "describe_producers", "partition": "a-0", "expect": { "error": "NONE", "producers": [
          { "producer": "P0", "epoch": 1, "last_sequence": -1, "coordinator_epoch": 14,
            "current_txn_start_offset": -1 }] } },
    ]);
    let case = serde_json::json!({ "name": "epochs", "topics": { "a": 1 }, "steps": steps,
        "final": { "transactions": {}, "partitions": {}, "groups": {} } });
    let case = serde_json::from_value(case).expect("a case");
    assert_eq!(run_case(&case), Outcome::Equal);
}

/// A recording may use what those of the sample happen not to: fields left out, any broker asked,
/// acks=0, which nobody answers (L-PIPE-6).
#[test]
fn every_form_of_a_step_is_understood() {
    let none = serde_json::json!({ "error": "NONE" });
    let steps = serde_json::json!([
        { "op": "repeat_init", "as": "p", "transactional_id": "t", "times": 2, "version": 4,
          "timeout_ms": 1_000, "expect": { "error": "NONE", "producer": "P0", "epoch": 1 } },
        { "op": "init_producer_id", "as": "i", "timeout_ms": 60_000 },
        { "op": "produce", "producer": "i", "partition": "a-0", "sequence": 0, "records": 2,
          "acks": 0, "expect": { "error": "NONE", "base_offset": -1 } },
        { "op": "produce", "producer": "i", "partition": "a-0", "sequence": 2, "records": 1,
          "expect": { "error": "NONE", "base_offset": 2 } },
        { "op": "add_partitions_to_txn", "producer": "p", "transactional_id": "t", "version": 3,
          "partitions": ["a-0"], "expect": { "error": "NONE", "results": { "a-0": "NONE" } } },
        { "op": "offset_commit", "group": "g", "offsets": { "a-0": 7 }, "expect": none },
        { "op": "offset_fetch", "group": "g",
          "expect": { "error": "NONE", "offsets": { "a-0": { "offset": 7, "error": "NONE" } } } },
        { "op": "find_coordinator", "transactional_id": "t", "to": 2,
          "expect": { "error": "NONE", "broker": 3 } },
        { "op": "find_coordinator", "group": "g", "background": "f" },
        { "op": "answer", "name": "f", "expect": { "error": "NONE", "broker": 1 } },
        { "op": "elect", "partition": "a-0", "expect": { "error": "ELECTION_NOT_NEEDED",
          "partitions": { "a-0": { "leader": 1, "isr": [1, 2, 3], "epoch": 0 } },
          "coordinators": { "t": { "broker": 3, "epoch": 0 }, "g": { "broker": 1, "epoch": 0 } } } },
    ]);
    let coordinators = serde_json::json!({ "t": { "broker": 3, "epoch": 0 },
        "g": { "broker": 1, "epoch": 0 } });
    let case = serde_json::json!({ "name": "forms", "steps": steps, "place": { "g": 1 },
        "topics": { "a": { "partitions": [[1, 2, 3]] } },
        "final": { "transactions": {}, "partitions": {}, "groups": {}, "coordinators": coordinators } });
    let case = serde_json::from_value(case).expect("a case");
    assert_eq!(run_case(&case), Outcome::Equal);
}
