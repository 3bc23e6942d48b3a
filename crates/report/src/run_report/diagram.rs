//! A run as a sequence diagram of Mermaid: the messages, calls and faults that lead to a step.
//!
//! Bounded to what GitHub and editors draw in one piece; routine traffic is left out.

use std::collections::BTreeSet;
use std::fmt::Write;

use eosim_types::ActorId;
use eosim_types::look::{Moment, MomentKind, Order};

use super::messages::Messages;
use super::{Filter, RunReport, whom};
use crate::json::{Object, list, string};
use crate::transcript::time;

/// At most so many lines are drawn.
const LINES: usize = 40;

/// If fewer lines than this concern the broken promise closely, those that do so loosely are drawn.
const FEW: usize = 8;

/// A text is cut after so many characters.
const WIDTH: usize = 110;

/// So many changes of one step are noted.
const CHANGES: usize = 3;

/// Something that is drawn.
struct Drawn<'a> {
    moment: &'a Moment,
    /// From whom, if it is a message.
    from: Option<ActorId>,
    /// To whom, if it is a message that does not arrive.
    lost_to: Option<ActorId>,
    text: String,
}

/// What is chosen of a run, and how many lines before it are left out.
struct Chosen<'a> {
    drawn: Vec<Drawn<'a>>,
    earlier: usize,
}

/// The sequence diagram.
#[must_use]
pub fn diagram(run: &RunReport, filter: &Filter) -> String {
    let chosen = choose(run, filter);
    let mut text = String::from("sequenceDiagram\n");
    let mut add = |line: String| writeln!(text, "    {line}").expect("a string takes everything");
    add(format!("%% {} seed {}: {}", run.scenario, run.seed, run.verdict));
    if chosen.earlier > 0 {
        add(format!("%% {} earlier lines are left out (--at STEP shows them)", chosen.earlier));
    }
    for actor in actors(&chosen.drawn) {
        add(format!("participant a{} as {}", actor.0, safe(run.actor(actor))));
    }
    for one in &chosen.drawn {
        lines(one, run).into_iter().for_each(&mut add);
    }
    for (step, what) in run.broken.iter().take(1).filter(|(step, _)| *step == run.target()) {
        let drawn = chosen.drawn.iter().rev().find(|one| one.moment.step == *step);
        if let Some(actor) = drawn.map(|one| one.moment.actor) {
            add(format!("Note over a{}: ✗ {}", actor.0, safe(what)));
        }
    }
    text
}

/// The same as one JSON value.
#[must_use]
pub fn diagram_json(run: &RunReport, filter: &Filter) -> String {
    let chosen = choose(run, filter);
    let line = |one: &Drawn<'_>| {
        let actor = run.actor(one.moment.actor);
        let object = Object::new()
            .raw("step", one.moment.step)
            .raw("at_us", one.moment.at.0)
            .string("actor", actor);
        let object = match (one.from, one.lost_to) {
            (Some(from), _) => object.string("from", run.actor(from)),
            (None, Some(to)) => object.string("lost_to", run.actor(to)),
            (None, None) => object,
        };
        let changes = run.changes_of(one.moment.step).iter().filter(|_| starts(one.moment));
        let changes = list(changes.map(|change| string(&change.text)));
        object.string("text", &one.text).raw("changes", changes).end()
    };
    let actors = actors(&chosen.drawn).into_iter().map(|actor| string(run.actor(actor)));
    let text = Object::new()
        .raw("format", 1)
        .string("scenario", &run.scenario)
        .raw("seed", run.seed)
        .string("verdict", &run.verdict)
        .raw("actors", list(actors))
        .raw("left_out", chosen.earlier)
        .raw("lines", list(chosen.drawn.iter().map(line)));
    text.end() + "\n"
}

/// The last lines before the step that is asked for which say something; of a broken promise those
/// that concern it, unless a filter says otherwise.
fn choose<'a>(run: &'a RunReport, filter: &Filter) -> Chosen<'a> {
    let messages = Messages::of(run);
    let (routine, passes) = (messages.routine(run), filter.passes(run));
    let target = run.target();
    let end = run.moments.iter().rposition(|one| (1..=target).contains(&one.step));
    let end = end.map_or(0, |end| end + 1);
    let mut drawn: Vec<(u32, Drawn<'a>)> = Vec::new();
    for (at, moment) in run.moments.iter().enumerate().take(end) {
        if passes[at] && !routine[at] {
            let concern = concern(run, &messages, moment);
            drawn.extend(draw(run, &messages, at).map(|one| (concern, one)));
        }
    }
    if filter.is_none() && !run.broken.is_empty() {
        let count = |least: u32| drawn.iter().filter(|(concern, _)| *concern >= least).count();
        let least = (1..=2).rev().find(|least| count(*least) >= FEW).unwrap_or(0);
        drawn.retain(|(concern, one)| *concern >= least || is_end(run, one.moment));
    }
    let earlier = drawn.len().saturating_sub(LINES);
    let drawn = drawn.into_iter().skip(earlier).map(|(_, one)| one).collect();
    Chosen { drawn, earlier }
}

