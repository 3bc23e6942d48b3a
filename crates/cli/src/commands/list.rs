//! `eosim list`.

use eosim_runner::exit::ExitCode;

use super::Failure;
use crate::args::{Format, ListArgs, ListKind, OutputArgs};
use crate::input;
use crate::names::{self, Entry, Library};
use crate::{list, output};

pub(super) fn run(args: &ListArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    if how.verbose && how.format == Format::Text {
        return pages(args);
    }
    let table = match args.kind {
        ListKind::Scenarios => {
            let paths = std::slice::from_ref(&args.scenarios);
            list::scenarios(&input::good_scenarios(paths)?)
        }
        ListKind::Faults => list::faults(),
        ListKind::Invariants => list::invariants(),
        ListKind::Defects => list::defects(),
        ListKind::Rules => list::rules(),
        ListKind::Apis => list::apis(),
        ListKind::Errors => list::errors(),
        ListKind::Terms => list::terms(),
    };
    output::print(&table.print(how.format, how.verbose))?;
    Ok(if table.rows.is_empty() { ExitCode::Nothing } else { ExitCode::Fine })
}

/// The page of each, one behind the other.
fn pages(args: &ListArgs) -> Result<ExitCode, Failure> {
    let kind = match args.kind {
        ListKind::Scenarios => "scenario",
        ListKind::Faults => "fault",
        ListKind::Invariants => "invariant",
        ListKind::Defects => "defect",
        ListKind::Rules => "rule",
        ListKind::Apis => "request",
        ListKind::Errors => "error code",
        ListKind::Terms => "term",
    };
    let library = match args.kind {
        ListKind::Scenarios => {
            let paths = std::slice::from_ref(&args.scenarios);
            Library::of(input::good_scenarios(paths)?)
        }
        _ => Library::read(&args.scenarios)?,
    };
    let pages: Vec<String> = names::of_kind(kind, &library).iter().map(Entry::text).collect();
    output::print(&pages.join("\n"))?;
    Ok(if pages.is_empty() { ExitCode::Nothing } else { ExitCode::Fine })
}
