//! What is told on pages: explanations, differences, states.

mod diff;
mod explain;
mod look;
mod parts;
mod state;

use eosim_report::PageLine;
use eosim_report::transcript::time;
use eosim_runner::run::Line;

pub use diff::{Sides, difference, difference_json};
pub use explain::{explanation, explanation_json, needed};
pub use look::run_report;
pub use parts::{about, need_word};
pub use state::{Shown, state, state_json};

/// A step; nothing for what the world does.
fn step(step: u64) -> String {
    if step == 0 { String::new() } else { step.to_string() }
}

/// A line of a transcript, as it stands on a page.
fn page_line(line: &Line, actors: &[String]) -> PageLine {
    let name = actors.get(usize::from(line.actor.0));
    PageLine {
        step: step(line.step),
        time: time(line.at),
        actor: name.cloned().unwrap_or_default(),
        event: eosim_runner::run::named(&line.text, actors),
        ..PageLine::default()
    }
}
