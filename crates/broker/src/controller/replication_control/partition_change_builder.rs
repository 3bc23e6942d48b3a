//! One change of one partition: what a target means for leader, ISR, ELR and epochs.
//!
//! Kafka counterpart: `PartitionChangeBuilder`, with eligible leader replicas (KIP-966) on.
//! Invariants: a change raises the partition epoch by one; a change of leader raises the leader
//! epoch by one (L-ISR-4).

use alloc::vec;
use alloc::vec::Vec;
use core::mem;

use eosim_types::metadata::PartitionMetadata;
use eosim_types::{BrokerId, Defect, Env, LeaderEpoch, rule};

use super::partition_registration::{PartitionRegistration, Unsettled};
use super::reassignment::complete_reassignment;

/// How a leader may be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Election {
    /// The preferred replica if it can lead, else as [`Self::Online`].
    Preferred,
    /// From the ISR, or from the ELR if the ISR is empty.
    Online,
    /// As [`Self::Online`], and if that fails any replica that lives.
    Unclean,
}

#[derive(Clone, Copy)]
struct ElectionResult {
    leader: Option<BrokerId>,
    unclean: bool,
}

/// Builds one change of `partition`.
pub(super) struct PartitionChangeBuilder<'a> {
    partition: &'a PartitionRegistration,
    is_acceptable_leader: &'a dyn Fn(BrokerId) -> bool,
    min_insync_replicas: i32,
    election: Election,
    unclean_shutdown_replica: Option<BrokerId>,
    target_isr: Vec<BrokerId>,
    target_elr: Vec<BrokerId>,
    target_replicas: Vec<BrokerId>,
    target_adding: Vec<BrokerId>,
    target_removing: Vec<BrokerId>,
}

impl<'a> PartitionChangeBuilder<'a> {
    /// A change of nothing, yet; `min_insync_replicas` is the topic's.
    pub(super) fn new(
        partition: &'a PartitionRegistration,
        is_acceptable_leader: &'a dyn Fn(BrokerId) -> bool,
        min_insync_replicas: i32,
    ) -> Self {
        Self {
            partition,
            is_acceptable_leader,
            min_insync_replicas,
            election: Election::Online,
            unclean_shutdown_replica: None,
            target_isr: partition.metadata.isr.clone(),
            target_elr: partition.metadata.elr.clone(),
            target_replicas: partition.metadata.replicas.clone(),
            target_adding: partition.unsettled.adding_replicas.clone(),
            target_removing: partition.unsettled.removing_replicas.clone(),
        }
    }

    pub(super) fn set_election(mut self, election: Election) -> Self {
        self.election = election;
        self
    }

    /// `target_isr` is sorted.
    pub(super) fn set_target_isr(mut self, target_isr: Vec<BrokerId>) -> Self {
        self.target_isr = target_isr;
        self
    }

    /// A replica that may have lost the end of its log: it is not eligible.
    pub(super) fn set_unclean_shutdown_replica(mut self, replica: Option<BrokerId>) -> Self {
        self.unclean_shutdown_replica = replica;
        self
    }

    pub(super) fn set_target_replicas(
        mut self,
        replicas: Vec<BrokerId>,
        adding: Vec<BrokerId>,
        removing: Vec<BrokerId>,
    ) -> Self {
        self.target_replicas = replicas;
        self.target_adding = adding;
        self.target_removing = removing;
        self
    }

    /// The partition after the change; `None` if nothing changes.
    pub(super) fn build(mut self, env: &mut Env<'_>) -> Option<PartitionRegistration> {
        self.complete_reassignment_if_needed();
        self.populate_target_elr(env);
        if env.on(Defect::ControllerElectionUnclean) {
            self.election = Election::Unclean;
        }
        let result = self.elect_leader();
        let leader = result.leader;
        self.apply_election(result, env);
        let next = PartitionRegistration {
            unsettled: self.unsettled(leader),
            metadata: self.metadata(leader, env),
        };
        next.assert_valid();
        (next != *self.partition).then(|| with_next_partition_epoch(next))
    }

    fn complete_reassignment_if_needed(&mut self) {
        let completed = complete_reassignment(
            &self.target_replicas,
            &self.target_isr,
            &self.target_adding,
            &self.target_removing,
        );
        if let Some((replicas, isr)) = completed {
            self.target_replicas = replicas;
            self.target_isr = isr;
            self.target_adding.clear();
            self.target_removing.clear();
        }
    }

    /// `maybePopulateTargetElr`: while the ISR is too small, whoever leaves it becomes eligible.
    fn populate_target_elr(&mut self, env: &mut Env<'_>) {
        let min = usize::try_from(self.min_insync_replicas).unwrap_or(0);
        if self.target_isr.len() >= min.min(self.partition.metadata.replicas.len()) {
            self.target_elr.clear();
            return;
        }
        rule!(env, "L-ISR-5");
        let mut elr = mem::take(&mut self.target_elr);
        elr.extend(&self.partition.metadata.isr);
        elr.retain(|replica| self.may_stay_eligible(*replica));
        elr.sort_unstable();
        elr.dedup();
        self.target_elr = elr;
    }

