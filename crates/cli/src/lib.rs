//! The command line: what users type, how it is read, and how they hear what came of it.
//!
//! Data goes to standard output, talk and progress to standard error.
#![forbid(unsafe_code)]

pub mod args;
pub mod commands;
pub mod exit;
pub mod list;
pub mod output;
pub mod progress;
