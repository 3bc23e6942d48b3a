//! `healthy-producer-failed`: a fatal error hit a producer that nothing could have fenced.
//!
//! Promised (KIP-360, KIP-890, KIP-1050, P-ERR-1): faults of the network and of brokers lead to
//! retries or to an abort, never to a fatal error. Not promised to a producer whose transactional
//! id another session uses or has used, whose transaction or id may have expired, or that is
//! configured wrongly; which errors a fenced producer sees (N8), and an old duplicate's fate (N9),
//! are not judged. Only definite cases are reported.

use eosim_types::observation::SendOutcome;
use eosim_types::{Duration, ErrorCode, Instant};

use crate::anomaly::Report;
use crate::facts::{Index, Session, Transaction};
use crate::invariant::{Context, Invariant, InvariantInfo};
use crate::need::Need;
use crate::observe::{Kind, Seen};

pub(super) const INFO: InvariantInfo = InvariantInfo {
    name: "healthy-producer-failed",
    promise: "A producer that nothing could have fenced gets no fatal error.",
    source: "KIP-360, KIP-890, KIP-1050, P-ERR-1",
    file: "src/invariants/healthy_producer_failed.rs",
    needs: &[&[Need::Producers]],
};

pub(super) struct Check;

impl Invariant for Check {
    fn watches(&self) -> &'static [Kind] {
        &[Kind::Failed]
    }

    fn observe(&self, cx: Context<'_>, seen: Seen, report: &mut Report) {
        let Seen::Failed { session, error } = seen else { return };
        let fact = cx.facts.session(session);
        let is_excused = is_configuration(error)
            || cx.setup.legal_fatal_errors.contains(&error)
            || may_be_fenced(cx, session, fact, error)
            || may_have_expired(cx, fact, error, report.at);
        if !is_excused {
            let summary = format!(
                "{} (session {}, opened at {}) failed with {error} at {}, though no other \
                 session had its transactional id and no timeout had passed",
                cx.setup.actor(fact.actor),
                fact.number,
                fact.opened.at,
                report.at
            );
            let skeleton = ["fatal error", error.name()];
            report.add(INFO.finding(u64::from(session), &skeleton, "P-ERR-1", summary));
        }
    }
}

/// Errors that say that the producer is set up wrongly.
fn is_configuration(error: ErrorCode) -> bool {
    use ErrorCode as E;
    matches!(
        error,
        E::ClusterAuthorizationFailed
            | E::TopicAuthorizationFailed
            | E::GroupAuthorizationFailed
            | E::TransactionalIdAuthorizationFailed
            | E::SaslAuthenticationFailed
            | E::InvalidTransactionTimeout
            | E::InvalidRequiredAcks
            | E::InvalidTopicException
            | E::InvalidGroupId
            | E::UnsupportedVersion
            | E::UnsupportedForMessageFormat
            | E::PolicyViolation
            | E::InvalidRequest
    )
}

fn may_be_fenced(cx: Context<'_>, index: Index, session: &Session, error: ErrorCode) -> bool {
    let Some(id) = session.transactional_id else { return false };
    // INVALID_TXN_STATE is what a COMMIT gets when the transaction was aborted from elsewhere (C-END-18),
    // INVALID_PRODUCER_ID_MAPPING what is fenced by the last epoch (C-SEQ-14).
    let fences = matches!(
        error,
        ErrorCode::ProducerFenced
            | ErrorCode::InvalidProducerEpoch
            | ErrorCode::InvalidTxnState
            | ErrorCode::InvalidProducerIdMapping
    );
    let shared = cx.setup.shared_transactional_ids.contains(&id);
    let mut others = (0..).zip(&cx.facts.sessions);
    let is_used = others.any(|(at, other)| at != index && other.transactional_id == Some(id));
    shared || is_used || (cx.setup.late_requests && fences)
}

fn may_have_expired(cx: Context<'_>, session: &Session, error: ErrorCode, at: Instant) -> bool {
    if may_be_forgotten(cx, session, error, at) {
        return true;
    }
    let may_expire = |transaction: &Transaction| {
        let end = transaction.ended.map_or(at, |when| when.at);
        let age: Duration = end.since(transaction.begun.at);
        cx.setup.clock_jumps || age >= cx.setup.shortest_transaction_timeout
    };
    transactions_of(cx, session).any(may_expire)
}

/// Only a coordinator answers INVALID_PRODUCER_ID_MAPPING, and it forgets an id only after a time
/// without use (C-EXP-1). What leaders forget of a partition has nothing to do with other use.
fn may_be_forgotten(cx: Context<'_>, session: &Session, error: ErrorCode, at: Instant) -> bool {
    if error == ErrorCode::InvalidProducerIdMapping {
        return at.since(last_use(cx, session)) >= cx.setup.transactional_id_expiration;
    }
    let id_lives = cx.setup.producer_id_expiration.min(cx.setup.transactional_id_expiration);
    at.since(session.opened.at) >= id_lives
}

/// From then on the coordinator has certainly written a record of the id: a transaction with a
/// record in it was ended, and that was reported done.
fn last_use(cx: Context<'_>, session: &Session) -> Instant {
    let is_acknowledged = |index: Index| {
        matches!(cx.facts.send(index).outcome, Some(SendOutcome::Acknowledged { .. }))
    };
    let ended = |transaction: &Transaction| {
        let is_written = cx.facts.sends_of(transaction).any(is_acknowledged);
        transaction.end_called.filter(|_| transaction.done.is_some() && is_written)
    };
    let uses = transactions_of(cx, session).filter_map(ended).map(|when| when.at);
    uses.max().unwrap_or(session.opened.at)
}

fn transactions_of<'a>(
    cx: Context<'a>,
    session: &Session,
) -> impl Iterator<Item = &'a Transaction> {
    let newest_first = core::iter::successors(session.last_transaction, move |&index| {
        cx.facts.transaction(index).previous
    });
    newest_first.map(move |index| cx.facts.transaction(index))
}
