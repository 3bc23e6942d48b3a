//! Which facts of a run without an end are of no use any more, and how they go.
//!
//! No Kafka counterpart. A send is kept as long as its record lies in a log or may still come to lie
//! there, but of those that were judged the newest only; a transaction, as long as it may still change
//! or one of its sends is kept; what was read, until it was judged; what lies at an offset, as long as
//! the log reaches there. Facts point to each other by their places, so that all of them move at once.

use eosim_types::observation::ClusterDump;
use eosim_types::{Duration, Instant, TopicPartition};

use crate::facts::{Delivered, Facts, Index, Send, SentOffset, Transaction};
use crate::logs::Logs;
use crate::table::{Table, index};

/// A send without an answer may come to lie in a log so late (`delivery.timeout.ms`, and a broker
/// that stands still).
const LATEST: Duration = Duration::from_millis(600_000);

/// No more sends than these are kept of those that were judged, the newest.
const MOST: usize = 300_000;

/// Where each fact goes; `None` if nowhere.
type Moves = Vec<Option<Index>>;

/// Forgets what cannot matter after `dump`, which `logs` were read from.
pub(crate) fn forget(facts: &mut Facts, logs: &Logs, dump: &ClusterDump, after: Duration) {
    let is_old = |at: Instant| dump.at.since(at) > after;
    let excess = facts.sends.len().saturating_sub(MOST);
    let is_kept = |(at, send): (usize, &Send)| {
        let is_answered = send.outcome.is_some() || dump.at.since(send.called.at) > LATEST;
        let is_judged = at < excess && may_be_forgotten(facts, send);
        !is_old(send.called.at) || !is_answered || (is_in_log(send, logs) && !is_judged)
    };
    let sends = moves(facts.sends.iter().enumerate().map(is_kept));
    let gone = facts.sends.iter().zip(&sends).filter(|(_, place)| place.is_none());
    facts.forgotten = facts.forgotten.max(gone.map(|(send, _)| send.value).max());
    let has_sends = |transaction: &Transaction| {
        facts.sends_of(transaction).any(|at| sends[at as usize].is_some())
    };
    let transactions = moves(facts.transactions.iter().map(|transaction| {
        let ended = transaction.ended.is_some_and(|ended| is_old(ended.at));
        !ended || has_sends(transaction)
    }));
    let polls = moves(facts.polls.iter().map(|poll| !is_old(poll.when.at)));
    // Chains lead to earlier ones: who is linked anew comes before those that it leads to.
    link_sessions(facts, &transactions);
    link_transactions(facts, &sends, &transactions, &polls);
    link_sends(facts, &sends, &transactions);
    move_polls(facts, &sends, &polls);
    retain(&mut facts.sends, &sends);
    retain(&mut facts.transactions, &transactions);
    facts.send_at = moved(&facts.send_at, &sends);
    facts.transaction_at = moved(&facts.transaction_at, &transactions);
    forget_holdings(facts, logs, dump);
}

/// May a send be forgotten though its record is there? Not if its transaction goes on, or if it is the
/// result of something: somebody may look for it yet.
fn may_be_forgotten(facts: &Facts, send: &Send) -> bool {
    let is_open = |at: Index| facts.transaction(at).ended.is_none();
    send.input.is_none() && !send.transaction.is_some_and(is_open)
}

/// Does the record of `send` lie in a log, as far as that can be told?
fn is_in_log(send: &Send, logs: &Logs) -> bool {
    logs.leader(send.partition).is_none() || logs.copies(send).next().is_some()
}

fn moves(kept: impl Iterator<Item = bool>) -> Moves {
    let mut next = 0;
    let place = |kept: bool| {
        kept.then(|| {
            next += 1;
            next - 1
        })
    };
    kept.map(place).collect()
}

fn retain<T>(list: &mut Vec<T>, moves: &Moves) {
    let mut kept = moves.iter().map(Option::is_some);
    list.retain(|_| kept.next().unwrap_or(true));
    list.shrink_to(list.len() * 2);
}

fn moved(table: &Table, moves: &Moves) -> Table {
    let mut new = Table::default();
    for (key, at) in table.entries() {
        if let Some(at) = moves[at as usize] {
            new.put(key, at);
        }
    }
    new
}

