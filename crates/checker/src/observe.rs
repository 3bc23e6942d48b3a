//! From observations to facts: what each one adds, and what it means with its names resolved.
//!
//! No Kafka counterpart. Observations may name sessions and transactions that were never seen to
//! begin (a history may start late); they begin when they are first named.

use eosim_types::message::IsolationLevel;
use eosim_types::observation::{EndOutcome, Observation, Observed, SendOutcome, TransactionRef};
use eosim_types::{ActorId, ErrorCode, TopicPartition, Value};

use crate::facts::{
    Delivered, EndOffset, Facts, Holding, Index, Poll, Send, SentOffset, Session, Source,
    Transaction, When,
};
use crate::setup::CheckerSetup;
use crate::table::index;

/// Offsets in keys of what is held.
const OFFSET_BITS: u32 = 44;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;

/// What an observation says, in terms of facts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Seen {
    /// Nothing that an invariant judges at once.
    Noted,
    /// A send was answered.
    Answered {
        /// Which.
        send: Index,
        /// In [`Facts::holdings`]: another record that was said to lie at that offset.
        conflict: Option<Index>,
    },
    /// The end of a transaction was answered.
    Ended {
        /// Which.
        transaction: Index,
    },
    /// A producer ended with a fatal error.
    Failed {
        /// Which.
        session: Index,
        /// The error.
        error: ErrorCode,
    },
    /// An actor found one of its own assumptions broken.
    Asserted {
        /// In [`Facts::assertions`].
        assertion: Index,
    },
    /// A reader took records.
    Polled {
        /// Which poll.
        poll: Index,
        /// Where the reader stood before, if it is known.
        position: Option<i64>,
    },
}

/// The kinds of [`Seen`] that invariants ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Answered,
    Ended,
    Failed,
    Asserted,
    Polled,
}

impl Kind {
    /// How many there are.
    pub(crate) const COUNT: usize = Self::Polled as usize + 1;
}

impl Seen {
    /// Its kind, if an invariant may ask for it.
    pub(crate) fn kind(self) -> Option<Kind> {
        match self {
            Self::Noted => None,
            Self::Answered { .. } => Some(Kind::Answered),
            Self::Ended { .. } => Some(Kind::Ended),
            Self::Failed { .. } => Some(Kind::Failed),
            Self::Asserted { .. } => Some(Kind::Asserted),
            Self::Polled { .. } => Some(Kind::Polled),
        }
    }
}

impl Facts {
    /// Adds what `observation` says.
    pub(crate) fn apply(&mut self, setup: &CheckerSetup, observation: &Observation) -> Seen {
        self.order += 1;
        let when = When { order: self.order, at: observation.at };
        let actor = observation.actor;
        match &observation.what {
            Observed::ProducerOpened { session, transactional_id } => {
                let at = self.session_of(actor, *session, when);
                self.sessions[at as usize].transactional_id = *transactional_id;
            }
            Observed::TransactionsInitialized { session } => {
                let at = self.session_of(actor, *session, when);
                self.sessions[at as usize].initialized = Some(when);
            }
            Observed::TransactionBegun { transaction } => {
                self.transaction_named(*transaction, when);
            }
            Observed::SendCalled { .. } => self.send_called(actor, &observation.what, when),
            Observed::SendAnswered { value, partition, outcome } => {
                return self.send_answered(setup, actor, (*value, *partition), *outcome, when);
            }
            Observed::OffsetsSent { .. } => self.offsets_sent(&observation.what, when),
            Observed::Decided { transaction } => {
                let at = self.transaction_named(*transaction, when);
                self.transactions[at as usize].decided.get_or_insert(when);
            }
            Observed::EndCalled { transaction, commit } => {
                let at = self.transaction_named(*transaction, when);
                let fact = &mut self.transactions[at as usize];
                fact.end_called.get_or_insert(when);
                if *commit {
                    let session = self.sessions.iter().rev().find(|session| session.actor == actor);
                    let session = session.map(|session| session.number);
                    fact.commit_called.get_or_insert(when);
                    let before = fact.commit_called_in;
                    fact.commit_called_in = session;
                    fact.commit_in_doubt |= before.is_some() && before != session;
                }
            }
            Observed::EndAnswered { transaction, commit, outcome } => {
                return self.end_answered(*transaction, *commit, *outcome, when);
            }
            Observed::ProducerFailed { session, error } => {
                let session = self.session_of(actor, *session, when);
                return Seen::Failed { session, error: *error };
            }
            Observed::ProducerClosed { session } => {
                let at = self.session_of(actor, *session, when);
                self.sessions[at as usize].closed.get_or_insert(when);
            }
            Observed::Polled { .. } => return self.polled(actor, &observation.what, when),
            Observed::PositionSet { partition, offset } => {
                self.move_reader(actor, *partition, *offset);
            }
            Observed::AssertionFailed { assertion } => {
                self.assertions.push((actor, assertion.clone()));
                return Seen::Asserted { assertion: index(self.assertions.len() - 1) };
            }
            Observed::EndOffset { partition, isolation_level, offset } => {
                self.end_offsets.push(EndOffset {
                    actor,
                    partition: *partition,
                    isolation_level: *isolation_level,
                    offset: *offset,
                    when,
                });
            }
            Observed::OffsetsFetched { .. } | Observed::Rebalanced { .. } => {}
        }
        Seen::Noted
    }

