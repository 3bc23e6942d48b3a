//! Waits less for what is stuck. Clients and coordinators that go on asking make such a run long,
//! and say nothing new.

use eosim_scenario::plan::Limits;

use super::numbers::lower;
use crate::shrink::trial::{Best, Proposal};

/// Nothing is expected to end, or to recover, in less.
const LEAST_MS: u64 = 1_000;

/// Proposals to give up sooner.
pub(crate) fn less_patience(best: &Best) -> Vec<Proposal> {
    let limits = best.plan.limits;
    let runs = lower(limits.virtual_time_max_ms, LEAST_MS).into_iter();
    let runs = runs.map(|virtual_time_max_ms| Limits { virtual_time_max_ms, ..limits });
    let recoveries = lower(limits.recovery_max_ms, LEAST_MS).into_iter();
    let recoveries = recoveries.map(|recovery_max_ms| Limits { recovery_max_ms, ..limits });
    runs.chain(recoveries).map(Proposal::Patience).collect()
}
