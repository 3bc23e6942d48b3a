//! `decision-lost`: an external store decided that a prepared transaction commits, and it did not.
//!
//! Promised under two-phase commit (KIP-939, C-INIT-22): nothing but the application ends such a
//! transaction, however long it is away. Without two-phase commit Kafka promises nothing of the
//! kind: a timeout or the next InitProducerId aborts what was decided, and the effect in the store
//! has no records. Not promised: when the records become visible, nor that an answer to a repeated
//! commit tells what became of the one before (N6): then the log decides.

use crate::anomaly::Report;
use crate::facts::Transaction;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::need::Need;
use crate::observe::{Kind, Seen};

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "decision-lost",
    promise: "What an external store decided to commit is committed.",
    source: "KIP-939, C-INIT-22",
    file: "src/invariants/decision_lost.rs",
    needs: &[
        &[Need::Decided, Need::Ended],
        &[Need::Decided, Need::TransactionalSends, Need::EndLogs],
    ],
};

pub(super) struct Check;

impl Invariant for Check {
    fn watches(&self) -> &'static [Kind] {
        &[Kind::Ended]
    }

    fn observe(&self, cx: Context<'_>, seen: Seen, report: &mut Report) {
        let Seen::Ended { transaction } = seen else { return };
        let fact = cx.facts.transaction(transaction);
        if let (Some(_), Some((error, _))) = (fact.decided, fact.commit_refused) {
            let words = cx.words().transaction(fact);
            let summary = format!("{words}, was decided to be committed; {error}");
            let skeleton = ["decided", "commit refused"];
            report.add(INFO.finding(fact.begun.order, &skeleton, "C-INIT-22", summary));
        }
    }

    fn finish(&self, cx: Context<'_>, end: End<'_>, report: &mut Report) {
        for fact in cx.facts.transactions.iter().filter(|fact| fact.decided.is_some()) {
            records(cx, end, fact, report);
        }
    }
}

fn records(cx: Context<'_>, end: End<'_>, fact: &Transaction, report: &mut Report) {
    for index in cx.facts.sends_of(fact) {
        let send = cx.facts.send(index);
        let is_due = cx.facts.is_unique(index)
            && cx.setup.acknowledges_all(send.actor)
            && cx.setup.is_durable(send.partition.topic);
        if !is_due {
            continue;
        }
        let Some((shape, fate)) = end.logs.loss(cx.setup, end.dump, send) else { continue };
        let (transaction, send_words) = (cx.words().transaction(fact), cx.words().send(index));
        let summary =
            format!("{transaction}, was decided to be committed: {send_words} is {fate}");
        report.add(INFO.finding(send.value.0, &["decided", shape], "C-INIT-22", summary));
    }
}