    fn session_of(&mut self, actor: ActorId, number: u32, when: When) -> Index {
        let key = u64::from(actor.0) << 32 | u64::from(number);
        if let Some(known) = self.session_at.get(key) {
            return known;
        }
        let new = index(self.sessions.len());
        self.sessions.push(Session {
            actor,
            number,
            transactional_id: None,
            opened: when,
            initialized: None,
            closed: None,
            last_transaction: None,
        });
        self.session_at.put(key, new);
        new
    }

    fn transaction_named(&mut self, reference: TransactionRef, when: When) -> Index {
        let session = self.session_of(reference.producer, reference.session, when);
        let key = u64::from(session) << 32 | u64::from(reference.number);
        if let Some(known) = self.transaction_at.get(key) {
            return known;
        }
        let new = index(self.transactions.len());
        let previous = self.sessions[session as usize].last_transaction.replace(new);
        self.transactions.push(Transaction {
            reference,
            begun: when,
            decided: None,
            commit_called: None,
            end_called: None,
            done: None,
            commit_called_in: None,
            commit_in_doubt: false,
            commit_refused: None,
            ended: None,
            last_send: None,
            last_offset: None,
            previous,
            read_committed: None,
        });
        self.transaction_at.put(key, new);
        new
    }

    fn send_called(&mut self, actor: ActorId, what: &Observed, when: When) {
        let Observed::SendCalled { value, partition, session, transaction, input } = what else {
            panic!("only for a call of send()");
        };
        let session = self.session_of(actor, *session, when);
        let transaction = transaction.map(|reference| self.transaction_named(reference, when));
        let new = index(self.sends.len());
        let previous_in_transaction =
            transaction.and_then(|at| self.transactions[at as usize].last_send.replace(new));
        let previous_of_value = self.send_at.put(value.0, new);
        if let Some(previous) = previous_of_value {
            self.sends[previous as usize].is_sent_again = true;
        }
        self.sends.push(Send {
            value: *value,
            partition: *partition,
            session,
            actor,
            transaction,
            input: *input,
            called: when,
            outcome: None,
            answered: When::default(),
            previous_of_value,
            is_sent_again: false,
            previous_in_transaction,
            read_at: None,
        });
    }

    fn offsets_sent(&mut self, what: &Observed, when: When) {
        let Observed::OffsetsSent { transaction, group, offsets, error } = what else {
            panic!("only for offsets sent to a transaction");
        };
        let transaction = self.transaction_named(*transaction, when);
        if !error.is_none() {
            return;
        }
        for &(partition, offset) in offsets {
            let head = &mut self.transactions[transaction as usize].last_offset;
            let previous = head.replace(index(self.sent_offsets.len()));
            self.sent_offsets.push(SentOffset { group: *group, partition, offset, previous });
        }
    }

    fn send_answered(
        &mut self,
        setup: &CheckerSetup,
        actor: ActorId,
        (value, partition): (Value, TopicPartition),
        outcome: SendOutcome,
        when: When,
    ) -> Seen {
        let Some(send) = self.unanswered(value, partition, actor) else {
            return Seen::Noted;
        };
        let fact = &mut self.sends[send as usize];
        fact.outcome = Some(outcome);
        fact.answered = when;
        let mut conflict = None;
        if let SendOutcome::Acknowledged { offset: Some(offset) } = outcome
            && setup.acknowledges_all(actor)
        {
            let said = Holding { value, source: Source::Acknowledged, actor, at: when.at };
            conflict = self.hold(partition, offset, said);
        }
        Seen::Answered { send, conflict }
    }

