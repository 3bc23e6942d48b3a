//! Requests and responses, as far as the exactly-once protocol needs them.
//!
//! Field names are Kafka's, without the schema's repetitions. `version` is the request version that
//! the sender chose; it decides error mapping and transaction version (leader 0.4, C-TV-2).

use alloc::sync::Arc;

use crate::few::Few;
use crate::ids::{BrokerId, TopicPartition};
use crate::metadata::MetadataImage;
use crate::version::{KafkaVersion, TransactionVersion};

mod cluster;
mod data;
mod facts;
mod fetch_metadata;
mod group;
mod membership;
mod refusal;
mod transaction;

pub use cluster::*;
pub use data::*;
pub use facts::Facts;
pub use fetch_metadata::FetchMetadata;
pub use group::*;
pub use membership::*;
pub use transaction::*;

macro_rules! messages {
    ($($(#[doc = $doc:literal])* $api:ident($request:ty, $response:ty)),+ $(,)?) => {
        /// Any request.
        #[derive(Clone, PartialEq, Eq, Hash, Debug)]
        pub enum Request { $($(#[doc = $doc])* $api($request)),+ }

        /// Any response.
        #[derive(Clone, PartialEq, Eq, Hash, Debug)]
        pub enum Response { $($(#[doc = $doc])* $api($response)),+ }

        /// The kind of a request or response (`ApiKeys`).
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum ApiKey { $($(#[doc = $doc])* $api),+ }

        impl ApiKey {
            /// Every API.
            pub const ALL: &[Self] = &[$(Self::$api),+];

            /// Kafka's spelling, without the word "Request".
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$api => stringify!($api)),+ }
            }

            /// What it is for.
            #[must_use]
            pub fn about(self) -> &'static str {
                match self { $(Self::$api => concat!($($doc),*).trim_start()),+ }
            }
        }

        impl Request {
            /// Which API it is.
            #[must_use]
            pub const fn api(&self) -> ApiKey {
                match self { $(Self::$api(_) => ApiKey::$api),+ }
            }
        }

        impl Response {
            /// Which API it is.
            #[must_use]
            pub const fn api(&self) -> ApiKey {
                match self { $(Self::$api(_) => ApiKey::$api),+ }
            }
        }

        $(
            impl From<$request> for Request {
                fn from(request: $request) -> Self { Self::$api(request) }
            }
            impl From<$response> for Response {
                fn from(response: $response) -> Self { Self::$api(response) }
            }
        )+
    };
}

messages! {
    /// Appends batches.
    Produce(ProduceRequest, ProduceResponse),
    /// Reads batches, for consumers and followers.
    Fetch(FetchRequest, FetchResponse),
    /// Looks up end, start or timestamp.
    ListOffsets(ListOffsetsRequest, ListOffsetsResponse),
    /// Looks up the end of a leader epoch.
    OffsetForLeaderEpoch(OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse),
    /// Lists the producers of a partition.
    DescribeProducers(DescribeProducersRequest, DescribeProducersResponse),
    /// Deletes the head of a log.
    DeleteRecords(DeleteRecordsRequest, DeleteRecordsResponse),
    /// Finds a coordinator.
    FindCoordinator(FindCoordinatorRequest, FindCoordinatorResponse),
    /// What a broker speaks and which features are finalized; the first request of a connection.
    ApiVersions(ApiVersionsRequest, ApiVersionsResponse),
    /// What a client may know of the cluster.
    Metadata(MetadataRequest, MetadataResponse),
    /// Gets or renews a producer id and epoch.
    InitProducerId(InitProducerIdRequest, InitProducerIdResponse),
    /// Adds partitions to a transaction, or verifies that they are in it.
    AddPartitionsToTxn(AddPartitionsToTxnRequest, AddPartitionsToTxnResponse),
    /// Adds a group's offsets partition to a transaction.
    AddOffsetsToTxn(AddOffsetsToTxnRequest, AddOffsetsToTxnResponse),
    /// Ends a transaction.
    EndTxn(EndTxnRequest, EndTxnResponse),
    /// Writes markers; from a coordinator.
    WriteTxnMarkers(WriteTxnMarkersRequest, WriteTxnMarkersResponse),
    /// Describes transactional ids.
    DescribeTransactions(DescribeTransactionsRequest, DescribeTransactionsResponse),
    /// Lists transactional ids.
    ListTransactions(ListTransactionsRequest, ListTransactionsResponse),
    /// Commits offsets inside a transaction.
    TxnOffsetCommit(TxnOffsetCommitRequest, TxnOffsetCommitResponse),
    /// Commits offsets.
    OffsetCommit(OffsetCommitRequest, OffsetCommitResponse),
    /// Reads committed offsets.
    OffsetFetch(OffsetFetchRequest, OffsetFetchResponse),
    /// Deletes committed offsets.
    OffsetDelete(OffsetDeleteRequest, OffsetDeleteResponse),
    /// Deletes a group.
    DeleteGroups(DeleteGroupsRequest, DeleteGroupsResponse),
    /// Joins a classic group.
    JoinGroup(JoinGroupRequest, JoinGroupResponse),
    /// Hands out, or asks for, the assignment of a classic group.
    SyncGroup(SyncGroupRequest, SyncGroupResponse),
    /// Keeps a member of a classic group.
    Heartbeat(HeartbeatRequest, HeartbeatResponse),
    /// Leaves a classic group.
    LeaveGroup(LeaveGroupRequest, LeaveGroupResponse),
    /// Joins, keeps or leaves a KIP-848 group.
    ConsumerGroupHeartbeat(ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse),
    /// Reserves a block of producer ids; to the controller.
    AllocateProducerIds(AllocateProducerIdsRequest, AllocateProducerIdsResponse),
    /// Proposes a new ISR; to the controller.
    AlterPartition(AlterPartitionRequest, AlterPartitionResponse),
    /// Registers a broker's new life; to the controller.
    BrokerRegistration(BrokerRegistrationRequest, BrokerRegistrationResponse),
    /// Keeps a broker unfenced; to the controller.
    BrokerHeartbeat(BrokerHeartbeatRequest, BrokerHeartbeatResponse),
    /// Waits for a newer metadata image; to the controller.
    FetchMetadata(FetchMetadataRequest, FetchMetadataResponse),
    /// Elects leaders; to the controller.
    ElectLeaders(ElectLeadersRequest, ElectLeadersResponse),
    /// Moves replicas; to the controller.
    AlterPartitionReassignments(AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse),
    /// Changes the finalized level of a feature; to the controller.
    UpdateFeatures(UpdateFeaturesRequest, UpdateFeaturesResponse),
}

/// What travels between actors.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// A request.
    Request(Request),
    /// A response.
    Response(Response),
}

impl Message {
    /// Which API it is.
    #[must_use]
    pub const fn api(&self) -> ApiKey {
        match self {
            Self::Request(request) => request.api(),
            Self::Response(response) => response.api(),
        }
    }
}

/// Asks a broker what it speaks (`ApiVersionsRequest`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ApiVersionsRequest {}

/// `ApiVersionsResponse`: what the broker speaks, and the finalized features as far as it knows
/// (P-TV-1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ApiVersionsResponse {
    /// Stands for the newest version of each request (P-SND-12).
    pub kafka: KafkaVersion,
    /// The later of two answers has the higher one.
    pub finalized_features_epoch: i64,
    /// The finalized level of `transaction.version`.
    pub transaction_version: TransactionVersion,
}

/// Asks a broker for what it knows of the cluster (`MetadataRequest`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct MetadataRequest {}

/// The broker's image, which may be stale.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MetadataResponse {
    /// Everything the broker knows.
    pub image: Arc<MetadataImage>,
}

/// A list of partitions, each with something.
pub type PerPartition<T> = Few<(TopicPartition, T)>;

/// A broker found, or none.
pub type Node = Option<BrokerId>;
