//! AddPartitionsToTxn: partitions join a transaction, or it is looked up whether they are in it.
//!
//! Kafka counterpart: `KafkaApis.handleAddPartitionsToTxnRequest`,
//! `TransactionCoordinator.handleAddPartitionsToTransaction` and
//! `handleVerifyPartitionsInTransaction`.
//! Invariant: a request is answered once all its transactions are.

use alloc::vec::Vec;

use eosim_types::machine::CoordinatorEvent;
use eosim_types::message::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, AddPartitionsToTxnTransaction,
};
use eosim_types::record::TransactionState;
use eosim_types::version::TransactionVersion;
use eosim_types::{
    Capability, CoordinatorEpoch, Defect, ErrorCode, ProducerEpoch, ProducerId, TopicPartition,
    TransactionalId, rule,
};

use crate::action::{Ctx, ReplyTo};
use crate::append_transaction_to_log::{PreparedTransition, Written};
use crate::coordinator::TransactionCoordinator;
use crate::response_callback::{ResponseCallback, map_producer_fenced};
use crate::transaction_metadata::TransactionMetadata;
use crate::transaction_state::is_prepare;
use crate::txn_transit_metadata::TxnTransitMetadata;

/// A request of which some transactions are not answered yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct PendingAddPartitions {
    version: i16,
    unanswered: u32,
    response: AddPartitionsToTxnResponse,
}

/// Who adds to which transaction.
#[derive(Clone, Copy)]
pub(crate) struct Adder {
    pub(crate) transactional_id: TransactionalId,
    pub(crate) producer_id: ProducerId,
    pub(crate) producer_epoch: ProducerEpoch,
    /// By which request.
    pub(crate) event: CoordinatorEvent,
}

impl TransactionCoordinator {
    /// Handles AddPartitionsToTxn.
    pub(crate) fn handle_add_partitions_to_txn(
        &mut self,
        cx: &mut Ctx<'_>,
        to: ReplyTo,
        request: AddPartitionsToTxnRequest,
    ) {
        rule!(cx.env, "C-ADD-1");
        let results = request.transactions.iter().map(|transaction| {
            let unanswered = transaction.partitions.iter().map(|&tp| (tp, ErrorCode::None));
            (transaction.transactional_id, unanswered.collect())
        });
        let response =
            AddPartitionsToTxnResponse { error: ErrorCode::None, results: results.collect() };
        let unanswered = u32::try_from(request.transactions.len()).expect("a short batch");
        if unanswered == 0 {
            return cx.reply(to, response);
        }
        let pending = PendingAddPartitions { version: request.version, unanswered, response };
        self.pending_add_partitions.insert(to, pending);
        for (index, transaction) in (0..).zip(request.transactions) {
            self.add_or_verify(cx, to, index, request.version, &transaction);
        }
    }

    fn add_or_verify(
        &mut self,
        cx: &mut Ctx<'_>,
        to: ReplyTo,
        index: u32,
        version: i16,
        transaction: &AddPartitionsToTxnTransaction,
    ) {
        let partitions = &transaction.partitions;
        if partitions.iter().any(|&tp| check_partition(cx, version, tp).is_err()) {
            rule!(cx.env, "C-ADD-4");
            let refusal = |&tp: &TopicPartition| {
                check_partition(cx, version, tp).err().unwrap_or(ErrorCode::OperationNotAttempted)
            };
            let errors: Vec<_> = partitions.iter().map(refusal).collect();
            return self.partitions_answered(cx, to, index, errors.into_iter());
        }
        rule!(cx.env, "C-ADD-5");
        if transaction.verify_only {
            self.verify(cx, to, index, transaction);
        } else {
            self.add(cx, to, index, version, transaction);
        }
    }

