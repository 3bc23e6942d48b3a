//! A run as a log of ShiViz: an event and its vector clock in two lines.
//!
//! The head is what ShiViz expects of a log with its parser in it: the regular expression, then the
//! one that separates executions, which there is none of. What the world does is a host of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use eosim_types::look::{Moment, MomentKind};

use super::RunReport;
use crate::json::Object;
use crate::transcript::time;

/// How an event is read.
const PARSER: &str = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)";

/// At most so many events are written.
const EVENTS: usize = 100_000;

/// Who does what no actor does.
const WORLD: &str = "world";

/// By host, how many events of it are known.
type Clock<'a> = BTreeMap<&'a str, u64>;

/// The log.
pub(super) fn shiviz(run: &RunReport) -> String {
    let mut text = format!("{PARSER}\n\n");
    let mut hosts: BTreeMap<&str, Clock<'_>> = BTreeMap::new();
    // The clock of each line from which another comes.
    let mut clocks: BTreeMap<usize, Clock<'_>> = BTreeMap::new();
    let needed: BTreeSet<usize> = run.moments.iter().filter_map(Moment::source).collect();
    let begin = run.moments.len().saturating_sub(EVENTS);
    if begin > 0 {
        hosts.entry(WORLD).or_default().insert(WORLD, 1);
        let left = format!("the first {begin} of {} events are left out", run.moments.len());
        writeln!(text, "{WORLD} {{\"{WORLD}\":1}}\n{left}").expect("a string takes everything");
    }
    for (at, moment) in run.moments.iter().enumerate().skip(begin) {
        let host = host(run, moment);
        let clock = hosts.entry(host).or_default();
        if let Some(sent) = moment.source().and_then(|from| clocks.get(&from)) {
            for (&of, &count) in sent {
                let known = clock.entry(of).or_default();
                *known = count.max(*known);
            }
        }
        *clock.entry(host).or_default() += 1;
        if needed.contains(&at) {
            clocks.insert(at, clock.clone());
        }
        let object = clock.iter().fold(Object::new(), |object, (of, count)| object.raw(of, count));
        let event = event(run, moment);
        writeln!(text, "{host} {}\n{event}", object.end()).expect("a string takes everything");
    }
    text
}

fn host<'a>(run: &'a RunReport, moment: &Moment) -> &'a str {
    match moment.kind {
        MomentKind::Commanded(_) => WORLD,
        _ => run.actor(moment.actor),
    }
}

fn event(run: &RunReport, moment: &Moment) -> String {
    let step = if moment.step == 0 { String::new() } else { format!(" step {}", moment.step) };
    let is_first = !matches!(moment.kind, MomentKind::Observes | MomentKind::Sends { .. });
    let changes = run.changes_of(moment.step).iter().filter(|_| is_first);
    let changes: String = changes.map(|change| format!(" | {}", change.text)).collect();
    format!("{}s{step}: {}{changes}", time(moment.at), moment.text)
}
