//! `eosim conform --bootstrap`: the cases against a broker elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use eosim_runner::conform::{self, Case, Difference, Outcome};
use eosim_runner::exit::ExitCode;
use eosim_wire::live::LiveBroker;
use serde_json::{Map, Value, json};

use super::{Counts, Played, PlayedFile, jsonl, outcomes};
use crate::args::{ConformArgs, Format, OutputArgs};
use crate::commands::Failure;
use crate::output;

/// Of one API and one recorded error: how many answers, and how many of them were the same.
type Table = BTreeMap<(String, String), (u64, u64)>;

/// What is told beside the outcome of each case.
#[derive(Default)]
struct Findings {
    table: Table,
    /// Cases that differ in the same way, and the rules behind the place in all of them.
    kinds: BTreeMap<String, (Vec<String>, BTreeSet<&'static str>)>,
    recordings: String,
}

pub(super) fn run(
    files: &[PathBuf],
    address: &str,
    args: &ConformArgs,
    how: &OutputArgs,
) -> Result<ExitCode, Failure> {
    let mut broker = LiveBroker::connect(address, args.restart_cmd.clone())
        .map_err(|error| Failure::usage(format!("--bootstrap {address}: {error}")))?;
    let mut findings = Findings::default();
    let mut played = Vec::new();
    for file in files {
        played.push((file.as_path(), file_of(file, &mut broker, &mut findings, how)?));
    }
    if let Some(path) = &args.record {
        fs::write(path, &findings.recordings)
            .map_err(|error| Failure::usage(format!("--record {}: {error}", path.display())))?;
    }
    let total = Counts::of(played.iter().flat_map(|(_, cases)| cases));
    output::print(&match how.format {
        Format::Text => text(&played, total, &findings, how),
        Format::Json => {
            let mut json = super::json(&played, total);
            json["answers"] = findings.table.iter().map(row).collect();
            json["kinds"] = findings.kinds.iter().map(kind_json).collect();
            json.to_string() + "\n"
        }
        Format::Jsonl => jsonl(&played),
    })?;
    Ok(total.exit())
}

fn file_of(
    file: &Path,
    broker: &mut LiveBroker,
    findings: &mut Findings,
    how: &OutputArgs,
) -> Result<Vec<Played>, Failure> {
    let (cases, clients) = conform::broker_cases(file).map_err(Failure::usage)?;
    let mut played = Vec::new();
    for case in &cases {
        let outcome = match broker.ask_case(case) {
            Ok((answers, outcome)) => {
                findings.note(case, answers, &outcome);
                outcome
            }
            Err(reason) => Outcome::Unsupported(reason),
        };
        if !matches!(outcome, Outcome::Equal) {
            output::talk(how, &format!("{}: {}", outcome.name(), case.name));
        }
        played.push(Played { case: case.name.clone(), outcome });
    }
    if clients > 0 {
        let name = file.display();
        output::talk(how, &format!("{name}: {clients} recordings of clients are left out"));
    }
    Ok(played)
}

impl Findings {
    fn note(&mut self, case: &Case, mut answers: Vec<Value>, outcome: &Outcome) {
        for (step, answer) in case.steps.iter().zip(&answers) {
            let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("-").into();
            let expect = step.get("expect");
            let Some(expect) = expect.filter(|expect| expect.is_object()) else { continue };
            let error = text(expect.get("error"));
            let (asked, same) = self.table.entry((text(step.get("op")), error)).or_default();
            *asked += 1;
            *same += u64::from(answer["error"] == expect["error"]);
        }
        if let Outcome::Different(difference) = outcome {
            let rules = conform::rules(case, difference);
            let first = || (Vec::new(), rules.clone());
            let (cases, shared) = self.kinds.entry(kind(difference)).or_insert_with(first);
            cases.push(case.name.clone());
            shared.retain(|rule| rules.contains(rule));
        }
        let end = answers.pop().unwrap_or_default();
        self.recordings += &recording(case, answers, &end);
    }
}

/// Where and how, without the numbers of steps and items.
fn kind(difference: &Difference) -> String {
    let place = difference.place.trim_start_matches("step ");
    let place: String = place.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ').into();
    let place = place.replace(|c: char| c.is_ascii_digit(), "");
    format!("{place}: {} became {}", difference.recorded, difference.model)
}

/// The case with what was answered in place of what was recorded.
fn recording(case: &Case, answers: Vec<Value>, end: &Value) -> String {
    let steps = case.steps.iter().zip(answers).map(|(step, answer)| {
        let mut step: Map<String, Value> = step.clone();
        step.insert("expect".into(), answer);
        step
    });
    let topics: Map<String, Value> = case
        .topics
        .iter()
        .map(|(name, layout)| (name.clone(), layout.partition_count().into()))
        .collect();
    let kafka = case.recorded_on.kafka.name();
    let level = case.recorded_on.transaction_version.level();
    let recorded_on = format!("apache-kafka {kafka}, 1 broker, transaction.version={level}");
    let recording = json!({
        "name": case.name,
        "recorded_on": recorded_on,
        "topics": topics,
        "steps": steps.collect::<Vec<_>>(),
        "final": end,
    });
    recording.to_string() + "\n"
}

fn kind_json((kind, (cases, rules)): (&String, &(Vec<String>, BTreeSet<&str>))) -> Value {
    json!({ "kind": kind, "cases": cases, "rules": rules })
}

fn row(((op, error), (asked, same)): (&(String, String), &(u64, u64))) -> Value {
    json!({ "op": op, "error": error, "asked": asked, "same": same })
}

fn text(played: &[PlayedFile<'_>], total: Counts, findings: &Findings, how: &OutputArgs) -> String {
    let mut text = outcomes(played, "broker", how);
    for (kind, (cases, rules)) in &findings.kinds {
        let _ = writeln!(text, "{kind}\n  {} cases, the first is {}", cases.len(), cases[0]);
        let rules: Vec<&str> = rules.iter().copied().collect();
        let _ = writeln!(text, "  rules  {}", rules.join(" "));
    }
    text += "operation               recorded error                        answers     same\n";
    for ((op, error), (asked, same)) in &findings.table {
        let _ = writeln!(text, "{op:<23} {error:<36} {asked:>8} {same:>8}");
    }
    let Counts { equal, different, unsupported } = total;
    let files = played.len();
    let _ = writeln!(
        text,
        "{equal} equal, {different} different, {unsupported} unsupported in {files} files"
    );
    text
}
