//! Why a run failed, as a page and as JSON.

use eosim_report::shell::quoted;
use eosim_report::{Block, Mark, Page, PageLine, PagePart};
use eosim_runner::diff::Outcome;
use eosim_runner::explain::{Broken, Consequence, Explanation, Judged, Moment, Need, Without};
use eosim_runner::recording::Recording;
use eosim_runner::variant::Part;
use serde_json::{Value, json};

use super::{about, need_word, page_line, step, time};

/// So many outcomes are compared.
const OUTCOMES: usize = 12;

/// So many necessary parts are named in a line.
const NEEDED: usize = 3;

/// Strikes that are listed by themselves.
const STRIKES: usize = 8;

/// The page; `place` is what the user calls the run, `plan` the file of its plan, `actors` are their
/// names by number.
#[must_use]
pub fn explanation(
    found: &Explanation,
    recording: &Recording,
    actors: &[String],
    (place, plan): (&str, Option<&str>),
) -> Page {
    let broken = &found.broken;
    let word = if broken.what == "stuck" { "STUCK" } else { "VIOLATION" };
    let what = if broken.what == "stuck" { String::new() } else { format!(" {}", broken.what) };
    let (name, seed) = (&recording.plan.name, recording.seed);
    let title =
        format!("{word}{what}   scenario={name} seed={seed} step={} t={}", broken.step, broken.at);
    let mut blocks = vec![Block::Facts(facts(broken))];
    blocks.push(Block::Heading("What led to it".to_string()));
    blocks.push(Block::Lines(found.story.iter().map(line).collect()));
    blocks.push(Block::Heading("What is necessary".to_string()));
    blocks.extend(necessary(found, recording));
    if let Some(without) = &found.without {
        blocks.extend(beside(without, actors));
    }
    if let Some(felt) = &found.leads_to {
        blocks.extend(consequence(felt, recording, plan));
    }
    blocks.push(Block::Heading("To look further".to_string()));
    blocks.push(Block::Commands(commands(found, place)));
    Page { title, blocks }
}

