//! Errors in answers: which stand there, and the answer that refuses a request with one.
//!
//! Kafka counterpart: `AbstractRequest#getErrorResponse`, `AbstractResponse#errorCounts`.

use super::{
    AddOffsetsToTxnResponse, AddPartitionsToTxnResponse, ApiKey, DeleteGroupsResponse,
    DeleteRecordsResponse, EndTxnResponse, EpochEndOffset, FetchPartitionResponse, FetchResponse,
    FindCoordinatorResponse, HeartbeatResponse, InitProducerIdResponse,
    ListOffsetsPartitionResponse, ListOffsetsResponse, Message, OffsetCommitResponse,
    OffsetDeleteResponse, OffsetFetchResponse, OffsetForLeaderEpochResponse,
    ProducePartitionResponse, ProduceResponse, Request, Response, TxnOffsetCommitResponse,
    WriteTxnMarkersResponse,
};
use crate::error::ErrorCode;
use crate::ids::{LeaderEpoch, ProducerEpoch, ProducerId};

impl Message {
    /// Is it a response in which the error stands? `NONE` has to stand alone.
    #[must_use]
    pub fn has_error(&self, error: ErrorCode) -> bool {
        let Self::Response(response) = self else { return false };
        let (mut found, mut other) = (false, false);
        response.errors(|&each| {
            found |= each == error;
            other |= each != error;
        });
        found && !(error.is_none() && other)
    }

    /// The answer that refuses a request with `error`, or a response with `error` in the place of
    /// what it said. `None` if no answer tells of errors.
    #[must_use]
    pub fn refused(&self, error: ErrorCode) -> Option<Self> {
        match self {
            Self::Request(request) => request.error_response(error).map(Self::Response),
            Self::Response(response) => {
                let mut response = response.clone();
                response.errors_mut(|each| *each = error);
                response.clear_top_level_error();
                Some(Self::Response(response))
            }
        }
    }
}

impl ApiKey {
    /// Answers to it tell of errors, and a request can be refused
    /// ([`Request::error_response`]).
    #[must_use]
    pub const fn can_be_refused(self) -> bool {
        matches!(
            self,
            Self::Produce
                | Self::Fetch
                | Self::ListOffsets
                | Self::OffsetForLeaderEpoch
                | Self::DeleteRecords
                | Self::FindCoordinator
                | Self::InitProducerId
                | Self::AddPartitionsToTxn
                | Self::AddOffsetsToTxn
                | Self::EndTxn
                | Self::WriteTxnMarkers
                | Self::TxnOffsetCommit
                | Self::OffsetCommit
                | Self::OffsetFetch
                | Self::OffsetDelete
                | Self::DeleteGroups
                | Self::Heartbeat
        )
    }
}

impl Request {
    /// The answer that refuses the request with `error` (`AbstractRequest#getErrorResponse`);
    /// `None` if it is not answered, or cannot be refused ([`ApiKey::can_be_refused`]).
    #[must_use]
    pub fn error_response(&self, error: ErrorCode) -> Option<Response> {
        Some(match self {
            Self::Produce(request) if request.acks == 0 => return None,
            Self::Produce(request) => {
                let refused = request
                    .partitions
                    .iter()
                    .map(|(tp, _)| ProducePartitionResponse::without_offset(*tp, error));
                ProduceResponse { partitions: refused.collect() }.into()
            }
            Self::Fetch(request) => {
                let refused = request
                    .partitions
                    .iter()
                    .map(|p| FetchPartitionResponse::without_bounds(p.partition, error));
                let session_id = request.metadata.session_id;
                let partitions = refused.collect();
                FetchResponse { error: ErrorCode::None, session_id, partitions }.into()
            }
            Self::ListOffsets(request) => {
                let partitions = request.partitions.iter();
                let refused = |partition| ListOffsetsPartitionResponse {
                    partition,
                    error,
                    timestamp: -1,
                    offset: -1,
                };
                let partitions = partitions.map(|asked| refused(asked.partition)).collect();
                ListOffsetsResponse { partitions }.into()
            }
            Self::OffsetForLeaderEpoch(request) => {
                let refused = |partition| EpochEndOffset {
                    partition,
                    error,
                    leader_epoch: LeaderEpoch(-1),
                    end_offset: -1,
                };
                let partitions = request.partitions.iter();
                let partitions = partitions.map(|asked| refused(asked.partition)).collect();
                OffsetForLeaderEpochResponse { partitions }.into()
            }
            Self::DeleteRecords(request) => {
                let partition = request.partition;
                DeleteRecordsResponse { partition, error, low_watermark: -1 }.into()
            }
            Self::FindCoordinator(_) => FindCoordinatorResponse { error, node: None }.into(),
            _ => return self.transactional_error(error).or_else(|| self.group_error(error)),
        })
    }

    fn transactional_error(&self, error: ErrorCode) -> Option<Response> {
        let (no_id, no_epoch) = (ProducerId::NONE, ProducerEpoch::NONE);
        Some(match self {
            Self::InitProducerId(_) => InitProducerIdResponse::new(error, no_id, no_epoch).into(),
            Self::AddPartitionsToTxn(request) => {
                let results = request.transactions.iter().map(|transaction| {
                    let partitions = transaction.partitions.iter().map(|tp| (*tp, error));
                    (transaction.transactional_id, partitions.collect())
                });
                let results = results.collect();
                AddPartitionsToTxnResponse { error: ErrorCode::None, results }.into()
            }
            Self::AddOffsetsToTxn(_) => AddOffsetsToTxnResponse { error }.into(),
            Self::EndTxn(_) => {
                EndTxnResponse { error, producer_id: no_id, producer_epoch: no_epoch }.into()
            }
            Self::WriteTxnMarkers(request) => {
                let results = request.markers.iter().map(|marker| {
                    let partitions = marker.partitions.iter().map(|tp| (*tp, error));
                    (marker.producer_id, partitions.collect())
                });
                WriteTxnMarkersResponse { results: results.collect() }.into()
            }
            _ => return None,
        })
    }

