//! The coordinator's inputs.
//!
//! Kafka counterpart: `TransactionCoordinator`, as the broker sees it.
//! Invariant: every input ends with a round of the marker sender if anything has woken it.

use alloc::vec::Vec;

use eosim_types::message::{
    AllocateProducerIdsResponse, FindCoordinatorRequest, FindCoordinatorResponse, Request,
    WriteTxnMarkersResponse,
};
use eosim_types::observation::TransactionDump;
use eosim_types::record::TransactionLogRecord;
use eosim_types::{BrokerId, CoordinatorEpoch, ErrorCode, SortedMap, Topic, TransactionalId, rule};

use crate::action::{AppendId, CoordinatorTimer, Ctx, ReplyTo};
use crate::add_partitions_to_txn::PendingAddPartitions;
use crate::append_transaction_to_log::PendingAppend;
use crate::find_coordinator;
use crate::producer_id_manager::ProducerIdManager;
use crate::transaction_marker_channel_manager::TransactionMarkerChannelManager;
use crate::transaction_metadata::TransactionMetadata;
use crate::transaction_state_manager::TransactionStateManager;

/// `transaction.state.log.num.partitions`, used until the topic exists (C-PART-3).
const DEFAULT_TRANSACTION_STATE_PARTITIONS: i32 = 50;

/// The transaction coordinator of one broker.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TransactionCoordinator {
    broker: BrokerId,
    pub(crate) state_manager: TransactionStateManager,
    pub(crate) channel_manager: TransactionMarkerChannelManager,
    pub(crate) producer_id_manager: ProducerIdManager,
    pub(crate) pending_appends: SortedMap<AppendId, PendingAppend>,
    pub(crate) next_append_id: AppendId,
    pub(crate) pending_add_partitions: SortedMap<ReplyTo, PendingAddPartitions>,
}

impl TransactionCoordinator {
    /// A coordinator that has not started and owns nothing.
    #[must_use]
    pub fn new(broker: BrokerId) -> Self {
        Self {
            broker,
            state_manager: TransactionStateManager::default(),
            channel_manager: TransactionMarkerChannelManager::default(),
            producer_id_manager: ProducerIdManager::default(),
            pending_appends: SortedMap::default(),
            next_append_id: AppendId(0),
            pending_add_partitions: SortedMap::default(),
        }
    }

    /// Forgets everything, as a crash does (C-PID-7).
    pub fn reset(&mut self) {
        *self = Self::new(self.broker);
    }

    /// Starts the periodic tasks, the first run of each after one interval, and reads the number of
    /// partitions of `__transaction_state`.
    pub fn start(&mut self, cx: &mut Ctx<'_>) {
        rule!(cx.env, "C-PART-3");
        rule!(cx.env, "C-PID-7");
        let count = cx.metadata.partition_count(Topic::TRANSACTION_STATE);
        self.state_manager.transaction_topic_partition_count =
            if count == 0 { DEFAULT_TRANSACTION_STATE_PARTITIONS } else { count };
        let abort_at = cx.env.now + cx.config.abort_timed_out_transactions_interval;
        cx.set_timer(CoordinatorTimer::AbortTimedOutTransactions, abort_at);
        let expire_at = cx.env.now + cx.config.remove_expired_transactional_ids_interval;
        cx.set_timer(CoordinatorTimer::RemoveExpiredTransactionalIds, expire_at);
    }

    /// The broker has become leader of a partition of `__transaction_state`, or leader anew, under
    /// another leader epoch (C-LOAD-1, C-LOAD-2).
    pub fn on_elected(
        &mut self,
        cx: &mut Ctx<'_>,
        partition: i32,
        coordinator_epoch: CoordinatorEpoch,
    ) {
        self.elected(cx, partition, coordinator_epoch);
    }

    /// The broker leads the partition no more, by the leader epoch given; without one its replica
    /// was removed (C-RES-1).
    pub fn on_resigned(
        &mut self,
        cx: &mut Ctx<'_>,
        partition: i32,
        leader_epoch: Option<CoordinatorEpoch>,
    ) {
        self.resigned(cx, partition, leader_epoch);
    }

