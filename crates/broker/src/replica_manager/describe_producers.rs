//! The request DescribeProducers.
//!
//! Kafka counterpart: `KafkaApis#handleDescribeProducersRequest`,
//! `ReplicaManager#activeProducerState`.

use alloc::vec::Vec;

use eosim_actor::RequestToken;
use eosim_types::message::{DescribeProducersRequest, DescribeProducersResponse};
use eosim_types::{ErrorCode, rule};

use super::ReplicaManager;
use crate::io::Io;

impl ReplicaManager {
    /// Lists the producers of a hosted replica, leader or not (L-DPR-1).
    pub(crate) fn handle_describe_producers(
        &self,
        io: &mut Io<'_>,
        token: RequestToken,
        request: DescribeProducersRequest,
    ) {
        rule!(io.env, "L-DPR-1");
        let (error, producers) = match self.hosted(io, request.partition) {
            Ok(partition) => (ErrorCode::None, partition.log.producers()),
            Err(error) => (error, Vec::new()),
        };
        let partition = request.partition;
        io.respond(token, DescribeProducersResponse { partition, error, producers });
    }
}
