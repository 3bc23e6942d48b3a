//! InitProducerId: a producer id and epoch, new, bumped, or the same again for a retry.
//!
//! Kafka counterpart: `TransactionCoordinator.handleInitProducerId` and
//! `prepareInitProducerIdTransit`. Nothing is forbidden to anybody (C-INIT-1).

use eosim_types::machine::CoordinatorEvent;
use eosim_types::message::InitProducerIdRequest;
use eosim_types::record::TransactionResult;
use eosim_types::record::TransactionState::{
    CompleteAbort, CompleteCommit, Dead, Empty, Ongoing, PrepareAbort, PrepareCommit,
    PrepareEpochFence,
};
use eosim_types::version::TransactionVersion;
use eosim_types::{Defect, ErrorCode, ProducerEpoch, ProducerId, TransactionalId, rule};

use crate::action::{Ctx, ReplyTo};
use crate::append_transaction_to_log::PreparedTransition;
use crate::coordinator::TransactionCoordinator;
use crate::end_txn::EndTransaction;
use crate::producer_id_manager::ProducerIdManager;
use crate::response_callback::{EndTxnCaller, Identity, ResponseCallback, reply_init_producer_id};
use crate::transaction_metadata::{TWO_PHASE_COMMIT_TIMEOUT_MS, TransactionMetadata};
use crate::txn_transit_metadata::TxnTransitMetadata;

/// What InitProducerId leads to.
enum InitProducerIdStep {
    /// Write Empty, then answer.
    Append(TxnTransitMetadata),
    /// Abort the open transaction first, under this epoch.
    Fence(ProducerId, ProducerEpoch),
}

/// C-INIT-2: the pair that the producer resumes with, if any.
fn expected_identity(request: &InitProducerIdRequest) -> Result<Option<Identity>, ErrorCode> {
    let (producer_id, producer_epoch) = (request.producer_id, request.producer_epoch);
    match (producer_id == ProducerId::NONE, producer_epoch == ProducerEpoch::NONE) {
        (true, true) => Ok(None),
        (false, false) => Ok(Some((producer_id, producer_epoch))),
        _ => Err(ErrorCode::InvalidRequest),
    }
}

impl TransactionCoordinator {
    /// Handles InitProducerId.
    pub(crate) fn handle_init_producer_id(
        &mut self,
        cx: &mut Ctx<'_>,
        to: ReplyTo,
        request: &InitProducerIdRequest,
    ) {
        rule!(cx.env, "C-INIT-2");
        let version = request.version;
        let expected = match expected_identity(request) {
            Ok(expected) => expected,
            Err(error) => return reply_init_producer_id(cx, to, version, Err(error)),
        };
        let Some(transactional_id) = request.transactional_id else {
            rule!(cx.env, "C-INIT-4");
            let id = self.producer_id_manager.generate_producer_id(cx);
            return reply_init_producer_id(cx, to, version, id.map(|id| (id, ProducerEpoch(0))));
        };
        match self.init_producer_id(cx, to, request, transactional_id, expected) {
            Ok(()) => {}
            Err(error) => {
                let callback = ResponseCallback::InitProducerId { to, version };
                self.refuse(cx, transactional_id, callback, error);
            }
        }
    }

    fn init_producer_id(
        &mut self,
        cx: &mut Ctx<'_>,
        to: ReplyTo,
        request: &InitProducerIdRequest,
        transactional_id: TransactionalId,
        expected: Option<Identity>,
    ) -> Result<(), ErrorCode> {
        rule!(cx.env, "C-INIT-5");
        if transactional_id == TransactionalId::EMPTY {
            return Err(ErrorCode::InvalidRequest);
        }
        let version = request.version;
        let timeout_ms = stored_timeout_ms(cx, request)?;
        rule!(cx.env, "C-INIT-9");
        self.create_if_absent(cx, transactional_id, timeout_ms)?;
        let owned = self.state_manager.get_transaction_state(cx, transactional_id)?;
        let coordinator_epoch = owned.coordinator_epoch;
        let metadata = owned.metadata.expect("created if it was absent");
        let ids = &mut self.producer_id_manager;
        match prepare_init_producer_id_transit(cx, metadata, ids, timeout_ms, expected)? {
            InitProducerIdStep::Append(transit) => {
                let callback = ResponseCallback::InitProducerId { to, version };
                let prepared = PreparedTransition { transactional_id, coordinator_epoch, transit };
                self.append_transaction_to_log(cx, prepared, callback);
            }
            InitProducerIdStep::Fence(producer_id, producer_epoch) => {
                let raises = !cx.env.on(Defect::CoordinatorInitAbortsWithSameEpoch);
                let same_epoch = TransactionVersion::Tv0;
                let request = EndTransaction {
                    transactional_id,
                    producer_id,
                    producer_epoch,
                    result: TransactionResult::Abort,
                    is_from_client: false,
                    version: if raises { cx.metadata.transaction_version } else { same_epoch },
                };
                self.end_transaction(cx, request, EndTxnCaller::InitProducerId { to, version });
            }
        }
        Ok(())
    }

    /// C-INIT-10.
    fn create_if_absent(
        &mut self,
        cx: &mut Ctx<'_>,
        transactional_id: TransactionalId,
        timeout_ms: i32,
    ) -> Result<(), ErrorCode> {
        let owned = self.state_manager.get_transaction_state(cx, transactional_id)?;
        if owned.metadata.is_some() {
            return Ok(());
        }
        rule!(cx.env, "C-INIT-10");
        let producer_id = self.producer_id_manager.generate_producer_id(cx)?;
        let metadata = TransactionMetadata::new(producer_id, timeout_ms, cx.env.clock_ms());
        self.state_manager.put_transaction_state_if_not_exists(cx, transactional_id, metadata)
    }
}

