//! `eosim list`.

use eosim_runner::exit::ExitCode;

use super::Failure;
use crate::args::{ListArgs, ListKind, OutputArgs};
use crate::input::{self, Model};
use crate::{list, output};

pub(super) fn run(args: &ListArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let table = match args.kind {
        ListKind::Scenarios => {
            let paths = std::slice::from_ref(&args.scenarios);
            list::scenarios(&input::scenarios(paths, &Model::default())?)
        }
        ListKind::Faults => list::faults(),
        ListKind::Invariants => list::invariants(),
        ListKind::Defects => list::defects(),
        ListKind::Rules => list::rules(),
        ListKind::Errors => list::errors(),
    };
    output::print(&table.print(how.format, how.verbose))?;
    Ok(if table.rows.is_empty() { ExitCode::Nothing } else { ExitCode::Fine })
}
