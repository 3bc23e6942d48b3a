//! Footers and summaries.

use eosim_checker::{Anomaly, Stuck, Verdict};
use eosim_report::{FailedSeed, FaultCount, RunName, ScenarioSummary, SweepSummary, footer};
use eosim_types::Instant;
use expect_test::expect;

const RUN: RunName<'_> = RunName {
    scenario: "zombie-fencing",
    seed: 8812,
    steps: 5000,
    ended: Instant(60_000_000),
    folder: None,
    is_explained: false,
};

fn anomaly() -> Anomaly {
    Anomaly {
        invariant: "aborted-read",
        at: Instant(31_204_000),
        step: 4127,
        summary:
            "consumer c0 (read_committed) received z2@7 of producer 0 epoch 0, aborted by the \
                  marker at 9"
                .to_string(),
        rule: "K-FILT-3",
        skeleton: Vec::new(),
        fingerprint: 0,
    }
}

#[test]
fn a_violation_ends_with_a_command_to_paste() {
    let verdict = Verdict::Safety(vec![anomaly(), anomaly()]);
    let kept = RunName { folder: Some("sim-runs/latest/failures/8812"), ..RUN };
    expect![[r#"
        VIOLATION aborted-read   scenario=zombie-fencing seed=8812 step=4127 t=31.204s
          consumer c0 (read_committed) received z2@7 of producer 0 epoch 0, aborted by the marker at 9
          and 1 more: aborted-read
          rule K-FILT-3 · shown in sim-runs/latest/failures/8812/transcript.txt
          reproduce: eosim replay sim-runs/latest/failures/8812/choices.json
    "#]].assert_eq(&footer(&verdict, kept));
    expect![[r#"
        VIOLATION aborted-read   scenario=zombie-fencing seed=8812 step=4127 t=31.204s
          consumer c0 (read_committed) received z2@7 of producer 0 epoch 0, aborted by the marker at 9
          and 1 more: aborted-read
          rule K-FILT-3
          reproduce: eosim run zombie-fencing --seed 8812
    "#]].assert_eq(&footer(&verdict, RUN));
}

#[test]
fn other_verdicts_say_why() {
    let stuck = Stuck {
        what: "transaction writer-0".to_string(),
        waiting_for: "a marker for orders-1".to_string(),
        since: Instant(2_000_000),
        rule: "C-MRK-10",
    };
    let verdicts = [
        Verdict::Sound,
        Verdict::Liveness(vec![stuck]),
        Verdict::Inconclusive("the budget of 5000 steps is used up".to_string()),
    ];
    let text: String = verdicts.iter().map(|verdict| footer(verdict, RUN)).collect();
    expect![[r#"
        sound   scenario=zombie-fencing seed=8812 step=5000 t=60.000s
        STUCK   scenario=zombie-fencing seed=8812 step=5000 t=60.000s
          transaction writer-0 waits for a marker for orders-1 since 2.000s
          rule C-MRK-10 would free it
          reproduce: eosim run zombie-fencing --seed 8812
        INCONCLUSIVE   scenario=zombie-fencing seed=8812 step=5000 t=60.000s
          the budget of 5000 steps is used up
          reproduce: eosim run zombie-fencing --seed 8812
    "#]]
    .assert_eq(&text);
}

fn summary() -> SweepSummary {
    let sound = ScenarioSummary {
        name: "lost-responses".to_string(),
        sound: 1000,
        steps: 800_000,
        faults: vec![FaultCount { name: "lost_response".to_string(), applied: 9, effective: 7 }],
        ..ScenarioSummary::default()
    };
    let broken = ScenarioSummary {
        name: "zombie-fencing".to_string(),
        sound: 998,
        safety: 1,
        inconclusive: 1,
        steps: 900_000,
        never_effective: vec!["zombie".to_string()],
        failures: vec![FailedSeed { seed: 8812, what: "aborted-read".into() }],
        ..ScenarioSummary::default()
    };
    SweepSummary { scenarios: vec![sound, broken] }
}

#[test]
fn a_sweep_is_summed_up_as_text_and_json() {
    expect![[r#"
        scenario            runs     sound expected safety stuck  other   vacuous       steps  verdict
        lost-responses      1000      1000        0      0     0      0         0      800000  sound
        zombie-fencing      1000       998        0      1     0      1         0      900000  VIOLATION
          lost-responses: effective/applied: lost_response 7/9
          zombie-fencing: required, but it never happened: zombie
          zombie-fencing: seed 8812: aborted-read
    "#]]
    .assert_eq(&summary().text());
    expect![[r#"
        {"format":1,"scenarios":[{"scenario":"lost-responses","verdict":"sound","runs":1000,"sound":1000,"expected":0,"safety":0,"liveness":0,"inconclusive":0,"vacuous":0,"missing":[],"steps":800000,"faults":[{"name":"lost_response","applied":9,"effective":7}],"never_effective":[],"violation_missing":false,"nondeterministic":[],"failures":[]},{"scenario":"zombie-fencing","verdict":"VIOLATION","runs":1000,"sound":998,"expected":0,"safety":1,"liveness":0,"inconclusive":1,"vacuous":0,"missing":[],"steps":900000,"faults":[],"never_effective":["zombie"],"violation_missing":false,"nondeterministic":[],"failures":[{"seed":8812,"what":"aborted-read"}]}]}
    "#]].assert_eq(&summary().json());
}
