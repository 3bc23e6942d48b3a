//! The verification stage of a Produce request.
//!
//! Kafka counterpart: `ReplicaManager#maybeSendPartitionsToTransactionCoordinator`,
//! `Partition#maybeStartTransactionVerification`. Arrival, the coordinator's answer and the append
//! are events of their own (L-SIM-1): anything may happen to a partition in between.

use alloc::vec::Vec;

use eosim_actor::RequestToken;
use eosim_storage::VerificationGuard;
use eosim_types::message::AddPartitionsToTxnTransaction;
use eosim_types::record::RecordBatch;
use eosim_types::version::TransactionSupportedOperation;
use eosim_types::{
    Defect, Duration, ErrorCode, Instant, ProducerEpoch, ProducerId, Sequence, TopicPartition,
    TransactionalId, rule,
};

use super::ReplicaManager;
use crate::add_partitions_to_txn_manager::{Refused, VerificationId};
use crate::io::Io;
use crate::timers::Timer;

/// One partition of a Produce request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ProducePartition {
    /// The partition.
    pub(crate) tp: TopicPartition,
    /// Its batch.
    pub(crate) batch: RecordBatch,
    /// It failed at request level and takes no part any more (L-PIPE-1.2).
    pub(crate) set_aside: bool,
    /// Why it is not appended.
    pub(crate) error: Option<ErrorCode>,
    /// What the verification stage gave; it stays even beside an error (L-VER-5).
    pub(crate) guard: Option<VerificationGuard>,
}

/// A Produce request in its verification stage.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct PendingProduce {
    /// By which name to answer.
    pub(crate) token: RequestToken,
    /// The producer's transactional id.
    pub(crate) transactional_id: Option<TransactionalId>,
    /// 0, 1 or -1 (all).
    pub(crate) acks: i16,
    /// How long to wait for replicas.
    pub(crate) timeout: Duration,
    /// The client's capabilities.
    pub(crate) operation: TransactionSupportedOperation,
    /// The partitions, in the order of the request.
    pub(crate) partitions: Vec<ProducePartition>,
    /// When the coordinator was first asked.
    pub(crate) first_attempt: Instant,
    /// When it is asked again.
    pub(crate) retry_at: Option<Instant>,
}

impl PendingProduce {
    /// L-VER-2: has the coordinator no part in this?
    fn skips_verification(&self, io: &mut Io<'_>) -> bool {
        rule!(io.env, "L-VER-2");
        let adds = self.operation == TransactionSupportedOperation::AddPartition;
        let verifies = io.spec.config.transaction_partition_verification_enable
            && !io.env.on(Defect::LeaderProduceNoTxnVerification);
        self.transactional_id.is_none() || !(adds || verifies)
    }
}

impl ReplicaManager {
    /// Asks the coordinator about the transactional batches, or goes on at once.
    pub(crate) fn maybe_start_verification(
        &mut self,
        io: &mut Io<'_>,
        mut pending: PendingProduce,
    ) {
        rule!(io.env, "L-PIPE-3");
        if !pending.skips_verification(io) {
            self.start_guards(io, &mut pending);
        }
        let Some(transaction) = transaction_to_verify(&pending) else {
            rule!(io.env, "L-VER-4");
            return self.append_produce(io, pending);
        };
        rule!(io.env, "L-VER-5");
        let id = self.next_verification_id();
        let operation = pending.operation;
        self.verifications.insert(id, pending);
        let manager = &mut self.add_partitions_to_txn_manager;
        manager.add_or_verify_transaction(io, transaction, operation, id);
    }

    /// L-VER-3: per partition, at the leader; an earlier attempt is forgotten.
    fn start_guards(&mut self, io: &mut Io<'_>, pending: &mut PendingProduce) {
        rule!(io.env, "L-VER-1");
        let supports_epoch_bump = pending.operation.supports_epoch_bump();
        for partition in &mut pending.partitions {
            let batch = &partition.batch;
            // L-REC-4: a batch without a producer id is not verified.
            if partition.set_aside || !batch.is_transactional || !batch.has_producer_id() {
                continue;
            }
            (partition.error, partition.guard) = (None, None);
            let producer = (batch.producer_id, batch.producer_epoch);
            let (tp, sequence) = (partition.tp, batch.base_sequence);
            match self.start_guard(io, tp, producer, sequence, supports_epoch_bump) {
                Ok(guard) => partition.guard = guard,
                Err(error) => partition.error = Some(error),
            }
        }
    }

