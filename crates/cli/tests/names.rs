//! Pages of names: `eosim explain NAME`, `eosim list … --verbose`, and what is told of a name that is
//! none.

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use eosim::input::{Model, scenarios};
use eosim::names::{Entry, Library, TABLE, entries, errors_in, look_up};
use eosim::render::DESCRIBE;
use eosim_runner::recording::record;
use eosim_types::{DefectSet, ErrorCode};
use expect_test::expect;
use support::{Folder, library};

fn whole_library() -> Library {
    Library::read(Path::new(&library(""))).expect("the library")
}

/// A folder with one scenario.
fn small() -> Folder {
    let folder = Folder::new();
    folder.copy_library("examples/example-2-window-of-five.json");
    folder
}

#[test]
fn a_term_has_a_page() {
    expect![[r#"
        last stable offset · term (LSO)
          The offset below which every transaction of a partition is decided, and the decision replicated.
          It is the beginning of the first transaction that is not; without one it is the high watermark.
          read_committed readers get nothing at or beyond it.
          rules  L-LSO-1: The first unstable offset is the lowest first offset of the transactions that are
                 open, or whose marker lies above the high watermark.
                 L-LSO-2: A decided transaction counts as unstable until the high watermark has passed its
                 marker.
                 L-LSO-3: The last stable offset is the first unstable one, and the high watermark if there
                 is none; never more than that.
                 L-FET-1: A follower reads to the log's end, read_uncommitted to the high watermark,
                 read_committed to the last stable offset.
          see    high watermark, read_committed, hanging transaction
          guide  eosim guide read-committed
    "#]]
    .assert_eq(&small().ends(&["explain", "lso"], 0).out);
}

#[test]
fn a_defect_and_a_rule_have_pages() {
    let folder = small();
    expect![[r#"
        leader.dedup.window_4 · defect
          The leader remembers four batches of a producer in place of five (B07, B74).
          comes from   a broker's bug that was repaired
          caught by    healthy-producer-failed, duplicate, reordering, producer-state
          aimed at it  example-2-window-of-five

        Commands
          eosim sweep scenarios/examples/example-2-window-of-five.json --defect leader.dedup.window_4 --max-fail 1
          eosim defects --run leader.dedup.window_4
    "#]]
    .assert_eq(&folder.ends(&["explain", "leader.dedup.window_4"], 0).out);
    expect![[r#"
        # L-SEQ-4 · rule

        Within an epoch a batch must follow the last one; anything else that is no duplicate is OUT\_OF\_ORDER\_SEQUENCE\_NUMBER. An unknown producer may begin anywhere.

        - **governs**: partition leader, its log and its replicas
        - **releases**: since 4.5 (KAFKA-15591): In a log that nobody ever wrote to everybody begins with sequence 0.
        - **as released**: upstream.producer.overtaken\_renumbered
        - **judged by**: reordering, sequence-gap
        - **runs**: counted when they take its branch (eosim coverage)
        - **scenarios**: example-2-window-of-five
        - **guide**: eosim guide sequences

        ## Commands

        ```sh
        eosim run scenarios/examples/example-2-window-of-five.json
        ```
    "#]]
    .assert_eq(&folder.ends(&["explain", "L-SEQ-4", "--as", "markdown"], 0).out);
}

/// What is kept goes before a name only if it is called exactly so, and only in the store what a
/// part of a name stands for is found.
#[test]
fn a_name_goes_before_what_begins_or_ends_with_it() {
    let folder = small();
    folder.write("LSO-notes.md", "no run");
    folder.write("sim-runs/20260101-LSO/notes", "no run");
    let page = folder.ends(&["explain", "LSO"], 0).out;
    assert!(page.starts_with("last stable offset · term"), "{page}");
    let error = folder.ends(&["explain", "LSO-note"], 2).err;
    assert!(error.contains("nothing of that name"), "{error}");
    folder.write("LSO", "no run");
    let error = folder.ends(&["explain", "./LSO"], 2).err;
    assert!(!error.contains("nothing of that name"), "{error}");
    folder.ends(&["explain", "LSO"], 2);
    let error = folder.ends(&["explain", "20260101"], 2).err;
    assert!(error.contains("a folder without choices.json"), "{error}");
}

#[test]
fn without_a_library_pages_name_no_scenario() {
    let text = Folder::new().ends(&["explain", "leader.dedup.window_4"], 0).out;
    assert!(!text.contains("aimed at it") && !text.contains("sweep"), "{text}");
}

#[test]
fn what_is_no_name_is_told_with_the_nearest() {
    let folder = small();
    for (name, nearest) in [
        ("LSOO", Some("LSO")),
        ("abortd_read", Some("aborted-read")),
        ("l-seq-33", Some("L-SEQ-3")),
        ("INVALID_PRODUCER_EPOC", Some("INVALID_PRODUCER_EPOCH")),
        ("leader.dedup.windw_4", Some("leader.dedup.window_4")),
        ("zebra", None),
    ] {
        let error = folder.ends(&["explain", name], 2).err;
        let told = nearest.map(|name| format!("; did you mean \"{name}\"?"));
        assert!(error.trim_end().ends_with(told.as_deref().unwrap_or("names them")), "{error}");
    }
}

/// Every name has a page, which is found by it and by its other names, and says something.
#[test]
fn every_name_is_found() {
    let library = whole_library();
    let mut count = BTreeMap::new();
    let all = entries(&library);
    for entry in &all {
        *count.entry(entry.kind).or_insert(0) += 1;
        assert!(!entry.about.trim().is_empty(), "{}", entry.name);
        for name in [&entry.name].into_iter().chain(&entry.aliases) {
            // As `look_up` does it, which gathers all entries anew.
            let found = all.iter().filter(|found| found.is_called(name));
            let is_it = |found: &&Entry| (found.kind, &found.name) == (entry.kind, &entry.name);
            // A ticket has a page for each of its changes, and machines may share names of states.
            let is_shared = matches!(entry.kind, "state" | "ticket");
            let count = found.filter(is_it).count();
            assert!(count == 1 || count > 1 && is_shared, "{name}: {count}");
        }
    }
    let kinds = ["term", "invariant", "fault", "defect", "rule", "error code", "state", "scenario"];
    assert!(kinds.iter().all(|kind| count.get(kind) > Some(&10)), "{count:?}");
    for name in ["LSO", "KIP-890", "KAFKA-18202", "coordinator/Ongoing", "late-marker"] {
        assert!(look_up(name, &library).is_ok_and(|found| !found.is_empty()), "{name}");
    }
}

#[test]
fn lists_print_the_pages_of_all() {
    let folder = small();
    for (list, page) in [
        ("invariants", "aborted-read · invariant"),
        ("faults", "lost_response · fault"),
        ("defects", "leader.dedup.window_4 · defect"),
        ("rules", "L-SEQ-3 · rule"),
        ("errors", "PRODUCER_FENCED · error code"),
        ("apis", "EndTxn · request"),
        ("terms", "marker · term"),
        ("scenarios", "example-2-window-of-five · scenario"),
    ] {
        let text = folder.ends(&["list", list, "--verbose"], 0).out;
        assert!(text.contains(page), "{list}: {text}");
    }
}

/// The table of error codes is what runs answer; `eosim list errors` shows it.
#[test]
fn error_codes_are_produced_where_the_table_says() {
    let files = scenarios(&[library("").into()], &Model::default()).expect("the library");
    let mut runs: BTreeMap<(&str, u64), Vec<ErrorCode>> = BTreeMap::new();
    for line in TABLE.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let [code, scenario, seed] = cells[..] else { panic!("{line}") };
        let code = ErrorCode::from_name(code).expect("a code");
        runs.entry((scenario, seed.parse().expect("a seed"))).or_default().push(code);
    }
    for ((scenario, seed), codes) in runs {
        let file = files.iter().find(|file| file.head().name == scenario);
        let file = file.unwrap_or_else(|| panic!("no scenario {scenario}"));
        let (_, run) = record(file, seed, DefectSet::NONE, DESCRIBE);
        let found = errors_in(&run);
        for code in codes {
            let again = "cargo run --release -p eosim --example errors";
            assert!(found.contains(&code), "{scenario}, seed {seed}: no {code}; {again}");
        }
    }
    let listed = Folder::new().ends(&["list", "errors"], 0).out;
    let of = |text: &'static str| move |line: &&str| line.starts_with(text);
    let scenario = TABLE.lines().find(of("PRODUCER_FENCED\t")).and_then(|l| l.split('\t').nth(1));
    let fenced = listed.lines().find(of("PRODUCER_FENCED "));
    assert!(fenced.is_some_and(|line| line.ends_with(scenario.expect("a row"))), "{fenced:?}");
}
