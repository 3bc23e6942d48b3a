//! The binary: reads the command line, does what it says, ends with an exit code.

use std::process;

use clap::Parser;
use eosim::args::Cli;
use eosim::{commands, output, panics};
use eosim_runner::exit::ExitCode;

fn main() -> process::ExitCode {
    let cli = Cli::parse();
    let exit = match panics::caught(|| commands::run(&cli)) {
        Ok(Ok(exit)) => exit,
        Ok(Err(failure)) => {
            output::print_error(&failure);
            failure.exit()
        }
        Err(panic) => {
            output::print_error(format!("the testbed itself failed: {panic}"));
            ExitCode::Internal
        }
    };
    exit.code().into()
}
