//! `fenced-effect`: what an older owner of a transactional id did after a newer one took over is
//! committed.
//!
//! Promised (KIP-98, C-INIT-16, L-EPO-1): when `initTransactions()` of a newer session returned, no
//! record that an older session of the same transactional id sends from then on is committed, and
//! no commit that it asks for from then on succeeds. Not promised: which errors the older session
//! sees (N8), how far the epoch moves (N7), or the fate of what was committed before.

use crate::anomaly::Report;
use crate::facts::{Index, Session, When};
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::logs::Place;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "fenced-effect",
    promise: "Nothing that a fenced producer does after its successor took over is committed.",
    source: "KIP-98, C-INIT-16, L-EPO-1",
    file: "src/invariants/fenced_effect.rs",
};

pub(super) struct Check;

impl Invariant for Check {
    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        for (index, session) in (0..).zip(&cx.facts.sessions) {
            if let Some((taken, successor)) = successor(cx, session) {
                records(cx, end, index, (taken, successor), report);
            }
        }
    }
}

/// The first newer session of the same transactional id, and when it took over.
fn successor<'a>(cx: Context<'a>, session: &Session) -> Option<(When, &'a Session)> {
    let id = session.transactional_id?;
    let begun = session.initialized?;
    let newer = cx.facts.sessions.iter().filter(|other| other.transactional_id == Some(id));
    newer
        .filter_map(|other| Some((other.initialized?, other)))
        .filter(|(taken, _)| *taken > begun)
        .min_by_key(|(taken, _)| *taken)
}

fn records(
    cx: Context<'_>,
    end: End<'_>,
    fenced: Index,
    (taken, successor): (When, &Session),
    report: &mut Report,
) {
    for (index, send) in (0..).zip(&cx.facts.sends) {
        if send.session != fenced || !cx.facts.is_unique(index) {
            continue;
        }
        let Some(place) = end.logs.copies(send).next() else { continue };
        if let Some(shape) = late(cx, index, place, taken) {
            let summary = format!(
                "{} is committed at {}, though actor {} (session {}) took the transactional id \
                 over at {}",
                cx.words().send(index),
                place.offset,
                successor.actor,
                successor.number,
                taken.at
            );
            let skeleton = ["successor initialized", shape];
            report.add(INFO.finding(send.value.0, &skeleton, "L-EPO-1", summary));
        }
    }
}

/// What came too late, if the record is committed nevertheless.
fn late(cx: Context<'_>, send: Index, place: &Place, taken: When) -> Option<&'static str> {
    if !place.fate.is_visible() {
        return None;
    }
    if cx.facts.send(send).called > taken {
        return Some("sent by the fenced producer");
    }
    let asked = cx.facts.transaction_of(send)?.commit_called?;
    (asked > taken).then_some("committed by the fenced producer")
}
