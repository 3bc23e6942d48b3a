//! The steps of a producing application: calls, what it learns from them, and what it does then
//! (P-APP).

use alloc::sync::Arc;
use alloc::vec::Vec;

use eosim_actor::Cx;
use eosim_types::observation::{Observed, SendOutcome};
use eosim_types::record::{Payload, Record, RecordBatch};
use eosim_types::{ErrorCode, LeaderEpoch, ProducerEpoch, ProducerId, TopicPartition, Value, rule};

use super::producer_application::{Phase, ProducerApplication, is_fencing};
use crate::exception::Exception;
use crate::network_client::ClientOut;
use crate::producer::{Call, CallId, Outcome, State};
use crate::spec::ScriptStep;

impl ScriptStep {
    /// The call as Java writes it.
    pub(super) const fn call_name(&self) -> &'static str {
        match self {
            Self::InitTransactions => "initTransactions()",
            Self::BeginTransaction => "beginTransaction()",
            Self::Send { .. } => "send()",
            Self::Flush => "flush()",
            Self::CommitTransaction => "commitTransaction()",
            Self::AbortTransaction => "abortTransaction()",
            Self::PrepareTransaction => "prepareTransaction()",
            Self::Decide => "a decision",
            Self::ResumeTransaction(_) => "resumeTransaction()",
            Self::Close => "close()",
            Self::PauseUntil(_) | Self::Pause(_) => "a pause",
            Self::RawProduce { .. } => "a batch sent by hand",
        }
    }

    fn call(&self) -> Option<Call> {
        match *self {
            Self::InitTransactions => Some(Call::InitTransactions),
            Self::BeginTransaction => Some(Call::BeginTransaction),
            Self::Send { partition, value, value_bytes } => {
                Some(Call::Send { partition, record: Record { value, key: None, value_bytes } })
            }
            Self::Flush => Some(Call::Flush),
            Self::CommitTransaction => Some(Call::CommitTransaction),
            Self::AbortTransaction => Some(Call::AbortTransaction),
            Self::PrepareTransaction => Some(Call::PrepareTransaction),
            Self::ResumeTransaction(transaction) => Some(Call::ResumeTransaction(transaction)),
            Self::Close => Some(Call::Close { timeout: None }),
            Self::PauseUntil(_) | Self::Pause(_) | Self::Decide | Self::RawProduce { .. } => None,
        }
    }
}

impl ProducerApplication {
    /// Takes the next step if the application is not waiting; `true` if it did.
    pub(super) fn go_on(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) -> bool {
        match self.phase {
            Phase::Pausing(until) if cx.now() >= until => self.phase = Phase::Ready,
            Phase::Ready => self.next_step(cx, out),
            _ => return false,
        }
        true
    }

    fn next_step(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        if self.steps.is_empty() {
            self.plan(cx);
        }
        let Some(step) = self.steps.pop_front() else {
            self.phase = Phase::Finished;
            return;
        };
        match step {
            ScriptStep::Pause(length) => self.phase = Phase::Pausing(cx.now() + length),
            ScriptStep::PauseUntil(until) => self.phase = Phase::Pausing(until),
            ScriptStep::Decide => self.decide(out),
            ScriptStep::RawProduce { .. } => self.send_by_hand(step, cx, out),
            call => {
                self.observe_call(&call, out);
                self.make_call(call, cx, out);
            }
        }
    }

    fn make_call(&mut self, step: ScriptStep, cx: &mut Cx<'_>, out: &mut ClientOut) {
        if self.session.producer.is_none() {
            if step == ScriptStep::Close {
                return;
            }
            self.open(out);
        }
        let call = step.call().expect("steps without a call are taken elsewhere");
        let producer = self.session.producer.as_mut().expect("opened above");
        let id = producer.call(call, cx);
        if let ScriptStep::Send { partition, value, .. } = step {
            self.session.await_record(id, value, partition);
        }
        self.phase = Phase::Calling(id, step);
    }

    fn observe_call(&mut self, step: &ScriptStep, out: &mut ClientOut) {
        match *step {
            ScriptStep::Send { partition, value, .. } => {
                if self.session.producer.is_none() {
                    self.open(out);
                }
                self.observe_send(partition, value, out);
            }
            ScriptStep::CommitTransaction | ScriptStep::AbortTransaction => {
                let commit = *step == ScriptStep::CommitTransaction;
                self.session.end_called(commit, out);
            }
            _ => {}
        }
    }

    fn observe_send(&self, partition: TopicPartition, value: Value, out: &mut ClientOut) {
        self.session.observe_send(partition, value, self.input(), out);
    }

