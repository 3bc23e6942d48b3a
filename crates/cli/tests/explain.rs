//! Why a run failed, and where two runs part: every form, and what cannot be explained or compared.

mod support;

use expect_test::{Expect, expect, expect_file};
use support::{Folder, library};

const DEFECT: &str = "tc.endtxn.no_txn_identity";

fn late() -> String {
    library("transactions/late-end-txn.json")
}

/// A folder with a failing run.
fn failed() -> Folder {
    let folder = Folder::new();
    folder.ends(&["run", &late(), "--defect", DEFECT], 10);
    folder
}

fn check(actual: &str, expected: &Expect) {
    expected.assert_eq(actual);
}

#[test]
fn a_failure_is_explained_from_the_promise_to_the_fault() {
    let folder = failed();
    let text = folder.ends(&["explain", "latest"], 10).out;
    expect_file!["golden/explanation.txt"].assert_eq(&text);
}

#[test]
fn an_explanation_can_be_pasted_into_an_issue() {
    let folder = failed();
    let pasted = folder.ends(&["explain", "latest", "--as", "markdown"], 10).out;
    expect_file!["golden/explanation.md"].assert_eq(&pasted);
    assert!(pasted.len() < 65_536);
    let name = &folder.list("sim-runs/latest/failures")[0];
    let kept = folder.read(&format!("sim-runs/latest/failures/{name}/explain.md"));
    assert_eq!(kept, pasted.replace(" latest", " ."), "the one that is kept is for its folder");
}

