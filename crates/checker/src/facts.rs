//! The history as facts: sessions, transactions, sends, polls, each kept once for all invariants.
//!
//! No Kafka counterpart. Facts only ever come from observations. An unknown outcome stays
//! unknown: an open question is never filled with a guess. Memory is kept when a run ends.

use eosim_types::message::IsolationLevel;
use eosim_types::observation::{SendOutcome, TransactionRef};
use eosim_types::{ActorId, ErrorCode, GroupId, Instant, TopicPartition, TransactionalId, Value};

use crate::table::{Table, index};

/// Place of a fact in its list.
pub(crate) type Index = u32;

/// When something was observed; `order` counts observations and is unique.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct When {
    pub(crate) order: u64,
    pub(crate) at: Instant,
}

/// One life of a producer.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) actor: ActorId,
    pub(crate) number: u32,
    pub(crate) transactional_id: Option<TransactionalId>,
    pub(crate) opened: When,
    pub(crate) initialized: Option<When>,
    pub(crate) closed: Option<When>,
    /// Head of the chain through [`Transaction::previous`].
    pub(crate) last_transaction: Option<Index>,
}

/// One transaction as its producer counts it.
#[derive(Clone, Debug)]
pub(crate) struct Transaction {
    pub(crate) reference: TransactionRef,
    pub(crate) begun: When,
    /// An external store decided that it commits.
    pub(crate) decided: Option<When>,
    /// First call of `commitTransaction()`.
    pub(crate) commit_called: Option<When>,
    /// First call of either ending.
    pub(crate) end_called: Option<When>,
    /// Definite success, and whether it was a commit.
    pub(crate) done: Option<(bool, When)>,
    /// The number of the session that called `commitTransaction()` last.
    pub(crate) commit_called_in: Option<u32>,
    /// A life of its producer before the one that called last had called `commitTransaction()`, and
    /// what came of that nobody knows: no later answer is about it (N6).
    pub(crate) commit_in_doubt: bool,
    /// A commit was definitely refused, and none is in doubt.
    pub(crate) commit_refused: Option<(ErrorCode, When)>,
    /// When it last answered, however.
    pub(crate) ended: Option<When>,
    /// Head of the chain through [`Send::previous_in_transaction`].
    pub(crate) last_send: Option<Index>,
    /// Head of the chain through [`SentOffset::previous`].
    pub(crate) last_offset: Option<Index>,
    /// The transaction of the same session before it.
    pub(crate) previous: Option<Index>,
    /// The poll that first gave a record of it to a read_committed reader, and the record's send.
    pub(crate) read_committed: Option<(Index, Index)>,
}

/// One call of `send()`.
#[derive(Clone, Debug)]
pub(crate) struct Send {
    pub(crate) value: Value,
    pub(crate) partition: TopicPartition,
    pub(crate) session: Index,
    pub(crate) actor: ActorId,
    pub(crate) transaction: Option<Index>,
    pub(crate) input: Option<(TopicPartition, i64)>,
    pub(crate) called: When,
    pub(crate) outcome: Option<SendOutcome>,
    pub(crate) answered: When,
    /// An earlier send of the same value.
    pub(crate) previous_of_value: Option<Index>,
    /// The same value was sent once more.
    pub(crate) is_sent_again: bool,
    pub(crate) previous_in_transaction: Option<Index>,
    /// Where a reader saw it first.
    pub(crate) read_at: Option<(TopicPartition, i64)>,
}

/// One offset that was sent to a transaction and accepted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentOffset {
    pub(crate) group: GroupId,
    pub(crate) partition: TopicPartition,
    pub(crate) offset: i64,
    pub(crate) previous: Option<Index>,
}

/// One poll of one reader.
#[derive(Clone, Debug)]
pub(crate) struct Poll {
    pub(crate) actor: ActorId,
    pub(crate) partition: TopicPartition,
    pub(crate) isolation_level: IsolationLevel,
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) bound: i64,
    pub(crate) when: When,
    /// First place in [`Facts::delivered`].
    pub(crate) first: Index,
    /// Place after the last.
    pub(crate) end: Index,
}

/// The end of a partition as a reader was told it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EndOffset {
    pub(crate) actor: ActorId,
    pub(crate) partition: TopicPartition,
    pub(crate) isolation_level: IsolationLevel,
    pub(crate) offset: i64,
    pub(crate) when: When,
}

/// One record as a reader was given it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    pub(crate) offset: i64,
    pub(crate) value: Value,
    /// The newest send of that value.
    pub(crate) send: Option<Index>,
    /// In [`Facts::holdings`]: another record that was said to lie at that offset.
    pub(crate) conflict: Option<Index>,
    /// Another offset of the partition where the same record was read before.
    pub(crate) elsewhere: Option<i64>,
}

/// Who said what lies at an offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// A producer was told so.
    Acknowledged,
    /// A reader was given it.
    Read,
}

