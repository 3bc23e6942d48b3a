//! How much each line concerns the broken promise, and which of them tell its story.

use std::collections::BTreeMap;

use eosim_types::look::{Moment, MomentKind, Order};

use super::RunReport;
use super::messages::Messages;

/// Lines that concern the promise this much name its record, or its transaction with its epoch.
const CLOSE: u32 = 5;

/// Lines that concern it this much name a record or an id.
const LOOSE: u32 = 2;

/// A step that writes a marker where it matters is worth so much more: the epoch of a marker is not
/// that of its transaction.
const MARKER: u32 = 3;

/// What a fault befell is worth so much more.
const STRUCK: u32 = 2;

/// If fewer lines than this concern it closely, those that do so loosely count, too.
const FEW: usize = 8;

/// What the lines of a run have to do with its broken promise.
pub(super) struct Concerns {
    of: Vec<u32>,
    least: u32,
}

impl Concerns {
    pub(super) fn of(run: &RunReport, messages: &Messages) -> Self {
        let line = |moment| concern(run, messages, moment);
        let of: Vec<u32> = run.moments.iter().map(line).collect();
        let close = of.iter().filter(|concern| **concern >= CLOSE).count();
        Self { of, least: if close >= FEW { CLOSE } else { LOOSE } }
    }

    /// Does the line concern it? What befalls processes and networks may.
    pub(super) fn is_it(&self, run: &RunReport, at: usize) -> bool {
        self.of[at] >= self.least || is_order(&run.moments[at])
    }

    /// At most `count` of `lines`, those that concern it most; what looks like another counts less.
    pub(super) fn best(&self, run: &RunReport, lines: &[usize], count: usize) -> Vec<usize> {
        let mut by_worth = lines.to_vec();
        by_worth.sort_by_key(|&at| std::cmp::Reverse((self.of[at], at)));
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        let rated = by_worth.into_iter().map(|at| {
            let times = seen.entry(shape(&run.moments[at])).or_default();
            let worth = self.of[at].saturating_sub(*times / 2);
            *times += 1;
            (std::cmp::Reverse(worth), std::cmp::Reverse(at))
        });
        let mut rated: Vec<_> = rated.collect();
        rated.sort_unstable();
        let end = lines.iter().rfind(|at| is_end(run, &run.moments[**at]));
        let chosen = rated.into_iter().filter(|(worth, _)| worth.0 >= LOOSE).map(|(_, at)| at.0);
        let chosen = chosen.filter(|at| Some(at) != end).take(count - 1);
        let mut chosen: Vec<usize> = chosen.chain(end.copied()).collect();
        chosen.sort_unstable();
        chosen
    }
}

/// How much a line, or the request that it is about, concerns the broken promise.
fn concern(run: &RunReport, messages: &Messages, moment: &Moment) -> u32 {
    let exchange = Messages::request_of(moment).and_then(|one| messages.exchanges.get(&one));
    let lines = exchange.into_iter().flat_map(|one| {
        let taken = one.answered.map(|(_, taken)| taken);
        one.sent.into_iter().chain(one.taken.iter().copied()).chain(taken)
    });
    let own = lines.map(|at| run.moments[at].concern).chain([moment.concern]).max().unwrap_or(0);
    let is_marker = matches!(moment.kind, MomentKind::TakesRequest { .. })
        && run.changes_of(moment.step).iter().any(|change| change.text.contains(" marker at "));
    let is_struck = exchange.is_some_and(|one| one.is_struck);
    let more = MARKER * u32::from(is_marker) + STRUCK * u32::from(is_struck);
    let own = if is_order(moment) { own.max(LOOSE) } else { own };
    if own >= LOOSE { own + more } else { own }
}

/// Is something done to a process or to the network?
fn is_order(moment: &Moment) -> bool {
    matches!(moment.kind, MomentKind::Commanded(order) if order != Order::Quiet)
}

/// Does an application see there that the promise is broken?
fn is_end(run: &RunReport, moment: &Moment) -> bool {
    moment.step == run.target() && moment.kind == MomentKind::Observes
}

/// A line without its numbers and values: what is told alike looks alike.
fn shape(moment: &Moment) -> String {
    let words = moment.text.split_whitespace().take(4);
    let letters = words.map(|word| word.trim_matches(|c: char| !c.is_alphabetic()));
    format!("{} {}", moment.actor, letters.collect::<Vec<_>>().join(" "))
}
