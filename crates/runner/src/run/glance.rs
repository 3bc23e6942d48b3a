//! How the state of brokers changes from step to step, as far as somebody wants to know.
//!
//! Only differences are kept, never whole states.

pub(crate) mod differences;

use std::collections::BTreeMap;

use eosim_sim::cluster::ClusterActor;
use eosim_types::observation::ClusterDump;
use eosim_types::{BrokerId, GroupId, Names, ProducerId, TopicPartition, TransactionalId};

/// Something that changed at a broker in one step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The step.
    pub step: u64,
    /// The broker.
    pub broker: BrokerId,
    /// How much it says about what befell a transaction; a bound that moves says least.
    pub(crate) weight: u8,
    /// What changed, as `orders-0: last stable offset 2 → 4`.
    pub text: String,
}

/// What is looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Glance {
    pub(crate) partitions: Vec<TopicPartition>,
    pub(crate) producers: Vec<ProducerId>,
    pub(crate) ids: Vec<TransactionalId>,
    pub(crate) groups: Vec<GroupId>,
    /// Brokers whose replicas are of interest though they do not lead.
    pub(crate) brokers: Vec<BrokerId>,
    /// Partitions of which only leadership and what is lost of them matter: those of coordinators.
    pub(crate) coordinators: Vec<TopicPartition>,
    /// The steps that are looked at, the first and the last.
    pub(crate) steps: (u64, u64),
    last: BTreeMap<BrokerId, ClusterDump>,
    changes: Vec<Change>,
}

impl Glance {
    /// Looks at `actor`, which has taken the step just now.
    pub(crate) fn look(&mut self, step: u64, actor: &ClusterActor, names: &Names) {
        let ClusterActor::Broker(broker) = actor else { return };
        let (first, end) = self.steps;
        if !(first..=end).contains(&step) {
            return;
        }
        let id = broker.spec().id;
        let mut now = ClusterDump::default();
        let is_wanted = |tp| self.partitions.contains(&tp) || self.coordinators.contains(&tp);
        broker.dump_where(&is_wanted, &mut now);
        now.transactions.retain(|held| self.ids.contains(&held.transactional_id));
        now.coordinators.iter_mut().for_each(|held| {
            held.offsets.retain(|offset| self.groups.contains(&offset.group));
        });
        now.coordinators.retain(|held| !held.offsets.is_empty());
        for replica in &mut now.replicas {
            if !self.producers.is_empty() {
                replica.producers.retain(|held| self.producers.contains(&held.producer_id));
            }
        }
        if let Some(before) = self.last.get(&id).filter(|before| **before != now) {
            let follows = self.brokers.contains(&id);
            let is_whole = |tp| self.partitions.contains(&tp);
            let found = differences::between(before, &now, names, (follows, &is_whole)).into_iter();
            let change = |(weight, text)| Change { step, broker: id, weight, text };
            self.changes.extend(found.map(change));
        }
        self.last.insert(id, now);
    }

    pub(crate) fn into_changes(self) -> Vec<Change> {
        self.changes
    }
}
