//! What clients did and learned, as lines.

use eosim_checker::CheckerSetup;
use eosim_types::TopicPartition;
use eosim_types::message::IsolationLevel;
use eosim_types::observation::{
    EndOutcome, Observation, Observed, Rebalance, SendOutcome, TransactionRef, UNSEEN_BOUND,
};

use super::super::event::{Event, Position, Read};
use super::super::word::{
    Callback, Count, Error, Isolation, Name, Offset, Outcome, Sent, Tagged, Text,
};
use super::{named, partition};

/// The line of `observation`.
pub(super) fn event(setup: &CheckerSetup, observation: &Observation) -> Event {
    match &observation.what {
        what @ (Observed::Polled { .. }
        | Observed::PositionSet { .. }
        | Observed::EndOffset { .. }
        | Observed::OffsetsFetched { .. }
        | Observed::Rebalanced { .. }) => reader(setup, observation, what),
        what @ (Observed::SendCalled { .. } | Observed::SendAnswered { .. }) => {
            send(setup, observation, what)
        }
        what => producer(setup, observation, what),
    }
}

fn producer(setup: &CheckerSetup, observation: &Observation, what: &Observed) -> Event {
    let client = named(setup, observation.actor);
    let names = &setup.names;
    match what {
        Observed::ProducerOpened { session, transactional_id } => Event::ProducerOpened {
            client,
            session: Count(*session),
            transactional_id: transactional_id.map(|id| Name(names.transactional_id(id).into())),
        },
        Observed::TransactionsInitialized { session } => {
            Event::TransactionsInitialized { client, session: Count(*session) }
        }
        Observed::TransactionBegun { transaction } => {
            let (session, transaction) = numbers(*transaction);
            Event::TransactionBegun { client, session, transaction }
        }
        Observed::OffsetsSent { transaction, group, offsets, error } => {
            let (session, transaction) = numbers(*transaction);
            let group = Name(names.group(*group).into());
            let offsets = positions(setup, offsets);
            let error = (!error.is_none()).then_some(Error(*error));
            Event::OffsetsSent { client, session, transaction, group, offsets, error }
        }
        Observed::Decided { transaction } => {
            let (session, transaction) = numbers(*transaction);
            Event::Decided { client, session, transaction }
        }
        Observed::EndCalled { transaction, commit } => {
            let (session, transaction) = numbers(*transaction);
            if *commit {
                Event::CommitCalled { client, session, transaction }
            } else {
                Event::AbortCalled { client, session, transaction }
            }
        }
        Observed::EndAnswered { transaction, commit, outcome } => {
            let (session, transaction) = numbers(*transaction);
            let (outcome, error) = end(*outcome);
            if *commit {
                Event::CommitAnswered { client, session, transaction, outcome, error }
            } else {
                Event::AbortAnswered { client, session, transaction, outcome, error }
            }
        }
        Observed::ProducerFailed { session, error } => {
            Event::ProducerFailed { client, session: Count(*session), error: Error(*error) }
        }
        Observed::ProducerClosed { session } => {
            Event::ProducerClosed { client, session: Count(*session) }
        }
        Observed::AssertionFailed { assertion } => {
            Event::AssertionFailed { client, assertion: Text(assertion.clone()) }
        }
        _ => unreachable!("only for producers"),
    }
}

fn send(setup: &CheckerSetup, observation: &Observation, what: &Observed) -> Event {
    let client = named(setup, observation.actor);
    let names = &setup.names;
    match what {
        Observed::SendCalled { value, partition: to, session, transaction, input } => {
            Event::SendCalled {
                client,
                session: Count(*session),
                transaction: transaction.map(|of| Count(of.number)),
                partition: partition(names, *to),
                value: Name(names.value_as_is(*value)),
                input: input.map(|input| position(setup, input)),
            }
        }
        Observed::SendAnswered { value, partition: to, outcome } => {
            let (outcome, offset, error) = match *outcome {
                SendOutcome::Acknowledged { offset } => {
                    (Sent::Acknowledged, offset.map(Offset), None)
                }
                SendOutcome::Refused { error } => (Sent::Refused, None, Some(Error(error))),
                SendOutcome::Unknown { error } => (Sent::Unknown, None, Some(Error(error))),
            };
            let partition = partition(names, *to);
            let value = Name(names.value_as_is(*value));
            Event::SendAnswered { client, partition, value, outcome, offset, error }
        }
        _ => unreachable!("only for sends"),
    }
}

fn reader(setup: &CheckerSetup, observation: &Observation, what: &Observed) -> Event {
    let client = named(setup, observation.actor);
    let names = &setup.names;
    match what {
        Observed::Polled { partition: of, isolation_level, from, to, records, bound } => {
            let record = |&(offset, value)| Read {
                offset: Offset(offset),
                value: Name(names.value_as_is(value)),
            };
            Event::Polled {
                client,
                partition: partition(names, *of),
                isolation_level: isolation(*isolation_level),
                from: Some(Offset(*from)),
                to: Some(Offset(*to)),
                bound: (*bound != UNSEEN_BOUND).then_some(Offset(*bound)),
                records: records.iter().map(record).collect(),
            }
        }
        Observed::PositionSet { partition: of, offset } => {
            let (partition, offset) = (partition(names, *of), Offset(*offset));
            Event::PositionSet { client, partition, offset }
        }
        Observed::EndOffset { partition: of, isolation_level, offset } => Event::EndOffset {
            client,
            partition: partition(names, *of),
            isolation_level: isolation(*isolation_level),
            offset: Offset(*offset),
        },
        Observed::OffsetsFetched { group, offsets } => {
            let (group, offsets) = (Name(names.group(*group).into()), positions(setup, offsets));
            Event::OffsetsFetched { client, group, offsets }
        }
        Observed::Rebalanced { group, callback, partitions } => Event::Rebalanced {
            client,
            group: Name(names.group(*group).into()),
            callback: match callback {
                Rebalance::Assigned => Callback::Assigned,
                Rebalance::Revoked => Callback::Revoked,
                Rebalance::Lost => Callback::Lost,
            },
            partitions: partitions.iter().map(|of| partition(names, *of)).collect(),
        },
        _ => unreachable!("only for readers"),
    }
}

const fn numbers(transaction: TransactionRef) -> (Count, Count) {
    (Count(transaction.session), Count(transaction.number))
}

const fn end(outcome: EndOutcome) -> (Outcome, Option<Error>) {
    match outcome {
        EndOutcome::Done => (Outcome::Done, None),
        EndOutcome::Refused { error } => (Outcome::Refused, Some(Error(error))),
        EndOutcome::Unknown { error } => (Outcome::Unknown, Some(Error(error))),
    }
}

fn position(setup: &CheckerSetup, (of, offset): (TopicPartition, i64)) -> Position {
    Position { partition: partition(&setup.names, of), offset: Tagged(offset) }
}

fn positions(setup: &CheckerSetup, list: &[(TopicPartition, i64)]) -> Vec<Position> {
    list.iter().map(|one| position(setup, *one)).collect()
}

const fn isolation(level: IsolationLevel) -> Isolation {
    match level {
        IsolationLevel::ReadUncommitted => Isolation::ReadUncommitted,
        IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
    }
}
