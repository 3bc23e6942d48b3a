//! Why a run failed: the broken promise, the few lines that led to it, which parts of the run are
//! necessary, and how the same run goes without one of them.
//!
//! No Kafka counterpart. Everything is found by making the run again, with something taken away or
//! with somebody looking; nothing is known of defects or scenarios.

mod cone;
mod consequence;
mod focus;
mod needs;

use std::collections::BTreeMap;

use eosim_checker::{Anomaly, InvariantInfo, Stuck, Verdict, invariants};
use eosim_types::{Duration, Instant};

use crate::diff::{Difference, common};
use crate::recording::{Recording, word};
use crate::run::{Describe, Glance, named};
use crate::variant::{Guide, Linked, Part, Variant};
use cone::Cone;
pub(crate) use focus::Focus;
use needs::Search;

pub use cone::Moment;
pub use consequence::Consequence;
pub use needs::{Judged, Need};

/// So many runs are made at most, if nothing else is said.
pub const RUNS: u64 = 300;

/// So many strikes and rules are looked for in the run.
const LOCATED: usize = 8;

/// What to explain, and how.
pub struct Explain<'a> {
    /// The run.
    pub recording: &'a Recording,
    /// How many runs may be made to find out what is necessary.
    pub runs: u64,
    /// How lines are put into words.
    pub describe: Describe,
}

/// Why a run failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// What is broken.
    pub broken: Broken,
    /// The lines that led to it.
    pub story: Vec<Moment>,
    /// What can be taken away from the run, and whether it is necessary.
    pub parts: Vec<Judged>,
    /// The lines of necessary parts, by part.
    pub struck: Vec<(Part, Instant, String)>,
    /// The run without one that is necessary.
    pub without: Option<Without>,
    /// Where clients feel it, if only brokers see it here.
    pub leads_to: Option<Consequence>,
    /// There were runs left when everything was tried.
    pub is_complete: bool,
}

/// A broken promise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// The invariant, or `stuck`.
    pub what: &'static str,
    /// At which step it was noticed.
    pub step: u64,
    /// When.
    pub at: Instant,
    /// What happened, in a sentence.
    pub sentence: String,
    /// How many more findings there are.
    pub more: usize,
    /// The rule that promises otherwise; empty if there is none.
    pub rule: &'static str,
    /// What kind of event led to what.
    pub skeleton: Vec<&'static str>,
    /// What was promised.
    pub promise: &'static str,
    /// By whom.
    pub source: &'static str,
    /// The file of the invariant, if it is one.
    pub file: Option<&'static str>,
}

/// The same run without something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Without {
    /// What was taken away.
    pub parts: Vec<Part>,
    /// How it ends, in one word.
    pub verdict: String,
    /// Where it parts from the run that failed, and what comes out otherwise; what the promise was
    /// about comes first.
    pub difference: Difference,
    /// Of the outcomes, so many are about it.
    pub concerned: usize,
}

impl Explanation {
    /// The parts that are necessary, single strikes in the place of their kind; switches aside,
    /// which are what is to be explained.
    #[must_use]
    pub fn necessary(&self) -> Vec<&Judged> {
        necessary(&self.parts)
    }

    /// When the part strikes first, and the line that says so, if it was found.
    #[must_use]
    pub fn strikes(&self, part: Part) -> Option<(Instant, &str)> {
        let found = self.struck.iter().find(|(of, ..)| *of == part);
        found.map(|(_, at, text)| (*at, text.as_str()))
    }
}

/// Why there is nothing to explain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Inexplicable {
    /// The run is not the one that was recorded.
    NotAsRecorded,
    /// Nothing is broken in it.
    NothingBroken(String),
}

/// What is promised of a healed cluster.
const PROGRESS: &str = "Once faults are over, everything that was begun comes to its end.";

