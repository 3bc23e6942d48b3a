//! Reports of a sweep in every form.

use eosim_report::sweep_report::FORMS;
use eosim_report::{FailedSeed, FaultCount, ReportedFailure, ScenarioSummary, SweepReport};
use expect_test::{Expect, expect};

fn failure(seed: u64, fingerprint: &str) -> ReportedFailure {
    ReportedFailure {
        scenario: "mixed".into(),
        seed,
        what: "aborted-read".into(),
        summary: format!("r0 <\"read_committed\"> was given v{seed}, 100% aborted\u{1}\u{1b}[2J"),
        rule: "K-FILT-2".into(),
        fingerprint: fingerprint.into(),
        folder: format!("sim-runs/s/failures/{seed}"),
    }
}

fn report() -> SweepReport {
    let failed = ScenarioSummary {
        name: "mixed".into(),
        sound: 3,
        safety: 3,
        steps: 900,
        faults: vec![FaultCount { name: "crash".into(), applied: 4, effective: 2 }],
        failures: vec![FailedSeed { seed: 3, what: "aborted-read".into() }],
        ..ScenarioSummary::default()
    };
    let vacuous = ScenarioSummary {
        name: "late-marker".into(),
        sound: 6,
        never_effective: vec!["late_request".into()],
        ..ScenarioSummary::default()
    };
    let undecided =
        ScenarioSummary { name: "long".into(), inconclusive: 6, ..ScenarioSummary::default() };
    let sound = ScenarioSummary {
        name: "calm".into(),
        sound: 6,
        faults: vec![FaultCount { name: "crash".into(), applied: 1, effective: 1 }],
        ..ScenarioSummary::default()
    };
    let with_file = |one: ScenarioSummary| {
        let file = format!("scenarios/{}.json", one.name);
        (one, file)
    };
    SweepReport {
        name: "sweep-1".into(),
        arguments: vec!["sweep".into(), "scenarios".into()],
        missing: 2,
        scenarios: [sound, failed, vacuous, undecided].map(with_file).into(),
        failures: vec![failure(3, "aa"), failure(4, "bb"), failure(5, "aa")],
        coverage: vec![("rules".into(), [376, 11, 126]), ("cells".into(), [9, 0, 1])],
    }
}

fn check(form: &str, expected: &Expect) {
    let form = FORMS.iter().find(|known| known.name == form).expect("a form");
    expected.assert_eq(&(form.render)(&report()));
}

