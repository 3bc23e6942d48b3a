//! The request OffsetForLeaderEpoch.
//!
//! Kafka counterpart: `ReplicaManager#lastOffsetForLeaderEpoch`.

use eosim_actor::RequestToken;
use eosim_types::message::{OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse};
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
        let (error, (leader_epoch, end_offset)) = match self.end_offset(io, request) {
            Ok(end) => (ErrorCode::None, end.unwrap_or((LeaderEpoch::NONE, -1))),
            Err(error) => (error, (LeaderEpoch::NONE, -1)),
        };
        let partition = request.partition;
        let response = OffsetForLeaderEpochResponse { partition, error, leader_epoch, end_offset };
        io.respond(token, response);
    }

    fn end_offset(
        &self,
        io: &mut Io<'_>,
        request: OffsetForLeaderEpochRequest,
    ) -> Result<Option<(LeaderEpoch, i64)>, ErrorCode> {
        let partition = self.hosted(io, request.partition)?;
        partition.check_current_leader_epoch(io, request.current_leader_epoch)?;
        partition.leadership()?;
        rule!(io.env, "L-LEP-2");
        Ok(partition.log.end_offset_for_epoch(request.leader_epoch))
    }
}
