//! What a client knows of the cluster (`org.apache.kafka.clients.Metadata`).
//!
//! Invariant: an older image never replaces a newer one.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use eosim_types::metadata::{MetadataImage, PartitionMetadata};
use eosim_types::{BrokerId, Duration, Instant, LeaderEpoch, SortedMap, Topic, TopicPartition};

/// The newest image seen and when to ask for the next.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Metadata {
    image: Option<Arc<MetadataImage>>,
    /// Every partition of the image with its leader, in the order in which the real client's hash
    /// map holds them.
    walk: Vec<(TopicPartition, Option<(BrokerId, LeaderEpoch)>)>,
    /// The same leaders, to be looked up.
    leaders: SortedMap<TopicPartition, (BrokerId, LeaderEpoch)>,
    /// Leaders told by the answers of other requests, newer than the image's.
    told_leaders: BTreeMap<TopicPartition, (BrokerId, LeaderEpoch)>,
    /// Leader epochs that others have seen and the image does not know yet.
    last_seen_epochs: BTreeMap<TopicPartition, LeaderEpoch>,
    update_requested: bool,
    in_flight: bool,
    updates: u32,
    last_refresh: Option<Instant>,
    last_successful_refresh: Option<Instant>,
    refresh_backoff: Duration,
    max_age: Duration,
}

impl Metadata {
    /// Knows nothing yet and wants to.
    pub(crate) fn new(refresh_backoff: Duration, max_age: Duration) -> Self {
        Self {
            image: None,
            walk: Vec::new(),
            leaders: SortedMap::default(),
            told_leaders: BTreeMap::new(),
            last_seen_epochs: BTreeMap::new(),
            update_requested: true,
            in_flight: false,
            updates: 0,
            last_refresh: None,
            last_successful_refresh: None,
            refresh_backoff,
            max_age,
        }
    }

    /// The image, if one has come.
    pub(crate) fn image(&self) -> Option<&MetadataImage> {
        self.image.as_deref()
    }

    /// Asks for a newer image (`requestUpdate`).
    pub(crate) const fn request_update(&mut self) {
        self.update_requested = true;
    }

    /// When the next request goes out: as soon as one is wanted and allowed, and at the latest when
    /// what is known is `metadata.max.age.ms` old; `None` while one is on its way
    /// (`timeToNextUpdate`).
    pub(crate) fn next_update(&self) -> Option<Instant> {
        let allowed = self.last_refresh.map_or(Instant::START, |at| at + self.refresh_backoff);
        let known_since = self.last_successful_refresh.filter(|_| !self.update_requested);
        let expires = known_since.map_or(Instant::START, |at| at + self.max_age);
        (!self.in_flight).then_some(allowed.max(expires))
    }

    /// A request went out.
    pub(crate) const fn sent(&mut self) {
        self.in_flight = true;
    }

    /// It was lost.
    pub(crate) const fn failed(&mut self, now: Instant) {
        self.in_flight = false;
        self.last_refresh = Some(now);
    }

    /// An image came.
    pub(crate) fn update(&mut self, image: Arc<MetadataImage>, now: Instant) {
        self.in_flight = false;
        self.updates += 1;
        self.update_requested = false;
        self.last_refresh = Some(now);
        self.last_successful_refresh = Some(now);
        if self.image.as_ref().is_none_or(|known| image.version >= known.version) {
            let order = hash_map_order(&image);
            self.leaders.clear();
            for (&partition, metadata) in &image.partitions {
                if let Some(leader) = self.newer_leader(partition, metadata) {
                    self.leaders.insert(partition, leader);
                }
            }
            self.walk = order.into_iter().map(|tp| (tp, self.leader(tp))).collect();
            self.image = Some(image);
            self.forget_seen_epochs();
        }
    }

    fn forget_seen_epochs(&mut self) {
        let Some(image) = &self.image else { return };
        self.last_seen_epochs.retain(|partition, seen| {
            image.partitions.get(partition).is_none_or(|known| known.leader_epoch < *seen)
        });
    }

    /// Somebody has seen a leader of that epoch: older ones count for nothing
    /// (`updateLastSeenEpochIfNewer`).
    pub(crate) fn update_last_seen_epoch_if_newer(
        &mut self,
        partition: TopicPartition,
        epoch: LeaderEpoch,
    ) {
        let known = self.image().and_then(|image| image.partitions.get(&partition));
        let known = known.map_or(LeaderEpoch::NONE, |known| known.leader_epoch);
        let seen = self.last_seen_epochs.get(&partition).copied().unwrap_or(known);
        if epoch > seen {
            self.last_seen_epochs.insert(partition, epoch);
            self.update_requested = true;
        }
    }

