//! The pages of faults: what each does, by what it is tuned, and which scenarios have it.

use eosim_report::shell::quoted;
use eosim_runner::{FAULTS, schema};
use serde_json::Value;

use super::library::listed;
use super::{Entry, Library};

/// Every fault that can strike at random.
pub(super) fn entries(library: &Library) -> Vec<Entry> {
    FAULTS.iter().map(|name| entry(name, library)).collect()
}

fn entry(name: &'static str, library: &Library) -> Entry {
    let described = &schema()["$defs"]["Faults"]["properties"][name];
    let having = |file: &eosim_runner::ScenarioFile| file.head().faults.has(name);
    let run = library.files().iter().find(|file| having(file));
    Entry::new("fault", name, text(described))
        .with("parameters", parameters(described))
        .with("scenarios", listed(&library.names(having), 8))
        .shown_by(run.map(|file| format!("eosim run {} --print-plan", quoted(file.file()))))
}

/// What the schema says of something.
pub(super) fn text(described: &Value) -> String {
    described["description"].as_str().unwrap_or_default().replace('\n', " ")
}

/// The keys of a fault that is an object, each with what the schema says of it.
fn parameters(described: &Value) -> Vec<String> {
    let definition = described["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    let Some(definition) = definition else {
        return vec!["a probability, such as \"1/100\"".to_string()];
    };
    let keys = schema()["$defs"][definition]["properties"].as_object();
    let line = |(key, value): (&String, &Value)| format!("{key}: {}", text(value));
    keys.into_iter().flatten().map(line).map(|line| line.trim_end_matches(": ").into()).collect()
}
