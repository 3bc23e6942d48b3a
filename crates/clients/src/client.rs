//! Any client as one actor, so that a world holds them in one list.

use alloc::string::String;

use eosim_actor::{Actor, CrashKind, Cx, Event, Out};
use eosim_types::message::Message;
use eosim_types::observation::Observed;
use eosim_types::{ActorId, BrokerId};

use crate::spec::ClientSpec;

/// Any client.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Client {
    spec: ClientSpec,
}

impl Client {
    /// The client described by `spec`; `brokers` is its `bootstrap.servers`.
    #[must_use]
    pub fn new(_id: ActorId, spec: &ClientSpec, _brokers: &[BrokerId]) -> Self {
        Self { spec: spec.clone() }
    }

    /// Back to the state before the run, keeping memory.
    pub fn reset(&mut self) {}

    /// Has it done all that its workload asks? A consumer has always.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        matches!(self.spec, ClientSpec::Consumer(_))
    }

    /// What it is waiting for, in words, if it is.
    #[must_use]
    pub fn waits_for(&self) -> Option<String> {
        None
    }
}

impl Actor for Client {
    type Message = Message;
    type Observation = Observed;

    fn step(&mut self, _: &mut Cx<'_>, _: Event<Message>, _: &mut Out<Message, Observed>) {}

    fn crash(&mut self, _: CrashKind) {}
}
