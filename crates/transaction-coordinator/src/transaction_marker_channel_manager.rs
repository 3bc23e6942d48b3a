//! Markers on their way: queues, the sender's rounds, and the completion of a transaction when its
//! last marker is written.
//!
//! Kafka counterpart: `TransactionMarkerChannelManager` and `TxnMarkerQueue`.
//! Invariants: at most one request per broker is open; an entry of
//! `transactions_with_pending_markers` is taken out exactly once, so a completion is written once.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::mem;

use eosim_types::machine::CoordinatorEvent;
use eosim_types::message::{WritableTxnMarker, WriteTxnMarkersRequest};
use eosim_types::record::TransactionResult;
use eosim_types::version::TransactionVersion;
use eosim_types::{
    BrokerId, Capability, CoordinatorEpoch, Defect, Duration, Few, Instant, ProducerEpoch,
    ProducerId, TopicPartition, TransactionalId, rule,
};

use crate::action::{Action, CoordinatorTimer, Ctx};
use crate::append_transaction_to_log::PreparedTransition;
use crate::coordinator::TransactionCoordinator;
use crate::response_callback::ResponseCallback;

/// The marker of one transaction, the same for all its partitions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct TxnMarker {
    pub(crate) transactional_id: TransactionalId,
    /// Partition of `__transaction_state` that holds the id.
    pub(crate) txn_topic_partition: i32,
    pub(crate) coordinator_epoch: CoordinatorEpoch,
    pub(crate) producer_id: ProducerId,
    pub(crate) producer_epoch: ProducerEpoch,
    pub(crate) result: TransactionResult,
    pub(crate) transaction_version: TransactionVersion,
}

/// A marker with the partitions that one broker is to write it to
/// (`PendingCompleteTxnAndMarkerEntry`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct PendingMarker {
    pub(crate) marker: TxnMarker,
    pub(crate) partitions: Few<TopicPartition>,
}

/// Markers, sorted by the partition of `__transaction_state` that they belong to.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct MarkersPerTxnTopicPartition(Few<PendingMarker>);

impl MarkersPerTxnTopicPartition {
    fn push(&mut self, pending: PendingMarker) {
        self.0.push(pending);
        self.0.sort_by_key(|pending| pending.marker.txn_topic_partition);
    }

    /// Takes out the markers of one partition.
    fn remove(&mut self, txn_topic_partition: i32) -> impl Iterator<Item = PendingMarker> + use<> {
        let is_of =
            |pending: &PendingMarker| pending.marker.txn_topic_partition == txn_topic_partition;
        let (removed, kept): (Vec<_>, Vec<_>) = mem::take(&mut self.0).into_iter().partition(is_of);
        self.0 = kept.into();
        removed.into_iter()
    }
}

/// What waits for one broker, and what it has been sent.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct TxnMarkerQueue {
    markers: MarkersPerTxnTopicPartition,
    in_flight: Option<(u32, Few<PendingMarker>)>,
    /// A pause after a refusal or a lost connection ends here.
    not_before: Instant,
}

impl TxnMarkerQueue {
    fn is_waiting(&self) -> bool {
        self.in_flight.is_none() && !self.markers.0.is_empty()
    }
}

/// Where the marker of a partition goes.
enum Destination {
    Broker(BrokerId),
    /// Asked again when the metadata changes.
    UnknownBroker,
    /// The partition counts as deleted.
    Nowhere,
}

/// Markers and completions under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct TransactionMarkerChannelManager {
    markers_queue_per_broker: BTreeMap<BrokerId, TxnMarkerQueue>,
    markers_queue_for_unknown_broker: MarkersPerTxnTopicPartition,
    /// The Complete… transition of every transaction whose markers are not all written.
    transactions_with_pending_markers: BTreeMap<TransactionalId, PreparedTransition>,
    txn_log_append_retry_queue: Vec<PreparedTransition>,
    /// When the completions that were refused are due.
    append_retry_at: Instant,
    next_correlation: u32,
    /// Something happened that wakes Kafka's sender thread.
    is_woken: bool,
    last_round: Instant,
    timer_at: Option<Instant>,
}

