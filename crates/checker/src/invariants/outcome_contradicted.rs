//! `outcome-contradicted`: the log says otherwise than a definite answer did.
//!
//! Promised (P-MOD-4): a send that was definitely refused is not in the log; an abort that was
//! reported done leaves nothing committed; a commit that was definitely refused commits nothing;
//! and nothing commits a transaction whose producer never called `commitTransaction()`. Not
//! promised: anything after an unknown outcome (N6). A refused abort says nothing: the fence that
//! refused it aborts.

use eosim_types::observation::SendOutcome;

use crate::anomaly::Report;
use crate::facts::{Index, Transaction};
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::logs::{Fate, Place};
use crate::need::Need;
use crate::words;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "outcome-contradicted",
    promise: "Logs agree with every definite answer, and commit only what was asked to be.",
    source: "P-MOD-4, P-API-4, C-END-1",
    file: "src/invariants/outcome_contradicted.rs",
    needs: &[&[Need::Sends, Need::EndLogs]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        for (index, send) in (0..).zip(&cx.facts.sends) {
            let judged = cx.facts.is_unique(index) && cx.setup.is_durable(send.partition.topic);
            if judged && let Some(place) = end.logs.copies(send).next() {
                refused(cx, index, place, report);
                if let Some(transaction) = cx.facts.transaction_of(index) {
                    ended(cx, index, place, transaction, report);
                }
            }
        }
    }
}

fn refused(cx: Context<'_>, send: Index, place: &Place, report: &mut Report) {
    if let Some(SendOutcome::Refused { .. }) = cx.facts.send(send).outcome {
        let summary = format!(
            "{} lies in the log at {}, {}",
            cx.words().send(send),
            place.offset,
            words::fate(place.fate)
        );
        report.add(INFO.finding(place.value.0, &["send refused", "logged"], "P-MOD-4", summary));
    }
}

fn ended(
    cx: Context<'_>,
    send: Index,
    place: &Place,
    transaction: &Transaction,
    report: &mut Report,
) {
    let Fate::Committed(_) = place.fate else { return };
    let shape = if matches!(transaction.done, Some((false, _))) {
        "abort reported done"
    } else if transaction.commit_refused.is_some() && transaction.done.is_none() {
        "commit refused"
    } else if transaction.commit_called.is_none() {
        "commit never called"
    } else {
        return;
    };
    let summary = format!(
        "{}, but {} is {}",
        cx.words().transaction(transaction),
        cx.words().send(send),
        words::fate(place.fate)
    );
    report.add(INFO.finding(place.value.0, &[shape, "COMMIT marker"], "P-MOD-4", summary));
}
