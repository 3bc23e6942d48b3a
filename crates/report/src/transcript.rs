//! The transcript of a run: who did what when.
//!
//! No Kafka counterpart. A line is made from what the world reports; this file owns the layout.

use eosim_types::Instant;

use crate::dump_log::line;

/// One line of a transcript.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line<'a> {
    /// Virtual time.
    pub at: Instant,
    /// The step of the run.
    pub step: u64,
    /// To whom it happened.
    pub actor: &'a str,
    /// What happened, in one line.
    pub event: String,
}

const LEGEND: &str = "\
# step     number of the step within the run (--at STEP)
# time     virtual time since the run began
# actor    to whom it happened
# → API    a request leaves for the actor named    ← API  its answer arrives
# ⇒ API    a request is taken from the actor named ⇐ API  its answer leaves
# p/e      producer id and producer epoch, as in 0/3; -1/-1 is none
# seq      base sequence of a batch; n@o is n records at base offset o
#";

/// The lines with a legend, in columns.
#[must_use]
pub fn transcript(lines: &[Line<'_>]) -> String {
    let width = lines.iter().map(|line| line.actor.chars().count()).max().unwrap_or(0).max(5);
    let mut text = String::new();
    line(&mut text, format_args!("{LEGEND}"));
    line(&mut text, format_args!("{:>8} {:>12} {:<width$} event", "step", "time", "actor"));
    for Line { at, step, actor, event } in lines {
        let at = format!("{}.{:06}", at.0 / 1_000_000, at.0 % 1_000_000);
        line(&mut text, format_args!("{step:>8} {at:>12} {actor:<width$} {event}"));
    }
    text
}
