//! The verdict over one run, as a footer whose last line is a command to paste.
//!
//! No Kafka counterpart. Nothing is printed but what was measured.

use eosim_checker::{Anomaly, Stuck, Verdict};
use eosim_types::Instant;

use crate::dump_log::line;
use crate::shell::quoted;

/// Which run a verdict is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunName<'a> {
    /// The scenario.
    pub scenario: &'a str,
    /// The seed.
    pub seed: u64,
    /// How many steps the run took.
    pub steps: u64,
    /// How long it lasted, virtual time.
    pub ended: Instant,
    /// The folder that holds its artefacts, if they are kept.
    pub folder: Option<&'a str>,
    /// An explanation is kept there, too.
    pub is_explained: bool,
}

/// A verdict in one line if the run is sound, else with its reason and how to repeat it.
#[must_use]
pub fn footer(verdict: &Verdict, run: RunName<'_>) -> String {
    footer_with(verdict, run, &[])
}

/// The same, with what else there is to say about a broken promise.
#[must_use]
pub fn footer_with(verdict: &Verdict, run: RunName<'_>, notes: &[String]) -> String {
    let mut text = String::new();
    match verdict {
        Verdict::Sound => {
            line(&mut text, format_args!("sound   {}", at(run, run.steps, run.ended)));
        }
        Verdict::Safety(anomalies) => safety(&mut text, anomalies, run, notes),
        Verdict::Liveness(stuck) => liveness(&mut text, stuck, run, notes),
        Verdict::Inconclusive(why) => {
            line(&mut text, format_args!("INCONCLUSIVE   {}", at(run, run.steps, run.ended)));
            line(&mut text, format_args!("  {why}"));
        }
    }
    if *verdict != Verdict::Sound {
        reproduce(&mut text, run);
    }
    text
}

fn at(run: RunName<'_>, step: u64, at: Instant) -> String {
    format!("scenario={} seed={} step={step} t={at}", run.scenario, run.seed)
}

fn safety(text: &mut String, anomalies: &[Anomaly], run: RunName<'_>, notes: &[String]) {
    let Some(first) = anomalies.first() else { return };
    let place = at(run, first.step, first.at);
    line(text, format_args!("VIOLATION {}   {place}", first.invariant));
    line(text, format_args!("  {}", first.summary));
    let mut others: Vec<&str> = anomalies.iter().skip(1).map(|one| one.invariant).collect();
    others.sort_unstable();
    others.dedup();
    more(text, anomalies.len(), &others);
    notes.iter().for_each(|note| line(text, format_args!("  {note}")));
    match run.folder {
        Some(folder) => {
            let rule = first.rule;
            let file = if run.is_explained { "explain.md" } else { "transcript.txt" };
            line(text, format_args!("  rule {rule} · shown in {folder}/{file}"));
        }
        None => line(text, format_args!("  rule {}", first.rule)),
    }
}

fn liveness(text: &mut String, stuck: &[Stuck], run: RunName<'_>, notes: &[String]) {
    let Some(first) = stuck.first() else { return };
    line(text, format_args!("STUCK   {}", at(run, run.steps, run.ended)));
    let Stuck { what, waiting_for, since, rule } = first;
    line(text, format_args!("  {what} waits for {waiting_for} since {since}"));
    more(text, stuck.len(), &[]);
    if !rule.is_empty() {
        line(text, format_args!("  rule {rule} would free it"));
    }
    notes.iter().for_each(|note| line(text, format_args!("  {note}")));
    if let (Some(folder), true) = (run.folder, run.is_explained) {
        line(text, format_args!("  shown in {folder}/explain.md"));
    }
}

fn more(text: &mut String, count: usize, names: &[&str]) {
    if count > 1 {
        let names =
            if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        line(text, format_args!("  and {} more{names}", count - 1));
    }
}

fn reproduce(text: &mut String, run: RunName<'_>) {
    match run.folder {
        Some(folder) => {
            let choices = quoted(&format!("{folder}/choices.json"));
            line(text, format_args!("  reproduce: eosim replay {choices}"));
        }
        None => {
            let (scenario, seed) = (quoted(run.scenario), run.seed);
            line(text, format_args!("  reproduce: eosim run {scenario} --seed {seed}"));
        }
    }
}
