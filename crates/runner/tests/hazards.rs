//! Every hazard of the coordinator is reached by a scenario of the library.
//!
//! A hazard that shows itself at one branch is counted there, as rules are (`coverage.json` lists
//! it). The others are shown by what they break: see the last tests.

mod library;

use std::sync::atomic::AtomicBool;

use eosim_checker::Verdict;
use eosim_runner::sweep::{Progress, SeedResult, Sweep, SweepSummary};
use eosim_types::{Defect, DefectSet};

/// Keeps which invariants broke.
#[derive(Default)]
struct Broken(Vec<&'static str>);

impl Progress for Broken {
    fn seed(&mut self, result: &SeedResult) {
        if let Verdict::Safety(anomalies) = &result.run.verdict {
            self.0.extend(anomalies.iter().map(|anomaly| anomaly.invariant));
        }
    }
}

fn sweep(name: &str, count: u64, defects: DefectSet) -> (SweepSummary, Vec<&'static str>) {
    let file = library::scenario(name);
    let sweep = Sweep {
        scenarios: &[file],
        first_seed: 0,
        count: Some(count),
        time: None,
        jobs: 1,
        partition: (0, 1),
        max_fail: None,
        looks_for: &[],
        defects,
        verify_every: 0,
    };
    let mut broken = Broken::default();
    let summary = sweep.run(&AtomicBool::new(false), &mut broken);
    (summary, broken.0)
}

#[test]
fn every_hazard_that_can_be_counted_is_reached() {
    let table: &[(&str, u64, &[&str])] = &[
        ("gc-stall", 40, &["H-1"]),
        ("resignation-during-load", 20, &["H-2", "C-RES-1"]),
        ("reassignment-during-load", 20, &["C-LOAD-8", "C-MRK-13"]),
        ("markers-without-leader", 20, &["H-3", "H-14", "C-MRK-5"]),
        ("coordinator-failover-stages-version-1", 400, &["H-5", "C-ADD-14"]),
        ("coordinator-failover-stages", 20, &["H-7", "C-MRK-13"]),
        ("zombie-fencing", 60, &["H-9"]),
        ("fenced-producer-reinitialises", 100, &["H-12"]),
        ("transactional-id-expiry", 20, &["C-EXP-2", "C-EXP-3"]),
        ("epochs-run-out", 20, &["C-PID-5", "C-END-15", "H-7"]),
        ("last-epoch-left-over", 20, &["H-10"]),
        ("two-phase-commit", 20, &[]),
        ("partial-load", 20, &["H-6", "C-LOAD-4"]),
    ];
    for (scenario, count, ids) in table {
        let (summary, broken) = sweep(scenario, *count, DefectSet::NONE);
        assert_eq!(broken, [""; 0], "{scenario}");
        for id in *ids {
            let count = summary.marks.counts().find(|(known, _)| known == id);
            assert!(count.is_some_and(|(_, count)| count > 0), "{scenario} never reaches {id}");
        }
    }
}

/// H-8: before 4.3 the next producer id is forgotten with the coordinator that chose it.
#[test]
fn a_release_that_does_not_write_the_next_id_refuses_a_healthy_producer_h_8() {
    let (summary, broken) = sweep("epochs-run-out-in-4.2", 100, DefectSet::NONE);
    assert_eq!(summary.failed, 0);
    assert!(summary.scenarios[0].expected > 0, "{broken:?}");
    assert!(summary.marks.counts().any(|(id, count)| id == "H-8" && count > 0));
}

/// H-4: a coordinator whose marker is refused for good gives up.
#[test]
fn a_marker_by_hand_makes_the_coordinator_give_up_h_4() {
    let (summary, _) = sweep("marker-by-hand", 10, DefectSet::NONE);
    assert_eq!(summary.failed, 0);
    assert!(summary.scenarios[0].expected > 0);
    assert!(summary.marks.counts().any(|(id, count)| id == "H-4" && count > 0));
}

/// H-11, H-13: under versions 0 and 1 a late request falls into the next transaction.
#[test]
fn hazards_of_versions_0_and_1_break_promises_h_11_h_13() {
    let (_, broken) = sweep("version-1-late-requests", 40, DefectSet::NONE);
    assert!(!broken.is_empty());
}

#[test]
fn a_downgrade_is_sound_unless_batches_left_at_commit_change_their_version_p_tv_3() {
    let flaw = Defect::UpstreamProducerVersionChangesWhileCompleting;
    assert_eq!(sweep("feature-downgrade", 60, DefectSet::NONE).1, [""; 0]);
    let (_, broken) = sweep("feature-downgrade", 60, DefectSet::NONE.with(flaw));
    assert!(broken.contains(&"healthy-producer-failed"), "{broken:?}");
}

/// H-6: what a coordinator could not read is forgotten.
#[test]
fn a_load_that_ends_early_forgets_transactions_unless_it_is_tried_again_c_load_4() {
    let flaw = Defect::UpstreamCoordinatorPartialLoadInstalled;
    let (_, broken) = sweep("partial-load", 20, DefectSet::NONE.with(flaw));
    assert!(broken.contains(&"transaction-state"), "{broken:?}");
}
