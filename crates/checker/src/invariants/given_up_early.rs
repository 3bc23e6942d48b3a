//! `given-up-early`: a producer reported a failure that it should have tried again.
//!
//! Promised (KIP-91, KIP-360, P-ACC-10, P-SEQ-4): with `retries` as it is by default a send that met
//! an error that passes is sent again until `delivery.timeout.ms` is over, and an idempotent producer
//! takes a sequence out of order for no more than that. Not promised: anything to producers of which
//! no such time is known ([`CheckerSetup::delivery_timeouts`](crate::CheckerSetup)); to what fails
//! because its transaction has failed before; timeouts, which may be those of a call. The time runs
//! from the making of the batch, so that of all sends that were open together the first counts.

use eosim_types::observation::SendOutcome;
use eosim_types::{Duration, ErrorCode};

use crate::anomaly::Report;
use crate::facts::{Facts, Index, Send};
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::need::Need;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "given-up-early",
    promise: "What passes by itself is tried again until the delivery timeout is over.",
    source: "KIP-91, KIP-360, P-ACC-10, P-SEQ-4",
    file: "src/invariants/given_up_early.rs",
    needs: &[&[Need::Sends, Need::DeliveryTimeouts]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn finish(&self, cx: Context<'_>, _end: End<'_>, report: &mut Report) {
        for &(actor, delivery_timeout) in &cx.setup.delivery_timeouts {
            let own = (0..).zip(&cx.facts.sends).filter(|(_, send)| send.actor == actor);
            for (index, send) in own {
                if let Some(error) = failure(send).filter(|&error| passes(send, error)) {
                    judge(cx, index, error, delivery_timeout, report);
                }
            }
        }
    }
}

fn failure(send: &Send) -> Option<ErrorCode> {
    match send.outcome {
        Some(SendOutcome::Refused { error } | SendOutcome::Unknown { error }) => Some(error),
        Some(SendOutcome::Acknowledged { .. }) | None => None,
    }
}

/// Does the error pass when the batch is sent again? To an idempotent producer without transactions
/// a sequence out of order does, too.
fn passes(send: &Send, error: ErrorCode) -> bool {
    let is_out_of_order = send.transaction.is_none()
        && matches!(error, ErrorCode::OutOfOrderSequenceNumber | ErrorCode::UnknownProducerId);
    is_out_of_order || error.is_retriable() && error != ErrorCode::RequestTimedOut
}

fn judge(cx: Context<'_>, index: Index, error: ErrorCode, timeout: Duration, report: &mut Report) {
    let send = cx.facts.send(index);
    let tried = send.answered.at.since(first_of_batch(cx.facts, send).called.at);
    if tried >= timeout || has_failed_before(cx.facts, send) {
        return;
    }
    let summary = format!(
        "{}: tried for {tried} only, though {error} passes and there was time for {timeout}",
        cx.words().send(index)
    );
    let skeleton = ["send failed", error.name()];
    report.add(INFO.finding(u64::from(send.session), &skeleton, "P-ACC-10", summary));
}

/// The first send that may have been in one batch with `send`: one that was open when that was made.
/// What is left of a batch that was split has the age of the whole (P-ACC-8).
fn first_of_batch<'a>(facts: &'a Facts, send: &'a Send) -> &'a Send {
    let together = facts.sends.iter().filter(|other| {
        (other.session, other.partition) == (send.session, send.partition)
            && other.called <= send.called
            && (other.outcome.is_none() || other.answered.at >= send.called.at)
    });
    together.min_by_key(|other| other.called).unwrap_or(send)
}

/// Had another send of the transaction failed before?
fn has_failed_before(facts: &Facts, send: &Send) -> bool {
    send.transaction.is_some()
        && facts.sends.iter().any(|other| {
            let is_of_it = (other.session, other.transaction) == (send.session, send.transaction);
            is_of_it && failure(other).is_some() && other.answered < send.answered
        })
}
