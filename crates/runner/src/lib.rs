//! From a scenario and a seed to a verdict; many of them, kept, replayed, compared.
#![forbid(unsafe_code)]

pub mod assemble;
pub mod bench;
pub mod conform;
pub mod defects;
pub mod diff;
pub mod exit;
pub mod explain;
pub mod history;
pub mod look;
pub mod machines;
pub mod merge;
pub mod recording;
pub mod run;
pub mod served;
pub mod shrink;
pub mod store;
pub mod sweep;
pub mod variant;
pub mod verify;
pub mod versions;

pub use eosim_checker::{
    Anomaly, InvariantInfo, Lacking, Need, Stuck, Transform, Verdict, invariants,
};
pub use eosim_scenario::plan::{Expectation, FAULTS};
pub use eosim_scenario::{InputError, Override, Plan, ScenarioFile, json, nearest, plan, schema};
pub use eosim_sim::RNG_VERSION;
pub use eosim_sim::fault::Count;
