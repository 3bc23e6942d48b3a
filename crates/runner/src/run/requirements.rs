//! Which requirements of its scenario a run has met.

use eosim_scenario::Plan;
use eosim_scenario::plan::{Reached, Requirement};
use eosim_sim::fault::Count;
use eosim_types::Marks;

/// What the marks say of what a plan requires to be reached, in its order. Marks are added up over
/// runs, so a run has reached what counts more after it than before.
pub(super) fn reached(plan: &Plan, marks: &Marks) -> Vec<u64> {
    let required = plan.requires.iter().filter_map(|requirement| match requirement {
        Requirement::Fault(_) => None,
        Requirement::Reached(reached) => Some(reached),
    });
    required.map(|reached: &Reached| marks.count(reached.mark())).collect()
}

/// The requirements that a run has not met: its faults had no effect, or what it was to reach counts
/// as much `after` it as `before`.
pub(super) fn missing(
    plan: &Plan,
    (before, after): (&[u64], &[u64]),
    faults: &[(&'static str, Count)],
    aimed: &[Count],
) -> Vec<String> {
    let mut counts = before.iter().zip(after);
    let is_effective = |count: &Count| count.effective > 0;
    let unmet = plan.requires.iter().filter(|requirement| match requirement {
        Requirement::Fault(name) if name == "aimed" => !aimed.iter().any(is_effective),
        Requirement::Fault(name) => {
            !faults.iter().any(|(fault, count)| fault == name && is_effective(count))
        }
        Requirement::Reached(_) => counts.next().is_some_and(|(before, after)| before == after),
    });
    unmet.map(Requirement::to_string).collect()
}
