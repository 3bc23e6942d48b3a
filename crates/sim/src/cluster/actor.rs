//! Any actor of a cluster.

use eosim_actor::{Actor, CrashKind, Cx, DiskError, Event, Operation, Out};
use eosim_broker::Broker;
use eosim_broker::controller::Controller;
use eosim_clients::Client;
use eosim_types::message::Message;
use eosim_types::observation::Observed;

/// Any actor of a cluster. Boxed, because their sizes are far apart.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ClusterActor {
    /// The controller.
    Controller(Box<Controller>),
    /// A broker.
    Broker(Box<Broker>),
    /// A client.
    Client(Box<Client>),
}

impl ClusterActor {
    /// The client, if it is one.
    #[must_use]
    pub fn as_client(&self) -> Option<&Client> {
        match self {
            Self::Client(client) => Some(client),
            _ => None,
        }
    }

    /// The broker, if it is one.
    #[must_use]
    pub fn as_broker(&self) -> Option<&Broker> {
        match self {
            Self::Broker(broker) => Some(broker),
            _ => None,
        }
    }

    /// The controller, if it is it.
    #[must_use]
    pub fn as_controller(&self) -> Option<&Controller> {
        match self {
            Self::Controller(controller) => Some(controller),
            _ => None,
        }
    }
}

impl Actor for ClusterActor {
    type Message = Message;
    type Observation = Observed;

    fn step(&mut self, cx: &mut Cx<'_>, event: Event<Message>, out: &mut Out<Message, Observed>) {
        match self {
            Self::Controller(controller) => controller.step(cx, event, out),
            Self::Broker(broker) => broker.step(cx, event, out),
            Self::Client(client) => client.step(cx, event, out),
        }
    }

    fn crash(&mut self, kind: CrashKind) {
        match self {
            Self::Controller(controller) => controller.crash(kind),
            Self::Broker(broker) => broker.crash(kind),
            Self::Client(client) => client.crash(kind),
        }
    }

    fn operate(
        &mut self,
        cx: &mut Cx<'_>,
        operation: Operation,
        out: &mut Out<Message, Observed>,
    ) -> bool {
        match self {
            Self::Controller(controller) => controller.operate(cx, operation, out),
            Self::Broker(broker) => broker.operate(cx, operation, out),
            Self::Client(_) => false,
        }
    }

    fn break_disk(&mut self, error: DiskError) {
        if let Self::Broker(broker) = self {
            broker.break_disk(error);
        }
    }

    fn mend_disk(&mut self, error: DiskError) -> bool {
        match self {
            Self::Broker(broker) => broker.mend_disk(error),
            Self::Controller(_) | Self::Client(_) => false,
        }
    }
}