/// What is known to lie at one offset of one partition: the first word counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holding {
    pub(crate) value: Value,
    pub(crate) source: Source,
    pub(crate) actor: ActorId,
    pub(crate) at: Instant,
}

/// All facts of one run so far.
#[derive(Default, Debug)]
pub(crate) struct Facts {
    pub(crate) sessions: Vec<Session>,
    pub(crate) transactions: Vec<Transaction>,
    pub(crate) sends: Vec<Send>,
    pub(crate) sent_offsets: Vec<SentOffset>,
    pub(crate) polls: Vec<Poll>,
    pub(crate) end_offsets: Vec<EndOffset>,
    pub(crate) delivered: Vec<Delivered>,
    pub(crate) holdings: Vec<Holding>,
    /// The last value of which a send was forgotten; values are numbered in the order in which they
    /// come up where anything is forgotten.
    pub(crate) forgotten: Option<Value>,
    /// Broken assumptions, and whose.
    pub(crate) assertions: Vec<(ActorId, String)>,
    pub(crate) partitions: Vec<TopicPartition>,
    /// Each with the positions of readers of that partition.
    pub(crate) positions: Vec<i64>,
    pub(crate) session_at: Table,
    pub(crate) transaction_at: Table,
    pub(crate) send_at: Table,
    pub(crate) holding_at: Table,
    pub(crate) partition_at: Table,
    pub(crate) position_at: Table,
    /// How many observations there were.
    pub(crate) order: u64,
}

impl Facts {
    /// Forgets the run and keeps the memory.
    pub(crate) fn reset(&mut self) {
        self.sessions.clear();
        self.transactions.clear();
        self.sends.clear();
        self.sent_offsets.clear();
        self.polls.clear();
        self.end_offsets.clear();
        self.delivered.clear();
        self.holdings.clear();
        self.assertions.clear();
        self.forgotten = None;
        self.partitions.clear();
        self.positions.clear();
        for table in [
            &mut self.session_at,
            &mut self.transaction_at,
            &mut self.send_at,
            &mut self.holding_at,
            &mut self.partition_at,
            &mut self.position_at,
        ] {
            table.clear();
        }
        self.order = 0;
    }

    pub(crate) fn session(&self, index: Index) -> &Session {
        &self.sessions[index as usize]
    }

    pub(crate) fn transaction(&self, index: Index) -> &Transaction {
        &self.transactions[index as usize]
    }

    pub(crate) fn send(&self, index: Index) -> &Send {
        &self.sends[index as usize]
    }

    pub(crate) fn poll(&self, index: Index) -> &Poll {
        &self.polls[index as usize]
    }

    /// What `poll` delivered.
    pub(crate) fn delivered_by(&self, poll: &Poll) -> &[Delivered] {
        &self.delivered[poll.first as usize..poll.end as usize]
    }

    /// The newest send of `value`.
    pub(crate) fn send_of(&self, value: Value) -> Option<Index> {
        self.send_at.get(value.0)
    }

    /// The transaction to which the newest send of a delivered value belongs.
    pub(crate) fn transaction_of(&self, send: Index) -> Option<&Transaction> {
        self.send(send).transaction.map(|at| self.transaction(at))
    }

    /// Was the value of `send` sent only once? Otherwise it is open which copy is whose (N11).
    pub(crate) fn is_unique(&self, send: Index) -> bool {
        let fact = self.send(send);
        fact.previous_of_value.is_none() && !fact.is_sent_again
    }

    /// How often the value of the newest send `send` was sent to `partition`.
    pub(crate) fn times_sent(&self, send: Index, partition: TopicPartition) -> usize {
        core::iter::successors(Some(send), |&at| self.send(at).previous_of_value)
            .filter(|&at| self.send(at).partition == partition)
            .count()
    }

    /// The sends of `transaction`, newest first.
    pub(crate) fn sends_of(&self, transaction: &Transaction) -> impl Iterator<Item = Index> {
        core::iter::successors(transaction.last_send, |&at| self.send(at).previous_in_transaction)
    }

    /// The offsets that `transaction` was given, newest first.
    pub(crate) fn offsets_of(&self, transaction: &Transaction) -> impl Iterator<Item = SentOffset> {
        let at = |index: Index| self.sent_offsets[index as usize];
        core::iter::successors(transaction.last_offset.map(at), move |sent| sent.previous.map(at))
    }

    /// The place of `partition`, new if need be.
    pub(crate) fn partition(&mut self, partition: TopicPartition) -> Index {
        let key = partition_key(partition);
        if let Some(known) = self.partition_at.get(key) {
            return known;
        }
        let new = index(self.partitions.len());
        self.partitions.push(partition);
        self.partition_at.put(key, new);
        new
    }
}

/// A partition as a key.
pub(crate) fn partition_key(partition: TopicPartition) -> u64 {
    u64::from(partition.topic.0) << 32 | u64::from(partition.partition.cast_unsigned())
}
