//! The request ListOffsets.
//!
//! Kafka counterpart: `ReplicaManager#fetchOffset`, `Partition#fetchOffsetForTimestamp`.

use eosim_actor::RequestToken;
use eosim_types::message::{
    IsolationLevel, ListOffsetsAsker, ListOffsetsPartition, ListOffsetsPartitionResponse,
    ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTimestamp,
};
use eosim_types::{ErrorCode, rule};

use super::ReplicaManager;
use super::partition::{Partition, Role};
use crate::io::Io;

/// First request version that knows OFFSET_NOT_AVAILABLE (L-LST-3).
const KNOWS_OFFSET_NOT_AVAILABLE: i16 = 5;

impl ReplicaManager {
    /// Answers a ListOffsets.
    pub(crate) fn handle_list_offsets(
        &self,
        io: &mut Io<'_>,
        token: RequestToken,
        request: ListOffsetsRequest,
    ) {
        let ListOffsetsRequest { version, asker, partitions } = request;
        let partitions = partitions.into_iter().map(|asked| {
            let (error, (timestamp, offset)) = match self.fetch_offset(io, version, asker, asked) {
                Ok(found) => (ErrorCode::None, found),
                Err(error) => (error, (-1, -1)),
            };
            ListOffsetsPartitionResponse { partition: asked.partition, error, timestamp, offset }
        });
        let response = ListOffsetsResponse { partitions: partitions.collect() };
        io.respond(token, response);
    }

    /// Timestamp and offset, (-1, -1) if not found.
    fn fetch_offset(
        &self,
        io: &mut Io<'_>,
        version: i16,
        asker: ListOffsetsAsker,
        asked: ListOffsetsPartition,
    ) -> Result<(i64, i64), ErrorCode> {
        let partition = self.hosted(io, asked.partition)?;
        partition.check_current_leader_epoch(io, asked.current_leader_epoch)?;
        let ListOffsetsAsker::Consumer(isolation_level) = asker else {
            return Ok(partition.offset_up_to(asked.timestamp, partition.log.log_end_offset()));
        };
        let start = partition.leadership()?.leader_epoch_start_offset;
        let found = partition.offset_for_consumer(io, asked.timestamp, isolation_level, start);
        found.ok_or(if version >= KNOWS_OFFSET_NOT_AVAILABLE {
            ErrorCode::OffsetNotAvailable
        } else {
            ErrorCode::LeaderNotAvailable
        })
    }
}

impl Partition {
    /// `None` while the end is uncertain after a change of the leader.
    fn offset_for_consumer(
        &self,
        io: &mut Io<'_>,
        timestamp: ListOffsetsTimestamp,
        isolation_level: IsolationLevel,
        leader_epoch_start_offset: i64,
    ) -> Option<(i64, i64)> {
        rule!(io.env, "L-LST-1");
        debug_assert!(matches!(self.role, Role::Leader(_)), "consumers are answered by the leader");
        let bound = match isolation_level {
            IsolationLevel::ReadUncommitted => self.log.high_watermark(),
            IsolationLevel::ReadCommitted => self.log.last_stable_offset(),
        };
        let found = self.offset_up_to(timestamp, bound);
        let lags = self.log.high_watermark() < leader_epoch_start_offset;
        let uncertain = match timestamp {
            ListOffsetsTimestamp::Earliest => false,
            ListOffsetsTimestamp::Latest => true,
            ListOffsetsTimestamp::At(_) => found.1 == -1,
        };
        if lags && uncertain {
            rule!(io.env, "L-LST-3");
            return None;
        }
        rule!(io.env, "L-LST-2");
        Some(found)
    }

    /// What is asked for, as far as it lies below `bound` (L-LST-1, L-LST-2).
    fn offset_up_to(&self, timestamp: ListOffsetsTimestamp, bound: i64) -> (i64, i64) {
        match timestamp {
            ListOffsetsTimestamp::Latest => (-1, bound),
            ListOffsetsTimestamp::Earliest => (-1, self.log.log_start_offset()),
            ListOffsetsTimestamp::At(timestamp) => {
                let found = self.log.offset_for_timestamp(timestamp);
                found.filter(|&(_, offset)| offset < bound).unwrap_or((-1, -1))
            }
        }
    }
}
