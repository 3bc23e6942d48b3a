//! `eosim explain`: why a run failed, or what a name stands for.

use eosim_report::shell::quoted;
use eosim_runner::InputError;
use eosim_runner::exit::ExitCode;
use eosim_runner::explain::{Explain, Inexplicable};
use eosim_runner::store::RunFolder;
use serde_json::json;

use super::Failure;
use super::run::exit;
use super::source::{Change, Opened, open};
use crate::args::{ExplainArgs, Format, OutputArgs, PageForm};
use crate::input::Model;
use crate::names::{self, Entry, Library};
use crate::render::DESCRIBE;
use crate::{artefacts, output, pages};

pub(super) fn run(args: &ExplainArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    // What there is goes before what is called so, and that before a part of a name.
    if args.seed.is_none() && artefacts::exact(&args.path).is_none() {
        match entries(args) {
            Ok(entries) => return look_up(&entries, args, how),
            Err(error) if artefacts::place(&args.path).is_none() => return Err(error.into()),
            Err(_) => {}
        }
    }
    if let Some(seeds) =
        args.seed.is_none().then(|| artefacts::without_failures(&args.path)).flatten()
    {
        return nothing_failed(&args.path.display().to_string(), seeds, how);
    }
    let model = Model::of(&args.model)?;
    let seed = args.seed.map(|seed| seed.0);
    let Opened { name, recording, observed, plan } =
        open(&args.path, seed, &model, &Change::default())?;
    let explain = Explain { recording: &recording, runs: args.runs_max, describe: DESCRIBE };
    let found = match explain.run() {
        Ok(found) => found,
        Err(Inexplicable::NothingBroken(verdict)) => return nothing(&name, &verdict, how),
        Err(Inexplicable::NotAsRecorded) => {
            let message = format!("{name}: not as recorded; see: eosim replay {}", quoted(&name));
            return Err(Failure { exit: ExitCode::NotReplayable, message });
        }
    };
    let plan = plan.map(|plan| plan.display().to_string());
    let page = |place: &str| {
        pages::explanation(&found, &recording, &observed.actors, (place, plan.as_deref()))
    };
    if let Some(out) = &args.out {
        let folder = RunFolder::at(out).map_err(|error| Failure::unwritable(&error))?;
        folder.write(crate::artefacts::EXPLANATION, &page(".").markdown())?;
        folder.write("explain.html", &page(".").html())?;
    }
    let text = match how.format {
        Format::Text => args.form.render(&page(&name)),
        Format::Json | Format::Jsonl => {
            pages::explanation_json(&found, &recording).to_string() + "\n"
        }
    };
    output::print(&text)?;
    Ok(exit(&observed.result.verdict, &recording.plan.expect))
}

/// What is called so.
fn entries(args: &ExplainArgs) -> Result<Vec<Entry>, InputError> {
    names::look_up(&args.path.display().to_string(), &Library::read(&args.scenarios)?)
}

/// Prints the pages of what is called so.
fn look_up(entries: &[Entry], args: &ExplainArgs, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let text = match how.format {
        Format::Text => {
            let page = |entry: &Entry| match args.form {
                PageForm::Text => entry.text(),
                form => form.render(&entry.page()),
            };
            let pages: Vec<String> = entries.iter().map(page).collect();
            pages.join("\n")
        }
        Format::Json => {
            let entries: Vec<_> = entries.iter().map(Entry::json).collect();
            json!({"format": 1, "entries": entries}).to_string() + "\n"
        }
        Format::Jsonl => entries.iter().map(|entry| entry.json().to_string() + "\n").collect(),
    };
    output::print(&text)?;
    Ok(ExitCode::Fine)
}

/// No seed of the sweep has failed.
fn nothing_failed(name: &str, seeds: u64, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let text = match how.format {
        Format::Text => format!("nothing to explain: none of the {seeds} runs of {name} failed\n"),
        Format::Json | Format::Jsonl => {
            json!({"format": 1, "runs": seeds, "failed": 0}).to_string() + "\n"
        }
    };
    output::print(&text)?;
    Ok(ExitCode::Fine)
}

/// Nothing is broken; what could not be judged is no success.
fn nothing(name: &str, verdict: &str, how: &OutputArgs) -> Result<ExitCode, Failure> {
    let text = match how.format {
        Format::Text => format!("nothing to explain: {name} is {verdict}\n"),
        Format::Json | Format::Jsonl => json!({"format": 1, "verdict": verdict}).to_string() + "\n",
    };
    output::print(&text)?;
    Ok(if verdict == "sound" { ExitCode::Fine } else { ExitCode::Inconclusive })
}
