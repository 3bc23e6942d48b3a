//! `healed-send-failed`: a record that was sent when nothing struck any more was not written.
//!
//! Promised (KIP-91, P-ACC-10, P-SEQ-2, P-SEQ-4): what an idempotent producer lost or gave up leaves
//! nothing behind that holds up what comes after. In a cluster that is healed, and whose leaders have
//! been found, an error that passes does pass before `delivery.timeout.ms` is over. Not promised to
//! sends in transactions, which fail with these; to what was sent while batches of before might still
//! wait for their time to be up, one behind another ([`ROUNDS`]), or while brokers come to rest
//! ([`REST`]); to errors that do not pass, or to producers of which no delivery timeout is known
//! ([`CheckerSetup::delivery_timeouts`](crate::CheckerSetup)).

use eosim_types::observation::SendOutcome;
use eosim_types::{ActorId, Duration, ErrorCode, Instant};

use crate::anomaly::Report;
use crate::facts::Send;
use crate::invariant::{Context, End, Invariant, InvariantInfo};
use crate::need::Need;

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "healed-send-failed",
    promise: "In a healed cluster an idempotent producer's sends are acknowledged.",
    source: "KIP-91, P-ACC-10, P-SEQ-2, P-SEQ-4",
    file: "src/invariants/healed_send_failed.rs",
    needs: &[&[Need::Sends, Need::DeliveryTimeouts]],
};

/// How long a healed cluster takes at most until it has leaders and in-sync replicas again.
const REST: Duration = Duration::from_millis(30_000);
/// Batches that fail one after another before the last that was open at the healing is over.
const ROUNDS: u64 = 3;

pub(super) struct Check;

impl Invariant for Check {
    fn finish(&self, cx: Context<'_>, _end: End<'_>, report: &mut Report) {
        let Some(healed_at) = cx.setup.healed_at else { return };
        for &(actor, delivery_timeout) in &cx.setup.delivery_timeouts {
            let from = healed_at + REST + Duration(delivery_timeout.0.saturating_mul(ROUNDS));
            judge(cx, actor, from, report);
        }
    }
}

fn judge(cx: Context<'_>, actor: ActorId, from: Instant, report: &mut Report) {
    let own = (0..).zip(&cx.facts.sends).filter(|(_, send)| send.actor == actor);
    for (index, send) in own.filter(|(_, send)| send.called.at >= from) {
        let Some(error) = passing_error(send).filter(|_| send.transaction.is_none()) else {
            continue;
        };
        let summary = format!(
            "{}: {error}, though nothing had struck since {}",
            cx.words().send(index),
            cx.setup.healed_at.unwrap_or(from)
        );
        let skeleton = ["send failed", error.name()];
        report.add(INFO.finding(u64::from(send.session), &skeleton, "P-SEQ-4", summary));
    }
}

/// With what it failed that would have passed.
fn passing_error(send: &Send) -> Option<ErrorCode> {
    let (SendOutcome::Refused { error } | SendOutcome::Unknown { error }) = send.outcome? else {
        return None;
    };
    let is_order =
        matches!(error, ErrorCode::OutOfOrderSequenceNumber | ErrorCode::UnknownProducerId);
    (is_order || error.is_retriable()).then_some(error)
}
