//! One module per verb: reads its arguments, calls the runner, prints, and says how it ended.

mod completions;
mod conform;
mod list;

use std::fmt;

use crate::args::{Cli, Command};
use crate::exit::Exit;

/// Why a command could not do what it was asked.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
}

impl Failure {
    /// The user's input cannot be used, for the reason `message`.
    fn usage(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Usage, message: message.to_string() }
    }

    /// How the process ends.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        self.exit
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self { exit: Exit::Internal, message: format!("standard output: {error}") }
    }
}

/// Does what `cli` says.
///
/// # Errors
/// If the input cannot be used, or nothing can be printed.
pub fn run(cli: &Cli) -> Result<Exit, Failure> {
    match &cli.command {
        Command::Completions(args) => completions::run(*args),
        Command::Conform(args) => conform::run(args, &cli.output),
        Command::List(args) => list::run(args, &cli.output),
    }
}
