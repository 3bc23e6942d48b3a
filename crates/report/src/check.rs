//! The verdict over a history, and what it could not be about.
//!
//! No Kafka counterpart. Every anomaly is printed: a history has no transcript to look them up in.

use eosim_checker::{Lacking, Verdict, invariants};
use eosim_types::Instant;

use crate::dump_log::line;

/// What was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistoryName<'a> {
    /// The file.
    pub file: &'a str,
    /// How many observations it holds.
    pub observations: usize,
    /// When it ends.
    pub ended: Instant,
}

/// The verdict, then the invariants that were not judged, or only in part, by what they lack.
#[must_use]
pub fn check(verdict: &Verdict, lacking: &[Lacking], history: HistoryName<'_>) -> String {
    let HistoryName { file, observations, ended } = history;
    let mut text = String::new();
    let about = format!("history={file} observations={observations} t={ended}");
    match verdict {
        Verdict::Sound => line(&mut text, format_args!("sound   {about}")),
        Verdict::Safety(anomalies) => {
            for found in anomalies {
                let place = format!("history={file} step={} t={}", found.step, found.at);
                line(&mut text, format_args!("VIOLATION {}   {place}", found.invariant));
                line(&mut text, format_args!("  {}", found.summary));
                line(&mut text, format_args!("  rule {}", found.rule));
            }
        }
        Verdict::Liveness(stuck) => {
            line(&mut text, format_args!("STUCK   {about}"));
            for one in stuck {
                let (what, waiting_for, since) = (&one.what, &one.waiting_for, one.since);
                line(&mut text, format_args!("  {what} waits for {waiting_for} since {since}"));
            }
        }
        Verdict::Inconclusive(why) => {
            line(&mut text, format_args!("INCONCLUSIVE   {about}"));
            line(&mut text, format_args!("  {why}"));
        }
    }
    judged(&mut text, lacking);
    text
}

fn judged(text: &mut String, lacking: &[Lacking]) {
    let all = invariants().len();
    let not = lacking.iter().filter(|lacking| !lacking.in_part).count();
    line(text, format_args!("judged {} of {all} invariants", all - not));
    for (in_part, words) in [(false, "not judged"), (true, "judged in part")] {
        let mut of_kind: Vec<&Lacking> =
            lacking.iter().filter(|lacking| lacking.in_part == in_part).collect();
        of_kind.sort_by_key(|lacking| &lacking.missing);
        for group in of_kind.chunk_by(|a, b| a.missing == b.missing) {
            let names: Vec<&str> = group.iter().map(|lacking| lacking.invariant.name).collect();
            let missing: Vec<&str> = group[0].missing.iter().map(|need| need.about()).collect();
            let (names, missing) = (names.join(", "), missing.join("; "));
            line(text, format_args!("  {words}, for want of {missing}: {names}"));
        }
    }
}
