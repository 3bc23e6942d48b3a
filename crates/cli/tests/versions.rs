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
        |  next-producer-id-forgotten                        n/a         AFFECTED 2  AFFECTED 2  AFFECTED 2  ok          ok          ok
        |  upstream.coordinator.downgrade_wedges_id          n/a         AFFECTED 0  AFFECTED 0  AFFECTED 0  AFFECTED 0  AFFECTED 0  AFFECTED 0
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

#[test]
fn an_unknown_affair_is_told_with_the_nearest() {
    let folder = Folder::new();
    let scenarios = library("");
    let ended = folder.ends(&["versions", "two-phase-comit-aborted", "--scenarios", &scenarios], 2);
    expect![[r#"
        eosim: error: NAME: found "two-phase-comit-aborted", expected an affair; eosim versions names them; did you mean "two-phase-commit-aborted"?
    "#]].assert_eq(&ended.err);
}
