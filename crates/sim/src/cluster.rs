//! A whole cluster with its clients as one world: which actors there are, and what they hold.
//!
//! Actor ids: the controller is 0, the brokers follow by their numbers, then the clients.

mod actor;
mod plan;

pub use actor::ClusterActor;
pub use plan::{ClusterPlan, ClusterShape};

use std::sync::Arc;

use eosim_actor::Choices;
use eosim_types::ActorId;
use eosim_types::message::Message;
use eosim_types::observation::{ClusterDump, Observed};

use crate::fault::FaultHook;
use crate::listener::Listener;
use crate::world::{Node, Settings, World};

/// A world of a cluster and its clients.
pub type ClusterWorld<C, F, L> = World<ClusterActor, C, F, L>;

/// The shape for which the actors of a world were made, so that they can be used again.
#[derive(Clone, Debug, Default)]
pub struct Populated(Option<Arc<ClusterShape>>);

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
        world.settings = Settings { latency: plan.latency, defects: plan.defects };
        let same = self.0.as_ref().is_some_and(|shape| Arc::ptr_eq(shape, &plan.shape));
        world.reset(outsiders, |actors| {
            if same {
                plan.reset_cluster(actors);
            } else {
                plan.build_cluster(actors);
            }
            plan.place_clients(actors);
        });
        self.0 = Some(Arc::clone(&plan.shape));
        let node = Node { clock_skew_ms: 0, kafka: plan.shape.controller.broker_config.kafka };
        for actor in 0..world.actors().len() {
            world.set_node(ActorId(u16::try_from(actor).expect("ids have 16 bits")), node);
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
