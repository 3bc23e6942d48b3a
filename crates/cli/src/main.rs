//! The binary: reads the command line, does what it says, ends with an exit code.

use std::process::ExitCode;

use clap::Parser;
use eosim::args::Cli;
use eosim::{commands, output};

fn main() -> ExitCode {
    match commands::run(&Cli::parse()) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            output::print_error(&failure);
            failure.exit().into()
        }
    }
}
