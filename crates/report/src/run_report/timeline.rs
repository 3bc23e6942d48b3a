//! A run as one HTML file to step through: lanes of actors, messages as arrows, faults, and beside
//! them how everything stands after the step that is looked at.
//!
//! The lines are text in the order in which things happened, which can be read without scripts and
//! aloud; what is drawn beside them is drawn from the same data. Invariants: nothing is loaded from
//! elsewhere; what a run says is never taken for markup; a file holds so many lines at most, and says
//! what it leaves out.

mod data;
mod state;

use eosim_types::look::{Moment, MomentKind, Order};

use super::concern::Concerns;
use super::messages::Messages;
use super::{Filter, RunReport, whom};
use crate::page::escaped;
use crate::transcript::time;

const STYLE: &str = include_str!("timeline/page.css");
const SCRIPT: &str = include_str!("timeline/page.js");
const CONTROLS: &str = include_str!("timeline/controls.html");

const LEGEND: &str = "<p id=\"legend\">→ sends  ← takes  ⇠ takes the answer  ⇍ connection broke  \
    ● application  ◷ timer  ⚡ fault<br>solid: request  dashed: answer  ✕: lost  faint: long, or \
    the other end is not shown<br>a grey note: what changed by the step</p>";

/// At most so many lines are shown.
const ROWS: usize = 2_000;

/// So many of them come after the step that is asked for, if there is not room for all.
const TAIL: usize = 60;

/// So many broken promises are named.
const BROKEN: usize = 8;

/// What stands otherwise is told beside a line up to so many characters.
const NOTES: usize = 160;

/// The lines that are shown.
struct Window {
    /// Their places in the run.
    rows: Vec<usize>,
    /// Of each line of the run, whether it is routine.
    routine: Vec<bool>,
    /// What they have to do with the broken promise.
    concerns: Concerns,
    /// How many routine, earlier and later lines are left out, of those that the filter lets through.
    left_out: [usize; 3],
}

/// The timeline.
#[must_use]
pub fn timeline(run: &RunReport, filter: &Filter) -> String {
    let window = Window::of(run, filter);
    let title = escaped(&format!("{} seed {}: {}", run.scenario, run.seed, run.verdict));
    let rows: String = window.rows.iter().map(|&at| row(run, &window, at)).collect();
    let data = data::data(run, &window).replace('<', "\\u003c");
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n{}{CONTROLS}\
         </header>\n<main>\n<section id=\"flow\" aria-label=\"What happened, in order\">\n\
         <div id=\"lanes\" aria-hidden=\"true\">{LEGEND}</div>\n<div id=\"canvas\">\n\
         <svg id=\"drawing\" aria-hidden=\"true\"></svg>\n<ol id=\"rows\">\n{rows}</ol>\n</div>\n\
         </section>\n<aside id=\"state\" aria-label=\"State after the chosen step\">\n\
         <noscript><p>Without scripts the lines can be read; what is drawn beside them and the state \
         after each step cannot be shown.</p></noscript>\n</aside>\n</main>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        head(run, &window)
    )
}

/// What the timeline draws from, as one JSON value.
#[must_use]
pub fn timeline_json(run: &RunReport, filter: &Filter) -> String {
    data::data(run, &Window::of(run, filter)) + "\n"
}

/// What is broken, and what is left out.
fn head(run: &RunReport, window: &Window) -> String {
    let broken = run.broken.iter().take(BROKEN);
    let mut broken = broken.map(|(step, what)| {
        let what = escaped(what);
        format!("<a href=\"#\" data-step=\"{step}\">step {step}</a> {what}")
    });
    let mut text = String::new();
    if let Some(first) = broken.next() {
        text += &format!("<div id=\"broken\">\n<p>{first}</p>\n");
        let rest: String = broken.map(|one| format!("<li>{one}</li>\n")).collect();
        let more = run.broken.len() - 1;
        if more > 0 {
            text += &format!(
                "<details><summary>and {more} more</summary><ul>\n{rest}</ul></details>\n"
            );
        }
        text += "</div>\n";
    }
    let [routine, earlier, later] = window.left_out;
    let total = run.moments.len();
    let mut told = format!("{} of {total} lines", window.rows.len());
    if window.rows.len() == total {
        told = format!("All {total} lines");
    }
    let parts = [(routine, "routine"), (earlier, "earlier"), (later, "later")];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, which)| format!("{count} {which}")).collect();
    if !parts.is_empty() {
        told += &format!(
            "; left out: {}. Others: eosim show RUN --as timeline --at STEP",
            parts.join(", ")
        );
    }
    let steps = run.steps;
    text + &format!("<p id=\"extent\">{told}. The run has {steps} steps.</p>\n")
}

