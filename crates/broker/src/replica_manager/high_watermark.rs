//! How a leader moves its high watermark and its ISR.
//!
//! Kafka counterpart: the parts of `Partition` around `maybeIncrementLeaderHW`, `maybeExpandIsr`,
//! `maybeShrinkIsr`, and `AlterPartitionManager`. Invariants: a leader's high watermark never goes
//! back and never passes the log end of a member of the maximal ISR (L-HW-1, L-HW-2).

use alloc::vec::Vec;

use eosim_types::message::{AlterPartitionRequest, AlterPartitionResponse};
use eosim_types::{BrokerId, ErrorCode, Instant, rule};

use super::partition::{Leadership, Partition, Role};
use super::replica::{FollowerFetch, Replica};
use crate::io::Io;
use crate::network::{Call, lane};

/// What becomes of a refused proposal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum AlterPartitionOutcome {
    /// It is settled, one way or the other.
    Settled,
    /// It must be sent again, after a pause.
    Retry,
}

impl Partition {
    /// Moves the high watermark on if it can be (L-HW-2). True if it has moved. A deposed leader's
    /// cannot: its followers fetch elsewhere, its ISR is not altered any more (L-FO-3).
    pub(crate) fn maybe_increment_leader_high_watermark(&mut self, io: &mut Io<'_>) -> bool {
        let Some(candidate) = self.high_watermark_candidate(io) else { return false };
        if let Role::Leader(leadership) = &mut self.role {
            leadership.confirmed_offset = leadership.confirmed_offset.max(candidate);
        }
        if candidate <= self.log.high_watermark() {
            return false;
        }
        rule!(io.env, "L-HW-1");
        self.log.update_high_watermark(&mut io.env, candidate);
        true
    }

    /// What all replicas have that count, if they are enough.
    fn high_watermark_candidate(&self, io: &mut Io<'_>) -> Option<i64> {
        let min_isr = self.effective_min_isr(io);
        let Role::Leader(leadership) = &self.role else { return None };
        rule!(io.env, "L-HW-2");
        if leadership.isr.committed.len() < min_isr {
            return None;
        }
        let log_end_offset = self.log.log_end_offset();
        let behind = leadership
            .remote_replicas
            .iter()
            .filter(|replica| replica.log_end_offset < log_end_offset)
            .filter(|replica| holds_high_watermark_back(io, leadership, replica, log_end_offset))
            .map(|replica| replica.log_end_offset);
        Some(behind.fold(log_end_offset, i64::min))
    }

    /// How far the log is below the high watermark and known to be the ISR's in this leader epoch;
    /// -1 if nothing is, or it does not lead.
    pub(crate) fn confirmed_high_watermark(&self) -> i64 {
        let confirmed = self.leadership().map_or(-1, |leadership| leadership.confirmed_offset);
        confirmed.min(self.log.high_watermark())
    }

    /// A follower has fetched (`updateFollowerFetchState`). True if a watermark has moved, or more
    /// of the log is confirmed.
    pub(crate) fn note_follower_fetch(
        &mut self,
        io: &mut Io<'_>,
        follower: BrokerId,
        fetch: FollowerFetch,
    ) -> bool {
        let Some(replica) = self.remote_replica_mut(follower) else { return false };
        let before = (replica.log_end_offset, replica.log_start_offset);
        replica.update_fetch_state(&mut io.env, fetch);
        self.maybe_expand_isr(io, follower);
        let has_advanced = before.0 != fetch.fetch_offset;
        let confirmed = self.confirmed_high_watermark();
        let high_watermark_moved = has_advanced && self.maybe_increment_leader_high_watermark(io);
        high_watermark_moved
            || before.1 != fetch.log_start_offset
            || self.confirmed_high_watermark() != confirmed
    }

    /// Until `at`, the fetches of a follower have shown its log end to be that of the leader, as
    /// long as that is `log_end_offset`.
    pub(crate) fn note_caught_up(&mut self, follower: BrokerId, log_end_offset: i64, at: Instant) {
        let replica = self.remote_replica_mut(follower);
        if let Some(replica) = replica.filter(|r| r.log_end_offset == log_end_offset) {
            replica.note_caught_up(at);
        }
    }

    /// L-ISR-2 (`maybeExpandIsr`).
    fn maybe_expand_isr(&mut self, io: &mut Io<'_>, follower: BrokerId) {
        let high_watermark = self.log.high_watermark();
        let Role::Leader(leadership) = &mut self.role else { return };
        if leadership.isr.pending.is_some() || leadership.isr.maximal_contains(follower) {
            return;
        }
        let replicas = &leadership.remote_replicas;
        let Some(replica) = replicas.iter().find(|replica| replica.id == follower) else { return };
        rule!(io.env, "L-ISR-2");
        let caught_up = replica.log_end_offset >= high_watermark
            && replica.log_end_offset >= leadership.leader_epoch_start_offset;
        if caught_up && is_isr_eligible(io, replica) {
            leadership.isr.expand(follower);
            self.send_alter_partition(io);
        }
    }

