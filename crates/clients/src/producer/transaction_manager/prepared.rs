//! Transactions whose outcome somebody else decides (KIP-939: `prepareTransaction`,
//! `preparedTransactionState`).

use eosim_types::machine::ProducerEvent;
use eosim_types::{Capability, Env, ErrorCode};

use super::{Caller, TransactionManager};
use crate::exception::{Exception, ExceptionClass};
use crate::producer::PreparedTransaction;
use crate::producer::producer_batch::ProducerIdAndEpoch;
use crate::producer::state::State;

impl TransactionManager {
    /// Is two-phase commit on, and known to this client (P-CFG-6)?
    pub(crate) const fn is_two_phase_commit_enabled(&self, env: &Env<'_>) -> bool {
        self.two_phase_commit && env.has(Capability::TwoPhaseCommitAtProducers)
    }

    pub(crate) fn throw_unless_two_phase_commit(&self, env: &Env<'_>) -> Result<(), Exception> {
        self.ensure_transactional()?;
        let is_enabled = self.is_two_phase_commit_enabled(env);
        if is_enabled { Ok(()) } else { Err(invalid_txn_state()) }
    }

    /// `prepareTransaction()`, once everything is flushed.
    pub(crate) fn prepare_transaction(&mut self, env: &mut Env<'_>) -> Result<(), Exception> {
        env.takes(self.state, ProducerEvent::PrepareTransaction);
        self.throw_if_pending(env)?;
        self.maybe_fail_with_error()?;
        self.transition_to(State::PreparedTransaction, None, Caller::Application)?;
        self.prepared = Some(self.producer);
        Ok(())
    }

    /// `completeTransaction()`: is `token` that of the prepared transaction, so that it commits?
    pub(crate) fn is_prepared_as(&self, token: ProducerIdAndEpoch) -> Result<bool, Exception> {
        self.ensure_transactional()?;
        match self.prepared.filter(|_| self.state == State::PreparedTransaction) {
            Some(prepared) => Ok(prepared == token),
            None => Err(invalid_txn_state()),
        }
    }

    /// The prepared transaction, or what an application that has flushed would keep of it.
    pub(crate) fn prepared_transaction(&self) -> Option<PreparedTransaction> {
        let is_open = matches!(self.state, State::InTransaction | State::PreparedTransaction);
        is_open.then_some(PreparedTransaction {
            producer: self.prepared.unwrap_or(self.producer),
            is_transaction_v2_enabled: self.is_transaction_v2_enabled,
        })
    }

    /// What applications do by reflection that have to end a transaction of a life before
    /// (`FlinkKafkaInternalProducer#resumeTransaction`).
    pub(crate) fn resume_transaction(
        &mut self,
        transaction: PreparedTransaction,
    ) -> Result<(), Exception> {
        self.ensure_transactional()?;
        if self.state != State::Uninitialized {
            return Err(Exception::illegal_state());
        }
        self.producer = transaction.producer;
        self.is_transaction_v2_enabled = transaction.is_transaction_v2_enabled;
        self.began_with_transaction_v2 = transaction.is_transaction_v2_enabled;
        self.transaction_started = true;
        self.state = State::InTransaction;
        Ok(())
    }
}

const fn invalid_txn_state() -> Exception {
    Exception::new(ExceptionClass::Api(ErrorCode::InvalidTxnState))
}
