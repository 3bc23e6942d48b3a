//! Annotations of a GitHub workflow: one for each kind of failure and for each scenario that
//! otherwise did not pass. GitHub shows ten errors of a step and no more.

use eosim_types::visible::visible;

use super::{Kind, SweepReport, reason};
use crate::shell::quoted;

/// So many annotations of one sort are shown of a step.
const SHOWN: usize = 10;

/// So many bytes may an annotation have, far below what GitHub cuts.
const LONGEST: usize = 2_000;

pub(super) fn github(report: &SweepReport) -> String {
    let kinds = report.kinds();
    let told: Vec<&str> =
        kinds.iter().flat_map(|kind| kind.seeds.iter().map(|one| one.0)).collect();
    let others = report.scenarios.iter().filter(|(one, _)| !one.passed());
    let others = others.filter(|(one, _)| !told.contains(&one.name.as_str()));
    let others = others.map(|(one, file)| error(file, &one.name, &reason(one)));
    let of_kinds = kinds.iter().map(|kind| of_kind(report, kind));
    let lacks = report.lacks().map(|lacks| error("", "the sweep is not whole", &lacks));
    let all: Vec<String> = lacks.into_iter().chain(of_kinds).chain(others).collect();
    let mut text: String = all.iter().take(SHOWN).map(String::as_str).collect();
    let (runs, failed) = (report.runs(), report.failed());
    let more = all.len().saturating_sub(SHOWN);
    let rest = if more == 0 { String::new() } else { format!(", {more} more kinds of trouble") };
    text += &format!("::notice title=eosim::{runs} seeds, {failed} failed{rest}\n");
    text
}

fn of_kind(report: &SweepReport, kind: &Kind<'_>) -> String {
    let first = kind.first;
    let scenario = report.scenarios.iter().find(|(one, _)| one.name == first.scenario);
    let file = scenario.map_or("", |(_, file)| file.as_str());
    let also = match kind.seeds.len() {
        1 => String::new(),
        count => format!(" ({count} seeds of this kind)"),
    };
    let title = format!("{} in {} at seed {}{also}", first.what, first.scenario, first.seed);
    let replay = format!("eosim replay {}", quoted(&first.folder));
    error(file, &title, &format!("{}\nrule {}\n{replay}", first.summary, first.rule))
}

fn error(file: &str, title: &str, message: &str) -> String {
    let message: String = message.chars().take(LONGEST).collect();
    let place = if file.is_empty() { String::new() } else { format!("file={},", property(file)) };
    format!("::error {place}title={}::{}\n", property(title), data(&message))
}

fn data(text: &str) -> String {
    visible(text, &['\n']).replace('%', "%25").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
