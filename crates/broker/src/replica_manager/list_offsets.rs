//! The request ListOffsets.
//!
//! Kafka counterpart: `ReplicaManager#fetchOffset`, `Partition#fetchOffsetForTimestamp`.

use eosim_actor::RequestToken;
use eosim_types::message::{
    IsolationLevel, ListOffsetsAsker, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTimestamp,
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
        let found = self.fetch_offset(io, &request);
        let (error, (timestamp, offset)) = match found {
            Ok(found) => (ErrorCode::None, found),
            Err(error) => (error, (-1, -1)),
        };
        let partition = request.partition;
        io.respond(token, ListOffsetsResponse { partition, error, timestamp, offset });
    }

    /// Timestamp and offset, (-1, -1) if not found.
    fn fetch_offset(
        &self,
        io: &mut Io<'_>,
        request: &ListOffsetsRequest,
    ) -> Result<(i64, i64), ErrorCode> {
        let partition = self.hosted(io, request.partition)?;
        partition.check_current_leader_epoch(io, request.current_leader_epoch)?;
        let ListOffsetsAsker::Consumer(isolation_level) = request.asker else {
            return Ok(partition.offset_up_to(request.timestamp, partition.log.log_end_offset()));
        };
        let leadership = partition.leadership()?;
        let start = leadership.leader_epoch_start_offset;
        partition.offset_for_consumer(io, request, isolation_level, start)
    }
}

impl Partition {
    fn offset_for_consumer(
        &self,
        io: &mut Io<'_>,
        request: &ListOffsetsRequest,
        isolation_level: IsolationLevel,
        leader_epoch_start_offset: i64,
    ) -> Result<(i64, i64), ErrorCode> {
        rule!(io.env, "L-LST-1");
        debug_assert!(matches!(self.role, Role::Leader(_)), "consumers are answered by the leader");
        let bound = match isolation_level {
            IsolationLevel::ReadUncommitted => self.log.high_watermark(),
            IsolationLevel::ReadCommitted => self.log.last_stable_offset(),
        };
        let found = self.offset_up_to(request.timestamp, bound);
        let lags = self.log.high_watermark() < leader_epoch_start_offset;
        let uncertain = match request.timestamp {
            ListOffsetsTimestamp::Earliest => false,
            ListOffsetsTimestamp::Latest => true,
            ListOffsetsTimestamp::At(_) => found.1 == -1,
        };
        if lags && uncertain {
            rule!(io.env, "L-LST-3");
            return Err(if request.version >= KNOWS_OFFSET_NOT_AVAILABLE {
                ErrorCode::OffsetNotAvailable
            } else {
                ErrorCode::LeaderNotAvailable
            });
        }
        rule!(io.env, "L-LST-2");
        Ok(found)
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
