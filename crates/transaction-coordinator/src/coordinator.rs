//! The coordinator's inputs.
//!
//! Kafka counterpart: `TransactionCoordinator`.

use alloc::vec::Vec;

use eosim_types::message::{
    AllocateProducerIdsResponse, FindCoordinatorRequest, FindCoordinatorResponse, Request,
    WriteTxnMarkersResponse,
};
use eosim_types::observation::TransactionDump;
use eosim_types::record::TransactionLogRecord;
use eosim_types::{BrokerId, CoordinatorEpoch, ErrorCode};

use crate::action::{AppendId, CoordinatorTimer, Ctx, ReplyTo};

/// The transaction coordinator of one broker.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TransactionCoordinator {
    broker: BrokerId,
}

impl TransactionCoordinator {
    /// A coordinator that has not started and owns nothing.
    #[must_use]
    pub fn new(broker: BrokerId) -> Self {
        Self { broker }
    }

    /// Forgets everything, as a crash does; the allocations are kept.
    pub fn reset(&mut self) {}

    /// Starts the periodic tasks and reads the number of partitions of `__transaction_state`.
    pub fn start(&mut self, _cx: &mut Ctx<'_>) {}

    /// The broker has become leader of a partition of `__transaction_state` (C-LOAD-2).
    pub fn on_elected(&mut self, _cx: &mut Ctx<'_>, _partition: i32, _epoch: CoordinatorEpoch) {}

    /// It is leader no more; without an epoch the replica was removed (C-RES-1).
    pub fn on_resigned(
        &mut self,
        _cx: &mut Ctx<'_>,
        _partition: i32,
        _epoch: Option<CoordinatorEpoch>,
    ) {
    }

    /// The log was read: its records from start to `log_end_offset`, in order, and the high
    /// watermark by now.
    pub fn on_loaded<'r>(
        &mut self,
        _cx: &mut Ctx<'_>,
        _partition: i32,
        _coordinator_epoch: CoordinatorEpoch,
        _records: impl IntoIterator<Item = &'r TransactionLogRecord>,
        _log_end_offset: i64,
        _high_watermark: i64,
    ) {
    }

    /// The high watermark of a led partition of `__transaction_state` has moved.
    pub fn on_high_watermark(&mut self, _cx: &mut Ctx<'_>, _partition: i32, _high_watermark: i64) {}

    /// One of InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, DescribeTransactions and
    /// ListTransactions.
    pub fn handle_request(&mut self, _cx: &mut Ctx<'_>, _to: ReplyTo, _request: Request) {}

    /// An append ended; `NONE` means replicated.
    pub fn on_append_result(&mut self, _cx: &mut Ctx<'_>, _id: AppendId, _error: ErrorCode) {}

    /// The answer to markers; `None` if the connection broke or the time ran out.
    pub fn on_marker_response(
        &mut self,
        _cx: &mut Ctx<'_>,
        _broker: BrokerId,
        _correlation: u32,
        _response: Option<&WriteTxnMarkersResponse>,
    ) {
    }

    /// The controller's answer; `None` if the channel gave up.
    pub fn on_producer_ids(
        &mut self,
        _cx: &mut Ctx<'_>,
        _response: Option<&AllocateProducerIdsResponse>,
    ) {
    }

    /// The metadata image has changed.
    pub fn on_metadata(&mut self, _cx: &mut Ctx<'_>) {}

    /// A timer has run out.
    pub fn on_timer(&mut self, _cx: &mut Ctx<'_>, _timer: CoordinatorTimer) {}

    /// Answers FindCoordinator from the broker's metadata (C-PART-5).
    pub fn find_coordinator(
        &self,
        _cx: &mut Ctx<'_>,
        _request: FindCoordinatorRequest,
    ) -> FindCoordinatorResponse {
        let _ = self.broker;
        FindCoordinatorResponse { error: ErrorCode::CoordinatorNotAvailable, node: None }
    }

    /// Every transactional id that is owned.
    #[must_use]
    pub fn dump(&self) -> Vec<TransactionDump> {
        Vec::new()
    }
}
