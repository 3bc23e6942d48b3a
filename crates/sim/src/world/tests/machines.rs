//! Faults of processes and machines, and those that no network of Kafka's has.

use super::*;
use crate::fault::{
    ClockJump, ControllerAway, DiskError, FeatureChange, Housekeeping, ImpossibleDuplicate,
    ImpossibleReorder, LeaderElection, LoadError, Reassignment, ReplicationStall, RestartLoop,
    SlowActor, StaleMetadata, Times,
};

const EVERY: Duration = Duration(10_000);
const ALWAYS: Rate = Rate::new(1, 1);

fn of(choices: Scripted, change: impl FnOnce(&mut Random)) -> Kit {
    kit(choices, random(change), Server::default())
}

#[test]
fn a_slow_process_stalls_again_and_again() {
    let slow = SlowActor {
        every: Duration(60_000),
        targets: vec![SERVER],
        pause: Range::from_millis(4, 9),
        lasts: Range::from_millis(10, 10),
    };
    let mut kit = of(Scripted::default(), |random| random.slow_actor = ByChance::new(ALWAYS, slow));
    kit.advance(Duration(60_500));
    kit.ask(ALICE, LANE, 1);
    kit.advance(Duration(3_500));
    kit.ask(ALICE, LANE, 2);
    kit.advance(Duration(36_000));
    assert_eq!(kit.actors[0].seen, [(64, 1), (68, 2)]);
    assert_eq!(kit.faults.random.slow_actor.count, Count { applied: 3, effective: 2 });
}

#[test]
fn a_restart_loop_is_several_deaths_in_a_row() {
    let restarts = RestartLoop {
        every: Duration(60_000),
        targets: vec![SERVER],
        times: Times { min: 1, max: 3 },
        up: Range::from_millis(5, 5),
        down: Range::from_millis(2, 2),
    };
    let choices = Scripted::default().with("fault.restart_loop.times", &[2]);
    let mut kit = of(choices, |random| random.restart_loop = ByChance::new(ALWAYS, restarts));
    kit.advance(Duration(66_000));
    kit.ask(ALICE, LANE, 1);
    kit.advance(Duration(900));
    assert_eq!(kit.actors[0].lives, 2);
    kit.advance(Duration(90_000));
    assert_eq!((kit.actors[0].lives, kit.is_up(SERVER)), (4, true));
    assert_eq!(kit.faults.random.restart_loop.count, Count { applied: 3, effective: 1 });
}

#[test]
fn a_clock_jumps_ahead_and_back_until_the_phase_ends() {
    let jump = ClockJump { every: EVERY, targets: vec![SERVER], off_by: Range::from_millis(7, 9) };
    let choices = Scripted::default()
        .with("fault.clock_jump", &[1, 1, 1])
        .with("fault.clock_jump.by", &[0, 2_000, 2_000])
        .with("fault.clock_jump.back", &[0, 1, 1]);
    let jump = ByChance::new(Rate::new(1, 2), jump);
    let mut kit = of(choices, |random| random.clock_jump = jump);
    let skew = |kit: &Kit| kit.processes[0].node.clock_skew_ms;
    let mut seen = vec![skew(&kit)];
    for _ in 0..11 {
        kit.advance(EVERY);
        seen.push(skew(&kit));
    }
    assert_eq!(seen[..4], [0, 7, -9, -9]);
    assert_eq!(seen[9..], [-9, 0, 0]);
    assert_eq!(kit.faults.random.clock_jump.count, Count { applied: 3, effective: 2 });
}

#[test]
fn no_clock_jumps_behind_the_first_moment() {
    let jump = ClockJump {
        every: EVERY,
        targets: vec![SERVER],
        off_by: Range::from_millis(60_000, 60_000),
    };
    let choices =
        Scripted::default().with("fault.clock_jump", &[1]).with("fault.clock_jump.back", &[1]);
    let jump = ByChance::new(Rate::new(1, 2), jump);
    let mut kit = of(choices, |random| random.clock_jump = jump);
    kit.advance(EVERY);
    kit.advance(EVERY);
    let skew = kit.processes[0].node.clock_skew_ms;
    assert!((-2 * i64::try_from(EVERY.0 / 1_000).unwrap()..0).contains(&skew), "{skew}");
}

#[test]
fn the_controller_is_away_from_everybody() {
    let away = ControllerAway { every: EVERY, lasts: Range::from_millis(5, 5) };
    let choices = Scripted::default().with("fault.controller_away", &[1]);
    let away = ByChance::new(Rate::new(1, 2), away);
    let mut kit = of(choices, |random| random.controller_away = away);
    kit.advance(Duration(11_000));
    kit.ask(ALICE, LANE, 1);
    kit.advance(Duration(9_000));
    assert_eq!(kit.actors[0].seen, [(16, 1)], "this server is the actor 0, as the controller is");
    assert_eq!(kit.faults.random.controller_away.count, ONCE);
}

#[test]
fn replication_stalls_between_brokers_alone() {
    let stall = ReplicationStall {
        every: EVERY,
        brokers: vec![SERVER, ALICE],
        lasts: Range::from_millis(5, 5),
    };
    let choices = Scripted::default().with("fault.replication_stall", &[0, 1]);
    let stall = ByChance::new(Rate::new(1, 2), stall);
    let mut kit = of(choices, |random| random.replication_stall = stall);
    kit.advance(Duration(11_000));
    kit.ask(ALICE, LANE, 1);
    kit.ask(BOB, LANE, 2);
    kit.advance(Duration(9_000));
    assert_eq!(kit.actors[0].seen, [(12, 2), (16, 1)]);
    assert_eq!(kit.faults.random.replication_stall.count, ONCE);
}