    /// L-ISR-3 (`maybeShrinkIsr`).
    pub(crate) fn maybe_shrink_isr(&mut self, io: &mut Io<'_>) {
        let log_end_offset = self.log.log_end_offset();
        let lag_max = io.spec.config.replica_lag_time_max;
        let now = io.now();
        let Role::Leader(leadership) = &mut self.role else { return };
        if leadership.isr.pending.is_some() {
            return;
        }
        let in_isr = |replica: &&Replica| leadership.isr.committed.contains(&replica.id);
        let lagging = |replica: &&Replica| !replica.is_caught_up(log_end_offset, now, lag_max);
        let members = leadership.remote_replicas.iter().filter(in_isr);
        let leaving: Vec<_> = members.filter(lagging).map(|replica| replica.id).collect();
        if !leaving.is_empty() {
            rule!(io.env, "L-ISR-3");
            leadership.isr.shrink(&leaving);
            self.send_alter_partition(io);
        }
    }

    /// Proposes the pending ISR to the controller (L-ISR-1).
    pub(crate) fn send_alter_partition(&self, io: &mut Io<'_>) {
        let Role::Leader(leadership) = &self.role else { return };
        let Some(pending) = &leadership.isr.pending else { return };
        rule!(io.env, "L-ISR-1");
        let epoch_of = |id: BrokerId| {
            let remote = leadership.remote_replicas.iter().find(|replica| replica.id == id);
            remote.map_or_else(|| io.broker_epoch, |replica| replica.broker_epoch)
        };
        let new_isr = pending.proposed.iter().map(|&id| (id, epoch_of(id))).collect();
        let request = AlterPartitionRequest {
            broker: io.spec.id,
            broker_epoch: io.broker_epoch,
            partition: self.topic_partition,
            leader_epoch: self.leader_epoch,
            partition_epoch: self.partition_epoch,
            new_isr,
        };
        let call = Call::AlterPartition { partition: self.topic_partition };
        io.send_to_controller(lane::CONTROLLER, call, request);
    }

    /// The controller has answered (`handleAlterPartitionUpdate`, `handleAlterPartitionError`).
    pub(crate) fn on_alter_partition_response(
        &mut self,
        io: &mut Io<'_>,
        response: AlterPartitionResponse,
    ) -> AlterPartitionOutcome {
        let Role::Leader(leadership) = &mut self.role else {
            return AlterPartitionOutcome::Settled;
        };
        if leadership.isr.pending.is_none() {
            return AlterPartitionOutcome::Settled;
        }
        rule!(io.env, "L-ISR-4");
        match response.error {
            ErrorCode::None => {
                let current = response.leader_epoch == self.leader_epoch
                    && response.partition_epoch >= self.partition_epoch;
                if current {
                    leadership.isr.pending = None;
                    leadership.isr.committed = response.isr;
                    leadership.isr.committed.sort_unstable();
                    self.partition_epoch = response.partition_epoch;
                }
                AlterPartitionOutcome::Settled
            }
            // The proposal was not accepted: back to the ISR that was decided.
            ErrorCode::OperationNotAttempted | ErrorCode::IneligibleReplica => {
                leadership.isr.pending = None;
                AlterPartitionOutcome::Settled
            }
            // Newer metadata are on their way and will replace the proposal.
            ErrorCode::UnknownTopicOrPartition
            | ErrorCode::FencedLeaderEpoch
            | ErrorCode::InvalidUpdateVersion
            | ErrorCode::InvalidRequest => AlterPartitionOutcome::Settled,
            _ => AlterPartitionOutcome::Retry,
        }
    }
}

/// Must the high watermark wait for `replica` (`shouldWaitForReplicaToJoinIsr`)?
fn holds_high_watermark_back(
    io: &Io<'_>,
    leadership: &Leadership,
    replica: &Replica,
    log_end_offset: i64,
) -> bool {
    let lag_max = io.spec.config.replica_lag_time_max;
    leadership.isr.maximal_contains(replica.id)
        || (replica.is_caught_up(log_end_offset, io.now(), lag_max) && is_isr_eligible(io, replica))
}

/// L-ISR-2 (`isReplicaIsrEligible`): alive, not stopping, and fetching in its present life.
fn is_isr_eligible(io: &Io<'_>, replica: &Replica) -> bool {
    io.image.brokers.get(&replica.id).is_some_and(|broker| {
        !broker.fenced
            && !broker.in_controlled_shutdown
            && (replica.broker_epoch == -1 || replica.broker_epoch == broker.broker_epoch)
    })
}
