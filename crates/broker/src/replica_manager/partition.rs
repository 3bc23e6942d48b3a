//! One replica of one partition: its log, its role, and, at the leader, what the others hold.
//!
//! Kafka counterpart: `Partition`. Invariants: leader epoch and partition epoch never go back;
//! a role changes only by metadata.

use alloc::vec::Vec;

use eosim_storage::UnifiedLog;
use eosim_types::metadata::PartitionMetadata;
use eosim_types::{BrokerId, Defect, ErrorCode, LeaderEpoch, TopicPartition, rule};

use super::delayed_operation::OperationId;
use super::isr::Isr;
use super::replica::Replica;
use crate::io::Io;

/// What only a leader has.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Leadership {
    /// The log end at the begin of the leader epoch (`leaderEpochStartOffset`).
    pub(crate) leader_epoch_start_offset: i64,
    /// Who is in sync.
    pub(crate) isr: Isr,
    /// The other replicas (`remoteReplicasMap`).
    pub(crate) remote_replicas: Vec<Replica>,
    /// Up to here the ISR has shown to hold what this leader holds, by fetches of this leader epoch;
    /// Kafka does not note it. The high watermark may come from an earlier epoch.
    pub(crate) confirmed_offset: i64,
}

/// The replica's part.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Role {
    /// It leads.
    Leader(Leadership),
    /// It follows, or waits for a leader.
    Follower {
        /// Whom it follows.
        leader: Option<BrokerId>,
    },
}

/// `Partition`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Partition {
    /// Which.
    pub(crate) topic_partition: TopicPartition,
    /// Its log.
    pub(crate) log: UnifiedLog,
    /// Its part.
    pub(crate) role: Role,
    /// The leader epoch known.
    pub(crate) leader_epoch: LeaderEpoch,
    /// The partition epoch known.
    pub(crate) partition_epoch: i32,
    /// Assigned replicas.
    pub(crate) replicas: Vec<BrokerId>,
    /// `min.insync.replicas` of the topic.
    pub(crate) min_insync_replicas: i32,
    /// Appends that wait until the high watermark has reached an offset.
    pub(crate) watchers: Vec<(i64, OperationId)>,
}

/// What a change of role means to others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum RoleChange {
    /// Nothing that matters to them.
    None,
    /// It leads under a new leader epoch.
    Elected,
    /// It follows, under a new leader epoch or another leader.
    Following,
}

impl Partition {
    /// A replica that has no role yet.
    pub(crate) fn new(
        topic_partition: TopicPartition,
        log: UnifiedLog,
        min_insync_replicas: i32,
    ) -> Self {
        Self {
            topic_partition,
            log,
            role: Role::Follower { leader: None },
            leader_epoch: LeaderEpoch::NONE,
            partition_epoch: -1,
            replicas: Vec::new(),
            min_insync_replicas,
            watchers: Vec::new(),
        }
    }

    /// Back to a replica that has no role yet, with an empty log.
    pub(crate) fn reset(&mut self) {
        self.log.reset();
        self.role = Role::Follower { leader: None };
        self.leader_epoch = LeaderEpoch::NONE;
        self.partition_epoch = -1;
        self.watchers.clear();
    }

    /// Leads it?
    pub(crate) fn is_leader(&self) -> bool {
        matches!(self.role, Role::Leader(_))
    }

    /// What it has as a leader (`localLogWithEpochOrThrow(requireLeader)`).
    pub(crate) fn leadership(&self) -> Result<&Leadership, ErrorCode> {
        match &self.role {
            Role::Leader(leadership) => Ok(leadership),
            Role::Follower { .. } => Err(ErrorCode::NotLeaderOrFollower),
        }
    }

    /// What this leader knows of the follower `id`.
    pub(crate) fn remote_replica_mut(&mut self, id: BrokerId) -> Option<&mut Replica> {
        let Role::Leader(leadership) = &mut self.role else { return None };
        leadership.remote_replicas.iter_mut().find(|replica| replica.id == id)
    }