/// Is it of the step in which the promise is broken?
fn is_end(run: &RunReport, moment: &Moment) -> bool {
    moment.step == run.target() && moment.kind == MomentKind::Observes
}

/// How much a line, or the request that it is about, concerns the broken promise.
fn concern(run: &RunReport, messages: &Messages, moment: &Moment) -> u32 {
    let exchange = Messages::request_of(moment).and_then(|one| messages.exchanges.get(&one));
    let lines = exchange.into_iter().flat_map(|one| {
        one.sent.into_iter().chain(one.taken.iter().copied()).chain(one.answered.map(|at| at.1))
    });
    lines.map(|at| run.moments[at].concern).chain([moment.concern]).max().unwrap_or(0)
}

/// How a line is drawn: a message where it is taken, or where it is lost.
fn draw<'a>(run: &'a RunReport, messages: &Messages, at: usize) -> Option<Drawn<'a>> {
    let moment = &run.moments[at];
    let text = content(&moment.text);
    let one = |from, lost_to, text| Some(Drawn { moment, from, lost_to, text });
    let exchange = Messages::request_of(moment).and_then(|one| messages.exchanges.get(&one));
    match moment.kind {
        MomentKind::Sends { .. } | MomentKind::Timer => None,
        MomentKind::TakesRequest { .. } => {
            let sent = moment.from.map(|from| &run.moments[from]);
            let from = sent.map(|sent| sent.actor);
            let since = sent.map_or_else(String::new, |sent| format!(" (sent {})", sent.step));
            one(from, None, text + &since)
        }
        MomentKind::TakesAnswer { is_disconnect: false, .. } => {
            one(moment.from.map(|from| run.moments[from].actor), None, text)
        }
        MomentKind::TakesAnswer { .. } => {
            let api = exchange.map_or("", |one| one.api.as_str());
            one(None, None, format!("{api} disconnected"))
        }
        MomentKind::Befalls { is_answer: false, is_lost: true, .. } => {
            one(None, exchange.and_then(|one| one.to), text)
        }
        MomentKind::Befalls { is_answer: true, is_lost: true, .. } => {
            let to = exchange.and_then(|one| one.sent).map(|sent| run.moments[sent].actor);
            one(None, to, text)
        }
        MomentKind::Commanded(Order::Quiet) => None,
        _ => one(None, None, text),
    }
}

/// A line without its sign and without the other side, which the arrow tells.
fn content(text: &str) -> String {
    let rest =
        text.strip_prefix("<- ").map(|rest| rest.split_once(' ').map_or("", |(_, rest)| rest));
    let rest = rest.unwrap_or_else(|| text.trim_start_matches(['*', '!', ' ']));
    rest.to_string()
}

/// Whoever is in the diagram, in the order of their numbers.
fn actors(drawn: &[Drawn<'_>]) -> BTreeSet<ActorId> {
    let all = drawn.iter().flat_map(|one| [Some(whom(one.moment)), one.from, one.lost_to]);
    all.flatten().collect()
}

fn starts(moment: &Moment) -> bool {
    use MomentKind::{Starts, TakesAnswer, TakesRequest, Timer};
    matches!(moment.kind, Starts | Timer | TakesRequest { .. } | TakesAnswer { .. })
}

fn lines(one: &Drawn<'_>, run: &RunReport) -> Vec<String> {
    let moment = one.moment;
    let (actor, text) = (whom(moment).0, safe(&one.text));
    let when = if moment.step == 0 { time(moment.at) } else { moment.step.to_string() };
    let first = match (one.from, one.lost_to, moment.kind) {
        (Some(from), _, MomentKind::TakesAnswer { .. }) => {
            format!("a{}-->>a{actor}: {when} {text}", from.0)
        }
        (Some(from), ..) => format!("a{}->>a{actor}: {when} {text}", from.0),
        (None, Some(to), _) => format!("a{actor}-xa{}: {when} ⚡ {text}", to.0),
        (None, None, MomentKind::Befalls { .. } | MomentKind::Commanded(_)) => {
            format!("Note over a{actor}: {when} ⚡ {text}")
        }
        (None, None, _) => format!("Note over a{actor}: {when} {text}"),
    };
    let changes = run.changes_of(moment.step).iter().filter(|_| starts(moment)).take(CHANGES);
    let changes: Vec<String> = changes.map(|change| safe(&change.text)).collect();
    let note = format!("Note over a{actor}: {}", changes.join("<br/>"));
    std::iter::once(first).chain((!changes.is_empty()).then_some(note)).collect()
}

/// `text` in which Mermaid sees nothing of its own, cut if it is too long.
fn safe(text: &str) -> String {
    let mut safe = String::new();
    for letter in text.chars().take(WIDTH) {
        match letter {
            ';' => safe += "#59;",
            '#' => safe += "#35;",
            '<' => safe += "#lt;",
            '>' => safe += "#gt;",
            '%' => safe += "#37;",
            '\n' | '\r' => safe.push(' '),
            _ => safe.push(letter),
        }
    }
    if text.chars().nth(WIDTH).is_some() {
        safe.push('…');
    }
    safe
}