    fn add(
        &mut self,
        cx: &mut Ctx<'_>,
        to: ReplyTo,
        index: u32,
        request_version: i16,
        transaction: &AddPartitionsToTxnTransaction,
    ) {
        let bumps = request_version >= 4 && cx.env.has(Capability::EpochPerTransaction);
        let version = if bumps { TransactionVersion::Tv2 } else { TransactionVersion::Tv0 };
        let callback = ResponseCallback::AddPartitionsToTxn { to, index };
        let partitions = &transaction.partitions;
        self.add_partitions(cx, adder(transaction), partitions, version, callback);
    }

    /// Adds partitions and answers. Kafka: `handleAddPartitionsToTransaction`.
    pub(crate) fn add_partitions(
        &mut self,
        cx: &mut Ctx<'_>,
        adder: Adder,
        partitions: &[TopicPartition],
        version: TransactionVersion,
        callback: ResponseCallback,
    ) {
        let transactional_id = adder.transactional_id;
        match self.prepare_add_partitions(cx, adder, partitions, version) {
            Ok((coordinator_epoch, Some(transit))) => {
                let prepared = PreparedTransition { transactional_id, coordinator_epoch, transit };
                self.append_transaction_to_log(cx, prepared, callback);
            }
            Ok((coordinator_epoch, None)) => {
                let Adder { producer_id, producer_epoch, .. } = adder;
                let as_it_is = Written { coordinator_epoch, producer_id, producer_epoch };
                self.run_callback(cx, transactional_id, callback, Ok(as_it_is));
            }
            Err(error) => self.refuse(cx, transactional_id, callback, error),
        }
    }

    /// C-ADD-7 to C-ADD-15; no transition if all partitions are in the transaction already.
    fn prepare_add_partitions(
        &mut self,
        cx: &mut Ctx<'_>,
        adder: Adder,
        partitions: &[TopicPartition],
        version: TransactionVersion,
    ) -> Result<(CoordinatorEpoch, Option<TxnTransitMetadata>), ErrorCode> {
        let transactional_id = adder.transactional_id;
        rule!(cx.env, "C-ADD-7");
        if transactional_id == TransactionalId::EMPTY {
            return Err(ErrorCode::InvalidRequest);
        }
        rule!(cx.env, "C-ADD-8");
        let owned = self.state_manager.get_transaction_state(cx, transactional_id)?;
        rule!(cx.env, "C-ADD-9");
        let metadata = owned.metadata.ok_or(ErrorCode::InvalidProducerIdMapping)?;
        metadata.takes(&mut cx.env, adder.event);
        if cx.env.on(Defect::CoordinatorChecksIdBeforePending) {
            check_producer_id(metadata, adder)?;
        }
        rule!(cx.env, "C-ADD-10");
        if metadata.pending_state.is_some() {
            return Err(ErrorCode::ConcurrentTransactions);
        }
        check_producer(cx, metadata, adder)?;
        if metadata.state == TransactionState::Ongoing
            && partitions.iter().all(|&tp| metadata.contains(tp))
        {
            rule!(cx.env, "C-ADD-14");
            return Ok((owned.coordinator_epoch, None));
        }
        rule!(cx.env, "C-ADD-15");
        if version.supports_epoch_bump() {
            rule!(cx.env, "C-ADD-16");
        }
        let transit = metadata.prepare_add_partitions(&mut cx.env, partitions, version)?;
        Ok((owned.coordinator_epoch, Some(transit)))
    }

    fn verify(
        &mut self,
        cx: &mut Ctx<'_>,
        to: ReplyTo,
        index: u32,
        transaction: &AddPartitionsToTxnTransaction,
    ) {
        match self.verified_partitions(cx, transaction) {
            Ok(errors) => self.partitions_answered(cx, to, index, errors.into_iter()),
            Err(error) => {
                let callback = ResponseCallback::AddPartitionsToTxn { to, index };
                self.refuse(cx, transaction.transactional_id, callback, error);
            }
        }
    }

