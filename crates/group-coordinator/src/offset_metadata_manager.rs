//! Committed and pending offsets of one `__consumer_offsets` partition.
//!
//! Counterpart: `OffsetMetadataManager`. The state is a function of the log alone: replaying the
//! same batches gives the same state (G-MARK-5).

use alloc::collections::{BTreeMap, BTreeSet};

use eosim_types::observation::OffsetDump;
use eosim_types::record::{OffsetCommitRecord, TransactionResult};
use eosim_types::{Defect, Env, GroupId, LeaderEpoch, ProducerId, TopicPartition, rule};

/// A group and a partition that it reads.
pub(crate) type OffsetKey = (GroupId, TopicPartition);

/// One offset as the group coordinator keeps it (`OffsetAndMetadata`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StoredOffset {
    /// The next offset to read.
    pub offset: i64,
    /// Leader epoch of the last record read; -1 if unknown.
    pub leader_epoch: LeaderEpoch,
    /// When it was committed, ms.
    pub commit_timestamp_ms: i64,
    /// Where its record lies in the offsets partition; the later record wins (G-MARK-3).
    pub record_offset: i64,
}

/// Committed and pending offsets.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct OffsetMetadataManager {
    offsets: BTreeMap<OffsetKey, StoredOffset>,
    pending: BTreeMap<ProducerId, BTreeMap<OffsetKey, StoredOffset>>,
    open: BTreeMap<OffsetKey, BTreeSet<ProducerId>>,
}

impl OffsetMetadataManager {
    /// Applies one offset record that lies at `record_offset` of the log. `producer_id` is set for
    /// a record of a transactional batch.
    pub fn replay(
        &mut self,
        env: &mut Env<'_>,
        producer_id: ProducerId,
        record_offset: i64,
        record: &OffsetCommitRecord,
    ) {
        let key = (record.group, record.partition);
        let Some(offset) = record.offset else { return self.replay_tombstone(env, key) };
        let stored = StoredOffset {
            offset,
            leader_epoch: record.leader_epoch,
            commit_timestamp_ms: record.commit_timestamp_ms,
            record_offset,
        };
        if producer_id == ProducerId::NONE {
            rule!(env, "G-INT-1");
            self.offsets.insert(key, stored);
        } else {
            rule!(env, "G-OFF-5");
            self.pending.entry(producer_id).or_default().insert(key, stored);
            self.open.entry(key).or_default().insert(producer_id);
        }
    }

    /// G-INT-3: the committed offset and every pending one of the key go. No producer is left open
    /// for it (G-INT-7).
    fn replay_tombstone(&mut self, env: &mut Env<'_>, key: OffsetKey) {
        rule!(env, "G-INT-3");
        rule!(env, "G-INT-7");
        self.offsets.remove(&key);
        for producer_id in self.open.remove(&key).unwrap_or_default() {
            if let Some(own) = self.pending.get_mut(&producer_id) {
                own.remove(&key);
                if own.is_empty() {
                    self.pending.remove(&producer_id);
                }
            }
        }
    }

    /// Applies a marker (G-MARK-3): the producer's pending offsets are stored, unless a record
    /// that came later is there already, or dropped.
    pub fn replay_end_transaction_marker(
        &mut self,
        env: &mut Env<'_>,
        producer_id: ProducerId,
        result: TransactionResult,
    ) {
        rule!(env, "G-MARK-3");
        rule!(env, "G-MARK-4");
        for (key, stored) in self.pending.remove(&producer_id).unwrap_or_default() {
            self.close(key, producer_id);
            let committed = self.offsets.get(&key);
            let is_later = committed.is_none_or(|c| stored.record_offset > c.record_offset);
            let any_order = env.on(Defect::GroupOffsetsMaterialiseInTxnOrder);
            if result == TransactionResult::Commit && (is_later || any_order) {
                self.offsets.insert(key, stored);
            }
        }
    }

    fn close(&mut self, key: OffsetKey, producer_id: ProducerId) {
        if let Some(producers) = self.open.get_mut(&key) {
            producers.remove(&producer_id);
            if producers.is_empty() {
                self.open.remove(&key);
            }
        }
    }

    /// The committed offset of `partition` in `group`.
    #[must_use]
    pub fn committed(&self, group: GroupId, partition: TopicPartition) -> Option<StoredOffset> {
        self.offsets.get(&(group, partition)).copied()
    }

    /// Is an offset of `partition` pending in an open transaction?
    #[must_use]
    pub fn is_unstable(&self, group: GroupId, partition: TopicPartition) -> bool {
        self.open.contains_key(&(group, partition))
    }