/// The first of a chain that is kept, at its new place.
fn first_kept(
    from: Option<Index>,
    moves: &Moves,
    next: impl Fn(Index) -> Option<Index>,
) -> Option<Index> {
    core::iter::successors(from, |&at| next(at)).find_map(|at| moves[at as usize])
}

fn link_sessions(facts: &mut Facts, transactions: &Moves) {
    let all = &facts.transactions;
    for session in &mut facts.sessions {
        let before = |at: Index| all[at as usize].previous;
        session.last_transaction = first_kept(session.last_transaction, transactions, before);
    }
}

fn link_transactions(facts: &mut Facts, sends: &Moves, transactions: &Moves, polls: &Moves) {
    let mut offsets = Vec::new();
    for at in (0..facts.transactions.len()).rev().filter(|&at| transactions[at].is_some()) {
        let fact = &facts.transactions[at];
        let before = |at: Index| facts.transactions[at as usize].previous;
        let previous = first_kept(fact.previous, transactions, before);
        let before = |at: Index| facts.sends[at as usize].previous_in_transaction;
        let last_send = first_kept(fact.last_send, sends, before);
        let read = fact.read_committed;
        let read = read.and_then(|(poll, send)| polls[poll as usize].zip(sends[send as usize]));
        let mut last_offset = None;
        let own: Vec<SentOffset> = facts.offsets_of(fact).collect();
        for sent in own.into_iter().rev() {
            offsets.push(SentOffset { previous: last_offset, ..sent });
            last_offset = Some(index(offsets.len() - 1));
        }
        let fact = &mut facts.transactions[at];
        (fact.previous, fact.last_send) = (previous, last_send);
        (fact.last_offset, fact.read_committed) = (last_offset, read);
    }
    facts.sent_offsets = offsets;
}

fn link_sends(facts: &mut Facts, sends: &Moves, transactions: &Moves) {
    for at in (0..facts.sends.len()).rev().filter(|&at| sends[at].is_some()) {
        let (all, send) = (&facts.sends, &facts.sends[at]);
        let before = |at: Index| all[at as usize].previous_of_value;
        let previous_of_value = first_kept(send.previous_of_value, sends, before);
        let before = |at: Index| all[at as usize].previous_in_transaction;
        let previous = first_kept(send.previous_in_transaction, sends, before);
        let transaction = send.transaction.and_then(|at| transactions[at as usize]);
        let send = &mut facts.sends[at];
        (send.previous_of_value, send.transaction) = (previous_of_value, transaction);
        send.previous_in_transaction = previous;
    }
}

/// Conflicts were reported when they were found; they go.
fn move_polls(facts: &mut Facts, sends: &Moves, polls: &Moves) {
    let mut delivered = Vec::new();
    for at in (0..facts.polls.len()).filter(|&at| polls[at].is_some()) {
        let first = index(delivered.len());
        let of_poll = facts.delivered_by(&facts.polls[at]).iter();
        delivered.extend(of_poll.map(|record| Delivered {
            send: record.send.and_then(|at| sends[at as usize]),
            conflict: None,
            ..*record
        }));
        let poll = &mut facts.polls[at];
        (poll.first, poll.end) = (first, index(delivered.len()));
    }
    facts.delivered = delivered;
    retain(&mut facts.polls, polls);
}

/// What lies below the beginning of its log goes, and all of a partition that is gone.
fn forget_holdings(facts: &mut Facts, logs: &Logs, dump: &ClusterDump) {
    let begins = |partition: TopicPartition| match logs.leader(partition) {
        Some(log) => dump.replicas[log.replica].log_start_offset,
        None if dump.replicas.iter().any(|replica| replica.partition == partition) => 0,
        None => i64::MAX,
    };
    let begins: Vec<i64> = facts.partitions.iter().map(|&partition| begins(partition)).collect();
    let (mut holdings, mut holding_at) = (Vec::new(), Table::default());
    for (key, at) in facts.holding_at.entries() {
        let (partition, offset) = Facts::held_at(key);
        let is_there = offset >= begins[usize::try_from(partition).unwrap_or(usize::MAX)];
        if is_there && Some(facts.holdings[at as usize].value) > facts.forgotten {
            holding_at.put(key, index(holdings.len()));
            holdings.push(facts.holdings[at as usize]);
        }
    }
    (facts.holdings, facts.holding_at) = (holdings, holding_at);
}
