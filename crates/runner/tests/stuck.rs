//! What does not move is named with what it waits for, since when, and the rule that would free it.

use eosim_runner::assemble::assemble;
use eosim_runner::run::SeededMachine;
use eosim_runner::sweep::plan_of;
use eosim_runner::{ScenarioFile, Verdict, invariants};
use eosim_sim::Seeded;
use eosim_types::DefectSet;
use expect_test::expect;

/// The only replica of a partition dies for good while a transaction that has written there is
/// decided.
const NO_LEADER: &str = r#"{
  "format": 1,
  "name": "no-leader",
  "about": "A marker has nowhere to go.",
  "cluster": {
    "brokers": 3,
    "topics": {"orders": {"replicas": [[3]], "settings": {"min.insync.replicas": 1}}},
    "place": {"writer": 1}
  },
  "producers": [
    {
      "name": "producer",
      "transactional_id": "writer",
      "workload": {
        "script": ["init", "begin", {"send": {"partition": "orders-0", "value": "v"}}, "flush",
                   {"wait_until_ms": 2000}, "commit", {"wait_until_ms": 9000}, "begin"]
      }
    }
  ],
  "consumers": [
    {"name": "reader", "isolation_level": "read_committed", "partitions": ["orders-0"]}
  ],
  "aimed": [
    {
      "when": {"received": "WriteTxnMarkers", "receiver": "broker-3"},
      "do": {"crash": {"who": "receiver", "down_ms": 600000}}
    }
  ],
  "limits": {"virtual_time_max_ms": 60000}
}"#;

#[test]
fn a_marker_without_a_leader_is_told_with_its_rule() {
    let names: Vec<&str> = invariants().iter().map(|invariant| invariant.name).collect();
    let file = ScenarioFile::parse("no-leader.json", NO_LEADER, &[], &names).expect("good");
    let plan = plan_of(&file, 0);
    let mut machine = SeededMachine::new(Seeded::new(0));
    machine.choices().reset(0);
    let mut choose = |site, n| machine.choose_for_plan(site, n);
    let assembly = assemble(&plan, DefectSet::NONE, &mut choose);
    let verdict = machine.run(&plan, assembly, None).verdict;
    let Verdict::Liveness(stuck) = verdict else { panic!("{verdict:?}") };
    let words = stuck.iter().map(|stuck| {
        let eosim_runner::Stuck { what, waiting_for, since, rule } = stuck;
        format!("{what} waits for {waiting_for} since {since}: {rule}\n")
    });
    expect![[r#"
        partition orders-0 waits for a leader since 2.200s: L-FO-1
        transaction of writer in PrepareCommit at broker 1 waits for its markers in [orders-0] since 2.200s: C-MRK-10
    "#]].assert_eq(&words.collect::<String>());
}
