//! `eosim completions`.

use clap::CommandFactory;

use super::Failure;
use crate::args::{Cli, CompletionsArgs};
use crate::output;
use eosim_runner::exit::ExitCode;

pub(super) fn run(args: CompletionsArgs) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "eosim", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::Fine)
}
