//! Lines about clients: what each means, and whether it can follow on those before.
//!
//! An answer belongs to a call. A poll that does not say where it began and ended did so where the
//! one before ended and behind its last record.

use std::collections::BTreeMap;

use eosim_types::message::IsolationLevel;
use eosim_types::observation::{
    EndOutcome, Observed, Rebalance, SendOutcome, TransactionRef, UNSEEN_BOUND,
};
use eosim_types::{ActorId, ErrorCode, TopicPartition, TransactionalId, Value};

use super::super::event::{Event, Position, Read};
use super::super::word::{
    Callback, Count, Error, Isolation, Name, Offset, Outcome, Partition, Sent,
};
use super::{Complaint, Known, complaint};

/// What must be remembered of the lines so far.
#[derive(Default)]
pub(super) struct Clients {
    /// Sends that have no answer yet.
    unanswered: BTreeMap<(ActorId, TopicPartition, Value), u32>,
    /// Commits (`true`) and aborts that were called.
    called: BTreeMap<(TransactionRef, bool), ()>,
    /// Where readers stand.
    positions: BTreeMap<(ActorId, TopicPartition), i64>,
}

type Found = Result<(ActorId, Vec<Observed>), Complaint>;

impl Clients {
    /// What `event` says, and of whom; a poll may say two things.
    pub(super) fn observed(&mut self, known: &mut Known, event: Event) -> Found {
        match event {
            event @ (Event::SendCalled { .. } | Event::SendAnswered { .. }) => {
                self.send(known, event)
            }
            event @ (Event::CommitCalled { .. }
            | Event::CommitAnswered { .. }
            | Event::AbortCalled { .. }
            | Event::AbortAnswered { .. }) => self.end(known, event),
            event @ (Event::Polled { .. }
            | Event::PositionSet { .. }
            | Event::Rebalanced { .. }) => self.reader(known, event),
            event => plain(known, event),
        }
    }

    fn send(&mut self, known: &mut Known, event: Event) -> Found {
        match event {
            Event::SendCalled { client, session, transaction, partition, value, input } => {
                let actor = known.client("client", &client)?;
                let partition = known.partition("partition", &partition)?;
                let value = known.value(&value);
                let input = input.map(|input| position(known, "input", &input)).transpose()?;
                let session = session.0;
                let transaction = transaction.map(|number| reference(actor, session, &number));
                *self.unanswered.entry((actor, partition, value)).or_insert(0) += 1;
                let what = Observed::SendCalled { value, partition, session, transaction, input };
                Ok((actor, vec![what]))
            }
            Event::SendAnswered { client, partition, value: text, outcome, offset, error } => {
                let actor = known.client("client", &client)?;
                let partition = known.partition("partition", &partition)?;
                let value = known.value(&text);
                let waiting = self.unanswered.get_mut(&(actor, partition, value));
                let Some(waiting) = waiting.filter(|waiting| **waiting > 0) else {
                    let found = format!("an answer to no send of \"{}\"", text.0);
                    let expected = "a send_called of it by the same client before, and one answer";
                    return Err(complaint("value", found, expected));
                };
                *waiting -= 1;
                let outcome = send_outcome(outcome, offset, error)?;
                Ok((actor, vec![Observed::SendAnswered { value, partition, outcome }]))
            }
            _ => unreachable!("only for sends"),
        }
    }

    fn end(&mut self, known: &Known, event: Event) -> Found {
        let (client, session, number, commit, answer) = match event {
            Event::CommitCalled { client, session, transaction } => {
                (client, session, transaction, true, None)
            }
            Event::AbortCalled { client, session, transaction } => {
                (client, session, transaction, false, None)
            }
            Event::CommitAnswered { client, session, transaction, outcome, error } => {
                (client, session, transaction, true, Some((outcome, error)))
            }
            Event::AbortAnswered { client, session, transaction, outcome, error } => {
                (client, session, transaction, false, Some((outcome, error)))
            }
            _ => unreachable!("only for ends of transactions"),
        };
        let actor = known.client("client", &client)?;
        let transaction = reference(actor, session.0, &number);
        let Some((outcome, error)) = answer else {
            self.called.insert((transaction, commit), ());
            return Ok((actor, vec![Observed::EndCalled { transaction, commit }]));
        };
        if !self.called.contains_key(&(transaction, commit)) {
            let verb = if commit { "commit" } else { "abort" };
            let found = format!("an answer to no {verb} of transaction {}", number.0);
            return Err(complaint("transaction", found, format!("a {verb}_called of it before")));
        }
        let outcome = end_outcome(outcome, error)?;
        Ok((actor, vec![Observed::EndAnswered { transaction, commit, outcome }]))
    }

