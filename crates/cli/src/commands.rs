//! One module per verb: reads its arguments, calls the runner, prints, and says how it ended.

mod bench;
mod check;
mod completions;
mod conform;
mod coverage;
mod defects;
mod diff;
mod dot;
mod explain;
mod guide;
mod list;
mod man;
pub mod merge;
mod recipe;
mod replay;
mod report;
mod run;
mod schema;
mod serve;
mod show;
mod shrink;
mod source;
mod store;
mod sweep;
mod verify;
mod versions;

use std::fmt;
use std::thread::available_parallelism;

use eosim_runner::InputError;
use eosim_runner::exit::ExitCode;
use eosim_runner::store::StoreError;

use crate::args::{Cli, Command};

/// Why a command could not do what it was asked.
#[derive(Debug)]
pub struct Failure {
    exit: ExitCode,
    message: String,
}

impl Failure {
    /// The user's input cannot be used, for the reason `message`.
    fn usage(message: impl fmt::Display) -> Self {
        Self { exit: ExitCode::Usage, message: message.to_string() }
    }

    /// The folder that the user gave with `--out` cannot be written.
    fn unwritable(error: &StoreError) -> Self {
        Self::usage(format!("--out: {error}; expected a folder that can be written"))
    }

    /// How the process ends.
    #[must_use]
    pub const fn exit(&self) -> ExitCode {
        self.exit
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        Self::usage(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self { exit: ExitCode::Internal, message: error.to_string() }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self { exit: ExitCode::Internal, message: format!("standard output: {error}") }
    }
}

/// Does what `cli` says.
///
/// # Errors
/// If the input cannot be used, or nothing can be written.
pub fn run(cli: &Cli) -> Result<ExitCode, Failure> {
    let how = &cli.output;
    match &cli.command {
        Command::Run(args) => run::run(args, how),
        Command::Sweep(args) => sweep::run(args, how),
        Command::Merge(args) => merge::run(args, how),
        Command::Recipe(args) => recipe::run(args),
        Command::Store(args) => store::run(args, how),
        Command::Replay(args) => replay::run(args, how),
        Command::Shrink(args) => shrink::run(args, how),
        Command::Explain(args) => explain::run(args, how),
        Command::Diff(args) => diff::run(args, how),
        Command::Verify(args) => verify::run(args, how),
        Command::Show(args) => show::run(args, how),
        Command::Check(args) => check::run(args, how),
        Command::List(args) => list::run(args, how),
        Command::Conform(args) => conform::run(args, how),
        Command::Serve(args) => serve::run(args, how),
        Command::Defects(args) => defects::run(args, how),
        Command::Coverage(args) => coverage::run(args, how),
        Command::Report(args) => report::run(args),
        Command::Versions(args) => versions::run(args, how),
        Command::Dot(args) => dot::run(*args, how),
        Command::Schema(args) => schema::run(*args),
        Command::Completions(args) => completions::run(*args),
        Command::Man(args) => man::run(args),
        Command::Guide(args) => guide::run(args, how),
        Command::Bench(args) => bench::run(args, how),
    }
}

/// Workers: as many as the user says, or as there are processors.
fn jobs(asked: Option<u16>) -> usize {
    asked.map_or_else(|| available_parallelism().map_or(1, usize::from), usize::from)
}
