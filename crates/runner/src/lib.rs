//! From a scenario and a seed to a verdict; many of them, kept, replayed, compared.
#![forbid(unsafe_code)]

pub mod conform;
