//! The pages of the words of `aimed`: what a rule can wait for, what it can do, and the requests that it
//! can name.

use eosim_runner::{ScenarioFile, schema};
use eosim_types::message::ApiKey;
use serde_json::Value;

use super::faults::text;
use super::library::listed;
use super::{Entry, Library};

/// So many scenarios are named at most.
const LISTED: usize = 8;

/// Every key of `when`, every `do`, and every request.
pub(super) fn entries(library: &Library) -> Vec<Entry> {
    let moments = schema()["$defs"]["When"]["properties"].as_object().into_iter().flatten();
    let moments = moments.map(|(key, described)| entry("key of when", key, described, library));
    let actions = schema()["$defs"]["Action"]["oneOf"].as_array().into_iter().flatten();
    let actions = actions.filter_map(|described| {
        Some(entry("do of an aimed rule", action(described)?, described, library))
    });
    moments.chain(actions).chain(requests(library)).collect()
}

/// Every request of which the model has rules.
pub(super) fn requests(library: &Library) -> impl Iterator<Item = Entry> {
    ApiKey::ALL.iter().map(|api| {
        let aimed = "it stands behind sent, received, answered and answer_received";
        let entry = Entry::new("request", api.name(), api.about()).with("aimed rules", [aimed]);
        having(entry, library, api.name())
    })
}

/// The key of an action: it stands alone, or before what else must be said.
fn action(described: &Value) -> Option<&str> {
    let alone = described["const"].as_str();
    alone.or_else(|| described["properties"].as_object()?.keys().next().map(String::as_str))
}

fn entry(kind: &'static str, key: &str, described: &Value, library: &Library) -> Entry {
    having(Entry::new(kind, key, text(described)), library, key)
}

/// `entry` with the scenarios whose aimed rules have `word`.
fn having(entry: Entry, library: &Library, word: &str) -> Entry {
    let has = |file: &ScenarioFile| {
        let mut rules = file.head().aimed.iter().map(serde_json::to_value);
        rules.any(|rule| rule.is_ok_and(|rule| is_in(word, &rule)))
    };
    entry.with("scenarios", listed(&library.names(has), LISTED))
}

/// Is `word` a key or a value of `rule`, at any depth?
fn is_in(word: &str, rule: &Value) -> bool {
    match rule {
        Value::String(text) => text == word,
        Value::Array(all) => all.iter().any(|one| is_in(word, one)),
        Value::Object(all) => all.iter().any(|(key, one)| key == word || is_in(word, one)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_an_aimed_rule_has_a_page() {
        let entries = entries(&Library::of(Vec::new()));
        let find = |kind: &str, name: &str| {
            let mut found = entries.iter().filter(|one| one.kind == kind && one.name == name);
            (found.next().expect("a page").about.clone(), found.count())
        };
        let (about, others) = find("do of an aimed rule", "late_until");
        assert!(about.contains("the message arrives all the same"), "{about}");
        assert_eq!(others, 0);
        assert!(find("do of an aimed rule", "drop").0.contains("is lost"));
        assert!(find("key of when", "answered").0.contains("A response of this API leaves"));
        assert_eq!(find("request", "EndTxn").0, "Ends a transaction.");
    }

    #[test]
    fn scenarios_are_found_by_the_words_of_their_rules() {
        let rule = serde_json::json!({"when": {"sent": "EndTxn"}, "do": {"late_ms": 5}});
        for (word, is) in [("EndTxn", true), ("late_ms", true), ("sent", true), ("late", false)] {
            assert_eq!(is_in(word, &rule), is, "{word}");
        }
    }
}