    fn group_error(&self, error: ErrorCode) -> Option<Response> {
        Some(match self {
            Self::TxnOffsetCommit(request) => {
                let partitions = request.offsets.iter().map(|offset| (offset.partition, error));
                TxnOffsetCommitResponse { partitions: partitions.collect() }.into()
            }
            Self::OffsetCommit(request) => {
                let partitions = request.offsets.iter().map(|offset| (offset.partition, error));
                OffsetCommitResponse { partitions: partitions.collect() }.into()
            }
            Self::OffsetFetch(_) => {
                OffsetFetchResponse { error, partitions: [].into_iter().collect() }.into()
            }
            Self::OffsetDelete(_) => {
                OffsetDeleteResponse { error, partitions: [].into_iter().collect() }.into()
            }
            Self::DeleteGroups(_) => DeleteGroupsResponse { error }.into(),
            Self::Heartbeat(_) => HeartbeatResponse { error }.into(),
            _ => return None,
        })
    }
}

impl Response {
    /// An error of a partition is none of the whole answer where the two differ.
    fn clear_top_level_error(&mut self) {
        match self {
            Self::Fetch(response) => response.error = ErrorCode::None,
            Self::AddPartitionsToTxn(response) => response.error = ErrorCode::None,
            _ => {}
        }
    }
}

macro_rules! visit_errors {
    ($(#[$doc:meta])* $name:ident, $iter:ident $(, $mutable:tt)?) => {
        impl Response {
            $(#[$doc])*
            fn $name(&$($mutable)? self, mut tell: impl FnMut(&$($mutable)? ErrorCode)) {
                match self {
                    Self::Produce(r) => r.partitions.$iter().for_each(|p| tell(&$($mutable)? p.error)),
                    Self::Fetch(r) => {
                        tell(&$($mutable)? r.error);
                        r.partitions.$iter().for_each(|p| tell(&$($mutable)? p.error));
                    }
                    Self::ListOffsets(r) => {
                        r.partitions.$iter().for_each(|p| tell(&$($mutable)? p.error));
                    }
                    Self::OffsetForLeaderEpoch(r) => {
                        r.partitions.$iter().for_each(|p| tell(&$($mutable)? p.error));
                    }
                    Self::AddPartitionsToTxn(r) => {
                        tell(&$($mutable)? r.error);
                        for (_, partitions) in r.results.$iter() {
                            partitions.$iter().for_each(|(_, error)| tell(error));
                        }
                    }
                    Self::WriteTxnMarkers(r) => {
                        for (_, partitions) in r.results.$iter() {
                            partitions.$iter().for_each(|(_, error)| tell(error));
                        }
                    }
                    Self::TxnOffsetCommit(r) => r.partitions.$iter().for_each(|(_, error)| tell(error)),
                    Self::OffsetCommit(r) => r.partitions.$iter().for_each(|(_, error)| tell(error)),
                    Self::OffsetFetch(r) => {
                        tell(&$($mutable)? r.error);
                        r.partitions.$iter().for_each(|(_, p)| tell(&$($mutable)? p.error));
                    }
                    Self::OffsetDelete(r) => {
                        tell(&$($mutable)? r.error);
                        r.partitions.$iter().for_each(|(_, error)| tell(error));
                    }
                    Self::LeaveGroup(r) => tell(&$($mutable)? r.error),
                    Self::ElectLeaders(r) => r.partitions.$iter().for_each(|(_, error)| tell(error)),
                    Self::AlterPartitionReassignments(r) => {
                        r.partitions.$iter().for_each(|(_, error)| tell(error));
                    }
                    Self::DescribeProducers(r) => tell(&$($mutable)? r.error),
                    Self::DeleteRecords(r) => tell(&$($mutable)? r.error),
                    Self::FindCoordinator(r) => tell(&$($mutable)? r.error),
                    Self::InitProducerId(r) => tell(&$($mutable)? r.error),
                    Self::AddOffsetsToTxn(r) => tell(&$($mutable)? r.error),
                    Self::EndTxn(r) => tell(&$($mutable)? r.error),
                    Self::DescribeTransactions(r) => tell(&$($mutable)? r.error),
                    Self::ListTransactions(r) => tell(&$($mutable)? r.error),
                    Self::DeleteGroups(r) => tell(&$($mutable)? r.error),
                    Self::JoinGroup(r) => tell(&$($mutable)? r.error),
                    Self::SyncGroup(r) => tell(&$($mutable)? r.error),
                    Self::Heartbeat(r) => tell(&$($mutable)? r.error),
                    Self::ConsumerGroupHeartbeat(r) => tell(&$($mutable)? r.error),
                    Self::AllocateProducerIds(r) => tell(&$($mutable)? r.error),
                    Self::AlterPartition(r) => tell(&$($mutable)? r.error),
                    Self::BrokerRegistration(r) => tell(&$($mutable)? r.error),
                    Self::BrokerHeartbeat(r) => tell(&$($mutable)? r.error),
                    Self::UpdateFeatures(r) => tell(&$($mutable)? r.error),
                    Self::ApiVersions(_) | Self::Metadata(_) | Self::FetchMetadata(_) => {}
                }
            }
        }
    };
}

visit_errors! {
    /// Tells every error that stands in the response, `NONE` too.
    errors, iter
}
visit_errors! {
    /// Lends every error that stands in the response to be changed.
    errors_mut, iter_mut, mut
}
