//! The answer to markers, or its absence.
//!
//! Kafka counterpart: `TransactionMarkerRequestCompletionHandler`.

use eosim_types::message::WriteTxnMarkersResponse;
use eosim_types::{BrokerId, Defect, Duration, ErrorCode, Few, ProducerId, TopicPartition, rule};

use crate::action::Ctx;
use crate::coordinator::TransactionCoordinator;
use crate::transaction_marker_channel_manager::{PendingMarker, TxnMarker};

/// The marker client's pause before it connects again.
const RECONNECT_BACKOFF: Duration = Duration::from_millis(50);
/// Kafka sends a refused marker again at once; virtual time has to move, however.
const NO_BACKOFF: Duration = Duration::from_millis(1);

/// What an error of one partition means for the transaction (C-MRK-9).
#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkerOutcome {
    Done,
    Retry,
    GiveUp,
    Throw,
}

fn marker_outcome(error: ErrorCode) -> MarkerOutcome {
    match error {
        ErrorCode::None
        | ErrorCode::UnsupportedForMessageFormat
        | ErrorCode::UnsupportedVersion => MarkerOutcome::Done,
        ErrorCode::UnknownTopicOrPartition
        | ErrorCode::NotLeaderOrFollower
        | ErrorCode::NotEnoughReplicas
        | ErrorCode::NotEnoughReplicasAfterAppend
        | ErrorCode::RequestTimedOut
        | ErrorCode::KafkaStorageError => MarkerOutcome::Retry,
        ErrorCode::InvalidProducerEpoch | ErrorCode::TransactionCoordinatorFenced => {
            MarkerOutcome::GiveUp
        }
        _ => MarkerOutcome::Throw,
    }
}

/// Kafka throws: the rest of the response is lost, and its transactions stay in Prepare….
struct RestIsLost;

impl TransactionCoordinator {
    /// Handles the end of one WriteTxnMarkers.
    pub(crate) fn handle_marker_response(
        &mut self,
        cx: &mut Ctx<'_>,
        broker: BrokerId,
        correlation: u32,
        response: Option<&WriteTxnMarkersResponse>,
    ) {
        let sent = self.channel_manager.take_in_flight(broker, correlation);
        let sent = sent.expect("the markers that are open at this broker");
        self.channel_manager.wake();
        match response {
            None => self.markers_disconnected(cx, broker, sent),
            Some(response) => {
                for pending in &sent {
                    if self.marker_answered(cx, broker, &pending.marker, response).is_err() {
                        break;
                    }
                }
            }
        }
    }

    /// C-MRK-8.
    fn markers_disconnected(
        &mut self,
        cx: &mut Ctx<'_>,
        broker: BrokerId,
        sent: Few<PendingMarker>,
    ) {
        rule!(cx.env, "C-MRK-8");
        self.channel_manager.pause(broker, cx.env.now + RECONNECT_BACKOFF);
        for PendingMarker { marker, partitions } in sent {
            if !self.drop_if_superseded(cx, &marker) {
                self.add_txn_markers_to_broker_queue(cx, marker, partitions);
            }
        }
    }

    /// C-MRK-9.
    fn marker_answered(
        &mut self,
        cx: &mut Ctx<'_>,
        broker: BrokerId,
        marker: &TxnMarker,
        response: &WriteTxnMarkersResponse,
    ) -> Result<(), RestIsLost> {
        rule!(cx.env, "C-MRK-9");
        let errors = errors_of(response, marker.producer_id).ok_or(RestIsLost)?;
        if self.drop_if_superseded(cx, marker) {
            return Ok(());
        }
        let (id, epoch) = (marker.transactional_id, marker.coordinator_epoch);
        let owned = self.state_manager.get_under_epoch(cx, id, epoch);
        let (_, metadata) = owned.map_err(|_| RestIsLost)?;
        let mut retry = Few::new();
        let mut gives_up = false;
        for &(partition, error) in errors {
            match marker_outcome(error) {
                MarkerOutcome::Done => metadata.remove_partition(&mut cx.env, partition),
                MarkerOutcome::Retry => retry.push(partition),
                MarkerOutcome::GiveUp => gives_up = true,
                MarkerOutcome::Throw => return Err(RestIsLost),
            }
        }
        if gives_up {
            rule!(cx.env, "H-4");
            self.channel_manager.remove_markers_for_txn(marker);
        } else if retry.is_empty() {
            self.maybe_write_txn_completion(cx, id);
        } else {
            self.channel_manager.pause(broker, cx.env.now + retry_backoff(cx));
            self.add_txn_markers_to_broker_queue(cx, *marker, retry);
        }
        Ok(())
    }

    /// The partition of the id was given up or taken over anew: the load has redone the marker, or
    /// will.
    fn drop_if_superseded(&mut self, cx: &mut Ctx<'_>, marker: &TxnMarker) -> bool {
        let owned = self.state_manager.get_transaction_state(cx, marker.transactional_id);
        let is_current =
            owned.is_ok_and(|owned| owned.coordinator_epoch == marker.coordinator_epoch);
        if !is_current {
            self.channel_manager.remove_markers_for_txn(marker);
        }
        !is_current
    }
}

/// Entries of one producer id are merged in the answer (C-MRK-16).
fn errors_of(
    response: &WriteTxnMarkersResponse,
    producer_id: ProducerId,
) -> Option<&[(TopicPartition, ErrorCode)]> {
    let result = response.results.iter().find(|(id, _)| *id == producer_id);
    result.map(|(_, errors)| errors.as_slice())
}

fn retry_backoff(cx: &Ctx<'_>) -> Duration {
    if cx.env.on(Defect::UpstreamCoordinatorMarkerRetryWithoutBackoff) {
        NO_BACKOFF
    } else {
        cx.config.marker_retry_backoff
    }
}