    /// The metadata say that this replica leads (`Partition#makeLeader`).
    pub(crate) fn make_leader(
        &mut self,
        io: &mut Io<'_>,
        metadata: &PartitionMetadata,
    ) -> RoleChange {
        if metadata.partition_epoch < self.partition_epoch {
            return RoleChange::None;
        }
        let is_new_leader_epoch = metadata.leader_epoch > self.leader_epoch;
        self.note_metadata(metadata);
        let isr = Isr { committed: sorted(&metadata.isr), pending: None };
        let mut leadership = self.take_leadership(isr);
        leadership.remote_replicas.retain(|replica| metadata.replicas.contains(&replica.id));
        for &id in metadata.replicas.iter().filter(|&&id| id != io.spec.id) {
            if leadership.remote_replicas.iter().all(|replica| replica.id != id) {
                leadership.remote_replicas.push(Replica::new(id));
            }
        }
        if is_new_leader_epoch {
            self.begin_leader_epoch(io, &mut leadership);
        }
        self.role = Role::Leader(leadership);
        if is_new_leader_epoch { RoleChange::Elected } else { RoleChange::None }
    }

    /// The present leadership with another ISR, or a new one.
    fn take_leadership(&mut self, isr: Isr) -> Leadership {
        let follower = Role::Follower { leader: None };
        match core::mem::replace(&mut self.role, follower) {
            Role::Leader(present) => Leadership { isr, ..present },
            Role::Follower { .. } => Leadership {
                leader_epoch_start_offset: self.log.log_end_offset(),
                isr,
                remote_replicas: Vec::new(),
                confirmed_offset: -1,
            },
        }
    }

    /// L-LEP-1.
    fn begin_leader_epoch(&mut self, io: &mut Io<'_>, leadership: &mut Leadership) {
        rule!(io.env, "L-LEP-1");
        leadership.leader_epoch_start_offset = self.log.log_end_offset();
        leadership.confirmed_offset = -1;
        self.log.assign_epoch_start(self.leader_epoch, leadership.leader_epoch_start_offset);
        if io.env.on(Defect::LeaderOpenAcceptBeforeStateRecovered) {
            self.log.forget_producers();
        }
        for replica in &mut leadership.remote_replicas {
            replica.reset(leadership.isr.committed.contains(&replica.id), io.env.now);
        }
    }

    /// The metadata say that this replica follows (`Partition#makeFollower`).
    pub(crate) fn make_follower(&mut self, metadata: &PartitionMetadata) -> RoleChange {
        if metadata.partition_epoch < self.partition_epoch {
            return RoleChange::None;
        }
        let leader = metadata.leader;
        let is_new_leader_epoch = metadata.leader_epoch > self.leader_epoch;
        self.note_metadata(metadata);
        let same_leader = self.role == Role::Follower { leader };
        self.role = Role::Follower { leader };
        if is_new_leader_epoch || !same_leader { RoleChange::Following } else { RoleChange::None }
    }

    fn note_metadata(&mut self, metadata: &PartitionMetadata) {
        self.replicas.clone_from(&metadata.replicas);
        self.leader_epoch = metadata.leader_epoch;
        self.partition_epoch = metadata.partition_epoch;
    }

    /// Does a request's leader epoch fit (L-LEP-3, `Partition#checkCurrentLeaderEpoch`)?
    pub(crate) fn check_current_leader_epoch(
        &self,
        io: &mut Io<'_>,
        requested: LeaderEpoch,
    ) -> Result<(), ErrorCode> {
        if requested == LeaderEpoch::NONE {
            return Ok(());
        }
        rule!(io.env, "L-LEP-3");
        match requested.cmp(&self.leader_epoch) {
            core::cmp::Ordering::Less => Err(ErrorCode::FencedLeaderEpoch),
            core::cmp::Ordering::Equal => Ok(()),
            core::cmp::Ordering::Greater => Err(ErrorCode::UnknownLeaderEpoch),
        }
    }

    /// The effective minimum of in-sync replicas (L-ACK-1, `effectiveMinIsr`).
    pub(crate) fn effective_min_isr(&self, io: &mut Io<'_>) -> usize {
        rule!(io.env, "L-ACK-1");
        let configured = usize::try_from(self.min_insync_replicas).unwrap_or(0);
        configured.min(self.replicas.len())
    }
}

fn sorted(brokers: &[BrokerId]) -> Vec<BrokerId> {
    let mut brokers = brokers.to_vec();
    brokers.sort_unstable();
    brokers
}
