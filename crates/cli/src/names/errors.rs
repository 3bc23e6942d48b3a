//! The pages of Kafka's error codes: what each means here, and a run that produces it.

use eosim_report::shell::quoted;
use eosim_types::ErrorCode;

use super::produced::produced;
use super::rules::{mentions, one_line};
use super::{Entry, Library};

const MEANINGS: &str = include_str!("errors.txt");

/// What `code` means within the exactly-once protocol; nothing if it plays no part there.
#[must_use]
pub(crate) fn meaning(code: ErrorCode) -> Option<&'static str> {
    MEANINGS.lines().find_map(|line| line.strip_prefix(code.name())?.strip_prefix(' '))
}

/// Every code.
pub(super) fn entries(library: &Library) -> Vec<Entry> {
    ErrorCode::ALL.iter().map(|&code| entry(code, library)).collect()
}

fn entry(code: ErrorCode, library: &Library) -> Entry {
    let about = meaning(code).unwrap_or("It plays no part in what is modelled here.");
    let retried = if code.is_retriable() { "yes" } else { "no" };
    let rules = eosim_types::rules::RULES.iter().copied();
    let rules = rules.filter(|id| names(id, code) || mentions(about, id));
    let found = produced(code);
    let run = found.as_ref().map(|found| {
        let file = quoted(library.file(found.scenario).unwrap_or(found.scenario));
        format!("eosim run {file} --seed {}", found.seed)
    });
    let show = run.is_some().then(|| "eosim show latest --as transcript".to_string());
    Entry::new("error code", code.name(), about)
        .with("code", [code.code().to_string()])
        .with("retried by clients", (!code.is_none()).then_some(retried))
        .with("rules", one_line(rules))
        .with("produced in", found.map(|found| found.to_string()))
        .shown_by(run)
        .shown_by(show)
}

/// Does the sentence of the rule name the code, and not only one whose name begins like it?
fn names(id: &str, code: ErrorCode) -> bool {
    let said = eosim_types::rules::about(id).unwrap_or_default();
    let words = said.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    code != ErrorCode::None && words.into_iter().any(|word| word == code.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meanings_are_of_codes_and_name_rules_that_exist() {
        for line in MEANINGS.lines() {
            let (name, said) = line.split_once(' ').expect("a name and a text");
            assert!(ErrorCode::from_name(name).is_some(), "{name}");
            assert!(said.ends_with('.') || said.ends_with(')'), "{line}");
        }
    }
}
