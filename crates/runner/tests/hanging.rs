//! A hanging transaction with an operator, and without one.

mod library;

use eosim_runner::assemble::assemble;
use eosim_runner::run::SeededMachine;
use eosim_runner::sweep::plan_of;
use eosim_runner::{Plan, Verdict};
use eosim_scenario::plan::{AbortTransaction, OperatorStep};
use eosim_sim::Seeded;
use eosim_types::{DefectSet, Marks};

fn plan() -> Plan {
    plan_of(&library::scenario("hanging-transaction"), 1)
}

fn run(plan: &Plan) -> (Verdict, Marks) {
    let mut machine = SeededMachine::new(Seeded::new(1));
    machine.choices().reset(1);
    let mut choose = |site, n| machine.choose_for_plan(site, n);
    let assembly = assemble(plan, DefectSet::NONE, &mut choose);
    let verdict = machine.run(plan, assembly, None).verdict;
    (verdict, machine.take_marks())
}

#[test]
fn the_operator_finds_and_ends_what_hangs_l_tool_3() {
    let (verdict, marks) = run(&plan());
    assert_eq!(verdict, Verdict::Sound);
    let reached = |id| marks.counts().any(|(rule, count)| rule == id && count > 0);
    assert!(reached("L-TOOL-1") && reached("L-TOOL-3"));
}

#[test]
fn without_the_operator_readers_wait_for_ever_l_fo_7() {
    let (verdict, _) = run(&Plan { operator: Vec::new(), ..plan() });
    let Verdict::Liveness(stuck) = verdict else { panic!("{verdict:?}") };
    assert!(stuck.iter().any(|stuck| stuck.what.contains("orders-0")), "{stuck:?}");
}

/// The coordinator still owns the transaction: it commits what the operator aborted.
#[test]
fn ending_a_live_transaction_by_hand_breaks_its_promise_l_tool_2() {
    let mut plan = plan();
    plan.aimed.clear();
    plan.producers.truncate(1);
    plan.cluster.place.remove("steady");
    let producer = &mut plan.producers[0];
    let script = r#"{"script": ["init", "begin", {"send": {"partition": "orders-0", "value": "v"}},
        "flush", {"wait_until_ms": 4000}, "commit"]}"#;
    producer.workload = serde_json::from_str(script).expect("a workload");
    let partition = "orders-0".to_string();
    let abort = AbortTransaction { partition, start_offset: Some(0), producer: None };
    plan.operator = vec![OperatorStep::WaitUntilMs(2_000), OperatorStep::AbortTransaction(abort)];
    let (verdict, _) = run(&plan);
    let Verdict::Safety(anomalies) = verdict else { panic!("{verdict:?}") };
    assert!(!anomalies.is_empty(), "{anomalies:?}");
    plan.operator.truncate(1);
    assert_eq!(run(&plan).0, Verdict::Sound);
}
