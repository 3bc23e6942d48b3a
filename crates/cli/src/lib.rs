//! The command line: what users type, how it is read, and how they hear what came of it.
//!
//! Data goes to standard output, talk and progress to standard error.
#![forbid(unsafe_code)]

pub mod args;
pub mod artefacts;
pub mod commands;
pub mod coverage;
pub mod guide;
pub mod input;
pub mod interrupt;
pub mod list;
pub mod names;
pub mod output;
pub mod pages;
pub mod panics;
pub mod progress;
pub mod render;
pub mod reported;
pub mod results;
pub mod settings;
pub mod share;
pub mod testing;
