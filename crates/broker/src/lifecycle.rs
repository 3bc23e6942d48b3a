//! Registration, signs of life, controlled shutdown.
//!
//! Kafka counterpart: `BrokerLifecycleManager`. Invariant: at most one registration or heartbeat is
//! under way.

use eosim_types::message::{
    BrokerHeartbeatRequest, BrokerHeartbeatResponse, BrokerRegistrationRequest,
    BrokerRegistrationResponse,
};
use eosim_types::{Duration, Instant};

use crate::io::Io;
use crate::network::{Call, lane};
use crate::timers::Timer;

/// Pause after a failed attempt.
const RETRY_BACKOFF: Duration = Duration::from_millis(100);
/// The first heartbeat after the answer "not yet" to a wish to stop comes sooner than others.
const SHUTDOWN_POLL: Duration = Duration::from_millis(50);

/// `BrokerState`, as far as the controller is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
enum BrokerState {
    /// The process does not run.
    #[default]
    NotRunning,
    /// A new life has not been accepted yet.
    Starting,
    /// Registered.
    Running,
    /// It wants to stop and still leads.
    PendingControlledShutdown,
}

/// What the broker must do after a heartbeat.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum HeartbeatOutcome {
    /// Go on.
    Continue,
    /// It leads nothing any more: stop now.
    ShutDown,
}

/// `BrokerLifecycleManager`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct BrokerLifecycleManager {
    state: BrokerState,
    incarnation: u64,
    previous_broker_epoch: i64,
    /// The epoch of this life; -1 before it is registered.
    pub(crate) broker_epoch: i64,
    in_flight: bool,
    next_communication: Option<Instant>,
    got_controlled_shutdown_response: bool,
}

impl BrokerLifecycleManager {
    /// The manager of the life number `incarnation`, not yet started.
    pub(crate) fn new(incarnation: u64) -> Self {
        Self {
            state: BrokerState::NotRunning,
            incarnation,
            previous_broker_epoch: -1,
            broker_epoch: -1,
            in_flight: false,
            next_communication: None,
            got_controlled_shutdown_response: false,
        }
    }

    /// The run begins with a broker that is registered already.
    pub(crate) fn start_registered(&mut self, io: &mut Io<'_>, broker_epoch: i64) {
        self.state = BrokerState::Running;
        self.broker_epoch = broker_epoch;
        self.communicate_in(io, io.spec.config.broker_heartbeat_interval);
    }

    /// A new life begins; of the life before the broker epoch is told if it ended in good order.
    pub(crate) fn start(&mut self, io: &mut Io<'_>, previous_broker_epoch: i64) {
        self.previous_broker_epoch = previous_broker_epoch;
        self.state = BrokerState::Starting;
        self.communicate(io);
    }

    /// The operator wants the broker to stop in good order.
    pub(crate) fn begin_controlled_shutdown(&mut self, io: &mut Io<'_>) {
        if self.state == BrokerState::Running {
            self.state = BrokerState::PendingControlledShutdown;
            self.communicate(io);
        }
    }

    /// New metadata are applied; a fenced broker says so at once.
    pub(crate) fn metadata_applied(&mut self, io: &mut Io<'_>) {
        let fenced = io.image.brokers.get(&io.spec.id).is_some_and(|broker| broker.fenced);
        if self.state == BrokerState::Running && fenced {
            self.communicate(io);
        }
    }

    /// The timer has fired.
    pub(crate) fn on_timer(&mut self, io: &mut Io<'_>) {
        match self.next_communication {
            Some(at) if at <= io.now() => self.communicate(io),
            Some(at) => io.wake_at(Timer::Lifecycle, at),
            None => {}
        }
    }

    fn communicate_in(&mut self, io: &mut Io<'_>, pause: Duration) {
        let at = io.now() + pause;
        self.next_communication = Some(at);
        io.wake_at(Timer::Lifecycle, at);
    }

    fn communicate(&mut self, io: &mut Io<'_>) {
        if self.in_flight {
            return;
        }
        self.in_flight = true;
        self.next_communication = None;
        match self.state {
            BrokerState::NotRunning => self.in_flight = false,
            BrokerState::Starting => self.send_registration(io),
            BrokerState::Running | BrokerState::PendingControlledShutdown => {
                self.send_heartbeat(io);
            }
        }
    }

    fn send_registration(&self, io: &mut Io<'_>) {
        let request = BrokerRegistrationRequest {
            broker: io.spec.id,
            incarnation: self.incarnation,
            previous_broker_epoch: self.previous_broker_epoch,
            supported_transaction_version: io.env.kafka.supported_transaction_version(),
        };
        io.send_to_controller(lane::HEARTBEAT, Call::BrokerRegistration, request);
    }

    fn send_heartbeat(&self, io: &mut Io<'_>) {
        let request = BrokerHeartbeatRequest {
            broker: io.spec.id,
            broker_epoch: self.broker_epoch,
            current_metadata_version: io.image.version,
            want_shut_down: self.state == BrokerState::PendingControlledShutdown,
        };
        io.send_to_controller(lane::HEARTBEAT, Call::BrokerHeartbeat, request);
    }

    /// The controller has answered a registration.
    pub(crate) fn on_registration(
        &mut self,
        io: &mut Io<'_>,
        response: BrokerRegistrationResponse,
    ) {
        self.in_flight = false;
        if !response.error.is_none() {
            return self.communicate_in(io, RETRY_BACKOFF);
        }
        self.state = BrokerState::Running;
        self.broker_epoch = response.broker_epoch;
        self.communicate(io);
    }

    /// The controller has answered a heartbeat.
    pub(crate) fn on_heartbeat(
        &mut self,
        io: &mut Io<'_>,
        response: BrokerHeartbeatResponse,
    ) -> HeartbeatOutcome {
        self.in_flight = false;
        if !response.error.is_none() {
            self.communicate_in(io, RETRY_BACKOFF);
            return HeartbeatOutcome::Continue;
        }
        let stopping = self.state == BrokerState::PendingControlledShutdown;
        if stopping && response.should_shut_down {
            self.state = BrokerState::NotRunning;
            return HeartbeatOutcome::ShutDown;
        }
        let first = stopping && !self.got_controlled_shutdown_response;
        self.got_controlled_shutdown_response = stopping;
        let interval = io.spec.config.broker_heartbeat_interval;
        self.communicate_in(io, if first { SHUTDOWN_POLL } else { interval });
        HeartbeatOutcome::Continue
    }

    /// The connection broke.
    pub(crate) fn on_disconnected(&mut self, io: &mut Io<'_>) {
        self.in_flight = false;
        self.communicate_in(io, RETRY_BACKOFF);
    }
}
