//! What a broker does from time to time, done at once.

use super::cluster::Setup;

#[test]
fn housekeeping_runs_what_would_run_much_later_l_exp_1_c_exp_1() {
    let mut cluster = Setup::default().build();
    cluster.run_for(100);
    assert_eq!(cluster.reached("L-EXP-1") + cluster.reached("C-EXP-1"), 0);
    assert!(cluster.keep_house(1));
    assert!(cluster.reached("L-EXP-1") > 0 && cluster.reached("C-EXP-1") > 0);
    cluster.kill(1, eosim_actor::CrashKind::Process);
    assert!(!cluster.keep_house(1), "a process that has not begun has nothing to keep");
}