#[test]
fn metadata_alone_are_stale() {
    let stale = StaleMetadata { delay: Range::from_millis(20, 20) };
    let stale = ByChance::new(ALWAYS, stale);
    let mut kit = of(Scripted::default(), |random| random.stale_metadata = stale);
    kit.ask(ALICE, LANE, 1);
    kit.ask(ALICE, Lane(1), METADATA);
    kit.settle_all();
    assert_eq!(kit.heard(), heard(&[(2, "+1"), (22, &format!("+{METADATA}"))]));
    assert_eq!(kit.faults.random.stale_metadata.count, ONCE);
}

#[test]
fn a_disk_fails_one_append_and_is_mended_with_a_restart() {
    let disk = DiskError {
        every: EVERY,
        brokers: vec![SERVER],
        after_write: Rate::new(1, 2),
        down: Range::from_millis(5, 5),
    };
    let choices = Scripted::default()
        .with("fault.disk_error", &[1, 1, 0])
        .with("fault.disk_error.after_write", &[1, 0]);
    let disk = ByChance::new(Rate::new(1, 2), disk);
    let mut kit = of(choices, |random| random.disk_error = disk);
    kit.advance(Duration(11_000));
    kit.ask(ALICE, LANE, 1);
    kit.advance(Duration(29_000));
    assert_eq!(kit.actors[0].broken, [Broken::AfterWrite, Broken::BeforeWrite]);
    assert_eq!(kit.actors[0].lives, 2, "it halted once, and was started again");
    assert_eq!(kit.heard(), heard(&[(13, "+1")]), "the answer is out before it halts");
    assert_eq!(kit.faults.random.disk_error.count, Count { applied: 2, effective: 1 });
}

#[test]
fn a_load_error_says_how_far_a_load_comes() {
    let load = LoadError { every: EVERY, brokers: vec![SERVER], lasts: Range::from_millis(5, 5) };
    let choices = Scripted::default()
        .with("fault.load_error", &[1, 0])
        .with("fault.load_error.percent", &[69]);
    let load = ByChance::new(Rate::new(1, 2), load);
    let mut kit = of(choices, |random| random.load_error = load);
    kit.advance(Duration(20_000));
    assert_eq!(kit.actors[0].broken, [Broken::Load { percent: 30 }]);
    assert_eq!(kit.faults.random.load_error.count, Count { applied: 1, effective: 0 });
}

#[test]
fn an_impossible_duplicate_is_taken_twice_and_answered_once() {
    let twice = ImpossibleDuplicate { after: Range::from_millis(5, 5) };
    let twice = ByChance::new(ALWAYS, twice);
    let mut kit = of(Scripted::default(), |random| random.impossible_duplicate = twice);
    kit.ask(ALICE, LANE, 1);
    kit.settle_all();
    assert_eq!(kit.actors[0].seen, [(1, 1), (6, 1)]);
    assert_eq!(kit.heard(), heard(&[(2, "+1")]));
    assert_eq!(kit.faults.random.impossible_duplicate.count, ONCE);
}

#[test]
fn an_impossible_reorder_lets_what_follows_overtake() {
    let late = ImpossibleReorder { delay: Range::from_millis(5, 5) };
    let late = ByChance::new(Rate::new(1, 2), late);
    let choices = Scripted::default().with("fault.impossible_reorder", &[1, 0]);
    let mut kit = of(choices, |random| random.impossible_reorder = late);
    kit.ask(ALICE, LANE, 1);
    kit.ask(ALICE, LANE, 2);
    kit.settle_all();
    assert_eq!(kit.actors[0].seen, [(1, 2), (6, 1)]);
    assert_eq!(kit.heard(), heard(&[(2, "+2"), (7, "+1")]));
    assert_eq!(kit.faults.random.impossible_reorder.count, ONCE);
}

#[test]
fn operations_reach_a_process_that_runs_and_are_effective_if_they_changed_something() {
    let election = LeaderElection { every: Duration(30_000), unclean: Rate::new(1, 2) };
    let reassignment = Reassignment { every: Duration(40_000) };
    let housekeeping = Housekeeping { every: Duration(70_000), brokers: vec![SERVER, ALICE] };
    let feature_change = FeatureChange { every: Duration(50_000) };
    let choices = Scripted::default()
        .with("fault.leader_election.partition", &[5, 6])
        .with("fault.leader_election.unclean", &[0, 1])
        .with("fault.reassignment.replicas", &[7]);
    let mut kit = of(choices, |random| {
        random.leader_election = ByChance::new(ALWAYS, election);
        random.reassignment = ByChance::new(ALWAYS, reassignment);
        random.housekeeping = ByChance::new(ALWAYS, housekeeping);
        random.feature_change = ByChance::new(ALWAYS, feature_change);
    });
    kit.advance(Duration(71_000));
    let elect = |partition, unclean| Operation::ElectLeader { partition, unclean };
    let reassign = Operation::Reassign { partition: 0, replicas: 7 };
    let done = [
        (30, elect(5, false)),
        (40, reassign),
        (50, Operation::ChangeFeature),
        (60, elect(6, true)),
        (70, Operation::Housekeeping),
    ];
    assert_eq!(kit.actors[0].operations, done);
    assert_eq!(kit.faults.random.leader_election.count, Count { applied: 2, effective: 1 });
    assert_eq!(kit.faults.random.reassignment.count, Count { applied: 1, effective: 0 });
    assert_eq!(kit.faults.random.feature_change.count, Count { applied: 1, effective: 0 });
    assert_eq!(kit.faults.random.housekeeping.count, Count { applied: 2, effective: 0 });
    kit.order(Command::Crash { actor: SERVER, kind: CrashKind::Process });
    kit.advance(Duration(20_000));
    assert_eq!(kit.actors[0].operations.len(), done.len(), "a dead process does nothing");
}
