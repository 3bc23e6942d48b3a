//! The produce step (`sendProducerData`, `sendProduceRequests`).

use alloc::vec::Vec;

use eosim_actor::Cx;
use eosim_types::message::ProduceRequest;
use eosim_types::{BrokerId, Defect, Duration, Env, Few, Instant, rule};

use super::{InFlight, Sender};
use crate::exception::Exception;
use crate::network_client::ClientOut;
use crate::producer::producer_batch::BatchId;
use crate::producer::record_accumulator::Urgency;

/// A poll that has nothing to wait for ends at the next tick of the real client's clock.
const TICK: Duration = Duration::from_millis(1);

impl Sender {
    /// Step 6 of an iteration: ready, node gate, drain, mute, expire, send, poll.
    pub(super) fn produce_step(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let manager = self.manager.as_ref();
        let urgency = Urgency {
            flushing: self.flushes > 0 || self.is_closing(),
            completing: manager.is_some_and(|manager| manager.state().is_completing()),
        };
        let check = self.accumulator.ready(&self.metadata, urgency, &mut cx.env);
        if check.unknown_leader {
            self.metadata.request_update();
        }
        let mut until = check.next_check.unwrap_or(Instant::FAR);
        let mut held_back = false;
        let mut requests: Few<(BrokerId, Vec<BatchId>)> = Few::new();
        for node in check.nodes {
            if let Some(end) = self.client.backing_off(node, cx.now()) {
                until = until.min(end);
            } else if self.is_saturated(node) {
                rule!(cx.env, "P-ACC-2");
            } else {
                held_back = true;
                let drained = self.drain(node, cx);
                if !drained.is_empty() {
                    requests.push((node, drained));
                }
            }
        }
        let expired = self.expire_batches(cx);
        let sent = !requests.is_empty();
        for (node, batches) in requests {
            self.send_produce_request(node, batches, cx, out);
        }
        let until = if sent {
            cx.now()
        } else if held_back && expired {
            cx.now() + TICK
        } else {
            self.poll_end(until, held_back, cx.now())
        };
        self.begin_poll(until, cx, out);
    }

    fn drain(&mut self, node: BrokerId, cx: &mut Cx<'_>) -> Vec<BatchId> {
        let manager = self.manager.as_mut();
        let drained = self.accumulator.drain_node(node, &self.metadata, manager, &mut cx.env);
        for &id in &drained {
            let partition = self.accumulator.batches[id].partition;
            self.in_flight_batches.get_or_default(partition).push_back(id);
            if self.guarantees_message_order() {
                rule!(cx.env, "P-ACC-9");
                self.accumulator.mute(partition);
            }
        }
        drained
    }

    /// P-CFG-7.
    pub(super) const fn guarantees_message_order(&self) -> bool {
        self.config.max_in_flight_requests_per_connection == 1
    }

    /// When the poll of an iteration that sent nothing ends. While P-ACC-4 holds a partition back
    /// the real loop spins, and notices everything at once (P-SND-13).
    fn poll_end(&self, until: Instant, held_back: bool, now: Instant) -> Instant {
        let oldest = self.in_flight_batches.values().filter_map(|batches| batches.front());
        let expiries = oldest.map(|&id| self.accumulator.expiry(id));
        let expiry = expiries.min().unwrap_or(Instant::FAR).min(self.accumulator.next_expiry());
        let timeout = if held_back { self.client.next_timeout() } else { Instant::FAR };
        until.min(expiry).min(timeout).max(now + TICK)
    }

    /// P-SND-9: after the drain and before the requests leave. `true` if any batch expired.
    fn expire_batches(&mut self, cx: &mut Cx<'_>) -> bool {
        let mut expired = Vec::new();
        self.accumulator.expired_batches(&mut cx.env, &mut expired);
        let timeout = self.accumulator.delivery_timeout();
        for batches in self.in_flight_batches.values_mut() {
            while let Some(&id) = batches.front() {
                let batch = &self.accumulator.batches[id];
                if !batch.has_reached_delivery_timeout(timeout, cx.now()) {
                    break;
                }
                batches.pop_front();
                expired.push(id);
            }
        }
        let any = !expired.is_empty();
        for id in expired {
            rule!(cx.env, "P-SND-9");
            let is_marked = self.leaves_mark(id, &cx.env);
            if is_marked && let Some(manager) = &mut self.manager {
                // Before the batch fails, for then its slot may be free; the mark is looked at in
                // the next iteration only (P-SEQ-6).
                manager.mark_sequence_unresolved(id, &self.accumulator.batches, &mut cx.env);
            }
            self.fail_batch(id, &Exception::timeout(), false, cx);
        }
        any
    }

    /// P-SEQ-5: does nobody know of an expired batch whether its number is taken? A transaction
    /// cannot go on after it in any case.
    fn leaves_mark(&self, id: BatchId, env: &Env<'_>) -> bool {
        let batch = &self.accumulator.batches[id];
        let is_first_attempt_told = self.transactional_id.is_none()
            && !env.on(Defect::UpstreamProducerFirstAttemptNotMarked);
        batch.retry || (is_first_attempt_told && batch.has_sequence())
    }

    /// One request for one node (P-SND-7).
    fn send_produce_request(
        &mut self,
        node: BrokerId,
        batches: Vec<BatchId>,
        cx: &mut Cx<'_>,
        out: &mut ClientOut,
    ) {
        rule!(cx.env, "P-SND-7");
        let manager = self.manager.as_ref();
        let tv2 = manager.is_some_and(|manager| manager.is_version_2_transaction(&cx.env));
        let arena = &self.accumulator.batches;
        let parts = batches.iter().map(|&id| (arena[id].partition, arena[id].record_batch()));
        let timeout = self.config.request_timeout.as_millis();
        let request = ProduceRequest {
            version: self.api_versions.produce(self.transactional_id.is_some(), tv2),
            transactional_id: self.transactional_id,
            acks: self.config.acks,
            timeout_ms: i32::try_from(timeout).unwrap_or(i32::MAX),
            partitions: parts.collect(),
        };
        if self.config.acks == 0 {
            self.client.send_unanswered(node, request.into(), out);
            return self.complete_unanswered(&batches, cx);
        }
        self.client.send(node, request.into(), InFlight::Produce(batches), cx.now(), out);
    }
}