impl TransactionMarkerChannelManager {
    /// The sender is to run a round at the end of this step.
    pub(crate) fn wake(&mut self) {
        self.is_woken = true;
    }

    /// Nothing is sent to `broker` until `at`.
    pub(crate) fn pause(&mut self, broker: BrokerId, at: Instant) {
        self.markers_queue_per_broker.entry(broker).or_default().not_before = at;
    }

    /// Takes back what was sent under `correlation`, if it is what is open at `broker`.
    pub(crate) fn take_in_flight(
        &mut self,
        broker: BrokerId,
        correlation: u32,
    ) -> Option<Few<PendingMarker>> {
        let queue = self.markers_queue_per_broker.get_mut(&broker)?;
        let in_flight = queue.in_flight.take_if(|(open, _)| *open == correlation);
        in_flight.map(|(_, markers)| markers)
    }

    /// Gives up the entry that `marker` belongs to; not one of a later coordinator epoch.
    pub(crate) fn remove_markers_for_txn(&mut self, marker: &TxnMarker) {
        let pending = &mut self.transactions_with_pending_markers;
        let is_own = pending
            .get(&marker.transactional_id)
            .is_some_and(|entry| entry.coordinator_epoch == marker.coordinator_epoch);
        if is_own {
            pending.remove(&marker.transactional_id);
        }
    }

    /// Purges what is queued for one partition of `__transaction_state`; what is in flight and what
    /// waits for another append stays, and is dropped when it is answered (C-MRK-14).
    pub(crate) fn remove_markers_for_txn_topic_partition(
        &mut self,
        cx: &mut Ctx<'_>,
        txn_topic_partition: i32,
    ) {
        rule!(cx.env, "C-MRK-14");
        let queues = self.markers_queue_per_broker.values_mut().map(|queue| &mut queue.markers);
        let mut purged = Vec::new();
        for markers in queues.chain([&mut self.markers_queue_for_unknown_broker]) {
            purged.extend(markers.remove(txn_topic_partition));
        }
        for pending in purged {
            self.remove_markers_for_txn(&pending.marker);
        }
    }

    fn enqueue(&mut self, destination: Option<BrokerId>, pending: PendingMarker) {
        let markers = match destination {
            Some(broker) => {
                self.is_woken = true;
                &mut self.markers_queue_per_broker.entry(broker).or_default().markers
            }
            None => &mut self.markers_queue_for_unknown_broker,
        };
        markers.push(pending);
    }

    /// One request for every broker that has markers waiting, none open and no pause.
    fn send_requests(&mut self, cx: &mut Ctx<'_>) {
        for (&broker, queue) in &mut self.markers_queue_per_broker {
            if !queue.is_waiting() || cx.env.now < queue.not_before {
                continue;
            }
            rule!(cx.env, "C-MRK-7");
            let sent = mem::take(&mut queue.markers).0;
            let markers = sent.iter().map(writable_txn_marker).collect();
            let has_version = cx.env.has(Capability::MarkerHasTransactionVersion);
            let version = if has_version { 2 } else { 1 };
            let request = WriteTxnMarkersRequest { version, markers };
            let correlation = self.next_correlation;
            self.next_correlation = correlation.wrapping_add(1);
            queue.in_flight = Some((correlation, sent));
            cx.actions.push(Action::SendMarkers { broker, request, correlation });
        }
    }

    /// Sets the timer for the next round that nothing else will bring about.
    fn schedule(&mut self, cx: &mut Ctx<'_>) {
        let queues = self.markers_queue_per_broker.values();
        let paused = queues.filter(|queue| queue.is_waiting()).map(|queue| queue.not_before);
        let has_retry = !self.txn_log_append_retry_queue.is_empty();
        let Some(at) = paused.chain(has_retry.then_some(self.append_retry_at)).min() else {
            return;
        };
        if self.timer_at.is_none_or(|set| at < set) {
            self.timer_at = Some(at);
            cx.set_timer(CoordinatorTimer::MarkerSender, at);
        }
    }

