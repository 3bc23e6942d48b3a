//! The request OffsetForLeaderEpoch.
//!
//! Kafka counterpart: `ReplicaManager#lastOffsetForLeaderEpoch`.

use eosim_actor::RequestToken;
use eosim_types::message::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
};
use eosim_types::{ErrorCode, LeaderEpoch, rule};

use super::ReplicaManager;
use crate::io::Io;

impl ReplicaManager {
    /// Answers an OffsetForLeaderEpoch; only a leader does (L-LEP-3).
    pub(crate) fn handle_offset_for_leader_epoch(
        &self,
        io: &mut Io<'_>,
        token: RequestToken,
        request: OffsetForLeaderEpochRequest,
    ) {
        let partitions = request.partitions.into_iter();
        let partitions = partitions.map(|asked| {
            let (error, (leader_epoch, end_offset)) = match self.end_offset(io, asked) {
                Ok(end) => (ErrorCode::None, end.unwrap_or((LeaderEpoch::NONE, -1))),
                Err(error) => (error, (LeaderEpoch::NONE, -1)),
            };
            EpochEndOffset { partition: asked.partition, error, leader_epoch, end_offset }
        });
        let response = OffsetForLeaderEpochResponse { partitions: partitions.collect() };
        io.respond(token, response);
    }

    fn end_offset(
        &self,
        io: &mut Io<'_>,
        asked: OffsetForLeaderPartition,
    ) -> Result<Option<(LeaderEpoch, i64)>, ErrorCode> {
        let partition = self.hosted(io, asked.partition)?;
        partition.check_current_leader_epoch(io, asked.current_leader_epoch)?;
        partition.leadership()?;
        rule!(io.env, "L-LEP-2");
        Ok(partition.log.end_offset_for_epoch(asked.leader_epoch))
    }
}
