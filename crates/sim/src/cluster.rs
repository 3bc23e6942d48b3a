//! A whole cluster with its clients as one world: which actors there are, and what they hold.
//!
//! Actor ids: the controller is 0, the brokers follow by their numbers, then the clients.

mod actor;
mod plan;

pub use crate::world::Upgrade;
pub use actor::ClusterActor;
pub use eosim_broker::controller::{ControllerConfig, TopicSpec};
pub use eosim_broker::{
    Broker, CLASSIC_GROUP_TRANSITIONS, ReplicaView, TRANSACTION_STATE_RULES, Unfinished,
};
pub use eosim_clients::{
    AbortTransactionSpec, AdminSpec, AdminStep, ApiVersions, Client, ClientSpec, CommitMode,
    ConsumerSpec, Exception, ExceptionClass, GroupConsumerApplication, GroupConsumerSpec,
    MarkedProducer, Mistake, ProducerSpec, ProducerWorkload, RandomWorkload, ScriptStep, Span,
    TransformerApplication, TransformerSpec, TwoPhaseWorkload, consumer, producer,
};
pub use plan::{ClusterPlan, ClusterShape};

use std::sync::Arc;

use eosim_actor::Choices;
use eosim_types::ActorId;
use eosim_types::message::Message;
use eosim_types::observation::{ClusterDump, Observed};

use crate::fault::FaultHook;
use crate::listener::Listener;
use crate::world::{Node, World};

/// A world of a cluster and its clients.
pub type ClusterWorld<C, F, L> = World<ClusterActor, C, F, L>;

/// The plan for which the actors of a world were made, so that they can be used again.
#[derive(Clone, Debug, Default)]
pub struct Populated(Option<ClusterPlan>);

impl Populated {
    /// Begins the run of `plan`: actors of the run before are reset where they fit, and made anew
    /// where not. `outsiders` more ids are given out after the clients'.
    pub fn begin<C, F, L>(
        &mut self,
        world: &mut ClusterWorld<C, F, L>,
        plan: &ClusterPlan,
        outsiders: usize,
    ) where
        C: Choices,
        F: FaultHook<Message>,
        L: Listener<Message, Observed>,
    {
        world.settings = plan.settings();
        let last = self.0.as_ref().filter(|last| Arc::ptr_eq(&last.shape, &plan.shape));
        world.reset(outsiders, |actors| {
            if last.is_some() {
                plan.reset_cluster(actors);
            } else {
                plan.build_cluster(actors);
            }
            plan.place_clients(actors, last.map_or(&[], |last| &last.clients));
        });
        self.0 = Some(plan.clone());
        let controller = &plan.shape.controller;
        let node = |kafka| Node { kafka, ..Node::default() };
        for actor in 0..world.actors().len() {
            let actor = ActorId(u16::try_from(actor).expect("ids have 16 bits"));
            world.set_node(actor, node(controller.broker_config.kafka));
        }
        for &broker in &controller.brokers {
            let upgrade = plan.shape.upgrade;
            let node = Node { upgrade, ..node(controller.kafka_of(broker)) };
            world.set_node(ActorId::of_broker(broker), node);
        }
    }
}

/// What all brokers hold.
#[must_use]
pub fn dump(actors: &[ClusterActor]) -> ClusterDump {
    let mut dump = ClusterDump::default();
    for actor in actors {
        if let ClusterActor::Broker(broker) = actor {
            broker.dump(&mut dump);
        }
    }
    dump
}