    fn send_by_hand(&mut self, step: ScriptStep, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let ScriptStep::RawProduce {
            partition,
            base_sequence,
            epoch_delta,
            is_transactional,
            values,
            value_bytes,
        } = step
        else {
            return;
        };
        if self.session.producer.is_none() {
            self.open(out);
        }
        // What is put on the wire by hand is no part of the transaction that the producer has open.
        let session = self.session.number();
        for &value in &values {
            let (transaction, input) = (None, None);
            out.observe(Observed::SendCalled { value, partition, session, transaction, input });
        }
        let records: Vec<_> =
            values.iter().map(|&value| Record { value, key: None, value_bytes }).collect();
        let last = i32::try_from(values.len()).expect("a batch holds fewer than 2^31 records") - 1;
        let batch = RecordBatch {
            base_offset: 0,
            last_offset_delta: last,
            partition_leader_epoch: LeaderEpoch::NONE,
            is_transactional,
            max_timestamp: cx.env.clock_ms(),
            producer_id: ProducerId::NONE,
            producer_epoch: ProducerEpoch::NONE,
            base_sequence,
            payload: Payload::Records(Arc::from(records)),
        };
        let producer = self.session.producer.as_mut().expect("opened above");
        let call = producer.call(Call::RawProduce { partition, batch, epoch_delta }, cx);
        self.phase = Phase::Raw(call, partition, values);
    }

    /// Takes in an outcome.
    pub(super) fn learn(&mut self, outcome: Outcome, cx: &mut Cx<'_>, out: &mut ClientOut) {
        match outcome {
            Outcome::Record(record) => self.session.record_completed(record, out),
            Outcome::RawProduced { call, outcome } => self.raw_answered(call, outcome, out),
            Outcome::Returned { call, result } => {
                if !matches!(&self.phase, Phase::Calling(waited, _) if *waited == call) {
                    return;
                }
                let phase = core::mem::replace(&mut self.phase, Phase::Ready);
                if let Phase::Calling(_, step) = phase {
                    self.call_returned(call, step, result, cx, out);
                }
            }
        }
    }

    fn raw_answered(&mut self, call: CallId, answer: (ErrorCode, i64), out: &mut ClientOut) {
        let phase = core::mem::replace(&mut self.phase, Phase::Ready);
        let Phase::Raw(waited, partition, values) = phase else {
            self.phase = phase;
            return;
        };
        assert_eq!(waited, call, "one batch by hand at a time");
        let (error, base_offset) = answer;
        for (offset, value) in (base_offset..).zip(values) {
            let outcome = if error.is_none() {
                SendOutcome::Acknowledged { offset: Some(offset) }
            } else if error.is_retriable() {
                SendOutcome::Unknown { error }
            } else {
                SendOutcome::Refused { error }
            };
            out.observe(Observed::SendAnswered { value, partition, outcome });
        }
    }

    fn call_returned(
        &mut self,
        call: CallId,
        step: ScriptStep,
        result: Result<(), Exception>,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) {
        let timed_out = result.as_ref().is_err_and(|thrown| thrown.is(ErrorCode::RequestTimedOut));
        match step {
            ScriptStep::InitTransactions
            | ScriptStep::CommitTransaction
            | ScriptStep::AbortTransaction
                if timed_out =>
            {
                rule!(cx.env, "P-API-4");
                self.make_call(step, cx, out);
            }
            ScriptStep::InitTransactions if result.is_ok() => {
                self.initialized = true;
                self.session.initialized(out);
            }
            ScriptStep::BeginTransaction if result.is_ok() => self.session.begun(out),
            ScriptStep::ResumeTransaction(_) if result.is_ok() => self.resumed(),
            ScriptStep::CommitTransaction => self.ended(true, result, out),
            ScriptStep::AbortTransaction => self.ended(false, result, out),
            ScriptStep::Close => {
                self.session.closed(out);
                self.after_close();
            }
            ScriptStep::Send { .. } => self.send_returned(call, result, out),
            _ => {
                if let Err(thrown) = result {
                    self.recover(&thrown, out);
                }
            }
        }
    }

    fn send_returned(&mut self, call: CallId, result: Result<(), Exception>, out: &mut ClientOut) {
        let Err(thrown) = result else { return };
        self.session.send_threw(call, &thrown, out);
        self.recover(&thrown, out);
    }

    /// Commit or abort is over.
    fn ended(&mut self, commit: bool, result: Result<(), Exception>, out: &mut ClientOut) {
        let transaction = self.session.transaction;
        let outcome = self.session.end_answered(commit, &result, out);
        if let (true, Some(transaction)) = (commit, transaction) {
            self.store.commit_ended(transaction, outcome);
        }
        if let Err(thrown) = result {
            self.recover(&thrown, out);
        }
    }

    /// P-APP: an abortable error is answered by an abort, everything else by closing.
    fn recover(&mut self, thrown: &Exception, out: &mut ClientOut) {
        let error = thrown.error_code();
        if self.session.observe_failure(error, out) {
            self.fenced |= is_fencing(error);
        }
        if self.is_self_willed() {
            self.give_up();
        }
    }

    /// The transaction is lost, unless it is decided already: the next life commits it.
    pub(super) fn give_up(&mut self) {
        let is_decided = self.store.decided.is_some();
        self.steps.clear();
        self.steps.push_back(match self.session.state() {
            Some(State::AbortableError) if !is_decided => ScriptStep::AbortTransaction,
            _ => ScriptStep::Close,
        });
    }
}
