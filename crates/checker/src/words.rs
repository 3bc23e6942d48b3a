//! How facts are put into sentences.
//!
//! No Kafka counterpart. Sentences are made only for anomalies, never on the way of a sound run.

use eosim_types::message::IsolationLevel;
use eosim_types::observation::{SendOutcome, UNSEEN_BOUND};
use eosim_types::{Names, TopicPartition, Value};

use crate::facts::{EndOffset, Facts, Index, Poll, Transaction};
use crate::logs::{Fate, Place};
use crate::replay::Ended;
use crate::setup::CheckerSetup;

/// Names and facts, to be read out.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a> {
    pub(crate) setup: &'a CheckerSetup,
    pub(crate) names: &'a Names,
    pub(crate) facts: &'a Facts,
}

impl Words<'_> {
    /// `value@offset of partition`.
    pub(crate) fn record(self, value: Value, partition: TopicPartition, offset: i64) -> String {
        format!("{}@{offset} of {}", self.names.value(value), self.names.partition(partition))
    }

    /// A record of a log with its producer.
    pub(crate) fn place(self, place: &Place) -> String {
        format!(
            "{} (producer id {}, epoch {})",
            self.record(place.value, place.partition, place.offset),
            place.producer_id,
            place.producer_epoch
        )
    }

    /// Who sent a record, when, and what he was told.
    pub(crate) fn send(self, index: Index) -> String {
        let send = self.facts.send(index);
        let session = self.facts.session(send.session);
        let transaction = send.transaction.map_or_else(String::new, |at| {
            format!(" in transaction {}", self.facts.transaction(at).reference.number)
        });
        format!(
            "{} for {}, sent by {} (session {}){transaction} at {}, {}",
            self.names.value(send.value),
            self.names.partition(send.partition),
            self.setup.actor(send.actor),
            session.number,
            send.called.at,
            self.told(index)
        )
    }

    /// What the sender of a record was told.
    fn told(self, index: Index) -> String {
        let send = self.facts.send(index);
        let at = send.answered.at;
        match send.outcome {
            None => "never answered".to_string(),
            Some(SendOutcome::Acknowledged { offset: Some(offset) }) => {
                format!("acknowledged at offset {offset} at {at}")
            }
            Some(SendOutcome::Acknowledged { offset: None }) => format!("acknowledged at {at}"),
            Some(SendOutcome::Refused { error }) => format!("refused with {error} at {at}"),
            Some(SendOutcome::Unknown { error }) => format!("failed with {error} at {at}"),
        }
    }

    /// A transaction and what its application asked and was told.
    pub(crate) fn transaction(self, transaction: &Transaction) -> String {
        let reference = transaction.reference;
        format!(
            "transaction {} of {} (session {}), {}",
            reference.number,
            self.setup.actor(reference.producer),
            reference.session,
            ending(transaction)
        )
    }

    /// A poll: who read what.
    pub(crate) fn poll(self, poll: &Poll) -> String {
        let bound = match poll.bound {
            UNSEEN_BOUND => String::new(),
            bound => format!(" under bound {bound}"),
        };
        format!(
            "{} ({}) took {}..{} of {} at {}{bound}",
            self.setup.actor(poll.actor),
            isolation(poll.isolation_level),
            poll.from,
            poll.to,
            self.names.partition(poll.partition),
            poll.when.at
        )
    }

    /// The end of a partition as a reader was told it.
    pub(crate) fn end_offset(self, told: &EndOffset) -> String {
        format!(
            "{} ({}) was told at {} that {} ends at {}",
            self.setup.actor(told.actor),
            isolation(told.isolation_level),
            told.when.at,
            self.names.partition(told.partition),
            told.offset
        )
    }

    /// `COMMIT marker at … of …`.
    pub(crate) fn marker(self, partition: TopicPartition, ended: &Ended) -> String {
        format!(
            "{} marker at {} of {} (epoch {})",
            ended.result.name(),
            ended.marker_offset,
            self.names.partition(partition),
            ended.marker_epoch
        )
    }
}

/// Kafka's spelling.
const fn isolation(level: IsolationLevel) -> &'static str {
    match level {
        IsolationLevel::ReadUncommitted => "read_uncommitted",
        IsolationLevel::ReadCommitted => "read_committed",
    }
}

/// What was asked of a transaction, and answered.
fn ending(transaction: &Transaction) -> String {
    if let Some((commit, when)) = transaction.done {
        let what = if commit { "commit" } else { "abort" };
        return format!("{what} reported done at {}", when.at);
    }
    if let Some((error, when)) = transaction.commit_refused {
        return format!("commit refused with {error} at {}", when.at);
    }
    match (transaction.commit_called, transaction.end_called) {
        (Some(when), _) => format!("commit called at {}, outcome unknown", when.at),
        (None, Some(when)) => format!("abort called at {}, outcome unknown", when.at),
        (None, None) => "never ended by its producer".to_string(),
    }
}

/// How a log decided on a record.
pub(crate) fn fate(fate: Fate) -> String {
    match fate {
        Fate::Plain => "not transactional".to_string(),
        Fate::Open => "open".to_string(),
        Fate::Committed(marker) => format!("committed by the marker at {marker}"),
        Fate::Aborted(marker) => format!("aborted by the marker at {marker}"),
    }
}