    /// The partitions of `group` that have a committed offset, sorted.
    pub fn partitions_of(&self, group: GroupId) -> impl Iterator<Item = TopicPartition> + '_ {
        let from = (group, TopicPartition::default());
        let own = self.offsets.range(from..).take_while(move |((g, _), _)| *g == group);
        own.map(|((_, partition), _)| *partition)
    }

    /// Is an offset of any partition of `group` pending in an open transaction?
    #[must_use]
    pub fn has_open_transactions(&self, group: GroupId) -> bool {
        let from = (group, TopicPartition::default());
        self.open.range(from..).next().is_some_and(|((g, _), _)| *g == group)
    }

    /// Is an offset of `partition` committed or pending?
    #[must_use]
    pub fn is_known(&self, group: GroupId, partition: TopicPartition) -> bool {
        let key = (group, partition);
        self.offsets.contains_key(&key) || self.open.contains_key(&key)
    }

    /// Every committed offset, then every pending one by producer.
    pub fn dump(&self) -> impl Iterator<Item = OffsetDump> {
        let of = |producer_id, (group, partition), stored: &StoredOffset| OffsetDump {
            producer_id,
            group,
            partition,
            offset: stored.offset,
        };
        let committed = self.offsets.iter().map(move |(&key, s)| of(ProducerId::NONE, key, s));
        let pending = self.pending.iter().flat_map(move |(&producer_id, own)| {
            own.iter().map(move |(&key, stored)| of(producer_id, key, stored))
        });
        committed.chain(pending)
    }

    /// Every key with an offset that is committed or pending, each once, sorted.
    pub(crate) fn keys(&self) -> BTreeSet<OffsetKey> {
        self.offsets.keys().chain(self.open.keys()).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eosim_types::{DefectSet, Instant, Marks, Topic};

    const GROUP: GroupId = GroupId(1);

    fn partition(n: i32) -> TopicPartition {
        TopicPartition::new(Topic::FIRST_USER, n)
    }

    enum Step {
        Plain(i32, i64),
        Pending(i64, i32, i64),
        Marker(i64, TransactionResult),
        Tombstone(i32),
    }

    fn replayed(steps: &[Step]) -> OffsetMetadataManager {
        let mut marks = Marks::new();
        let mut env = Env {
            now: Instant::START,
            clock_skew_ms: 0,
            kafka: eosim_types::version::KafkaVersion::V4_4,
            backports: eosim_types::CapabilitySet::NONE,
            defects: DefectSet::NONE,
            marks: &mut marks,
        };
        let mut manager = OffsetMetadataManager::default();
        for (at, step) in (0..).zip(steps) {
            let record = |p, offset| OffsetCommitRecord {
                group: GROUP,
                partition: partition(p),
                offset,
                leader_epoch: LeaderEpoch::NONE,
                commit_timestamp_ms: 0,
            };
            match *step {
                Step::Plain(p, o) => {
                    manager.replay(&mut env, ProducerId::NONE, at, &record(p, Some(o)));
                }
                Step::Pending(id, p, o) => {
                    manager.replay(&mut env, ProducerId(id), at, &record(p, Some(o)));
                }
                Step::Marker(id, result) => {
                    manager.replay_end_transaction_marker(&mut env, ProducerId(id), result);
                }
                Step::Tombstone(p) => {
                    manager.replay(&mut env, ProducerId::NONE, at, &record(p, None));
                }
            }
        }
        manager
    }

    fn offset(manager: &OffsetMetadataManager, p: i32) -> Option<i64> {
        manager.committed(GROUP, partition(p)).map(|stored| stored.offset)
    }

    #[test]
    fn commit_stores_and_abort_drops_w_77_g_mark_3() {
        use TransactionResult::{Abort, Commit};
        let manager = replayed(&[
            Step::Plain(0, 99),
            Step::Pending(5, 0, 100),
            Step::Pending(6, 1, 200),
            Step::Marker(1, Commit),
            Step::Marker(5, Commit),
            Step::Marker(6, Abort),
        ]);
        assert_eq!((offset(&manager, 0), offset(&manager, 1)), (Some(100), None));
        assert!(!manager.is_unstable(GROUP, partition(1)));
    }

    #[test]
    fn the_later_record_wins_not_the_later_marker_w_78_g_mark_3() {
        let steps = [
            Step::Pending(5, 0, 100),
            Step::Plain(0, 101),
            Step::Marker(5, TransactionResult::Commit),
        ];
        assert_eq!(offset(&replayed(&steps), 0), Some(101));
    }

    #[test]
    fn a_later_pending_offset_replaces_the_earlier_without_comparison_g_off_5() {
        let steps = [
            Step::Pending(5, 0, 100),
            Step::Pending(5, 0, 90),
            Step::Marker(5, TransactionResult::Commit),
        ];
        assert_eq!(offset(&replayed(&steps), 0), Some(90));
    }

    #[test]
    fn a_tombstone_removes_committed_and_pending_w_82_g_int_3() {
        let steps = [
            Step::Plain(0, 1),
            Step::Pending(5, 0, 2),
            Step::Pending(5, 1, 3),
            Step::Tombstone(0),
            Step::Tombstone(1),
            Step::Marker(5, TransactionResult::Commit),
        ];
        assert_eq!(replayed(&steps), OffsetMetadataManager::default());
    }
}
