//! Histories: what a run writes is judged as the run was; what is broken in a history written by
//! hand is found and named, and nothing is said of what is legal or not known.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use eosim_runner::history::{Entry, History, Judged};
use eosim_runner::recording::{record, word};
use eosim_runner::run::Describe;
use eosim_runner::{ScenarioFile, Verdict, invariants};
use eosim_types::observation::{Observed, Unseen};
use eosim_types::{Defect, DefectSet, Topic};

const DESCRIBE: Describe =
    Describe { message: |_, _| String::new(), observed: |_, _| String::new() };

/// Scenarios that are sound.
const SOUND: &[&str] = &[
    "mixed",
    "lost-responses",
    "consume-transform-produce-classic",
    "consume-transform-produce-consumer",
    "group-consumers-classic",
    "coordinator-logs-compacted",
    "delete-records",
    "two-phase-commit",
    "zombie-fencing",
    "power-loss",
    "unclean-election",
];

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn scenario(name: &str) -> ScenarioFile {
    let path = find(&here("../../scenarios"), &format!("{name}.json"));
    let names: Vec<&str> = invariants().iter().map(|info| info.name).collect();
    ScenarioFile::read(&path.expect("in the library"), &[], &names).expect("a good scenario")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn find(folder: &Path, file: &str) -> Option<PathBuf> {
    files(folder).into_iter().find_map(|path| {
        if path.is_dir() { find(&path, file) } else { path.ends_with(file).then_some(path) }
    })
}

/// The history of a run, whose verdict is that of the run, and one word for it.
fn judged_alike(name: &str, seed: u64, defects: DefectSet) -> (History, String) {
    let (_, observed) = record(&scenario(name), seed, defects, DESCRIBE);
    let text = observed.history.to_jsonl();
    let read = History::parse("history.jsonl", &text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read.judge().verdict, observed.result.verdict, "{name} {seed}");
    assert_eq!(read.to_jsonl(), text, "{name} {seed}");
    (read, word(&observed.result.verdict).to_string())
}

#[test]
fn sound_runs_are_judged_alike_from_their_histories() {
    for name in SOUND {
        for seed in 0..3 {
            judged_alike(name, seed, DefectSet::NONE);
        }
    }
}

#[test]
fn broken_runs_are_judged_alike_from_their_histories() {
    for (defect, name, verdict) in [
        ("leader.index.drop_abort_entry", "lost-responses", "aborted-read"),
        ("log.recover.second_state_instance", "leader-crash", "producer-state"),
        ("leader.produce.no_txn_verification", "late-batch-is-verified", "stuck"),
        ("tc.load.on_partition_epoch_change", "coordinator-failover-stages", "broken-assumption"),
    ] {
        let defects = DefectSet::NONE.with(Defect::from_name(defect).expect("a defect"));
        let mut words = (0..12).map(|seed| judged_alike(name, seed, defects).1);
        assert!(words.any(|word| word == verdict), "{defect} in {name}");
    }
    let mut expected =
        (0..12).map(|seed| judged_alike("version-1-late-requests", seed, DefectSet::NONE).1);
    assert!(expected.any(|word| word != "sound"));
}

/// `history` without what `keep` refuses of it.
fn thinned(history: &History, mut keep: impl FnMut(&mut Entry) -> bool) -> History {
    let mut thin = History { run: None, ..history.clone() };
    thin.entries.retain_mut(|entry| keep(entry));
    thin
}

fn is_of_reader(entry: &Entry) -> bool {
    let Entry::Observed(observation) = entry else { return false };
    matches!(observation.what, Observed::Polled { .. } | Observed::PositionSet { .. })
}

/// What other systems show of a cluster: leaders' logs of user topics.
fn only_logs(entry: &mut Entry) -> bool {
    if let Entry::Dump(dump) = entry {
        dump.replicas.retain(|replica| replica.is_leader && !replica.partition.topic.is_internal());
        dump.transactions.clear();
        dump.coordinators.clear();
        for replica in &mut dump.replicas {
            replica.unseen = Unseen {
                bounds: true,
                aborted_transactions: true,
                producers: true,
                remembered: true,
            };
            replica.aborted_transactions.clear();
            replica.producers.clear();
            replica.remembered.clear();
        }
    }
    true
}

/// Only every second partition of each topic.
fn half_of_the_logs(entry: &mut Entry) -> bool {
    if let Entry::Dump(dump) = entry {
        dump.replicas.retain(|replica| replica.partition.partition % 2 == 0);
        dump.coordinators.retain(|of| of.partition.topic != Topic::TRANSACTION_STATE);
    }
    true
}

#[test]
fn nothing_is_reported_for_want_of_what_a_history_lacks() {
    for name in SOUND {
        let (history, _) = judged_alike(name, 1, DefectSet::NONE);
        for (what, thin) in [
            ("no dumps", thinned(&history, |entry| !matches!(entry, Entry::Dump(_)))),
            ("no readers", thinned(&history, |entry| !is_of_reader(entry))),
            ("only readers", thinned(&history, |entry| is_of_reader(entry))),
            ("only dumps", thinned(&history, |entry| matches!(entry, Entry::Dump(_)))),
            ("only logs", thinned(&history, only_logs)),
            ("half of the logs", thinned(&history, half_of_the_logs)),
        ] {
            let again = History::parse("thin.jsonl", &thin.to_jsonl());
            let again = again.unwrap_or_else(|error| panic!("{name}, {what}: {error}"));
            assert_eq!(again.judge().verdict, Verdict::Sound, "{name}, {what}");
        }
    }
}

/// Every history of a folder, with its name.
fn written(folder: &str) -> Vec<(String, Judged)> {
    let judged = files(&here("tests/histories").join(folder)).into_iter().map(|path| {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name").to_string();
        let history = History::read(&path).unwrap_or_else(|error| panic!("{error}"));
        (name, history.judge())
    });
    judged.collect()
}

fn broken(judged: &Judged) -> BTreeSet<&str> {
    match &judged.verdict {
        Verdict::Safety(anomalies) => anomalies.iter().map(|found| found.invariant).collect(),
        _ => BTreeSet::new(),
    }
}

#[test]
fn every_planted_anomaly_is_found_and_nothing_else() {
    let mut planted = BTreeSet::new();
    for (name, judged) in written("broken") {
        let invariant = name.split("--").next().expect("a name").to_string();
        assert_eq!(broken(&judged), BTreeSet::from([invariant.as_str()]), "{name}");
        let mut not_judged = judged.lacking.iter().filter(|lacking| !lacking.in_part);
        let is_lacking = not_judged.any(|lacking| lacking.invariant.name == invariant);
        assert!(!is_lacking, "{name} is said to lack what it takes to judge {invariant}");
        planted.insert(invariant);
    }
    let all = invariants().iter().map(|invariant| invariant.name);
    let missing: Vec<&str> = all.filter(|name| !planted.contains(*name)).collect();
    assert_eq!(missing, [""; 0], "without a history that breaks it");
}

#[test]
fn nothing_is_found_in_sound_histories() {
    let sound = written("sound");
    for (name, judged) in &sound {
        assert_eq!(judged.verdict, Verdict::Sound, "{name}");
    }
    for oddity in 1..=14 {
        let begins = format!("n{oddity}--");
        assert!(sound.iter().any(|(name, _)| name.starts_with(&begins)), "no {begins}");
    }
}
