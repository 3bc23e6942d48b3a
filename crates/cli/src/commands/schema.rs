//! `eosim schema`.

use eosim_runner::exit::ExitCode;
use eosim_runner::{history, schema};

use super::Failure;
use crate::args::{SchemaArgs, SchemaKind};
use crate::{artefacts, output};

pub(super) fn run(args: SchemaArgs) -> Result<ExitCode, Failure> {
    let text = match args.kind {
        SchemaKind::Scenario => artefacts::pretty(schema()),
        SchemaKind::History => artefacts::pretty(&history::schema()),
    };
    output::print(&text)?;
    Ok(ExitCode::Fine)
}
