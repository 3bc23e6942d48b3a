//! OffsetFetch.
//!
//! Counterpart: `OffsetMetadataManager#fetchOffsets`, `#fetchAllOffsets`.

use alloc::vec::Vec;

use eosim_types::message::{
    OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResult, PerPartition,
};
use eosim_types::{ErrorCode, LeaderEpoch, TopicPartition, rule};

use super::GroupCoordinator;
use crate::action::{Cx, ReplyTo};
use crate::group_state::PersistedGroup;
use crate::offset_metadata_manager::OffsetMetadataManager;

impl GroupCoordinator {
    /// OffsetFetch (G-INT-2): without `require_stable` from what is committed, with it from
    /// everything, and only once everything is committed.
    pub fn offset_fetch(&mut self, cx: &mut Cx<'_>, to: ReplyTo, request: &OffsetFetchRequest) {
        rule!(cx.env, "G-INT-2");
        let partition = Self::partition_of(cx.names, cx.metadata, request.group);
        if let Err(error) = self.check_active(partition) {
            return cx.reply(to, OffsetFetchResponse { error, partitions: PerPartition::new() });
        }
        let shard = &self.shards[&partition];
        let state = if request.require_stable { &shard.latest } else { &shard.committed };
        if let Some(PersistedGroup::Consumer(group)) = state.groups.get(&request.group)
            && let Err(error) = group.validate_offset_fetch(request.member)
        {
            return cx.reply(to, OffsetFetchResponse { error, partitions: PerPartition::new() });
        }
        if request.require_stable {
            let response = fetch(&shard.latest.offsets, request).into();
            let none = self.write_or_reply(cx, partition, (to, response), Vec::new());
            assert!(none.is_none(), "a fetch writes nothing");
        } else {
            cx.reply(to, fetch(&shard.committed.offsets, request));
        }
    }
}

fn fetch(state: &OffsetMetadataManager, request: &OffsetFetchRequest) -> OffsetFetchResponse {
    let group = request.group;
    let one = |partition: TopicPartition| {
        let unstable = request.require_stable && state.is_unstable(group, partition);
        let stored = state.committed(group, partition).filter(|_| !unstable);
        let result = OffsetFetchResult {
            error: if unstable { ErrorCode::UnstableOffsetCommit } else { ErrorCode::None },
            offset: stored.map_or(-1, |s| s.offset),
            leader_epoch: stored.map_or(LeaderEpoch::NONE, |s| s.leader_epoch),
        };
        (partition, result)
    };
    let partitions = match &request.partitions {
        Some(partitions) => partitions.iter().map(|&partition| one(partition)).collect(),
        None => state.partitions_of(group).map(one).collect(),
    };
    OffsetFetchResponse { error: ErrorCode::None, partitions }
}
