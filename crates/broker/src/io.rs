//! What every part of a broker may reach during one step, besides its own state.
//!
//! Kafka counterpart: the constructor arguments that `BrokerServer` hands to all its parts (time,
//! metadata cache, network client, configuration).

use alloc::sync::Arc;

use eosim_actor::{Lane, Out, RequestToken};
use eosim_types::message::{Message, Request, Response};
use eosim_types::metadata::MetadataImage;
use eosim_types::observation::Observed;
use eosim_types::{ActorId, BrokerId, Env, Instant};

use crate::disk::Disk;
use crate::network::{Call, NetworkClient};
use crate::spec::BrokerSpec;
use crate::timers::{Timer, Timers};

/// Where a broker's effects go.
pub(crate) type Outbox = Out<Message, Observed>;

/// The surroundings of one step, lent to every part of the broker.
pub(crate) struct Io<'a> {
    /// Time, switches, rule marks.
    pub(crate) env: Env<'a>,
    /// Where effects go.
    pub(crate) out: &'a mut Outbox,
    /// The broker's own open requests.
    pub(crate) network: &'a mut NetworkClient,
    /// The broker's timers.
    pub(crate) timers: &'a mut Timers,
    /// The cluster as the broker knows it, possibly stale.
    pub(crate) image: &'a Arc<MetadataImage>,
    /// The broker epoch under which the broker is registered, -1 if it is not.
    pub(crate) broker_epoch: i64,
    /// Its disk, if that fails.
    pub(crate) disk: &'a mut Disk,
    /// The broker's settings.
    pub(crate) spec: &'a BrokerSpec,
}

impl Io<'_> {
    /// Virtual time.
    pub(crate) fn now(&self) -> Instant {
        self.env.now
    }

    /// Answers the request `token`.
    pub(crate) fn respond(&mut self, token: RequestToken, response: impl Into<Response>) {
        self.out.respond(token, Message::Response(response.into()));
    }

    /// Sends a request to another broker (or to this one).
    pub(crate) fn send(
        &mut self,
        to: BrokerId,
        lane: Lane,
        call: Call,
        request: impl Into<Request>,
    ) {
        self.send_to(ActorId::of_broker(to), lane, call, request);
    }

    /// Sends a request to the controller.
    pub(crate) fn send_to_controller(
        &mut self,
        lane: Lane,
        call: Call,
        request: impl Into<Request>,
    ) {
        self.send_to(ActorId::CONTROLLER, lane, call, request);
    }

    fn send_to(&mut self, to: ActorId, lane: Lane, call: Call, request: impl Into<Request>) {
        let deadline = self.now() + self.spec.config.request_timeout;
        let correlation = self.network.open(to, lane, deadline, call);
        self.wake_at(Timer::RequestTimeout, deadline);
        self.out.send(to, lane, correlation, Message::Request(request.into()));
    }

    /// Makes sure that `timer` fires at `at` or earlier.
    pub(crate) fn wake_at(&mut self, timer: Timer, at: Instant) {
        self.timers.wake_at(timer, at, self.out);
    }
}
