//! Tables of what there is, as text, JSON or JSON lines.

use serde_json::{Map, Value, json};

use eosim_runner::{FAULTS, InvariantInfo, ScenarioFile, schema};
use eosim_types::message::ApiKey;
use eosim_types::rules::{RULES, about};
use eosim_types::{Defect, ErrorCode};

use crate::args::Format;
use crate::names;

/// Cells are aligned that have at most so many characters.
const WIDEST: usize = 240;

/// Rows of equal keys, to be printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// What it is a list of; the key of the rows in JSON.
    pub name: &'static str,
    /// The keys of each row, the first of which names it.
    pub columns: Vec<&'static str>,
    /// One value for each column.
    pub rows: Vec<Vec<Value>>,
    /// So many columns are shown as text, unless all are asked for.
    pub shown: usize,
}

impl Table {
    /// The table as it is printed in `format`; as text, with the first columns alone unless
    /// `verbose`.
    #[must_use]
    pub fn print(&self, format: Format, verbose: bool) -> String {
        match format {
            Format::Text => self.text(if verbose { self.columns.len() } else { self.shown }),
            Format::Json => {
                let rows: Vec<Value> = self.objects().collect();
                json!({"format": 1, self.name: rows}).to_string() + "\n"
            }
            Format::Jsonl => self.objects().map(|row| row.to_string() + "\n").collect(),
        }
    }

    fn objects(&self) -> impl Iterator<Item = Value> + '_ {
        self.rows.iter().map(|row| {
            let keys = self.columns.iter().map(ToString::to_string);
            Value::Object(keys.zip(row.iter().cloned()).collect::<Map<_, _>>())
        })
    }

    fn text(&self, columns: usize) -> String {
        let cell = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Array(list) => {
                list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
            }
            other => other.to_string(),
        };
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().take(columns).map(cell).collect()).collect();
        let width = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
        };
        let widths = (0..columns).map(|column| width(column).unwrap_or(0).min(WIDEST));
        let widths: Vec<usize> = widths.collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
        };
        rows.iter().map(line).collect()
    }
}

/// Historical bugs and upstream findings.
#[must_use]
pub fn defects() -> Table {
    defects_of(&[])
}

/// Of these only, if there are any.
#[must_use]
pub fn defects_of(named: &[Defect]) -> Table {
    let chosen = if named.is_empty() { Defect::ALL } else { named };
    let row = |defect: &Defect| {
        let class = format!("{:?}", defect.class()).to_lowercase();
        vec![json!(defect.name()), json!(defect.about()), json!(class), json!(defect.invariants())]
    };
    let columns = vec!["name", "about", "class", "invariants"];
    Table { name: "defects", columns, rows: chosen.iter().map(row).collect(), shown: 2 }
}

/// Rules of the protocol.
#[must_use]
pub fn rules() -> Table {
    let rows = RULES.iter().map(|id| vec![json!(id), json!(about(id))]).collect();
    Table { name: "rules", columns: vec!["id", "about"], rows, shown: 2 }
}

/// Requests, each with what it is for.
#[must_use]
pub fn apis() -> Table {
    let row = |api: &ApiKey| vec![json!(api.name()), json!(api.about())];
    let rows = ApiKey::ALL.iter().map(row).collect();
    Table { name: "apis", columns: vec!["name", "about"], rows, shown: 2 }
}

/// Kafka's error codes, each with a scenario and a seed in which a run answers it, where one does.
#[must_use]
pub fn errors() -> Table {
    let row = |code: &ErrorCode| {
        let run = names::produced(*code);
        let scenario = run.map_or("", |run| run.scenario);
        vec![
            json!(code.name()),
            json!(code.code()),
            json!(scenario),
            json!(run.map(|run| run.seed)),
        ]
    };
    let rows = ErrorCode::ALL.iter().map(row).collect();
    Table { name: "errors", columns: vec!["name", "code", "scenario", "seed"], rows, shown: 3 }
}

/// Scenarios.
#[must_use]
pub fn scenarios(files: &[ScenarioFile]) -> Table {
    let row = |file: &ScenarioFile| {
        let head = file.head();
        vec![json!(head.name), json!(head.about), json!(head.tags), json!(file.file())]
    };
    let columns = vec!["name", "about", "tags", "file"];
    Table { name: "scenarios", columns, rows: files.iter().map(row).collect(), shown: 2 }
}

/// Faults that can strike at random, as the schema describes them.
#[must_use]
pub fn faults() -> Table {
    let described = &schema()["$defs"]["Faults"]["properties"];
    let row = |name: &&str| {
        let about = described[*name]["description"].as_str().unwrap_or_default();
        vec![json!(name), json!(about.replace('\n', " "))]
    };
    let columns = vec!["name", "about"];
    Table { name: "faults", columns, rows: FAULTS.iter().map(row).collect(), shown: 2 }
}

/// Promises that are checked.
#[must_use]
pub fn invariants() -> Table {
    let row = |invariant: &InvariantInfo| {
        vec![json!(invariant.name), json!(invariant.promise), json!(invariant.source)]
    };
    let columns = vec!["name", "promise", "source"];
    let rows = eosim_runner::invariants().iter().map(row).collect();
    Table { name: "invariants", columns, rows, shown: 2 }
}

/// Terms of the field.
#[must_use]
pub fn terms() -> Table {
    let row =
        |entry: &names::Entry| vec![json!(entry.name), json!(entry.about), json!(entry.aliases)];
    let rows = names::of_kind("term", &names::Library::default()).iter().map(row).collect();
    Table { name: "terms", columns: vec!["name", "about", "aliases"], rows, shown: 2 }
}
