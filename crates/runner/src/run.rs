//! One run: a plan and its choices in, a verdict out.
//!
//! Two phases: while faults strike, only safety is judged; then everything heals and progress is
//! demanded by a deadline.

mod glance;
mod listener;
mod machine;
mod recovery;
mod requirements;
mod story;
mod survey;
mod trail;
mod waits;
mod words;

pub use glance::Change;
pub(crate) use glance::{Glance, differences};
pub use listener::{Describe, Line, Step, Watch};
pub(crate) use machine::said;
pub use machine::{Machine, SeededMachine};
pub(crate) use story::{Asked, Call, Kind, Order, Story, Strike};
pub(crate) use trail::{Link, Trail, What};
pub use words::named;

use eosim_checker::Verdict;
use eosim_sim::fault::Count;
use eosim_types::Instant;

/// What came out of one run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunResult {
    /// The verdict.
    pub verdict: Verdict,
    /// Events taken by actors.
    pub steps: u64,
    /// Requests and responses among them.
    pub delivered: u64,
    /// Virtual time at the end.
    pub ended_at: Instant,
    /// Fingerprint of every step.
    pub digest: u64,
    /// Per fault: how often it was applied and effective.
    pub faults: Vec<(&'static str, Count)>,
    /// Per rule of `aimed`: how often it was applied and effective.
    pub aimed: Vec<Count>,
    /// What its scenario requires and did not happen: the run is vacuous.
    pub missing: Vec<String>,
}
