//! The pages of invariants: what each promises, who says so, and what breaks it.

use eosim_runner::InvariantInfo;
use eosim_types::Defect;

use super::library::listed;
use super::rules::one_line;
use super::{Entry, Library};

/// Every invariant.
pub(super) fn entries(library: &Library) -> Vec<Entry> {
    eosim_runner::invariants().iter().map(|info| entry(info, library)).collect()
}

fn entry(info: &InvariantInfo, library: &Library) -> Entry {
    let broken = Defect::ALL.iter().filter(|defect| defect.invariants().contains(&info.name));
    let broken: Vec<Defect> = broken.copied().collect();
    let aimed = |defect: &&Defect| defect.invariants().first() == Some(&info.name);
    let first = broken.iter().find(aimed).or(broken.first());
    let seen = if info.is_felt() { "clients" } else { "brokers alone" };
    Entry::new("invariant", info.name, info.promise)
        .with("promised by", [info.source])
        .with("seen by", [seen])
        .with("needs", ways(info))
        .with("broken by", one_line(broken.iter().map(|defect| defect.name())))
        .with("expected by", listed(&library.expecting(info.name), 8))
        .with("judged in", [format!("crates/checker/{}", info.file)])
        .shown_by(first.map(|defect| format!("eosim defects --run {}", defect.name())))
}

/// What a history must have for it to be judged, one way a line.
fn ways(info: &InvariantInfo) -> Vec<String> {
    let way = |needs: &&[eosim_runner::Need]| {
        needs.iter().map(|need| need.about()).collect::<Vec<_>>().join("; ")
    };
    let mut lines: Vec<String> = info.needs.iter().map(way).collect();
    lines.iter_mut().skip(1).for_each(|line| line.insert_str(0, "or "));
    lines
}