    /// A log was read: its records in order from the log start to `log_end_offset`, and how far it
    /// is below the high watermark and confirmed by replicas in this epoch. Ignored if the broker has resigned meanwhile.
    pub fn on_loaded<'r>(
        &mut self,
        cx: &mut Ctx<'_>,
        partition: i32,
        coordinator_epoch: CoordinatorEpoch,
        records: impl IntoIterator<Item = &'r TransactionLogRecord>,
        log_end_offset: i64,
        confirmed_offset: i64,
    ) {
        self.loaded(cx, partition, coordinator_epoch, records, log_end_offset, confirmed_offset);
        self.run_marker_sender(cx);
    }

    /// More of a partition of `__transaction_state` that the broker leads is confirmed.
    /// Only needed while [`Self::awaits_confirmation`] says so; more calls do no harm.
    pub fn on_confirmed(&mut self, cx: &mut Ctx<'_>, partition: i32, confirmed_offset: i64) {
        if self.awaits_confirmation() {
            self.confirmed(cx, partition, confirmed_offset);
            self.run_marker_sender(cx);
        }
    }

    /// A load waits to be confirmed (the repair of H-2), or is being read.
    #[inline]
    #[must_use]
    pub fn awaits_confirmation(&self) -> bool {
        !self.state_manager.loading_partitions.is_empty()
    }

    /// Handles InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, DescribeTransactions,
    /// ListTransactions or FindCoordinator.
    ///
    /// # Panics
    /// On any other request.
    pub fn handle_request(&mut self, cx: &mut Ctx<'_>, to: ReplyTo, request: Request) {
        match request {
            Request::InitProducerId(request) => self.handle_init_producer_id(cx, to, &request),
            Request::AddPartitionsToTxn(request) => {
                self.handle_add_partitions_to_txn(cx, to, request);
            }
            Request::AddOffsetsToTxn(request) => self.handle_add_offsets_to_txn(cx, to, &request),
            Request::EndTxn(request) => self.handle_end_txn(cx, to, &request),
            Request::DescribeTransactions(request) => {
                let response = self.handle_describe_transactions(cx, request);
                cx.reply(to, response);
            }
            Request::ListTransactions(request) => {
                let response = self.handle_list_transactions(cx, &request);
                cx.reply(to, response);
            }
            Request::FindCoordinator(request) => {
                let response = self.find_coordinator(cx, request);
                cx.reply(to, response);
            }
            other => panic!("{} is no request to a coordinator", other.api().name()),
        }
        self.run_marker_sender(cx);
    }

    /// An append ended with the log's own error; `NONE` means that it is replicated.
    ///
    /// # Panics
    /// If no such append is under way.
    pub fn on_append_result(&mut self, cx: &mut Ctx<'_>, id: AppendId, error: ErrorCode) {
        self.handle_append_result(cx, id, error);
        self.run_marker_sender(cx);
    }

    /// The answer to markers; `None` if the connection broke or the time ran out.
    ///
    /// # Panics
    /// If no such request is open at `broker`.
    pub fn on_marker_response(
        &mut self,
        cx: &mut Ctx<'_>,
        broker: BrokerId,
        correlation: u32,
        response: Option<&WriteTxnMarkersResponse>,
    ) {
        self.handle_marker_response(cx, broker, correlation, response);
        self.run_marker_sender(cx);
    }

    /// The controller's answer; `None` if the channel gave up after 60 s (C-PID-4).
    pub fn on_producer_ids(
        &mut self,
        cx: &mut Ctx<'_>,
        response: Option<&AllocateProducerIdsResponse>,
    ) {
        self.producer_id_manager.handle_response(cx, response);
    }

    /// The broker's metadata image has changed.
    pub fn on_metadata(&mut self, cx: &mut Ctx<'_>) {
        self.requeue_unknown(cx);
        self.run_marker_sender(cx);
    }

    /// A timer has run out.
    pub fn on_timer(&mut self, cx: &mut Ctx<'_>, timer: CoordinatorTimer) {
        match timer {
            CoordinatorTimer::AbortTimedOutTransactions => self.abort_timed_out_transactions(cx),
            CoordinatorTimer::RemoveExpiredTransactionalIds => {
                self.remove_expired_transactional_ids(cx);
            }
            CoordinatorTimer::MarkerSender => self.channel_manager.timer_fired(),
        }
        self.run_marker_sender(cx);
    }

    /// Answers FindCoordinator, for transactional ids and groups, from the broker's metadata
    /// (C-PART-5).
    pub fn find_coordinator(
        &self,
        cx: &mut Ctx<'_>,
        request: FindCoordinatorRequest,
    ) -> FindCoordinatorResponse {
        find_coordinator::find_coordinator(cx, request)
    }

    /// Every transactional id that is owned, by partition and id.
    #[must_use]
    pub fn dump(&self) -> Vec<TransactionDump> {
        let entries = self.state_manager.transaction_metadata_cache.iter();
        entries
            .flat_map(|(&partition, entry)| {
                let owned = (partition, entry.coordinator_epoch);
                let metadata = entry.metadata_per_transactional_id.iter();
                metadata.map(move |(&id, metadata)| self.dump_of(owned, id, metadata))
            })
            .collect()
    }

    /// The partitions of `__transaction_state` that are owned and not being loaded anew, with the
    /// coordinator epoch.
    pub fn loaded_partitions(&self) -> impl Iterator<Item = (i32, CoordinatorEpoch)> {
        let entries = self.state_manager.transaction_metadata_cache.iter();
        let settled = entries.filter(|(partition, _)| !self.state_manager.is_loading(**partition));
        settled.map(|(&partition, entry)| (partition, entry.coordinator_epoch))
    }

    fn dump_of(
        &self,
        (txn_topic_partition, coordinator_epoch): (i32, CoordinatorEpoch),
        transactional_id: TransactionalId,
        metadata: &TransactionMetadata,
    ) -> TransactionDump {
        TransactionDump {
            broker: self.broker,
            coordinator_epoch,
            txn_topic_partition,
            transactional_id,
            producer_id: metadata.producer_id,
            previous_producer_id: metadata.previous_producer_id,
            next_producer_id: metadata.next_producer_id,
            producer_epoch: metadata.producer_epoch,
            last_producer_epoch: metadata.last_producer_epoch,
            transaction_timeout_ms: metadata.transaction_timeout_ms,
            state: metadata.state,
            pending_state: metadata.pending_state,
            partitions: metadata.topic_partitions.clone(),
            start_timestamp_ms: metadata.transaction_start_timestamp,
            last_update_timestamp_ms: metadata.transaction_last_update_timestamp,
            client_transaction_version: metadata.client_transaction_version.level(),
        }
    }
}
