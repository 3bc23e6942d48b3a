//! Elections that an operator asks for.
//!
//! Kafka counterpart: `ReplicationControlManager#electLeaders`.

use alloc::sync::Arc;

use eosim_types::message::{ElectLeadersRequest, ElectLeadersResponse};
use eosim_types::metadata::MetadataImage;
use eosim_types::{Env, ErrorCode, TopicPartition, rule};

use super::super::cluster_control::is_active;
use super::ReplicationControlManager;
use super::partition_change_builder::Election;

impl ReplicationControlManager {
    /// `electLeaders`: the preferred replica, or any that lives if `unclean`.
    pub(crate) fn elect_leaders(
        &mut self,
        image: &mut Arc<MetadataImage>,
        request: &ElectLeadersRequest,
        env: &mut Env<'_>,
    ) -> ElectLeadersResponse {
        let partitions = request.partitions.iter();
        let results =
            partitions.map(|&tp| (tp, self.elect_leader(image, tp, request.unclean, env)));
        ElectLeadersResponse { partitions: results.collect() }
    }

    fn elect_leader(
        &mut self,
        image: &mut Arc<MetadataImage>,
        tp: TopicPartition,
        unclean: bool,
        env: &mut Env<'_>,
    ) -> ErrorCode {
        let Some(partition) = self.registration(image, tp) else {
            return ErrorCode::UnknownTopicOrPartition;
        };
        let leader = partition.metadata.leader;
        let preferred = partition.metadata.replicas.first().copied();
        if leader.is_some() && (unclean || leader == preferred) {
            rule!(env, "L-ISR-4");
            return ErrorCode::ElectionNotNeeded;
        }
        let is_acceptable_leader = |replica| is_active(image, replica);
        let next = self
            .builder(tp, &partition, &is_acceptable_leader)
            .set_election(if unclean { Election::Unclean } else { Election::Preferred })
            .build(env);
        match (&next, unclean) {
            (Some(_), _) => {}
            (None, true) => return ErrorCode::EligibleLeadersNotAvailable,
            (None, false) => return ErrorCode::PreferredLeaderNotAvailable,
        }
        self.replay_partition_change(image, tp, next);
        ErrorCode::None
    }
}
