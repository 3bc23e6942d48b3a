//! The list of the library in `scenarios/README.md`, made of the scenario files themselves.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::source;

const README: &str = "scenarios/README.md";
const REGENERATE: &str = "cargo run -p xtask -- library";
const BEGIN: &str = "<!-- made by: cargo run -p xtask -- library -->\n";

/// One scenario as it is listed.
struct Entry {
    folder: String,
    file: String,
    scenario: Value,
}

/// Is the list what the files say?
pub(crate) fn check(root: &Path) -> Vec<String> {
    match (fs::read_to_string(root.join(README)), whole(root)) {
        (Ok(found), Ok(wanted)) if found == wanted => Vec::new(),
        (_, Ok(_)) => vec![format!("{README}: the list is out of date: {REGENERATE}")],
        (_, Err(complaint)) => vec![complaint],
    }
}

/// Makes the list anew; what is written above it stays.
pub(crate) fn write(root: &Path) -> Vec<String> {
    let written = whole(root).and_then(|text| {
        fs::write(root.join(README), text).map_err(|error| format!("{README}: {error}"))
    });
    written.err().into_iter().collect()
}

/// What is written by hand, then the list.
fn whole(root: &Path) -> Result<String, String> {
    let text =
        fs::read_to_string(root.join(README)).map_err(|error| format!("{README}: {error}"))?;
    let by_hand = text.split(BEGIN).next().unwrap_or_default();
    Ok(format!("{by_hand}{BEGIN}{}", list(&entries(root)?)))
}

fn entries(root: &Path) -> Result<Vec<Entry>, String> {
    let is_scenario = |path: &String| path.starts_with("scenarios/") && path.ends_with(".json");
    let paths = source::tracked(root).into_iter().filter(is_scenario);
    let mut entries = Vec::new();
    for path in paths {
        let text =
            fs::read_to_string(root.join(&path)).map_err(|error| format!("{path}: {error}"))?;
        let scenario = serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
        let inner = path.trim_start_matches("scenarios/");
        let folder = inner.rsplit_once('/').map_or("", |(folder, _)| folder).to_string();
        entries.push(Entry { folder, file: inner.to_string(), scenario });
    }
    entries.sort_by_key(|entry| entry.file.trim_end_matches(".json").to_string());
    Ok(entries)
}

fn list(entries: &[Entry]) -> String {
    let mut text = String::from("\n## The library\n");
    for of_folder in entries.chunk_by(|a, b| a.folder == b.folder) {
        let _ = write!(text, "\n### {}\n\n", of_folder[0].folder);
        of_folder.iter().for_each(|entry| text += &line(entry));
    }
    text
}

/// `- [name](path): about. Rules: …. Defects: ….`
fn line(Entry { file, scenario, .. }: &Entry) -> String {
    let word = |key: &str| scenario[key].as_str().unwrap_or_default();
    let (name, about) = (word("name"), word("about"));
    let (rules, defects) = (named(scenario, "rules"), named(scenario, "defects"));
    format!("- [{name}]({file}): {about}{rules}{defects}\n")
}

/// ` Rules: A, B.`, or nothing if there are none.
fn named(scenario: &Value, key: &str) -> String {
    let names = scenario[key].as_array().into_iter().flatten().filter_map(Value::as_str);
    let names: Vec<&str> = names.collect();
    let title = format!("{}{}", key[..1].to_uppercase(), &key[1..]);
    if names.is_empty() { String::new() } else { format!(" {title}: {}.", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_scenario_is_listed_with_what_it_is_aimed_at() {
        let entry = |folder: &str, scenario| Entry {
            folder: folder.into(),
            file: format!("{folder}/x.json"),
            scenario,
        };
        let first = json!({"name": "x", "about": "Dies.", "rules": ["L-SEQ-3", "L-FO-1"]});
        let second = json!({"name": "y", "about": "Lives.", "defects": ["a.b"]});
        let text = list(&[entry("leader", first), entry("limits", second)]);
        let expected = "\n## The library\n\
            \n### leader\n\n- [x](leader/x.json): Dies. Rules: L-SEQ-3, L-FO-1.\n\
            \n### limits\n\n- [y](limits/x.json): Lives. Defects: a.b.\n";
        assert_eq!(text, expected);
    }
}
