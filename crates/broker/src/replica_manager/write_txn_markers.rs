//! The request WriteTxnMarkers at the leader.
//!
//! Kafka counterpart: `KafkaApis#handleWriteTxnMarkersRequest`. Invariants: the markers of one
//! request are independent; the answer leaves when all are decided, one error map per producer id
//! (L-WTM-4). A retry is safe because a second marker is an empty one (L-WTM-7); a wrong refusal
//! would leave its transaction undecided for ever (L-WTM-8).

use alloc::vec::Vec;

use eosim_actor::RequestToken;
use eosim_group_coordinator::{GroupCoordinator, marker_error};
use eosim_storage::{AppendOrigin, VerificationGuard, end_transaction_marker};
use eosim_types::message::{
    PerPartition, WritableTxnMarker, WriteTxnMarkersRequest, WriteTxnMarkersResponse,
};
use eosim_types::record::{EndTransactionMarker, RecordBatch};
use eosim_types::version::TransactionVersion;
use eosim_types::{
    Capability, Defect, ErrorCode, Few, ProducerEpoch, ProducerId, Topic, TopicPartition, rule,
};

use super::ReplicaManager;
use super::append::{AppendOptions, AppendResult};
use super::delayed_operation::{Appender, ProducePartitionStatus};
use crate::io::Io;

/// A request whose markers are being written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct MarkerRequest {
    /// Markers that are not decided yet.
    undecided: u32,
    results: Few<(ProducerId, PerPartition<ErrorCode>)>,
}

impl MarkerRequest {
    /// Every partition of every marker, in the order of the request.
    fn new(markers: &[WritableTxnMarker], error: ErrorCode) -> Self {
        let undecided = u32::try_from(markers.len()).unwrap_or(u32::MAX);
        let mut request = Self { undecided, results: Few::new() };
        for marker in markers {
            let errors = marker.partitions.iter().map(|&tp| (tp, error)).collect();
            request.merge(marker.producer_id, errors);
        }
        request
    }

    fn merge(&mut self, producer_id: ProducerId, errors: PerPartition<ErrorCode>) {
        let same = self.results.iter_mut().find(|(id, _)| *id == producer_id);
        let Some((_, known)) = same else {
            self.results.push((producer_id, errors));
            return;
        };
        for (tp, error) in errors {
            match known.iter_mut().find(|(known, _)| *known == tp) {
                Some(entry) => entry.1 = error,
                None => known.push((tp, error)),
            }
        }
    }
}

impl ReplicaManager {
    /// Writes every marker of a request.
    pub(crate) fn handle_write_txn_markers(
        &mut self,
        io: &mut Io<'_>,
        token: RequestToken,
        request: WriteTxnMarkersRequest,
        groups: &GroupCoordinator,
    ) {
        rule!(io.env, "L-WTM-1");
        if request.markers.is_empty() {
            return io.respond(token, WriteTxnMarkersResponse::default());
        }
        if request.markers.iter().any(cannot_be_built) {
            rule!(io.env, "L-WTM-10");
            let refused = MarkerRequest::new(&request.markers, ErrorCode::UnknownServerError);
            return io.respond(token, WriteTxnMarkersResponse { results: refused.results });
        }
        let pending = MarkerRequest::new(&request.markers, ErrorCode::None);
        self.marker_requests.insert(token, pending);
        // The version on a connection is the newest that both its ends know.
        let has_version =
            request.version >= 2 && io.env.has(Capability::MarkerHasTransactionVersion);
        for mut marker in request.markers {
            rule!(io.env, "L-WTM-2");
            // L-WTM-9: a marker of an older version passes with the epoch of the data.
            if !has_version {
                marker.transaction_version = TransactionVersion::Tv0;
            }
            self.write_marker(io, token, &marker, groups);
        }
    }

