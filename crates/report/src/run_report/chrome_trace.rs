//! A run as Chrome's trace format: Perfetto and `chrome://tracing` open it.
//!
//! Virtual microseconds. Each actor is a process with a track of its steps; requests, transactions,
//! and times in which a process is down or stalled are spans of it; messages are flows between steps;
//! faults and what applications learn are instants; bounds of partitions are counters.
//!
//! Invariants: every span that begins ends, every flow has both its ends.

use std::collections::BTreeMap;

use eosim_types::look::{Moment, MomentKind, Order, Turn, Turned};
use eosim_types::{ActorId, Instant};

use super::RunReport;
use super::messages::{Exchange, Messages, api};
use crate::json::{Object, list, string};

/// At most so many lines of a run are written, the last ones.
const LINES: usize = 200_000;

/// The events so far.
struct Trace<'a> {
    run: &'a RunReport,
    events: Vec<String>,
}

/// The trace.
pub(super) fn chrome_trace(run: &RunReport) -> String {
    let begin = run.moments.len().saturating_sub(LINES);
    let mut trace = Trace { run, events: Vec::new() };
    trace.actors();
    for (at, moment) in run.moments.iter().enumerate().skip(begin) {
        trace.line(at, moment);
    }
    let messages = Messages::of(run);
    for (request, exchange) in &messages.exchanges {
        if exchange.sent.is_some_and(|sent| sent >= begin) {
            trace.request(*request, exchange);
        }
    }
    trace.lives(begin);
    let first = run.moments.get(begin).map_or(0, |moment| moment.step);
    trace.turns(first);
    let about = Object::new()
        .string("scenario", &run.scenario)
        .raw("seed", run.seed)
        .string("verdict", &run.verdict)
        .raw("lines_left_out", begin)
        .end();
    let events = format!("[\n{}\n]", trace.events.join(",\n"));
    let text = Object::new()
        .string("displayTimeUnit", "ms")
        .raw("otherData", about)
        .raw("traceEvents", events);
    text.end() + "\n"
}

/// An event of `phase` at `at` on the track of `actor`.
fn event(phase: &str, name: &str, at: Instant, actor: ActorId) -> Object {
    let process = u32::from(actor.0) + 1;
    let object = Object::new().string("ph", phase).string("name", name).raw("ts", at.0);
    object.raw("pid", process).raw("tid", 1)
}