impl Explain<'_> {
    /// Explains.
    ///
    /// # Errors
    /// If nothing is broken in the run, or it cannot be made again.
    pub fn run(&self) -> Result<Explanation, Inexplicable> {
        let guide = Guide::of(self.recording);
        let own = Variant::of(self.recording);
        let base = guide.linked(&own, self.describe).ok_or(Inexplicable::NotAsRecorded)?;
        let result = &base.observed.result;
        if (result.digest, result.steps) != (self.recording.digest, self.recording.steps) {
            return Err(Inexplicable::NotAsRecorded);
        }
        let nothing = || Inexplicable::NothingBroken(word(&result.verdict).to_string());
        let broken = Broken::of(&result.verdict, &base).ok_or_else(nothing)?;
        let focus = Focus::of(&subject(&result.verdict), &base.observed);
        let promise = (&result.verdict, &broken, &focus);
        let search = Search::of(self.recording, &guide, &base, promise, self.runs);
        let mut search = search.ok_or_else(nothing)?;
        let parts = search.run();
        let is_complete = search.left > 0;
        let last = search.shown_at;
        let mut located = self.locate(&guide, &base, &parts);
        located.retain(|at, _| base.observed.lines[*at].step <= last);
        let story = story(&guide, &own, (&base, &focus, &broken, &located));
        let without = self.without(&guide, &base, &focus, &parts, &located);
        let lines = &base.observed.lines;
        let struck = located.iter().map(|(at, part)| {
            let line = &lines[*at];
            (*part, line.at, named(&line.text, &base.observed.actors))
        });
        let struck = struck.collect();
        let leads_to = consequence::of(self, &result.verdict);
        Ok(Explanation { broken, story, parts, struck, without, leads_to, is_complete })
    }

    /// The lines in which necessary parts act: there the run parts from the one without them.
    fn locate(&self, guide: &Guide, base: &Linked, parts: &[Judged]) -> BTreeMap<usize, Part> {
        let mut located = BTreeMap::new();
        for part in finest(parts).into_iter().map(|one| one.part).take(LOCATED) {
            if let Part::Strike(kind, nth) = part {
                located.extend(base.strikes(kind).nth(nth - 1).map(|at| (at, part)));
                continue;
            }
            if let Part::Rule(rule) = part {
                located.extend(base.acts(rule).next().map(|at| (at, part)));
                continue;
            }
            let variant = Part::taken_away(&[part], self.recording, guide);
            let Some((_, other)) = guide.record(&variant, self.describe) else { continue };
            let at = common(&base.observed, &other);
            if at < base.observed.lines.len() {
                located.entry(at).or_insert(part);
            }
        }
        located
    }

    /// The run without the necessary part that acted last; without all that would do, if none is
    /// necessary alone.
    fn without(
        &self,
        guide: &Guide,
        base: &Linked,
        focus: &Focus,
        parts: &[Judged],
        located: &BTreeMap<usize, Part>,
    ) -> Option<Without> {
        let needed = parts.iter().filter(|one| one.need == Need::Needed).map(|one| &one.part);
        let needed: Vec<&Part> = needed.collect();
        let is_fault = |part: &&Part| !matches!(part, Part::Switch(_));
        let located = || located.values().filter(|part| needed.contains(part));
        let kind = needed.iter().copied().find(|part| matches!(part, Part::Fault(_)));
        let alone = located().rfind(is_fault).or(kind);
        let alone = alone.or_else(|| located().next_back());
        let taken = match alone {
            Some(part) => vec![*part],
            None => {
                let several = parts.iter().filter(|one| one.need == Need::OneOfSeveral);
                several.map(|one| one.part).collect()
            }
        };
        if taken.is_empty() {
            return None;
        }
        let variant = Part::taken_away(&taken, self.recording, guide);
        let (_, other) = guide.record(&variant, self.describe)?;
        // Strikes that are left have become rules, which is told of each: that is no difference.
        let whole = match taken.as_slice() {
            [Part::Strike(kind, _)] => {
                let none = Part::taken_away(&[Part::Strike(kind, 0)], self.recording, guide);
                guide.record(&none, self.describe).map(|(_, observed)| observed)
            }
            _ => None,
        };
        let mut difference = Difference::between(whole.as_ref().unwrap_or(&base.observed), &other);
        let is_concerned = |what: &str| focus.names(what, &base.observed);
        difference.outcomes.sort_by_key(|outcome| !is_concerned(&outcome.what));
        let concerned =
            difference.outcomes.iter().filter(|outcome| is_concerned(&outcome.what)).count();
        let verdict = word(&other.result.verdict).to_string();
        Some(Without { parts: taken, verdict, difference, concerned })
    }
}

/// The finest necessary ones, switches aside.
fn necessary(parts: &[Judged]) -> Vec<&Judged> {
    let mut necessary = finest(parts);
    necessary.retain(|one| !matches!(one.part, Part::Switch(_)));
    necessary
}

