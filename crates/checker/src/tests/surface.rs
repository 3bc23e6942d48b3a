//! The public surface: names, sources, reports, reuse.

use std::collections::BTreeSet;
use std::path::Path;

use expect_test::expect;

use crate::testing::{COMMITTED, History, ID, P0};
use crate::{Checker, invariants};

#[test]
fn every_invariant_is_described_and_its_file_exists() {
    let names: BTreeSet<_> = invariants().iter().map(|info| info.name).collect();
    assert_eq!(names.len(), invariants().len());
    for info in invariants() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(info.file);
        let text = std::fs::read_to_string(file).expect(info.file);
        assert!(text.starts_with(&format!("//! `{}`:", info.name)), "{}", info.file);
        assert!(!info.promise.is_empty() && !info.source.is_empty());
        for id in info.source.split([' ', ',', ';']).filter(|word| is_rule(word)) {
            assert!(eosim_types::rules::RULES.contains(&id), "{} cites {id}", info.file);
        }
    }
}

fn is_rule(word: &str) -> bool {
    let mut parts = word.splitn(3, '-');
    matches!(parts.next(), Some("L" | "C" | "P" | "K" | "G")) && parts.count() == 2
}

fn aborted_read() -> History {
    let mut h = History::new();
    let mut p = h.producer(5, Some(ID));
    h.begin(&mut p);
    let value = h.write(&mut p, P0);
    h.abort(&mut p, &[P0]);
    h.poll(9, (P0, COMMITTED), (0, 2), &[(0, value)]);
    h
}

#[test]
fn a_summary_says_who_read_what_and_how_it_ended() {
    let found = aborted_read().anomalies();
    let text: Vec<String> = found
        .iter()
        .map(|found| format!("{} {} [{}]\n", found.invariant, found.rule, found.summary))
        .collect();
    expect![[r#"
        aborted-read K-FILT-2 [actor 9 (read_committed) took 0..2 of t-0 at 1.008s under bound 2 and was given v5.1 for t-0, sent by actor 5 (session 0) in transaction 1 at 1.004s, acknowledged at offset 0 at 1.005s (transaction 1 of actor 5 (session 0), abort reported done at 1.007s)]
        aborted-read K-FILT-2 [actor 9 (read_committed) took 0..2 of t-0 at 1.008s under bound 2 and was given v5.1@0 of t-0 (producer id 0, epoch 0), aborted by the marker at 1]
    "#]].assert_eq(&text.concat());
}

#[test]
fn fingerprints_know_no_ids() {
    let plain = aborted_read().anomalies();
    let mut h = History::new();
    for actor in [7, 8] {
        let mut q = h.producer(actor, None);
        h.write(&mut q, P0);
    }
    let mut p = h.producer(6, Some(ID));
    h.begin(&mut p);
    let value = h.write(&mut p, P0);
    h.abort(&mut p, &[P0]);
    h.read(9, P0, crate::testing::COMMITTED);
    h.poll(10, (P0, COMMITTED), (2, 4), &[(2, value)]);
    let prints = |found: &[crate::Anomaly]| -> BTreeSet<u64> {
        found.iter().map(|found| found.fingerprint).collect()
    };
    assert_eq!(prints(&plain), prints(&h.anomalies()));
}

#[test]
fn a_checker_forgets_a_run_when_reset() {
    let h = aborted_read();
    let mut checker = Checker::new(&h.setup);
    let mut found = Vec::new();
    for _ in 0..3 {
        for observation in &h.observations {
            checker.observe(observation);
        }
        checker.finish(&h.dump());
        checker.finish(&h.dump());
        found.push(checker.anomalies().to_vec());
        checker.reset();
        assert!(checker.anomalies().is_empty());
    }
    assert!(found.iter().all(|run| *run == h.anomalies()));
}