impl Trace<'_> {
    fn push(&mut self, object: Object) {
        self.events.push(object.end());
    }

    /// A span of `category` that is told apart by `id`.
    fn span(
        &mut self,
        (category, id): (&str, &str),
        (name, actor): (&str, ActorId),
        (from, to): (Instant, Instant),
        args: String,
    ) {
        let ends = [("b", from, args), ("e", to.max(from), "{}".to_string())];
        for (phase, at, args) in ends {
            let object = event(phase, name, at, actor).string("cat", category);
            self.push(object.string("id", id).raw("args", args));
        }
    }

    /// A flow from one line to another.
    fn flow(&mut self, id: &str, name: &str, from: usize, to: usize) {
        let ends = [("s", from), ("f", to)];
        for (phase, at) in ends {
            let moment = &self.run.moments[at];
            let object = event(phase, name, moment.at, moment.actor).string("cat", "message");
            let object = object.string("id", id);
            self.push(if phase == "f" { object.string("bp", "e") } else { object });
        }
    }

    fn actors(&mut self) {
        for (at, name) in (0..).zip(&self.run.actors) {
            let named = |name: &str| Object::new().string("name", name).end();
            for (what, args) in [
                ("process_name", named(name)),
                ("process_sort_index", Object::new().raw("sort_index", at).end()),
                ("thread_name", named("steps")),
            ] {
                let object = event("M", what, Instant::START, ActorId(at));
                self.push(object.raw("args", args));
            }
        }
    }

    fn line(&mut self, at: usize, moment: &Moment) {
        let args = self.args(moment);
        let text = moment.text.as_str();
        match moment.kind {
            MomentKind::Sends { .. } => {}
            MomentKind::Observes => {
                let name = text.trim_start_matches(['*', ' ']);
                let object = event("i", name, moment.at, moment.actor).string("cat", "application");
                self.push(object.string("s", "t").raw("args", args));
            }
            MomentKind::Befalls { .. } | MomentKind::Commanded(_) => {
                let name = text.trim_start_matches(['!', ' ']);
                let reach =
                    if matches!(moment.kind, MomentKind::Befalls { .. }) { "p" } else { "g" };
                let object = event("i", name, moment.at, moment.actor).string("cat", "fault");
                self.push(object.string("s", reach).raw("args", args));
            }
            MomentKind::Starts | MomentKind::Timer => self.step(text, moment, args),
            MomentKind::TakesRequest { .. } => self.step(api(text), moment, args),
            MomentKind::TakesAnswer { .. } => {
                let name = self.answer(at, moment);
                self.step(&name, moment, args);
            }
        }
    }

    /// What the step is called that takes an answer.
    fn answer(&self, at: usize, moment: &Moment) -> String {
        match moment.kind {
            MomentKind::TakesAnswer { is_disconnect: true, .. } => "disconnected".to_string(),
            _ => format!("answer {}", api(&self.run.moments[at].text)),
        }
    }

    /// A step takes no virtual time; it is drawn as one microsecond.
    fn step(&mut self, name: &str, moment: &Moment, args: String) {
        let object = event("X", name, moment.at, moment.actor).string("cat", "step");
        self.push(object.raw("dur", 1).raw("args", args));
    }

    fn args(&self, moment: &Moment) -> String {
        let object = Object::new().raw("step", moment.step).string("text", &moment.text);
        let is_step = !matches!(
            moment.kind,
            MomentKind::Observes | MomentKind::Befalls { .. } | MomentKind::Commanded(_)
        );
        let changes = self.run.changes_of(moment.step).iter().filter(|_| is_step);
        let changes: Vec<String> = changes.map(|change| string(&change.text)).collect();
        let object = if changes.is_empty() { object } else { object.raw("changes", list(changes)) };
        let rules = moment.rules.iter().map(|rule| string(rule));
        if moment.rules.is_empty() { object } else { object.raw("rules", list(rules)) }.end()
    }

    /// A request as a span of its sender, and its messages as flows.
    fn request(&mut self, request: u32, exchange: &Exchange) {
        let Some(sent) = exchange.sent else { return };
        let from = &self.run.moments[sent];
        let taken = exchange.answered.map(|(_, taken)| taken).or(exchange.broken_off);
        let to = taken.map_or(self.run.ended(), |taken| self.run.moments[taken].at);
        let is_open = string(match (exchange.answered, exchange.broken_off) {
            (Some(_), _) => "answered",
            (None, Some(_)) => "disconnected",
            (None, None) => "never answered",
        });
        let args = Object::new().string("text", &from.text).raw("outcome", is_open).end();
        let (api, id) = (exchange.api.as_str(), request.to_string());
        self.span(("request", &id), (api, from.actor), (from.at, to), args);
        for (nth, taken) in exchange.taken.iter().enumerate() {
            self.flow(&format!("{request}.{nth}"), api, sent, *taken);
        }
        if let Some((answered, taken)) = exchange.answered {
            self.flow(&format!("{request}.answer"), api, answered, taken);
        }
    }

    /// When processes are down or stalled.
    fn lives(&mut self, begin: usize) {
        let mut open: BTreeMap<(ActorId, &str), Instant> = BTreeMap::new();
        let mut spans = Vec::new();
        for moment in &self.run.moments {
            let MomentKind::Commanded(order) = moment.kind else { continue };
            match order {
                Order::Dies(actor) => {
                    open.entry((actor, "down")).or_insert(moment.at);
                }
                Order::Stalls(actor) => {
                    open.entry((actor, "stalled")).or_insert(moment.at);
                }
                Order::Restarts(actor) | Order::GoesOn(actor) => {
                    let what = if matches!(order, Order::Restarts(_)) { "down" } else { "stalled" };
                    spans.extend(
                        open.remove(&(actor, what)).map(|from| (actor, what, from, moment.at)),
                    );
                }
                Order::Other | Order::Quiet => {}
            }
        }
        let end = self.run.ended();
        spans.extend(open.into_iter().map(|((actor, what), from)| (actor, what, from, end)));
        let begin = self.run.moments.get(begin).map_or(Instant::START, |first| first.at);
        for (number, (actor, what, from, to)) in spans.into_iter().enumerate() {
            if to >= begin {
                let id = format!("life.{number}");
                self.span(("process", &id), (what, actor), (from.max(begin), to), "{}".into());
            }
        }
    }

    /// Bounds of partitions as counters of their leaders, transactions as spans of their clients.
    fn turns(&mut self, first: u64) {
        let mut times: BTreeMap<u64, Instant> = BTreeMap::new();
        for moment in &self.run.moments {
            times.entry(moment.step).or_insert(moment.at);
        }
        let time = |turn: &Turn| times.get(&turn.step).copied().unwrap_or(Instant::START);
        let mut open: BTreeMap<ActorId, (String, Instant)> = BTreeMap::new();
        let run = self.run;
        for turn in run.turns.iter().filter(|turn| turn.step >= first) {
            match &turn.what {
                Turned::Replica(partition, now)
                    if now.is_leader && !partition.topic.is_internal() =>
                {
                    let [_, watermark, stable, end] = now.offsets;
                    let name = run.names.partition(*partition);
                    let args = Object::new()
                        .raw("high watermark", watermark)
                        .raw("last stable offset", stable)
                        .raw("log end offset", end);
                    let object = event("C", &name, time(turn), turn.actor);
                    self.push(object.raw("args", args.end()));
                }
                Turned::Client(now) => {
                    let transaction = now.producer.as_ref().and_then(|one| one.transaction);
                    let now = transaction.map(|one| format!("{}.{}", one.session, one.number));
                    let before = open.get(&turn.actor).map(|(name, _)| name);
                    if before == now.as_ref() {
                        continue;
                    }
                    if let Some((name, from)) = open.remove(&turn.actor) {
                        self.transaction(&name, turn.actor, (from, time(turn)));
                    }
                    if let Some(now) = now {
                        open.insert(turn.actor, (now, time(turn)));
                    }
                }
                _ => {}
            }
        }
        let end = run.ended();
        for (actor, (name, from)) in open {
            self.transaction(&name, actor, (from, end));
        }
    }

    fn transaction(&mut self, name: &str, actor: ActorId, span: (Instant, Instant)) {
        let id = format!("{}.{name}", actor.0);
        let called = format!("transaction {name}");
        self.span(("transaction", &id), (&called, actor), span, "{}".to_string());
    }
}
