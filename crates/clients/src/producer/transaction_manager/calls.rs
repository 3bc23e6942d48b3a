//! The application's calls (`initializeTransactions`, `beginTransaction`, `beginCommit`,
//! `beginAbort`, `maybeAddPartition`; P-API).

use eosim_types::machine::ProducerEvent;
use eosim_types::record::TransactionResult;
use eosim_types::{Env, TopicPartition, rule};

use super::requests::Initialization;
use super::{Caller, PendingTransition, ResultId, TransactionManager, TxnRequest};
use crate::exception::Exception;
use crate::producer::state::State;

impl TransactionManager {
    /// `initTransactions(keepPrepared)`.
    pub(crate) fn initialize_transactions(
        &mut self,
        keep_prepared: bool,
        env: &mut Env<'_>,
    ) -> Result<ResultId, Exception> {
        env.takes(self.state, ProducerEvent::InitTransactions);
        // P-API-2
        self.maybe_fail_with_error()?;
        self.ensure_transactional()?;
        if let Some(result) = self.cached_result(State::Initializing, env)? {
            return Ok(result);
        }
        self.transition_to(State::Initializing, None, Caller::Application)?;
        let result = self.results.create();
        let enable_2pc = self.is_two_phase_commit_enabled(env);
        self.enqueue(
            TxnRequest::InitProducerId(Initialization::New { keep_prepared, enable_2pc }),
            Some(result),
        );
        self.pending_transition = Some(PendingTransition { result, target: State::Initializing });
        Ok(result)
    }

    /// `beginTransaction()`.
    pub(crate) fn begin_transaction(&mut self, env: &mut Env<'_>) -> Result<(), Exception> {
        env.takes(self.state, ProducerEvent::BeginTransaction);
        self.ensure_transactional()?;
        self.throw_if_pending(env)?;
        self.maybe_fail_with_error()?;
        self.transition_to(State::InTransaction, None, Caller::Application)?;
        self.began_with_transaction_v2 = self.is_transaction_v2_enabled;
        Ok(())
    }

    /// `commitTransaction()`.
    pub(crate) fn begin_commit(&mut self, env: &mut Env<'_>) -> Result<ResultId, Exception> {
        env.takes(self.state, ProducerEvent::CommitTransaction);
        self.ensure_transactional()?;
        if let Some(result) = self.cached_result(State::CommittingTransaction, env)? {
            return Ok(result);
        }
        self.end_txn_sends = 0;
        rule!(env, "P-API-5");
        self.maybe_fail_with_error()?;
        self.transition_to(State::CommittingTransaction, None, Caller::Application)?;
        Ok(self.begin_completing_transaction(TransactionResult::Commit, env))
    }

    /// `abortTransaction()`.
    pub(crate) fn begin_abort(&mut self, env: &mut Env<'_>) -> Result<ResultId, Exception> {
        env.takes(self.state, ProducerEvent::AbortTransaction);
        self.ensure_transactional()?;
        if let Some(result) = self.cached_result(State::AbortingTransaction, env)? {
            return Ok(result);
        }
        if self.state != State::AbortableError {
            self.maybe_fail_with_error()?;
        }
        self.transition_to(State::AbortingTransaction, None, Caller::Application)?;
        self.new_partitions_in_transaction.clear();
        Ok(self.begin_completing_transaction(TransactionResult::Abort, env))
    }

    /// P-API-3.
    fn begin_completing_transaction(
        &mut self,
        outcome: TransactionResult,
        env: &mut Env<'_>,
    ) -> ResultId {
        rule!(env, "P-API-3");
        let target = self.state;
        self.end_txn_sends = 0;
        self.enqueue_new_partitions(env);
        let end_txn = TxnRequest::EndTxn {
            producer: self.producer,
            committed: outcome == TransactionResult::Commit,
            is_transaction_v2_enabled: self.is_version_2_transaction(env),
        };
        rule!(env, "P-TV-3");
        self.maybe_update_transaction_v2_enabled(false, env);
        let mut result = self.results.create();
        self.enqueue(end_txn, Some(result));
        if self.client_side_epoch_bump_required {
            rule!(env, "P-TV-6");
            result = self.results.create();
            let mut initialization = Initialization::EpochBump;
            if !self.producer.is_valid() {
                // An ordinary initialisation; it overtakes the EndTxn.
                self.state = State::Initializing;
                initialization = Initialization::PLAIN;
            }
            self.enqueue(TxnRequest::InitProducerId(initialization), Some(result));
        }
        self.pending_transition = Some(PendingTransition { result, target });
        result
    }

    /// P-API-6 (`maybeAddPartition`): a record was appended to `partition`.
    pub(crate) fn maybe_add_partition(
        &mut self,
        partition: TopicPartition,
        env: &mut Env<'_>,
    ) -> Result<(), Exception> {
        env.takes(self.state, ProducerEvent::Send);
        rule!(env, "P-API-6");
        self.maybe_fail_with_error()?;
        self.throw_if_pending(env)?;
        if !self.is_transactional() {
            return Ok(());
        }
        if !self.producer.is_valid() || self.state != State::InTransaction {
            return Err(Exception::illegal_state());
        }
        if self.is_transaction_v2_enabled {
            self.txn_partition_map.get_or_create(partition);
            self.partitions_in_transaction.insert(partition);
            self.transaction_started = true;
        } else if !self.partitions_in_transaction.contains(&partition)
            && !self.pending_partitions_in_transaction.contains(&partition)
        {
            self.txn_partition_map.get_or_create(partition);
            self.new_partitions_in_transaction.insert(partition);
        }
        Ok(())
    }

    /// P-API-1: the same call again gets the same result, another one is refused.
    fn cached_result(
        &mut self,
        target: State,
        env: &mut Env<'_>,
    ) -> Result<Option<ResultId>, Exception> {
        let Some(pending) = self.pending_transition else { return Ok(None) };
        if self.results.is_acked(pending.result) {
            self.results.forget(pending.result);
            self.pending_transition = None;
            return Ok(None);
        }
        rule!(env, "P-API-1");
        if pending.target == target {
            Ok(Some(pending.result))
        } else {
            Err(Exception::illegal_state())
        }
    }

    pub(super) fn throw_if_pending(&mut self, env: &mut Env<'_>) -> Result<(), Exception> {
        // No call has this target, so that whatever is pending refuses it.
        self.cached_result(State::FatalError, env).map(|_| ())
    }

    pub(super) const fn ensure_transactional(&self) -> Result<(), Exception> {
        if self.is_transactional() { Ok(()) } else { Err(Exception::illegal_state()) }
    }

    /// The outcome of a call, if it is there.
    pub(crate) fn outcome(&self, result: ResultId) -> Option<&Result<(), Exception>> {
        self.results.outcome(result)
    }

    /// Nobody will ask for the outcome again.
    pub(crate) fn forget(&mut self, result: ResultId) {
        self.results.forget(result);
    }

    /// The application has seen the outcome.
    pub(crate) fn ack(&mut self, result: ResultId) {
        self.results.ack(result);
    }

    /// Is it certain that no EndTxn of the last completion has taken effect or will? None went
    /// out, or the only one was definitely refused (P-API-4, P-MOD-4).
    pub(crate) const fn end_txn_is_refused(&self) -> bool {
        self.end_txn_sends == 0
    }
}
