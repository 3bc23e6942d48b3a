//! An external two-phase committer: an application whose own store decides what becomes of a
//! transaction (KIP-939; today's counterpart is Flink's `TwoPhaseCommitSinkFunction`).
//!
//! Each batch has an effect in the store and records in one transaction. The store takes the effect
//! over together with what is needed to commit the transaction, in one write: the decision.
//! Invariants: a batch is decided once; what was decided is committed before anything else is
//! begun under the transactional id.

use alloc::collections::VecDeque;

use eosim_actor::{Cx, Site, Stream};
use eosim_types::observation::{EndOutcome, Observed, TransactionRef};
use eosim_types::{TopicPartition, Value};

use super::plan::{pause, plan_transaction};
use super::producer_application::ProducerApplication;
use crate::network_client::ClientOut;
use crate::producer::{PreparedTransaction, Producer};
use crate::spec::{ProducerWorkload, ScriptStep, TwoPhaseWorkload};

const PAUSE_BEFORE_COMMIT: Site = Site::new("workload.pause_before_commit", Stream::Workload);

/// What survives the application's process.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct ExternalStore {
    /// Batches before it have had their effect.
    pub(super) next_batch: u32,
    /// The last decision, until its transaction is known to have ended.
    pub(super) decided: Option<Decided>,
}

/// A decision to commit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Decided {
    pub(super) transaction: TransactionRef,
    prepared: PreparedTransaction,
}

impl ExternalStore {
    /// Is there anything left to commit, or to begin?
    pub(super) const fn has_work(&self, workload: &TwoPhaseWorkload) -> bool {
        self.decided.is_some() || self.next_batch < workload.batches.transactions
    }

    /// The commit of the open transaction has ended so.
    pub(super) fn commit_ended(&mut self, transaction: TransactionRef, outcome: EndOutcome) {
        let is_known = !matches!(outcome, EndOutcome::Unknown { .. });
        self.decided = self.decided.filter(|d| d.transaction != transaction || !is_known);
    }

    /// What a new life of the process does first.
    pub(super) fn recover(&self, steps: &mut VecDeque<ScriptStep>) -> bool {
        let Some(decided) = self.decided else { return false };
        steps.push_back(ScriptStep::ResumeTransaction(decided.prepared));
        steps.push_back(ScriptStep::CommitTransaction);
        steps.push_back(ScriptStep::Close);
        true
    }
}

/// Appends the steps of one batch. Before the brokers know two-phase commit it is prepared by a
/// flush.
pub(super) fn plan_batch(
    workload: &TwoPhaseWorkload,
    has_prepare: bool,
    next_value: impl FnMut() -> Value,
    cx: &mut Cx<'_>,
    steps: &mut VecDeque<ScriptStep>,
) {
    plan_transaction(&workload.batches, true, next_value, cx, steps);
    if steps.back() == Some(&ScriptStep::CommitTransaction) {
        steps.pop_back();
        let prepare = if has_prepare { ScriptStep::PrepareTransaction } else { ScriptStep::Flush };
        steps.extend([prepare, ScriptStep::Decide]);
        pause(workload.pause_before_commit, PAUSE_BEFORE_COMMIT, cx, steps);
        steps.push_back(ScriptStep::CommitTransaction);
    }
}

impl ProducerApplication {
    /// What the records of the batch under way are made from.
    pub(super) fn input(&self) -> Option<(TopicPartition, i64)> {
        let ProducerWorkload::TwoPhase(workload) = &self.spec.workload else { return None };
        Some((workload.input, i64::from(self.store.next_batch)))
    }

    /// The store takes over the batch's effect and the prepared transaction; not if a record of it
    /// was lost. The producer alone does not tell: `prepareTransaction()` may return between the
    /// future of a batch that failed and the change of state (P-API-10).
    pub(super) fn decide(&mut self, out: &mut ClientOut) {
        let prepared = self.session.producer.as_ref().and_then(Producer::prepared_transaction);
        let prepared = prepared.filter(|_| !self.session.has_lost_records());
        let (Some(transaction), Some(prepared)) = (self.session.transaction, prepared) else {
            return self.give_up();
        };
        self.store.next_batch += 1;
        self.store.decided = Some(Decided { transaction, prepared });
        out.observe(Observed::Decided { transaction });
    }

    /// A transaction of a life before goes on.
    pub(super) fn resumed(&mut self) {
        self.session.transaction = self.store.decided.map(|decided| decided.transaction);
    }
}