impl Window {
    fn of(run: &RunReport, filter: &Filter) -> Self {
        let passes = filter.passes(run);
        let messages = Messages::of(run);
        let (routine, concerns) = (messages.routine(run), Concerns::of(run, &messages));
        let mut rows: Vec<usize> = (0..run.moments.len()).filter(|at| passes[*at]).collect();
        if rows.len() <= ROWS {
            return Self { rows, routine, concerns, left_out: [0; 3] };
        }
        let target = run.target();
        let end = rows.iter().rposition(|at| (1..=target).contains(&run.moments[*at].step));
        let end = end.map_or(0, |end| rows[end] + 1);
        let count = |rows: &[usize], is: bool| rows.iter().filter(|at| routine[**at] == is).count();
        // What says something goes before routine, what is before the target before what is behind.
        let telling = count(&rows, false);
        let before = count(&rows[..rows.partition_point(|at| *at < end)], false);
        let behind = (telling - before).min(ROWS.saturating_sub(before).max(TAIL));
        let mut left = [ROWS.saturating_sub(telling), ROWS - behind, behind];
        let mut left_out = [0; 3];
        let all = std::mem::take(&mut rows);
        let (before, after) = all.split_at(all.partition_point(|at| *at < end));
        for &at in after {
            let which = if routine[at] { 0 } else { 2 };
            take(at, &mut left[which], &mut left_out[which], &mut rows);
        }
        for &at in before.iter().rev() {
            let which = usize::from(!routine[at]);
            take(at, &mut left[which], &mut left_out[which], &mut rows);
        }
        rows.sort_unstable();
        Self { rows, routine, concerns, left_out }
    }

    /// The steps that are shown, the first and the last.
    fn steps(&self, run: &RunReport) -> (u64, u64) {
        let steps = self.rows.iter().map(|at| run.moments[*at].step).filter(|step| *step > 0);
        (steps.clone().min().unwrap_or(0), steps.max().unwrap_or(0))
    }
}

/// Takes the line, if anything is left.
fn take(at: usize, left: &mut usize, left_out: &mut usize, rows: &mut Vec<usize>) {
    if *left == 0 {
        *left_out += 1;
    } else {
        *left -= 1;
        rows.push(at);
    }
}

/// Of which kind a line is: its class, its sign, what the sign says.
const fn kind(moment: &Moment) -> (&'static str, &'static str, &'static str) {
    match moment.kind {
        MomentKind::Starts => ("starts", "▶", ""),
        MomentKind::Timer => ("timer", "◷", ""),
        MomentKind::Sends { .. } => ("sends", "→", "sends to"),
        MomentKind::TakesRequest { .. } => ("takes", "←", "takes from"),
        MomentKind::TakesAnswer { is_disconnect: false, .. } => {
            ("answer", "⇠", "takes the answer to")
        }
        MomentKind::TakesAnswer { .. } => ("broke", "⇍", "takes no answer to"),
        MomentKind::Observes => ("sees", "●", ""),
        MomentKind::Befalls { .. } => ("fault", "⚡", "fault:"),
        MomentKind::Commanded(Order::Quiet) => ("world", "✓", ""),
        MomentKind::Commanded(_) => ("fault", "⚡", "fault:"),
    }
}

/// Is the promise seen to be broken there?
fn is_broken(run: &RunReport, moment: &Moment) -> bool {
    moment.step > 0 && run.broken.iter().take(BROKEN).any(|(step, _)| *step == moment.step)
}

fn row(run: &RunReport, window: &Window, at: usize) -> String {
    let moment = &run.moments[at];
    let (class, sign, said) = kind(moment);
    let flags = [
        (window.routine[at], " routine"),
        (is_broken(run, moment), " broken"),
        (window.concerns.is_it(run, at), " concern"),
    ];
    let flags: String = flags.iter().filter(|(is, _)| *is).map(|(_, class)| *class).collect();
    let text = moment.text.trim_start_matches(['-', '<', '>', '*', '!', ' ']);
    let said = if said.is_empty() { String::new() } else { format!("<b>{said} </b>") };
    let step = if moment.step == 0 { String::new() } else { moment.step.to_string() };
    let step_said = if moment.step == 0 { "" } else { "<b>step </b>" };
    let (when, actor) = (time(moment.at), escaped(run.actor(whom(moment))));
    let text = escaped(text);
    let notes = notes(run, moment);
    format!(
        "<li class=\"{class}{flags}\"><span class=\"s\">{step_said}{step}</span> \
         <span class=\"t\">{when}</span> <span class=\"w\">{actor}</span> \
         <span class=\"e\"><i aria-hidden=\"true\">{sign}</i>{said}{text}{notes}</span></li>\n"
    )
}

/// What stands otherwise after the step, in short.
fn notes(run: &RunReport, moment: &Moment) -> String {
    let changes = run.changes_of(moment.step).iter().filter(|_| moment.begins_step());
    let told = changes.map(|change| change.text.as_str()).collect::<Vec<_>>().join(" · ");
    if told.is_empty() {
        return String::new();
    }
    let cut = told.char_indices().nth(NOTES).map(|(end, _)| format!("{}…", &told[..end]));
    format!(" <span class=\"n\">{}</span>", escaped(&cut.unwrap_or(told)))
}
