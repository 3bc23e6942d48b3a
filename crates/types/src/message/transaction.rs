//! APIs of the transaction coordinator.

use alloc::vec::Vec;

use super::{Node, PerPartition};
use crate::error::ErrorCode;
use crate::few::Few;
use crate::ids::{
    CoordinatorEpoch, GroupId, ProducerEpoch, ProducerId, TopicPartition, TransactionalId,
};
use crate::record::{TransactionResult, TransactionState};
use crate::version::TransactionVersion;

/// What coordinator is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CoordinatorKey {
    /// Key type 1.
    Transaction(TransactionalId),
    /// Key type 0.
    Group(GroupId),
}

/// `FindCoordinatorRequest`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FindCoordinatorRequest {
    /// Whose coordinator.
    pub key: CoordinatorKey,
}

/// `FindCoordinatorResponse`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FindCoordinatorResponse {
    /// The outcome.
    pub error: ErrorCode,
    /// The coordinator, `None` on error.
    pub node: Node,
}

/// `InitProducerIdRequest`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InitProducerIdRequest {
    /// Request version.
    pub version: i16,
    /// `None` for a producer that is idempotent only.
    pub transactional_id: Option<TransactionalId>,
    /// The transaction's timeout, ms.
    pub transaction_timeout_ms: i32,
    /// Resume with this id (KIP-360); -1 if new.
    pub producer_id: ProducerId,
    /// Resume with this epoch (KIP-360); -1 if new.
    pub producer_epoch: ProducerEpoch,
    /// The transactions are those of an external two-phase commit (version ≥ 6, KIP-939).
    pub enable_2pc: bool,
    /// A prepared transaction stays open (version ≥ 6, KIP-939).
    pub keep_prepared_txn: bool,
}

/// `InitProducerIdResponse`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InitProducerIdResponse {
    /// The outcome.
    pub error: ErrorCode,
    /// -1 on error.
    pub producer_id: ProducerId,
    /// -1 on error.
    pub producer_epoch: ProducerEpoch,
    /// Of the transaction that was kept open; -1 if none was (KIP-939).
    pub ongoing_txn_producer_id: ProducerId,
    /// Of the transaction that was kept open; -1 if none was (KIP-939).
    pub ongoing_txn_producer_epoch: ProducerEpoch,
}

impl InitProducerIdResponse {
    /// An answer in which no transaction was kept open.
    #[must_use]
    pub const fn new(
        error: ErrorCode,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
    ) -> Self {
        Self {
            error,
            producer_id,
            producer_epoch,
            ongoing_txn_producer_id: ProducerId::NONE,
            ongoing_txn_producer_epoch: ProducerEpoch::NONE,
        }
    }
}

/// One transaction of an AddPartitionsToTxn (`AddPartitionsToTxnTransaction`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AddPartitionsToTxnTransaction {
    /// The transactional id.
    pub transactional_id: TransactionalId,
    /// Producer id.
    pub producer_id: ProducerId,
    /// Producer epoch.
    pub producer_epoch: ProducerEpoch,
    /// Only look whether the partitions are in the transaction.
    pub verify_only: bool,
    /// The partitions.
    pub partitions: Few<TopicPartition>,
}

/// `AddPartitionsToTxnRequest`: one transaction from a client (version ≤ 3), a batch of them from
/// a broker (C-ADD-1).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AddPartitionsToTxnRequest {
    /// Request version.
    pub version: i16,
    /// The transactions.
    pub transactions: Few<AddPartitionsToTxnTransaction>,
}

/// `AddPartitionsToTxnResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AddPartitionsToTxnResponse {
    /// Outcome of the request as a whole.
    pub error: ErrorCode,
    /// Per transaction and partition, in the order of the request.
    pub results: Few<(TransactionalId, PerPartition<ErrorCode>)>,
}