    fn write_marker(
        &mut self,
        io: &mut Io<'_>,
        token: RequestToken,
        marker: &WritableTxnMarker,
        groups: &GroupCoordinator,
    ) {
        let producer_id = marker.producer_id;
        let hosted = |&tp: &TopicPartition| self.partitions.contains(tp);
        let (hosted, missing): (Vec<_>, Vec<_>) =
            marker.partitions.iter().partition(|tp| hosted(tp));
        let unknown: PerPartition<_> =
            missing.into_iter().map(|tp| (tp, ErrorCode::UnknownTopicOrPartition)).collect();
        if !unknown.is_empty() {
            rule!(io.env, "L-WTM-3");
            self.merge_marker_errors(token, producer_id, unknown);
        }
        rule!(io.env, "L-WTM-4");
        let append =
            |tp| ProducePartitionStatus::new(tp, self.append_marker(io, tp, marker, groups));
        let statuses = hosted.into_iter().map(append).collect();
        let appender = Appender::Markers { request: token, producer_id };
        let timeout = io.spec.config.request_timeout;
        self.await_replication(io, appender, timeout, statuses);
    }

    fn append_marker(
        &mut self,
        io: &mut Io<'_>,
        tp: TopicPartition,
        marker: &WritableTxnMarker,
        groups: &GroupCoordinator,
    ) -> AppendResult {
        let is_offsets = tp.topic == Topic::CONSUMER_OFFSETS;
        if is_offsets && let Err(error) = groups.check_active(tp.partition) {
            rule!(io.env, "G-MARK-1");
            return Err(marker_error(error).into());
        }
        let end = EndTransactionMarker {
            result: marker.transaction_result,
            coordinator_epoch: marker.coordinator_epoch,
        };
        let (producer_id, producer_epoch) = (marker.producer_id, marker.producer_epoch);
        let batch = end_transaction_marker(&mut io.env, producer_id, producer_epoch, end);
        // L-WTM-5: the group coordinator writes with acks=1.
        let acks = if is_offsets { 1 } else { -1 };
        let options = AppendOptions {
            origin: AppendOrigin::Coordinator,
            acks,
            internal_topics_allowed: true,
            verification_guard: VerificationGuard::SENTINEL,
            transaction_version: Some(marker.transaction_version),
        };
        let mut appended = self.append_to_local_log(io, tp, batch.clone(), options);
        if let Err(refused) = &mut appended
            && refused.error == ErrorCode::NotLeaderOrFollower
            && io.env.on(Defect::LeaderMarkerWrongErrorWhenNotLeader)
        {
            refused.error = ErrorCode::UnsupportedForMessageFormat;
        }
        let appended = appended?;
        if is_offsets {
            let batch = RecordBatch { base_offset: appended.first_offset, ..batch };
            self.offset_markers.push((tp.partition, batch));
        }
        Ok(appended)
    }

    fn merge_marker_errors(
        &mut self,
        token: RequestToken,
        producer_id: ProducerId,
        errors: PerPartition<ErrorCode>,
    ) {
        if let Some(request) = self.marker_requests.get_mut(token) {
            request.merge(producer_id, errors);
        }
    }

    /// One marker is decided everywhere; the last one lets the answer go (L-WTM-6).
    pub(crate) fn marker_written(
        &mut self,
        io: &mut Io<'_>,
        token: RequestToken,
        producer_id: ProducerId,
        errors: PerPartition<ErrorCode>,
    ) {
        rule!(io.env, "L-WTM-6");
        let has_offsets = errors.iter().any(|(tp, _)| tp.topic == Topic::CONSUMER_OFFSETS);
        self.merge_marker_errors(token, producer_id, errors);
        let Some(request) = self.marker_requests.get_mut(token) else { return };
        request.undecided -= 1;
        if has_offsets && io.env.on(Defect::LeaderMarkerDoubleDecrement) {
            request.undecided = request.undecided.saturating_sub(1);
        }
        if request.undecided == 0
            && let Some(MarkerRequest { results, .. }) = self.marker_requests.remove(token)
        {
            io.respond(token, WriteTxnMarkersResponse { results });
        }
    }
}

/// L-WTM-10.
fn cannot_be_built(marker: &WritableTxnMarker) -> bool {
    marker.producer_id < ProducerId(0) || marker.producer_epoch < ProducerEpoch(0)
}
