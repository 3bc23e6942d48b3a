//! What cannot be used is refused: what, where, what was expected, what may have been meant.
//! Nothing is written.

mod support;

use std::fs;

use expect_test::{Expect, expect};
use support::{Folder, library};

fn refused(folder: &Folder, words: &[&str], message: &Expect) {
    let ended = folder.ends(words, 2);
    message.assert_eq(&ended.err);
    assert_eq!(ended.out, "", "{words:?}");
    assert_eq!(folder.list("sim-runs"), Vec::<String>::new(), "{words:?}");
}

/// A scenario of the library, with `from` replaced by `to`.
fn changed(from: &str, to: &str) -> String {
    let text = fs::read_to_string(library("transactions/gc-stall.json")).expect("reads");
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

#[test]
fn a_wrong_scenario_is_refused_with_place_and_nearest_name() {
    let folder = Folder::new();
    folder.write("key.json", &changed("\"producers\"", "\"produceers\""));
    refused(
        &folder,
        &["run", "key.json"],
        &expect![[r#"
            eosim: error: key.json: found the unknown key "produceers", expected one of 23 known keys; did you mean "producers"?
        "#]],
    );
    folder.write("value.json", &changed("\"expect\": \"sound\"", "\"expect\": \"sond\""));
    refused(
        &folder,
        &["run", "value.json"],
        &expect![[r#"
        eosim: error: value.json: expect: found "sond", expected "sound" or an object with "violation"; did you mean "sound"?
    "#]],
    );
    folder.write("broken.json", "{\"format\": 1,\n  \"name\": }");
    refused(
        &folder,
        &["run", "broken.json"],
        &expect![[r#"
        eosim: error: broken.json: name (line 2 column 11): found a fault (expected value), expected JSON
    "#]],
    );
    refused(
        &folder,
        &["sweep", "broken.json"],
        &expect![[r#"
        eosim: error: broken.json: name (line 2 column 11): found a fault (expected value), expected JSON
    "#]],
    );
    refused(
        &folder,
        &["verify", "broken.json"],
        &expect![[r#"
        eosim: error: broken.json: name (line 2 column 11): found a fault (expected value), expected JSON
    "#]],
    );
    folder.write("scenarios/broken.json", "[]");
    refused(
        &folder,
        &["sweep", "scenarios"],
        &expect![[r#"
        eosim: error: scenarios/broken.json: found a list of 0, expected an object with "format" and "name" and "about" and "cluster"
    "#]],
    );
    folder.write("deep.json", &"[".repeat(100_000));
    refused(
        &folder,
        &["run", "deep.json"],
        &expect![[r#"
        eosim: error: deep.json: [0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0] (line 1 column 33): found deeper nesting, expected at most 32 levels
    "#]],
    );
}

#[test]
fn what_is_not_there_is_named() {
    let folder = Folder::new();
    refused(
        &folder,
        &["run", "missing.json"],
        &expect![[r#"
        eosim: error: missing.json: found No such file or directory (os error 2), expected a file that can be read
    "#]],
    );
    refused(
        &folder,
        &["sweep", "missing"],
        &expect![[r#"
        eosim: error: missing: found No such file or directory (os error 2), expected a scenario file, or a folder of them
    "#]],
    );
    refused(
        &folder,
        &["run", "."],
        &expect![[r#"
        eosim: error: .: found Is a directory (os error 21), expected a file that can be read
    "#]],
    );
    refused(
        &folder,
        &["replay", "latest"],
        &expect![[r#"
        eosim: error: latest: found no such file or folder, expected a choices.json, or the folder of a run
    "#]],
    );
    refused(
        &folder,
        &["show", "missing"],
        &expect![[r#"
        eosim: error: missing: found no such file or folder, expected a choices.json, or the folder of a run
    "#]],
    );
    refused(
        &folder,
        &["conform", "missing"],
        &expect![[r#"
        eosim: error: missing: found No such file or directory (os error 2), expected a readable file or folder of cases
    "#]],
    );
}

#[test]
fn wrong_switches_and_replacements_are_refused() {
    let folder = Folder::new();
    let gc_stall = library("transactions/gc-stall.json");
    refused(
        &folder,
        &["run", &gc_stall, "--defect", "leader.dedup.windw_4"],
        &expect![[r#"
        eosim: error: --defect: found "leader.dedup.windw_4", expected a defect; eosim list defects names them; did you mean "leader.dedup.window_4"?
    "#]],
    );
    refused(
        &folder,
        &["run", &gc_stall, "--as-released", "--repair", "leader.dedup.window_4"],
        &expect![[r#"
        eosim: error: --repair: found "leader.dedup.window_4", expected an upstream finding; eosim list defects names them
    "#]],
    );
    refused(
        &folder,
        &["run", &gc_stall, "--set", "faults"],
        &expect![[r#"
        eosim: error: --set: found "faults", expected a path and a value, such as faults.crash.down_ms=500
    "#]],
    );
    let ended = folder.ends(&["run", &gc_stall, "--set", "faults.gc_puase.rate=1/2"], 2);
    assert!(ended.err.contains("did you mean \"gc_pause\"?"), "{}", ended.err);
    refused(
        &folder,
        &["defects", "--run", "leader"],
        &expect![[r#"
        eosim: error: NAME: found "leader", expected a defect; eosim list defects names them; did you mean "leader.dedup.window_4"?
    "#]],
    );
}

#[test]
fn unknown_verbs_and_flags_are_refused_with_the_nearest() {
    let folder = Folder::new();
    refused(
        &folder,
        &["swep"],
        &expect![[r#"
        error: unrecognized subcommand 'swep'

          tip: a similar subcommand exists: 'sweep'

        Usage: eosim [OPTIONS] <COMMAND>

        For more information, try '--help'.
    "#]],
    );
    refused(
        &folder,
        &["sweep", "--cuont", "5"],
        &expect![[r#"
        error: unexpected argument '--cuont' found

          tip: a similar argument exists: '--count'

        Usage: eosim sweep --count <NUMBER> [SCENARIO]...

        For more information, try '--help'.
    "#]],
    );
    assert_eq!(folder.eosim(&[]).code, Some(2));
}

#[test]
fn two_scenarios_of_one_name_are_refused() {
    let folder = Folder::new();
    let text = changed("\"format\"", "\"format\"");
    folder.write("a/gc-stall.json", &text);
    folder.write("b/gc-stall.json", &text);
    refused(
        &folder,
        &["sweep", "a", "b"],
        &expect![[r#"
        eosim: error: b/gc-stall.json: name: found "gc-stall", the name of a/gc-stall.json too, expected a name of its own
    "#]],
    );
}

#[test]
fn a_folder_that_cannot_be_written_is_found_before_the_start() {
    let folder = Folder::new();
    folder.write("file", "");
    let gc_stall = library("transactions/gc-stall.json");
    refused(
        &folder,
        &["sweep", &gc_stall, "--out", "file/runs"],
        &expect![[r#"
        eosim: error: --out: file/runs: Not a directory (os error 20); expected a folder that can be written
    "#]],
    );
    refused(
        &folder,
        &["run", &gc_stall, "--out", "file"],
        &expect![[r#"
        eosim: error: --out: file: File exists (os error 17); expected a folder that can be written
    "#]],
    );
    assert_eq!(folder.list("."), ["file"]);
}

#[test]
fn nothing_selected_is_an_exit_code_of_its_own() {
    let folder = Folder::new();
    folder.write("empty/readme.txt", "");
    folder.ends(&["sweep", "empty"], 4);
    folder.ends(&["sweep", &library("transactions/gc-stall.json"), "--tag", "no-such-tag"], 4);
    folder.ends(&["conform", "empty"], 4);
    let share = ["--count", "1", "--partition", "2/2"];
    folder.ends(&[&["sweep", &library("transactions/gc-stall.json")][..], &share].concat(), 4);
    assert_eq!(folder.list("sim-runs"), Vec::<String>::new());
}

#[test]
fn a_recording_that_is_none_is_refused() {
    let folder = Folder::new();
    folder.write("choices.json", "{}");
    refused(
        &folder,
        &["replay", "choices.json"],
        &expect![[r#"
        eosim: error: choices.json: found missing field `format` at line 1 column 2, expected the choices of a run (format 1)
    "#]],
    );
    folder.write("not-utf8/choices.json", "");
    fs::write(folder.path().join("not-utf8/choices.json"), [0xff, 0xfe]).expect("writes");
    refused(
        &folder,
        &["replay", "not-utf8"],
        &expect![[r#"
        eosim: error: not-utf8/choices.json: found bytes that are not UTF-8, expected UTF-8 text
    "#]],
    );
}
