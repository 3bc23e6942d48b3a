//! `eosim report`: what a kept run or sweep came to.

use std::path::{Path, PathBuf};

use eosim_report::run_report;
use eosim_report::sweep_report::FORMS;
use eosim_runner::InputError;
use eosim_runner::exit::ExitCode;
use eosim_runner::store::PROGRESS;

use super::Failure;
use super::replay::open;
use super::show::look;
use crate::args::ReportArgs;
use crate::{artefacts, output, pages, reported};

pub(super) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    if let Some(form) = run_report::FORMS.iter().find(|form| form.name == args.form) {
        let path = artefacts::find_choices(&args.run)?;
        let recording = open(&path, false)?;
        let look = look(&recording, None, &path)?;
        output::print(&(form.render)(&pages::run_report(&recording, &look, None)))?;
        return Ok(ExitCode::Fine);
    }
    let report = reported::read(&find(&args.run)?)?;
    let form = FORMS.iter().find(|form| form.name == args.form);
    let form = form.expect("clap knows the forms");
    output::print(&(form.render)(&report))?;
    Ok(ExitCode::Fine)
}

/// The folder that the user means by `run`.
fn find(run: &Path) -> Result<PathBuf, InputError> {
    let places = artefacts::places(run);
    let find = |file: &str| places.iter().find(|place| place.join(file).is_file());
    if let Some(place) = find(artefacts::SUMMARY) {
        return Ok(place.clone());
    }
    let (found, expected) = match find(PROGRESS) {
        Some(place) => {
            let place = place.display();
            let expected = format!(
                "one that has ended: eosim sweep --resume={place} goes on with it, and \
                 eosim merge {place} -o FOLDER sums up what it has found"
            );
            ("a sweep that was killed before its end", expected)
        }
        None => {
            let expected = "the folder of a run or a sweep that has ended".to_string();
            ("no such folder, or one without summary.json", expected)
        }
    };
    Err(InputError::new(run.display().to_string(), "", found, expected))
}
