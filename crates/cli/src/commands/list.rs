//! `eosim list`.

use super::Failure;
use crate::args::{ListArgs, ListKind, OutputArgs};
use crate::exit::Exit;
use crate::{list, output};

pub(super) fn run(args: &ListArgs, how: &OutputArgs) -> Result<Exit, Failure> {
    let table = match args.kind {
        ListKind::Defects => list::defects(),
        ListKind::Rules => list::rules(),
        ListKind::Errors => list::errors(),
    };
    output::print(&table.print(how.format, how.verbose))?;
    Ok(Exit::Fine)
}
