//! What happened in one run, for people and for other tools.
//!
//! A form for other tools is one file and one line of [`FORMS`]; what `show` draws of a run, the
//! sequence diagram and the timeline, is beside them. Nothing depends on the wall clock or on a
//! machine; each form is bounded and says what it leaves out.

mod chrome_trace;
mod concern;
mod diagram;
mod filter;
mod messages;
mod shiviz;
mod timeline;

use eosim_types::look::{Change, Moment, MomentKind, Order, Turn};
use eosim_types::{ActorId, Instant, Names};

pub use diagram::{diagram, diagram_json};
pub use filter::Filter;
pub use timeline::{timeline, timeline_json};

use crate::transcript::Line;

/// What is known of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunReport {
    /// Its scenario.
    pub scenario: String,
    /// Its seed.
    pub seed: u64,
    /// How it ended, in one word.
    pub verdict: String,
    /// Where promises are seen to be broken: at which step, and how.
    pub broken: Vec<(u64, String)>,
    /// Steps of the whole run.
    pub steps: u64,
    /// The step that is asked for, if not where the promise is broken.
    pub at: Option<u64>,
    /// The names of the actors: the controller, the brokers, the clients.
    pub actors: Vec<String>,
    /// The strings behind the numbers.
    pub names: Names,
    /// The lines of its transcript.
    pub moments: Vec<Moment>,
    /// What stands otherwise after which step.
    pub turns: Vec<Turn>,
    /// The same in words.
    pub changes: Vec<Change>,
}

/// A form of the report on one run.
#[derive(Clone, Copy)]
pub struct RunForm {
    /// What it is called.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Renders it.
    pub render: fn(&RunReport) -> String,
}

/// All forms.
pub const FORMS: &[RunForm] = &[
    RunForm {
        name: "chrome-trace",
        about: "One run as Perfetto and chrome://tracing open it",
        render: chrome_trace::chrome_trace,
    },
    RunForm {
        name: "shiviz",
        about: "One run as a log of ShiViz, with vector clocks",
        render: shiviz::shiviz,
    },
];

impl RunReport {
    /// What the actor is called.
    fn actor(&self, id: ActorId) -> &str {
        self.actors.get(usize::from(id.0)).map_or("?", String::as_str)
    }

    /// Up to which step things led to what is asked for: where the promise is broken, or the end.
    #[must_use]
    pub fn target(&self) -> u64 {
        let broken = self.broken.first().map(|(step, _)| *step);
        self.at.or(broken).unwrap_or(u64::MAX)
    }

    /// What stands otherwise after the step, in words.
    fn changes_of(&self, step: u64) -> &[Change] {
        let from = self.changes.partition_point(|change| change.step < step);
        let to = self.changes.partition_point(|change| change.step <= step);
        if step == 0 { &[] } else { &self.changes[from..to] }
    }

    /// When its last line was.
    fn ended(&self) -> Instant {
        self.moments.last().map_or(Instant::START, |last| last.at)
    }

    /// The lines that `filter` lets through, as a transcript has them.
    #[must_use]
    pub fn lines(&self, filter: &Filter) -> Vec<Line> {
        let passes = filter.passes(self);
        let chosen = self.moments.iter().zip(passes).filter(|(_, passes)| *passes);
        let line = |(moment, _): (&Moment, bool)| Line {
            at: moment.at,
            step: moment.step,
            actor: moment.actor,
            event: indented(moment),
        };
        chosen.map(line).collect()
    }
}

/// What is decided in a step, and what the world does, stands below the step.
fn indented(moment: &Moment) -> String {
    let is_below = ["-> ", "* ", "! "].iter().any(|sign| moment.text.starts_with(sign));
    if is_below { format!("   {}", moment.text) } else { moment.text.clone() }
}

/// Whom a line is about: of an order, the process that it concerns.
const fn whom(moment: &Moment) -> ActorId {
    match moment.kind {
        MomentKind::Commanded(
            Order::Dies(actor)
            | Order::Restarts(actor)
            | Order::Stalls(actor)
            | Order::GoesOn(actor),
        ) => actor,
        _ => moment.actor,
    }
}