    fn reader(&mut self, known: &mut Known, event: Event) -> Found {
        match event {
            Event::Polled { client, partition, isolation_level, from, to, bound, records } => {
                let actor = known.client("client", &client)?;
                let partition = known.partition("partition", &partition)?;
                let isolation_level = isolation(isolation_level);
                let records =
                    records.iter().map(|Read { offset, value }| (offset.0, known.value(value)));
                let records: Vec<(i64, Value)> = records.collect();
                let bound = bound.map_or(UNSEEN_BOUND, |bound| bound.0);
                let stood = self.positions.get(&(actor, partition)).copied();
                let first = records.first().map(|(offset, _)| *offset);
                let behind = records.last().map(|(offset, _)| offset + 1);
                let begin = from.as_ref().map(|from| from.0).or(stood).or(first);
                let begin = begin.or(to.as_ref().map(|to| to.0)).unwrap_or(0);
                let end = to.map(|to| to.0).or(behind).unwrap_or(begin);
                let is_set = from.is_none() && stood.is_none();
                self.positions.insert((actor, partition), end);
                let set = is_set.then_some(Observed::PositionSet { partition, offset: begin });
                let (from, to) = (begin, end);
                let polled =
                    Observed::Polled { partition, isolation_level, from, to, records, bound };
                Ok((actor, set.into_iter().chain([polled]).collect()))
            }
            Event::PositionSet { client, partition, offset } => {
                let actor = known.client("client", &client)?;
                let partition = known.partition("partition", &partition)?;
                let offset = offset.0;
                self.positions.insert((actor, partition), offset);
                Ok((actor, vec![Observed::PositionSet { partition, offset }]))
            }
            Event::Rebalanced { client, group, callback, partitions } => {
                let actor = known.client("client", &client)?;
                let group = known.group("group", &group)?;
                let partitions = all(known, &partitions)?;
                let callback = match callback {
                    Callback::Assigned => Rebalance::Assigned,
                    Callback::Revoked => Rebalance::Revoked,
                    Callback::Lost => Rebalance::Lost,
                };
                for &partition in &partitions {
                    self.positions.remove(&(actor, partition));
                }
                Ok((actor, vec![Observed::Rebalanced { group, callback, partitions }]))
            }
            _ => unreachable!("only for readers"),
        }
    }
}

/// Lines that say what they say whatever was before.
fn plain(known: &Known, event: Event) -> Found {
    let (client, what) = match event {
        Event::ProducerOpened { client, session, transactional_id } => {
            let transactional_id = id(known, transactional_id.as_ref())?;
            (client, Observed::ProducerOpened { session: session.0, transactional_id })
        }
        Event::TransactionsInitialized { client, session } => {
            (client, Observed::TransactionsInitialized { session: session.0 })
        }
        Event::TransactionBegun { client, session, transaction } => {
            let transaction = transaction_of(known, &client, &session, &transaction)?;
            (client, Observed::TransactionBegun { transaction })
        }
        Event::OffsetsSent { client, session, transaction, group, offsets, error } => {
            let transaction = transaction_of(known, &client, &session, &transaction)?;
            let group = known.group("group", &group)?;
            let offsets = positions(known, &offsets)?;
            let error = error.map_or(ErrorCode::None, |error| error.0);
            (client, Observed::OffsetsSent { transaction, group, offsets, error })
        }
        Event::Decided { client, session, transaction } => {
            let transaction = transaction_of(known, &client, &session, &transaction)?;
            (client, Observed::Decided { transaction })
        }
        Event::ProducerFailed { client, session, error } => {
            (client, Observed::ProducerFailed { session: session.0, error: error.0 })
        }
        Event::ProducerClosed { client, session } => {
            (client, Observed::ProducerClosed { session: session.0 })
        }
        Event::EndOffset { client, partition, isolation_level, offset } => {
            let partition = known.partition("partition", &partition)?;
            let (isolation_level, offset) = (isolation(isolation_level), offset.0);
            (client, Observed::EndOffset { partition, isolation_level, offset })
        }
        Event::OffsetsFetched { client, group, offsets } => {
            let group = known.group("group", &group)?;
            let offsets = positions(known, &offsets)?;
            (client, Observed::OffsetsFetched { group, offsets })
        }
        Event::AssertionFailed { client, assertion } => {
            (client, Observed::AssertionFailed { assertion: assertion.0 })
        }
        _ => unreachable!("only for lines about clients"),
    };
    Ok((known.client("client", &client)?, vec![what]))
}

