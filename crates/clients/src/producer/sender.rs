//! The sender thread: one iteration after the other, each ending in a poll (`Sender`, P-SND).
//!
//! Invariants: nothing of the sender runs while it sleeps or polls; the network is looked at in
//! polls alone (P-SND-13); while a transactional request is in flight nothing is drained, sent or
//! expired (P-SND-1).

mod completion;
mod produce;
mod transactional;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use eosim_actor::{Cx, Site, Stream};
use eosim_types::config::ProducerConfig;
use eosim_types::message::MetadataRequest;
use eosim_types::{BrokerId, Instant, SortedMap, TopicPartition, TransactionalId, rule};

use super::producer_batch::BatchId;
use super::record_accumulator::RecordAccumulator;
use super::transaction_manager::{TransactionManager, TxnRequestHandler};
use super::{CallId, Outcome};
use crate::api_versions::ApiVersions;
use crate::backoff::ExponentialBackoff;
use crate::exception::{Exception, ExceptionClass};
use crate::metadata::Metadata;
use crate::network_client::{ClientOut, Completed, NetworkClient};

/// Which of two timeouts at one instant comes first.
const TIMEOUT_TIE: Site = Site::new("producer.timeout_tie", Stream::Actor);

/// What the sender remembers of a request on the wire.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum InFlight {
    Metadata,
    Produce(Vec<BatchId>),
    Transactional(TxnRequestHandler),
    /// A batch sent by hand.
    Raw(CallId),
}

/// A batch whose futures have failed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct FailedBatch {
    id: BatchId,
    exception: Exception,
    adjust_sequence_numbers: bool,
}

/// Where the sender thread stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Activity {
    /// About to begin an iteration.
    Running,
    /// In a poll that ends at `until`, or at `at_latest` if there is anything to do.
    Polling { until: Instant, at_latest: Instant },
    /// In the backoff before a transactional request is sent again (P-SND-6).
    Sleeping { until: Instant, node: BrokerId, handler: TxnRequestHandler },
    /// The thread has ended.
    Closed,
}

/// The sender thread and all that it works on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Sender {
    config: ProducerConfig,
    pub(super) transactional_id: Option<TransactionalId>,
    pub(crate) client: NetworkClient<InFlight>,
    pub(crate) metadata: Metadata,
    pub(crate) accumulator: RecordAccumulator,
    pub(crate) manager: Option<TransactionManager>,
    pub(crate) api_versions: ApiVersions,
    /// Batches drained and not answered, by partition, oldest first.
    in_flight_batches: SortedMap<TopicPartition, VecDeque<BatchId>>,
    activity: Activity,
    woken: bool,
    /// Calls of `flush()` that wait.
    pub(crate) flushes: u32,
    /// `close()` was called; it forces after this instant.
    close_deadline: Option<Instant>,
    /// All that was begun before `close()` is done; what is left is an open transaction.
    is_ending_transaction: bool,
    pub(crate) outcomes: VecDeque<Outcome>,
    completed: Vec<Completed<InFlight>>,
    /// What is being handled is the last that the poll brought.
    is_last_of_poll: bool,
    /// A failure that its record's future tells and the transaction manager does not know yet
    /// (P-API-10).
    failed: Option<FailedBatch>,
}

impl Sender {
    pub(crate) fn new(
        config: &ProducerConfig,
        transactional_id: Option<TransactionalId>,
        brokers: &[BrokerId],
    ) -> Self {
        let manager = config.enable_idempotence;
        let manager = manager.then(|| TransactionManager::new(transactional_id, config));
        let reconnect_backoff = ExponentialBackoff {
            initial: config.reconnect_backoff,
            max: config.reconnect_backoff_max,
        };
        Self {
            config: config.clone(),
            transactional_id,
            client: NetworkClient::new(brokers, config.request_timeout, reconnect_backoff)
                .asking_api_versions(),
            metadata: Metadata::new(config.retry_backoff, config.metadata_max_age),
            accumulator: RecordAccumulator::new(config),
            manager,
            api_versions: ApiVersions::default(),
            in_flight_batches: SortedMap::default(),
            activity: Activity::Running,
            woken: false,
            flushes: 0,
            close_deadline: None,
            is_ending_transaction: false,
            outcomes: VecDeque::new(),
            completed: Vec::new(),
            is_last_of_poll: false,
            failed: None,
        }
    }

    /// Has the application woken the sender, and the sender not run since?
    pub(crate) const fn is_woken(&self) -> bool {
        self.woken
    }

    /// The application wakes the sender out of its poll (P-SND-13).
    pub(crate) const fn wake_up(&mut self) {
        self.woken = true;
    }

    /// Begins to close; by force after `deadline` (P-API-8), the earliest of several calls.
    pub(crate) fn initiate_close(&mut self, deadline: Instant) {
        let earlier = self.close_deadline.unwrap_or(deadline);
        self.close_deadline = Some(deadline.min(earlier));
        self.woken = true;
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.close_deadline.is_some()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.activity == Activity::Closed
    }

    /// When the sender goes on by itself.
    pub(crate) fn next_wake(&self) -> Instant {
        match self.activity {
            Activity::Running => Instant::START,
            Activity::Polling { until, .. } if self.has_nothing_to_do() => until,
            Activity::Polling { until, at_latest } => until.min(at_latest),
            Activity::Sleeping { until, .. } => until,
            Activity::Closed => Instant::FAR,
        }
    }

