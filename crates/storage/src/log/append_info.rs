//! What goes into an append and what comes out of it.
//!
//! Kafka's counterparts: `AppendOrigin`, `LogAppendInfo` and
//! `MemoryRecords.withEndTransactionMarker`.

use eosim_types::record::{EndTransactionMarker, Payload, RecordBatch};
use eosim_types::{Env, LeaderEpoch, ProducerEpoch, ProducerId, Sequence, rule};

/// Who appends (L-REC-7).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AppendOrigin {
    /// Produce: every check.
    Client,
    /// Markers and a coordinator's own records: no duplicate search, no sequence test.
    Coordinator,
    /// A follower, or recovery: what is in the log was accepted already.
    Replication,
}

impl AppendOrigin {
    /// A failed epoch or coordinator-epoch test is an error, not a line in the broker's own log.
    #[must_use]
    pub fn is_validated(self) -> bool {
        self != Self::Replication
    }
}

/// What an append did (`LogAppendInfo`, L-PIPE-5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LogAppendInfo {
    /// Offset of the first record; for a duplicate, of the original's.
    pub first_offset: i64,
    /// Offset of the last record; for a duplicate, of the original's.
    pub last_offset: i64,
    /// -1; for a duplicate, the original's largest timestamp, ms.
    pub log_append_time: i64,
    /// Nothing was written: the batch is in the log already (L-DUP-2).
    pub is_duplicate: bool,
    /// Where the log begins.
    pub log_start_offset: i64,
}

/// The control batch that ends a transaction, as a leader appends it: one record, no sequence,
/// this broker's clock (L-REC-5).
#[must_use]
pub fn end_transaction_marker(
    env: &mut Env<'_>,
    producer_id: ProducerId,
    producer_epoch: ProducerEpoch,
    marker: EndTransactionMarker,
) -> RecordBatch {
    rule!(env, "L-REC-5");
    RecordBatch {
        base_offset: 0,
        last_offset_delta: 0,
        partition_leader_epoch: LeaderEpoch::NONE,
        is_transactional: true,
        max_timestamp: env.clock_ms(),
        producer_id,
        producer_epoch,
        base_sequence: Sequence::NONE,
        payload: Payload::Control(marker),
    }
}
