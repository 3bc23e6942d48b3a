//! The transcript of a run: who did what when.
//!
//! No Kafka counterpart. The lines are made while the run goes on; this file owns the layout.

use eosim_types::{ActorId, Instant};

use crate::dump_log::line;

/// One line of a transcript.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Virtual time.
    pub at: Instant,
    /// The step of the run.
    pub step: u64,
    /// To whom it happened.
    pub actor: ActorId,
    /// What happened, in one line.
    pub event: String,
}

const LEGEND: &str = "\
# step   number of the step within the run (--at STEP); 0 for what the world does
# time   virtual time since the run began, seconds
# actor  to whom it happened; [n] names it by number
# <- x   it takes a request of the actor x, or the answer to its own request x
# -> x   it sends a request to the actor x; #n names the request
#  * x   its application does or learns x
#  ! x   the world does x: a fault, or healing
# p/e    producer id and producer epoch, as in 0/3; -1/-1 is none
# seq    base sequence of a batch; n@o is n records from offset o on
#";

/// Virtual time as lines have it: seconds, to the microsecond.
#[must_use]
pub fn time(at: Instant) -> String {
    format!("{}.{:06}", at.0 / 1_000_000, at.0 % 1_000_000)
}

/// `lines` in columns below a legend; `actors` are the names by number.
#[must_use]
pub fn transcript(actors: &[String], lines: &[Line]) -> String {
    let width = actors.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(5);
    let mut text = String::new();
    line(&mut text, format_args!("{LEGEND}"));
    for (number, name) in actors.iter().enumerate() {
        line(&mut text, format_args!("# [{number}] {name}"));
    }
    line(&mut text, format_args!("\n{:>7} {:>12} {:<width$} event", "step", "time", "actor"));
    for Line { at, step, actor, event } in lines {
        let number = actor.to_string();
        let name = actors.get(usize::from(actor.0)).unwrap_or(&number);
        let at = time(*at);
        line(&mut text, format_args!("{step:>7} {at:>12} {name:<width$} {event}"));
    }
    text
}
