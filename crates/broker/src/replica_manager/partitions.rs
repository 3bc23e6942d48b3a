//! The replicas that a broker hosts.
//!
//! Kafka counterpart: `ReplicaManager#allPartitions`. Invariants: sorted, each partition once, and
//! the index knows the place of each. Hosted replicas change seldom and are looked up all the time.

use alloc::vec::Vec;

use eosim_types::TopicPartition;

use super::partition::Partition;

/// Hosted replicas, in the order of their partitions.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Partitions {
    list: Vec<Partition>,
    /// By topic, then partition number: the place in the list plus one, 0 if not hosted.
    index: Vec<Vec<u32>>,
}

/// Where the index keeps `tp`.
#[inline]
fn slot(tp: TopicPartition) -> (usize, usize) {
    (usize::from(tp.topic.0), usize::try_from(tp.partition).unwrap_or(usize::MAX))
}

impl Partitions {
    #[inline]
    fn place(&self, tp: TopicPartition) -> Option<usize> {
        let (topic, partition) = slot(tp);
        let place = *self.index.get(topic)?.get(partition)?;
        (place as usize).checked_sub(1)
    }

    /// Makes the index say what the list says.
    fn rebuild_index(&mut self) {
        self.index.iter_mut().for_each(Vec::clear);
        for (place, hosted) in (1..).zip(&self.list) {
            let (topic, partition) = slot(hosted.topic_partition);
            if self.index.len() <= topic {
                self.index.resize(topic + 1, Vec::new());
            }
            let places = &mut self.index[topic];
            places.resize(partition, 0);
            places.push(place);
        }
    }

    /// Is a replica of `tp` hosted?
    pub(crate) fn contains(&self, tp: TopicPartition) -> bool {
        self.place(tp).is_some()
    }

    /// The replica of `tp`.
    #[inline]
    pub(crate) fn get(&self, tp: TopicPartition) -> Option<&Partition> {
        self.place(tp).map(|place| &self.list[place])
    }

    /// The replica of `tp`, to be changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, tp: TopicPartition) -> Option<&mut Partition> {
        self.place(tp).map(|place| &mut self.list[place])
    }

    /// The replica of `tp`, made by `create` if there is none.
    pub(crate) fn get_or_create(
        &mut self,
        tp: TopicPartition,
        create: impl FnOnce() -> Partition,
    ) -> &mut Partition {
        let place = self.list.partition_point(|hosted| hosted.topic_partition < tp);
        if !self.contains(tp) {
            self.list.insert(place, create());
            self.rebuild_index();
        }
        &mut self.list[place]
    }

    /// Hosts the replica of `tp` no more.
    pub(crate) fn remove(&mut self, tp: TopicPartition) -> Option<Partition> {
        let removed = self.place(tp).map(|place| self.list.remove(place));
        self.rebuild_index();
        removed
    }

    /// Hosts no replica but those.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(TopicPartition) -> bool) {
        let before = self.list.len();
        self.list.retain(|hosted| is_kept(hosted.topic_partition));
        if self.list.len() < before {
            self.rebuild_index();
        }
    }

    /// Every replica.
    pub(crate) fn iter(&self) -> core::slice::Iter<'_, Partition> {
        self.list.iter()
    }

    /// Every replica, to be changed.
    pub(crate) fn iter_mut(&mut self) -> core::slice::IterMut<'_, Partition> {
        self.list.iter_mut()
    }

    /// Takes every replica out.
    pub(crate) fn take(&mut self) -> Vec<Partition> {
        core::mem::take(self).list
    }
}

#[cfg(test)]
mod tests {
    use eosim_storage::{LogConfig, UnifiedLog};
    use eosim_types::Topic;

    use super::*;

    fn tp(topic: u16, partition: i32) -> TopicPartition {
        TopicPartition::new(Topic(topic), partition)
    }

    fn host(partitions: &mut Partitions, tp: TopicPartition) {
        let create = || Partition::new(tp, UnifiedLog::new(LogConfig::default()), 1);
        assert_eq!(partitions.get_or_create(tp, create).topic_partition, tp);
    }

    #[test]
    fn the_index_follows_every_change() {
        let mut partitions = Partitions::default();
        let all = [tp(3, 1), tp(0, 2), tp(3, 0), tp(0, 2)];
        all.into_iter().for_each(|tp| host(&mut partitions, tp));
        let hosted = |partitions: &Partitions| -> Vec<_> {
            partitions.iter().map(|hosted| hosted.topic_partition).collect()
        };
        assert_eq!(hosted(&partitions), [tp(0, 2), tp(3, 0), tp(3, 1)]);
        assert!(partitions.remove(tp(3, 0)).is_some());
        assert!(partitions.remove(tp(3, 0)).is_none());
        for tp in [tp(0, 2), tp(3, 1)] {
            assert_eq!(partitions.get(tp).map(|hosted| hosted.topic_partition), Some(tp));
        }
        for tp in [tp(0, 0), tp(0, -1), tp(1, 0), tp(3, 0), tp(3, 2), tp(9, 9)] {
            assert!(!partitions.contains(tp), "{tp:?}");
        }
        assert_eq!(partitions.take().len(), 2);
        assert!(!partitions.contains(tp(0, 2)));
    }
}
