//! The request DeleteRecords.
//!
//! Kafka counterpart: `ReplicaManager#deleteRecords`, `Partition#deleteRecordsOnLeader`,
//! `DelayedDeleteRecords`.

use eosim_actor::RequestToken;
use eosim_types::message::{DeleteRecordsRequest, DeleteRecordsResponse};
use eosim_types::{Duration, ErrorCode, TopicPartition, rule};

use super::ReplicaManager;
use super::delayed_operation::{DelayedDeleteRecords, OperationId};
use super::partition::Partition;
use crate::io::Io;
use crate::timers::Timer;

/// "Up to the high watermark" (`DeleteRecordsRequest.HIGH_WATERMARK`).
const HIGH_WATERMARK: i64 = -1;

impl ReplicaManager {
    /// Raises the log start and waits until every living replica has done so (L-DEL-1).
    pub(crate) fn handle_delete_records(
        &mut self,
        io: &mut Io<'_>,
        token: RequestToken,
        request: DeleteRecordsRequest,
    ) {
        let offset = match self.delete_records_on_leader(io, &request) {
            Ok(offset) => offset,
            Err(error) => return respond(io, token, request.partition, error, -1),
        };
        let timeout = Duration::from_millis(u64::try_from(request.timeout_ms).unwrap_or(0));
        let deadline = io.now() + timeout;
        let id = self.purgatory.next_id();
        let partition = request.partition;
        let delayed = DelayedDeleteRecords { token, partition, offset, deadline };
        self.purgatory.deletes.insert(id, delayed);
        self.note_change(partition);
        io.wake_at(Timer::Purgatory, deadline);
    }

    fn delete_records_on_leader(
        &mut self,
        io: &mut Io<'_>,
        request: &DeleteRecordsRequest,
    ) -> Result<i64, ErrorCode> {
        rule!(io.env, "L-DEL-1");
        if request.partition.topic.is_internal() {
            return Err(ErrorCode::InvalidTopicException);
        }
        let deletes = io.spec.topic_config(request.partition.topic).cleanup_delete;
        let partition = self.hosted_mut(io, request.partition)?;
        partition.leadership()?;
        if !deletes {
            return Err(ErrorCode::PolicyViolation);
        }
        let high_watermark = partition.log.high_watermark();
        let offset = if request.offset == HIGH_WATERMARK { high_watermark } else { request.offset };
        if offset < 0 || offset > high_watermark {
            return Err(ErrorCode::OffsetOutOfRange);
        }
        partition.log.maybe_increment_log_start_offset(&mut io.env, offset);
        Ok(offset)
    }

    /// Looks at the parked deletions of `tp` (`DelayedDeleteRecords#tryComplete`).
    pub(crate) fn complete_deletes(&mut self, io: &mut Io<'_>, tp: TopicPartition) {
        if self.purgatory.deletes.is_empty() {
            return;
        }
        let Some(partition) = self.partitions.get(tp) else { return };
        let low_watermark = partition.low_watermark(io);
        let leads = partition.is_leader();
        let decided = |delayed: &DelayedDeleteRecords| {
            delayed.partition == tp && (!leads || low_watermark >= delayed.offset)
        };
        let deletes = self.purgatory.deletes.iter();
        let ids: alloc::vec::Vec<_> =
            deletes.filter(|(_, delayed)| decided(delayed)).map(|(id, _)| id).collect();
        let error = if leads { ErrorCode::None } else { ErrorCode::NotLeaderOrFollower };
        for id in ids {
            self.complete_delete(io, id, error);
        }
    }

    /// Answers a parked deletion.
    pub(crate) fn complete_delete(&mut self, io: &mut Io<'_>, id: OperationId, error: ErrorCode) {
        let Some(delayed) = self.purgatory.deletes.remove(id) else { return };
        let tp = delayed.partition;
        let low_watermark = match self.partitions.get(tp) {
            Some(partition) if error.is_none() => partition.low_watermark(io),
            _ => -1,
        };
        respond(io, delayed.token, tp, error, low_watermark);
    }
}

impl Partition {
    /// The lowest log start among the living replicas (`lowWatermarkIfLeader`).
    fn low_watermark(&self, io: &Io<'_>) -> i64 {
        let own = self.log.log_start_offset();
        let Ok(leadership) = self.leadership() else { return own };
        let remotes = leadership.remote_replicas.iter();
        let living = remotes.filter(|replica| io.image.is_alive(replica.id));
        living.map(|replica| replica.log_start_offset).fold(own, i64::min)
    }
}

fn respond(
    io: &mut Io<'_>,
    token: RequestToken,
    partition: TopicPartition,
    error: ErrorCode,
    low_watermark: i64,
) {
    io.respond(token, DeleteRecordsResponse { partition, error, low_watermark });
}
