//! `fenced-effect`: what an older owner of a transactional id did after a newer one took over is
//! committed.
//!
//! Promised (KIP-98, C-INIT-16, L-EPO-1): when `initTransactions()` of a newer session returned, no
//! record that an older session of the same transactional id sends from then on is committed, and
//! no commit that it asks for from then on succeeds. Not promised: which errors the older session
//! sees (N8), how far the epoch moves (N7), or the fate of what was committed before.

use eosim_types::TransactionalId;

use crate::anomaly::Report;
use crate::facts::{Index, When};
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
        let takeovers = takeovers(cx);
        if takeovers.is_empty() {
            return;
        }
        for (index, send) in (0..).zip(&cx.facts.sends) {
            let found = takeovers.binary_search_by_key(&send.session, |takeover| takeover.fenced);
            if let Ok(at) = found
                && cx.facts.is_unique(index)
            {
                judge(cx, end, index, takeovers[at], report);
            }
        }
    }
}

/// A newer session of the same transactional id has been initialized.
#[derive(Clone, Copy)]
struct Takeover {
    fenced: Index,
    successor: Index,
    when: When,
}

/// For each session the first one that took its transactional id over, by fenced session.
fn takeovers(cx: Context<'_>) -> Vec<Takeover> {
    let sessions = (0..).zip(&cx.facts.sessions);
    let mut owners: Vec<(TransactionalId, When, Index)> = sessions
        .filter_map(|(index, session)| {
            Some((session.transactional_id?, session.initialized?, index))
        })
        .collect();
    owners.sort_unstable();
    let next_owners = owners.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    let mut takeovers: Vec<Takeover> = next_owners
        .map(|pair| Takeover { fenced: pair[0].2, successor: pair[1].2, when: pair[1].1 })
        .collect();
    takeovers.sort_unstable_by_key(|takeover| takeover.fenced);
    takeovers
}

fn judge(cx: Context<'_>, end: End<'_>, index: Index, takeover: Takeover, report: &mut Report) {
    let send = cx.facts.send(index);
    let Some(place) = end.logs.copies(send).next() else { return };
    let Some(shape) = late(cx, index, place, takeover.when) else { return };
    let successor = cx.facts.session(takeover.successor);
    let summary = format!(
        "{} is committed at {}, though actor {} (session {}) took the transactional id over at {}",
        cx.words().send(index),
        place.offset,
        successor.actor,
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
