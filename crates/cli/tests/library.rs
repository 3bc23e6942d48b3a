//! `eosim::testing`: what tests of other projects rely on.

use std::panic::catch_unwind;

use eosim::testing::{Step, Sweep, json, send};

const SCENARIO: &str = r#"{
  "format": 1, "name": "orders", "about": "One writer, one reader.",
  "cluster": {"brokers": 1, "topics": {"orders": {"partitions": 1, "replication_factor": 1}}},
  "producers": [{"name": "writer", "transactional_id": "orders", "workload": {"script": []}}],
  "consumers": [{"name": "reader", "isolation_level": "read_committed", "partitions": ["orders-0"]}]
}"#;

/// One committed record.
fn one(_: u64) -> Vec<Step> {
    vec![Step::Init, Step::Begin, send("orders-0", "a"), Step::Commit]
}

fn orders() -> Sweep {
    Sweep::of(SCENARIO).workload("writer", one).seeds(0..6)
}

/// What the test that does `work` is told.
fn failure(work: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = catch_unwind(work).expect_err("it fails");
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn an_own_workload_is_run_and_seen() {
    let sees = |run: &eosim::testing::Run<'_>| {
        let (read, told) = (run.reads("reader"), run.acknowledged("writer"));
        let is_one = |list: &[eosim::testing::Record]| list.len() == 1 && list[0].value == "a";
        if is_one(&read) && is_one(&told) { Ok(()) } else { Err(format!("{read:?} {told:?}")) }
    };
    let outcome = orders().invariant("one", sees).run();
    outcome.assert_sound();
    assert_eq!(outcome, orders().invariant("one", sees).jobs(1).run());
}

#[test]
fn an_own_invariant_fails_the_test_and_the_run_is_kept() {
    let folder = std::env::temp_dir().join(format!("eosim-library-{}", std::process::id()));
    let sweep = orders().keep_in(&folder).invariant("even-seeds", |run| match run.seed % 2 {
        0 => Ok(()),
        _ => Err(format!("seed {} is odd", run.seed)),
    });
    let outcome = sweep.run();
    let seeds: Vec<u64> = outcome.broken.iter().map(|one| one.seed).collect();
    assert_eq!(seeds, [1, 3, 5]);
    outcome.assert_breaks("even-seeds");
    let told = failure(|| outcome.assert_sound());
    assert!(told.contains("3 findings in 6 runs") && told.contains("seed 3 is odd"), "{told}");
    assert!(told.contains("kept: eosim explain "), "{told}");
    assert!(folder.join("orders-5/choices.json").is_file() && !folder.join("orders-4").exists());
    std::fs::remove_dir_all(&folder).expect("removes");
}

#[test]
fn an_own_fault_strikes() {
    // The first request to write is lost.
    let rule = |_| json!({"when": {"sent": "Produce"}, "do": "drop"});
    let outcome = orders().fault(rule).set("requires=[\"aimed\"]").run();
    assert_eq!(outcome.never, Vec::<String>::new());
    let never = |_| json!({"when": {"sent": "EndTxn", "nth": 77}, "do": "drop"});
    let outcome = orders().fault(never).set("requires=[\"aimed\"]").run();
    let told = failure(|| outcome.assert_sound());
    assert!(told.contains("required, but it never happened: aimed"), "{told}");
}

#[test]
fn what_is_wrong_is_told() {
    let told = failure(|| drop(orders().workload("nobody", one).run()));
    assert_eq!(
        told,
        "scenario: producers: found no producer \"nobody\", expected the one that has a workload"
    );
    let told = failure(|| drop(orders().defect("leader.dedup.window_5").run()));
    assert!(told.contains("did you mean \"leader.dedup.window_4\"?"), "{told}");
    let told = failure(|| drop(Sweep::new("no/such.json").run()));
    assert!(told.starts_with("no/such.json: found No such file"), "{told}");
    let told = failure(|| orders().seeds(3..3).run().assert_sound());
    assert_eq!(told, "scenario: no seed was run");
}