    /// A new name for a question to the coordinator.
    pub(super) fn next_verification_id(&mut self) -> VerificationId {
        self.next_verification += 1;
        VerificationId(self.next_verification)
    }

    /// `None` if there is nothing to ask the coordinator.
    pub(super) fn start_guard(
        &mut self,
        io: &mut Io<'_>,
        tp: TopicPartition,
        (producer_id, producer_epoch): (ProducerId, ProducerEpoch),
        base_sequence: Sequence,
        supports_epoch_bump: bool,
    ) -> Result<Option<VerificationGuard>, ErrorCode> {
        rule!(io.env, "L-VER-3");
        let partition = self.hosted_mut(io, tp)?;
        partition.leadership()?;
        let guard = partition.log.maybe_start_transaction_verification(
            &mut io.env,
            producer_id,
            base_sequence,
            producer_epoch,
            supports_epoch_bump,
        )?;
        Ok((guard != VerificationGuard::SENTINEL).then_some(guard))
    }

    /// Goes on with what the coordinators have answered. True if there was anything.
    pub(crate) fn continue_verified(&mut self, io: &mut Io<'_>) -> bool {
        let mut any = false;
        while let Some((id, refused)) = self.add_partitions_to_txn_manager.take_finished() {
            self.on_verified(io, id, &refused);
            any = true;
        }
        any
    }

    fn on_verified(&mut self, io: &mut Io<'_>, id: VerificationId, refused: &Refused) {
        let Some(mut pending) = self.verifications.remove(id) else {
            return self.on_offsets_verified(io, id, refused);
        };
        if let Some(retry_at) = retry_time(io, &pending, refused) {
            rule!(io.env, "L-VER-8");
            pending.retry_at = Some(retry_at);
            self.verifications.insert(id, pending);
            return io.wake_at(Timer::Verification, retry_at);
        }
        rule!(io.env, "L-VER-5");
        for partition in &mut pending.partitions {
            let error = refused.iter().find(|(tp, _)| *tp == partition.tp).map(|(_, error)| *error);
            partition.error = partition.error.or(error);
        }
        self.append_produce(io, pending);
    }

    /// Asks again where the pause is over (L-VER-8, L-VER-9).
    pub(crate) fn retry_verifications(&mut self, io: &mut Io<'_>) {
        let now = io.now();
        let due = |pending: &PendingProduce| pending.retry_at.is_some_and(|at| at <= now);
        let waiting = self.verifications.iter();
        let ids: Vec<_> = waiting.filter(|(_, p)| due(p)).map(|(id, _)| id).collect();
        for id in ids {
            let Some(mut pending) = self.verifications.remove(id) else { continue };
            rule!(io.env, "L-VER-9");
            pending.retry_at = None;
            self.maybe_start_verification(io, pending);
        }
        let next = self.verifications.values().filter_map(|pending| pending.retry_at).min();
        if let Some(at) = next {
            io.wake_at(Timer::Verification, at);
        }
    }
}

/// The call for exactly the partitions that got guards.
fn transaction_to_verify(pending: &PendingProduce) -> Option<AddPartitionsToTxnTransaction> {
    let guarded = || pending.partitions.iter().filter(|p| p.guard.is_some() && p.error.is_none());
    let batch = &guarded().next()?.batch;
    Some(AddPartitionsToTxnTransaction {
        transactional_id: pending.transactional_id?,
        producer_id: batch.producer_id,
        producer_epoch: batch.producer_epoch,
        verify_only: !pending.operation.supports_epoch_bump(),
        partitions: guarded().map(|partition| partition.tp).collect(),
    })
}

/// When the coordinator is asked again, if it is (L-VER-7, L-VER-8).
fn retry_time(io: &mut Io<'_>, pending: &PendingProduce, refused: &Refused) -> Option<Instant> {
    if pending.operation != TransactionSupportedOperation::AddPartition {
        rule!(io.env, "L-VER-7");
        return None;
    }
    let config = &io.spec.config;
    let limit = config.add_partitions_to_txn_retry_backoff_max.min(config.request_timeout);
    let concurrent = refused.iter().any(|(_, error)| *error == ErrorCode::ConcurrentTransactions);
    let within = io.now().since(pending.first_attempt) < limit;
    (concurrent && within).then(|| io.now() + config.add_partitions_to_txn_retry_backoff)
}
