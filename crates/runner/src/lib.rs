//! From a scenario and a seed to a verdict; many of them, kept, replayed, compared.
#![forbid(unsafe_code)]

pub mod assemble;
pub mod conform;
pub mod exit;
pub mod run;
pub mod sweep;