/// The timeout that the id is given, if the request may be made at all.
fn stored_timeout_ms(cx: &mut Ctx<'_>, request: &InitProducerIdRequest) -> Result<i32, ErrorCode> {
    if request.enable_2pc && !cx.config.transaction_two_phase_commit_enable {
        rule!(cx.env, "C-INIT-6");
        return Err(ErrorCode::TransactionalIdAuthorizationFailed);
    }
    if request.keep_prepared_txn {
        rule!(cx.env, "C-INIT-7");
        return Err(ErrorCode::UnsupportedVersion);
    }
    rule!(cx.env, "C-INIT-8");
    if request.enable_2pc {
        rule!(cx.env, "C-INIT-22");
        return Ok(TWO_PHASE_COMMIT_TIMEOUT_MS);
    }
    let timeout_ms = request.transaction_timeout_ms;
    if timeout_ms <= 0 || timeout_ms > cx.config.transaction_max_timeout_ms {
        return Err(ErrorCode::InvalidTransactionTimeout);
    }
    Ok(timeout_ms)
}

/// Kafka: `prepareInitProducerIdTransit`; C-INIT-11 to C-INIT-16.
fn prepare_init_producer_id_transit(
    cx: &mut Ctx<'_>,
    metadata: &mut TransactionMetadata,
    ids: &mut ProducerIdManager,
    timeout_ms: i32,
    expected: Option<Identity>,
) -> Result<InitProducerIdStep, ErrorCode> {
    metadata.takes(&mut cx.env, CoordinatorEvent::InitProducerId);
    rule!(cx.env, "C-INIT-11");
    if metadata.pending_state.is_some() {
        return Err(ErrorCode::ConcurrentTransactions);
    }
    rule!(cx.env, "C-INIT-12");
    if expected.is_some_and(|expected| !is_acceptable_identity(cx, metadata, expected)) {
        return Err(ErrorCode::ProducerFenced);
    }
    let expected_epoch = expected.map(|(_, producer_epoch)| producer_epoch);
    match metadata.state {
        PrepareCommit | PrepareAbort => {
            rule!(cx.env, "C-INIT-13");
            Err(ErrorCode::ConcurrentTransactions)
        }
        Empty | CompleteCommit | CompleteAbort => {
            let transit = bump_or_rotate(cx, metadata, ids, timeout_ms, expected_epoch)?;
            Ok(InitProducerIdStep::Append(transit))
        }
        Ongoing => fence(cx, metadata, expected_epoch),
        Dead | PrepareEpochFence => Err(ErrorCode::UnknownServerError),
    }
}

/// C-INIT-12: the epoch is not compared.
fn is_acceptable_identity(
    cx: &mut Ctx<'_>,
    metadata: &TransactionMetadata,
    expected: Identity,
) -> bool {
    let (producer_id, producer_epoch) = expected;
    if metadata.producer_epoch == ProducerEpoch::NONE || producer_id == metadata.producer_id {
        return true;
    }
    rule!(cx.env, "C-INIT-20");
    producer_id == metadata.previous_producer_id && producer_epoch.is_exhausted()
}

/// C-INIT-14.
fn bump_or_rotate(
    cx: &mut Ctx<'_>,
    metadata: &mut TransactionMetadata,
    ids: &mut ProducerIdManager,
    timeout_ms: i32,
    expected: Option<ProducerEpoch>,
) -> Result<TxnTransitMetadata, ErrorCode> {
    rule!(cx.env, "C-INIT-14");
    let is_current = expected.is_none_or(|expected| expected == metadata.producer_epoch);
    if metadata.producer_epoch.is_exhausted() && is_current {
        let id = ids.generate_producer_id(cx)?;
        metadata.prepare_producer_id_rotation(&mut cx.env, id, timeout_ms, expected.is_some())
    } else {
        let first = cx.config.first_producer_epoch;
        metadata.prepare_increment_producer_epoch(&mut cx.env, timeout_ms, expected, first)
    }
}

/// C-INIT-16.
fn fence(
    cx: &mut Ctx<'_>,
    metadata: &mut TransactionMetadata,
    expected: Option<ProducerEpoch>,
) -> Result<InitProducerIdStep, ErrorCode> {
    rule!(cx.env, "C-INIT-16");
    let is_known = expected.is_none_or(|expected| {
        expected == metadata.producer_epoch || expected == metadata.last_producer_epoch
    });
    if !is_known {
        rule!(cx.env, "H-12");
    }
    if !is_known && !cx.env.on(Defect::UpstreamCoordinatorInitAbortsWithAnyEpoch) {
        return Err(ErrorCode::ProducerFenced);
    }
    if !is_known {
        rule!(cx.env, "C-INIT-23");
    } else if expected.is_some() {
        rule!(cx.env, "C-INIT-17");
    }
    let mut fenced = metadata.prepare_fence_producer_epoch(&mut cx.env)?;
    if cx.env.on(Defect::CoordinatorInitAbortsWithSameEpoch) {
        fenced = metadata.producer_epoch;
    }
    Ok(InitProducerIdStep::Fence(metadata.producer_id, fenced))
}