fn transaction_of(
    known: &Known,
    client: &Name,
    session: &Count,
    number: &Count,
) -> Result<TransactionRef, Complaint> {
    Ok(reference(known.client("client", client)?, session.0, number))
}

fn reference(producer: ActorId, session: u32, number: &Count) -> TransactionRef {
    TransactionRef { producer, session, number: number.0 }
}

fn id(known: &Known, name: Option<&Name>) -> Result<Option<TransactionalId>, Complaint> {
    name.map(|name| known.transactional_id("transactional_id", name)).transpose()
}

fn position(
    known: &Known,
    path: &str,
    position: &Position,
) -> Result<(TopicPartition, i64), Complaint> {
    let partition = known.partition(&format!("{path}.partition"), &position.partition)?;
    Ok((partition, position.offset.0))
}

fn positions(known: &Known, list: &[Position]) -> Result<Vec<(TopicPartition, i64)>, Complaint> {
    let list = list.iter().enumerate();
    list.map(|(at, one)| position(known, &format!("offsets[{at}]"), one)).collect()
}

fn all(known: &Known, list: &[Partition]) -> Result<Vec<TopicPartition>, Complaint> {
    let list = list.iter().enumerate();
    list.map(|(at, one)| known.partition(&format!("partitions[{at}]"), one)).collect()
}

const fn isolation(level: Isolation) -> IsolationLevel {
    match level {
        Isolation::ReadUncommitted => IsolationLevel::ReadUncommitted,
        Isolation::ReadCommitted => IsolationLevel::ReadCommitted,
    }
}

fn send_outcome(
    outcome: Sent,
    offset: Option<Offset>,
    error: Option<Error>,
) -> Result<SendOutcome, Complaint> {
    match (outcome, error) {
        (Sent::Acknowledged, None) => {
            Ok(SendOutcome::Acknowledged { offset: offset.map(|offset| offset.0) })
        }
        (Sent::Refused, Some(error)) => Ok(SendOutcome::Refused { error: error.0 }),
        (Sent::Unknown, Some(error)) => Ok(SendOutcome::Unknown { error: error.0 }),
        (Sent::Acknowledged, Some(_)) => Err(needless("acknowledged")),
        (Sent::Refused | Sent::Unknown, None) => Err(reason()),
    }
}

fn end_outcome(outcome: Outcome, error: Option<Error>) -> Result<EndOutcome, Complaint> {
    match (outcome, error) {
        (Outcome::Done, None) => Ok(EndOutcome::Done),
        (Outcome::Refused, Some(error)) => Ok(EndOutcome::Refused { error: error.0 }),
        (Outcome::Unknown, Some(error)) => Ok(EndOutcome::Unknown { error: error.0 }),
        (Outcome::Done, Some(_)) => Err(needless("done")),
        (Outcome::Refused | Outcome::Unknown, None) => Err(reason()),
    }
}

fn needless(outcome: &str) -> Complaint {
    complaint("error", "an error", format!("none, as the outcome is \"{outcome}\""))
}

fn reason() -> Complaint {
    complaint("", "no \"error\"", "the key \"error\": what the client saw")
}
