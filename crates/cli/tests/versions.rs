//! Which releases are affected by what: every cell is a run.

mod support;

use expect_test::expect;
use support::{Folder, library};

#[test]
fn the_table_says_since_when_each_affair_is_repaired() {
    let folder = Folder::new();
    let scenarios = library("");
    let words = ["versions", "--scenarios", &scenarios, "--seeds-max", "3"];
    let text = folder.ends(&words, 0).out;
    let table: Vec<&str> = text.lines().skip_while(|line| !line.contains("3.9")).collect();
    let table = table.iter().take_while(|line| !line.is_empty());
    let table: String = table.map(|line| format!("|{line}\n")).collect();
    expect![[r#"
        |                                                    3.9         4.0         4.1         4.2         4.3         4.4         4.5
        |  marker-of-another-transaction                     AFFECTED 0  AFFECTED 0  AFFECTED 0  ok          ok          ok          ok
        |  last-epoch-cannot-be-ended                        n/a         AFFECTED 0  AFFECTED 0  AFFECTED 0  ok          ok          ok
        |  upstream.coordinator.timeouts_stop_at_last_epoch  n/a         AFFECTED 0  AFFECTED 0  AFFECTED 0  ok          ok          ok
        |  later-epoch-joins-transaction                     AFFECTED 0  ok          ok          ok          ok          ok          ok
        |  partition-added-in-vain                           AFFECTED 0  AFFECTED 0  ok          ok          ok          ok          ok
        |  late-abort-leads-to-last-epoch                    n/a         AFFECTED 0  AFFECTED 0  AFFECTED 0  ok          ok          ok
        |  previous-producer-id-forgotten                    n/a         AFFECTED 0  AFFECTED 0  AFFECTED 0  ok          ok          ok
        |  next-producer-id-forgotten                        n/a         AFFECTED 2  AFFECTED 2  AFFECTED 2  ok          ok          ok
        |  upstream.coordinator.downgrade_wedges_id          n/a         AFFECTED 0  AFFECTED 0  AFFECTED 0  AFFECTED 0  AFFECTED 0  AFFECTED 0
        |  upstream.coordinator.fenced_end_takes_epoch       n/a         AFFECTED 0  AFFECTED 0  AFFECTED 0  AFFECTED 0  AFFECTED 0  AFFECTED 0
        |  transaction-version-1                             AFFECTED 2  AFFECTED 2  AFFECTED 2  AFFECTED 2  AFFECTED 2  AFFECTED 2  AFFECTED 2
        |  two-phase-commit-aborted                          n/a         n/a         n/a         n/a         n/a         n/a         AFFECTED 0
        |  AFFECTED: the promise is broken, at the seed that is given. ok: it is kept at all of 3 seeds. n/a: the release cannot be in such a place. other: another promise is broken. ?: the faults were not effective.
    "#]].assert_eq(&table);
}

#[test]
fn the_commands_of_an_affair_show_it_and_what_repaired_it() {
    let folder = Folder::new();
    let scenarios = library("");
    let name = "upstream.coordinator.timeouts_stop_at_last_epoch";
    let text = folder.ends(&["versions", name, "--scenarios", &scenarios], 0).out;
    let commands = text.lines().filter_map(|line| line.trim().strip_prefix("eosim "));
    let commands: Vec<Vec<String>> =
        commands.map(|line| line.split(' ').map(String::from).collect()).collect();
    let [shown, beside] = &commands[..] else { panic!("two commands: {text}") };
    let words: Vec<&str> = shown.iter().map(String::as_str).collect();
    assert!(folder.ends(&words, 0).out.contains("the scenario expects this violation"));
    let words: Vec<&str> = beside.iter().map(String::as_str).collect();
    let difference = folder.ends(&words, 0).out;
    let verdict = difference.lines().find(|line| line.trim().starts_with("verdict"));
    expect!["  verdict             STUCK                                          sound"]
        .assert_eq(verdict.unwrap_or_default());
}

/// Of a folder, what the release can have is swept, and what it cannot have is named; 3.9 has level 0.
#[test]
fn a_sweep_of_another_release_leaves_out_what_it_cannot_have() {
    let folder = Folder::new();
    folder.copy_library("idempotence/lost-responses.json");
    let two_phase = "transactions/two-phase-commit-late-init.json";
    folder.copy_library(two_phase);
    let sweep = ["sweep", "scenarios", "--count", "2", "--set", "requires=[]", "--kafka", "3.9"];
    let swept = folder.ends(&sweep, 0);
    assert!(swept.out.contains("2 seeds, 0 failed"), "{}", swept.out);
    let told = format!("eosim: note: left out: scenarios/{two_phase}: ");
    assert!(swept.err.contains(&told), "{}", swept.err);
    let named = format!("scenarios/{two_phase}");
    let refused = folder.ends(&["sweep", &named, "--count", "1", "--kafka", "3.9"], 2);
    assert!(refused.err.contains("Kafka 4.1 or newer, not 3.9"), "{}", refused.err);
}

#[test]
fn an_unknown_affair_is_told_with_the_nearest() {
    let folder = Folder::new();
    let scenarios = library("");
    let ended = folder.ends(&["versions", "two-phase-comit-aborted", "--scenarios", &scenarios], 2);
    expect![[r#"
        eosim: error: NAME: found "two-phase-comit-aborted", expected an affair; eosim versions names them; did you mean "two-phase-commit-aborted"?
    "#]].assert_eq(&ended.err);
}

/// A row of the table of releases: scenario, what is different on both sides, and what the page shows:
/// of side A behind "-", of side B behind "+", of what comes out differently behind "|".
type Row = (&'static str, &'static [&'static str], &'static [&'static str]);

const ROWS: [Row; 14] = [
    (
        "versions/first-batch-out-of-turn",
        &["--a-kafka", "4.0", "--b-kafka", "4.1"],
        &["- Produce orders-0 NONE @0", "+ Produce orders-0 OUT_OF_ORDER_SEQUENCE_NUMBER"],
    ),
    (
        "versions/epoch-behind-its-partition",
        &["--a-kafka", "4.0", "--b-kafka", "4.1"],
        &[
            "- AddPartitionsToTxn \"writer\" NONE",
            "+ Produce orders-0 INVALID_PRODUCER_EPOCH",
            "| STUCK",
        ],
    ),
    (
        "versions/batch-of-a-fenced-epoch",
        &["--a-kafka", "4.0", "--b-kafka", "4.1"],
        &[
            "- AddPartitionsToTxn \"writer\" TRANSACTION_ABORTABLE",
            "+ Produce orders-0 INVALID_PRODUCER_EPOCH",
        ],
    ),
    (
        "versions/late-batch-blocks-the-living",
        &["--a-kafka", "4.0", "--b-kafka", "4.1"],
        &["- AddPartitionsToTxn \"orders\" 0/0", "| OUT_OF_ORDER_SEQUENCE_NUMBER  committed"],
    ),
    (
        "versions/fenced-at-the-last-epoch",
        &["--a-kafka", "4.2", "--b-kafka", "4.3"],
        &["- InitProducerId NONE 1/0", "+ InitProducerId NONE 1/1"],
    ),
    (
        "versions/goes-on-at-the-last-epoch",
        &["--a-kafka", "4.2", "--b-kafka", "4.3"],
        &["- EndTxn NONE 0/32767", "+ EndTxn NONE 1/0", "| STUCK"],
    ),
    (
        "versions/end-is-asked-for-again",
        &["--a-kafka", "4.2", "--b-kafka", "4.3"],
        &["+ EndTxn NONE 1/0", "| VIOLATION healthy-producer-failed"],
    ),
    (
        "versions/successor-learns-the-next-id",
        &["--a-kafka", "4.2", "--b-kafka", "4.3"],
        &["- INVALID_PRODUCER_ID_MAPPING", "| commit refused with INVALID_PRODUCER_ID_MAPPING"],
    ),
    (
        "versions/batch-of-a-later-epoch",
        &["--a-kafka", "3.9", "--b-kafka", "4.0"],
        &["- Produce orders-0 NONE @1", "+ Produce orders-0 INVALID_PRODUCER_EPOCH", "| STUCK"],
    ),
    (
        "versions/end-below-the-log-start",
        &["--a-kafka", "3.9", "--b-kafka", "4.0"],
        &["- LSO 2", "+ LSO 0"],
    ),
    (
        "versions/resumes-after-a-timeout",
        &["--a-set", "transaction_version=1", "--b-set", "transaction_version=2"],
        &["- transaction.version 1", "+ transaction.version 2", "| refused with PRODUCER_FENCED"],
    ),
    (
        "versions/version-2-request-on-version-0",
        &["--a-set", "operator[1].update_features={\"transaction.version\":1}", "--b-kafka", "4.5"],
        &[
            "- UpdateFeatures transaction.version 1",
            "+ UpdateFeatures transaction.version 0",
            "| STUCK",
        ],
    ),
    (
        "transactions/late-marker",
        &["--a-kafka", "4.1", "--b-kafka", "4.2"],
        &["- [1@3 COMMIT]", "| VIOLATION early-read"],
    ),
    (
        "versions/what-a-transaction-takes",
        &["--a-kafka", "3.9", "--a-set", "transaction_version=0", "--b-kafka", "4.0"],
        &["- transaction.version 0", "+ transaction.version 2"],
    ),
];

#[test]
fn each_difference_between_releases_shows_in_a_scenario() {
    let folder = Folder::new();
    for (scenario, sides, shown) in ROWS {
        let file = library(&format!("{scenario}.json"));
        let words = [&["diff", &file, "--seed", "0"], sides].concat();
        let page = folder.ends(&words, 0).out;
        let parting = page.lines().map(str::trim_start);
        let lines: Vec<(&str, &str)> =
            parting.filter_map(|line| line.split_at_checked(1)).collect();
        for fragment in shown {
            let (mark, text) = fragment.split_once(' ').expect("a mark and a text");
            let is_shown = match mark {
                "|" => page.lines().any(|line| line.contains(text)),
                _ => lines.iter().any(|(of, line)| *of == mark && line.contains(text)),
            };
            assert!(is_shown, "{scenario}: no {fragment:?} in\n{page}");
        }
    }
}
