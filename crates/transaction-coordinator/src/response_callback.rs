//! What happens when an operation on a transactional id has ended: who is answered, and how.
//!
//! Kafka counterpart: the `responseCallback`s that travel through `TransactionCoordinator`.

use eosim_types::message::{AddOffsetsToTxnResponse, EndTxnResponse, InitProducerIdResponse};
use eosim_types::record::TransactionResult;
use eosim_types::{CoordinatorEpoch, ErrorCode, ProducerEpoch, ProducerId, TransactionalId, rule};

use crate::action::{Ctx, ReplyTo};
use crate::append_transaction_to_log::Written;
use crate::coordinator::TransactionCoordinator;
use crate::txn_transit_metadata::TxnTransitMetadata;

/// Who waits for the end of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ResponseCallback {
    /// InitProducerId of a transactional id.
    InitProducerId { to: ReplyTo, version: i16 },
    /// One transaction of an AddPartitionsToTxn.
    AddPartitionsToTxn { to: ReplyTo, index: u32 },
    /// AddOffsetsToTxn.
    AddOffsetsToTxn { to: ReplyTo, version: i16 },
    /// The decision of a transaction.
    EndTxn(EndTxnCallback),
    /// The completion of a transaction; nobody is answered.
    WriteTxnCompletion,
    /// Whoever it was has been answered.
    Answered,
}

/// Who asked for the end of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum EndTxnCaller {
    /// A client's EndTxn.
    Client { to: ReplyTo, version: i16 },
    /// An InitProducerId that met an open transaction (C-INIT-16).
    InitProducerId { to: ReplyTo, version: i16 },
    /// The task that aborts what has timed out (C-TMO-2).
    AbortTimedOutTransactions,
    /// Whoever it was has been answered.
    Answered,
}

/// What follows the record of a decision.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct EndTxnCallback {
    pub(crate) caller: EndTxnCaller,
    pub(crate) result: TransactionResult,
    /// The version 2 path was taken: the answer carries producer id and epoch.
    pub(crate) bumps_epoch: bool,
    /// Set for a fence on the version 1 path, whose epoch is raised in memory already.
    pub(crate) fence_of: Option<CoordinatorEpoch>,
}

/// A producer id and epoch as an answer carries them.
pub(crate) type Identity = (ProducerId, ProducerEpoch);

/// "None".
pub(crate) const NO_IDENTITY: Identity = (ProducerId::NONE, ProducerEpoch::NONE);

/// PRODUCER_FENCED was INVALID_PRODUCER_EPOCH before request version `since`.
pub(crate) fn map_producer_fenced(error: ErrorCode, version: i16, since: i16) -> ErrorCode {
    if error == ErrorCode::ProducerFenced && version < since {
        ErrorCode::InvalidProducerEpoch
    } else {
        error
    }
}

/// The code of an outcome.
pub(crate) fn error_of<T>(outcome: Result<T, ErrorCode>) -> ErrorCode {
    outcome.err().unwrap_or(ErrorCode::None)
}

/// C-INIT-3, C-INIT-15.
pub(crate) fn reply_init_producer_id(
    cx: &mut Ctx<'_>,
    to: ReplyTo,
    version: i16,
    outcome: Result<Identity, ErrorCode>,
) {
    rule!(cx.env, "C-INIT-3");
    let (producer_id, producer_epoch) = outcome.unwrap_or(NO_IDENTITY);
    let error = map_producer_fenced(error_of(outcome), version, 4);
    cx.reply(to, InitProducerIdResponse::new(error, producer_id, producer_epoch));
}

impl EndTxnCaller {
    /// Answers whoever asked; `Ok` with the producer id and epoch to go on with.
    pub(crate) fn answer(self, cx: &mut Ctx<'_>, outcome: Result<Identity, ErrorCode>) {
        match self {
            Self::Client { to, version } => {
                let known = version >= 5;
                let (producer_id, producer_epoch) =
                    outcome.ok().filter(|_| known).unwrap_or(NO_IDENTITY);
                let error = map_producer_fenced(error_of(outcome), version, 2);
                cx.reply(to, EndTxnResponse { error, producer_id, producer_epoch });
            }
            Self::InitProducerId { to, version } => {
                rule!(cx.env, "C-INIT-16");
                let error = outcome.err().unwrap_or(ErrorCode::ConcurrentTransactions);
                reply_init_producer_id(cx, to, version, Err(error));
            }
            Self::AbortTimedOutTransactions | Self::Answered => {}
        }
    }
}

impl ResponseCallback {
    /// The defect `tc.endtxn.answer_before_replicated`: EndTxn is answered now.
    pub(crate) fn answer_before_replicated(
        &mut self,
        cx: &mut Ctx<'_>,
        transit: &TxnTransitMetadata,
    ) {
        let Self::EndTxn(callback) = self else { return };
        if !matches!(callback.caller, EndTxnCaller::Client { .. }) {
            return;
        }
        let identity = if !callback.bumps_epoch {
            NO_IDENTITY
        } else if transit.next_producer_id == ProducerId::NONE {
            (transit.producer_id, transit.producer_epoch)
        } else {
            (transit.next_producer_id, ProducerEpoch(0))
        };
        callback.caller.answer(cx, Ok(identity));
        callback.caller = EndTxnCaller::Answered;
    }
}

impl TransactionCoordinator {
    /// The defect `tc.addpart.ack_before_replicated`: AddPartitionsToTxn is answered now.
    pub(crate) fn answer_added_before_replicated(
        &mut self,
        cx: &mut Ctx<'_>,
        callback: &mut ResponseCallback,
    ) {
        if let ResponseCallback::AddPartitionsToTxn { to, index } = *callback {
            *callback = ResponseCallback::Answered;
            self.transaction_answered(cx, to, index, ErrorCode::None);
        }
    }

    /// Runs what follows an operation.
    pub(crate) fn run_callback(
        &mut self,
        cx: &mut Ctx<'_>,
        transactional_id: TransactionalId,
        callback: ResponseCallback,
        outcome: Result<Written, ErrorCode>,
    ) {
        match callback {
            ResponseCallback::InitProducerId { to, version } => {
                rule!(cx.env, "C-INIT-15");
                let identity = outcome.map(|written| (written.producer_id, written.producer_epoch));
                reply_init_producer_id(cx, to, version, identity);
            }
            ResponseCallback::AddPartitionsToTxn { to, index } => {
                self.transaction_answered(cx, to, index, error_of(outcome));
            }
            ResponseCallback::AddOffsetsToTxn { to, version } => {
                let error = map_producer_fenced(error_of(outcome), version, 2);
                cx.reply(to, AddOffsetsToTxnResponse { error });
            }
            ResponseCallback::EndTxn(callback) => {
                self.decision_written(cx, transactional_id, callback, outcome);
            }
            ResponseCallback::WriteTxnCompletion => {
                rule!(cx.env, "C-MRK-12");
            }
            ResponseCallback::Answered => {}
        }
    }
}
