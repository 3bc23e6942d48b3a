//! What is learned while a run without an end goes on: names, intentions, deletions; and what may be
//! forgotten for it.
//!
//! No Kafka counterpart. Only runs that are driven from outside need it.

use eosim_types::observation::ClusterDump;
use eosim_types::{Duration, Names, Topic, TopicPartition};

use crate::setup::Transform;
use crate::{Checker, forget};

impl Checker {
    /// Takes over strings that came up since the run began.
    pub fn know(&mut self, names: Names) {
        self.setup.names = names;
    }

    /// From now on a group is said to transform.
    pub fn expect(&mut self, transform: Transform) {
        if !self.setup.transforms.contains(&transform) {
            self.setup.transforms.push(transform);
        }
    }

    /// Who is said to transform what.
    #[must_use]
    pub fn expected(&self) -> &[Transform] {
        &self.setup.transforms
    }

    /// Somebody ordered that what `partition` holds below `offset` be deleted.
    pub fn deleted(&mut self, partition: TopicPartition, offset: i64) {
        let known = self.setup.deleted_to.entry(partition).or_insert(offset);
        *known = (*known).max(offset);
    }

    /// `topic` came up, and is compacted.
    pub fn compacts(&mut self, topic: Topic) {
        self.setup.compacted.push(topic);
    }

    /// `topic` came up, and may lose records to unclean elections.
    pub fn elects_unclean(&mut self, topic: Topic) {
        self.setup.unclean_elections.push(topic);
    }

    /// Judges the logs as far as that can be done at any moment, and forgets what lies below their
    /// beginnings, and what was read or ended more than `after` ago.
    pub fn settle(&mut self, dump: &ClusterDump, after: Duration) {
        self.finish(dump);
        forget::forget(&mut self.facts, &self.logs, dump, after);
    }

    /// How many facts are kept: sends, transactions, polls and records at offsets.
    #[must_use]
    pub fn size(&self) -> [usize; 4] {
        let facts = &self.facts;
        [facts.sends.len(), facts.transactions.len(), facts.polls.len(), facts.holdings.len()]
    }
}
