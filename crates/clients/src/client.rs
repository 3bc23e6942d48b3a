//! Any client as one actor, so that a world holds them in one list.

use alloc::string::String;

use eosim_actor::{Actor, CrashKind, Cx, Event, Out};
use eosim_types::message::Message;
use eosim_types::observation::Observed;
use eosim_types::{ActorId, BrokerId};

use crate::application::{
    AdminApplication, ConsumerApplication, GroupConsumerApplication, ProducerApplication,
    TransformerApplication,
};
use crate::spec::ClientSpec;

/// Any client.
#[expect(clippy::large_enum_variant, reason = "a world holds few clients and most of them write")]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Client {
    /// One that writes.
    Producer(ProducerApplication),
    /// One that reads.
    Consumer(ConsumerApplication),
    /// One that reads as a member of a group.
    GroupConsumer(GroupConsumerApplication),
    /// One that reads, transforms and writes.
    Transformer(TransformerApplication),
    /// An operator.
    Admin(AdminApplication),
}

impl Client {
    /// The client described by `spec`; `brokers` is its `bootstrap.servers`.
    #[must_use]
    pub fn new(id: ActorId, spec: &ClientSpec, brokers: &[BrokerId]) -> Self {
        match spec {
            ClientSpec::Producer(spec) => {
                Self::Producer(ProducerApplication::new(id, spec, brokers))
            }
            ClientSpec::Consumer(spec) => {
                Self::Consumer(ConsumerApplication::new(id, spec, brokers))
            }
            ClientSpec::GroupConsumer(spec) => {
                Self::GroupConsumer(GroupConsumerApplication::new(id, spec, brokers))
            }
            ClientSpec::Transformer(spec) => {
                Self::Transformer(TransformerApplication::new(id, spec, brokers))
            }
            ClientSpec::Admin(spec) => Self::Admin(AdminApplication::new(spec, brokers)),
        }
    }

    /// Back to the state before the run.
    pub fn reset(&mut self) {
        match self {
            Self::Producer(application) => application.reset(),
            Self::Consumer(application) => application.reset(),
            Self::GroupConsumer(application) => application.reset(),
            Self::Transformer(application) => application.reset(),
            Self::Admin(application) => application.reset(),
        }
    }

    /// Has it done all that its workload asks? One that reads for ever has always.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        match self {
            Self::Producer(application) => application.is_finished(),
            Self::Consumer(_) | Self::GroupConsumer(_) | Self::Transformer(_) => true,
            Self::Admin(application) => application.is_finished(),
        }
    }

    /// What it is waiting for, in words, if it is.
    #[must_use]
    pub fn waits_for(&self) -> Option<String> {
        match self {
            Self::Producer(application) => application.waits_for(),
            Self::Consumer(application) => application.waits_for(),
            Self::GroupConsumer(application) => application.waits_for(),
            Self::Transformer(application) => application.waits_for(),
            Self::Admin(application) => application.waits_for(),
        }
    }
}

impl Actor for Client {
    type Message = Message;
    type Observation = Observed;

    fn step(&mut self, cx: &mut Cx<'_>, event: Event<Message>, out: &mut Out<Message, Observed>) {
        match self {
            Self::Producer(application) => application.step(cx, event, out),
            Self::Consumer(application) => application.step(cx, event, out),
            Self::GroupConsumer(application) => application.step(cx, event, out),
            Self::Transformer(application) => application.step(cx, event, out),
            Self::Admin(application) => application.step(cx, event, out),
        }
    }

    fn crash(&mut self, kind: CrashKind) {
        match self {
            Self::Producer(application) => application.crash(kind),
            Self::Consumer(application) => application.crash(kind),
            Self::GroupConsumer(application) => application.crash(kind),
            Self::Transformer(application) => application.crash(kind),
            Self::Admin(application) => application.crash(kind),
        }
    }
}
