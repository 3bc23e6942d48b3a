//! The pages of rules: what each says, since when, where it is judged, and which scenarios are about it.

use eosim_report::shell::quoted;
use eosim_runner::ScenarioFile;
use eosim_types::Defect;
use eosim_types::capability::Capability;
use eosim_types::defect::DefectClass;
use eosim_types::rules::{RULES, about, area, why_unreached};

use super::library::listed;
use super::{Entry, Library};
use crate::guide;

/// So many scenarios are named.
const SCENARIOS: usize = 8;

/// Every rule.
pub(super) fn entries(library: &Library) -> Vec<Entry> {
    RULES.iter().map(|id| entry(id, library)).collect()
}

fn entry(id: &'static str, library: &Library) -> Entry {
    let invariants = eosim_runner::invariants().iter();
    let judged = invariants.filter(|info| mentions(info.source, id)).map(|info| info.name);
    let releases = Capability::ALL.iter().filter(|one| one.rules().contains(&id));
    let releases = releases
        .map(|one| format!("since {} ({}): {}", one.since().name(), one.ticket(), one.about()));
    let findings = Defect::ALL.iter().filter(|defect| mentions(defect.about(), id));
    let findings = findings.filter(|defect| defect.class() == DefectClass::Upstream);
    let scenarios = scenarios(id, library);
    let run = library.files().iter().find(|file| names(file, id));
    Entry::new("rule", id, about(id).unwrap_or_default())
        .with("governs", area(id))
        .with("releases", releases)
        .with("as released", findings.map(|defect| defect.name()))
        .with("judged by", one_line(judged))
        .with("runs", [reached(id)])
        .with("scenarios", listed(&scenarios, SCENARIOS))
        .with("guide", guide::steps_about(&[id]))
        .shown_by(run.map(|file| format!("eosim run {}", quoted(file.file()))))
}

/// Whether runs show it.
fn reached(id: &str) -> String {
    match why_unreached(id) {
        Some(why) => format!("none reaches it: {why}"),
        None => "counted when they take its branch (eosim coverage)".to_string(),
    }
}

fn scenarios(id: &str, library: &Library) -> Vec<String> {
    library.names(|file| names(file, id))
}

/// Is the scenario about the rule, or does it require it?
fn names(file: &ScenarioFile, id: &str) -> bool {
    let head = file.head();
    let required = format!("rule {id}");
    head.rules.iter().any(|rule| rule == id)
        || head.requires.iter().any(|requirement| requirement.to_string() == required)
}

/// Does the text name the rule, and not only one whose id begins like it?
pub(super) fn mentions(text: &str, id: &str) -> bool {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    words.into_iter().any(|word| word == id)
}

/// Names, joined; nothing if there are none.
pub(super) fn one_line<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: Vec<&str> = names.collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// All rules of a topic, such as `L-SEQ` or `L-`.
pub(super) fn topic(name: &str) -> Option<Entry> {
    let upper = name.to_uppercase();
    let prefix = format!("{}-", upper.trim_end_matches('-'));
    let ids: Vec<&&str> = RULES.iter().filter(|id| id.starts_with(&prefix)).collect();
    let first = ids.first()?;
    let heading = format!("{} rules of the {}.", ids.len(), area(first)?);
    let lines = ids.iter().map(|id| (**id, vec![about(id).unwrap_or_default().to_string()]));
    let mut entry = Entry::new("rules", prefix.trim_end_matches('-'), heading);
    entry.facts = lines.collect();
    Some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_mentioned_by_its_whole_id() {
        assert!(mentions("KIP-98, K-FILT-2, L-IDX-5; Elle: G1a", "K-FILT-2"));
        assert!(!mentions("as in L-MRK-10.", "L-MRK-1"));
    }

    #[test]
    fn a_topic_is_all_its_rules() {
        let topic = topic("l-dup").expect("a topic");
        assert_eq!((topic.name.as_str(), topic.facts.len()), ("L-DUP", 7));
        assert_eq!(super::topic("X-Y"), None);
    }
}
