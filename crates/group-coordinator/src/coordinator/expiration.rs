//! Old offsets and empty groups are removed.
//!
//! Counterpart: `GroupCoordinatorShard#cleanupGroupMetadata`,
//! `OffsetMetadataManager#cleanupExpiredOffsets`, `OffsetExpirationConditionImpl`.

use alloc::sync::Arc;
use alloc::vec::Vec;

use eosim_types::group_log::GroupLogRecord;
use eosim_types::record::Payload;
use eosim_types::{Defect, GroupId, TopicPartition, rule};

use super::deletion::{group_tombstones, offset_tombstone};
use super::{GroupCoordinator, group_batch};
use crate::action::{Cx, PreparedWrite};
use crate::shard::{Group, Shard};
use crate::timer::TimerKey;

impl GroupCoordinator {
    /// A partition that holds anything is looked through from time to time.
    pub(super) fn schedule_expiration(&mut self, cx: &Cx<'_>, partition: i32) {
        let Some(shard) = self.shards.get_mut(&partition) else { return };
        if !shard.latest.groups.is_empty() {
            let at = cx.env.now + cx.config.offsets_retention_check_interval;
            shard.timer.schedule_if_absent(TimerKey::GroupExpiration, at);
        }
    }

    /// G-INT-5.
    pub(super) fn expire_groups(
        &mut self,
        cx: &mut Cx<'_>,
        partition: i32,
    ) -> Option<PreparedWrite> {
        rule!(cx.env, "G-INT-5");
        self.schedule_expiration(cx, partition);
        let shard = self.shards.get_mut(&partition)?;
        let mut records = Vec::new();
        for group in shard.latest.groups.keys().copied().collect::<Vec<_>>() {
            let all_expired = expire_offsets(cx, shard, group, &mut records);
            if all_expired && shard.group(group).is_empty() {
                records.extend(group_tombstones(shard, group));
                shard.forget(group);
            }
        }
        if records.is_empty() {
            return None;
        }
        let batch = group_batch(cx, Payload::GroupLog(Arc::from(records)), None);
        Some(PreparedWrite { partition, batch, then: Vec::new() })
    }
}

/// Tombstones for the offsets of `group` that are too old; true if nothing is left of it.
fn expire_offsets(
    cx: &Cx<'_>,
    shard: &Shard,
    group: GroupId,
    records: &mut Vec<GroupLogRecord>,
) -> bool {
    let offsets = &shard.latest.offsets;
    let mut all_expired =
        !offsets.has_open_transactions(group) || cx.env.on(Defect::GroupExpireIgnorePendingTxn);
    for tp in offsets.partitions_of(group) {
        if is_expired(cx, shard, group, tp) {
            records.push(offset_tombstone(group, tp));
        } else {
            all_expired = false;
        }
    }
    all_expired
}

fn is_expired(cx: &Cx<'_>, shard: &Shard, group: GroupId, tp: TopicPartition) -> bool {
    let offsets = &shard.latest.offsets;
    let known = shard.group(group);
    let Some(stored) = offsets.committed(group, tp) else { return false };
    let is_pending =
        offsets.is_unstable(group, tp) && !cx.env.on(Defect::GroupExpireIgnorePendingTxn);
    let is_read =
        known.is_subscribed_to_topic(tp) && !cx.env.on(Defect::GroupExpireWhileRebalancing);
    if is_read || is_pending {
        return false;
    }
    let base = match known {
        Group::Classic(group) => group.expiration_base_ms(stored.commit_timestamp_ms),
        Group::Absent | Group::Consumer(_) => Some(stored.commit_timestamp_ms),
    };
    let retention = i64::try_from(cx.config.offsets_retention.as_millis()).unwrap_or(i64::MAX);
    base.is_some_and(|base| cx.env.clock_ms() - base >= retention)
}
