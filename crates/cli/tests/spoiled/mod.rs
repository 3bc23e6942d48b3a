//! Inputs that are nearly right, and what is done with them: each is read as the commands read it, and
//! used if it is taken for good. `fuzz/` uses the same.
#![allow(dead_code, reason = "the tests and the fuzz targets use parts")]

use std::fs;
use std::path::{Path, PathBuf};

use eosim::commands::merge::merged;
use eosim::coverage::Coverage;
use eosim::render::DESCRIBE;
use eosim::settings::Settings;
use eosim::{input, reported};
use eosim_report::sweep_report::FORMS;
use eosim_runner::conform::play_file;
use eosim_runner::history::History;
use eosim_runner::recording::{read, record};
use eosim_runner::store::kept_runs;
use eosim_runner::sweep::SweepSummary;
use eosim_runner::{Override, ScenarioFile};
use eosim_types::DefectSet;
use serde_json::{Map, Value, json};

/// What an input is taken for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Scenario,
    Choices,
    History,
    Case,
    Manifest,
    Progress,
    Summary,
    Lines,
    Coverage,
}

pub(crate) const KINDS: [Kind; 9] = [
    Kind::Scenario,
    Kind::Choices,
    Kind::History,
    Kind::Case,
    Kind::Manifest,
    Kind::Progress,
    Kind::Summary,
    Kind::Lines,
    Kind::Coverage,
];

/// A run that is good so far is made for so many steps.
const STEPS: u64 = 300;

impl Kind {
    /// The file that it is in, in the folder of a kept run.
    pub(crate) const fn file(self) -> &'static str {
        match self {
            Self::Scenario => "scenario.json",
            Self::Choices => "choices.json",
            Self::History => "history.jsonl",
            Self::Case => "case.json",
            Self::Manifest => "manifest.json",
            Self::Progress => "progress.json",
            Self::Summary => "summary.json",
            Self::Lines => "summary.jsonl",
            Self::Coverage => "coverage.json",
        }
    }

    const fn has_lines(self) -> bool {
        matches!(self, Self::History | Self::Lines)
    }
}

/// Reads the input in the folder `run` of a kept sweep, and uses it. It must not panic.
pub(crate) fn use_input(kind: Kind, run: &Path) {
    let path = run.join(kind.file());
    match kind {
        Kind::Scenario => scenario(&path),
        Kind::Choices => {
            let Ok(recording) = read(&path, &input::invariant_names()) else { return };
            drop(recording.replay_to(STEPS, DESCRIBE));
        }
        Kind::History => drop(History::read(&path).map(|history| history.judge())),
        Kind::Case => drop(play_file(&path, None)),
        Kind::Coverage => {
            let Ok(mut coverage) = Coverage::read(&path) else { return };
            coverage.merge(&coverage.clone());
            drop((coverage.totals(), coverage.text(true)));
        }
        Kind::Summary => told(run),
        Kind::Manifest | Kind::Progress | Kind::Lines => kept(run),
    }
}

fn scenario(path: &Path) {
    let limits: Override = format!("limits.steps_max={STEPS}").parse().expect("a replacement");
    let Ok(file) = ScenarioFile::read(path, &[limits], &input::invariant_names()) else { return };
    for seed in [0, 7] {
        drop(record(&file, seed, DefectSet::NONE, DESCRIBE));
    }
}

/// In every form.
fn told(run: &Path) {
    if let Ok(report) = reported::read(run) {
        FORMS.iter().for_each(|form| drop((form.render)(&report)));
    }
}

/// What is done with a kept sweep, and one beside it.
fn kept(run: &Path) {
    let store = run.parent().expect("a store");
    drop(kept_runs(store));
    if let Ok(settings) = Settings::read(run) {
        drop((settings.runs(), settings.end(), settings.other_build()));
    }
    told(run);
    let out = store.join("merged");
    if let Ok(whole) = merged(&[run.to_path_buf(), store.join("other")], &out) {
        drop(SweepSummary::restore(&whole.summary.state()));
        fs::remove_dir_all(&out).expect("removes");
    }
    assert!(!out.exists(), "something was left of a refused merge");
}