/// `AddOffsetsToTxnRequest`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AddOffsetsToTxnRequest {
    /// Request version.
    pub version: i16,
    /// The transactional id.
    pub transactional_id: TransactionalId,
    /// Producer id.
    pub producer_id: ProducerId,
    /// Producer epoch.
    pub producer_epoch: ProducerEpoch,
    /// The group whose offsets will be committed.
    pub group: GroupId,
}

/// `AddOffsetsToTxnResponse`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AddOffsetsToTxnResponse {
    /// The outcome.
    pub error: ErrorCode,
}

/// `EndTxnRequest`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EndTxnRequest {
    /// Request version; 5 and later is transaction version 2 (C-TV-2).
    pub version: i16,
    /// The transactional id.
    pub transactional_id: TransactionalId,
    /// Producer id.
    pub producer_id: ProducerId,
    /// Producer epoch.
    pub producer_epoch: ProducerEpoch,
    /// Commit or abort.
    pub committed: bool,
}

/// `EndTxnResponse`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EndTxnResponse {
    /// The outcome.
    pub error: ErrorCode,
    /// The id to go on with (version ≥ 5), else -1.
    pub producer_id: ProducerId,
    /// The epoch to go on with (version ≥ 5), else -1.
    pub producer_epoch: ProducerEpoch,
}

/// One marker of a WriteTxnMarkers (`WritableTxnMarker`, L-WTM-2).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WritableTxnMarker {
    /// Producer id.
    pub producer_id: ProducerId,
    /// The marker's epoch.
    pub producer_epoch: ProducerEpoch,
    /// COMMIT or ABORT.
    pub transaction_result: TransactionResult,
    /// Where to write it.
    pub partitions: Few<TopicPartition>,
    /// The sender's epoch as a coordinator.
    pub coordinator_epoch: CoordinatorEpoch,
    /// The transaction's version; read as 0 below request version 2.
    pub transaction_version: TransactionVersion,
}

/// `WriteTxnMarkersRequest`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WriteTxnMarkersRequest {
    /// Request version, 1 or 2.
    pub version: i16,
    /// The markers.
    pub markers: Few<WritableTxnMarker>,
}

/// `WriteTxnMarkersResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct WriteTxnMarkersResponse {
    /// Per producer id and partition; entries of one producer id are merged (L-WTM-4).
    pub results: Few<(ProducerId, PerPartition<ErrorCode>)>,
}

/// `DescribeTransactionsRequest` for one id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DescribeTransactionsRequest {
    /// The transactional id.
    pub transactional_id: TransactionalId,
}

/// `DescribeTransactionsResponse` for one id.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DescribeTransactionsResponse {
    /// The outcome.
    pub error: ErrorCode,
    /// The description, if there is no error.
    pub transaction: Option<TransactionDescription>,
}

/// What DescribeTransactions tells (C-ADM-1).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TransactionDescription {
    /// The transactional id.
    pub transactional_id: TransactionalId,
    /// The state.
    pub state: TransactionState,
    /// Producer id.
    pub producer_id: ProducerId,
    /// Producer epoch.
    pub producer_epoch: ProducerEpoch,
    /// Timeout, ms.
    pub transaction_timeout_ms: i32,
    /// When it became Ongoing, ms; -1 if none.
    pub transaction_start_time_ms: i64,
    /// Partitions that still belong to it, sorted.
    pub partitions: Vec<TopicPartition>,
}

/// `ListTransactionsRequest`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ListTransactionsRequest {
    /// Only these producer ids, if any are given.
    pub producer_ids: Vec<ProducerId>,
    /// Only these states, if any are given.
    pub states: Vec<TransactionState>,
    /// Only those older than this, ms; -1 for all.
    pub duration_ms: i64,
}

/// `ListTransactionsResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ListTransactionsResponse {
    /// The outcome.
    pub error: ErrorCode,
    /// By transactional id.
    pub transactions: Vec<(TransactionalId, ProducerId, TransactionState)>,
}
