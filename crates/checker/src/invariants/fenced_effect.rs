//! `fenced-effect`: what an older owner of a transactional id did after a newer one took over is
//! committed.
//!
//! Promised (KIP-98, C-INIT-16, L-EPO-1): when `initTransactions()` of a newer session returned, no
//! record that an older session of the same transactional id sends from then on is committed, and
//! no commit that it asks for from then on succeeds. Not promised: which errors the older session
//! sees (N8), how far the epoch moves (N7), the fate of what was committed before, or which of two
//! sessions is the newer one if their `initTransactions()` overlap: an answer may come late.

use crate::anomaly::Report;
use crate::facts::{Index, Session, When};
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::logs::Place;
use crate::need::Need;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "fenced-effect",
    promise: "Nothing that a fenced producer does after its successor took over is committed.",
    source: "KIP-98, C-INIT-16, L-EPO-1",
    file: "src/invariants/fenced_effect.rs",
    needs: &[&[Need::Initialized, Need::TransactionalSends, Need::EndLogs]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        let takeovers: Vec<_> = cx.facts.sessions.iter().map(|own| takeover(cx, own)).collect();
        for (index, send) in (0..).zip(&cx.facts.sends) {
            if let Some(takeover) = takeovers[send.session as usize]
                && cx.facts.is_unique(index)
            {
                judge(cx, end, index, takeover, report);
            }
        }
    }
}

/// A newer session of the same transactional id has been initialized.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Takeover {
    when: When,
    successor: Index,
}

/// The first time that the transactional id of `fenced` was certainly taken over. Which of two
/// overlapping `initTransactions()` came second is unknown, so a successor must have been opened
/// when that of `fenced` had returned.
fn takeover(cx: Context<'_>, fenced: &Session) -> Option<Takeover> {
    let initialized = fenced.initialized?;
    (0..)
        .zip(&cx.facts.sessions)
        .filter(|(_, other)| other.transactional_id == fenced.transactional_id)
        .filter(|(_, other)| other.opened > initialized)
        .filter_map(|(successor, other)| Some(Takeover { when: other.initialized?, successor }))
        .min()
}

fn judge(cx: Context<'_>, end: End<'_>, index: Index, takeover: Takeover, report: &mut Report) {
    let send = cx.facts.send(index);
    let Some(place) = end.logs.copies(send).next() else { return };
    let Some(shape) = late(cx, index, place, takeover.when) else { return };
    let successor = cx.facts.session(takeover.successor);
    let summary = format!(
        "{} is committed at {}, though {} (session {}) took the transactional id over at {}",
        cx.words().send(index),
        place.offset,
        cx.setup.actor(successor.actor),
        successor.number,
        takeover.when.at
    );
    let skeleton = ["successor initialized", shape];
    report.add(INFO.finding(send.value.0, &skeleton, "L-EPO-1", summary));
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