    /// The timer has run out.
    pub(crate) fn timer_fired(&mut self) {
        self.timer_at = None;
        self.is_woken = true;
    }

    /// When a refused completion is written again (C-MRK-12): after a pause, or, as released, when
    /// the sender's poll next ends by itself.
    fn next_append_retry(&self, cx: &Ctx<'_>) -> Instant {
        if !cx.env.on(Defect::UpstreamCoordinatorCompletionWaitsForWakeUp) {
            return cx.env.now + cx.config.marker_retry_backoff;
        }
        let poll = cx.config.marker_sender_poll.0.max(1);
        let polls = cx.env.now.since(self.last_round).0 / poll + 1;
        self.last_round + Duration(polls * poll)
    }
}

fn writable_txn_marker(pending: &PendingMarker) -> WritableTxnMarker {
    let marker = pending.marker;
    WritableTxnMarker {
        producer_id: marker.producer_id,
        producer_epoch: marker.producer_epoch,
        transaction_result: marker.result,
        partitions: pending.partitions.clone(),
        coordinator_epoch: marker.coordinator_epoch,
        transaction_version: marker.transaction_version,
    }
}

/// The leader of `partition` as this broker's metadata has it now.
fn destination(cx: &mut Ctx<'_>, partition: TopicPartition) -> Destination {
    let Some(registration) = cx.metadata.partitions.get(&partition) else {
        return Destination::Nowhere;
    };
    let Some(leader) = registration.leader else {
        rule!(cx.env, "C-MRK-5");
        rule!(cx.env, "H-3");
        let is_skipped = cx.env.has(Capability::MarkerNeedsLeader)
            && cx.env.on(Defect::UpstreamCoordinatorMarkerSkippedWithoutLeader);
        return if is_skipped { Destination::Nowhere } else { unknown_broker(cx) };
    };
    rule!(cx.env, "C-MRK-3");
    if cx.metadata.brokers.contains_key(&leader) {
        Destination::Broker(leader)
    } else {
        unknown_broker(cx)
    }
}

/// Unknown is not deleted.
fn unknown_broker(cx: &Ctx<'_>) -> Destination {
    if cx.env.on(Defect::MarkerUnknownLeaderMeansDeleted) {
        Destination::Nowhere
    } else {
        Destination::UnknownBroker
    }
}

impl TransactionCoordinator {
    /// Takes a decided transaction: queues its markers, and completes it at once if it has none
    /// (C-MRK-1).
    pub(crate) fn add_txn_markers_to_send(
        &mut self,
        cx: &mut Ctx<'_>,
        result: TransactionResult,
        completion: PreparedTransition,
    ) {
        rule!(cx.env, "C-MRK-1");
        let transactional_id = completion.transactional_id;
        let coordinator_epoch = completion.coordinator_epoch;
        let txn_topic_partition = self.state_manager.partition_for(cx, transactional_id);
        let metadata = self
            .state_manager
            .cached_under_epoch(cx, transactional_id, coordinator_epoch)
            .expect("a decision is cached when its markers are sent");
        let marker = TxnMarker {
            transactional_id,
            txn_topic_partition,
            coordinator_epoch,
            producer_id: metadata.producer_id,
            producer_epoch: metadata.producer_epoch,
            result,
            transaction_version: metadata.client_transaction_version,
        };
        let partitions = metadata.topic_partitions.iter().copied().collect();
        self.channel_manager.transactions_with_pending_markers.insert(transactional_id, completion);
        self.add_txn_markers_to_broker_queue(cx, marker, partitions);
        self.maybe_write_txn_completion(cx, transactional_id);
    }

