//! A transition that was prepared and is being written.
//!
//! Kafka counterpart: `TxnTransitMetadata`, and `TransactionLog.valueToBytes` for its record.
//! Invariant: `topic_partitions` is sorted and without duplicates.

use alloc::vec::Vec;

use eosim_types::record::{TransactionLogRecord, TransactionLogValue, TransactionState};
use eosim_types::version::TransactionVersion;
use eosim_types::{
    Capability, Defect, Env, ErrorCode, ProducerEpoch, ProducerId, TopicPartition, TransactionalId,
    rule,
};

/// What a transactional id will be once the record of it is replicated.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TxnTransitMetadata {
    /// Producer id.
    pub producer_id: ProducerId,
    /// The producer id when the transition was prepared.
    pub previous_producer_id: ProducerId,
    /// The id that Complete… will bring; -1 if none.
    pub next_producer_id: ProducerId,
    /// Producer epoch.
    pub producer_epoch: ProducerEpoch,
    /// The epoch that a retry may present; -1 if none.
    pub last_producer_epoch: ProducerEpoch,
    /// The transaction's timeout, ms.
    pub transaction_timeout_ms: i32,
    /// The state that is entered.
    pub state: TransactionState,
    /// Partitions of the transaction.
    pub topic_partitions: Vec<TopicPartition>,
    /// When the transaction became Ongoing, ms; -1 if none.
    pub transaction_start_timestamp: i64,
    /// When the transition was prepared, ms.
    pub transaction_last_update_timestamp: i64,
    /// Decides how the markers are written.
    pub client_transaction_version: TransactionVersion,
}

impl TxnTransitMetadata {
    /// The record of this transition under the server's transaction version (C-APP-1, C-REC-2).
    ///
    /// # Errors
    /// `UNSUPPORTED_VERSION` if a client transaction version would be lost in value version 0; a
    /// repaired Kafka writes version 1 then, which every 4.x broker reads.
    pub fn to_record(
        &self,
        env: &mut Env<'_>,
        transactional_id: TransactionalId,
        server: TransactionVersion,
    ) -> Result<TransactionLogRecord, ErrorCode> {
        rule!(env, "C-REC-1");
        let mut version = server.transaction_log_value_version();
        if version == 0 && self.client_transaction_version != TransactionVersion::Tv0 {
            rule!(env, "C-REC-2");
            if env.on(Defect::UpstreamCoordinatorDowngradeWedgesId) {
                return Err(ErrorCode::UnsupportedVersion);
            }
            version = 1;
        }
        let has_ids = version >= 1 && env.has(Capability::ProducerIdsAreWritten);
        if !has_ids {
            rule!(env, "C-REC-4");
        }
        let has_epoch = version >= 1 && knows_last_epoch(env);
        let value = TransactionLogValue {
            version,
            previous_producer_id: tagged(has_ids, self.previous_producer_id, ProducerId::NONE),
            next_producer_id: tagged(has_ids, self.next_producer_id, ProducerId::NONE),
            last_producer_epoch: tagged(has_epoch, self.last_producer_epoch, ProducerEpoch::NONE),
            client_transaction_version: self.client_transaction_version.level(),
            producer_id: self.producer_id,
            producer_epoch: self.producer_epoch,
            transaction_timeout_ms: self.transaction_timeout_ms,
            transaction_status: self.state,
            transaction_partitions: self.record_partitions(env),
            last_update_timestamp_ms: self.transaction_last_update_timestamp,
            start_timestamp_ms: self.transaction_start_timestamp,
        };
        Ok(TransactionLogRecord { transactional_id, value: Some(value) })
    }

    fn record_partitions(&self, env: &mut Env<'_>) -> Option<Vec<TopicPartition>> {
        rule!(env, "C-REC-3");
        if self.state == TransactionState::Empty {
            assert!(self.topic_partitions.is_empty(), "Empty with partitions");
            return None;
        }
        Some(self.topic_partitions.clone())
    }
}

/// Does the last producer epoch stand in the log? As released from 4.5 on (C-INIT-21).
pub(crate) fn knows_last_epoch(env: &Env<'_>) -> bool {
    env.has(Capability::LastEpochIsWritten)
        || !env.on(Defect::UpstreamCoordinatorLastEpochForgotten)
}

/// A tagged field: there from value version 1 on, in a release that knows it.
fn tagged<T>(is_written: bool, value: T, default: T) -> T {
    if is_written { value } else { default }
}