/// The necessary ones, single strikes in the place of their kind.
fn finest(parts: &[Judged]) -> Vec<&Judged> {
    let necessary: Vec<&Judged> = parts.iter().filter(|one| one.is_necessary()).collect();
    let has_strikes = |kind: &str| {
        necessary.iter().any(|one| matches!(one.part, Part::Strike(of, _) if of == kind))
    };
    let is_coarse = |one: &&Judged| matches!(one.part, Part::Fault(kind) if has_strikes(kind));
    necessary.iter().copied().filter(|one| !is_coarse(one)).collect()
}

/// Everything that is said of what is broken, for the choice of lines.
pub(crate) fn subject(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Safety(anomalies) => {
            anomalies.first().map_or_else(String::new, |a| a.summary.clone())
        }
        Verdict::Liveness(stuck) => {
            let all = stuck.iter().take(4).map(|one| format!("{} , {}", one.what, one.waiting_for));
            all.collect::<Vec<_>>().join(" ; ")
        }
        Verdict::Sound | Verdict::Inconclusive(_) => String::new(),
    }
}

fn glance(focus: &Focus) -> Glance {
    let mut glance = Glance::default();
    glance.partitions.extend(&focus.partitions);
    glance.producers.extend(focus.producers.iter().map(|(id, _)| *id));
    glance.ids.extend(&focus.ids);
    glance.groups.extend(&focus.groups);
    glance.brokers.extend(&focus.brokers);
    glance.coordinators.extend(&focus.coordinators);
    glance
}

/// So many steps before the story begins brokers are looked at, to know what changes in it.
const AHEAD: u64 = 300;

fn story(
    guide: &Guide,
    own: &Variant,
    (base, focus, broken, parts): (&Linked, &Focus, &Broken, &BTreeMap<usize, Part>),
) -> Vec<Moment> {
    let broken_at = match base.observed.result.verdict {
        Verdict::Liveness(_) => last_step_before(base, broken.at + Duration::from_millis(2_000)),
        _ => broken.step,
    };
    let cone = Cone { run: base, focus, changes: &[], parts, broken_at };
    let mut glance = glance(focus);
    glance.steps = (cone.begins_at().saturating_sub(AHEAD), broken_at);
    let changes = guide.changes(own, glance);
    let mut story = Cone { changes: &changes, ..cone }.moments();
    if !story.iter().any(|moment| moment.is_broken) {
        story.push(Moment {
            at: broken.at,
            step: broken.step,
            actor: "the checker".to_string(),
            text: format!("{}: {}", broken.what, broken.sentence),
            from: None,
            rules: Vec::new(),
            changes: Vec::new(),
            part: None,
            is_broken: true,
        });
    }
    story
}

fn last_step_before(base: &Linked, at: Instant) -> u64 {
    let lines = base.observed.lines.iter().rev();
    lines.filter(|line| line.step > 0 && line.at <= at).map(|line| line.step).next().unwrap_or(0)
}

/// A panic says more than a line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Broken {
    /// What `verdict` says of `run`.
    fn of(verdict: &Verdict, run: &Linked) -> Option<Self> {
        match verdict {
            Verdict::Safety(anomalies) => Some(Self::safety(anomalies.first()?, anomalies.len())),
            Verdict::Liveness(stuck) => Some(Self::liveness(stuck, run)?),
            Verdict::Sound | Verdict::Inconclusive(_) => None,
        }
    }

    fn safety(first: &Anomaly, count: usize) -> Self {
        let is_it = |info: &&InvariantInfo| info.name == first.invariant;
        let info = invariants().iter().find(is_it);
        Self {
            what: first.invariant,
            step: first.step,
            at: first.at,
            sentence: one_line(&first.summary),
            more: count - 1,
            rule: first.rule,
            skeleton: first.skeleton.clone(),
            promise: info.map_or("No actor finds its own assumptions broken.", |info| info.promise),
            source: info.map_or("", |info| info.source),
            file: info.map(|info| info.file),
        }
    }

    fn liveness(stuck: &[Stuck], run: &Linked) -> Option<Self> {
        let first = stuck.first()?;
        Some(Self {
            what: "stuck",
            step: last_step_before(run, first.since),
            at: first.since,
            sentence: format!(
                "{} waits for {} since {}",
                first.what, first.waiting_for, first.since
            ),
            more: stuck.len() - 1,
            rule: first.rule,
            skeleton: Vec::new(),
            promise: PROGRESS,
            source: "the two phases of a run: faults, then healing and progress",
            file: None,
        })
    }
}
