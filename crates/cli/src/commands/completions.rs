//! `eosim completions`.

use clap::CommandFactory;

use super::Failure;
use crate::args::{Cli, CompletionsArgs};
use crate::exit::Exit;
use crate::output;

pub(super) fn run(args: CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "eosim", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Fine)
}
