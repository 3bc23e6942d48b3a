//! The terms of the field: the paragraphs of `terms.txt`. Each begins with its name, and with `=` the
//! other names of the same; then what it is, the rules that govern it, and related terms.

use eosim_types::rules::about;

use super::Entry;
use crate::guide;

const TERMS: &str = include_str!("terms.txt");

/// Every term.
pub(super) fn entries() -> Vec<Entry> {
    TERMS.split("\n\n").filter_map(entry).collect()
}

fn entry(paragraph: &str) -> Option<Entry> {
    let mut lines = paragraph.lines();
    let mut entry = Entry::new("term", lines.next()?, "");
    for line in lines {
        match line.split_once(' ') {
            Some(("=", alias)) => entry.aliases.push(alias.to_string()),
            Some(("rules", ids)) => entry = entry.with("rules", ids.split(", ").map(rule)),
            Some(("see", terms)) => entry = entry.with("see", [terms]),
            _ => entry.about = line.to_string(),
        }
    }
    let words = || paragraph.split([' ', ',', '\n']);
    let ids: Vec<&str> = words().filter(|word| about(word).is_some()).collect();
    Some(entry.with("guide", guide::steps_about(&ids)))
}

/// A rule and what it says.
fn rule(id: &str) -> String {
    format!("{id}: {}", about(id).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use eosim_types::rules::RULES;

    use super::*;

    #[test]
    fn terms_name_rules_and_terms_that_exist() {
        let terms = entries();
        assert!(terms.len() > 40);
        for term in &terms {
            assert!(term.about.ends_with('.'), "{}", term.name);
            for (title, lines) in &term.facts {
                let is_term = |name: &str| terms.iter().any(|other| other.name == name);
                let is_rule = |line: &str| RULES.iter().any(|id| line.starts_with(&rule(id)));
                let known = match *title {
                    "rules" => lines.iter().all(|line| is_rule(line)),
                    "see" => lines.iter().all(|line| line.split(", ").all(is_term)),
                    _ => true,
                };
                assert!(known, "{}: {title}: {lines:?}", term.name);
            }
        }
    }

    #[test]
    fn no_two_terms_have_one_name() {
        let terms = entries();
        for term in &terms {
            for name in [&term.name].into_iter().chain(&term.aliases) {
                let called = terms.iter().filter(|other| other.is_called(name)).count();
                assert_eq!(called, 1, "{name}");
            }
        }
    }
}
