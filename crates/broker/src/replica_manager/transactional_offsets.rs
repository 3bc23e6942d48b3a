//! The verification stage of TxnOffsetCommit: as for Produce, but for the offsets partition and
//! without retries (L-TOC-1).
//!
//! Kafka counterpart: `ReplicaManager#maybeSendPartitionToTransactionCoordinator`, called by
//! `CoordinatorPartitionWriter`.

use eosim_actor::RequestToken;
use eosim_storage::VerificationGuard;
use eosim_types::message::{AddPartitionsToTxnTransaction, PerPartition, TxnOffsetCommitRequest};
use eosim_types::version::TransactionSupportedOperation;
use eosim_types::{ErrorCode, Few, Sequence, TopicPartition, rule};

use super::ReplicaManager;
use crate::add_partitions_to_txn_manager::{Refused, VerificationId};
use crate::io::Io;

/// A TxnOffsetCommit in its verification stage.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct PendingOffsetCommit {
    /// By which name to answer.
    pub(crate) token: RequestToken,
    /// The request.
    pub(crate) request: TxnOffsetCommitRequest,
    /// What is decided already, partition by partition.
    pub(crate) outcomes: PerPartition<ErrorCode>,
}

/// A TxnOffsetCommit whose verification is over.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct VerifiedOffsetCommit {
    /// The commit.
    pub(crate) commit: PendingOffsetCommit,
    /// What the stage gave.
    pub(crate) guard: VerificationGuard,
    /// How it ended.
    pub(crate) verified: Result<(), ErrorCode>,
}

impl ReplicaManager {
    /// Asks the transaction coordinator about the offsets partition `tp`, or goes on at once.
    pub(crate) fn verify_offset_commit(
        &mut self,
        io: &mut Io<'_>,
        tp: TopicPartition,
        commit: PendingOffsetCommit,
    ) {
        rule!(io.env, "L-TOC-1");
        rule!(io.env, "G-TV-1");
        rule!(io.env, "G-TV-5");
        let request = &commit.request;
        let operation = TransactionSupportedOperation::of_txn_offset_commit(request.version);
        let adds = operation == TransactionSupportedOperation::AddPartition;
        let supports_epoch_bump = operation.supports_epoch_bump();
        let producer = (request.producer_id, request.producer_epoch);
        let started = self.start_guard(io, tp, producer, Sequence::NONE, supports_epoch_bump);
        let verifies = adds || io.spec.config.transaction_partition_verification_enable;
        let guard = match started {
            Ok(Some(guard)) if verifies => guard,
            other => {
                let guard = VerificationGuard::SENTINEL;
                let verified = other.map(|_| ());
                self.verified_commits.push(VerifiedOffsetCommit { commit, guard, verified });
                return;
            }
        };
        let transaction = AddPartitionsToTxnTransaction {
            transactional_id: request.transactional_id,
            producer_id: request.producer_id,
            producer_epoch: request.producer_epoch,
            verify_only: !supports_epoch_bump,
            partitions: Few::One(tp),
        };
        let id = self.next_verification_id();
        self.offset_verifications.insert(id, (commit, guard));
        let manager = &mut self.add_partitions_to_txn_manager;
        manager.add_or_verify_transaction(io, transaction, operation, id);
    }

    /// The coordinator has answered (G-TV-2).
    pub(super) fn on_offsets_verified(
        &mut self,
        io: &mut Io<'_>,
        id: VerificationId,
        refused: &Refused,
    ) {
        let Some((commit, guard)) = self.offset_verifications.remove(id) else { return };
        rule!(io.env, "G-TV-2");
        let verified = refused.first().map_or(Ok(()), |(_, error)| Err(*error));
        self.verified_commits.push(VerifiedOffsetCommit { commit, guard, verified });
    }
}