/// Numbers from which everything that looks like chance is taken.
pub(crate) struct Tape<'a> {
    numbers: &'a [u64],
    next: usize,
}

impl<'a> Tape<'a> {
    pub(crate) const fn new(numbers: &'a [u64]) -> Self {
        Self { numbers, next: 0 }
    }

    /// A number below `end`; 0 when the tape is at its end.
    fn below(&mut self, end: usize) -> usize {
        let number = self.numbers.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        usize::try_from(number % end.max(1) as u64).expect("below a usize")
    }

    fn has_more(&self) -> bool {
        self.next < self.numbers.len()
    }
}

/// `text`, an input of this kind, spoiled in one place or several.
pub(crate) fn spoiled(kind: Kind, text: &str, tape: &mut Tape<'_>) -> Vec<u8> {
    let mut text = text.to_string();
    loop {
        text = if kind.has_lines() { in_lines(&text, tape) } else { in_value(&text, tape) };
        if tape.below(3) != 0 || !tape.has_more() {
            break;
        }
    }
    let mut bytes = text.into_bytes();
    if tape.below(8) == 1 {
        in_bytes(&mut bytes, tape);
    }
    bytes
}

fn in_lines(text: &str, tape: &mut Tape<'_>) -> String {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let at = tape.below(lines.len());
    if lines.is_empty() {
        return String::new();
    }
    match tape.below(8) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[at].clone()),
        2 => {
            let other = tape.below(lines.len());
            lines.swap(at, other);
        }
        _ => lines[at] = in_value(&lines[at], tape),
    }
    lines.join("\n") + "\n"
}

fn in_value(text: &str, tape: &mut Tape<'_>) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else { return text.to_string() };
    let donor = chosen(&value, tape).clone();
    change(&mut value, &donor, tape);
    value.to_string()
}

/// A value somewhere in `value`.
fn chosen<'a>(mut value: &'a Value, tape: &mut Tape<'_>) -> &'a Value {
    while tape.below(4) != 1 {
        let inner = match value {
            Value::Array(list) if !list.is_empty() => &list[tape.below(list.len())],
            Value::Object(map) if !map.is_empty() => {
                map.values().nth(tape.below(map.len())).expect("an entry")
            }
            _ => break,
        };
        value = inner;
    }
    value
}

/// Changes something somewhere in `value`.
fn change(value: &mut Value, donor: &Value, tape: &mut Tape<'_>) {
    let stays = tape.below(5) == 1;
    match value {
        Value::Array(list) if !list.is_empty() && !stays => {
            let at = tape.below(list.len());
            change(&mut list[at], donor, tape);
        }
        Value::Object(map) if !map.is_empty() && !stays => {
            let key = map.keys().nth(tape.below(map.len())).expect("a key").clone();
            change(map.get_mut(&key).expect("is there"), donor, tape);
        }
        Value::Array(list) if tape.below(2) == 1 => change_list(list, donor, tape),
        Value::Object(map) if tape.below(2) == 1 => change_map(map, donor, tape),
        _ => *value = replacement(value, donor, tape),
    }
}

fn change_list(list: &mut Vec<Value>, donor: &Value, tape: &mut Tape<'_>) {
    let at = tape.below(list.len());
    match tape.below(4) {
        0 if !list.is_empty() => drop(list.remove(at)),
        1 if !list.is_empty() => list.insert(at, list[at].clone()),
        2 => list.clear(),
        _ => list.insert(at, donor.clone()),
    }
}

fn change_map(map: &mut Map<String, Value>, donor: &Value, tape: &mut Tape<'_>) {
    let key = map.keys().nth(tape.below(map.len())).cloned().unwrap_or_default();
    let value = map.get(&key).cloned().unwrap_or_default();
    match tape.below(4) {
        0 => drop(map.remove(&key)),
        1 => {
            map.remove(&key);
            map.insert(key + "x", value);
        }
        2 => {
            let other = map.keys().nth(tape.below(map.len())).cloned().unwrap_or_default();
            map.insert(other, value);
        }
        _ => drop(map.insert("more".to_string(), donor.clone())),
    }
}

