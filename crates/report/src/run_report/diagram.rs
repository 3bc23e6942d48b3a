//! A run as a sequence diagram of Mermaid: the messages, calls and faults that lead to a step.
//!
//! Bounded to what GitHub and editors draw in one piece; routine traffic is left out.

use std::collections::BTreeSet;
use std::fmt::Write;

use eosim_types::ActorId;
use eosim_types::look::{Moment, MomentKind, Order};

use super::concern::Concerns;
use super::messages::Messages;
use super::{Filter, RunReport, whom};
use crate::json::{Object, list, string};
use crate::transcript::time;

/// At most so many lines are drawn.
const LINES: usize = 40;

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

/// What is chosen of a run, and how many lines up to its end are left out.
struct Chosen<'a> {
    drawn: Vec<Drawn<'a>>,
    left_out: usize,
}

/// The sequence diagram.
#[must_use]
pub fn diagram(run: &RunReport, filter: &Filter) -> String {
    let chosen = choose(run, filter);
    let mut text = String::from("sequenceDiagram\n");
    let mut add = |line: String| writeln!(text, "    {line}").expect("a string takes everything");
    add(format!("%% {} seed {}: {}", run.scenario, run.seed, run.verdict));
    if chosen.left_out > 0 {
        let count = chosen.left_out;
        add(format!("%% {count} lines are left out; --at STEP shows those before a step"));
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
        let changes = run.changes_of(one.moment.step).iter().filter(|_| one.moment.begins_step());
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
        .raw("left_out", chosen.left_out)
        .raw("lines", list(chosen.drawn.iter().map(line)));
    text.end() + "\n"
}

/// The last lines before the step that is asked for which say something; of a broken promise those
/// that concern it most, unless a step or a filter is asked for.
fn choose<'a>(run: &'a RunReport, filter: &Filter) -> Chosen<'a> {
    let messages = Messages::of(run);
    let (routine, passes) = (messages.routine(run), filter.passes(run));
    let target = run.target();
    let end = run.moments.iter().rposition(|one| (1..=target).contains(&one.step));
    let end = end.map_or(0, |end| end + 1);
    let is_drawn = |at: &usize| passes[*at] && !routine[*at] && draw(run, &messages, *at).is_some();
    let lines: Vec<usize> = (0..end).filter(is_drawn).collect();
    let is_about_promise = filter.is_none() && run.at.is_none() && !run.broken.is_empty();
    let chosen = if is_about_promise {
        Concerns::of(run, &messages).best(run, &lines, LINES)
    } else {
        lines[lines.len().saturating_sub(LINES)..].to_vec()
    };
    let left_out = lines.len() - chosen.len();
    let drawn = chosen.into_iter().filter_map(|at| draw(run, &messages, at)).collect();
    Chosen { drawn, left_out }
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
            let sent = moment.source().map(|from| &run.moments[from]);
            let from = sent.map(|sent| sent.actor);
            let since = sent.map_or_else(String::new, |sent| format!(" (sent {})", sent.step));
            one(from, None, text + &since)
        }
        MomentKind::TakesAnswer { is_disconnect: false, .. } => {
            one(moment.source().map(|from| run.moments[from].actor), None, text)
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
    let changes = run.changes_of(moment.step).iter().filter(|_| moment.begins_step()).take(CHANGES);
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
