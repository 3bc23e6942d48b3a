//! Rule ids: those that are named must exist; those that exist should have code and a test.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::source::{self, Source};

const TABLE: &str = "crates/types/src/rules.rs";
const EXCEPTIONS: &str = "xtask/rule-exceptions.tsv";

/// Rules that no count will ever show, beside the table.
const UNREACHED: &str = "crates/types/src/rules/unreached.rs";

fn is_table(source: &Source) -> bool {
    source.path == TABLE || source.path == UNREACHED
}

/// The list of rules without a mark holds exactly those without one.
pub(crate) fn wrong_marks(sources: &[Source]) -> Vec<String> {
    let code = sources.iter().filter(|source| !is_table(source) && source.package() != "xtask");
    let marked: BTreeSet<String> = code.flat_map(|source| marks_in(&source.text)).collect();
    let lists = sources.iter().filter(|source| source.path == UNREACHED);
    let lists = lists.filter_map(|source| source.text.split("];").next());
    let listed: BTreeSet<String> = lists.flat_map(ids_in).collect();
    let known = known_ids(sources);
    let wrong = known.iter().filter(|id| marked.contains(*id) == listed.contains(*id));
    let said = |id: &String| if marked.contains(id) { "has a mark" } else { "has none" };
    wrong.map(|id| format!("{UNREACHED}: rules without a mark: {id} {}", said(id))).collect()
}

/// The ids within `rule!(…)`.
fn marks_in(text: &str) -> impl Iterator<Item = String> + '_ {
    let calls = text.split("rule!(").skip(1);
    calls.flat_map(|call| ids_in(call.split(')').next().unwrap_or_default()))
}

/// Ids named in code or tests that are not in the table.
pub(crate) fn unknown_ids(sources: &[Source]) -> Vec<String> {
    let known = known_ids(sources);
    let mut complaints = Vec::new();
    for source in sources.iter().filter(|s| !is_table(s) && s.package() != "xtask") {
        for (number, line) in source.lines() {
            for id in ids_in(line).filter(|id| !known.contains(id)) {
                complaints.push(format!("{}:{number}: there is no rule {id}", source.path));
            }
        }
    }
    complaints
}

/// Rules without code or without a test; each exception has its reason in a file.
pub(crate) fn report(root: &Path) -> Vec<String> {
    let sources = source::rust_files(root);
    let exceptions = exceptions(root);
    let (code, tests) = mentions(&sources);
    let mut complaints = Vec::new();
    for id in known_ids(&sources) {
        let missing = match (code.contains(&id), tests.contains(&id)) {
            (true, true) => continue,
            (true, false) => "no test",
            (false, true) => "no code",
            (false, false) => "no code, no test",
        };
        match exceptions.get(&id) {
            Some(reason) => println!("{id}: {missing}: {reason}"),
            None => complaints.push(format!("{id}: {missing}")),
        }
    }
    complaints
}

fn known_ids(sources: &[Source]) -> BTreeSet<String> {
    let table = sources.iter().find(|source| source.path == TABLE).expect("the table of rules");
    table.code_lines().flat_map(|(_, line)| ids_in(line)).collect()
}

/// The ids named in code, and those named in tests (as `L-SEQ-3` or `l_seq_3`).
fn mentions(sources: &[Source]) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut code = BTreeSet::new();
    let mut tests = BTreeSet::new();
    for source in sources.iter().filter(|s| !is_table(s) && s.package() != "xtask") {
        code.extend(source.code_lines().flat_map(|(_, line)| ids_in(line)));
        for (_, line) in source.test_lines() {
            tests.extend(ids_in(line));
            tests.extend(ids_in(&line.replace('_', "-").to_uppercase()));
        }
    }
    (code, tests)
}

fn exceptions(root: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(root.join(EXCEPTIONS)).unwrap_or_default();
    let rows = text.lines().filter_map(|line| line.split_once('\t'));
    rows.map(|(id, reason)| (id.to_string(), reason.to_string())).collect()
}

/// Words of the form `L-SEQ-3`.
fn ids_in(line: &str) -> impl Iterator<Item = String> + '_ {
    let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    words.flat_map(|word| {
        let parts: Vec<&str> = word.split('-').collect();
        let found = parts.windows(3).filter(|w| is_id(w)).map(|w| w.join("-"));
        found.collect::<Vec<String>>()
    })
}

fn is_id(parts: &[&str]) -> bool {
    let [group, topic, number] = parts else { return false };
    let groups = ["L", "C", "P", "K", "G"];
    let is_topic = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit();
    groups.contains(group)
        && topic.len() >= 2
        && topic.chars().all(is_topic)
        && number.starts_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_in_prose_code_and_names() {
        let ids: Vec<String> = ids_in("as rule!(env, \"L-SEQ-3\") and C-INIT-16/17").collect();
        assert_eq!(ids, ["L-SEQ-3", "C-INIT-16"]);
        let name = "fn gap_is_refused_l_seq_4()".replace('_', "-").to_uppercase();
        assert_eq!(ids_in(&name).collect::<Vec<_>>(), ["L-SEQ-4"]);
    }
}