    fn may_stay_eligible(&self, replica: BrokerId) -> bool {
        !self.target_isr.contains(&replica)
            && self.target_replicas.contains(&replica)
            && self.unclean_shutdown_replica != Some(replica)
    }

    fn elect_leader(&self) -> ElectionResult {
        let clean = |leader| ElectionResult { leader, unclean: false };
        if let Some(leader) = self.elect_clean_leader() {
            return clean(Some(leader));
        }
        match self.last_known_leader().or_else(|| self.elect_unclean_leader()) {
            Some(leader) => ElectionResult { leader: Some(leader), unclean: true },
            None => clean(None),
        }
    }

    /// The preferred replica, if that is asked for; the leader in office; the first replica that
    /// can lead.
    fn elect_clean_leader(&self) -> Option<BrokerId> {
        let preferred = self.target_replicas.first().copied();
        let preferred = preferred.filter(|_| self.election == Election::Preferred);
        let candidates = preferred.into_iter().chain(self.partition.metadata.leader);
        candidates
            .chain(self.target_replicas.iter().copied())
            .find(|&replica| self.is_valid_new_leader(replica))
    }

    fn is_valid_new_leader(&self, replica: BrokerId) -> bool {
        let from_elr = self.target_isr.is_empty() && self.target_elr.contains(&replica);
        (self.target_isr.contains(&replica) || from_elr) && (self.is_acceptable_leader)(replica)
    }

    /// Nobody is eligible any more, but the last leader lives (`canElectLastKnownLeader`).
    fn last_known_leader(&self) -> Option<BrokerId> {
        let nobody = self.target_isr.is_empty() && self.target_elr.is_empty();
        let leader = self.partition.unsettled.last_known_leader.filter(|_| nobody)?;
        (self.is_acceptable_leader)(leader).then_some(leader)
    }

    fn elect_unclean_leader(&self) -> Option<BrokerId> {
        let mut replicas =
            self.target_replicas.iter().filter(|_| self.election == Election::Unclean);
        replicas.find(|&&replica| (self.is_acceptable_leader)(replica)).copied()
    }

    /// `tryElection`: what a new leader means for ISR and ELR.
    fn apply_election(&mut self, result: ElectionResult, env: &mut Env<'_>) {
        let Some(leader) =
            result.leader.filter(|_| result.leader != self.partition.metadata.leader)
        else {
            return;
        };
        if result.unclean {
            rule!(env, "L-FO-5");
            self.target_isr = vec![leader];
            self.target_elr.clear();
        } else if self.target_elr.contains(&leader) {
            rule!(env, "L-ISR-6");
            self.target_isr = vec![leader];
            self.target_elr.retain(|&replica| replica != leader);
        }
    }

    fn unsettled(&self, leader: Option<BrokerId>) -> Unsettled {
        let old = &self.partition.metadata;
        let last_known_leader = match leader {
            Some(_) => None,
            // `maybeUpdateLastKnownLeader`: only the first time that the ISR becomes empty.
            None if self.target_isr.is_empty() && !old.isr.is_empty() => old.leader,
            None => self.partition.unsettled.last_known_leader,
        };
        Unsettled {
            adding_replicas: self.target_adding.clone(),
            removing_replicas: self.target_removing.clone(),
            last_known_leader,
        }
    }

    fn metadata(&self, leader: Option<BrokerId>, env: &mut Env<'_>) -> PartitionMetadata {
        PartitionMetadata {
            replicas: self.target_replicas.clone(),
            isr: self.target_isr.clone(),
            elr: self.target_elr.clone(),
            leader,
            leader_epoch: self.leader_epoch(leader, env),
            partition_epoch: self.partition.metadata.partition_epoch,
        }
    }

    /// Raised if the leader changes, also to none, or if a replica is dropped
    /// (`triggerLeaderEpochBumpForReplicaReassignmentIfNeeded`).
    fn leader_epoch(&self, leader: Option<BrokerId>, env: &mut Env<'_>) -> LeaderEpoch {
        let old = &self.partition.metadata;
        if leader.is_none() != old.leader.is_none() {
            rule!(env, "C-PART-6");
        }
        let drops_replica = old.replicas.iter().any(|r| !self.target_replicas.contains(r));
        if leader == old.leader && !drops_replica {
            return old.leader_epoch;
        }
        rule!(env, "L-ISR-4");
        LeaderEpoch(old.leader_epoch.0 + 1)
    }
}

/// Whoever knows the partition as it was before is refused (L-ISR-4).
pub(super) fn with_next_partition_epoch(
    mut partition: PartitionRegistration,
) -> PartitionRegistration {
    partition.metadata.partition_epoch += 1;
    partition
}
