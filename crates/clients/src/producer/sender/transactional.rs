//! The transactional request step (`maybeSendAndPollTransactionalRequest`).

use eosim_actor::Cx;
use eosim_types::message::ApiKey;
use eosim_types::{BrokerId, ErrorCode, Instant, rule};

use super::{Activity, InFlight, Sender};
use crate::exception::{Exception, ExceptionClass};
use crate::network_client::ClientOut;
use crate::producer::state::State;
use crate::producer::transaction_manager::{CoordinatorType, TxnRequestHandler};

/// Where a request can go now.
enum Target {
    Node(BrokerId),
    /// Not before this instant or the next answer.
    Wait(Instant),
    /// The coordinator has to be looked up.
    Lookup(CoordinatorType),
}

impl Sender {
    /// `true` if the iteration ends here.
    pub(super) fn transactional_step(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) -> bool {
        let Some(manager) = &mut self.manager else { return false };
        if manager.has_in_flight_request() {
            rule!(cx.env, "P-SND-1");
            let until = cx.now() + self.config.retry_backoff;
            self.begin_poll(until, cx, out);
            return true;
        }
        self.abort_undrained_if_lost(cx);
        let has_incomplete = self.accumulator.has_incomplete();
        let manager = self.manager.as_mut().expect("looked at above");
        let Some(handler) = manager.next_request(has_incomplete, &mut cx.env) else {
            return false;
        };
        match self.target(&handler, cx.now()) {
            Target::Node(node) => self.send_or_sleep(node, handler, cx, out),
            Target::Wait(until) => {
                self.manager.as_mut().expect("looked at above").put_back(handler);
                self.begin_poll(until, cx, out);
            }
            Target::Lookup(of) => {
                rule!(cx.env, "P-SND-5");
                let manager = self.manager.as_mut().expect("looked at above");
                manager.lookup_coordinator(of);
                manager.retry(handler);
            }
        }
        true
    }

    /// P-SND-2.
    fn abort_undrained_if_lost(&mut self, cx: &mut Cx<'_>) {
        let Some(manager) = &self.manager else { return };
        let reason = match manager.state() {
            State::AbortableError => manager.last_error().cloned(),
            State::AbortingTransaction => Some(Exception::new(ExceptionClass::TransactionAborted)),
            _ => None,
        };
        if let Some(reason) = reason
            && self.accumulator.has_incomplete()
        {
            rule!(cx.env, "P-SND-2");
            self.abort_batches(false, &reason);
        }
    }

    /// P-SND-5. A coordinator found again after its connection broke is waited for; how often it
    /// is looked up meanwhile is timing in the real client.
    fn target(&mut self, handler: &TxnRequestHandler, now: Instant) -> Target {
        let manager = self.manager.as_ref().expect("a handler has a manager");
        let Some(of) = manager.needs_coordinator(handler) else {
            let usable = self.client.least_loaded_node(now);
            return usable.map_or_else(|| Target::Wait(self.client.next_usable(now)), Target::Node);
        };
        let Some(found) = manager.coordinator(of) else { return Target::Lookup(of) };
        if let Some(until) = self.client.backing_off(found.node, now) {
            let found_since = self.client.broken_at(found.node).is_some_and(|at| found.at >= at);
            return if found_since { Target::Wait(until) } else { Target::Lookup(of) };
        }
        if self.is_saturated(found.node) {
            return Target::Wait(self.client.next_timeout());
        }
        if of == CoordinatorType::Transaction {
            let manager = self.manager.as_mut().expect("looked at above");
            let resumes = self.api_versions.latest(ApiKey::InitProducerId) >= 3;
            manager.set_coordinator_supports_bumping_epoch(resumes);
        }
        Target::Node(found.node)
    }

    /// Has the connection as many requests in flight as it may (P-ACC-2)?
    pub(super) fn is_saturated(&self, node: BrokerId) -> bool {
        let max = self.config.max_in_flight_requests_per_connection;
        u32::try_from(self.client.in_flight_count(node)).is_ok_and(|count| count >= max)
    }

    /// P-SND-6: a retry sleeps first, and the whole sender with it.
    fn send_or_sleep(
        &mut self,
        node: BrokerId,
        handler: TxnRequestHandler,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) {
        if handler.is_retry {
            rule!(cx.env, "P-SND-6");
            let until = cx.now() + handler.retry_backoff;
            self.activity = Activity::Sleeping { until, node, handler };
        } else {
            self.send_transactional(node, handler, cx, out);
        }
    }

    pub(super) fn send_transactional(
        &mut self,
        node: BrokerId,
        handler: TxnRequestHandler,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) {
        let manager = self.manager.as_mut().expect("a handler has a manager");
        let Some(message) = manager.message(&handler, &self.api_versions) else {
            let unsupported = Exception::of(ErrorCode::UnsupportedVersion);
            return manager.fatal_error(&handler, unsupported); // P-REQ-1
        };
        manager.request_sent(&handler);
        let in_flight = InFlight::Transactional(handler);
        let correlation = self.client.send(node, message, in_flight, cx.now(), out);
        manager.set_in_flight_correlation(correlation);
        let until = cx.now() + self.config.retry_backoff;
        self.begin_poll(until, cx, out);
    }
}