    /// Queues `marker` for the leaders of `partitions` (C-MRK-2).
    pub(crate) fn add_txn_markers_to_broker_queue(
        &mut self,
        cx: &mut Ctx<'_>,
        marker: TxnMarker,
        partitions: Few<TopicPartition>,
    ) {
        rule!(cx.env, "C-MRK-2");
        let mut by_leader: Few<(Option<BrokerId>, Few<TopicPartition>)> = Few::new();
        let mut deleted = Vec::new();
        for partition in partitions {
            let leader = match destination(cx, partition) {
                Destination::Broker(broker) => Some(broker),
                Destination::UnknownBroker => None,
                Destination::Nowhere => {
                    deleted.push(partition);
                    continue;
                }
            };
            match by_leader.iter_mut().find(|(known, _)| *known == leader) {
                Some((_, partitions)) => partitions.push(partition),
                None => by_leader.push((leader, Few::One(partition))),
            }
        }
        for (leader, partitions) in by_leader {
            self.channel_manager.enqueue(leader, PendingMarker { marker, partitions });
        }
        if !deleted.is_empty() {
            self.remove_deleted_partitions(cx, &marker, &deleted);
        }
    }

    /// C-MRK-4: the transaction goes on without a marker there.
    fn remove_deleted_partitions(
        &mut self,
        cx: &mut Ctx<'_>,
        marker: &TxnMarker,
        deleted: &[TopicPartition],
    ) {
        rule!(cx.env, "C-MRK-4");
        let (id, epoch) = (marker.transactional_id, marker.coordinator_epoch);
        match self.state_manager.get_under_epoch(cx, id, epoch) {
            Err(_) => self.channel_manager.remove_markers_for_txn(marker),
            Ok((_, metadata)) => {
                for &partition in deleted {
                    metadata.remove_partition(&mut cx.env, partition);
                }
                self.maybe_write_txn_completion(cx, id);
            }
        }
    }

    /// Writes Complete… if no partition needs a marker any more (C-MRK-10).
    pub(crate) fn maybe_write_txn_completion(&mut self, cx: &mut Ctx<'_>, id: TransactionalId) {
        rule!(cx.env, "C-MRK-10");
        let pending = &mut self.channel_manager.transactions_with_pending_markers;
        let Some(epoch) = pending.get(&id).map(|entry| entry.coordinator_epoch) else { return };
        let metadata = self.state_manager.cached_under_epoch(cx, id, epoch);
        if let Some(metadata) = metadata.filter(|metadata| metadata.topic_partitions.is_empty()) {
            metadata.takes(&mut cx.env, CoordinatorEvent::MarkersWritten);
            let completion = pending.remove(&id).expect("it was found above");
            self.write_txn_completion(cx, completion);
        }
    }

    /// C-MRK-11: nothing is written if the partition is not owned as it was.
    fn write_txn_completion(&mut self, cx: &mut Ctx<'_>, completion: PreparedTransition) {
        rule!(cx.env, "C-MRK-11");
        self.append_transaction_to_log(cx, completion, ResponseCallback::WriteTxnCompletion);
    }

    /// A completion met too few replicas (C-MRK-12).
    pub(crate) fn retry_completion_later(
        &mut self,
        cx: &mut Ctx<'_>,
        completion: PreparedTransition,
    ) {
        rule!(cx.env, "H-14");
        let channel = &mut self.channel_manager;
        channel.append_retry_at = channel.next_append_retry(cx);
        channel.txn_log_append_retry_queue.push(completion);
        channel.schedule(cx);
    }

    /// The metadata has changed: asks again for leaders that were unknown.
    pub(crate) fn requeue_unknown(&mut self, cx: &mut Ctx<'_>) {
        let unknown = mem::take(&mut self.channel_manager.markers_queue_for_unknown_broker);
        for PendingMarker { marker, partitions } in unknown.0 {
            self.add_txn_markers_to_broker_queue(cx, marker, partitions);
        }
    }

    /// One round of the sender, if anything has woken it (C-MRK-6).
    pub(crate) fn run_marker_sender(&mut self, cx: &mut Ctx<'_>) {
        if !mem::take(&mut self.channel_manager.is_woken) {
            return;
        }
        rule!(cx.env, "C-MRK-6");
        self.channel_manager.last_round = cx.env.now;
        for completion in mem::take(&mut self.channel_manager.txn_log_append_retry_queue) {
            self.write_txn_completion(cx, completion);
        }
        self.channel_manager.send_requests(cx);
        self.channel_manager.schedule(cx);
    }
}
