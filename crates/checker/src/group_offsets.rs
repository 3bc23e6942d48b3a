//! The offsets that groups committed, as the logs of `__consumer_offsets` hold them.
//!
//! No Kafka counterpart. An offset in a transaction counts if a COMMIT marker ended it; which of
//! several counts in the end is decided by their places in the log (G-MARK-3).

use std::collections::BTreeSet;

use eosim_types::group_log::GroupLogRecord;
use eosim_types::record::{OffsetCommitRecord, Payload, TransactionResult};
use eosim_types::{GroupId, Topic, TopicPartition};

use crate::invariant::{Context, End};
use crate::logs::{LeaderLog, TransactionalBatch};
use crate::replay::Ended;

/// One committed offset of one partition of one group. They sort by group, partition and place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct CommittedOffset {
    pub(crate) group: GroupId,
    pub(crate) partition: TopicPartition,
    /// Where its record lies in the partition of `__consumer_offsets`.
    pub(crate) at: i64,
    /// `None` is a tombstone.
    pub(crate) offset: Option<i64>,
    pub(crate) is_transactional: bool,
}

/// Is what `group` committed dumped, in logs that are whole and led? If not all partitions of
/// `__consumer_offsets` are dumped, that which holds the group must be.
pub(crate) fn is_readable(cx: Context<'_>, end: End<'_>, group: GroupId) -> bool {
    let count = cx.setup.offsets_partitions;
    let own = count.map(|count| cx.setup.names.group_partition(group, count));
    let replicas = || {
        let all = end.dump.replicas.iter().enumerate();
        all.filter(|(_, replica)| {
            let TopicPartition { topic, partition } = replica.partition;
            topic == Topic::CONSUMER_OFFSETS && own.is_none_or(|own| own == partition)
        })
    };
    let is_whole =
        |at: usize, partition| end.logs.replay(at).is_whole && end.logs.leader(partition).is_some();
    replicas().next().is_some()
        && cx.setup.is_durable(Topic::CONSUMER_OFFSETS)
        && replicas().all(|(at, replica)| is_whole(at, replica.partition))
}

/// Everything that was committed, sorted.
pub(crate) fn committed_offsets(end: End<'_>) -> Vec<CommittedOffset> {
    let mut committed = Vec::new();
    let by_marker = committed_batches(end);
    for log in &end.logs.leaders {
        if log.partition.topic == Topic::CONSUMER_OFFSETS {
            read(end, log, &by_marker, &mut committed);
        }
    }
    committed.sort_unstable();
    committed
}

/// Where batches of `__consumer_offsets` lie that a COMMIT marker ended.
fn committed_batches(end: End<'_>) -> BTreeSet<(TopicPartition, i64)> {
    let is_committed = |batch: &&TransactionalBatch| {
        let is_commit = |ended: Ended| ended.result == TransactionResult::Commit;
        batch.partition.topic == Topic::CONSUMER_OFFSETS && batch.ended.is_some_and(is_commit)
    };
    let batches = end.logs.batches.iter().filter(is_committed);
    batches.map(|batch| (batch.partition, batch.base_offset)).collect()
}

fn read(
    end: End<'_>,
    log: &LeaderLog,
    by_marker: &BTreeSet<(TopicPartition, i64)>,
    committed: &mut Vec<CommittedOffset>,
) {
    for batch in &end.dump.replicas[log.replica].batches {
        let is_transactional = batch.is_transactional;
        if is_transactional && !by_marker.contains(&(log.partition, batch.base_offset)) {
            continue;
        }
        let mut add = |(at, record): (i64, &OffsetCommitRecord)| {
            let &OffsetCommitRecord { group, partition, offset, .. } = record;
            committed.push(CommittedOffset { group, partition, at, offset, is_transactional });
        };
        match &batch.payload {
            Payload::OffsetCommits(records) => {
                (batch.base_offset..).zip(records.iter()).for_each(add);
            }
            Payload::GroupLog(records) => {
                for (at, record) in (batch.base_offset..).zip(records.iter()) {
                    if let GroupLogRecord::OffsetCommit(tombstone) = record {
                        add((at, tombstone));
                    }
                }
            }
            _ => {}
        }
    }
}