#[test]
fn junit_has_a_test_case_for_each_scenario() {
    check(
        "junit",
        &expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites tests="5" failures="2" errors="2">
              <testsuite name="sweep-1" tests="5" failures="2" errors="2" skipped="0">
                <testcase classname="eosim" name="calm"/>
                <testcase classname="eosim" name="mixed">
                  <failure type="VIOLATION" message="VIOLATION: seed 3: aborted-read">aborted-read at seed 3: r0 &lt;"read_committed"&gt; was given v3, 100% aborted\u0001\u001b[2J
            rule K-FILT-2
            eosim replay sim-runs/s/failures/3
            aborted-read at seed 4: r0 &lt;"read_committed"&gt; was given v4, 100% aborted\u0001\u001b[2J
            rule K-FILT-2
            eosim replay sim-runs/s/failures/4
            aborted-read at seed 5: r0 &lt;"read_committed"&gt; was given v5, 100% aborted\u0001\u001b[2J
            rule K-FILT-2
            eosim replay sim-runs/s/failures/5
            </failure>
                </testcase>
                <testcase classname="eosim" name="late-marker">
                  <failure type="VACUOUS" message="VACUOUS: it never happened: late_request"></failure>
                </testcase>
                <testcase classname="eosim" name="long">
                  <error type="INCONCLUSIVE" message="INCONCLUSIVE: see the summary"></error>
                </testcase>
                <testcase classname="eosim" name="every run was made">
                  <error type="MISSING" message="2 of 26 runs: this is no verdict over the whole"/>
                </testcase>
              </testsuite>
            </testsuites>
        "#]],
    );
}

#[test]
fn github_annotates_each_kind_of_failure_once() {
    check(
        "github",
        &expect![[r#"
            ::error title=the sweep is not whole::2 of 26 runs: this is no verdict over the whole
            ::error file=scenarios/mixed.json,title=aborted-read in mixed at seed 3 (2 seeds of this kind)::r0 <"read_committed"> was given v3, 100%25 aborted\u0001\u001b[2J%0Arule K-FILT-2%0Aeosim replay sim-runs/s/failures/3
            ::error file=scenarios/mixed.json,title=aborted-read in mixed at seed 4::r0 <"read_committed"> was given v4, 100%25 aborted\u0001\u001b[2J%0Arule K-FILT-2%0Aeosim replay sim-runs/s/failures/4
            ::error file=scenarios/late-marker.json,title=late-marker::VACUOUS: it never happened: late_request
            ::error file=scenarios/long.json,title=long::INCONCLUSIVE: see the summary
            ::notice title=eosim::24 seeds, 3 failed
        "#]],
    );
}

#[test]
fn markdown_can_be_pasted() {
    check(
        "markdown",
        &expect![[r##"
            # eosim: sweep-1

            - **seeds**: 24, 3 failed
            - **MISSING**: 2 of 26 runs: this is no verdict over the whole
            - **scenarios**: 4, 3 did not pass
            - **made by**: eosim sweep scenarios

            ## Failures

            - **aborted-read**: r0 &lt;"read\_committed"&gt; was given v3, 100% aborted\\u0001\\u001b\[2J
            - **rule**: K-FILT-2
            - **seeds**: mixed 3, mixed 5
            - **fingerprint**: aa

            ```sh
            eosim explain sim-runs/s/failures/3
            eosim replay sim-runs/s/failures/3
            eosim shrink sim-runs/s/failures/3
            ```

            - **aborted-read**: r0 &lt;"read\_committed"&gt; was given v4, 100% aborted\\u0001\\u001b\[2J
            - **rule**: K-FILT-2
            - **seeds**: mixed 4
            - **fingerprint**: bb

            ```sh
            eosim explain sim-runs/s/failures/4
            eosim replay sim-runs/s/failures/4
            eosim shrink sim-runs/s/failures/4
            ```

            ## Scenarios

            | scenario | verdict | runs | sound | expected | safety | stuck | other | vacuous |
            |---|---|---|---|---|---|---|---|---|
            | mixed | VIOLATION | 6 | 3 | 0 | 3 | 0 | 0 | 0 |
            | late-marker | VACUOUS | 6 | 6 | 0 | 0 | 0 | 0 | 0 |
            | long | INCONCLUSIVE | 6 | 0 | 0 | 0 | 0 | 6 | 0 |
            | calm | sound | 6 | 6 | 0 | 0 | 0 | 0 | 0 |

            ## Faults

            | fault | applied | effective |
            |---|---|---|
            | crash | 5 | 3 |

            ## Reached

            |  | reached | never | cannot be |
            |---|---|---|---|
            | rules | 376 | 11 | 126 |
            | cells | 9 | 0 | 1 |
        "##]],
    );
}

#[test]
fn text_is_for_a_terminal() {
    check(
        "text",
        &expect![[r#"
            eosim: sweep-1
              seeds      24, 3 failed
              MISSING    2 of 26 runs: this is no verdict over the whole
              scenarios  4, 3 did not pass
              made by    eosim sweep scenarios

            Failures
              aborted-read  r0 <"read_committed"> was given v3, 100% aborted[2J
              rule          K-FILT-2
              seeds         mixed 3, mixed 5
              fingerprint   aa
              eosim explain sim-runs/s/failures/3
              eosim replay sim-runs/s/failures/3
              eosim shrink sim-runs/s/failures/3
              aborted-read  r0 <"read_committed"> was given v4, 100% aborted[2J
              rule          K-FILT-2
              seeds         mixed 4
              fingerprint   bb
              eosim explain sim-runs/s/failures/4
              eosim replay sim-runs/s/failures/4
              eosim shrink sim-runs/s/failures/4

            Scenarios
              scenario     verdict       runs  sound  expected  safety  stuck  other  vacuous
              mixed        VIOLATION     6     3      0         3       0      0      0
              late-marker  VACUOUS       6     6      0         0       0      0      0
              long         INCONCLUSIVE  6     0      0         0       0      6      0
              calm         sound         6     6      0         0       0      0      0

            Faults
              fault  applied  effective
              crash  5        3

            Reached
                     reached  never  cannot be
              rules  376      11     126
              cells  9        0      1
        "#]],
    );
}

#[test]
fn json_is_one_value() {
    check(
        "json",
        &expect![[r#"
            {"format":1,"run":"sweep-1","missing":2,"arguments":["sweep","scenarios"],"scenarios":[{"scenario":"calm","verdict":"sound","runs":6,"sound":6,"expected":0,"safety":0,"liveness":0,"inconclusive":0,"vacuous":0,"missing":[],"steps":0,"faults":[{"name":"crash","applied":1,"effective":1}],"never_effective":[],"violation_missing":false,"nondeterministic":[],"failures":[]},{"scenario":"mixed","verdict":"VIOLATION","runs":6,"sound":3,"expected":0,"safety":3,"liveness":0,"inconclusive":0,"vacuous":0,"missing":[],"steps":900,"faults":[{"name":"crash","applied":4,"effective":2}],"never_effective":[],"violation_missing":false,"nondeterministic":[],"failures":[{"seed":3,"what":"aborted-read"}]},{"scenario":"late-marker","verdict":"VACUOUS","runs":6,"sound":6,"expected":0,"safety":0,"liveness":0,"inconclusive":0,"vacuous":0,"missing":[],"steps":0,"faults":[],"never_effective":["late_request"],"violation_missing":false,"nondeterministic":[],"failures":[]},{"scenario":"long","verdict":"INCONCLUSIVE","runs":6,"sound":0,"expected":0,"safety":0,"liveness":0,"inconclusive":6,"vacuous":0,"missing":[],"steps":0,"faults":[],"never_effective":[],"violation_missing":false,"nondeterministic":[],"failures":[]}],"failures":[{"scenario":"mixed","seed":3,"what":"aborted-read","summary":"r0 <\"read_committed\"> was given v3, 100% aborted\u0001\u001b[2J","rule":"K-FILT-2","fingerprint":"aa","folder":"sim-runs/s/failures/3"},{"scenario":"mixed","seed":4,"what":"aborted-read","summary":"r0 <\"read_committed\"> was given v4, 100% aborted\u0001\u001b[2J","rule":"K-FILT-2","fingerprint":"bb","folder":"sim-runs/s/failures/4"},{"scenario":"mixed","seed":5,"what":"aborted-read","summary":"r0 <\"read_committed\"> was given v5, 100% aborted\u0001\u001b[2J","rule":"K-FILT-2","fingerprint":"aa","folder":"sim-runs/s/failures/5"}],"coverage":[{"of":"rules","counts":{"reached":376,"never":11,"cannot_be":126}},{"of":"cells","counts":{"reached":9,"never":0,"cannot_be":1}}]}
        "#]],
    );
}

#[test]
fn html_takes_nothing_for_markup() {
    let form = FORMS.iter().find(|known| known.name == "html").expect("a form");
    let page = (form.render)(&report());
    assert!(page.contains("r0 &lt;&quot;read_committed&quot;&gt; was given v3"));
    assert!(!page.contains("<script") && !page.contains("http"), "nothing comes from elsewhere");
}

#[test]
fn every_form_is_bounded_however_many_seeds_failed() {
    let mut many = report();
    many.failures = (0..2_000).map(|seed| failure(seed, &format!("{seed:x}"))).collect();
    let github = FORMS.iter().find(|known| known.name == "github").expect("a form");
    let annotations = (github.render)(&many);
    assert_eq!(annotations.matches("::error ").count(), 10);
    assert!(annotations.contains("1993 more kinds of trouble"), "{annotations}");
    for form in FORMS.iter().filter(|form| form.name != "json") {
        assert!((form.render)(&many).len() < 64 * 1024, "{}", form.name);
    }
}
