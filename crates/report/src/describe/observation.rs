//! What applications did and learned.

use eosim_types::observation::{EndOutcome, Observed, Rebalance, SendOutcome, TransactionRef};
use eosim_types::{Names, TopicPartition};

use super::{Words, joined};
use crate::dump_log::isolation;

/// An observation in one short line.
#[must_use]
pub fn describe_observed(what: &Observed, names: &Names) -> String {
    let words = Words { names };
    match what {
        Observed::Polled { .. }
        | Observed::PositionSet { .. }
        | Observed::EndOffset { .. }
        | Observed::OffsetsFetched { .. }
        | Observed::Rebalanced { .. } => words.reader(what),
        Observed::AssertionFailed { assertion } => format!("assertion failed: {assertion}"),
        _ => words.writer(what),
    }
}

impl Words<'_> {
    fn writer(self, what: &Observed) -> String {
        match what {
            Observed::ProducerOpened { session, transactional_id } => {
                format!("session {session} opens, {}", self.optional_id(*transactional_id))
            }
            Observed::TransactionsInitialized { session } => {
                format!("session {session} is initialised")
            }
            Observed::TransactionBegun { transaction } => format!("begins {}", name(*transaction)),
            Observed::SendCalled { value, partition, transaction, .. } => {
                let inside = transaction.map_or_else(String::new, |t| format!(" in {}", name(t)));
                let value = self.names.value(*value);
                format!("sends {value} to {}{inside}", self.partition(*partition))
            }
            Observed::SendAnswered { value, partition, outcome } => {
                let value = self.names.value(*value);
                format!("{value} to {}: {}", self.partition(*partition), sent(*outcome))
            }
            Observed::OffsetsSent { transaction, group, offsets, error } => {
                let (group, offsets) = (self.names.group(*group), self.positions(offsets));
                format!("{} sends offsets of \"{group}\" {offsets}: {error}", name(*transaction))
            }
            Observed::Decided { transaction } => {
                format!("its store decides that {} commits", name(*transaction))
            }
            Observed::EndCalled { transaction, commit } => {
                format!("{} {}", ends(*commit), name(*transaction))
            }
            Observed::EndAnswered { transaction, commit, outcome } => {
                format!("{} {}: {}", ends(*commit), name(*transaction), ended(*outcome))
            }
            Observed::ProducerFailed { session, error } => {
                format!("session {session} has failed: {error}")
            }
            Observed::ProducerClosed { session } => format!("session {session} is closed"),
            _ => String::new(),
        }
    }

    fn reader(self, what: &Observed) -> String {
        match what {
            Observed::Polled { partition, isolation_level, from, to, records, bound } => {
                let records = records.iter();
                let records =
                    records.map(|(at, value)| format!("{}@{at}", self.names.value(*value)));
                let records = records.collect::<Vec<_>>().join(" ");
                let (partition, level) = (self.partition(*partition), isolation(*isolation_level));
                format!("reads {partition} {level} {from}..{to} below {bound}: [{records}]")
            }
            Observed::PositionSet { partition, offset } => {
                format!("position of {} is {offset}", self.partition(*partition))
            }
            Observed::EndOffset { partition, isolation_level, offset } => {
                let level = isolation(*isolation_level);
                format!("end of {} {level} is {offset}", self.partition(*partition))
            }
            Observed::OffsetsFetched { group, offsets } => {
                let group = self.names.group(*group);
                format!("offsets of \"{group}\" are {}", self.positions(offsets))
            }
            Observed::Rebalanced { group, callback, partitions } => {
                let partitions = joined(partitions.iter().map(|tp| self.partition(*tp)));
                format!(
                    "\"{}\": {partitions} {}",
                    self.names.group(*group),
                    callback_word(*callback)
                )
            }
            _ => String::new(),
        }
    }

    fn positions(self, offsets: &[(TopicPartition, i64)]) -> String {
        joined(offsets.iter().map(|(tp, offset)| format!("{}@{offset}", self.partition(*tp))))
    }
}

/// `transaction 2.5`: the fifth of the second session.
fn name(transaction: TransactionRef) -> String {
    format!("transaction {}.{}", transaction.session, transaction.number)
}

const fn callback_word(callback: Rebalance) -> &'static str {
    match callback {
        Rebalance::Assigned => "assigned",
        Rebalance::Revoked => "revoked",
        Rebalance::Lost => "lost",
    }
}

const fn ends(commit: bool) -> &'static str {
    if commit { "commits" } else { "aborts" }
}

fn sent(outcome: SendOutcome) -> String {
    match outcome {
        SendOutcome::Acknowledged { offset: Some(offset) } => format!("acknowledged @{offset}"),
        SendOutcome::Acknowledged { offset: None } => "acknowledged".to_string(),
        SendOutcome::Refused { error } => format!("refused {error}"),
        SendOutcome::Unknown { error } => format!("unknown {error}"),
    }
}

fn ended(outcome: EndOutcome) -> String {
    match outcome {
        EndOutcome::Done => "done".to_string(),
        EndOutcome::Refused { error } => format!("refused {error}"),
        EndOutcome::Unknown { error } => format!("unknown {error}"),
    }
}