#[test]
fn an_explanation_is_one_html_file() {
    let folder = failed();
    let page = folder.ends(&["explain", "latest", "--as", "html"], 10).out;
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{page}");
    for needed in ["<tr class=\"broken\">", "<tr class=\"fault\">", "aimed.0", "&quot;writer&quot;"]
    {
        assert!(page.contains(needed), "{needed}");
    }
    for foreign in ["src=", "href=", "<script", "url("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

#[test]
fn an_explanation_is_json_for_other_tools() {
    let folder = failed();
    let json = folder.ends(&["explain", "latest", "--format", "json"], 10).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["format"], &json["verdict"]), (&1.into(), &"early-read".into()));
    let parts = json["parts"].as_array().expect("parts");
    let needed = parts.iter().map(|part| format!("{} {}", part["need"], part["part"]));
    check(
        &(needed.collect::<Vec<_>>().join("\n") + "\n"),
        &expect![[r#"
        "needed" "aimed.0"
        "needed" "tc.endtxn.no_txn_identity"
    "#]],
    );
    let story = json["story"].as_array().expect("a story");
    assert!((5..=16).contains(&story.len()), "{}", story.len());
    let broken = story.iter().filter(|moment| moment["broken"] == true);
    assert_eq!(broken.count(), 1);
}

#[test]
fn an_explanation_depends_on_the_run_alone() {
    let folder = failed();
    let kept = folder.ends(&["explain", "latest", "--format", "json"], 10).out;
    let scenario = late();
    let words = ["explain", &scenario, "--seed", "0", "--defect", DEFECT, "--format", "json"];
    assert_eq!(folder.ends(&words, 10).out, kept, "the seed and what is kept of it");
    folder.ends(&["explain", "latest", "--out", "why"], 10);
    assert_eq!(folder.list("why"), ["explain.html", "explain.md"]);
}

#[test]
fn what_is_stuck_is_explained_too() {
    let folder = Folder::new();
    let scenario = library("coordinator/prepared-commit-is-carried-out.json");
    let words = ["explain", &scenario, "--seed", "0", "--defect", "tc.load.skip_resume_prepare"];
    let out = folder.ends(&words, 11).out;
    let needed =
        out.lines().filter(|line| line.starts_with("  needed") || line.starts_with("  not"));
    let needed: String = needed.map(|line| line.trim().to_string() + "\n").collect();
    check(
        &needed,
        &expect![[r#"
          needed      aimed.0                      when sent WriteTxnMarkers, sender broker-2: crash (who sender, down_ms 9000, kind process) (first at 0.278s)  sound
          needed      tc.load.skip_resume_prepare  A new coordinator does not go on with what is decided (B24, KAFKA-5131). (first at 9.348s)                    sound
          not needed  aimed.1                      when sent WriteTxnMarkers, nth 1, sender broker-2: drop                                                       stuck
          not needed  aimed.2                      when sent WriteTxnMarkers, nth 2, sender broker-2: drop                                                       stuck
    "#]],
    );
}

#[test]
fn what_only_brokers_see_is_explained_up_to_where_clients_feel_it() {
    let folder = Folder::new();
    let scenario = library("limits/sequences-wrap.json");
    folder.ends(&["run", &scenario, "--seed", "2", "--defect", "seq.wrap.negative"], 10);
    let text = folder.ends(&["explain", "latest"], 10).out;
    let (_, after) = text.split_once("What it leads to\n").expect("a section");
    let (section, _) = after.split_once("\nTo look further").expect("the next one");
    let command = section.lines().find(|line| line.contains("eosim run ")).expect("a command");
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    let ended = folder.ends(&words, 10).out;
    assert!(ended.contains("VIOLATION"), "{ended}");
    let section = section.replace(words[1], "…/plan.json").replace("\n  ", "\n");
    check(
        &section,
        &expect![[r#"
              Only brokers see it here. This is how clients come to feel it.
            where     the same plan at seed 0, with faults at random besides
            what      duplicate: v4.26 for orders-1, sent by idempotent-0 (session 1) at 1.636s, never answered was read at offset 26 and again at offset 61 (read-committed (read_committed) took 61..64 of orders-1 at 10.878s under bound 64)
            promised  A record lies in a log at most as often as it was sent there.
            needed    faults.partition: all of partition; faults.lost_response.1: lost_response, strike 1; faults.lost_response.4: lost_response, strike 4
            eosim run …/plan.json --seed 0 --set faults.intensity=rough --defect seq.wrap.negative
        "#]],
    );
}

#[test]
fn the_footer_of_a_failure_says_what_is_needed() {
    let folder = Folder::new();
    let ended = folder.ends(&["run", &late(), "--defect", DEFECT], 10);
    let needed =
        ended.out.lines().filter(|line| line.contains("needed: ") || line.contains("shown in"));
    let needed: String = needed
        .map(|line| match line.split_once("sim-runs/") {
            Some((before, _)) => format!("{before}…/{}\n", line.rsplit('/').next().unwrap_or("")),
            None => line.to_string() + "\n",
        })
        .map(|line| line.trim_start().to_string())
        .collect();
    check(
        &needed,
        &expect![[r#"
          needed: aimed.0 (when sent EndTxn, commit true: late_until (answered Produce, nth 2, transactional_id writer))
          rule L-LSO-1 · shown in …/explain.md
    "#]],
    );
}

#[test]
fn a_sound_run_has_nothing_to_explain() {
    let folder = Folder::new();
    folder.ends(&["run", &late()], 0);
    check(
        &folder.ends(&["explain", "latest"], 0).out,
        &expect![[r#"
        nothing to explain: latest is sound
    "#]],
    );
}

#[test]
fn what_cannot_be_explained_or_compared_is_told() {
    let folder = failed();
    let errors = [
        vec!["explain", "nowhere"],
        vec!["explain", "nowhere.json", "--seed", "1"],
        vec!["diff", "latest"],
        vec!["diff", "latest", "--b-without", "aimed.7"],
        vec!["diff", "latest", "--b-defect", "tc.endtxn.no_txn_identiti"],
        vec!["diff", "latest", "--b-set", "x"],
        vec!["diff", "latest", "--b-kafka", "9.9"],
        vec!["diff", "latest", "nowhere"],
    ];
    let told = errors.iter().map(|words| folder.ends(words, 2).err);
    check(
        &told.collect::<String>(),
        &expect![[r#"
            eosim: error: nowhere: found nothing of that name, expected a kept run, or the name of a rule, invariant, fault, defect, request, error code, state, scenario, ticket, term or word of an aimed rule; eosim list names them
            eosim: error: nowhere.json: found No such file or directory (os error 2), expected a file that can be read
            eosim: error: there is one run: expected another one, or what is different on a side, such as --b-defect NAME, --b-kafka VERSION, --b-transaction-version LEVEL, --b-set PATH=VALUE or --b-without PART
            eosim: error: --a-without, --b-without: found "aimed.7", expected a part of the run: aimed.0, tc.endtxn.no_txn_identity; did you mean "aimed.0"?
            eosim: error: --b-defect: found "tc.endtxn.no_txn_identiti", expected a defect; eosim list defects names them; did you mean "tc.endtxn.no_txn_identity"?
            eosim: error: --b-set: found "x", expected a path and a value, such as faults.crash.down_ms=500
            eosim: error: latest: kafka: found "9.9", expected "4.5", "4.4", "4.3", "4.2", "4.1", "4.0", "3.9" or an object with "one_of"; did you mean "3.9"?
            eosim: error: nowhere: found no such file or folder, expected a choices.json, or the folder of a run
        "#]],
    );
}

#[test]
fn a_run_is_compared_with_itself_without_a_part() {
    let folder = failed();
    let words = ["diff", "latest", "--b-without", "aimed.0"];
    check(
        &folder.ends(&words, 0).out,
        &expect![[r#"
        the runs part at step 67, after 111 lines that are the same
          A  latest   scenario=late-end-txn seed=0
          B  latest   scenario=late-end-txn seed=0 without aimed.0

        Where they part
          --- A
          +++ B
                63     0.237487 broker-3         -> broker-1 #6 Fetch follower 3 orders-0@1 session 65537 epoch 1
                64     0.241688 broker-1         <- broker-2 Fetch follower 2 orders-0@1 session 65538 epoch 1
                65     0.241855 broker-1         <- broker-3 Fetch follower 3 orders-0@1 session 65537 epoch 1
                66     0.244498 writer           <- #6 Produce orders-0 NONE @0
                66     0.244498 writer           -> broker-2 #7 EndTxn v5 "writer" 0/0 COMMIT
                66     0.244498 writer           * a to orders-0: acknowledged @0
          -            0.244498 writer           ! EndTxn request to broker-2: late until a rule lets it go, the connection breaks (aimed.0)
          -     67     0.246482 read-uncommitted <- #3 Fetch orders-0 NONE HW 1 LSO 0 [1@0]
          -     67     0.246482 read-uncommitted -> broker-1 #5 Fetch read_uncommitted orders-0@1
          -     67     0.246482 read-uncommitted * reads orders-0 read_uncommitted 0..1 below 1: [a@0]
          -     68     0.247451 writer           <- #7 disconnected
          -     68     0.247451 writer           -> broker-3 #8 ApiVersions
          +     67     0.246482 read-uncommitted <- #3 Fetch orders-0 NONE HW 1 LSO 0 [1@0]
          +     67     0.246482 read-uncommitted -> broker-1 #5 Fetch read_uncommitted orders-0@1
          +     67     0.246482 read-uncommitted * reads orders-0 read_uncommitted 0..1 below 1: [a@0]
          +     68     0.247451 broker-2         <- writer EndTxn v5 "writer" 0/0 COMMIT
          +     69     0.250657 broker-1         <- #6 Fetch __transaction_state-2 NONE HW 2 LSO 2 [1@2]
          +     69     0.250657 broker-1         -> broker-2 #7 Fetch follower 1 __transaction_state-2@3 session 65538 epoch 3

        What comes out differently
                                     A                                                                  B
          verdict                    VIOLATION early-read and 2 more                                    sound
          steps                      1150                                                               1195
          digest                     3812a1a75e6a0d13                                                   90e51efc7144c8a8
          faults                     aimed.0 1                                                          none
          records                    2 acknowledged, 2 refused                                          4 acknowledged
          transactions               1 committed, 1 refused, 1 unknown                                  2 committed, 1 aborted
          read                       2 read_uncommitted, 2 read_committed                               4 read_uncommitted, 2 read_committed
          producers that failed      4                                                                  0
          partition orders-1         end 0, high watermark 0, last stable offset 0                      end 4, high watermark 4, last stable offset 4
          transaction 0.1 of writer  commit refused with INVALID_TXN_STATE                              aborted
          transaction 0.2 of writer  not begun                                                          committed
          record b of orders-0       acknowledged @2, read by read-uncommitted, read by read-committed  read by read-uncommitted, acknowledged @2
          record c of orders-1       refused with INVALID_PRODUCER_EPOCH                                acknowledged @0, read by read-uncommitted
          record d of orders-1       refused with INVALID_TXN_STATE                                     acknowledged @2, read by read-uncommitted, read by read-committed
    "#]],
    );
    let same = folder.ends(&["diff", "latest", "latest"], 0).out;
    check(
        &same,
        &expect![[r#"
        the same run
          A  latest   scenario=late-end-txn seed=0
          B  latest   scenario=late-end-txn seed=0
    "#]],
    );
}

#[test]
fn a_scenario_is_compared_under_two_versions() {
    let folder = Folder::new();
    let sides = ["--a-kafka", "4.1", "--b-kafka", "4.4"];
    let scenario = late();
    let words = [&["diff", &scenario, "--seed", "3", "--as", "markdown"][..], &sides].concat();
    let out = folder.ends(&words, 0).out.replace(&late(), "late-end-txn.json");
    check(
        &out,
        &expect![[r##"
        # no line differs, but what is not told does

        - **A**: late-end-txn.json   scenario=late-end-txn seed=3 set kafka="4.1"
        - **B**: late-end-txn.json   scenario=late-end-txn seed=3 set kafka="4.4"

        ## What comes out differently

        |  | A | B |
        |---|---|---|
        | digest | 67a2c4bb89c47ffa | 9014fa274b7a5cb2 |
    "##]],
    );
}

#[test]
fn a_difference_is_json_for_other_tools() {
    let folder = failed();
    let words = ["diff", "latest", "--b-without", DEFECT, "--format", "json"];
    let json = folder.ends(&words, 0).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let verdict = json["outcomes"].as_array().expect("outcomes");
    let verdict = verdict.iter().find(|outcome| outcome["what"] == "verdict").expect("a verdict");
    assert_eq!(verdict["b"], "sound");
    assert!(json["parting"]["step"].as_u64() > Some(66), "{json}");
}
