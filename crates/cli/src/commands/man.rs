//! `eosim man`: manual pages, made of the same tables as the help.

use std::fs;

use clap::CommandFactory;
use clap_mangen::Man;
use eosim_runner::InputError;
use eosim_runner::exit::ExitCode;

use super::Failure;
use crate::args::{Cli, ManArgs};
use crate::output;

pub(super) fn run(args: &ManArgs) -> Result<ExitCode, Failure> {
    // Usage lines and global flags of the verbs are known only then.
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    if let Some(out) = &args.out {
        let written = fs::create_dir_all(out).and_then(|()| clap_mangen::generate_to(command, out));
        let message = |error| {
            format!("--out: {}: {error}; expected a folder that can be written", out.display())
        };
        return written.map(|()| ExitCode::Fine).map_err(|error| Failure::usage(message(error)));
    }
    let mut page = Vec::new();
    Man::new(chosen(&command, args.verb.as_deref())?).render(&mut page)?;
    output::print(&String::from_utf8_lossy(&page))?;
    Ok(ExitCode::Fine)
}

/// The command of the verb, or the whole.
fn chosen(command: &clap::Command, verb: Option<&str>) -> Result<clap::Command, InputError> {
    let Some(verb) = verb else { return Ok(command.clone()) };
    let names = command.get_subcommands().map(clap::Command::get_name);
    command.find_subcommand(verb).cloned().ok_or_else(|| {
        let error =
            InputError::new("VERB", "", format!("\"{verb}\""), "a verb; eosim help names them");
        error.with_nearest(verb, names)
    })
}