    /// Lets the thread run up to its next poll, or up to the end of the one it is in. `false` if
    /// it has to wait.
    pub(crate) fn turn(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) -> bool {
        if let Some(failed) = self.failed.take() {
            self.tell_failure(&failed, cx);
        }
        if let Some(manager) = &mut self.manager {
            manager.end_gap();
        }
        match &self.activity {
            Activity::Closed => return false,
            Activity::Running => self.iterate(cx, out),
            Activity::Polling { .. } => {
                if !self.woken && !self.client.has_arrivals() && cx.now() < self.next_wake() {
                    return false;
                }
                self.end_poll(cx, out);
            }
            Activity::Sleeping { until, .. } => {
                if cx.now() < *until {
                    return false;
                }
                self.end_sleep(cx, out);
            }
        }
        true
    }

    /// One iteration of `run`: closing first, then [`Self::run_once`].
    fn iterate(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        if let Some(deadline) = self.close_deadline
            && self.close_step(deadline, cx)
        {
            self.client.close(out);
            self.activity = Activity::Closed;
            return;
        }
        self.run_once(cx, out);
    }

    /// P-API-8; `true` when the thread ends.
    fn close_step(&mut self, deadline: Instant, cx: &mut Cx<'_>) -> bool {
        rule!(cx.env, "P-API-8");
        if cx.now() >= deadline {
            self.force_close();
            return true;
        }
        let state = self.manager.as_ref().map(TransactionManager::state);
        let ongoing = state.is_some_and(super::state::State::has_ongoing_transaction);
        if !self.is_ending_transaction {
            let pending =
                self.manager.as_ref().is_some_and(TransactionManager::has_pending_requests);
            let undrained = self.accumulator.has_undrained();
            if undrained || self.client.has_in_flight() || (pending && ongoing) {
                return false;
            }
            self.is_ending_transaction = true;
        }
        if !ongoing {
            return true;
        }
        let completing = state.is_some_and(super::state::State::is_completing);
        let manager = self.manager.as_mut().expect("a transaction is ongoing");
        if !completing && manager.begin_abort(&mut cx.env).is_err() {
            self.force_close();
            return true;
        }
        false
    }

    fn force_close(&mut self) {
        if let Some(manager) = &mut self.manager {
            manager.close();
        }
        self.abort_batches(true, &Exception::new(ExceptionClass::Kafka));
    }

    /// `runOnce`: the steps of A.6 in their order.
    fn run_once(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let Some(manager) = &mut self.manager else { return self.produce_step(cx, out) };
        manager.maybe_resolve_sequences(&mut cx.env);
        if let Some(error) = manager.last_error().filter(|_| manager.has_fatal_error()).cloned() {
            rule!(cx.env, "P-ACC-12");
            self.abort_batches(true, &error);
            let until = self.client.next_timeout();
            return self.begin_poll(until, cx, out);
        }
        if let Some(error) = manager.reset_after_authorization_error() {
            self.abort_batches(true, &error);
            return;
        }
        let batches = &mut self.accumulator.batches;
        manager.bump_idempotent_epoch_and_reset_id_if_needed(batches, &mut cx.env);
        if manager.has_fatal_error() {
            return; // P-ST-1: poisoned, which ends the iteration
        }
        if !self.transactional_step(cx, out) {
            self.produce_step(cx, out);
        }
    }

    /// Enters a poll. A request for metadata goes out with it if one is due; a poll lasts no longer
    /// than `request.timeout.ms` (P-SND-13), unless there is nothing that its end could show.
    fn begin_poll(&mut self, until: Instant, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let now = cx.now();
        let mut until = until.min(self.close_deadline.unwrap_or(Instant::FAR));
        if let Some(due) = self.metadata.next_update() {
            if due > now {
                until = until.min(due);
            } else if !self.send_metadata_request(cx, out) {
                until = until.min(self.client.next_usable(now));
            }
        }
        let at_latest = now + self.config.request_timeout;
        self.activity = Activity::Polling { until, at_latest };
    }

    fn has_nothing_to_do(&self) -> bool {
        let owes = |manager: &TransactionManager| {
            manager.has_pending_requests() || !manager.unresolved().is_empty()
        };
        !self.client.has_in_flight()
            && !self.accumulator.has_incomplete()
            && !self.manager.as_ref().is_some_and(owes)
    }

    fn send_metadata_request(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) -> bool {
        let Some(node) = self.client.least_loaded_node(cx.now()) else { return false };
        self.client.send(node, MetadataRequest {}.into(), InFlight::Metadata, cx.now(), out);
        self.metadata.sent();
        true
    }

    /// Leaves a poll with what the network brought (P-SND-13, P-SND-14).
    fn end_poll(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        self.woken = false;
        self.activity = Activity::Running;
        let mut completed = core::mem::take(&mut self.completed);
        if self.overlooks_timeouts(cx) {
            self.client.take_arrivals(&mut completed, cx);
        } else {
            self.client.poll(&mut completed, cx, out);
        }
        let count = completed.len();
        for (place, one) in (1..).zip(completed.drain(..)) {
            self.is_last_of_poll = place == count;
            self.complete(one, cx);
        }
        self.is_last_of_poll = false;
        self.completed = completed;
    }

    /// P-MOD-5: a request that is over its time at the very instant at which its batch expires is
    /// found by this poll, or the batch expires first. 0 is the poll.
    fn overlooks_timeouts(&self, cx: &mut Cx<'_>) -> bool {
        let oldest = self.in_flight_batches.values().filter_map(|batches| batches.front());
        let mut expiries = oldest.map(|&id| self.accumulator.expiry(id));
        self.client.next_timeout() == cx.now()
            && expiries.any(|at| at == cx.now())
            && cx.choose(TIMEOUT_TIE, 2) == 1
    }

    fn end_sleep(&mut self, cx: &mut Cx<'_>, out: &mut ClientOut) {
        let activity = core::mem::replace(&mut self.activity, Activity::Running);
        let Activity::Sleeping { node, handler, .. } = activity else {
            panic!("the sender is not asleep");
        };
        self.send_transactional(node, handler, cx, out);
    }
}