fn facts(broken: &Broken) -> Vec<(String, String)> {
    let more = match broken.more {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let mut facts = vec![
        ("promised", broken.promise.to_string()),
        ("but", format!("{}{more}", broken.sentence)),
    ];
    if !broken.rule.is_empty() {
        facts.push(("rule", broken.rule.to_string()));
    }
    if !broken.source.is_empty() {
        facts.push(("source", broken.source.to_string()));
    }
    if let Some(file) = broken.file {
        facts.push(("judged in", format!("crates/checker/{file}")));
    }
    if !broken.skeleton.is_empty() {
        facts.push(("in short", broken.skeleton.join(" → ")));
    }
    facts.into_iter().map(|(name, said)| (name.to_string(), said)).collect()
}

fn line(moment: &Moment) -> PageLine {
    let from = moment.from.filter(|from| *from + 1 < moment.step);
    let from = from.map(|from| format!("(from step {from})"));
    let part = moment.part.map(|part| format!("← {part}"));
    let rules =
        (!moment.rules.is_empty() && !moment.changes.is_empty()).then(|| moment.rules.join(", "));
    let text = moment.part.and_then(|part| moment.text.strip_suffix(&format!(" ({})", kind(part))));
    let text = text.unwrap_or(&moment.text).to_string();
    let event = [Some(text), part, from, rules.map(|rules| format!("[{rules}]"))];
    PageLine {
        step: step(moment.step),
        time: time(moment.at),
        actor: moment.actor.clone(),
        event: event.into_iter().flatten().collect::<Vec<_>>().join("  "),
        notes: moment.changes.clone(),
        mark: match (moment.is_broken, moment.part) {
            (true, _) => Mark::Broken,
            (false, Some(_)) => Mark::Fault,
            (false, None) => Mark::None,
        },
    }
}

/// How a transcript calls the part: strikes have no number there.
fn kind(part: Part) -> String {
    match part {
        Part::Strike(kind, _) | Part::Fault(kind) => kind.to_string(),
        other => other.to_string(),
    }
}

fn necessary(found: &Explanation, recording: &Recording) -> Vec<Block> {
    if found.parts.is_empty() {
        let none = "No fault strikes in this run, and no switch is on: ordinary traffic suffices.";
        return vec![Block::Text(none.to_string())];
    }
    let is_fault = |one: &&Judged| !matches!(one.part, Part::Switch(_));
    let faults = found.parts.iter().filter(is_fault);
    let mut blocks = Vec::new();
    if faults.clone().all(|one| one.need == Need::NotNeeded) {
        let none = "No fault is necessary: ordinary traffic suffices.";
        blocks.push(Block::Text(none.to_string()));
    }
    if !found.is_complete {
        let spent = "Not everything was tried: --runs-max was used up.";
        blocks.push(Block::Text(spent.to_string()));
    }
    let strikes = found.parts.iter().filter(|one| matches!(one.part, Part::Strike(..))).count();
    let head = ["", "part", "what it is", "without it"].map(String::from).to_vec();
    let mut shown: Vec<&Judged> = found.parts.iter().collect();
    shown.sort_by_key(|one| one.need);
    let mut told = 0;
    shown.retain(|one| {
        let is_strike = matches!(one.part, Part::Strike(..));
        told += usize::from(is_strike);
        !is_strike || told <= STRIKES
    });
    let rows = shown.into_iter().map(|one| {
        let what = match (found.strikes(one.part), one.part) {
            (Some((at, text)), Part::Strike(..)) => format!("{at}: {text}"),
            (Some((at, _)), _) => {
                format!("{} (first at {at})", about(one.part, &recording.plan))
            }
            (None, _) => about(one.part, &recording.plan),
        };
        vec![need_word(one.need).to_string(), one.part.to_string(), what, one.without.clone()]
    });
    blocks.push(Block::Table { head, rows: rows.collect() });
    if strikes > STRIKES {
        let more = format!("{strikes} strikes are left when as many as possible are taken away.");
        blocks.push(Block::Text(more));
    }
    blocks
}

/// What is necessary, in a line.
#[must_use]
pub fn needed(found: &Explanation, recording: &Recording) -> String {
    if !found.is_complete {
        return "needed: not found out in so few runs, see eosim explain".to_string();
    }
    let finest = found.necessary();
    let told = finest.iter().take(NEEDED).map(|one| match (found.strikes(one.part), one.part) {
        (Some((at, text)), Part::Strike(..)) => {
            format!("{} at {at} ({})", one.part, text.trim_start_matches("! "))
        }
        _ => format!("{} ({})", one.part, about(one.part, &recording.plan)),
    });
    let told: Vec<String> = told.collect();
    match (told.as_slice(), finest.len()) {
        ([], _) => "needed: no fault, ordinary traffic suffices".to_string(),
        (told, count) if count > NEEDED => {
            format!("needed: {}, and {} more", told.join(", "), count - NEEDED)
        }
        (told, _) => format!("needed: {}", told.join(", ")),
    }
}

fn names(parts: &[Part]) -> String {
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn beside(without: &Without, actors: &[String]) -> Vec<Block> {
    let name = names(&without.parts);
    let mut blocks = vec![Block::Heading(format!("The same run without {name}"))];
    if let Some(parting) = &without.difference.parting {
        let lines = |lines: &[_]| lines.iter().map(|line| page_line(line, actors)).collect();
        blocks.push(Block::Text(format!(
            "ends {}; it parts from the run at step {}, after {} lines that are the same",
            without.verdict,
            parting.step(),
            parting.common
        )));
        blocks.push(Block::Parting(PagePart {
            before: lines(&parting.before[parting.before.len().saturating_sub(3)..]),
            first: ("this run".to_string(), lines(&parting.first)),
            second: (format!("without {name}"), lines(&parting.second)),
        }));
    }
    let head = ["", "this run", "without it"].map(String::from).to_vec();
    let outcomes = without.difference.outcomes.iter().take(OUTCOMES);
    let rows = outcomes.map(|Outcome { what, first, second, .. }| {
        vec![what.clone(), first.clone(), second.clone()]
    });
    blocks.push(Block::Table { head, rows: rows.collect() });
    blocks
}

/// Where clients feel it.
fn consequence(felt: &Consequence, here: &Recording, plan: Option<&str>) -> Vec<Block> {
    let broken = &felt.broken;
    let is_here = felt.recording == *here;
    let run = match (is_here, felt.set.is_empty()) {
        (true, _) => "later in this run".to_string(),
        (false, true) => format!("the same plan at seed {}", felt.recording.seed),
        (false, false) => {
            format!("the same plan at seed {}, with faults at random besides", felt.recording.seed)
        }
    };
    let necessary = felt.necessary();
    let parts = necessary.iter().take(NEEDED).map(|one| {
        let (part, about) = (one.part, about(one.part, &felt.recording.plan));
        format!("{part}: {about}")
    });
    let more = necessary.len().saturating_sub(NEEDED);
    let more = (more > 0).then(|| format!("and {more} more"));
    let needed: Vec<String> = parts.chain(more).collect();
    let needed = match needed.is_empty() {
        true => "no fault, ordinary traffic suffices".to_string(),
        false => needed.join("; "),
    };
    let facts = [("where", run), ("what", format!("{}: {}", broken.what, broken.sentence))];
    let facts = facts.into_iter().chain([("promised", broken.promise.to_string())]);
    let facts = facts.chain([("needed", needed)]).map(|(name, said)| (name.to_string(), said));
    let mut blocks = vec![
        Block::Heading("What it leads to".to_string()),
        Block::Text("Only brokers see it here. This is how clients come to feel it.".to_string()),
        Block::Facts(facts.collect()),
    ];
    let again = plan.filter(|_| !is_here).map(|plan| made_again(felt, plan));
    blocks.extend(again.map(|command| Block::Commands(vec![command])));
    blocks
}

/// The command that runs it.
fn made_again(felt: &Consequence, plan: &str) -> String {
    let sets: String = felt.set.iter().map(|set| format!(" --set {}", quoted(set))).collect();
    let defects = felt.recording.defects.iter();
    let defects: String = defects.map(|one| format!(" --defect {}", one.name())).collect();
    format!("eosim run {} --seed {}{sets}{defects}", quoted(plan), felt.recording.seed)
}

fn commands(found: &Explanation, place: &str) -> Vec<String> {
    let (place, mut commands) = (quoted(place), Vec::new());
    commands.push(format!("eosim show {place} --as timeline > timeline.html"));
    commands.push(format!("eosim show {place} --as transcript"));
    if found.broken.what != "stuck" {
        let step = found.broken.step;
        commands.push(format!("eosim show {place} --as transactions --at {step}"));
        commands.push(format!("eosim show {place} --as dump-log --at {step}"));
    } else {
        commands.push(format!("eosim show {place} --as transactions"));
    }
    if let Some(without) = &found.without {
        let parts: String =
            without.parts.iter().map(|part| format!(" --b-without {part}")).collect();
        commands.push(format!("eosim diff {place}{parts}"));
    }
    commands.push(format!("eosim shrink {place}"));
    commands.push(format!("eosim replay {place}"));
    commands
}

/// The same as JSON.
#[must_use]
pub fn explanation_json(found: &Explanation, recording: &Recording) -> Value {
    let broken = &found.broken;
    let moments = found.story.iter().map(|moment| {
        json!({
            "step": moment.step,
            "at_us": moment.at.0,
            "actor": moment.actor,
            "event": moment.text,
            "from_step": moment.from,
            "rules": moment.rules,
            "changes": moment.changes,
            "part": moment.part.map(|part| part.to_string()),
            "broken": moment.is_broken,
        })
    });
    let parts = found.parts.iter().map(|one| {
        let struck = found.strikes(one.part);
        json!({
            "part": one.part.to_string(),
            "about": about(one.part, &recording.plan),
            "need": need_word(one.need),
            "without": one.without,
            "struck_us": struck.map(|(at, _)| at.0),
            "struck": struck.map(|(_, text)| text),
        })
    });
    json!({
        "format": 1,
        "scenario": recording.plan.name,
        "seed": recording.seed,
        "verdict": broken.what,
        "step": broken.step,
        "at_us": broken.at.0,
        "promise": broken.promise,
        "sentence": broken.sentence,
        "more": broken.more,
        "rule": broken.rule,
        "source": broken.source,
        "skeleton": broken.skeleton,
        "story": moments.collect::<Vec<_>>(),
        "parts": parts.collect::<Vec<_>>(),
        "complete": found.is_complete,
        "without": found.without.as_ref().map(|without| json!({
            "parts": without.parts.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "verdict": without.verdict,
            "difference": super::difference_json(&without.difference),
        })),
        "leads_to": found.leads_to.as_ref().map(|felt| json!({
            "verdict": felt.broken.what,
            "promise": felt.broken.promise,
            "sentence": felt.broken.sentence,
            "step": felt.broken.step,
            "seed": felt.recording.seed,
            "set": felt.set,
            "necessary": felt.necessary().iter().map(|one| one.part.to_string()).collect::<Vec<_>>(),
        })),
    })
}
