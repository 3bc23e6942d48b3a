//! `eosim schema`.

use eosim_runner::exit::ExitCode;
use eosim_runner::schema;

use super::Failure;
use crate::{artefacts, output};

pub(super) fn run() -> Result<ExitCode, Failure> {
    output::print(&artefacts::pretty(schema()))?;
    Ok(ExitCode::Fine)
}
