//! When a run is over.

use eosim_runner::assemble::assemble;
use eosim_runner::run::SeededMachine;
use eosim_runner::sweep::plan_of;
use eosim_runner::{ScenarioFile, invariants};
use eosim_sim::Seeded;
use eosim_types::{DefectSet, Duration, Instant};

/// The only client is served long before broker 1 is back.
const ONE_BROKER_DIES: &str = r#"{
  "format": 1,
  "name": "one-broker-dies",
  "about": "A broker dies for half a minute.",
  "shows": [],
  "tags": [],
  "rules": [],
  "cluster": {
    "brokers": 3,
    "topics": {"orders": {"replicas": [[1, 2, 3]], "settings": {"min.insync.replicas": 2}}}
  },
  "producers": [
    {
      "name": "producer",
      "settings": {"request.timeout.ms": 1500},
      "workload": {"script": [{"send": {"partition": "orders-0", "value": "v"}}, "flush"]}
    }
  ],
  "aimed": [
    {
      "when": {"received": "Produce", "receiver": "broker-1", "nth": 1},
      "do": {"crash": {"who": "receiver", "down_ms": 30000}}
    }
  ],
  "expect": "sound"
}"#;

#[test]
fn a_run_is_not_over_while_a_broker_is_down() {
    let names: Vec<&str> = invariants().iter().map(|invariant| invariant.name).collect();
    let file = ScenarioFile::parse("one-broker-dies.json", ONE_BROKER_DIES, &[], &names).unwrap();
    let plan = plan_of(&file, 0);
    let mut machine = SeededMachine::new(Seeded::new(0));
    machine.choices().reset(0);
    let mut choose = |site, n| machine.choose_for_plan(site, n);
    let assembly = assemble(&plan, DefectSet::NONE, &mut choose);
    let run = machine.run(&plan, assembly, None);
    assert!(run.ended_at >= Instant::START + Duration::from_millis(30_000), "{run:?}");
}
