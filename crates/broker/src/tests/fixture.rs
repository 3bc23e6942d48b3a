//! The parts of one broker without a world: metadata and requests are put in by hand, effects are
//! looked at.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use eosim_actor::{Effect, RequestToken};
use eosim_types::config::{BrokerConfig, TopicConfig};
use eosim_types::message::{Message, Request, Response};
use eosim_types::metadata::{BrokerMetadata, MetadataImage, PartitionMetadata};
use eosim_types::version::KafkaVersion;
use eosim_types::{
    ActorId, BrokerId, DefectSet, Duration, Env, Instant, LeaderEpoch, Marks, Names, Topic,
    TopicPartition,
};

use crate::BrokerSpec;
use crate::io::{Io, Outbox};
use crate::log_manager::LogManager;
use crate::network::NetworkClient;
use crate::replica_manager::ReplicaManager;
use crate::timers::Timers;

/// Broker 1 of three.
pub(super) struct Fixture {
    pub(super) replicas: ReplicaManager,
    pub(super) image: MetadataImage,
    pub(super) now: Instant,
    logs: LogManager,
    marks: Box<Marks>,
    out: Outbox,
    network: NetworkClient,
    timers: Timers,
    spec: BrokerSpec,
}

impl Fixture {
    /// No partition yet; `t` has `min_insync_replicas`.
    pub(super) fn new(min_insync_replicas: i32) -> Self {
        let broker = |broker_epoch| BrokerMetadata {
            broker_epoch,
            fenced: false,
            in_controlled_shutdown: false,
        };
        let user = TopicConfig { min_insync_replicas, ..TopicConfig::default() };
        Self {
            replicas: ReplicaManager::default(),
            image: MetadataImage {
                version: 1,
                brokers: (1..=3).map(|id| (BrokerId(id), broker(i64::from(id)))).collect(),
                ..MetadataImage::default()
            },
            now: Instant(60_000_000),
            logs: LogManager::default(),
            marks: Box::default(),
            out: Outbox::new(),
            network: NetworkClient::default(),
            timers: Timers::default(),
            spec: BrokerSpec {
                id: BrokerId(1),
                config: BrokerConfig::default(),
                topics: BTreeMap::from([(Topic::FIRST_USER, user)]),
                names: Arc::new(Names::default()),
            },
        }
    }

    /// Calls `f` with the parts.
    pub(super) fn with<R>(
        &mut self,
        f: impl FnOnce(&mut Io<'_>, &mut ReplicaManager, &mut LogManager) -> R,
    ) -> R {
        let image = Arc::new(self.image.clone());
        let mut disk = crate::disk::Disk::default();
        let mut io = Io {
            disk: &mut disk,
            env: Env {
                now: self.now,
                clock_skew_ms: 0,
                kafka: KafkaVersion::V4_4,
                backports: eosim_types::CapabilitySet::NONE,
                defects: DefectSet::as_released(),
                marks: &mut self.marks,
            },
            out: &mut self.out,
            network: &mut self.network,
            timers: &mut self.timers,
            image: &image,
            broker_epoch: 1,
            spec: &self.spec,
        };
        f(&mut io, &mut self.replicas, &mut self.logs)
    }

    /// Changes the metadata and lets the replicas take their roles.
    pub(super) fn change_metadata(&mut self, f: impl FnOnce(&mut MetadataImage)) {
        let before = self.image.clone();
        f(&mut self.image);
        self.image.version += 1;
        self.with(|io, replicas, logs| replicas.apply_image(io, &before, logs));
        self.settle();
    }

    /// Looks at everything that has changed.
    pub(super) fn settle(&mut self) {
        self.with(|io, replicas, _| {
            while let Some(tp) = replicas.take_change() {
                replicas.try_complete_actions(io, tp);
            }
        });
    }

    /// A request, and everything that follows from it at once.
    pub(super) fn handle(
        &mut self,
        f: impl FnOnce(&mut Io<'_>, &mut ReplicaManager),
    ) -> Vec<(RequestToken, Response)> {
        self.with(|io, replicas, _| f(io, replicas));
        self.settle();
        self.answers()
    }

    /// Takes the answers; other effects are dropped.
    pub(super) fn answers(&mut self) -> Vec<(RequestToken, Response)> {
        let answer = |effect| match effect {
            Effect::Respond { token, message: Some(Message::Response(response)) } => {
                Some((token, response))
            }
            _ => None,
        };
        self.out.drain().filter_map(answer).collect()
    }

    /// Takes the requests that were sent; other effects are dropped.
    pub(super) fn requests(&mut self) -> Vec<(ActorId, Request)> {
        let request = |effect| match effect {
            Effect::Send { to, message: Message::Request(request), .. } => Some((to, request)),
            _ => None,
        };
        self.out.drain().filter_map(request).collect()
    }

    /// Lets time pass.
    pub(super) fn pass(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
    }
}

/// A partition with replicas 1, 2, 3.
pub(super) fn partition(leader: i32, leader_epoch: i32, isr: &[i32]) -> PartitionMetadata {
    PartitionMetadata {
        replicas: [1, 2, 3].map(BrokerId).to_vec(),
        isr: isr.iter().map(|&id| BrokerId(id)).collect(),
        elr: Vec::new(),
        leader: Some(BrokerId(leader)),
        leader_epoch: LeaderEpoch(leader_epoch),
        partition_epoch: leader_epoch,
    }
}

/// The partition of the fixture's stories.
pub(super) const TP: TopicPartition = TopicPartition::new(Topic::FIRST_USER, 0);