    /// Neither the pending state nor Ongoing is looked at, and nothing is written (C-VER-2).
    fn verified_partitions(
        &mut self,
        cx: &mut Ctx<'_>,
        transaction: &AddPartitionsToTxnTransaction,
    ) -> Result<Vec<ErrorCode>, ErrorCode> {
        rule!(cx.env, "C-VER-1");
        if transaction.transactional_id == TransactionalId::EMPTY {
            return Err(ErrorCode::InvalidRequest);
        }
        let owned = self.state_manager.get_transaction_state(cx, transaction.transactional_id)?;
        let metadata = owned.metadata.ok_or(ErrorCode::InvalidProducerIdMapping)?;
        let adder = adder(transaction);
        metadata.takes(&mut cx.env, adder.event);
        check_producer(cx, metadata, adder)?;
        rule!(cx.env, "C-VER-2");
        let verify = |&tp: &TopicPartition| {
            if metadata.contains(tp) { ErrorCode::None } else { ErrorCode::TransactionAbortable }
        };
        Ok(transaction.partitions.iter().map(verify).collect())
    }

    /// One transaction has one answer for all its partitions.
    pub(crate) fn transaction_answered(
        &mut self,
        cx: &mut Ctx<'_>,
        to: ReplyTo,
        index: u32,
        error: ErrorCode,
    ) {
        self.partitions_answered(cx, to, index, core::iter::repeat(error));
    }

    fn partitions_answered(
        &mut self,
        cx: &mut Ctx<'_>,
        to: ReplyTo,
        index: u32,
        errors: impl Iterator<Item = ErrorCode>,
    ) {
        rule!(cx.env, "C-ADD-6");
        let pending = self.pending_add_partitions.get_mut(to).expect("a request that waits");
        let version = pending.version;
        let (_, partitions) = &mut pending.response.results[index as usize];
        for ((_, answer), error) in partitions.iter_mut().zip(errors) {
            *answer = map_producer_fenced(error, version, 2);
        }
        pending.unanswered -= 1;
        if pending.unanswered == 0 {
            let pending = self.pending_add_partitions.remove(to).expect("a request that waits");
            cx.reply(to, pending.response);
        }
    }
}

fn adder(transaction: &AddPartitionsToTxnTransaction) -> Adder {
    let event = if transaction.verify_only {
        CoordinatorEvent::VerifyPartitions
    } else {
        CoordinatorEvent::AddPartitionsToTxn
    };
    Adder {
        event,
        transactional_id: transaction.transactional_id,
        producer_id: transaction.producer_id,
        producer_epoch: transaction.producer_epoch,
    }
}

/// C-ADD-2, C-ADD-3; nothing is forbidden to anybody here but internal topics to clients.
fn check_partition(
    cx: &mut Ctx<'_>,
    version: i16,
    partition: TopicPartition,
) -> Result<(), ErrorCode> {
    rule!(cx.env, "C-ADD-2");
    if version < 4 && partition.topic.is_internal() {
        return Err(ErrorCode::TopicAuthorizationFailed);
    }
    rule!(cx.env, "C-ADD-3");
    if !cx.metadata.partitions.contains_key(&partition) {
        return Err(ErrorCode::UnknownTopicOrPartition);
    }
    Ok(())
}

/// Id, epoch, state, in this order.
fn check_producer(
    cx: &mut Ctx<'_>,
    metadata: &TransactionMetadata,
    adder: Adder,
) -> Result<(), ErrorCode> {
    rule!(cx.env, "C-ADD-11");
    check_producer_id(metadata, adder)?;
    rule!(cx.env, "C-ADD-12");
    if adder.producer_epoch != metadata.producer_epoch {
        return Err(ErrorCode::ProducerFenced);
    }
    rule!(cx.env, "C-ADD-13");
    if is_prepare(metadata.state) {
        return Err(ErrorCode::ConcurrentTransactions);
    }
    Ok(())
}

fn check_producer_id(metadata: &TransactionMetadata, adder: Adder) -> Result<(), ErrorCode> {
    let is_current = adder.producer_id == metadata.producer_id;
    if is_current { Ok(()) } else { Err(ErrorCode::InvalidProducerIdMapping) }
}