    /// The partitions that `node` leads, in the order in which they are walked (P-ACC-3).
    pub(crate) fn partitions_for_node(
        &self,
        node: BrokerId,
    ) -> impl Iterator<Item = TopicPartition> + Clone + '_ {
        let led =
            self.walk.iter().filter(move |(_, leader)| leader.is_some_and(|led| led.0 == node));
        led.map(|(tp, _)| *tp)
    }

    /// How many images have come.
    pub(crate) const fn updates(&self) -> u32 {
        self.updates
    }

    /// Does the partition's topic exist, and is its id known therefore?
    pub(crate) fn contains_topic_of(&self, partition: TopicPartition) -> bool {
        self.image().is_some_and(|image| image.partition_count(partition.topic) > 0)
    }

    /// Does the partition exist?
    pub(crate) fn contains(&self, partition: TopicPartition) -> bool {
        self.image().is_some_and(|image| image.partitions.contains_key(&partition))
    }

    /// The leader of `partition` and its epoch, as far as known.
    pub(crate) fn leader(&self, partition: TopicPartition) -> Option<(BrokerId, LeaderEpoch)> {
        let is_outdated =
            !self.last_seen_epochs.is_empty() && self.last_seen_epochs.contains_key(&partition);
        self.leaders.get(partition).copied().filter(|_| !is_outdated)
    }

    /// The leader that an answer told, or that of an image, whichever epoch is newer.
    fn newer_leader(
        &self,
        partition: TopicPartition,
        metadata: &PartitionMetadata,
    ) -> Option<(BrokerId, LeaderEpoch)> {
        match self.told_leaders.get(&partition) {
            Some(&told) if told.1 > metadata.leader_epoch => Some(told),
            _ => Some((metadata.leader?, metadata.leader_epoch)),
        }
    }

    /// An answer told who leads `partition` now (`updatePartitionLeadership`).
    pub(crate) fn leader_told(&mut self, partition: TopicPartition, told: (BrokerId, LeaderEpoch)) {
        if self.leader(partition).is_some_and(|(_, known)| told.1 > known) {
            self.told_leaders.insert(partition, told);
            self.leaders.insert(partition, told);
            let known = self.walk.iter_mut().filter(|(tp, _)| *tp == partition);
            known.for_each(|(_, leader)| *leader = Some(told));
        }
    }
}

/// P-ACC-3, P-MOD-3: the partitions of users' topics as a Java hash map of the least size that
/// holds them yields them.
fn hash_map_order(image: &MetadataImage) -> Vec<TopicPartition> {
    let users = image.partitions.keys().copied().filter(|tp| !tp.topic.is_internal());
    let mut partitions: Vec<_> = users.collect();
    let table = table_size(partitions.len(), partitions.len());
    partitions.sort_by_key(|tp| java_hash(*tp) & (table - 1));
    partitions
}

/// P-MOD-3: the entries of an answer as a Java hash map that was made empty yields them.
pub(crate) fn in_hash_map_order<T: Clone>(
    entries: &[(TopicPartition, T)],
) -> Vec<(TopicPartition, T)> {
    const DEFAULT_INITIAL_CAPACITY: usize = 16;
    let mut entries = entries.to_vec();
    let table = table_size(entries.len(), DEFAULT_INITIAL_CAPACITY);
    entries.sort_by_key(|(tp, _)| java_hash(*tp) & (table - 1));
    entries
}

/// The buckets of a `HashMap` of at least `initial` with `count` entries, three quarters full at
/// most.
fn table_size(count: usize, initial: usize) -> i32 {
    let size = initial.max(count).next_power_of_two();
    let size = if count * 4 > size * 3 { size * 2 } else { size };
    i32::try_from(size).expect("a table of fewer than 2^31 buckets")
}

/// `TopicPartition#hashCode` for topics that are called `t`, `u` and so on.
fn java_hash(tp: TopicPartition) -> i32 {
    let topic = i32::from(b't') + i32::from(tp.topic.0) - i32::from(Topic::FIRST_USER.0);
    tp.partition.wrapping_add(31).wrapping_mul(31).wrapping_add(topic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use eosim_types::metadata::PartitionMetadata;

    #[test]
    fn metadata_are_asked_for_again_when_wanted_or_metadata_max_age_ms_old() {
        let ms = Duration::from_millis;
        let at = |after| Instant::START + ms(after);
        let mut metadata = Metadata::new(ms(100), ms(5_000));
        assert_eq!(metadata.next_update(), Some(Instant::START), "nothing is known");
        metadata.sent();
        assert_eq!(metadata.next_update(), None, "on its way");
        metadata.update(Arc::default(), at(10));
        assert_eq!(metadata.next_update(), Some(at(5_010)), "too old then");
        metadata.request_update();
        assert_eq!(metadata.next_update(), Some(at(110)), "wanted, after the backoff");
        metadata.sent();
        metadata.failed(at(200));
        assert_eq!(metadata.next_update(), Some(at(300)), "still wanted");
        metadata.update(Arc::default(), at(400));
        metadata.sent();
        metadata.failed(at(5_900));
        assert_eq!(metadata.next_update(), Some(at(6_000)), "a failure makes nothing younger");
    }

    #[test]
    fn partitions_are_walked_in_the_order_of_a_hash_map_p_acc_3_p_mod_3() {
        let partition = PartitionMetadata {
            replicas: Vec::new(),
            isr: Vec::new(),
            elr: Vec::new(),
            leader: None,
            leader_epoch: LeaderEpoch(0),
            partition_epoch: 0,
        };
        for (count, expected) in [(1, &[0][..]), (3, &[1, 0, 2]), (5, &[4, 3, 2, 1, 0])] {
            let all = (0..count).map(|n| TopicPartition::new(Topic::FIRST_USER, n));
            let image = MetadataImage {
                partitions: all.map(|tp| (tp, partition.clone())).collect(),
                ..MetadataImage::default()
            };
            let order: Vec<_> = hash_map_order(&image).iter().map(|tp| tp.partition).collect();
            assert_eq!(order, expected);
        }
    }
}