/// What stands in the place of `value`.
fn replacement(value: &Value, donor: &Value, tape: &mut Tape<'_>) -> Value {
    let numbers = [
        json!(0),
        json!(1),
        json!(-1),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(u64::from(u32::MAX)),
        json!(1_u64 << 40),
        json!(0.5),
        json!(1e308),
    ];
    let texts =
        ["", "a", "-1", "0/0", "orders-0", "\u{0}\u{1b}[2J\n", "99999999999999999999", "é\u{202e}"];
    match tape.below(9) {
        0 => Value::Null,
        1 => json!(tape.below(2) == 1),
        2 | 3 => numbers[tape.below(numbers.len())].clone(),
        4 => json!(texts[tape.below(texts.len())]),
        5 => json!("x".repeat([10, 300, 70_000][tape.below(3)])),
        6 => (0..[3, 40, 200][tape.below(3)]).fold(value.clone(), |inner, _| json!([inner])),
        7 => match value.as_u64() {
            Some(number) if tape.below(2) == 1 => json!(number.wrapping_add(1)),
            Some(number) => json!(number.wrapping_mul(1000)),
            None => json!([value, value]),
        },
        _ => donor.clone(),
    }
}

/// What no writer of JSON would do.
fn in_bytes(bytes: &mut Vec<u8>, tape: &mut Tape<'_>) {
    let at = tape.below(bytes.len() + 1);
    match tape.below(6) {
        0 => bytes.truncate(at),
        1 => bytes.insert(at, 0xff),
        2 => bytes.insert(at, 0),
        3 => drop(bytes.splice(at..at, std::iter::repeat_n(b'[', 100_000))),
        4 => bytes.extend(bytes.clone()),
        _ => {
            let end = (at + tape.below(40)).min(bytes.len());
            bytes.drain(at..end);
        }
    }
}

/// Good inputs of every kind, and the folder of a kept sweep to put them into.
pub(crate) struct Good {
    /// Of each kind, in the order of [`KINDS`].
    inputs: Vec<Vec<String>>,
    run: PathBuf,
}

impl Good {
    /// Those that are in the folder `run`, whose store has a second sweep called `other`; and these.
    pub(crate) fn new(run: &Path, scenarios: &[String], cases: &[String]) -> Self {
        let of = |kind: &Kind| match kind {
            Kind::Scenario => scenarios.to_vec(),
            Kind::Case => cases.to_vec(),
            kind => vec![fs::read_to_string(run.join(kind.file())).expect("a kept file")],
        };
        Self { inputs: KINDS.iter().map(of).collect(), run: run.to_path_buf() }
    }

    /// Uses an input of this kind, spoiled as the tape says; leaves the folder as it was.
    pub(crate) fn spoil(&self, kind: Kind, numbers: &[u64]) {
        let mut tape = Tape::new(numbers);
        let place = KINDS.iter().position(|known| *known == kind).expect("a kind");
        let texts = &self.inputs[place];
        let text = &texts[tape.below(texts.len())];
        let bytes = spoiled(kind, text, &mut tape);
        self.take(kind, &bytes);
    }

    /// Uses `bytes` as an input of this kind; leaves the folder as it was.
    pub(crate) fn take(&self, kind: Kind, bytes: &[u8]) {
        let path = self.run.join(kind.file());
        let before = fs::read(&path).ok();
        fs::write(&path, bytes).expect("writes");
        use_input(kind, &self.run);
        match before {
            Some(before) => fs::write(&path, before).expect("writes"),
            None => fs::remove_file(&path).expect("removes"),
        }
    }

    /// Nothing is wrong with what is not spoiled.
    pub(crate) fn text(&self, kind: Kind) -> &str {
        let place = KINDS.iter().position(|known| *known == kind).expect("a kind");
        &self.inputs[place][0]
    }
}
