//! The pages of defects: what each switch puts back, and how it is caught.

use eosim_types::Defect;
use eosim_types::defect::DefectClass;

use super::library::listed;
use super::rules::one_line;
use super::{Entry, Library};

/// Every switch.
pub(super) fn entries(library: &Library) -> Vec<Entry> {
    Defect::ALL.iter().map(|&defect| entry(defect, library)).collect()
}

fn entry(defect: Defect, library: &Library) -> Entry {
    let name = defect.name();
    let aimed = |file: &eosim_runner::ScenarioFile| file.head().defects.iter().any(|n| n == name);
    let caught = match one_line(defect.invariants().iter().copied()) {
        Some(names) => names,
        None => "nothing: crates/runner/DEFECTS.md says why".to_string(),
    };
    let file = library.files().iter().find(|file| aimed(file));
    let sweep =
        file.map(|file| format!("eosim sweep {} --defect {name} --max-fail 1", file.file()));
    let measured = !defect.invariants().is_empty() && defect.class() != DefectClass::Upstream;
    Entry::new("defect", name, defect.about())
        .with("comes from", [class(defect.class())])
        .with("caught by", [caught])
        .with("aimed at it", listed(&library.names(aimed), 8))
        .shown_by(sweep)
        .shown_by(measured.then(|| format!("eosim defects --run {name}")))
}

const fn class(class: DefectClass) -> &'static str {
    match class {
        DefectClass::Broker => "a broker's bug that was repaired",
        DefectClass::Client => "a client's bug that was repaired",
        DefectClass::Upstream => "Kafka as released: on with --as-released, otherwise repaired",
    }
}
