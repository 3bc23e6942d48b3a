//! The pages of scenarios: what each is about, what it shows, and how to run it.

use eosim_report::shell::quoted;
use eosim_runner::{Expectation, ScenarioFile};

use super::{Entry, Library};

/// Every scenario at hand.
pub(super) fn entries(library: &Library) -> Vec<Entry> {
    library.files().iter().map(entry).collect()
}

fn entry(file: &ScenarioFile) -> Entry {
    let head = file.head();
    let joined = |names: &[String]| (!names.is_empty()).then(|| names.join(", "));
    let expects = match &head.expect {
        Expectation::Sound => "sound".to_string(),
        Expectation::Violation(names) => format!("one of these broken: {}", names.join(", ")),
    };
    Entry::new("scenario", head.name.clone(), head.about.clone())
        .with("shows", head.shows.clone())
        .with("expects", [expects])
        .with("tags", joined(&head.tags))
        .with("rules", joined(&head.rules))
        .with("defects", joined(&head.defects))
        .with("file", [file.file()])
        .shown_by(["run", "sweep"].map(|verb| format!("eosim {verb} {}", quoted(file.file()))))
}
