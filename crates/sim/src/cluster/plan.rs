//! What a run is to consist of, in the model's own words.

use std::sync::Arc;

use eosim_broker::controller::{Controller, ControllerConfig};
use eosim_broker::{Broker, BrokerSpec};
use eosim_clients::{Client, ClientSpec};
use eosim_types::{ActorId, BrokerId, CapabilitySet, DefectSet, Names};

use super::ClusterActor;
use crate::world::{Latency, Settings, Upgrade};

/// What brokers and controller are made from. Two runs that share one (the same `Arc`) share
/// their actors, which are only reset in between.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClusterShape {
    /// The strings behind topics, ids, groups and values.
    pub names: Arc<Names>,
    /// Brokers, topics and settings.
    pub controller: ControllerConfig,
    /// What is installed on brokers while the run goes on.
    pub upgrade: Option<Upgrade>,
}

/// What a run is to consist of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClusterPlan {
    /// Brokers and controller.
    pub shape: Arc<ClusterShape>,
    /// Clients, in the order of their ids.
    pub clients: Vec<ClientSpec>,
    /// How long messages travel.
    pub latency: Latency,
    /// Which defects and upstream findings are put back.
    pub defects: DefectSet,
    /// What all nodes have besides what their releases have.
    pub backports: CapabilitySet,
}

impl ClusterPlan {
    pub(super) const fn settings(&self) -> Settings {
        let Self { latency, defects, backports, .. } = *self;
        Settings { latency, defects, backports }
    }

    /// The id of the `index`-th client.
    #[must_use]
    pub fn client_id(&self, index: usize) -> ActorId {
        let before = 1 + self.shape.controller.brokers.len();
        ActorId(u16::try_from(before + index).expect("ids have 16 bits"))
    }

    pub(super) fn build_cluster(&self, actors: &mut Vec<ClusterActor>) {
        actors.clear();
        let config = &self.shape.controller;
        let controller = Controller::new(config.clone());
        let image = Arc::clone(controller.initial_image());
        actors.push(ClusterActor::Controller(Box::new(controller)));
        let topics = config.topics.iter().map(|spec| (spec.topic, spec.config.clone()));
        for &id in &config.brokers {
            let spec = BrokerSpec {
                id,
                config: config.broker_config.clone(),
                topics: topics.clone().collect(),
                names: Arc::clone(&self.shape.names),
            };
            let broker = Broker::new(Arc::new(spec), Arc::clone(&image));
            actors.push(ClusterActor::Broker(Box::new(broker)));
        }
    }

    pub(super) fn reset_cluster(&self, actors: &mut Vec<ClusterActor>) {
        actors.truncate(1 + self.shape.controller.brokers.len() + self.clients.len());
        for actor in actors {
            match actor {
                ClusterActor::Controller(controller) => controller.reset(),
                ClusterActor::Broker(broker) => broker.reset(),
                ClusterActor::Client(_) => {}
            }
        }
    }

    /// A client that fits the one of the run before is reset, any other is made anew.
    pub(super) fn place_clients(&self, actors: &mut Vec<ClusterActor>, last: &[ClientSpec]) {
        let brokers: &[BrokerId] = &self.shape.controller.brokers;
        for (index, spec) in self.clients.iter().enumerate() {
            let id = self.client_id(index);
            match actors.get_mut(usize::from(id.0)) {
                Some(ClusterActor::Client(client)) if last.get(index) == Some(spec) => {
                    client.reset();
                }
                Some(actor) => {
                    *actor = ClusterActor::Client(Box::new(Client::new(id, spec, brokers)));
                }
                None => {
                    let client = Client::new(id, spec, brokers);
                    actors.push(ClusterActor::Client(Box::new(client)));
                }
            }
        }
    }
}
