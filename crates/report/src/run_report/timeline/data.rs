//! What is drawn on a timeline, as JSON: lanes, lines, arrows, lives of processes, and how things
//! stand.
//!
//! Short lists in the place of objects, as there are thousands: the script beside it knows them.

use std::collections::BTreeMap;

use eosim_types::ActorId;
use eosim_types::look::{MomentKind, Order, Turned};

use super::super::messages::{Exchange, Messages};
use super::super::{RunReport, whom};
use super::{Window, is_broken, kind, state};
use crate::json::{Object, list, string};

/// A message: from where to where, and what became of it.
const REQUEST: u8 = 0;
const ANSWER: u8 = 1;
const LOST: u8 = 2;

/// All of it.
pub(super) fn data(run: &RunReport, window: &Window) -> String {
    let rows: BTreeMap<usize, usize> =
        window.rows.iter().enumerate().map(|(row, at)| (*at, row)).collect();
    let target = run.broken.iter().map(|(step, _)| *step);
    let text = Object::new()
        .raw("format", 1)
        .string("scenario", &run.scenario)
        .raw("seed", run.seed)
        .string("verdict", &run.verdict)
        .raw("at", run.at.unwrap_or(0))
        .raw("broken", list(target.map(|step| step.to_string())))
        .raw("actors", list(run.actors.iter().map(|name| string(name))))
        .raw("brokers", list(brokers(run).into_iter().map(|id| id.0.to_string())))
        .raw("rows", list(window.rows.iter().map(|&at| row(run, window, at))))
        .raw("arrows", list(arrows(run, &rows)))
        .raw("lives", list(lives(run, window)));
    state::state(run, window, text).end()
}

/// The actors that hold replicas.
fn brokers(run: &RunReport) -> Vec<ActorId> {
    let is_of_broker = |what: &Turned| !matches!(what, Turned::Client(_));
    let brokers = run.turns.iter().filter(|turn| is_of_broker(&turn.what));
    let mut brokers: Vec<ActorId> = brokers.map(|turn| turn.actor).collect();
    brokers.sort_unstable();
    brokers.dedup();
    brokers
}

/// `[step, µs, actor, class, flags, rules, changes]`: 1 is routine, 2 broken, 4 of concern.
fn row(run: &RunReport, window: &Window, at: usize) -> String {
    let moment = &run.moments[at];
    let flags = u8::from(window.routine[at])
        + 2 * u8::from(is_broken(run, moment))
        + 4 * u8::from(window.concerns.is_it(run, at));
    let (step, time, actor) = (moment.step, moment.at.0, whom(moment).0);
    let class = string(kind(moment).0);
    let rules = list(moment.rules.iter().map(|rule| string(rule)));
    let changes = run.changes_of(step).iter().filter(|_| moment.begins_step());
    let changes = list(changes.map(|change| string(&change.text)));
    format!("[{step},{time},{actor},{class},{flags},{rules},{changes}]")
}

/// `[row, actor, row, actor, kind]`; a row that is not shown is -1.
fn arrows(run: &RunReport, rows: &BTreeMap<usize, usize>) -> Vec<String> {
    let place = |at: usize| rows.get(&at).map_or_else(|| "-1".to_string(), ToString::to_string);
    let mut arrows = Vec::new();
    let mut add = |from: usize, to: Option<usize>, whom: ActorId, kind: u8| {
        let is_shown = rows.contains_key(&from) || to.is_some_and(|to| rows.contains_key(&to));
        if is_shown {
            let (first, sender) = (place(from), run.moments[from].actor);
            let last = to.map_or_else(|| "-1".to_string(), place);
            arrows.push(format!("[{first},{sender},{last},{whom},{kind}]"));
        }
    };
    for exchange in Messages::of(run).exchanges.values() {
        let Exchange { sent, taken, answered, to, lost, .. } = exchange;
        for (sent, taken) in sent.iter().flat_map(|sent| taken.iter().map(move |at| (*sent, *at))) {
            add(sent, Some(taken), run.moments[taken].actor, REQUEST);
        }
        if let (Some(sent), Some(to), true, true) = (sent, to, lost[0], taken.is_empty()) {
            add(*sent, None, *to, LOST);
        }
        if let Some((from, taken)) = answered {
            add(*from, Some(*taken), run.moments[*taken].actor, ANSWER);
        }
        if let (Some(sent), Some(taken), true, None) = (sent, taken.last(), lost[1], answered) {
            add(*taken, None, run.moments[*sent].actor, LOST);
        }
    }
    arrows
}

/// `[row, actor, what]`: from which row on a process is down, up, stalled, or goes on.
fn lives(run: &RunReport, window: &Window) -> Vec<String> {
    let mut lives = Vec::new();
    for (at, moment) in run.moments.iter().enumerate() {
        let MomentKind::Commanded(order) = moment.kind else { continue };
        let (actor, what) = match order {
            Order::Dies(actor) => (actor, "d"),
            Order::Restarts(actor) => (actor, "u"),
            Order::Stalls(actor) => (actor, "s"),
            Order::GoesOn(actor) => (actor, "g"),
            Order::Other | Order::Quiet => continue,
        };
        let row = window.rows.partition_point(|shown| *shown < at);
        lives.push(format!("[{row},{actor},\"{what}\"]"));
    }
    lives
}
