//! Where two runs part, and in what they come out differently.
//!
//! Lines are compared by time, step, name of the actor and text; what is not told differs only in
//! the digest.

pub(crate) mod outcome;

use crate::recording::Observed;
use crate::run::Line;

pub use outcome::{Of, Outcome};

/// So many lines before the parting are shown, and so many of either run behind it.
const CONTEXT: usize = 6;

/// The difference between two runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Where they part; `None` if no line differs.
    pub parting: Option<Parting>,
    /// In what they come out differently.
    pub outcomes: Vec<Outcome>,
}

/// Where two runs part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parting {
    /// How many lines of both are the same.
    pub common: usize,
    /// The last of these.
    pub before: Vec<Line>,
    /// How the first run goes on; empty if it has ended.
    pub first: Vec<Line>,
    /// How the second one does.
    pub second: Vec<Line>,
}

impl Difference {
    /// Between two runs that were watched.
    #[must_use]
    pub fn between(first: &Observed, second: &Observed) -> Self {
        let outcomes = outcome::different(first, second);
        Self { parting: Parting::of(first, second), outcomes }
    }

    /// Nothing is different.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.parting.is_none() && self.outcomes.is_empty()
    }
}

impl Parting {
    fn of(first: &Observed, second: &Observed) -> Option<Self> {
        let common = common(first, second);
        let (one, two) = (&first.lines, &second.lines);
        if common == one.len() && common == two.len() {
            return None;
        }
        let behind = |lines: &[Line]| lines[common..].iter().take(CONTEXT).cloned().collect();
        Some(Self {
            common,
            before: one[common.saturating_sub(CONTEXT)..common].to_vec(),
            first: behind(one),
            second: behind(two),
        })
    }

    /// The step at which they part: of the first line that is of one run alone, or of the last that
    /// is of both.
    #[must_use]
    pub fn step(&self) -> u64 {
        let mut behind = self.first.iter().chain(&self.second);
        let of_step = |line: &&Line| line.step > 0;
        let last = self.before.iter().rev().find(of_step);
        behind.find(of_step).or(last).map_or(0, |line| line.step)
    }
}

/// How many lines at the beginning of two runs are the same.
pub(crate) fn common(first: &Observed, second: &Observed) -> usize {
    let is_same = |(one, two): &(&Line, &Line)| {
        let (called, too) = (first.actor(one.actor), second.actor(two.actor));
        (one.at, one.step, called, &one.text) == (two.at, two.step, too, &two.text)
    };
    first.lines.iter().zip(&second.lines).take_while(is_same).count()
}
