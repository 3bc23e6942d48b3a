//! APIs between brokers and the controller.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::PerPartition;
use crate::error::ErrorCode;
use crate::ids::{BrokerId, LeaderEpoch, ProducerId, TopicPartition};
use crate::metadata::MetadataImage;
use crate::version::TransactionVersion;

/// `AllocateProducerIdsRequest` (C-PID-2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AllocateProducerIdsRequest {
    /// The broker that asks.
    pub broker: BrokerId,
    /// Its broker epoch.
    pub broker_epoch: i64,
}

/// `AllocateProducerIdsResponse`: the block `[first, first + len)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AllocateProducerIdsResponse {
    /// The outcome.
    pub error: ErrorCode,
    /// First id of the block.
    pub producer_id_start: ProducerId,
    /// Length of the block.
    pub producer_id_len: i32,
}

/// `AlterPartitionRequest` for one partition (L-ISR-1).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AlterPartitionRequest {
    /// The leader that asks.
    pub broker: BrokerId,
    /// Its broker epoch.
    pub broker_epoch: i64,
    /// The partition.
    pub partition: TopicPartition,
    /// The leader epoch that it knows.
    pub leader_epoch: LeaderEpoch,
    /// The partition epoch that it knows.
    pub partition_epoch: i32,
    /// The ISR that it proposes, each with the broker epoch under which it fetches (-1: any).
    pub new_isr: Vec<(BrokerId, i64)>,
}

/// `AlterPartitionResponse` for one partition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AlterPartitionResponse {
    /// The partition.
    pub partition: TopicPartition,
    /// The outcome.
    pub error: ErrorCode,
    /// The leader epoch decided.
    pub leader_epoch: LeaderEpoch,
    /// The partition epoch decided.
    pub partition_epoch: i32,
    /// The ISR decided.
    pub isr: Vec<BrokerId>,
}

/// `BrokerRegistrationRequest`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BrokerRegistrationRequest {
    /// The broker.
    pub broker: BrokerId,
    /// Differs between two lives of the broker, and grows from life to life.
    pub incarnation: u64,
    /// The broker epoch of the life before, if that one stopped in good order; -1 otherwise.
    pub previous_broker_epoch: i64,
    /// The highest level of the feature `transaction.version` that it supports.
    pub supported_transaction_version: TransactionVersion,
}

/// `BrokerRegistrationResponse`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BrokerRegistrationResponse {
    /// The outcome.
    pub error: ErrorCode,
    /// The broker epoch given.
    pub broker_epoch: i64,
}

/// `BrokerHeartbeatRequest`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BrokerHeartbeatRequest {
    /// The broker.
    pub broker: BrokerId,
    /// Its broker epoch.
    pub broker_epoch: i64,
    /// The version of the metadata that it has applied.
    pub current_metadata_version: u64,
    /// It wants to stop in good order.
    pub want_shut_down: bool,
}

/// `BrokerHeartbeatResponse`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BrokerHeartbeatResponse {
    /// The outcome.
    pub error: ErrorCode,
    /// It is fenced.
    pub is_fenced: bool,
    /// It leads nothing any more and may stop.
    pub should_shut_down: bool,
}

/// Waits for a metadata image newer than the one known; stands for a broker's fetch of the
/// metadata log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FetchMetadataRequest {
    /// The broker.
    pub broker: BrokerId,
    /// The version of the image it has; 0 if none.
    pub known_version: u64,
}

/// The newest image; the known one again if nothing changed for a while.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FetchMetadataResponse {
    /// The image.
    pub image: Arc<MetadataImage>,
}

/// `ElectLeadersRequest`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ElectLeadersRequest {
    /// Also a replica that is not in sync.
    pub unclean: bool,
    /// The partitions.
    pub partitions: Vec<TopicPartition>,
}

/// `ElectLeadersResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ElectLeadersResponse {
    /// Per partition.
    pub partitions: PerPartition<ErrorCode>,
}

/// `AlterPartitionReassignmentsRequest`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AlterPartitionReassignmentsRequest {
    /// The new replicas of each partition, the preferred leader first.
    pub partitions: PerPartition<Vec<BrokerId>>,
}

/// `AlterPartitionReassignmentsResponse`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AlterPartitionReassignmentsResponse {
    /// Per partition.
    pub partitions: PerPartition<ErrorCode>,
}

/// `UpdateFeaturesRequest`, for the one feature that matters here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UpdateFeaturesRequest {
    /// The new finalized level of `transaction.version`; lower ones are allowed (C-TV-1).
    pub transaction_version: TransactionVersion,
}

/// `UpdateFeaturesResponse`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UpdateFeaturesResponse {
    /// `NONE`, or why the level stays.
    pub error: ErrorCode,
}
