//! Names that would let a run depend on anything but scenario, seed and build.

use crate::source::Source;

/// Crates whose state and computation make up a run.
const PURE: &[&str] = &[
    "types",
    "actor",
    "storage",
    "clients",
    "transaction-coordinator",
    "group-coordinator",
    "broker",
    "sim",
    "checker",
    "scenario",
];

const BANNED: &[&str] = &[
    "HashMap",
    "HashSet",
    "RandomState",
    "SystemTime",
    "Instant::now",
    "thread::",
    "f32",
    "f64",
    "std::env",
    "std::process",
    "available_parallelism",
];

const UNFINISHED: &[&str] = &["todo!(", "unimplemented!(", "TODO", "FIXME", "XXX"];

/// Banned names in code (tests are free), unfinished places anywhere.
pub(crate) fn check(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        if PURE.contains(&source.package()) {
            complaints.extend(find(source, source.code_lines(), BANNED));
        }
        if source.package() != "xtask" {
            complaints.extend(find(source, source.lines(), UNFINISHED));
        }
        complaints.extend(randomness(source));
        complaints.extend(defects_in_checker(source));
    }
    complaints
}

fn find<'a>(
    source: &Source,
    lines: impl Iterator<Item = (usize, &'a str)>,
    names: &[&str],
) -> Vec<String> {
    let mut complaints = Vec::new();
    for (number, line) in lines {
        let code = line.split("//").next().unwrap_or_default();
        for name in names.iter().filter(|name| contains_word(code, name)) {
            complaints.push(format!("{}:{number}: {name} has no place here", source.path));
        }
    }
    complaints
}

fn contains_word(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + name.len()..].chars().next();
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let open_end = !name.ends_with(|c: char| c.is_alphanumeric());
        !is_word(before) && (open_end || !is_word(after))
    })
}

/// Only `sim::rng` may name the random generators.
fn randomness(source: &Source) -> Vec<String> {
    if source.path == "crates/sim/src/rng.rs" || source.package() == "xtask" {
        return Vec::new();
    }
    find(source, source.lines(), &["rand::", "rand_chacha::"])
}

/// The checker knows nothing of the switches.
fn defects_in_checker(source: &Source) -> Vec<String> {
    if source.package() != "checker" {
        return Vec::new();
    }
    find(source, source.lines(), &["Defect", "DefectSet", "defect::"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_matched_whole() {
        assert!(contains_word("let x: f64 = 1.0;", "f64"));
        assert!(!contains_word("let buf64 = 1;", "f64"));
        assert!(contains_word("use std::thread::spawn;", "thread::"));
    }
}