    /// The oldest send of `value` to `partition` by `actor` that has no answer.
    fn unanswered(&self, value: Value, partition: TopicPartition, actor: ActorId) -> Option<Index> {
        let newest = self.send_of(value);
        core::iter::successors(newest, |&at| self.send(at).previous_of_value)
            .filter(|&at| {
                let send = self.send(at);
                send.outcome.is_none() && send.partition == partition && send.actor == actor
            })
            .last()
    }

    fn end_answered(
        &mut self,
        reference: TransactionRef,
        commit: bool,
        outcome: EndOutcome,
        when: When,
    ) -> Seen {
        let transaction = self.transaction_named(reference, when);
        let fact = &mut self.transactions[transaction as usize];
        fact.ended = Some(when);
        match outcome {
            EndOutcome::Done => fact.done = Some((commit, when)),
            EndOutcome::Refused { error } if commit && !fact.commit_in_doubt => {
                fact.commit_refused = Some((error, when));
            }
            EndOutcome::Refused { .. } | EndOutcome::Unknown { .. } => {}
        }
        Seen::Ended { transaction }
    }

    fn polled(&mut self, actor: ActorId, what: &Observed, when: When) -> Seen {
        let Observed::Polled { partition, isolation_level, from, to, records, bound } = what else {
            panic!("only for a poll");
        };
        let position = self.move_reader(actor, *partition, *to);
        let first = index(self.delivered.len());
        let poll = index(self.polls.len());
        for &(offset, value) in records {
            let said = Holding { value, source: Source::Read, actor, at: when.at };
            let conflict = self.hold(*partition, offset, said);
            let send = self.send_of(value);
            let elsewhere = send.and_then(|send| self.note_read(send, *partition, offset));
            self.delivered.push(Delivered { offset, value, send, conflict, elsewhere });
            if let (Some(send), IsolationLevel::ReadCommitted) = (send, isolation_level) {
                self.note_read_committed(send, poll);
            }
        }
        self.polls.push(Poll {
            actor,
            partition: *partition,
            isolation_level: *isolation_level,
            from: *from,
            to: *to,
            bound: *bound,
            when,
            first,
            end: index(self.delivered.len()),
        });
        Seen::Polled { poll, position }
    }

    /// Notes where a record was read; another offset of the partition where it was read before.
    fn note_read(&mut self, send: Index, partition: TopicPartition, offset: i64) -> Option<i64> {
        let first = *self.sends[send as usize].read_at.get_or_insert((partition, offset));
        (first.0 == partition && first.1 != offset).then_some(first.1)
    }

    fn note_read_committed(&mut self, send: Index, poll: Index) {
        if let Some(transaction) = self.sends[send as usize].transaction {
            self.transactions[transaction as usize].read_committed.get_or_insert((poll, send));
        }
    }

    /// Sets a reader's position and says where it was.
    fn move_reader(&mut self, actor: ActorId, partition: TopicPartition, to: i64) -> Option<i64> {
        let partition = self.partition(partition);
        let key = u64::from(actor.0) << 32 | u64::from(partition);
        if let Some(known) = self.position_at.get(key) {
            return Some(core::mem::replace(&mut self.positions[known as usize], to));
        }
        self.position_at.put(key, index(self.positions.len()));
        self.positions.push(to);
        None
    }

    /// The place of the partition and the offset that a key of what is held stands for.
    pub(crate) fn held_at(key: u64) -> (u64, i64) {
        (key >> OFFSET_BITS, (key & OFFSET_MASK).cast_signed())
    }

    /// Notes what lies at `offset`; what was said before to lie there, if it is another record.
    pub(crate) fn hold(
        &mut self,
        partition: TopicPartition,
        offset: i64,
        said: Holding,
    ) -> Option<Index> {
        let partition = self.partition(partition);
        let key = u64::from(partition) << OFFSET_BITS | offset.cast_unsigned() & OFFSET_MASK;
        if let Some(known) = self.holding_at.get(key) {
            return (self.holdings[known as usize].value != said.value).then_some(known);
        }
        self.holding_at.put(key, index(self.holdings.len()));
        self.holdings.push(said);
        None
    }
}
