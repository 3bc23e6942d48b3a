//! What an application with a producer keeps of it, and what it tells the checker: sessions,
//! transactions, records whose futures are open.
//!
//! Invariants: sessions are numbered over crashes; every `send()` is answered at most once.

use alloc::collections::VecDeque;

use eosim_types::config::ProducerConfig;
use eosim_types::observation::{EndOutcome, Observed, SendOutcome, TransactionRef};
use eosim_types::{ActorId, BrokerId, ErrorCode, TopicPartition, TransactionalId, Value};

use crate::exception::Exception;
use crate::network_client::ClientOut;
use crate::producer::{CallId, Producer, RecordOutcome, State};

/// A producer's life, and how many came before it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ProducerSession {
    id: ActorId,
    /// Opened so far; survives a crash.
    sessions: u32,
    /// The process died with a producer open.
    died_open: bool,
    pub(crate) producer: Option<Producer>,
    pub(crate) transaction: Option<TransactionRef>,
    transactions_begun: u32,
    sends: VecDeque<(CallId, Value, TopicPartition)>,
    /// A future of the open transaction has failed.
    has_lost_records: bool,
}

impl ProducerSession {
    /// None so far.
    pub(super) const fn new(id: ActorId) -> Self {
        Self {
            id,
            sessions: 0,
            died_open: false,
            producer: None,
            transaction: None,
            transactions_begun: 0,
            sends: VecDeque::new(),
            has_lost_records: false,
        }
    }

    /// Back to the state before the run.
    pub(super) fn reset(&mut self) {
        *self = Self::new(self.id);
    }

    /// The process dies.
    pub(super) fn crash(&mut self) {
        self.died_open = self.producer.is_some();
        self.forget();
    }

    /// The process begins; only now can it be told that a session died with it.
    pub(super) fn started(&mut self, out: &mut ClientOut) {
        if core::mem::take(&mut self.died_open) {
            out.observe(Observed::ProducerClosed { session: self.number() });
        }
    }

    fn forget(&mut self) {
        self.producer = None;
        self.transaction = None;
        self.sends.clear();
    }

    /// The number of the session that is open or was last.
    pub(super) const fn number(&self) -> u32 {
        self.sessions.saturating_sub(1)
    }

    pub(super) fn open(
        &mut self,
        config: &ProducerConfig,
        transactional_id: Option<TransactionalId>,
        brokers: &[BrokerId],
        out: &mut ClientOut,
    ) {
        self.forget();
        self.producer = Some(Producer::new(config, transactional_id, brokers));
        self.sessions += 1;
        self.transactions_begun = 0;
        out.observe(Observed::ProducerOpened { session: self.number(), transactional_id });
    }

    pub(super) fn closed(&mut self, out: &mut ClientOut) {
        self.forget();
        out.observe(Observed::ProducerClosed { session: self.number() });
    }

    /// The state of the producer's transaction manager, if there is one.
    pub(super) fn state(&self) -> Option<State> {
        self.producer.as_ref().and_then(Producer::state)
    }

    pub(super) fn initialized(&self, out: &mut ClientOut) {
        out.observe(Observed::TransactionsInitialized { session: self.number() });
    }

    pub(super) fn begun(&mut self, out: &mut ClientOut) {
        let (producer, session) = (self.id, self.number());
        let transaction = TransactionRef { producer, session, number: self.transactions_begun };
        self.transactions_begun += 1;
        self.has_lost_records = false;
        self.transaction = Some(transaction);
        out.observe(Observed::TransactionBegun { transaction });
    }

    pub(super) fn observe_send(
        &self,
        partition: TopicPartition,
        value: Value,
        input: Option<(TopicPartition, i64)>,
        out: &mut ClientOut,
    ) {
        let (session, transaction) = (self.number(), self.transaction);
        out.observe(Observed::SendCalled { value, partition, session, transaction, input });
    }

    /// `send()` was called; its future is open.
    pub(super) fn await_record(&mut self, call: CallId, value: Value, partition: TopicPartition) {
        self.sends.push_back((call, value, partition));
    }

    /// Has a record of the open transaction failed, as far as its futures tell?
    pub(super) const fn has_lost_records(&self) -> bool {
        self.has_lost_records
    }

    /// P-MOD-4.
    pub(super) fn record_completed(&mut self, record: RecordOutcome, out: &mut ClientOut) {
        let place = self.sends.iter().position(|(call, ..)| *call == record.call);
        let Some((_, value, partition)) = place.and_then(|at| self.sends.remove(at)) else {
            return;
        };
        let outcome = match record.result {
            Ok(offset) => SendOutcome::Acknowledged { offset },
            Err(exception) => {
                self.has_lost_records = true;
                let error = exception.error_code();
                if record.definitely_refused {
                    SendOutcome::Refused { error }
                } else {
                    SendOutcome::Unknown { error }
                }
            }
        };
        out.observe(Observed::SendAnswered { value, partition, outcome });
    }

    /// A `send()` that threw has no future: its record is refused at once.
    pub(super) fn send_threw(&mut self, call: CallId, thrown: &Exception, out: &mut ClientOut) {
        let result = Err(thrown.clone());
        self.record_completed(RecordOutcome { call, result, definitely_refused: true }, out);
    }

    /// Commit or abort is called.
    pub(super) fn end_called(&self, commit: bool, out: &mut ClientOut) {
        if let Some(transaction) = self.transaction {
            out.observe(Observed::EndCalled { transaction, commit });
        }
    }

    /// Commit or abort is over, and so is what it tells.
    pub(super) fn end_answered(
        &mut self,
        commit: bool,
        result: &Result<(), Exception>,
        out: &mut ClientOut,
    ) -> EndOutcome {
        let refused = commit && self.producer.as_ref().is_some_and(Producer::commit_is_refused);
        let outcome = match result {
            Ok(()) => EndOutcome::Done,
            // P-API-4: a wait that is over tells nothing.
            Err(thrown) if thrown.is(ErrorCode::RequestTimedOut) => {
                EndOutcome::Unknown { error: ErrorCode::RequestTimedOut }
            }
            Err(thrown) if refused => EndOutcome::Refused { error: thrown.error_code() },
            Err(thrown) => EndOutcome::Unknown { error: thrown.error_code() },
        };
        if let Some(transaction) = self.transaction {
            out.observe(Observed::EndAnswered { transaction, commit, outcome });
        }
        if result.is_ok() {
            self.transaction = None;
        }
        outcome
    }

    /// Something was thrown; `true` if the producer can do nothing more but close.
    pub(super) fn observe_failure(&self, error: ErrorCode, out: &mut ClientOut) -> bool {
        let failed = self.state() == Some(State::FatalError);
        if failed {
            out.observe(Observed::ProducerFailed { session: self.number(), error });
        }
        failed
    }
}
